"""Arguments of the wrong kind: an error in a line, before any work."""

import re

import numpy as np
import pytest
import xarray as xr

import mfpde

CIRCLE = mfpde.Circle(32)
UNIFORM = mfpde.uniform(CIRCLE)
EQUATION = mfpde.MeanFieldEquation(mfpde.Attention(2.0), direction="ascent")
RUN = mfpde.solve(EQUATION, UNIFORM, t_end=0.1)


@pytest.mark.parametrize("make", [lambda s: s, lambda s: (s,), lambda s: [s]])
def test_stop_takes_one_condition_or_several(make) -> None:
    start = mfpde.perturbed_uniform(CIRCLE, 0.3)
    run = mfpde.solve(EQUATION, start, t_end=9.0, stop=make(mfpde.StepLimit(3)))
    assert run.stop.kind == "step_limit"
    assert run.statistics["steps"] == 3


@pytest.mark.parametrize("stop", ["steady", 3, [mfpde.SteadyState(1e-3), None]])
def test_other_things_stop_nothing(stop) -> None:
    with pytest.raises(ValueError, match=r"stop holds .* SteadyState, StepLimit"):
        mfpde.solve(EQUATION, UNIFORM, t_end=1.0, stop=stop)


def test_an_observer_takes_no_name_that_is_recorded_anyway() -> None:
    with pytest.raises(ValueError, match=r"'mass' is recorded anyway .* 'my_mass'"):
        mfpde.solve(EQUATION, UNIFORM, t_end=1.0, observe={"mass": lambda m: 0.0})
    with pytest.raises(ValueError, match=r"observe\['mean'\] = 3 must be a function"):
        mfpde.solve(EQUATION, UNIFORM, t_end=1.0, observe={"mean": 3})


def test_complex_values_are_no_density() -> None:
    with pytest.raises(ValueError, match=r"complex numbers .* take its \.real"):
        mfpde.Density(CIRCLE, np.full(32, 1 + 1e-12j))


@pytest.mark.parametrize(
    "make", [lambda: mfpde.Circle(10**10), lambda: mfpde.Zonal(4, 10**7)]
)
def test_grids_that_no_memory_holds(make) -> None:
    with pytest.raises(ValueError, match=r"num_cells = 10+ must be at most"):
        make()


def test_a_sphere_that_no_memory_holds() -> None:
    with pytest.raises(ValueError, match=r"nlat = 1000000 must be at most"):
        mfpde.Sphere(10**6)


def test_an_unlike_name_is_not_suggested() -> None:
    with pytest.raises(ValueError, match=r"'mish' must be one of 'relu'"):
        mfpde.Perceptron(np.eye(2), [1.0, 1.0], "mish")
    with pytest.raises(ValueError, match=r"'rellu' .did you mean 'relu'"):
        mfpde.Perceptron(np.eye(2), [1.0, 1.0], "rellu")


@pytest.mark.parametrize(
    "call",
    [
        lambda: mfpde.solve(EQUATION, RUN, t_end=1.0),
        lambda: mfpde.solve(RUN, UNIFORM, t_end=1.0),
        lambda: mfpde.solve_particles(EQUATION, RUN, t_end=1.0),
        lambda: mfpde.concentration(RUN, EQUATION),
        lambda: mfpde.polish(EQUATION, RUN),
        lambda: mfpde.wasserstein(RUN, UNIFORM),
    ],
)
def test_a_run_given_for_something_else_is_not_printed_whole(call) -> None:
    with pytest.raises(ValueError, match="= <Run of ") as caught:
        call()
    assert len(str(caught.value)) < 400


# Things of another kind, where one is easily taken for the other


