"""Layers: breakpoints, exact flows through several layers, stores, commands, ensembles."""

from __future__ import annotations

import contextlib
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from random_points import random_points
from scipy.linalg import expm

import mfpde
from mfpde.commands.command_line import main
from mfpde.runs.layers import stages_of
from mfpde.runs.stopping import StoppingCondition, StopReason
from mfpde.runs.times import save_times
from mfpde.settings.settings import SettingsError, read_settings
from mfpde.storage import RunWriter, load, save
from mfpde.studies.ensembles import lyapunov_exponent
from validation.references import layered

ATTENTION = mfpde.Attention(4.0)
CIRCLE = mfpde.Circle(128)


def equation(
    seed: int = 1,
    direction: str = "ascent",
    beta: float = 4.0,
    activation: str = "relu",
):
    """Return attention with two random neurons."""
    neurons = mfpde.Perceptron.random(2, 2, seed=seed, activation=activation)
    return mfpde.MeanFieldEquation(mfpde.Attention(beta), neurons, direction=direction)


def smooth(circle: mfpde.Circle = CIRCLE) -> mfpde.Density:
    """Return a smooth start without symmetries."""
    x = circle.angles
    values = (1 + 0.4 * np.cos(x - 1) + 0.3 * np.sin(2 * x)) / (2 * np.pi)
    return mfpde.Density(circle, values)


def quadratic(dimension: int, duration: float):
    """Return the sampler of the docstring of Layers.random."""

    def sampled(rng: np.random.Generator, _index: int) -> mfpde.MeanFieldEquation:
        square = rng.standard_normal((dimension, dimension))
        form = (square + square.T) / np.sqrt(2 * dimension * duration)
        weights, vectors = np.linalg.eigh(form)
        neurons = mfpde.Perceptron(vectors.T, weights, "linear")
        return mfpde.MeanFieldEquation(neurons, direction="ascent")

    return sampled


# Times and indices ------------------------------------------------------------------------


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=40))
def test_breakpoints_are_the_sums_and_know_their_layers(durations) -> None:
    one, other = equation(1), equation(2)
    pairs = [((one, other)[k % 2], d) for k, d in enumerate(durations)]
    layers = mfpde.Layers(pairs)
    breaks = layers.breakpoints
    assert breaks[0] == 0
    assert layers.depth == pytest.approx(sum(durations), rel=1e-14)
    for k, (begin, end) in enumerate(pairwise(breaks)):
        middle = (begin + end) / 2
        assert layers.index_before(middle) == layers.index_after(middle) == k
        assert layers.index_before(end) == k
        assert layers.index_after(begin) == k
        # Times that have been summed up otherwise are the breakpoints too.
        assert layers.index_before(float(np.sum(durations[: k + 1]))) == k
    assert [pair.duration for pair in layers] == durations


def test_stages_have_no_slivers_and_saves_are_at_their_ends() -> None:
    layers = mfpde.Layers([(equation(k), 0.1) for k in range(24)])
    assert layers.depth == pytest.approx(2.4, rel=1e-15)
    saves = np.cumsum(np.full(24, 0.1))
    ends = [stage.end for stage in stages_of(layers, 0.0, saves[-1])]
    assert save_times(saves[-1], save_at=saves, breaks=ends).tolist() == ends
    regular = save_times(saves[-1], save_every=0.05, breaks=ends).tolist()
    assert regular[2::2] == ends
    inside = stages_of(layers, 0.3, 0.75)
    assert [stage.end for stage in inside] == pytest.approx([0.4, 0.5, 0.6, 0.7, 0.75])
    assert inside[0].equation is layers.equations[3]
    assert inside[-1].end == 0.75


# Arguments --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("layers", "expected"),
    [
        ([], "layers is empty"),
        (3, "layers = 3 must be a list of pairs"),
        ([equation()], r"layers\[0\] = .* must be a pair"),
        ([(equation(), 1.0), (ATTENTION, 1.0)], r"layers\[1\]: equation = Attention"),
        (
            [(equation(), 1.0), (equation(), 0.0)],
            r"layers\[1\]: duration = 0.0 .* above 0",
        ),
        ([(equation(), -2.0)], r"layers\[0\]: duration = -2.0 .* above 0"),
        ([(equation(), np.inf)], r"layers\[0\]: duration = inf must be a finite"),
        ([(equation(), 1.0), (equation(), 1e-13)], r"layers\[1\]: duration = 1e-13"),
        ([(equation(), "1")], r"layers\[0\]: duration = '1' must be a real number"),
        (
            [
                (equation(), 1.0),
                (
                    mfpde.MeanFieldEquation(
                        mfpde.Perceptron.random(1, 3, seed=0), direction="ascent"
                    ),
                    1.0,
                ),
            ],
            r"layers\[1\] lives in dimension 3, but layers\[0\] in dimension 2",
        ),
    ],
)
def test_wrong_layers_are_named(layers, expected) -> None:
    with pytest.raises(ValueError, match=expected):
        mfpde.Layers(layers)


