"""Each wrong argument is refused before any work, with its name, value and what is allowed."""

import re

import numpy as np
import pytest
import xarray as xr

import mfpde

CIRCLE = mfpde.Circle(64)
UNIFORM = mfpde.uniform(CIRCLE)
ASCENT = mfpde.MeanFieldEquation(mfpde.Attention(2.0), direction="ascent")
NOISY = mfpde.MeanFieldEquation(mfpde.Attention(2.0), direction="ascent", diffusion=0.1)
RUN = mfpde.solve(ASCENT, UNIFORM, t_end=0.1, save_at=[0.0, 0.1])
EYE = np.eye(2)
ONE = [[1.0, 0.0]]
ATOM = mfpde.Atoms(ONE)
IN_64 = mfpde.MeanFieldEquation(
    mfpde.Attention(1.0),
    mfpde.Perceptron(np.random.default_rng(0).standard_normal((3, 64)), np.ones(3)),
    direction="ascent",
)


def solve(start=UNIFORM, equation=ASCENT, **options):
    return mfpde.solve(equation, start, **{"t_end": 1.0, **options})


def equation_of(*terms, **options):
    return mfpde.MeanFieldEquation(*terms, **{"direction": "ascent", **options})


def angle(x):
    return np.arctan2(x[..., 1], x[..., 0])


def slope_on_the_circle_alone(x):
    across = np.stack([-x[..., 1], x[..., 0], *np.zeros_like(x.T[2:])], axis=-1)
    return 2 * angle(x)[..., None] * across


