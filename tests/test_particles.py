"""Particles: both ways of summing, exact trajectories, symmetries, steps, starts, errors."""

import ast
import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_points import random_atoms, random_points
from scipy.stats import special_ortho_group

import mfpde.particles
from mfpde import (
    Atoms,
    Attention,
    Circle,
    Density,
    Interaction,
    Layers,
    MeanFieldEquation,
    Measure,
    Perceptron,
    Polynomial,
    Potential,
    Sphere,
    Zonal,
    quantized,
    solve_particles,
    uniform,
    wasserstein,
)
from mfpde.particles import systems
from mfpde.particles.systems import particle_system
from mfpde.terms import Exponential, PointMasses
from validation.circle_cases import (
    angles_of,
    cosine_potential,
    orders,
    points_at,
)
from validation.references.two_atoms import merge_time

METHODS = ["direct", "spectral"]
TIGHT = {"rtol": 1e-12, "atol": 1e-13}
DIRECTIONS = [[1.0, 0.0], [0.6, 0.8]]
WEIGHTS = [0.8, -0.5]

each_method = pytest.mark.parametrize("method", METHODS)
plain_and_softmax = pytest.mark.parametrize("normalized", [False, True])


def atoms_at(angles, masses=None):
    return Atoms(points_at(np.asarray(angles, dtype=float)), masses)


def ascent(*terms):
    return MeanFieldEquation(*terms, direction="ascent")


def descent(*terms):
    return MeanFieldEquation(*terms, direction="descent")


def velocities(equation, atoms, method):
    system = particle_system(equation, atoms, method)
    return system.velocity(system.start)


# --- direct and spectral sums -------------------------------------------------


@pytest.mark.parametrize("dimension", [2, 3, 6])
@pytest.mark.parametrize("beta", [0.1, 8.0, 1000.0])
@pytest.mark.parametrize("targets", [1, 128, 200])
def test_sums_are_those_of_matrices(dimension, beta, targets):
    atoms, points = random_atoms(300, dimension), random_points(targets, dimension, 5)
    exponents = beta * (points @ atoms.points.T - 1)
    weights = np.exp(exponents - exponents.max(axis=1, keepdims=True)) * atoms.masses
    sources = PointMasses(atoms.points, atoms.masses)
    peaks, sums, vectors = Exponential(beta).scaled_sums(points, sources)
    scale = 1e-14 * max(1.0, beta)
    # Whatever is taken out of the sums: their logarithm, and the mean of the points.
    totals = weights.sum(axis=1)
    logarithms = exponents.max(axis=1) + np.log(totals)
    np.testing.assert_allclose(peaks + np.log(sums), logarithms, atol=1e2 * scale)
    means = weights @ atoms.points / totals[:, np.newaxis]
    np.testing.assert_allclose(vectors / sums[:, np.newaxis], means, atol=1e2 * scale)


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
    atoms = random_atoms(300)
    for equation in (ascent(*terms), descent(*terms)):
        direct, spectral = (velocities(equation, atoms, m) for m in METHODS)
        largest = max(1.0, np.abs(direct).max())
        assert np.abs(spectral - direct).max() <= 1e-12 * largest
        systems_of = [particle_system(equation, atoms, m) for m in METHODS]
        energies = [system.energy(system.start) for system in systems_of]
        assert energies[1] == pytest.approx(energies[0], rel=1e-12, abs=1e-14)