def test_wrong_arguments_of_runs_are_refused_before_any_work() -> None:
    two = mfpde.Layers([(equation(), 1.0), (equation(beta=900.0), 1.0)])
    with pytest.raises(ValueError, match=r"layers\[1\]: .*cells"):
        mfpde.solve(two, mfpde.uniform(CIRCLE), observer=_Untouched())
    two = mfpde.Layers([(equation(), 1.0), (equation(2), 1.0)])
    for solve in (mfpde.solve, mfpde.solve_particles):
        with pytest.raises(
            ValueError, match="at most the total depth of the 2 layers, 2"
        ):
            solve(two, mfpde.uniform(CIRCLE), t_end=2.1)
        with pytest.raises(ValueError, match="t_end = None must be the end time"):
            solve(equation(), mfpde.uniform(CIRCLE))
        with pytest.raises(ValueError, match="must be a MeanFieldEquation or Layers"):
            solve([equation()], mfpde.uniform(CIRCLE), t_end=1.0)
    noisy = mfpde.MeanFieldEquation(ATTENTION, direction="ascent", diffusion=0.1)
    last = mfpde.Layers([(equation(), 1.0), (noisy, 1.0)])
    with pytest.raises(ValueError, match=r"layers\[1\]: .*diffusion = 0.1"):
        mfpde.solve_particles(last, mfpde.uniform(CIRCLE))
    with pytest.raises(
        ValueError, match=r"layers\[1\]: atoms = 'exact' with diffusion"
    ):
        mfpde.solve(last, mfpde.uniform(CIRCLE), atoms="exact")


class _Untouched(mfpde.Observer):
    def begin(self, *_) -> None:
        raise AssertionError("work has begun")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"count": 0}, "count = 0"),
        ({"duration": 0.0}, "duration = 0.0"),
        ({"seed": -1}, "seed = -1"),
        ({"sampler": 5}, "sampler = 5 must be a function"),
        ({"sampler": lambda rng, index: None}, r"layers\[0\]: equation = None"),
    ],
)
def test_wrong_arguments_of_random_layers_are_named(arguments, expected) -> None:
    good = {"sampler": quadratic(2, 0.1), "count": 3, "duration": 0.1, "seed": 0}
    given = good | arguments
    with pytest.raises(ValueError, match=expected):
        mfpde.Layers.random(given.pop("sampler"), **given)


def test_the_same_seed_gives_the_same_layers() -> None:
    few, more, other = (
        mfpde.Layers.random(quadratic(3, 0.1), count=count, duration=0.1, seed=seed)
        for count, seed in ((4, 5), (9, 5), (4, 6))
    )
    weights = [
        np.array([e.terms[0].weights for e in layers.equations[:4]])
        for layers in (few, more, other)
    ]
    assert np.array_equal(weights[0], weights[1])
    assert not np.array_equal(weights[0], weights[2])
    assert few.seed == 5
    assert "seed 5" in repr(few)


# Exact solutions --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("transport", "grids"),
    # Semi-Lagrangian, the default is within 1e-9 from 128 cells on.
    [("donor_blended", (128, 256, 512, 1024)), (None, (16, 32, 64, 128))],
)
def test_three_linear_layers_are_three_moebius_maps(transport, grids) -> None:
    """Second order at breakpoints too, where a step across would be of first order."""
    layers = layered.three_linear_layers()
    errors = []
    for cells in grids:
        circle = mfpde.Circle(cells)
        options = {"transport": transport, "save_at": [2.0], "rtol": 1e-6}
        run = mfpde.solve(layers, mfpde.uniform(circle), **options)
        exact = layered.three_moebius_maps(circle.angles)
        errors.append(np.abs(run.final.density.values - exact).sum() * circle.spacing)
    assert np.log2(errors[0] / errors[-1]) / 3 >= 1.9
    assert errors[-1] < 1e-7


@pytest.mark.parametrize("dimension", [2, 3, 5])
@pytest.mark.parametrize("time_step", [None, 0.0025])
def test_particles_in_random_quadratic_layers_are_the_matrix_product(
    dimension, time_step
) -> None:
    duration = 0.02
    layers = mfpde.Layers.random(
        quadratic(dimension, duration), count=40, duration=duration, seed=3
    )
    points = random_points(6, dimension, seed=1)
    run = mfpde.solve_particles(
        layers,
        mfpde.Atoms(points, np.full(6, 1 / 6)),
        rtol=1e-11,
        atol=1e-12,
        time_step=time_step,
    )
    moved = points @ layered.product_of(layers).T
    moved /= np.linalg.norm(moved, axis=1, keepdims=True)
    allowed = 1e-9 if time_step is None else 1e-5
    assert np.abs(run.final.points - moved).max() < allowed


