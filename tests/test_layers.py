"""Layers: breakpoints, exact flows through several layers, stores, commands, ensembles."""

from __future__ import annotations

import json
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from random import Random

import numpy as np
import pytest
import xarray as xr
from equations import ascent, descent, pull
from hypothesis import given, settings
from hypothesis import strategies as st
from random_points import bump, random_density, random_direction, random_points
from stored import assert_same

import mfpde
from mfpde.commands.command_line import main
from mfpde.runs.stopping import StoppingCondition, StopReason
from mfpde.settings import SettingsError, read_settings
from mfpde.storage import load, save
from validation.references import layered
from validation.verdict_shapes import unit

ATTENTION = mfpde.Attention(4.0)
CIRCLE = mfpde.Circle(128)
REST = descent(mfpde.Attention(0.1))


def equation(seed: int = 1, direction: str = "ascent", beta: float = 4.0):
    """Attention with two random neurons."""
    neurons = mfpde.Perceptron.random(2, 2, seed=seed)
    return mfpde.MeanFieldEquation(mfpde.Attention(beta), neurons, direction=direction)


def quadratic(dimension: int, duration: float):
    """Return the sampler of the docstring of Layers.random."""

    def sampled(rng: np.random.Generator, _index: int) -> mfpde.MeanFieldEquation:
        square = rng.standard_normal((dimension, dimension))
        form = (square + square.T) / np.sqrt(2 * dimension * duration)
        weights, vectors = np.linalg.eigh(form)
        neurons = mfpde.Perceptron(vectors.T, weights, "linear")
        return ascent(neurons)

    return sampled


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=40))
def test_breakpoints_are_the_sums_and_know_their_layers(durations) -> None:
    layers = mfpde.Layers([(REST, duration) for duration in durations])
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


def saves_of(durations, t_end=None, **options) -> np.ndarray:
    """The times of a run of layers in which nothing moves."""
    layers = mfpde.Layers([(REST, duration) for duration in durations])
    start = mfpde.uniform(mfpde.Circle(16))
    return mfpde.solve(layers, start, t_end=t_end, **options).times


def test_saves_at_breakpoints_are_there_to_the_bit() -> None:
    """0.1 + ... + 0.1 in another order, and twice as many saves."""
    breaks = mfpde.Layers([(REST, 0.1)] * 24).breakpoints
    summed = np.cumsum(np.full(24, 0.1))
    assert saves_of([0.1] * 24, save_at=summed).tolist() == breaks[1:].tolist()
    assert saves_of([0.1] * 24, save_every=0.05)[::2].tolist() == breaks.tolist()
    given = {"t_end": 0.75, "start_time": 0.3, "save_at": [0.3, *summed[3:7], 0.75]}
    assert saves_of([0.1] * 24, **given).tolist() == [0.3, *breaks[4:8], 0.75]


def test_the_same_seed_gives_the_same_layers() -> None:
    few, more, other = (
        mfpde.Layers.random(quadratic(3, 0.1), count=count, duration=0.1, seed=seed)
        for count, seed in ((4, 5), (9, 5), (4, 6))
    )
    assert_same(few.equations, more.equations[:4])
    assert few.seed == 5
    weights = [layers.equations[0].terms[0].weights for layers in (few, other)]
    assert not np.array_equal(*weights)
    assert "seed 5" in repr(few)


@pytest.mark.parametrize("dimension", [2, 3, 5])
@pytest.mark.parametrize("time_step", [None, 0.0025])
def test_particles_in_random_quadratic_layers_are_the_matrix_product(
    dimension, time_step
) -> None:
    layers = mfpde.Layers.random(
        quadratic(dimension, 0.02), count=40, duration=0.02, seed=3
    )
    start = mfpde.Atoms(random_points(6, dimension, seed=1))
    options = {"rtol": 1e-11, "atol": 1e-12, "time_step": time_step}
    run = mfpde.solve_particles(layers, start, **options)
    moved = unit(start.points @ layered.product_of(layers).T)
    allowed = 1e-9 if time_step is None else 1e-5
    assert np.abs(run.final.points - moved).max() < allowed


# A run of layers is the runs one after the other ---------------------------------------------

TWO = mfpde.Layers([(equation(1), 0.7), (equation(2, "descent"), 0.5)])


