import ast
import itertools
from pathlib import Path

import numpy as np
import pytest
from random_points import random_atoms
from scipy.integrate import solve_ivp
from scipy.stats import special_ortho_group

import mfpde.particles
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle
from mfpde.geometry.circle import angles_of, points_at
from mfpde.measures.measure import Atoms, Density, Measure, uniform
from mfpde.particles import label_density, solve_particles
from mfpde.particles.labels import labels_of
from mfpde.particles.systems import particle_system
from mfpde.terms import Attention, Perceptron, Potential
from validation.references.two_atoms import merge_time

TIGHT = {"rtol": 1e-12, "atol": 1e-13}
DIRECTIONS = [[1.0, 0.0], [0.6, 0.8]]
WEIGHTS = [0.8, -0.5]


def atoms_at(angles, masses=None):
    return Atoms(points_at(np.asarray(angles, dtype=float)), masses)


def ascent(*terms):
    return MeanFieldEquation(*terms, direction="ascent")


def descent(*terms):
    return MeanFieldEquation(*terms, direction="descent")


def cosine_potential(strength):
    gradient = np.array([strength, 0.0])
    return Potential(
        lambda x: strength * x[..., 0],
        lambda x: np.broadcast_to(gradient, x.shape),
        dimension=2,
    )


def velocities(equation, atoms, method):
    system = particle_system(equation, atoms, method)
    return system.velocity(system.start)


# --- direct and spectral sums -------------------------------------------------

ATTENTIONS = [
    Attention(beta, normalized=normalized, kernel=kernel)
    for beta in (0.0, 5.0, 100.0)
    for normalized in (False, True)
    for kernel in ("shifted", "unshifted")
]
EXTERNALS = [
    (),
    (Perceptron(DIRECTIONS, WEIGHTS, "relu"),),
    (Perceptron(DIRECTIONS, WEIGHTS, "gelu", biases=[0.1, -0.2]),),
]


@pytest.mark.parametrize("attention", ATTENTIONS, ids=repr)
@pytest.mark.parametrize("externals", EXTERNALS, ids=["alone", "relu", "gelu"])
@pytest.mark.parametrize("direction", ["ascent", "descent"])
def test_direct_and_spectral_velocity_and_energy_agree(attention, externals, direction):
    equation = MeanFieldEquation(attention, *externals, direction=direction)
    atoms = random_atoms(300)
    direct = velocities(equation, atoms, "direct")
    spectral = velocities(equation, atoms, "spectral")
    assert np.abs(spectral - direct).max() <= 1e-12 * max(1.0, np.abs(direct).max())
    systems = [particle_system(equation, atoms, m) for m in ("direct", "spectral")]
    energies = [system.energy(system.start) for system in systems]
    assert energies[1] == pytest.approx(energies[0], rel=1e-12, abs=1e-14)


def test_several_attentions_add_up():
    several = (
        Attention(1.0),
        Attention(30.0, normalized=True),
        Attention(0.0),
        Attention(3.0, kernel="unshifted"),
    )
    atoms = random_atoms(300)
    together = velocities(descent(*several), atoms, "spectral")
    one_by_one = sum(velocities(descent(a), atoms, "spectral") for a in several)
    np.testing.assert_allclose(together, one_by_one, atol=1e-12)
    direct = velocities(descent(*several), atoms, "direct")
    np.testing.assert_allclose(together, direct, atol=1e-12)


def test_softmax_keeps_its_digits_where_almost_nothing_is_near():
    """Far and light particles feel a kernel mean that the series cannot resolve."""
    angles = np.concatenate([np.linspace(-0.3, 0.3, 50), [2.0, 2.1, 3.0]])
    masses = np.concatenate([np.full(50, 0.02), [1e-9, 1e-300, 1e-14]])
    equation = ascent(Attention(100.0, normalized=True))
    atoms = atoms_at(angles, masses)
    direct = velocities(equation, atoms, "direct")
    spectral = velocities(equation, atoms, "spectral")
    np.testing.assert_allclose(spectral, direct, rtol=1e-9, atol=1e-11)