# A call, and what its error must say, in the order of the text.
NUMBERS = [
    *(
        (lambda beta=beta: mfpde.Attention(beta), "beta = ")
        for beta in (-1.0, 1001.0, np.nan, np.inf, "5", None, True)
    ),
    (
        lambda: mfpde.Attention(1000.0, kernel="unshifted"),
        "beta = 1000 with kernel='unshifted'",
        "350",
    ),
    *(
        (lambda t=t: solve(t_end=t), "t_end = ")
        for t in (0.0, -1.0, np.nan, np.inf, "10")
    ),
    *(
        (lambda n=n: mfpde.Circle(n), "num_cells = ", "at least 16")
        for n in (0, 15, -4, 64.0, "64")
    ),
    (lambda: mfpde.Circle(10**10), "num_cells = 10000000000 must be at most"),
    (lambda: mfpde.Zonal(4, 10**7), "num_cells = 10000000 must be at most"),
    (lambda: mfpde.Sphere(10**6), "nlat = 1000000 must be at most"),
    (lambda: mfpde.perturbed_uniform(CIRCLE, -0.1), "amplitude = "),
    (lambda: mfpde.perturbed_uniform(CIRCLE, 1.0), "amplitude = "),
    (
        lambda: equation_of(mfpde.Attention(1.0), diffusion=-0.1),
        "diffusion = -0.1",
        "0",
    ),
    (lambda: solve(rtol=0.0), "rtol = 0"),
    (lambda: solve(max_step=-1.0), "max_step = -1"),
    (lambda: solve(save_at=[2.0]), "save_at"),
    (lambda: solve(save_every=0.1, save_at=[0.5]), "save_every"),
    (lambda: mfpde.SteadyState(0.0), "tolerance = 0.0"),
    (lambda: mfpde.StepLimit(0), "steps = 0"),
    (lambda: mfpde.WallTimeLimit(-1.0), "seconds = -1.0"),
]
ARRAYS = [
    (lambda: mfpde.Perceptron(EYE, [1.0] * 3), "weights of shape (3,)", "2 directions"),
    (
        lambda: mfpde.Perceptron(ONE, [1.0], biases=[0.0, 1.0]),
        "biases of shape (2,)",
        "1 directions",
    ),
    (
        lambda: mfpde.Perceptron([[1.0, 0.0], [0.0, 0.0]], [1.0, 2.0]),
        "directions[1] = [0.0, 0.0] is zero",
    ),
    (
        lambda: mfpde.Perceptron([1.0, 0.0], [1.0]),
        "shape (2,) must have shape (units, d)",
    ),
    *(
        (call, place, "must be finite")
        for bad in (np.nan, np.inf)
        for call, place in (
            (
                lambda bad=bad: mfpde.Perceptron([[1.0, bad]], [1.0]),
                "directions[0, 1] = ",
            ),
            (lambda bad=bad: mfpde.Perceptron(ONE, [bad]), "weights[0] = "),
            (
                lambda bad=bad: mfpde.Density.from_function(
                    CIRCLE, lambda x: bad * np.ones(len(x))
                ),
                "function(points)[0] = ",
            ),
        )
    ),
    (
        lambda: mfpde.Density(CIRCLE, np.ones(3)),
        "values of shape (3,) do not fit Circle",
    ),
    (
        lambda: mfpde.Density(CIRCLE, np.where(np.arange(64) == 5, -1.0, 1.0)),
        "values[5] = -1 must not be negative",
    ),
    (
        lambda: mfpde.Density(CIRCLE, np.full(64, 1 + 1e-12j)),
        "complex numbers",
        "take its .real",
    ),
    (
        lambda: mfpde.Density.from_function(CIRCLE, lambda x: 0 * x[..., 0]),
        "total mass 0",
    ),
    (
        lambda: mfpde.Density.from_function(CIRCLE, lambda _: np.ones(3)),
        "function(points): (3,)",
        "must be (64,)",
    ),
    (lambda: mfpde.Atoms([[1.0, 0.0], [0.0, 2.0]]), "points[1] has length 2"),
    (lambda: mfpde.Atoms(ONE, [0.0]), "masses[0] = 0 must be above 0"),
    (lambda: mfpde.Atoms(ONE, [0.5, 0.5]), "do not match"),
    (
        lambda: mfpde.Measure(UNIFORM, mfpde.Atoms([[1.0, 0.0, 0.0]])),
        "dimension 3",
    ),
    (lambda: solve(mfpde.Density(CIRCLE, 2 * UNIFORM.values)), "total mass 2"),
    (lambda: UNIFORM.interpolated(mfpde.Circle(32)), "finer geometry = Circle"),
]
NAMES = [
    (
        lambda: mfpde.Attention(1.0, kernel="shiftd"),
        "kernel = 'shiftd' (did you mean 'shifted'?)",
    ),
    (
        lambda: mfpde.Attention(1.0, normalized="yes"),
        "normalized = 'yes' must be True or False",
    ),
    (lambda: mfpde.Attention(1.0, mask=None), "'mask'", "each token attends to all"),
    (
        lambda: mfpde.Attention(1.0, heads=4),
        "'heads'",
        "MeanFieldEquation(Attention(...), Attention(...))",
    ),
    (lambda: mfpde.Attention(1.0, d=64), "'d'", "is that of the geometry"),
    (lambda: mfpde.Attention(1.0, betta=2), "'betta'", "did you mean 'beta'?"),
    (lambda: mfpde.Perceptron(ONE, [1.0], "mish"), "'mish' must be one of 'relu'"),
    (
        lambda: mfpde.Perceptron(ONE, [1.0], "rellu"),
        "activation = 'rellu' (did you mean 'relu'?)",
    ),
    (
        lambda: equation_of(mfpde.Attention(1.0), direction="up"),
        "direction = 'up' must be one of 'ascent', 'd",
    ),
    (
        lambda: solve(transport="donor_blend"),
        "'donor_blend' (did you mean 'donor_blended'",
    ),
    (lambda: solve(progress="a"), "progress = 'a'", "must be True or False"),
    (
        lambda: mfpde.solve_particles(ASCENT, ATOM, t_end=1.0, progress="a"),
        "progress = 'a'",
        "must be True or False",
    ),
    (
        lambda: solve(observe={"mass": lambda m: 0.0}),
        "'mass' is recorded anyway",
        "'my_mass'",
    ),
]
TERMS = [
    (lambda: equation_of(), "at least one term"),
    (lambda: equation_of(5), "term 0 = 5 must be an Attention"),
    (
        lambda: equation_of(
            mfpde.Perceptron(ONE, [1.0]), mfpde.Perceptron([[1.0, 0.0, 0.0]], [1.0])
        ),
        "different dimensions: [2, 3]",
    ),
    (
        lambda: solve(equation=equation_of(mfpde.Perceptron([[1.0, 0.0, 0.0]], [1.0]))),
        "directions have 3 entries",
        "S^1",
    ),
    (
        lambda: solve(mfpde.uniform(mfpde.Sphere(32)), IN_64),
        "directions have 64 entries",
        "in dimension 64 particles need no grid: solve_particles",
    ),
    (
        lambda: solve(mfpde.uniform(mfpde.Zonal(64, 64)), IN_64),
        "directions[0] is not parallel to the axis",
        "in dimension 64 particles need no grid: solve_particles",
    ),
    (
        lambda: mfpde.Perceptron(ONE, [1.0], (np.tanh, np.tanh)),
        "needs Phi' = sigma",
    ),
    (
        lambda: mfpde.Perceptron(ONE, [1.0], (np.sin, lambda z: -np.cos(z))),
        "Phi(0) = -1 must be 0",
    ),
    (
        lambda: mfpde.Potential(lambda x: x[..., 0], lambda x: 2 * np.ones_like(x)),
        "gradient: at x = ",
        "the slope of value",
    ),
    (
        lambda: mfpde.Potential(
            lambda x: angle(x) ** 2, slope_on_the_circle_alone
        ).check_dimension(3),
        "gradient: at x = [",
        "along a great circle is",
    ),
    (
        lambda: mfpde.ZonalKernel(np.sin, np.sin),
        "derivative: at u = -0.93 it is -0.80",
        "the slope of function there is 0.59",
    ),
    (
        lambda: mfpde.theory.density_with_potential(CIRCLE, 4.0, 5.0),
        "potential = 5.0",
        "must be a function of points",
    ),
    (
        lambda: solve(
            mfpde.Measure(
                mfpde.Density(CIRCLE, UNIFORM.values / 2), mfpde.Atoms(ONE, [0.5])
            ),
            NOISY,
        ),
        "dissolves atoms at once",
    ),
]
OTHER_KINDS = [
    (lambda: solve(ATOM), "atoms alone have no grid"),
    (lambda: solve(np.ones(64)), "must be a Density, Atoms or a Measure"),
    (lambda: solve(None), "start = None", "must be a Density"),
    *(
        (lambda stop=stop: solve(stop=stop), "stop holds ", "SteadyState, StepLimit")
        for stop in ("steady", 3, [5], [mfpde.SteadyState(1e-3), None])
    ),
    (lambda: solve(observe={"mean": 3}), "observe['mean'] = 3 must be a function"),
    (
        lambda: solve(observe=[len]),
        "observe = [<built-in function len>]",
        "must name each function",
    ),
    (lambda: solve(resume_from=3), "resume_from = 3", "must be a Checkpoint"),
    (lambda: mfpde.Measure(None), "density = None", "must be a Density"),
    (lambda: mfpde.Measure(UNIFORM, 3), "atoms = 3", "must be an Atoms"),
    (lambda: mfpde.load(None), "path = None", "must be the path of a store"),
    (lambda: mfpde.load(3), "path = 3", "must be the path of a store"),
    (lambda: mfpde.save(RUN, 3), "path = 3", "must be the path of a store"),
    (
        lambda: mfpde.save(RUN.final, "x.zarr"),
        "run = <Measure",
        "a Run, what solve",
    ),
    *(
        (lambda plot=plot: plot(RUN.final), "run = <", "must be a Run")
        for plot in (
            mfpde.plot_run,
            mfpde.plot_energy,
            mfpde.plot_atom_tree,
            lambda state: mfpde.plot_diagnostic(state, "mass"),
            lambda state: mfpde.animate(state, "x.gif"),
        )
    ),
    (lambda: mfpde.plot_density(RUN), "measure = <Run of ", "is run.final"),
    (lambda: mfpde.concentration(RUN, ASCENT), "measure = <Run of ", "run.final"),
    (lambda: mfpde.wasserstein(RUN, UNIFORM), "a = <Run of ", "is run.final"),
    (lambda: solve(RUN), " = <Run of "),
    (lambda: solve(equation=RUN), " = <Run of "),
    (lambda: mfpde.solve_particles(ASCENT, RUN, t_end=1.0), " = <Run of "),
    (lambda: mfpde.polish(ASCENT, RUN), " = <Run of "),
    (lambda: mfpde.plot_certificate(RUN), "result = <Run", "what minimize returns"),
    (lambda: mfpde.plot_continuation(RUN), "result = <Run", "a Continuation"),
    (lambda: mfpde.plot_convergence(RUN), "study = <Run", "an AtomConvergence"),
    (lambda: mfpde.plot_phase_diagram(RUN), "diagram = <Run", "a PhaseDiagram"),
    (lambda: mfpde.save_figure(RUN, "x.pdf"), "figure = <Run", "a figure, or axes"),
    (
        lambda: mfpde.label_density(RUN.final, mfpde.Circle(32)),
        "labels = <Measure",
        "must be an Atoms, a state of solve_particles",
    ),
    *(
        (
            lambda value=value: solve(
                diagnostics=mfpde.Diagnostic("own", "mine", "1", lambda _: value)
            ),
            "'own' is ",
            "must return one number",
        )
        for value in (None, "x", np.ones(3))
    ),
]