def test_a_save_at_the_rounded_depth_is_the_end() -> None:
    """0.37 + 0.45 is 0.82 and a last digit: a step of that length would follow."""
    layers = mfpde.Layers([(equation(), 0.37), (equation(2), 0.45)])
    run = mfpde.solve(layers, bump(CIRCLE), save_at=[0.0, 0.82])
    assert run.statistics["last_step"] > 1e-3
    assert run.times[-1] == run.final_time == layers.depth


@settings(deadline=None, max_examples=8)
@given(
    durations=st.lists(st.floats(0.01, 10.0), min_size=2, max_size=120),
    begun=st.sampled_from([0.0, 0.3]),
)
def test_default_saves_are_at_breakpoints_and_evenly_between(durations, begun) -> None:
    """About as many as for one equation: at most half an interval more for each layer."""
    breaks = mfpde.Layers([(REST, duration) for duration in durations]).breakpoints
    first, depth = begun * breaks[-1], breaks[-1]
    times = saves_of(durations, start_time=first)
    assert (times[0], times[-1]) == (first, depth)
    later = breaks[breaks > first * (1 + 1e-9)]
    assert set(later) <= set(times)
    for begin, end in pairwise([first, *later]):
        within = times[(times >= begin) & (times <= end)]
        np.testing.assert_allclose(
            np.diff(within), (end - begin) / (len(within) - 1), rtol=1e-9
        )
        share = 50 * (end - begin) / (depth - first)
        assert abs(len(within) - 1 - share) <= max(0.5 + 1e-6, 1 - share)


def test_energies_at_breakpoints_are_those_of_the_layer_that_ends() -> None:
    run = mfpde.solve(TWO, bump(CIRCLE))
    (at,) = np.flatnonzero(run.times == 0.7)
    state = run.states[at]
    before, after = (layer.energy(state) for layer in TWO.equations)
    assert run.energies[at] == pytest.approx(before, rel=1e-12)
    assert TWO.equation_after(0.7).energy(run.at(0.7)) == after
    # Ascent of the first layer's energy, descent of the second's.
    assert (np.diff(run.energies[: at + 1]) > 0).all()
    assert (np.diff([after, *run.energies[at + 1 :]]) < 0).all()


def test_a_steady_state_stops_the_last_layer_alone() -> None:
    resting, start = descent(ATTENTION, diffusion=0.5), mfpde.uniform(CIRCLE)
    stop = mfpde.SteadyState(1e-6)
    layers = mfpde.Layers(
        [(resting, 1.0), (equation(3, "descent"), 0.5), (resting, 50.0)]
    )
    run = mfpde.solve(layers, start, stop=stop)
    assert run.stop.kind == "steady_state"
    assert run.final_time > 1.5
    assert mfpde.solve(resting, start, t_end=1.0, stop=stop).final_time < 1.0
    limited = mfpde.solve(layers, start, stop=mfpde.StepLimit(1))
    assert limited.stop.kind == "step_limit"
    assert limited.final_time <= 1.0

    class AtOnce(StoppingCondition):
        def check(self, record) -> StopReason:
            return StopReason("mine", f"{record.time:g}")

    class OfRest(AtOnce):
        judges_rest = True

    first = mfpde.solve(TWO, bump(CIRCLE), stop=AtOnce(), max_step=0.5)
    assert first.final_time < 0.7
    assert mfpde.solve(TWO, bump(CIRCLE), stop=OfRest()).final_time > 0.7


def test_a_track_is_that_of_the_saved_states() -> None:
    layers = mfpde.Layers([(equation(1, beta=6.0), 4.0), (equation(5, beta=6.0), 6.0)])
    run = mfpde.solve(layers, bump(CIRCLE), track=mfpde.Concentration(), save_every=0.5)
    assert run.track.paths
    assert str(run.tracked(mfpde.Concentration()).track) == str(run.track)


# Stores and commands --------------------------------------------------------------------------


def test_layers_come_back_to_the_bit(tmp_path) -> None:
    layers = mfpde.Layers.random(quadratic(2, 0.1), count=5, duration=0.1, seed=4)
    run = mfpde.solve(layers, mfpde.uniform(CIRCLE), t_end=0.35)
    save(run, tmp_path / "run.zarr")
    loaded = load(tmp_path / "run.zarr")
    assert_same(loaded.layers, layers)
    assert loaded.equation is loaded.layers.equations[3]
    again = mfpde.solve(loaded.layers, loaded.states[0], t_end=0.35)
    assert np.array_equal(again.final.density.values, run.final.density.values)