def test_a_rotation_of_all_layers_turns_the_run() -> None:
    """Directions a -> Ra of every layer, and the start: the run turns by as many cells."""
    cells = 9
    turn = cells * CIRCLE.spacing
    matrix = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    plain, turned = [], []
    for seed in range(4):
        neurons = mfpde.Perceptron.random(2, 2, seed=seed, activation="gelu")
        rotated = mfpde.Perceptron(
            neurons.directions @ matrix.T, neurons.weights, "gelu"
        )
        for kept, own in ((plain, neurons), (turned, rotated)):
            kept.append(
                (mfpde.MeanFieldEquation(ATTENTION, own, direction="ascent"), 0.2)
            )
    start = smooth()
    moved = mfpde.Density(CIRCLE, np.roll(start.values, cells))
    one, other = (
        mfpde.solve(mfpde.Layers(pairs), measure).final.density.values
        for pairs, measure in ((plain, start), (turned, moved))
    )
    assert np.abs(np.roll(one, cells) - other).max() < 1e-12


# A run of layers is the runs one after the other ---------------------------------------------

TWO = mfpde.Layers([(equation(1), 0.7), (equation(2, "descent"), 0.5)])


@pytest.mark.parametrize("geometry", [CIRCLE, mfpde.Sphere(32), mfpde.Zonal(5, 64)])
def test_two_layers_are_two_runs(geometry) -> None:
    axis = np.eye(1, geometry.dimension, geometry.dimension - 1)
    pairs = [
        (
            mfpde.MeanFieldEquation(
                ATTENTION, mfpde.Perceptron(axis, [weight]), direction=direction
            ),
            duration,
        )
        for weight, direction, duration in (
            (0.7, "ascent", 0.4),
            (-0.5, "descent", 0.3),
        )
    ]
    start = mfpde.perturbed_uniform(geometry, 0.2)
    is_zonal = geometry.axis is not None
    options = {"transport": "semi_lagrangian" if is_zonal else "donor_blended"}
    whole = mfpde.solve(mfpde.Layers(pairs), start, save_at=[0.7], **options)
    first = mfpde.solve(pairs[0][0], start, t_end=0.4, save_at=[0.4], **options)
    second = mfpde.solve(pairs[1][0], first.final, t_end=0.3, save_at=[0.3], **options)
    ends = (whole.final.density.values, second.final.density.values)
    assert np.abs(ends[0] - ends[1]).max() <= 1e-12
    steps = [run.statistics["steps"] for run in (whole, first, second)]
    assert steps[0] == steps[1] + steps[2]
    assert whole.equation is pairs[1][0]


def test_a_layer_begins_spectral_only_where_the_density_is_resolved() -> None:
    neurons = mfpde.Perceptron.random(2, 3, seed=1)
    one = mfpde.MeanFieldEquation(mfpde.Attention(4.0), neurons, direction="ascent")
    start = mfpde.perturbed_uniform(mfpde.Sphere(32), 0.3)
    layers = mfpde.Layers([(one, 3.0), (one, 0.5)])
    options = {"transport": "spectral_donor_blended"}
    whole = mfpde.solve(layers, start, save_at=[3.5], **options)
    first = mfpde.solve(one, start, t_end=3.0, save_at=[3.0], **options)
    second = mfpde.solve(one, first.final, t_end=0.5, save_at=[0.5], **options)
    left = whole.statistics["spectral_until"]
    assert left == first.statistics["spectral_until"] < 3.0
    assert second.statistics["spectral_until"] == 0.0
    ends = (whole.final.density.values, second.final.density.values)
    assert np.abs(ends[0] - ends[1]).max() <= 1e-12
    rejected = [run.statistics["rejected"] for run in (whole, first, second)]
    assert rejected[0] == rejected[1] + rejected[2]


def test_a_save_at_the_rounded_depth_is_the_end() -> None:
    """0.37 + 0.45 is 0.82 and a last digit: a step of that length would follow."""
    plain = mfpde.MeanFieldEquation(ATTENTION, direction="ascent")
    pairs = [(plain, 0.37), (plain, 0.45)]
    options = {"transport": "donor_blended"}
    sphere = mfpde.Sphere(32)
    start = mfpde.perturbed_uniform(sphere, 0.2)
    whole = mfpde.solve(mfpde.Layers(pairs), start, save_at=[0.0, 0.82], **options)
    first = mfpde.solve(pairs[0][0], start, t_end=0.37, save_at=[0.37], **options)
    second = mfpde.solve(
        pairs[1][0], first.final, t_end=0.45, save_at=[0.45], **options
    )
    ends = (whole.final.density.values, second.final.density.values)
    assert np.abs(ends[0] - ends[1]).max() <= 1e-12
    assert whole.statistics["last_step"] > 1e-3
    assert whole.times[-1] == whole.final_time == whole.layers.depth