def test_vector_weights_move_particles_without_an_energy():
    equation = ascent(Attention(2.0), Perceptron(DIRECTIONS, [[0.1, 0.7], [0.3, -0.2]]))
    atoms = random_atoms(40)
    direct = velocities(equation, atoms, "direct")
    np.testing.assert_allclose(
        velocities(equation, atoms, "spectral"), direct, atol=1e-13
    )
    for method in ("spectral", "direct"):
        run = solve_particles(equation, atoms, t_end=0.1, method=method)
        assert np.isnan(run.energies).all()


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("beta", [0.0, 5.0])
def test_whole_runs_of_both_methods_agree(beta, normalized):
    layer = Perceptron(DIRECTIONS, WEIGHTS, "gelu")
    equation = descent(Attention(beta, normalized), layer)
    start = random_atoms(40)
    runs = [
        solve_particles(equation, start, t_end=2.0, method=m, **TIGHT)
        for m in ("direct", "spectral")
    ]
    np.testing.assert_allclose(runs[0].final.points, runs[1].final.points, atol=1e-10)
    for name in ("energy", "dissipation", "mass"):
        np.testing.assert_allclose(*(run.diagnostics[name] for run in runs), atol=1e-11)


def test_jacobian_of_equispaced_atoms_on_the_circle():
    """Eigenvalues (1/n) sum_j (K''/beta)(2 pi j/n) (1 - cos(2 pi j q/n)) (case 10)."""
    count, beta, step = 7, 3.0, 1e-5
    angles = 2 * np.pi * np.arange(count) / count
    kernel = np.exp(beta * (np.cos(angles) - 1))
    curvature = (beta * np.sin(angles) ** 2 - np.cos(angles)) * kernel
    waves = 1 - np.cos(np.outer(np.arange(count), angles))
    expected = np.sort(waves @ curvature / count)
    for method in ("direct", "spectral"):
        system = particle_system(ascent(Attention(beta)), atoms_at(angles), method)
        jacobian = np.array(
            [
                (system.velocity(angles + shift) - system.velocity(angles - shift))
                / (2 * step)
                for shift in step * np.eye(count)
            ]
        )
        np.testing.assert_allclose(np.linalg.eigvalsh(jacobian), expected, atol=1e-9)


# --- exact trajectories -------------------------------------------------------


@pytest.mark.parametrize("beta", [2.0, 8.0])
@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("method", ["direct", "spectral"])
def test_two_atoms_close_in_the_exact_time(beta, normalized, method):
    before, after = 0.8, 0.1
    duration = merge_time(beta, start_angle=before, end_angle=after, softmax=normalized)
    run = solve_particles(
        ascent(Attention(beta, normalized)),
        atoms_at([1.0, 1.0 + before]),
        t_end=duration,
        method=method,
        **TIGHT,
    )
    assert np.diff(angles_of(run.final.points))[0] == pytest.approx(after, abs=1e-9)


@pytest.mark.parametrize("method", ["direct", "spectral"])
@pytest.mark.parametrize("normalized", [False, True])
def test_an_atom_slides_without_feeling_itself(method, normalized):
    """tan(theta/2) = tan(theta_0/2) e^{-eps t} for every beta (case 8)."""
    strength, angle, duration = 1e-3, 2.0, 3000.0
    equation = ascent(Attention(50.0, normalized), cosine_potential(strength))
    start = atoms_at([angle])
    run = solve_particles(equation, start, t_end=duration, method=method, **TIGHT)
    exact = 2 * np.arctan(np.tan(angle / 2) * np.exp(-strength * duration))
    assert angles_of(run.final.points)[0] == pytest.approx(exact, abs=1e-8)


@pytest.mark.parametrize("normalized", [False, True])
def test_three_equiangular_atoms_on_the_sphere(normalized):
    """Cosine g of n = 3 atoms, unshifted kernel (case 7)."""
    beta, count, duration, cosine = 1.5, 3, 0.6, -0.2

    def slope(_time, g):
        pull = 2 * np.exp(beta * g) * (1 - g) * (1 + (count - 1) * g)
        if normalized:
            return pull / (np.exp(beta) + (count - 1) * np.exp(beta * g))
        return pull / count

    exact = solve_ivp(slope, (0, duration), [cosine], rtol=1e-12, atol=1e-13).y[0, -1]
    gram = np.full((3, 3), cosine) + (1 - cosine) * np.eye(3)
    rotation = special_ortho_group(3, seed=1).rvs()
    start = Atoms(np.linalg.cholesky(gram) @ rotation)
    equation = ascent(Attention(beta, normalized, kernel="unshifted"))
    for chosen in (TIGHT, {"time_step": 1e-3}):
        points = solve_particles(equation, start, t_end=duration, **chosen).final.points
        cosines = (points @ points.T)[np.triu_indices(3, 1)]
        np.testing.assert_allclose(cosines, exact, atol=1e-10)


