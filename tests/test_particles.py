"""Particles: both ways of summing, exact trajectories, steps, starts, labels."""

import itertools

import numpy as np
import pytest
from equations import ascent, descent
from hypothesis import given, settings
from hypothesis import strategies as st
from random_points import atoms_at, random_atoms, random_points

import mfpde
from mfpde import Attention, Circle, Density, Perceptron, label_density, solve_particles
from mfpde.terms import PointMasses
from validation.circle_cases import angles_of, cosine_potential, orders
from validation.references.moebius import kuramoto_parameter, poisson, poisson_mass
from validation.references.two_atoms import merge_time

METHODS = ["direct", "spectral"]
TIGHT = {"rtol": 1e-12, "atol": 1e-13}
DIRECTIONS = [[1.0, 0.0], [0.6, 0.8]]
WEIGHTS = [0.8, -0.5]

each_method = pytest.mark.parametrize("method", METHODS)
plain_and_softmax = pytest.mark.parametrize("normalized", [False, True])


def assert_both_sums_agree(equation, atoms, rtol, atol=0.0):
    """Require the step of a tenth of the largest velocity, and the energy, of both methods."""
    size = np.abs(equation.velocity(atoms)).max()
    step = 0.1 / max(1.0, size)
    direct, spectral = (
        solve_particles(equation, atoms, t_end=step, time_step=step, method=method)
        for method in METHODS
    )
    moves = [run.final.points - atoms.points for run in (direct, spectral)]
    room = (atol or rtol * max(1.0, size)) * step
    np.testing.assert_allclose(*moves, rtol=rtol if atol else 0, atol=room)
    np.testing.assert_allclose(
        spectral.energies, direct.energies, rtol=max(rtol, 1e-12), atol=1e-2 * rtol
    )


# --- direct and spectral sums -------------------------------------------------


@pytest.mark.parametrize("dimension", [2, 3, 6])
@pytest.mark.parametrize("beta", [0.1, 8.0, 1000.0])
@pytest.mark.parametrize("targets", [1, 128, 200])
def test_sums_are_those_of_matrices(dimension, beta, targets):
    atoms, points = random_atoms(300, dimension), random_points(targets, dimension, 5)
    exponents = beta * (points @ atoms.points.T - 1)
    weights = np.exp(exponents - exponents.max(axis=1, keepdims=True)) * atoms.masses
    sources = PointMasses(atoms.points, atoms.masses)
    attention = Attention(beta, normalized=True)
    potential, found = attention.sums_over_atoms(points, sources)
    scale = 1e-14 * max(1.0, beta)
    # Whatever is taken out of the sums: their logarithm, and the mean of the points.
    totals = weights.sum(axis=1)
    logarithms = exponents.max(axis=1) + np.log(totals)
    np.testing.assert_allclose(beta * potential, logarithms, atol=1e2 * scale)
    means = weights @ atoms.points / totals[:, np.newaxis]
    np.testing.assert_allclose(found, means, atol=1e2 * scale)


@pytest.mark.parametrize("beta", [0.0, 5.0, 100.0])
@plain_and_softmax
@pytest.mark.parametrize("kernel", ["shifted", "unshifted"])
@pytest.mark.parametrize("activation", [None, "relu", "gelu"])
def test_velocity_and_energy_on_the_circle_are_those_of_direct_sums(
    beta, normalized, kernel, activation
):
    terms = [Attention(beta, normalized=normalized, kernel=kernel)]
    if activation:
        biases = [0.1, -0.2] if activation == "gelu" else None
        terms.append(Perceptron(DIRECTIONS, WEIGHTS, activation, biases=biases))
    for toward in (ascent, descent):
        assert_both_sums_agree(toward(*terms), random_atoms(300), 1e-12)


NEURONS = Perceptron([[1.0, 0.2, -0.4], [0.3, -1.0, 0.5]], [0.8, -0.6], "gelu")
TERMS = {
    "attention": [Attention(6.0)],
    "softmax": [Attention(6.0, normalized=True)],
    "unshifted": [Attention(3.0, kernel="unshifted")],
    "polynomial": [mfpde.Interaction(mfpde.Polynomial([0.0, 1.0, -0.5, 0.25]))],
    "several": [Attention(6.0), Attention(6.0, normalized=True)],
    # Sums by moments hold zonal kernels only.
    "head": [Attention(3.0), Attention(2.0, bilinear=np.eye(3) + 0.4 * np.eye(3, k=1))],
}