def test_two_layers_of_particles_are_two_runs() -> None:
    start = mfpde.Atoms(random_points(20, 2, seed=4), np.full(20, 0.05))
    whole = mfpde.solve_particles(TWO, start)
    first = mfpde.solve_particles(TWO.equations[0], start, t_end=0.7)
    second = mfpde.solve_particles(TWO.equations[1], first.final, t_end=0.5)
    assert np.abs(whole.final.points - second.final.points).max() < 1e-10
    assert whole.times.tolist() == [0.0, 1.2]


def test_steps_end_at_the_breakpoints_exactly() -> None:
    times: list[float] = []

    class Seen(mfpde.Observer):
        def step(self, progress) -> None:
            times.append(progress.time)

    mfpde.solve(TWO, smooth(), observer=Seen())
    assert TWO.breakpoints[1] in times
    assert times[-1] == TWO.depth
    assert np.diff(times).min() > 1e-6


@given(
    durations=st.lists(st.floats(0.01, 10.0), min_size=2, max_size=120),
    begun=st.sampled_from([0.0, 0.3]),
)
def test_default_saves_are_at_breakpoints_and_evenly_between(durations, begun) -> None:
    """About as many as for one equation: at most half an interval more for each layer."""
    layers = mfpde.Layers([(equation(), duration) for duration in durations])
    first = begun * layers.depth
    breaks = [stage.end for stage in stages_of(layers, first, layers.depth)]
    times = save_times(layers.depth, start_time=first, default_saves=50, breaks=breaks)
    assert times[0] == first
    assert times[-1] == layers.depth
    later = layers.breakpoints[layers.breakpoints > first * (1 + 1e-9)]
    assert set(later) <= set(times)
    ends = [first, *later]
    for begin, end in pairwise(ends):
        within = times[(times >= begin) & (times <= end)]
        np.testing.assert_allclose(
            np.diff(within), (end - begin) / (len(within) - 1), rtol=1e-9
        )
        share = 50 * (end - begin) / (layers.depth - first)
        assert abs(len(within) - 1 - share) <= max(0.5 + 1e-6, 1 - share)


def test_energies_at_breakpoints_are_those_of_the_layer_that_ends() -> None:
    run = mfpde.solve(TWO, smooth())
    (at,) = np.flatnonzero(run.times == 0.7)
    state = run.states[at]
    before, after = (layer.energy(state) for layer in TWO.equations)
    assert run.energies[at] == pytest.approx(before, rel=1e-12)
    assert TWO.equation_after(0.7).energy(run.at(0.7)) == after
    # Ascent of the first layer's energy, descent of the second's.
    assert (np.diff(run.energies[: at + 1]) > 0).all()
    assert (np.diff([after, *run.energies[at + 1 :]]) < 0).all()


def test_a_run_may_stop_inside_a_layer_and_start_in_one() -> None:
    """Densities at the kinks of a ReLU would be known to 1e-3 only, saved or not."""
    first, second = (
        equation(seed, direction, activation="gelu")
        for seed, direction in ((1, "ascent"), (2, "descent"))
    )
    two = mfpde.Layers([(first, 0.7), (second, 0.5)])
    half = mfpde.solve(two, smooth(), t_end=0.9, save_at=[0.9])
    assert half.final_time == 0.9
    assert half.equation is second
    rest = mfpde.solve(two, half.final, start_time=0.9, save_at=[1.2], rtol=1e-6)
    whole = mfpde.solve(two, smooth(), save_at=[1.2], rtol=1e-6)
    gap = np.abs(rest.final.density.values - whole.final.density.values).max()
    assert gap < 1e-5
    early = mfpde.solve(two, smooth(), t_end=0.3)
    assert early.equation is first


def test_a_steady_state_stops_the_last_layer_alone() -> None:
    resting = mfpde.MeanFieldEquation(ATTENTION, direction="descent", diffusion=0.5)
    pushed = equation(3, "descent")
    stop = mfpde.SteadyState(1e-6)
    layers = mfpde.Layers([(resting, 1.0), (pushed, 0.5), (resting, 50.0)])
    run = mfpde.solve(layers, mfpde.uniform(CIRCLE), stop=stop)
    assert run.stop.kind == "steady_state"
    assert run.final_time > 1.5
    alone = mfpde.solve(resting, mfpde.uniform(CIRCLE), t_end=1.0, stop=stop)
    assert alone.final_time < 1.0
    limited = mfpde.solve(layers, mfpde.uniform(CIRCLE), stop=mfpde.StepLimit(1))
    assert limited.stop.kind == "step_limit"
    assert limited.final_time <= 1.0