@pytest.mark.parametrize(
    ("call", "said"),
    [(c, s) for c, *s in (*NUMBERS, *ARRAYS, *NAMES, *TERMS, *OTHER_KINDS)],
    ids=lambda part: part[0] if isinstance(part, list) else "",
)
def test_a_wrong_argument_is_named_with_what_is_allowed(
    call, said, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pattern = "(?s)" + ".*".join(map(re.escape, said))
    with pytest.raises(ValueError, match=pattern) as caught:
        call()
    assert len(str(caught.value)) < 600
    assert not list(tmp_path.iterdir())


def test_too_few_cells_for_beta_names_the_number_needed() -> None:
    equation = equation_of(mfpde.Attention(100.0))
    with pytest.raises(ValueError, match=r"too coarse for beta = 100") as caught:
        solve(equation=equation)
    needed = int(re.search(r"at least (\d+) cells", str(caught.value))[1])
    fine = solve(mfpde.uniform(mfpde.Circle(needed)), equation, t_end=0.1)
    assert fine.stop.kind == "t_end"
    with pytest.raises(ValueError, match="too coarse"):
        solve(mfpde.uniform(mfpde.Circle(needed - 2)), equation, t_end=0.1)


@pytest.mark.parametrize("make", [lambda s: s, lambda s: (s,), lambda s: [s]])
def test_stop_takes_one_condition_or_several(make) -> None:
    start = mfpde.perturbed_uniform(CIRCLE, 0.3)
    run = solve(start, t_end=9.0, stop=make(mfpde.StepLimit(3)))
    assert run.stop.kind == "step_limit"
    assert run.statistics["steps"] == 3


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
    told(lambda: mfpde.solve(ASCENT, UNIFORM, t_end=1e9, observe={name: lambda m: 0.0}))


def test_no_number_is_named_like_a_part_of_a_store(tmp_path) -> None:
    """Whatever names a store with atoms, a track, particles and a last state has."""
    start = mfpde.Measure(
        mfpde.Density(CIRCLE, 0.8 * mfpde.perturbed_uniform(CIRCLE, 0.3).values),
        mfpde.Atoms(np.array([[1.0, 0.0]]), [0.2], [0.01 * np.diag([0.0, 1.0])]),
    )
    saves, track = [0.0, 0.05], mfpde.Concentration()
    run = mfpde.solve(ASCENT, start, t_end=0.1, save_at=saves, track=track)
    mfpde.save(run, tmp_path / "x.zarr")
    particles = mfpde.solve_particles(ASCENT, UNIFORM, t_end=0.1, count=9)
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
        ASCENT,
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
        mfpde.solve(ASCENT, UNIFORM, t_end=1.0, diagnostics=[height])
    assert " at 0x" not in str(caught.value)


def test_an_energy_that_there_is_not_is_not_printed() -> None:
    drift = mfpde.Perceptron([[1.0, 0.0]], [[0.0, 1.0]])
    equation = mfpde.MeanFieldEquation(drift, direction="ascent")
    run = mfpde.solve(equation, UNIFORM, t_end=0.1, save_at=[0.0, 0.1])
    assert "nan" not in str(run)
    assert "energy" in str(RUN) or not len(RUN.energies)