@settings(deadline=None, max_examples=40)
@given(
    name=st.sampled_from(list(TERMS)),
    seed=st.integers(0, 10**6),
    count=st.integers(1, 70),
    spread=st.floats(0.01, 2.0),
)
def test_velocity_and_energy_on_the_sphere_are_those_of_direct_sums(
    name, seed, count, spread
):
    """Also for clusters, where softmax leaves the kernel's mean small elsewhere."""
    atoms = random_atoms(count, 3, seed)
    points = np.array([0.0, 0.6, 0.8]) + spread * atoms.points
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    atoms = mfpde.Atoms(points, atoms.masses)
    assert_both_sums_agree(descent(*TERMS[name], NEURONS), atoms, 1e-8)


def test_softmax_keeps_its_digits_where_almost_nothing_is_near():
    """Far and light particles feel a kernel mean that the series cannot resolve."""
    angles = np.concatenate([np.linspace(-0.3, 0.3, 50), [2.0, 2.1, 3.0]])
    masses = np.concatenate([np.full(50, 0.02), [1e-9, 1e-300, 1e-14]])
    equation = ascent(Attention(100.0, normalized=True))
    assert_both_sums_agree(equation, atoms_at(angles, masses), 1e-9, atol=1e-11)


@pytest.mark.parametrize("name", TERMS)
def test_sums_are_to_the_bit_the_same_on_any_number_of_threads(name, monkeypatch):
    """Shares of few particles, the last one cut short."""
    monkeypatch.setattr("mfpde.particles.systems._SHARE", 16)
    atoms, equation = random_atoms(70, 3, seed=3), ascent(*TERMS[name], NEURONS)
    found = []
    for threads in (1, 2, 3):
        count = "mfpde.particles.systems.thread_count"
        monkeypatch.setattr(count, lambda threads=threads: threads)
        times = {"t_end": 0.1, "time_step": 0.1}
        found.append(solve_particles(equation, atoms, method="spectral", **times))
    for run in found[1:]:
        np.testing.assert_array_equal(run.final.points, found[0].final.points)
        np.testing.assert_array_equal(run.energies, found[0].energies)


@pytest.mark.parametrize("dimension", [2, 4])
@pytest.mark.parametrize("direction", ["ascent", "descent"])
def test_energy_is_monotone_and_changes_by_the_dissipation(dimension, direction):
    layer = Perceptron(np.eye(2, dimension), WEIGHTS, "tanh")
    equation = mfpde.MeanFieldEquation(Attention(5.0), layer, direction=direction)
    start = random_atoms(30, dimension)
    times = np.linspace(0, 2, 81)
    run = solve_particles(equation, start, t_end=2.0, save_at=times, **TIGHT)
    gains = equation.sign * np.diff(run.energies)
    assert (gains > 0).all()
    rates = run.diagnostics["dissipation"]
    simpson = (rates[:-2:2] + 4 * rates[1:-1:2] + rates[2::2]) * (times[1] / 3)
    np.testing.assert_allclose(gains[::2] + gains[1::2], simpson, rtol=1e-5)
    assert run.mass_drift == 0.0


# --- integrators and saves ----------------------------------------------------


@pytest.mark.parametrize("dimension", [2, 3, 6])
@plain_and_softmax
def test_fixed_steps_have_order_four_and_stay_on_the_sphere(dimension, normalized):
    layer = Perceptron(np.eye(2, dimension), WEIGHTS, "gelu")
    equation = ascent(Attention(4.0, normalized), layer)
    start = random_atoms(15, dimension)
    exact = solve_particles(equation, start, t_end=2.0, **TIGHT).final.points
    errors = []
    for step in (0.2, 0.1, 0.05):
        points = solve_particles(equation, start, t_end=2.0, time_step=step).final
        errors.append(np.abs(points.points - exact).max())
        lengths = np.linalg.norm(points.points, axis=1)
        np.testing.assert_allclose(lengths, 1.0, rtol=0, atol=1e-15)
    assert orders(errors)[-1] == pytest.approx(4.0, abs=0.15)
    assert (orders(errors) > 3.8).all()


def test_a_fixed_step_is_shortened_at_the_end_of_each_interval():
    times = {"t_end": 1.0, "save_at": [0.25], "time_step": 0.1}
    run = solve_particles(ascent(2.0), random_atoms(10), **times)
    assert run.final_time == 1.0
    assert run.statistics["steps"] == 3 + 8
    assert run.statistics["evaluations"] == 4 * 11