def test_a_user_s_condition_may_judge_rest() -> None:
    class AtOnce(StoppingCondition):
        def check(self, record) -> StopReason:
            return StopReason("mine", f"{record.time:g}")

    class OfRest(AtOnce):
        judges_rest = True

    assert mfpde.solve(TWO, smooth(), stop=AtOnce()).final_time < 0.7
    assert mfpde.solve(TWO, smooth(), stop=OfRest()).final_time > 0.7


# Atoms, tracks -------------------------------------------------------------------------------


def test_exact_atoms_are_released_by_a_layer_that_expands() -> None:
    ascent = mfpde.MeanFieldEquation(mfpde.Attention(6.0), direction="ascent")
    descent = mfpde.MeanFieldEquation(mfpde.Attention(6.0), direction="descent")
    layers = mfpde.Layers([(ascent, 6.0), (descent, 8.0)])
    circle = mfpde.Circle(256)
    run = mfpde.solve(
        layers,
        mfpde.Density.from_function(circle, lambda x: np.exp(4 * x[..., 0])),
        atoms="exact",
        track=mfpde.Concentration(),
        save_every=1.0,
    )
    kinds = [(event.kind, event.time < 6.0) for event in run.events]
    assert kinds[0] == ("birth", True)
    assert ("fission", False) in kinds
    assert all(event.time >= 6.0 for event in run.events if event.kind == "fission")
    assert run.final.total_mass == pytest.approx(1.0, abs=1e-12)
    assert len(run.final.atoms) == 0
    assert run.track is not None
    assert run.track.times.tolist() == run.times.tolist()


def test_a_track_is_that_of_the_saved_states() -> None:
    layers = mfpde.Layers([(equation(1, beta=6.0), 4.0), (equation(5, beta=6.0), 6.0)])
    run = mfpde.solve(layers, smooth(), track=mfpde.Concentration(), save_every=0.5)
    again = run.tracked(mfpde.Concentration())
    assert run.track is not None
    for one, other in zip(run.track.seen, again.track.seen, strict=True):
        assert np.array_equal(one.identities, other.identities)
        assert np.array_equal(one.points, other.points)
    kinds = [
        [(event.kind, float(event.time)) for event in track.events]
        for track in (run.track, again.track)
    ]
    assert kinds[0] == kinds[1]


# Stores and commands --------------------------------------------------------------------------


def test_layers_come_back_to_the_bit(tmp_path) -> None:
    layers = mfpde.Layers.random(quadratic(2, 0.1), count=5, duration=0.1, seed=4)
    run = mfpde.solve(layers, mfpde.uniform(CIRCLE), t_end=0.35)
    save(run, tmp_path / "run.zarr")
    loaded = load(tmp_path / "run.zarr")
    assert loaded.layers.seed == 4
    assert np.array_equal(loaded.layers.breakpoints, layers.breakpoints)
    for one, other in zip(loaded.layers.equations, layers.equations, strict=True):
        assert np.array_equal(one.terms[0].weights, other.terms[0].weights)
    assert np.array_equal(
        loaded.equation.terms[0].weights, layers.equations[3].terms[0].weights
    )
    for name, values in run.diagnostics.items():
        assert np.array_equal(values, loaded.diagnostics[name], equal_nan=True)
    dataset = xr.open_zarr(tmp_path / "run.zarr", consolidated=False)
    durations = [
        duration for _, duration in json.loads(dataset.attrs["equation"])["layers"]
    ]
    assert [0.0, *np.cumsum(durations)] == layers.breakpoints.tolist()
    again = mfpde.solve(loaded.layers, loaded.states[0], t_end=0.35)
    assert np.array_equal(again.final.density.values, run.final.density.values)


def test_a_layer_of_the_user_s_functions_is_not_stored(tmp_path) -> None:
    own = layered.three_linear_layers().equations[0]
    layers = mfpde.Layers([(equation(), 0.2), (own, 0.2)])
    for t_end in (0.1, 0.3):
        run = mfpde.solve(layers, mfpde.uniform(CIRCLE), t_end=t_end)
        path = tmp_path / f"{t_end}.zarr"
        save(run, path)
        loaded = load(path)
        assert loaded.layers is None
        assert loaded.equation is None
        attributes = xr.open_zarr(path, consolidated=False).attrs
        layers_there = json.loads(attributes["equation"])["layers"]
        assert [duration for _, duration in layers_there] == [0.2, 0.2]
        assert main(["show", str(path)]) == 0