def test_a_layer_of_the_user_s_functions_is_not_stored(tmp_path) -> None:
    layers = mfpde.Layers([(equation(), 0.2), (ascent(pull([0.0, 1.0])), 0.2)])
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
geometry = {kind = "circle", cells = 64}
attention = {beta = 2.0}
equation = {direction = "descent"}
start = {kind = "perturbed_uniform", amplitude = 0.3}
solve = {save_every = 0.125}
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


WRONG = """
duration = 0.2 -> duration = -1 -> [layers] layer 1: duration = -1 must be a finite
count = 3 -> count = 0 -> [layers] layer 1: count = 0 must be a whole number
duration = 0.1 -> -> [layers] layer 2: needs the setting 'duration'
beta = 3.0 -> beta = -3.0 -> [layers] layer 2: attention beta = -3.0 must be
beta = 3.0 -> beta = 900.0 -> layers[4]
[1.0, 0.0] -> [1.0, 0.0, 0.0] -> layers
save_every = 0.125 -> t_end = 9.0 -> t_end = 9 must be at most the total
"""
"""Words of the settings, what stands in their place, and words of the error."""


@pytest.mark.parametrize("row", WRONG.strip().splitlines())
def test_wrong_layers_in_a_file_are_named(config, row) -> None:
    old, new, expected = (part.strip() for part in row.split("->"))
    assert old in TEXT
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
        moved = unit(tokens(1.2).points @ layered.product_of(layers).T)
        assert row[1] == pytest.approx((1 - moved[0] @ moved[1]) / 4, abs=1e-6)
    apart = np.minimum(pairs.two_token[:, 1], 0.5 - pairs.two_token[:, 1])
    assert np.median(apart) < 0.02
    average, spread = pairs.average("two_token"), pairs.two_token.std(axis=0, ddof=1)
    assert average.mean == pytest.approx(pairs.two_token.mean(axis=0))
    assert average.error == pytest.approx(spread / np.sqrt(5))
    exponent = pairs.average("lyapunov").mean
    assert f"largest Lyapunov exponent         -   {exponent:.6g}" in str(pairs)


@pytest.mark.parametrize("dimension", [2, 3, 4])
def test_the_lyapunov_exponent_is_that_of_the_matrix_product(dimension) -> None:
    """The map x -> Yx/|Yx| has the derivative P_y Y / |Yx| at x."""
    layers = mfpde.Layers.random(
        quadratic(dimension, 0.1), count=30, duration=0.1, seed=6
    )
    start = tokens(1.0, dimension)
    matrix, point = layered.product_of(layers), start.points[0]
    image = matrix @ point
    end = unit(image)
    found = mfpde.ensemble(lambda _: layers, start, runs=2, seed=3, save_at=[3.0])
    for seed, exponent in zip(found.seeds, found.lyapunov, strict=True):
        across = np.random.default_rng([seed, 1]).standard_normal(dimension)
        across -= (across @ point) * point
        moved = matrix @ across / np.linalg.norm(across) / np.linalg.norm(image)
        exact = np.log(np.linalg.norm(moved - (moved @ end) * end)) / layers.depth
        assert exponent == pytest.approx(exact, abs=1e-6)


def test_the_lyapunov_exponent_holds_beyond_the_digits_of_the_displacement() -> None:
    """A displacement of e^-60: a part along x, which does not decay, is no tangent."""
    alone = ascent(mfpde.Attention(5.0))
    layers = mfpde.Layers([(alone, 20.0), (alone, 40.0)])
    start = mfpde.Atoms(np.eye(1, 3), [1.0])
    found = mfpde.ensemble(lambda _: layers, start, runs=1, seed=0, save_at=[60.0])
    assert found.lyapunov == pytest.approx(-1.0, abs=1e-8)


def test_the_same_seed_gives_the_same_numbers_on_any_number_of_processes(pairs) -> None:
    again, other = (
        mfpde.ensemble(
            lambda rng: make_quadratic(rng),
            tokens(1.2),
            runs=2,
            save_at=[2.0, 4.0],
            **chosen,
        )
        for chosen in ({"seed": 3, "jobs": 2}, {"seed": 4})
    )
    assert again.seeds == pairs.seeds[:2]
    assert np.array_equal(again.two_token, pairs.two_token[:2])
    assert np.array_equal(again.lyapunov, pairs.lyapunov[:2])
    assert not np.array_equal(other.two_token, again.two_token)