IN_64 = mfpde.MeanFieldEquation(
    mfpde.Attention(1.0),
    mfpde.Perceptron(np.random.default_rng(0).standard_normal((3, 64)), np.ones(3)),
    direction="ascent",
)
WRONG_KIND = [
    (
        lambda run: mfpde.save(run.final, "x.zarr"),
        "run = <Measure",
        "a Run, what solve",
    ),
    (lambda run: mfpde.plot_run(run.final), "run = <Measure", "must be a Run"),
    (lambda run: mfpde.plot_energy(run.final), "run = <Measure", "must be a Run"),
    (lambda run: mfpde.plot_diagnostic(run.final, "mass"), "run = <", "must be a Run"),
    (lambda run: mfpde.plot_atom_tree(run.final), "run = <Measure", "must be a Run"),
    (lambda run: mfpde.animate(run.final, "x.gif"), "run = <Measure", "must be a Run"),
    (lambda run: mfpde.plot_density(run), "measure = <Run", "is run.final"),
    (lambda run: mfpde.concentration(run, run.equation), "measure = <Run", "run.final"),
    (
        lambda run: mfpde.wasserstein(run, run),
        "a = <Run",
        "its last state is run.final",
    ),
    (lambda run: mfpde.plot_certificate(run), "result = <Run", "what minimize returns"),
    (lambda run: mfpde.plot_continuation(run), "result = <Run", "a Continuation"),
    (lambda run: mfpde.plot_convergence(run), "study = <Run", "an AtomConvergence"),
    (lambda run: mfpde.plot_phase_diagram(run), "diagram = <Run", "a PhaseDiagram"),
    (lambda run: mfpde.save_figure(run, "x.pdf"), "figure = <Run", "a figure, or axes"),
    (
        lambda run: mfpde.label_density(run.final, mfpde.Circle(32)),
        "labels = <Measure",
        "must be an Atoms, a state of solve_particles",
    ),
    (
        lambda _: mfpde.theory.density_with_potential(mfpde.Circle(64), 4.0, 5.0),
        "potential = 5.0",
        "must be a function of points",
    ),
    (
        lambda _: mfpde.ZonalKernel(np.sin, np.sin),
        "derivative: at u = -0.93 it is -0.80",
        "the slope of function there is 0.59",
    ),
    (
        lambda run: mfpde.solve(run.equation, run.final, t_end=1.0, observe=[len]),
        "observe = [<built-in function len>]",
        "must name each function",
    ),
    (
        lambda run: mfpde.solve(run.equation, run.final, t_end=1.0, resume_from=3),
        "resume_from = 3",
        "must be a Checkpoint",
    ),
    (
        lambda run: mfpde.solve(run.equation, run.final, t_end=1.0, progress="a"),
        "progress = 'a'",
        "must be True or False",
    ),
    (
        lambda run: mfpde.solve_particles(
            run.equation, run.final, t_end=1.0, progress="a"
        ),
        "progress = 'a'",
        "must be True or False",
    ),
    (
        lambda run: mfpde.solve(run.equation, None, t_end=1.0),
        "start = None",
        "must be a Density",
    ),
    (lambda _: mfpde.Measure(None), "density = None", "must be a Density"),
    (
        lambda _: mfpde.Measure(mfpde.uniform(CIRCLE), 3),
        "atoms = 3",
        "must be an Atoms",
    ),
    (lambda _: mfpde.load(None), "path = None", "must be the path of a store"),
    (lambda _: mfpde.load(3), "path = 3", "must be the path of a store"),
    (lambda run: mfpde.save(run, 3), "path = 3", "must be the path of a store"),
    (lambda _: mfpde.Attention(1.0, mask=None), "'mask'", "each token attends to all"),
    (
        lambda _: mfpde.Attention(1.0, heads=4),
        "'heads'",
        "MeanFieldEquation(Attention(...), Attention(...))",
    ),
    (lambda _: mfpde.Attention(1.0, d=64), "'d'", "is that of the geometry"),
    (lambda _: mfpde.Attention(1.0, betta=2), "'betta'", "did you mean 'beta'?"),
    (
        lambda _: mfpde.solve(IN_64, mfpde.uniform(mfpde.Sphere(32)), t_end=1.0),
        "directions have 64 entries",
        "in dimension 64 particles need no grid: solve_particles",
    ),
    (
        lambda _: mfpde.solve(IN_64, mfpde.uniform(mfpde.Zonal(64, 64)), t_end=1.0),
        "directions[0] is not parallel to the axis",
        "in dimension 64 particles need no grid: solve_particles",
    ),
    (
        lambda _: mfpde.Potential(
            lambda x: np.arctan2(x[..., 1], x[..., 0]) ** 2,
            lambda x: (
                2
                * np.arctan2(x[..., 1], x[..., 0])[..., None]
                * np.stack([-x[..., 1], x[..., 0], *np.zeros_like(x.T[2:])], axis=-1)
            ),
        ).check_dimension(3),  # in dimension 2 it is right
        "gradient: at x = [",
        "along a great circle is",
    ),
    (
        lambda _: mfpde.Density.from_function(mfpde.Circle(32), lambda x: np.ones(3)),
        "function(points): (3,)",
        "must be (32,)",
    ),
]


@pytest.mark.parametrize(("call", "given", "allowed"), WRONG_KIND)
def test_a_thing_of_another_kind_is_named(call, given, allowed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=re.escape(allowed)) as caught:
        call(SHORT_RUN)
    assert given in str(caught.value)
    assert not list(tmp_path.iterdir())


SHORT_RUN = mfpde.solve(
    mfpde.MeanFieldEquation(mfpde.Attention(2.0), direction="ascent"),
    mfpde.uniform(mfpde.Circle(32)),
    t_end=0.1,
    save_at=[0.0, 0.1],
)


@pytest.mark.parametrize("value", [None, "x", np.ones(3)])
def test_a_diagnostic_that_is_no_number_is_named(value) -> None:
    with pytest.raises(ValueError, match=r"'own' is .*must return one number"):
        mfpde.solve(
            SHORT_RUN.equation,
            mfpde.uniform(mfpde.Circle(32)),
            t_end=0.1,
            diagnostics=mfpde.Diagnostic("own", "mine", "1", lambda _: value),
        )