def test_saves_change_nothing_but_where_steps_end():
    equation = descent(3.0, Perceptron(DIRECTIONS, WEIGHTS))
    start = random_atoms(20)
    plain, again, often, some = (
        solve_particles(equation, start, t_end=2.0, **saves, **TIGHT)
        for saves in ({}, {}, {"save_every": 0.03}, {"save_at": [0.3, 1.1]})
    )
    np.testing.assert_array_equal(plain.final.points, again.final.points)
    np.testing.assert_allclose(plain.final.points, often.final.points, atol=1e-11)
    np.testing.assert_allclose(plain.final.points, some.final.points, atol=1e-11)
    assert some.times.tolist() == [0.3, 1.1]
    assert some.final_time == often.times[-1] == 2.0
    assert some.stop.kind == "t_end"
    assert len(often.states) == len(often.times) == 68
    half = solve_particles(equation, start, t_end=1.0, **TIGHT).final
    rest = solve_particles(equation, half, t_end=1.0, **TIGHT).final
    np.testing.assert_allclose(rest.points, plain.final.points, atol=1e-10)


def test_an_interrupted_run_keeps_what_was_saved():
    calls = itertools.count()

    def drift(points):
        if next(calls) > 400:
            raise KeyboardInterrupt
        return np.broadcast_to([1.0, 0.0], points.shape)

    potential = mfpde.Potential(lambda x: x[..., 0], drift, dimension=2)
    times = {"t_end": 1e6, "save_every": 1.0, "time_step": 0.1}
    run = solve_particles(ascent(1.0, potential), random_atoms(10), **times)
    assert run.stop.kind == "interrupted"
    assert 0 < run.times[-1] <= run.final_time < 1e6
    assert len(run.times) == len(run.states) == len(run.energies)


@pytest.mark.parametrize("chosen", [{}, {"time_step": 0.1}], ids=["adaptive", "fixed"])
def test_a_velocity_that_overflows_ends_the_run(chosen):
    with np.errstate(all="ignore"):
        slopes = [cosine_potential(1.7e308) for _ in range(2)]
        run = solve_particles(ascent(*slopes), random_atoms(5), t_end=1.0, **chosen)
    assert run.stop.kind == "non_finite"
    assert run.final_time == 0.0
    assert np.isfinite(run.final.points).all()