def test_an_ensemble_of_densities_is_that_of_its_runs() -> None:
    start = bump(mfpde.Circle(64))
    found = mfpde.ensemble(make_quadratic, start, runs=2, seed=1, t_end=0.5)
    layers = make_quadratic(np.random.default_rng(found.seeds[1]))
    run = mfpde.solve(layers, start, t_end=0.5, save_at=found.times)
    means = [s.density.masses @ s.geometry.points for s in run.states]
    assert found.two_token[1] == pytest.approx([(1 - m @ m) / 2 for m in means])
    assert np.array_equal(found.energies[1], run.energies)
    assert np.isnan(found.lyapunov).all()
    zonal = mfpde.uniform(mfpde.Zonal(4, 64))
    alone = ascent(ATTENTION)
    drawn = mfpde.ensemble(
        lambda rng: mfpde.Layers([(alone, 0.2)]), zonal, runs=1, seed=0
    )
    # A uniform measure has no mean, also where a grid knows half a meridian only.
    assert drawn.two_token == pytest.approx(0.5, abs=1e-12)


CASES = [
    (mfpde.Circle(64), None, "grid"),
    (mfpde.Circle(64), "semi_lagrangian", "grid"),
    (mfpde.Circle(64), "semi_lagrangian_donor_blended", "grid"),
    (mfpde.Circle(64), "donor_blended", "grid"),
    (mfpde.Circle(160), None, "exact"),
    (mfpde.Circle(160), "donor_blended", "exact"),
    (mfpde.Sphere(32), None, "grid"),
    (mfpde.Sphere(32), "spectral_donor_blended", "grid"),
    (mfpde.Sphere(32), "donor_blended", "grid"),
    (mfpde.Sphere(48), None, "exact"),
    (mfpde.Zonal(5, 64), None, "grid"),
    (mfpde.Zonal(40, 64), None, "grid"),
]


def drawn_equation(geometry, draw: Random) -> mfpde.MeanFieldEquation:
    """Attention with a neuron that points anywhere the geometry allows."""
    if geometry.axis is None:
        direction = random_direction(draw, geometry.dimension)
    else:
        direction = draw.choice([1, -1]) * geometry.axis
    activation = draw.choice(["relu", "gelu", "linear"])
    neuron = mfpde.Perceptron([direction], [draw.uniform(-1.0, 1.0)], activation)
    beta = draw.uniform(0.5, 4.0 if geometry.dimension < 5 else 8.0)
    return draw.choice([ascent, descent])(beta, neuron)


def start_of(geometry, draw: Random) -> mfpde.Measure:
    """A density, every other time beside two atoms; on a zonal grid they would be rings."""
    whole = random_density(draw, geometry)
    if geometry.axis is not None or draw.random() < 0.5:
        return mfpde.Measure(whole)
    points = [random_direction(draw, geometry.dimension) for _ in range(2)]
    part = mfpde.Density(geometry, 0.7 * whole.values)
    return mfpde.Measure(part, mfpde.Atoms(points, [0.1, 0.2]))


@pytest.mark.filterwarnings("ignore:.*coarse")
@pytest.mark.parametrize(("geometry", "transport", "atoms"), CASES)
@settings(deadline=None, max_examples=8)
@given(st.integers(0, 2**31), st.lists(st.floats(0.05, 1.5), min_size=2, max_size=4))
def test_layers_are_runs_one_after_the_other(
    geometry, transport, atoms, seed, durations
) -> None:
    draw = Random(seed)
    measure = start_of(geometry, draw)
    layers = mfpde.Layers([(drawn_equation(geometry, draw), d) for d in durations])
    options = {"transport": transport, "atoms": atoms}
    whole, runs = mfpde.solve(layers, measure, save_at=[layers.depth], **options), []
    for one, duration in layers:
        times = {"t_end": duration, "save_at": [duration]}
        runs.append(mfpde.solve(one, measure, **times, **options))
        measure = runs[-1].final
    assert whole.final.total_mass == pytest.approx(1, abs=1e-12)
    assert whole.final.density.values.min() >= 0
    # Where atoms form and what they absorb is decided cell by cell: rounding grows there.
    allowed = 1e-9 if atoms == "exact" else 1e-12
    for one in ("density.masses", "atoms.points", "atoms.masses"):
        found, expected = map(attrgetter(one), (whole.final, measure))
        np.testing.assert_allclose(found, expected, rtol=0, atol=allowed)
    for name in ("steps", "rejected"):
        counts = [run.statistics[name] for run in (whole, *runs)]
        assert counts[0] == sum(counts[1:])