TEXT = """
[geometry]
kind = "circle"
cells = 64

[attention]
beta = 2.0

[equation]
direction = "descent"

[start]
kind = "perturbed_uniform"
amplitude = 0.3

[solve]
save_every = 0.125

[[layers]]
duration = 0.3
perceptron = { directions = [[1.0, 0.0]], weights = [0.3] }

[[layers]]
duration = 0.2
count = 3
perceptron = { random = { units = 2, seed = 5 } }

[[layers]]
duration = 0.1
attention = { beta = 3.0 }
equation = { direction = "ascent" }
"""


@pytest.fixture
def config(tmp_path, monkeypatch):
    """Return a settings file in a working directory of its own."""
    monkeypatch.chdir(tmp_path)
    Path("run.toml").write_text(TEXT)
    return "run.toml"


def test_settings_build_the_layers_that_they_say(config) -> None:
    layers = read_settings(config).dynamics
    assert layers.durations.tolist() == [0.3, 0.2, 0.2, 0.2, 0.1]
    assert [e.direction for e in layers.equations] == ["descent"] * 4 + ["ascent"]
    assert [e.sharpness for e in layers.equations] == [2.0] * 4 + [3.0]
    for k, one in enumerate(layers.equations[1:4]):
        expected = mfpde.Perceptron.random(2, 2, seed=5 + k)
        assert np.array_equal(one.terms[1].weights, expected.weights)
    assert layers.equations[4].perceptrons == ()
    assert read_settings(config).save_times()[-1] == layers.depth
    earlier = read_settings(config, ["solve.t_end=0.4"])
    assert earlier.save_times()[-1] == 0.4
    with pytest.raises(SettingsError, match="5 equations: this works on one alone"):
        earlier.single_equation()
    assert main(["minimize", config]) == 2


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "duration = 0.2",
            "duration = -1",
            "[layers] layer 1: duration = -1 must be a finite",
        ),
        (
            "count = 3",
            "count = 0",
            "[layers] layer 1: count = 0 must be a whole number",
        ),
        ("duration = 0.1", "", "[layers] layer 2: needs the setting 'duration'"),
        (
            "beta = 3.0",
            "beta = -3.0",
            "[layers] layer 2: attention beta = -3.0 must be",
        ),
        ("beta = 3.0", "beta = 900.0", "layers[4]"),
        ("[1.0, 0.0]", "[1.0, 0.0, 0.0]", "layers"),
        (
            "save_every",
            "t_end = 9.0\nsave_every",
            "t_end = 9 must be at most the total",
        ),
    ],
)
def test_wrong_layers_in_a_file_are_named(config, old, new, expected) -> None:
    Path(config).write_text(TEXT.replace(old, new))
    with pytest.raises(SettingsError) as caught:
        read_settings(config)
    assert expected in str(caught.value)


def test_show_states_the_number_of_layers(config, capsys) -> None:
    arguments = ["--quiet", "--set", "particles.count=40"]
    assert main(["run", config, "--out", "x.zarr", *arguments]) == 0
    assert main(["show", "x.zarr"]) == 0
    told = capsys.readouterr().out
    assert "layers:      5 of depth 1; the last that was reached, number 5" in told
    assert load("x.zarr/particles").layers is not None


@pytest.mark.parametrize("saves", [2, 4, 6])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_run_resumed_inside_a_layer_ends_as_the_whole_one(
    config, monkeypatch, *, error, saves
) -> None:
    arguments = ["--quiet", "--set", "solve.rtol=1e-6"]
    main(["run", config, "--out", "whole.zarr", *arguments])
    with monkeypatch.context() as patch:
        interrupted_after(patch, saves, error)
        with contextlib.suppress(MemoryError):
            main(["run", config, "--out", "x.zarr", *arguments])
    assert main(["resume", "x.zarr", "--quiet"]) == 0
    whole, resumed = load("whole.zarr"), load("x.zarr")
    np.testing.assert_allclose(resumed.times, whole.times, rtol=1e-14)
    assert resumed.stop == whole.stop
    ends = (resumed.final.density.values, whole.final.density.values)
    assert np.abs(ends[0] - ends[1]).max() < 1e-6
    assert resumed.layers.depth == whole.layers.depth