NEURONS = Perceptron([[1.0, 0.2, -0.4], [0.3, -1.0, 0.5]], [0.8, -0.6], "gelu")
TERMS = {
    "attention": [Attention(6.0)],
    "softmax": [Attention(6.0, normalized=True)],
    "unshifted": [Attention(3.0, kernel="unshifted")],
    "polynomial": [Interaction(Polynomial([0.0, 1.0, -0.5, 0.25]))],
    "several": [Attention(6.0), Attention(6.0, normalized=True)],
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
    equation = descent(*TERMS[name], NEURONS)
    direct, spectral = (
        particle_system(equation, Atoms(points, atoms.masses), method)
        for method in METHODS
    )
    wanted, found = direct.velocity(points), spectral.velocity(points)
    largest = max(1.0, np.abs(wanted).max())
    assert np.abs(found - wanted).max() <= 1e-8 * largest
    radial = np.einsum("ni,ni->n", found, points)
    assert np.abs(radial).max() <= 1e-12 * largest
    energies = [system.energy(points) for system in (direct, spectral)]
    assert energies[1] == pytest.approx(energies[0], rel=1e-9, abs=1e-11, nan_ok=True)


def test_softmax_keeps_its_digits_where_almost_nothing_is_near():
    """Far and light particles feel a kernel mean that the series cannot resolve."""
    angles = np.concatenate([np.linspace(-0.3, 0.3, 50), [2.0, 2.1, 3.0]])
    masses = np.concatenate([np.full(50, 0.02), [1e-9, 1e-300, 1e-14]])
    equation = ascent(Attention(100.0, normalized=True))
    direct, spectral = (
        velocities(equation, atoms_at(angles, masses), m) for m in METHODS
    )
    np.testing.assert_allclose(spectral, direct, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", TERMS)
def test_sums_are_to_the_bit_the_same_on_any_number_of_threads(name, monkeypatch):
    """Shares of few particles, the last one cut short."""
    monkeypatch.setattr(systems, "_SHARE", 16)
    atoms = random_atoms(70, 3, seed=3)
    equation = ascent(*TERMS[name], NEURONS)
    system = particle_system(equation, atoms, "spectral")
    wanted = particle_system(equation, atoms, "direct").velocity(atoms.points)
    found = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(systems, "thread_count", lambda threads=threads: threads)
        found.append((system.velocity(atoms.points), system.energy(atoms.points)))
    np.testing.assert_allclose(found[0][0], wanted, rtol=0, atol=1e-8)
    for velocity, energy in found[1:]:
        np.testing.assert_array_equal(velocity, found[0][0])
        np.testing.assert_array_equal(energy, found[0][1])


@plain_and_softmax
@pytest.mark.parametrize("beta", [0.0, 5.0])
def test_whole_runs_of_both_methods_agree(beta, normalized):
    layer = Perceptron(DIRECTIONS, WEIGHTS, "gelu")
    equation = descent(Attention(beta, normalized), layer)
    start = random_atoms(40)
    runs = [
        solve_particles(equation, start, t_end=2.0, method=m, **TIGHT) for m in METHODS
    ]
    np.testing.assert_allclose(runs[0].final.points, runs[1].final.points, atol=1e-10)
    for name in ("energy", "dissipation", "mass"):
        np.testing.assert_allclose(*(run.diagnostics[name] for run in runs), atol=1e-11)


def test_layers_on_the_sphere_may_end_between_steps_of_either_method():
    layers = Layers(
        [
            (ascent(*TERMS["attention"]), 0.7),
            (descent(*TERMS["softmax"], NEURONS), 0.6),
        ]
    )
    start = random_atoms(30, 3)
    direct, spectral = (
        solve_particles(layers, start, method=method, rtol=1e-10).final.points
        for method in METHODS
    )
    assert np.abs(spectral - direct).max() <= 1e-8


def test_vector_weights_move_particles_without_an_energy():
    equation = ascent(Attention(2.0), Perceptron(DIRECTIONS, [[0.1, 0.7], [0.3, -0.2]]))
    atoms = random_atoms(40)
    direct, spectral = (velocities(equation, atoms, method) for method in METHODS)
    np.testing.assert_allclose(spectral, direct, atol=1e-13)
    for method in METHODS:
        run = solve_particles(equation, atoms, t_end=0.1, method=method)
        assert np.isnan(run.energies).all()


# --- exact trajectories -------------------------------------------------------


def turned(points, seed):
    """Points (n, k) in a random plane of S^2, or in space."""
    raised = np.pad(points, ((0, 0), (0, 3 - points.shape[1])))
    return Atoms(raised @ special_ortho_group(3, seed=seed).rvs())


@pytest.mark.parametrize("beta", [2.0, 8.0])
@plain_and_softmax
@each_method
def test_two_atoms_close_in_the_exact_time(beta, normalized, method):
    """On the circle, and on a great circle in any direction."""
    before, after = 0.8, 0.1
    duration = merge_time(beta, start_angle=before, end_angle=after, softmax=normalized)
    equation = ascent(Attention(beta, normalized))
    pair = atoms_at([1.0, 1.0 + before])
    for start in (pair, turned(pair.points, 3)):
        run = solve_particles(equation, start, t_end=duration, method=method, **TIGHT)
        apart = np.linalg.norm(run.final.points[0] - run.final.points[1])
        assert 2 * np.arcsin(apart / 2) == pytest.approx(after, abs=1e-9)


# --- invariances and conservation ---------------------------------------------


def test_the_circle_is_the_plane_of_any_dimension():
    """Particles on a great circle of S^2 move as those on S^1."""
    flat = random_atoms(20)
    raised = Atoms(np.pad(flat.points, ((0, 0), (0, 1))), flat.masses)
    on_circle, on_sphere = (
        solve_particles(ascent(Attention(6.0)), atoms, t_end=2.0, **TIGHT).final.points
        for atoms in (flat, raised)
    )
    np.testing.assert_allclose(on_sphere[:, :2], on_circle, atol=1e-10)
    assert np.abs(on_sphere[:, 2]).max() == 0.0


@pytest.mark.parametrize("dimension", [2, 4])
@pytest.mark.parametrize("direction", ["ascent", "descent"])
def test_energy_is_monotone_and_changes_by_the_dissipation(dimension, direction):
    layer = Perceptron(np.eye(2, dimension), WEIGHTS, "tanh")
    equation = MeanFieldEquation(Attention(5.0), layer, direction=direction)
    start = random_atoms(30, dimension)
    times = np.linspace(0, 2, 81)
    run = solve_particles(equation, start, t_end=2.0, save_at=times, **TIGHT)
    gains = equation.sign * np.diff(run.energies)
    assert (gains > 0).all()
    rates = run.diagnostics["dissipation"]
    simpson = (rates[:-2:2] + 4 * rates[1:-1:2] + rates[2::2]) * (times[1] / 3)
    np.testing.assert_allclose(gains[::2] + gains[1::2], simpson, rtol=1e-5)
    assert run.mass_drift == 0.0


@each_method
def test_shifted_and_unshifted_kernels_are_one_equation_up_to_scales(method):
    """shifted(beta, w, t) = unshifted(beta, w e^beta, t e^-beta)."""
    beta, scale, duration = 4.0, np.exp(4.0), 1.5
    start = random_atoms(30)
    shifted = descent(Attention(beta), Perceptron(DIRECTIONS, WEIGHTS))
    unshifted = descent(
        Attention(beta, kernel="unshifted"),
        Perceptron(DIRECTIONS, scale * np.array(WEIGHTS)),
    )
    first = solve_particles(shifted, start, t_end=duration, method=method, **TIGHT)
    second = solve_particles(
        unshifted, start, t_end=duration / scale, method=method, **TIGHT
    )
    np.testing.assert_allclose(first.final.points, second.final.points, atol=1e-10)
    np.testing.assert_allclose(scale * first.energies, second.energies, rtol=1e-9)


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


def test_fixed_steps_pass_the_kink_of_a_neuron():
    """Where an adaptive method slows down; both end at the same measure."""
    neuron = Perceptron([[np.cos(0.7), np.sin(0.7)]], [0.5])
    start = quantized(uniform(Circle(256)), 200)
    fixed, adaptive = (
        solve_particles(
            descent(Attention(25.0), neuron), start, t_end=20.0, **steps
        ).final
        for steps in ({"time_step": 0.1}, {"rtol": 1e-8, "atol": 1e-10})
    )
    assert wasserstein(fixed, adaptive) < 1e-5


def test_a_fixed_step_is_shortened_at_the_end_of_each_interval():
    run = solve_particles(
        ascent(Attention(2.0)),
        random_atoms(10),
        t_end=1.0,
        save_at=[0.25],
        time_step=0.1,
    )
    assert run.final_time == 1.0
    assert run.statistics["steps"] == 3 + 8
    assert run.statistics["evaluations"] == 4 * 11


def test_saves_change_nothing_but_where_steps_end():
    equation = descent(Attention(3.0), Perceptron(DIRECTIONS, WEIGHTS))
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

    equation = ascent(
        Attention(1.0), Potential(lambda x: x[..., 0], drift, dimension=2)
    )
    run = solve_particles(
        equation, random_atoms(10), t_end=1e6, save_every=1.0, time_step=0.1
    )
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
    solve_particles(ascent(Attention(1.0)), random_atoms(5), t_end=1.0, progress=True)
    assert "100%" in capsys.readouterr().err


# --- densities as starts, and the choice of a method --------------------------


@pytest.mark.parametrize(
    ("geometry", "method"),
    [
        (Circle(64), "spectral"),
        (Sphere(32), "direct"),
        (Zonal(3, 64), "direct"),
        (Zonal(9, 64), "direct"),
    ],
    ids=repr,
)
def test_densities_are_quantised_into_count_particles(geometry, method):
    density = Density.from_function(geometry, lambda x: np.exp(x[..., -1]))
    run = solve_particles(
        ascent(Attention(2.0)), density, t_end=0.1, count=150, time_step=0.05
    )
    assert run.statistics["method"] == method
    assert run.statistics["particles"] == 150
    assert run.final.points.shape == (150, geometry.dimension)
    assert run.final.total_mass == pytest.approx(1.0, abs=1e-14)


def test_particles_of_a_density_have_its_velocity_and_energy():
    """Quantisation of a smooth density: the field is off by far less than n^{-1/2}."""
    equation = ascent(Attention(4.0))
    axis = np.array([0.6, 0.0, 0.8])
    density = Density.from_function(Sphere(64), lambda x: np.exp(2 * (x @ axis)))
    run = solve_particles(equation, density, t_end=1e-6, count=1500)
    exact = equation.velocity(density, run.states[0].points)
    error = np.abs(equation.velocity(run.states[0]) - exact).max()
    assert error < 0.01 * np.abs(exact).max()
    assert run.energies[0] == pytest.approx(equation.energy(density), rel=2e-3)


def test_uniform_particles_with_an_atom_on_the_sphere():
    measure = Measure(
        Density(Sphere(32), 0.5 * uniform(Sphere(32)).values),
        Atoms([[0.0, 0.0, 1.0]], [0.5]),
    )
    run = solve_particles(
        ascent(Attention(1.0)), measure, t_end=1.0, count=100, time_step=0.1
    )
    heights = run.final.points[:, 2]
    assert (heights > 1 - 1e-3).sum() >= 50
    assert heights.mean() > 0.5


def test_many_particles_are_summed_spectrally_and_few_directly():
    named = [
        solve_particles(
            ascent(Attention(2.0)), random_atoms(count, 3), t_end=0.01
        ).statistics
        for count in (50, 300)
    ]
    assert [s["method"] for s in named] == METHODS
    assert all("rtol=1e-05" in s["integrator"] for s in named)
    assert ["order=5" in s["integrator"] for s in named] == [False, True]


def test_the_default_count_moves_through_moments_in_few_evaluations():
    """ReLU: each particle at a kink in a step spoils its error estimate."""
    equation = descent(Attention(5.0), Perceptron.random(3, 3, seed=111))
    run = solve_particles(equation, uniform(Sphere(32)), t_end=1.0)
    assert len(run.final) == 2000
    assert run.statistics["method"] == "spectral"
    # 50 measured; 2930 at 1e-8.
    assert run.statistics["evaluations"] < 150
    few = quantized(uniform(Sphere(32)), 400)
    quick, exact = (
        solve_particles(equation, few, t_end=0.3, **options).final
        for options in ({}, {"method": "direct", "rtol": 1e-8, "atol": 1e-10})
    )
    distances = np.linalg.norm(quick.points - exact.points, axis=1)
    assert distances.max() <= 1e-4
    assert distances.mean() <= 1e-5
    assert equation.energy(quick) == pytest.approx(equation.energy(exact), abs=3e-7)


# --- metastable clusters ------------------------------------------------------


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


@pytest.mark.parametrize("beta", [200.0, 400.0])
def test_clusters_merge_in_the_order_of_their_gaps_over_a_hundred_decades(beta):
    # Far apart the others do not count: each merge is that of the nearest two alone, with
    # the sum of their masses.
    masses = np.array([0.2, 0.24, 0.16, 0.3, 0.1])
    run = solve_particles(
        ascent(Attention(beta)),
        atoms_at([0.0, 0.5, 1.1, 1.9, 2.8], masses),
        t_end=1e200,
        save_at=np.geomspace(1e-3, 1e200, 400),
        merge_below=1e-6,
    )
    first = merge_time(beta, 0.44, start_angle=0.5, end_angle=2 * np.arcsin(5e-7))
    assert run.events[0].time == pytest.approx(first, rel=1e-3)
    partners = [sorted(event.masses) for event in run.events]
    expected = [[0.2, 0.24], [0.16, 0.3], [0.1, 0.46], [0.44, 0.56]]
    np.testing.assert_allclose(partners, expected, atol=1e-12)
    plateaus = np.unique(np.round([(s.masses**2).sum() for s in run.states], 12))
    heights = [(masses**2).sum()]
    for one, other in partners:
        heights.append(heights[-1] + 2 * one * other)
    np.testing.assert_allclose(plateaus, heights, atol=1e-11)


# --- errors, and independence -------------------------------------------------

CIRCLE_ATOMS = random_atoms(12)
SPHERE_ATOMS = random_atoms(12, 3)
SPACE_ATOMS = random_atoms(12, 4)
CIRCLE = uniform(Circle(32))
PLAIN = ascent(Attention(2.0))
LAYERED = ascent(Attention(1.0), Perceptron(DIRECTIONS, WEIGHTS))
DIFFUSIVE = MeanFieldEquation(Attention(1.0), direction="ascent", diffusion=0.25)


@pytest.mark.parametrize(
    ("equation", "start", "arguments", "message"),
    [
        (DIFFUSIVE, CIRCLE_ATOMS, {}, "diffusion = 0.25.*mfpde.solve"),
        (PLAIN, Atoms.none(2), {}, "no atoms"),
        (PLAIN, [[1.0, 0.0]], {}, "must be Atoms, a Density or a Measure"),
        (LAYERED, SPHERE_ATOMS, {}, "directions have 2 entries"),
        (PLAIN, SPACE_ATOMS, {"method": "spectral"}, "d = 4.*use method='direct'"),
        (PLAIN, SPACE_ATOMS, {"method": "labels"}, "d = 4.*use method='direct'"),
        (
            PLAIN,
            Measure(CIRCLE, CIRCLE_ATOMS),
            {"method": "labels"},
            "12 atoms; use method='spectral'",
        ),
        (
            PLAIN,
            CIRCLE,
            {"method": "labels", "count": 16},
            "count = 16 must be a whole number of at least 32",
        ),
        (
            PLAIN,
            uniform(Sphere(32)),
            {"method": "labels", "count": 4000},
            r"count = 4000 labels .* such as 4232",
        ),
        (PLAIN, CIRCLE, {"count": 0}, "count = 0"),
        *(
            (PLAIN, CIRCLE_ATOMS, arguments, message)
            for arguments, message in [
                ({"count": 5}, "count = 5 cannot change the 12 atoms"),
                ({"t_end": 0.0}, "t_end = 0.0"),
                ({"method": "spectrall"}, "did you mean 'spectral'"),
                ({"save_every": 1.0, "save_at": [1.0]}, "give one"),
                ({"save_at": [3.0]}, r"save_at\[0\] = 3"),
                ({"time_step": -0.1}, "time_step = -0.1"),
                ({"rtol": 0.0}, "rtol = 0.0 .* at least 1e-13"),
                ({"atol": 0.0}, "atol = 0.0"),
                ({"merge_below": 1.0}, "merge_below = 1.0 .* at most 0.1"),
                (
                    {"merge_below": 1e-6, "time_step": 0.1},
                    "time_step = 0.1: particles that merge have .* steps of their own",
                ),
            ]
        ),
    ],
)
def test_errors_repeat_the_value_and_name_the_way_out(
    equation, start, arguments, message
):
    with pytest.raises(ValueError, match=message):
        solve_particles(equation, start, **{"t_end": 2.0} | arguments)


def test_the_witness_imports_nothing_of_the_density_solver():
    forbidden = {
        "mfpde.transport",
        "mfpde.solver.solve",
        "mfpde.solver.time_loop",
        "mfpde.geometry.remap",
    }
    for module in Path(mfpde.particles.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            names = [alias.name for alias in getattr(node, "names", [])]
            source = getattr(node, "module", None) or ""
            imported = {source, *names, *(f"{source}.{name}" for name in names)}
            assert not imported & forbidden