def test_one_cluster_contracts_at_rate_one():
    """Deviations from one cluster decay at exactly 1 per unit mass (case 9)."""
    start = atoms_at(1.0 + 1e-4 * np.random.default_rng(0).standard_normal(30))
    run = solve_particles(ascent(Attention(20.0)), start, t_end=3.0, **TIGHT)
    widths = [np.ptp(angles_of(state.points)) for state in run.states]
    assert np.log(widths[0] / widths[1]) == pytest.approx(3.0, abs=1e-6)


# --- invariances and conservation ---------------------------------------------


@pytest.mark.parametrize("normalized", [False, True])
def test_rotation_equivariance_in_five_dimensions(normalized):
    dimension = 5
    start = random_atoms(25, dimension)
    rotation = special_ortho_group(dimension, seed=2).rvs()
    directions = np.eye(2, dimension)

    def final(atoms, a):
        equation = descent(Attention(4.0, normalized), Perceptron(a, WEIGHTS, "gelu"))
        return solve_particles(equation, atoms, t_end=2.0, **TIGHT).final

    moved = final(start, directions)
    rotated_start = Atoms(start.points @ rotation, start.masses)
    rotated = final(rotated_start, directions @ rotation)
    np.testing.assert_allclose(rotated.points, moved.points @ rotation, atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(moved.points, axis=1), 1.0, atol=1e-15)


def test_the_circle_is_the_plane_of_any_dimension():
    """Particles on a great circle of S^2 move as those on S^1."""
    flat = random_atoms(20)
    raised = Atoms(np.pad(flat.points, ((0, 0), (0, 1))), flat.masses)
    equation = ascent(Attention(6.0))
    on_circle, on_sphere = (
        solve_particles(equation, atoms, t_end=2.0, **TIGHT).final
        for atoms in (flat, raised)
    )
    np.testing.assert_allclose(on_sphere.points[:, :2], on_circle.points, atol=1e-10)
    assert np.abs(on_sphere.points[:, 2]).max() == 0.0


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


@pytest.mark.parametrize("method", ["direct", "spectral"])
def test_unnormalised_attention_keeps_the_mean_angle(method):
    start = random_atoms(50)
    equation = ascent(Attention(10.0))
    system = particle_system(equation, start, method)
    assert abs(start.masses @ system.velocity(system.start)) <= 1e-16
    run = solve_particles(equation, start, t_end=5.0, method=method, save_every=0.25)
    angles = np.unwrap([angles_of(state.points) for state in run.states], axis=0)
    np.testing.assert_allclose(
        angles @ start.masses, angles[0] @ start.masses, atol=1e-12
    )


@pytest.mark.parametrize("method", ["direct", "spectral"])
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


@pytest.mark.parametrize("dimension", [2, 3])
def test_runge_kutta_has_order_four(dimension):
    equation = ascent(Attention(4.0))
    start = random_atoms(15, dimension)
    exact = solve_particles(equation, start, t_end=2.0, **TIGHT).final.points
    errors = [
        np.abs(
            solve_particles(equation, start, t_end=2.0, time_step=h).final.points
            - exact
        ).max()
        for h in (0.2, 0.1, 0.05)
    ]
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    np.testing.assert_allclose(orders, 4.0, atol=0.05)


def test_saves_change_nothing_but_where_steps_end():
    equation = descent(Attention(3.0), Perceptron(DIRECTIONS, WEIGHTS))
    start = random_atoms(20)
    plain = solve_particles(equation, start, t_end=2.0, **TIGHT)
    often = solve_particles(equation, start, t_end=2.0, save_every=0.03, **TIGHT)
    np.testing.assert_allclose(plain.final.points, often.final.points, atol=1e-11)
    some = solve_particles(equation, start, t_end=2.0, save_at=[0.3, 1.1], **TIGHT)
    assert some.times.tolist() == [0.3, 1.1]
    assert some.final_time == 2.0
    assert some.stop.kind == "t_end"
    np.testing.assert_allclose(some.final.points, plain.final.points, atol=1e-11)
    assert often.times[-1] == 2.0
    assert len(often.states) == len(often.times) == 68