def test_a_run_resumed_at_a_breakpoint_is_the_whole_one(config, monkeypatch) -> None:
    """There the whole run finds its steps anew too: the states are the same to the bit."""
    arguments = ["--quiet", "--set", "solve.save_at=[0.3, 0.5, 0.7, 1.0]"]
    Path(config).write_text(TEXT.replace("save_every = 0.125", ""))
    main(["run", config, "--out", "whole.zarr", *arguments])
    with monkeypatch.context() as patch:
        interrupted_after(patch, 2, KeyboardInterrupt)
        main(["run", config, "--out", "x.zarr", *arguments])
    assert load("x.zarr").final_time == 0.7 or len(load("x.zarr").times) == 2
    assert main(["resume", "x.zarr", "--quiet"]) == 0
    ends = [load(name).final.density.values for name in ("whole.zarr", "x.zarr")]
    assert np.abs(ends[0] - ends[1]).max() <= 1e-15


def interrupted_after(patch, saves, error) -> None:
    """Let the save after so many raise."""
    written, left = RunWriter.save, iter(range(saves))

    def save(self, *arguments):
        if next(left, None) is None:
            raise error
        return written(self, *arguments)

    patch.setattr(RunWriter, "save", save)


# Ensembles ------------------------------------------------------------------------------------


def make_quadratic(rng: np.random.Generator) -> mfpde.Layers:
    """Draw forty quadratic layers."""
    sampled = quadratic(2, 0.1)
    return mfpde.Layers([(sampled(rng, k), 0.1) for k in range(40)])


def tokens(angle: float, dimension: int = 2) -> mfpde.Atoms:
    """Return two tokens of mass 1/2, ``angle`` apart."""
    points = np.eye(2, dimension)
    points[1] = np.cos(angle) * points[0] + np.sin(angle) * points[1]
    return mfpde.Atoms(points, [0.5, 0.5])


@pytest.fixture(scope="module")
def pairs() -> mfpde.Ensemble:
    return mfpde.ensemble(
        make_quadratic, tokens(1.2), runs=5, seed=3, save_at=[2.0, 4.0]
    )


def test_two_tokens_end_aligned_or_antipodal(pairs) -> None:
    """With mass 1/2 each the statistic is (1 - x.x')/4: 0 or 1/2; and it is a formula."""
    assert pairs.two_token.shape == pairs.energies.shape == (5, 2)
    for seed, row in zip(pairs.seeds, pairs.two_token, strict=True):
        layers = make_quadratic(np.random.default_rng(seed))
        moved = tokens(1.2).points @ layered.product_of(layers).T
        moved /= np.linalg.norm(moved, axis=1, keepdims=True)
        assert row[1] == pytest.approx((1 - moved[0] @ moved[1]) / 4, abs=1e-6)
    apart = np.minimum(pairs.two_token[:, 1], 0.5 - pairs.two_token[:, 1])
    assert np.median(apart) < 0.02
    assert pairs.average("two_token").mean == pytest.approx(
        pairs.two_token.mean(axis=0)
    )
    spread = pairs.two_token.std(axis=0, ddof=1)
    assert pairs.average("two_token").error == pytest.approx(spread / np.sqrt(5))
    exponent = pairs.average("lyapunov").mean
    assert f"largest Lyapunov exponent         -   {exponent:.6g}" in str(pairs)


@pytest.mark.parametrize("dimension", [2, 3, 4])
def test_the_lyapunov_exponent_is_that_of_the_matrix_product(dimension) -> None:
    """The map x -> Yx/|Yx| has the derivative P_y Y / |Yx| at x."""
    layers = mfpde.Layers.random(
        quadratic(dimension, 0.1), count=30, duration=0.1, seed=6
    )
    start = tokens(1.0, dimension)
    heading = np.arange(1.0, dimension + 1)
    found = lyapunov_exponent(layers, start, heading, t_end=layers.depth)
    matrix, point = layered.product_of(layers), start.points[0]
    across = heading - (heading @ point) * point
    across /= np.linalg.norm(across)
    image = matrix @ point
    moved = matrix @ across / np.linalg.norm(image)
    unit = image / np.linalg.norm(image)
    exact = np.log(np.linalg.norm(moved - (moved @ unit) * unit)) / layers.depth
    assert found == pytest.approx(exact, abs=1e-6)


def test_the_lyapunov_exponent_holds_beyond_the_digits_of_the_displacement() -> None:
    """Displacements of e^-60 and e^-50: a part along x, which does not decay, is no tangent."""
    alone = mfpde.MeanFieldEquation(mfpde.Attention(5.0), direction="ascent")
    layers = mfpde.Layers([(alone, 20.0), (alone, 40.0)])
    start = mfpde.Atoms(np.eye(1, 3), [1.0])
    found = lyapunov_exponent(layers, start, np.ones(3), t_end=60.0)
    assert found == pytest.approx(-1.0, abs=1e-8)
    layers = mfpde.Layers.random(quadratic(2, 0.1), count=600, duration=0.1, seed=6)
    point, across, grown = np.array([1.0, 0.0]), np.array([0.0, 1.0]), 0.0
    for layer in layers:
        matrix = layered.product_of(mfpde.Layers([layer]))
        moved, length = matrix @ across, np.linalg.norm(matrix @ point)
        point = matrix @ point / length
        across = (moved - (moved @ point) * point) / length
        grown += np.log(np.linalg.norm(across))
        across /= np.linalg.norm(across)
    assert grown < -30
    start = mfpde.Atoms(np.eye(1, 2), [1.0])
    found = lyapunov_exponent(layers, start, np.ones(2), t_end=layers.depth)
    assert found == pytest.approx(grown / layers.depth, abs=1e-6)