# Names of numbers that are recorded ------------------------------------------------------------


NO_NAMES = [
    *("particles", "lock", "density", "time"),
    *("atom_masses", "angle", "axis"),
    *("a/b", "", "two words", "1st", ".", "..", "zarr.json", "a\x1b[31m", 3, ("a",)),
]


@pytest.mark.parametrize("name", NO_NAMES)
def test_a_number_takes_no_name_that_a_store_cannot_hold(name) -> None:
    """Before any work: a run that is stored under such a name could not be read back."""

    def told(call) -> None:
        with pytest.raises(ValueError, match=r"must be a word|cannot be stored") as it:
            call()
        assert repr(name) in str(it.value)

    def never(_):
        raise AssertionError

    told(lambda: mfpde.Diagnostic(name, "mine", "1", never))
    told(
        lambda: mfpde.solve(EQUATION, UNIFORM, t_end=1e9, observe={name: lambda m: 0.0})
    )


def test_no_number_is_named_like_a_part_of_a_store(tmp_path) -> None:
    """Whatever names a store with atoms, a track, particles and a last state has."""
    start = mfpde.Measure(
        mfpde.Density(CIRCLE, 0.8 * mfpde.perturbed_uniform(CIRCLE, 0.3).values),
        mfpde.Atoms(np.array([[1.0, 0.0]]), [0.2], [0.01 * np.diag([0.0, 1.0])]),
    )
    saves, track = [0.0, 0.05], mfpde.Concentration()
    run = mfpde.solve(EQUATION, start, t_end=0.1, save_at=saves, track=track)
    mfpde.save(run, tmp_path / "x.zarr")
    particles = mfpde.solve_particles(EQUATION, UNIFORM, t_end=0.1, count=9)
    mfpde.save(particles, tmp_path / "x.zarr" / "particles")
    found = xr.open_zarr(tmp_path / "x.zarr", consolidated=False)
    parts = {part.name for part in (tmp_path / "x.zarr").iterdir() if part.is_dir()}
    names = {*map(str, found.variables), *map(str, found.dims), *parts}
    assert len(names) > 15
    for name in names - set(run.diagnostics):
        with pytest.raises(ValueError, match="cannot be stored: rename it"):
            mfpde.Diagnostic(name, "mine", "1", lambda _: 0.0)


@pytest.mark.parametrize("name", ["order", "Energy", "my_final", "höhe", "x_2", "c"])
def test_a_number_under_any_word_comes_back(name, tmp_path) -> None:
    run = mfpde.solve(
        EQUATION,
        UNIFORM,
        t_end=0.1,
        save_at=[0.0, 0.1],
        observe={name: lambda m: m.total_mass + 1.0},
    )
    mfpde.save(run, tmp_path / "x.zarr")
    back = mfpde.load(tmp_path / "x.zarr")
    np.testing.assert_array_equal(back.diagnostics[name], run.diagnostics[name])


def test_nothing_that_is_printed_changes_from_run_to_run() -> None:
    """No place in memory: of functions their names are told."""

    def height(x):
        return x[..., -1]

    def upward(x):
        return np.broadcast_to(np.eye(x.shape[-1])[-1], x.shape)

    potential = mfpde.Potential(height, upward)
    kernel = mfpde.ZonalKernel(lambda u: u**2, lambda u: 2 * u)
    equation = mfpde.MeanFieldEquation(
        mfpde.Interaction(kernel), potential, direction="ascent"
    )
    run = mfpde.solve(equation, UNIFORM, t_end=0.1, save_at=[0.0, 0.1])
    dataset = run.to_xarray()
    printed = [
        *(repr(one) for one in (potential, kernel, equation, run)),
        *(str(one) for one in (equation, run, dataset.attrs)),
        repr(mfpde.Diagnostic("order", "mine", "1", height)),
    ]
    assert not [text for text in printed if " at 0x" in text]
    assert repr(potential) == "Potential(height, upward)"
    assert repr(kernel) == "ZonalKernel(<lambda>, <lambda>)"
    with pytest.raises(ValueError, match="diagnostics holds <function ") as caught:
        mfpde.solve(EQUATION, UNIFORM, t_end=1.0, diagnostics=[height])
    assert " at 0x" not in str(caught.value)


def test_an_energy_that_there_is_not_is_not_printed() -> None:
    drift = mfpde.Perceptron([[1.0, 0.0]], [[0.0, 1.0]])
    equation = mfpde.MeanFieldEquation(drift, direction="ascent")
    run = mfpde.solve(equation, UNIFORM, t_end=0.1, save_at=[0.0, 0.1])
    assert "nan" not in str(run)
    assert "energy" in str(RUN) or not len(RUN.energies)