def test_a_fixed_step_is_shortened_at_the_end_of_each_interval():
    equation = ascent(Attention(2.0))
    run = solve_particles(
        equation, random_atoms(10), t_end=1.0, save_at=[0.25], time_step=0.1
    )
    assert run.final_time == 1.0
    assert run.statistics["steps"] == 3 + 8
    assert run.statistics["evaluations"] == 4 * 11


def test_a_run_is_reproducible_and_continues_from_its_final_state():
    equation = descent(Attention(5.0))
    start = random_atoms(20)
    whole = solve_particles(equation, start, t_end=2.0, **TIGHT)
    again = solve_particles(equation, start, t_end=2.0, **TIGHT)
    assert (whole.final.points == again.final.points).all()
    half = solve_particles(equation, start, t_end=1.0, **TIGHT).final
    rest = solve_particles(equation, half, t_end=1.0, **TIGHT).final
    np.testing.assert_allclose(rest.points, whole.final.points, atol=1e-10)


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
    def steep(x):
        return 1.7e308 * np.broadcast_to([1.0, 0.0], x.shape)

    with np.errstate(all="ignore"):
        slopes = [
            mfpde.Potential(lambda x: 1.7e308 * x[..., 0], steep, dimension=2)
            for _ in range(2)
        ]
        run = solve_particles(ascent(*slopes), random_atoms(5), t_end=1.0, **chosen)
    assert run.stop.kind == "non_finite"
    assert run.final_time == 0.0
    assert np.isfinite(run.final.points).all()