def test_the_same_seed_gives_the_same_numbers_on_any_number_of_processes(pairs) -> None:
    again, other = (
        mfpde.ensemble(
            lambda rng: make_quadratic(rng),
            tokens(1.2),
            runs=2,
            seed=seed,
            save_at=[2.0, 4.0],
            jobs=jobs,
        )
        for seed, jobs in ((3, 2), (4, 1))
    )
    assert again.seeds == pairs.seeds[:2]
    assert np.array_equal(again.two_token, pairs.two_token[:2])
    assert np.array_equal(again.lyapunov, pairs.lyapunov[:2])
    assert not np.array_equal(other.two_token, again.two_token)


def test_an_ensemble_of_densities_is_that_of_its_runs() -> None:
    start = smooth(mfpde.Circle(64))
    found = mfpde.ensemble(make_quadratic, start, runs=2, seed=1, t_end=0.5)
    layers = make_quadratic(np.random.default_rng(found.seeds[1]))
    run = mfpde.solve(layers, start, t_end=0.5, save_at=found.times)
    means = [s.density.masses @ s.geometry.points for s in run.states]
    assert found.two_token[1] == pytest.approx([(1 - m @ m) / 2 for m in means])
    assert np.array_equal(found.energies[1], run.energies)
    assert np.isnan(found.lyapunov).all()
    zonal = mfpde.uniform(mfpde.Zonal(4, 64))
    alone = mfpde.MeanFieldEquation(ATTENTION, direction="ascent")
    drawn = mfpde.ensemble(
        lambda rng: mfpde.Layers([(alone, 0.2)]), zonal, runs=1, seed=0
    )
    # A uniform measure has no mean, also where a grid knows half a meridian only.
    assert drawn.two_token == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"runs": 0}, "runs = 0"),
        ({"jobs": 0}, "jobs = 0"),
        ({"seed": -3}, "seed = -3"),
        ({"t_end": 5.0}, "t_end = 5 must be at most the total depth"),
        ({"make_layers": None}, "make_layers = None must be a function"),
        ({"make_layers": lambda rng: 3}, "make_layers returned 3"),
    ],
)
def test_wrong_arguments_of_an_ensemble_are_named(arguments, expected) -> None:
    given = {"make_layers": make_quadratic, "runs": 1, "seed": 0} | arguments
    with pytest.raises(ValueError, match=expected):
        mfpde.ensemble(given.pop("make_layers"), tokens(1.0), **given)


@given(seed=st.integers(0, 2**31), count=st.integers(1, 12))
@settings(deadline=None, max_examples=15)
def test_any_layers_keep_mass_and_sign(seed, count) -> None:
    rng = np.random.default_rng(seed)
    pairs = []
    for _ in range(count):
        neurons = mfpde.Perceptron.random(2, 2, seed=int(rng.integers(1000)), scale=3.0)
        direction = ("ascent", "descent")[rng.integers(2)]
        diffusion = float(rng.choice([0.0, 0.01]))
        one = mfpde.MeanFieldEquation(
            ATTENTION, neurons, direction=direction, diffusion=diffusion
        )
        pairs.append((one, float(10 ** rng.uniform(-3, 0))))
    layers = mfpde.Layers(pairs)
    run = mfpde.solve(layers, smooth(mfpde.Circle(64)), rtol=1e-2)
    assert run.stop.kind == "t_end"
    assert run.final_time == layers.depth
    assert run.mass_drift <= 1e-13
    assert (run.diagnostics["minimum"] >= 0).all()
    inner = layers.breakpoints[1:-1]
    assert all(np.abs(run.times - t).min() <= 1e-12 * layers.depth for t in inner)


def test_the_matrix_product_is_the_flow() -> None:
    """The reference itself: expm against the spectral form of one symmetric matrix."""
    layers = mfpde.Layers.random(quadratic(3, 0.3), count=1, duration=0.3, seed=1)
    neurons = layers.equations[0].terms[0]
    form = neurons.directions.T @ (neurons.weights[:, np.newaxis] * neurons.directions)
    assert np.allclose(layered.product_of(layers), expm(0.3 * form), atol=1e-14)