def test_the_progress_bar_reaches_the_end(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    solve_particles(ascent(1.0), random_atoms(5), t_end=1.0, progress=True)
    assert "100%" in capsys.readouterr().err


# --- densities as starts, and the choice of a method --------------------------


@pytest.mark.parametrize(
    ("geometry", "method"),
    [
        (Circle(64), "spectral"),
        (mfpde.Sphere(32), "direct"),
        (mfpde.Zonal(3, 64), "direct"),
        (mfpde.Zonal(9, 64), "direct"),
    ],
    ids=repr,
)
def test_densities_are_quantised_into_count_particles(geometry, method):
    density = Density.from_function(geometry, lambda x: np.exp(x[..., -1]))
    run = solve_particles(ascent(2.0), density, t_end=0.1, count=150, time_step=0.05)
    assert run.statistics["method"] == method
    assert run.statistics["particles"] == 150
    assert run.final.points.shape == (150, geometry.dimension)
    assert run.final.total_mass == pytest.approx(1.0, abs=1e-14)


def test_many_particles_are_summed_spectrally_and_few_directly():
    named = [
        solve_particles(ascent(2.0), random_atoms(count, 3), t_end=0.01).statistics
        for count in (50, 300)
    ]
    assert [s["method"] for s in named] == METHODS
    assert all("rtol=1e-05" in s["integrator"] for s in named)
    assert ["order=5" in s["integrator"] for s in named] == [False, True]


def test_the_default_count_moves_through_moments_in_few_evaluations():
    """ReLU: each particle at a kink in a step spoils its error estimate."""
    equation = descent(5.0, Perceptron.random(3, 3, seed=111))
    run = solve_particles(equation, mfpde.uniform(mfpde.Sphere(32)), t_end=1.0)
    assert len(run.final) == 2000
    assert run.statistics["method"] == "spectral"
    # 50 measured; 2930 at 1e-8.
    assert run.statistics["evaluations"] < 150
    few = mfpde.quantized(mfpde.uniform(mfpde.Sphere(32)), 400)
    quick, exact = (
        solve_particles(equation, few, t_end=0.3, **options).final
        for options in ({}, {"method": "direct", "rtol": 1e-8, "atol": 1e-10})
    )
    distances = np.linalg.norm(quick.points - exact.points, axis=1)
    assert distances.max() <= 1e-4
    assert distances.mean() <= 1e-5
    assert equation.energy(quick) == pytest.approx(equation.energy(exact), abs=3e-7)


@pytest.mark.parametrize("softmax", [False, True])
@pytest.mark.parametrize("beta", [5.0, 60.0, 300.0])
def test_two_particles_merge_at_the_exact_time(beta, softmax):
    equation = ascent(Attention(beta, normalized=softmax))
    pair = atoms_at([0.3, 1.1], [0.5, 0.5])
    run = solve_particles(equation, pair, t_end=1e200, merge_below=1e-6)
    (merge,) = run.events
    exact = merge_time(
        beta, start_angle=0.8, end_angle=2 * np.arcsin(5e-7), softmax=softmax
    )
    assert merge.time == pytest.approx(exact, rel=1e-6)
    assert angles_of(run.final.points) == pytest.approx(0.7, abs=1e-6)


# --- weighted labels ----------------------------------------------------------


def poisson_cell_means(circle, radius):
    faces = np.concatenate([[0.0], circle.face_angles])
    turns = np.floor((faces + np.pi) / (2 * np.pi))
    masses = turns + poisson_mass(faces - 2 * np.pi * turns, radius)
    return np.diff(masses) / circle.spacing


def labels_of(start, count=None):
    """The labels of a density before they have moved."""
    times = {"t_end": 0.1, "save_at": [0.0]}
    rest = ascent(mfpde.Polynomial([0.0, 1.0]))
    run = solve_particles(rest, start, method="labels", count=count, **times)
    return run.states[0]


@pytest.mark.parametrize("direction", ["ascent", "descent"])
def test_labels_are_spectrally_accurate_on_the_kuramoto_solution(direction):
    fine, duration, radius = Circle(400), 1.2, 0.4
    problem = mfpde.MeanFieldEquation(Attention(0.0), direction=direction)
    later = kuramoto_parameter(radius, duration, sign=problem.sign)
    errors = []
    for count in (16, 32, 64, 128):
        start = Density(Circle(count), poisson(Circle(count).angles, radius))
        times = {"t_end": duration, **TIGHT}
        labels = solve_particles(problem, start, method="labels", **times).final
        values = label_density(labels, fine).values
        errors.append(np.abs(values - poisson_cell_means(fine, later)).max())
    for coarse, doubled in itertools.pairwise(errors):
        assert doubled < 1e-10 or coarse / doubled > 2**4.5
    assert errors[-1] < 1e-10
    at_centers = label_density(labels, fine, at_centers=True).values
    np.testing.assert_allclose(
        at_centers, poisson(angles_of(fine.points), later), atol=1e-9
    )


def test_labels_at_rest_give_back_a_narrow_density():
    """Resolved, though the mass between two labels falls to 1e-35."""
    narrow = Density.from_function(
        Circle(128), lambda x: np.exp(40 * (x[..., 0] - 1)), normalize=True
    )
    same = label_density(labels_of(narrow), Circle(128), at_centers=True)
    np.testing.assert_allclose(same.values, narrow.values, atol=1e-9)


@pytest.mark.parametrize(
    ("coarse", "fine"),
    [(Circle(64), Circle(200)), (mfpde.Sphere(32), mfpde.Sphere(48))],
    ids=repr,
)
def test_more_labels_than_cells_are_those_of_a_finer_grid(coarse, fine):
    start, exact = (
        Density.from_function(grid, lambda x: np.exp(x[..., 0]))
        for grid in (coarse, fine)
    )
    masses = labels_of(start, exact.masses.size).masses
    np.testing.assert_allclose(masses, exact.masses.ravel(), atol=1e-14)


@pytest.mark.parametrize("duration", [3.0, 30.0, 1000.0])
def test_label_density_stays_a_probability_when_mass_concentrates(duration):
    """Several clusters, then one; labels meet, the flow map is a staircase."""
    circle = Circle(128)
    start = Density.from_function(circle, lambda x: np.maximum(x[..., 0] + 0.3, 0.0))
    problem = ascent(8.0, Perceptron(DIRECTIONS, WEIGHTS))
    labels = solve_particles(problem, start, t_end=duration, method="labels").final
    density = label_density(labels, circle)
    assert density.values.min() >= 0.0
    assert density.total_mass == pytest.approx(1.0, abs=1e-12)
    first_moment = density.masses @ circle.points
    assert np.abs(first_moment - labels.masses @ labels.points).max() < circle.spacing


def test_labels_that_all_met_are_one_cell(rng):
    """All but the mass of one label, which spans the rest of the circle."""
    met = atoms_at(1.0 + 1e-15 * rng.standard_normal(40))
    assert label_density(met, Circle(32)).masses.max() >= 1 - 1 / 40


def test_labels_that_nearly_met_keep_their_order():
    """Between their angles the waves that resolve them go back."""
    shares = np.exp(28 * (np.cos(2 * np.pi * (np.arange(64) + 0.5) / 64) - 1))
    labels = atoms_at(2 * np.pi * np.cumsum(shares) / shares.sum())
    density = label_density(labels, Circle(32))
    assert density.values.min() > 0
    assert density.total_mass == pytest.approx(1.0, abs=1e-12)