def test_the_progress_bar_reaches_the_end(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    solve_particles(ascent(Attention(1.0)), random_atoms(5), t_end=1.0, progress=True)
    assert "100%" in capsys.readouterr().err


def test_a_density_is_quantised():
    circle = Circle(64)
    run = solve_particles(descent(Attention(2.0)), uniform(circle), t_end=0.1, count=77)
    assert len(run.final) == run.statistics["particles"] == 77
    assert run.statistics["method"] == "spectral"
    assert run.final.total_mass == pytest.approx(1.0, abs=1e-14)


# --- labels -------------------------------------------------------------------

CLUSTER_ANGLE = 1.0


def poisson_kernel(points, radius):
    """Wrapped Cauchy density of the Ott-Antonsen solutions (case 1)."""
    cosines = points @ points_at(np.array(CLUSTER_ANGLE))
    return (1 - radius**2) / (2 * np.pi * (1 - 2 * radius * cosines + radius**2))


def poisson_cell_means(circle, radius):
    faces = np.concatenate([[0.0], circle.face_angles]) - CLUSTER_ANGLE
    turns = np.floor((faces + np.pi) / (2 * np.pi))
    tangent = np.tan((faces - 2 * np.pi * turns) / 2)
    cdf = turns + np.arctan((1 + radius) / (1 - radius) * tangent) / np.pi
    return np.diff(cdf) / circle.spacing


def radius_after(radius, exponent):
    ratio = np.exp(exponent) * radius**2 / (1 - radius**2)
    return np.sqrt(ratio / (1 + ratio))


@pytest.mark.parametrize("direction", ["ascent", "descent"])
def test_labels_are_spectrally_accurate_on_the_kuramoto_solution(direction):
    fine = Circle(400)
    duration, radius = 1.2, 0.4
    equation = MeanFieldEquation(Attention(0.0), direction=direction)
    exact = poisson_cell_means(fine, radius_after(radius, equation.sign * duration))
    errors = []
    for count in (16, 32, 64, 128):
        start = Density.from_function(
            Circle(count), lambda x: poisson_kernel(x, radius)
        )
        run = solve_particles(equation, start, t_end=duration, method="labels", **TIGHT)
        values = label_density(run.final, fine).values
        errors.append(np.abs(values - exact).max())
        at_centers = label_density(run.final, fine, at_centers=True)
    later = poisson_kernel(fine.points, radius_after(radius, equation.sign * duration))
    np.testing.assert_allclose(at_centers.values, later, atol=1e-9)
    for coarse, doubled in itertools.pairwise(errors):
        assert doubled < 1e-10 or coarse / doubled > 2**4.5
    assert errors[-1] < 1e-10


def test_labels_follow_a_linear_potential_exactly():
    """V = a.x: tan(theta/2) = e^{-|a| t} tan(theta_0/2) (case 4)."""
    circle, strength = Circle(256), 1.3
    run = solve_particles(
        ascent(cosine_potential(strength)),
        uniform(circle),
        t_end=1.0,
        method="labels",
        **TIGHT,
    )
    squeeze = np.exp(strength)
    faces = np.concatenate([[0.0], circle.face_angles])
    turns = np.floor((faces + np.pi) / (2 * np.pi))
    tangent = np.tan(faces / 2 - np.pi * turns)
    exact = np.diff(turns + np.arctan(squeeze * tangent) / np.pi) / circle.spacing
    np.testing.assert_allclose(
        label_density(run.final, circle).values, exact, atol=1e-10
    )


def test_labels_at_rest_give_back_the_density_and_its_cell_means():
    start = Density.from_function(Circle(64), lambda x: 1 + 0.5 * x[..., 1])
    same = label_density(labels_of(start), Circle(64), at_centers=True)
    np.testing.assert_allclose(same.values, start.values, atol=1e-10)
    back = label_density(labels_of(start), Circle(64))
    halves = Circle(64).spacing / 2
    damping = np.sin(halves) / halves
    exact = (1 + 0.5 * damping * Circle(64).points[:, 1]) / (2 * np.pi)
    np.testing.assert_allclose(back.values, exact, atol=1e-12)


def test_more_labels_than_cells_interpolate_the_density():
    start = Density.from_function(Circle(64), lambda x: np.exp(x[..., 0]))
    labels = labels_of(start, 200)
    exact = Density.from_function(Circle(200), lambda x: np.exp(x[..., 0]))
    np.testing.assert_allclose(labels.masses, exact.masses, atol=1e-14)


@pytest.mark.parametrize("duration", [3.0, 30.0, 1000.0])
def test_label_density_stays_a_probability_when_mass_concentrates(duration):
    """Several clusters, then one; labels meet, the flow map is a staircase."""
    circle = Circle(128)
    start = Density.from_function(circle, lambda x: np.maximum(x[..., 0] + 0.3, 0.0))
    equation = ascent(Attention(8.0), Perceptron(DIRECTIONS, WEIGHTS))
    labels = solve_particles(equation, start, t_end=duration, method="labels").final
    density = label_density(labels, circle)
    assert density.values.min() >= 0.0
    assert density.total_mass == pytest.approx(1.0, abs=1e-12)
    first_moment = density.masses @ circle.points
    assert np.abs(first_moment - labels.masses @ labels.points).max() < circle.spacing


def test_labels_that_all_met_are_one_cell():
    """All but the mass of one label, which spans the rest of the circle."""
    count = 40
    angles = 1.0 + 1e-15 * np.random.default_rng(0).standard_normal(count)
    density = label_density(atoms_at(angles), Circle(32))
    assert density.masses.max() >= 1 - 1 / count


def test_particles_and_labels_differ_by_the_square_of_the_cell_width():
    """Quantiles take cells as uniform, labels take values at their centres."""
    equation = descent(Attention(4.0), Perceptron(DIRECTIONS, WEIGHTS, "gelu"))

    def moments(start, **arguments):
        run = solve_particles(equation, start, t_end=1.0, **arguments, **TIGHT)
        waves = np.exp(1j * np.outer(angles_of(run.final.points), [1, 2, 3]))
        return run.final.masses @ waves

    differences = []
    for cells in (64, 256):
        start = Density.from_function(Circle(cells), lambda x: 1 + 0.8 * x[..., 0] ** 2)
        particles, labels = moments(start, count=300), moments(start, method="labels")
        differences.append(np.abs(particles - labels).max())
    order = np.log2(differences[0] / differences[1]) / 2
    assert order == pytest.approx(2.0, abs=0.1)
    assert differences[1] < 2e-5


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
    start = atoms_at([0.0, 0.5, 1.1, 1.9, 2.8], masses)
    run = solve_particles(
        ascent(Attention(beta)),
        start,
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
MIXED = Measure(uniform(Circle(32)), CIRCLE_ATOMS)
PLAIN = ascent(Attention(2.0))
LAYERED = ascent(Attention(1.0), Perceptron(DIRECTIONS, WEIGHTS))
DIFFUSIVE = MeanFieldEquation(Attention(1.0), direction="ascent", diffusion=0.25)


@pytest.mark.parametrize(
    ("problem", "arguments", "message"),
    [
        ((DIFFUSIVE, CIRCLE_ATOMS), {}, "diffusion = 0.25.*mfpde.solve"),
        ((PLAIN, CIRCLE_ATOMS), {"t_end": 0.0}, "t_end = 0.0"),
        ((PLAIN, CIRCLE_ATOMS), {"method": "spectrall"}, "did you mean 'spectral'"),
        ((PLAIN, SPACE_ATOMS), {"method": "spectral"}, "d = 4.*use method='direct'"),
        ((PLAIN, SPACE_ATOMS), {"method": "labels"}, "d = 4.*use method='direct'"),
        ((PLAIN, CIRCLE_ATOMS), {"save_every": 1.0, "save_at": [1.0]}, "give one"),
        ((PLAIN, CIRCLE_ATOMS), {"save_at": [3.0]}, r"save_at\[0\] = 3"),
        ((PLAIN, CIRCLE_ATOMS), {"time_step": -0.1}, "time_step = -0.1"),
        ((PLAIN, CIRCLE_ATOMS), {"rtol": 0.0}, "rtol = 0.0 .* at least 1e-13"),
        ((PLAIN, CIRCLE_ATOMS), {"atol": 0.0}, "atol = 0.0"),
        ((PLAIN, CIRCLE_ATOMS), {"count": 5}, "count = 5 cannot change the 12 atoms"),
        ((PLAIN, Atoms.none(2)), {}, "no atoms"),
        ((PLAIN, [[1.0, 0.0]]), {}, "must be Atoms, a Density or a Measure"),
        ((LAYERED, SPHERE_ATOMS), {}, "directions have 2 entries"),
        ((PLAIN, MIXED), {"method": "labels"}, "12 atoms; use method='spectral'"),
        (
            (PLAIN, uniform(Circle(32))),
            {"method": "labels", "count": 16},
            "count = 16 must be a whole number of at least 32",
        ),
        ((PLAIN, uniform(Circle(32))), {"count": 0}, "count = 0"),
        (
            (PLAIN, CIRCLE_ATOMS),
            {"merge_below": 1.0},
            "merge_below = 1.0 .* at most 0.1",
        ),
        (
            (PLAIN, CIRCLE_ATOMS),
            {"merge_below": 1e-6, "time_step": 0.1},
            "time_step = 0.1: particles that merge have .* steps of their own",
        ),
    ],
)
def test_errors_repeat_the_value_and_name_the_way_out(problem, arguments, message):
    with pytest.raises(ValueError, match=message):
        solve_particles(*problem, **{"t_end": 2.0} | arguments)


def test_label_density_refuses_what_is_not_labels():
    with pytest.raises(ValueError, match="5 labels"):
        label_density(random_atoms(5), Circle(32))
    with pytest.raises(ValueError, match="dimension 3"):
        label_density(SPHERE_ATOMS, Circle(32))
    with pytest.raises(ValueError, match="cyclic order"):
        label_density(random_atoms(50), Circle(32))
    with pytest.raises(ValueError, match="narrower than its cells"):
        label_density(atoms_at(np.full(40, 1.0)), Circle(32), at_centers=True)
    with pytest.raises(ValueError, match="circle = 32"):
        label_density(labels_of(uniform(Circle(32))), 32)


def test_the_witness_imports_nothing_of_the_density_solver():
    forbidden = (
        "mfpde.transport",
        "mfpde.solver.solve",
        "mfpde.solver.time_loop",
        "mfpde.geometry.remap",
    )
    for module in Path(mfpde.particles.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            names = [alias.name for alias in getattr(node, "names", [])]
            source = getattr(node, "module", None) or ""
            imported = [source, *names, *(f"{source}.{name}" for name in names)]
            assert not [n for n in imported if n in forbidden]


def test_fixed_steps_pass_the_kink_of_a_neuron() -> None:
    """Where an adaptive method slows down; both end at the same measure."""
    neuron = mfpde.Perceptron([[np.cos(0.7), np.sin(0.7)]], [0.5])
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(25.0), neuron, direction="descent"
    )
    start = mfpde.quantized(mfpde.uniform(mfpde.Circle(256)), 200)
    fixed, adaptive = (
        mfpde.solve_particles(equation, start, t_end=20.0, **steps).final
        for steps in ({"time_step": 0.1}, {"rtol": 1e-8, "atol": 1e-10})
    )
    assert mfpde.wasserstein(fixed, adaptive) < 1e-5
