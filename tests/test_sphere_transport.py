"""Transport on the sphere: exact solutions, orders, positivity, atoms."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from mfpde import (
    Atoms,
    Attention,
    Density,
    MeanFieldEquation,
    Measure,
    Perceptron,
    Sphere,
    perturbed_uniform,
    solve,
)
from mfpde.transport import State, scheme_for
from mfpde.transport.line import spread_both_ways
from validation.sphere_cases import AXES, l1_distance, moebius, unit, von_mises


def final(equation, start, t_end, **options):
    run = solve(equation, start, t_end=t_end, save_at=[t_end], **options)
    density = run.final.density
    assert density.values.min() >= 0
    assert run.final.total_mass == pytest.approx(1, abs=1e-12)
    return density


# --- Linear potential: the Moebius flow -----------------------------------------------


@pytest.mark.parametrize("case", AXES)
def test_order_of_the_moebius_flow(case):
    axis, centre = AXES[case]
    equation = MeanFieldEquation(
        Perceptron([axis], [1.0], activation=(np.ones_like, lambda z: z)),
        direction="ascent",
    )
    errors = []
    for nlat in (64, 128):
        start = Density.from_function(Sphere(nlat), lambda x: von_mises(x, centre))
        density = final(equation, start, 0.6, transport="donor_blended")
        errors.append(l1_distance(density, moebius(axis, centre, 0.6)))
    assert np.log2(errors[0] / errors[1]) >= 1.9
    assert errors[1] <= 1e-4


@pytest.mark.parametrize("colatitude", [0.0, 0.15, 0.4])
def test_speed_of_a_flow_over_the_pole(colatitude):
    """V = x moves the mean of x by the integral of 1 - x^2, near a pole as elsewhere."""
    equation = MeanFieldEquation(
        Perceptron([[1.0, 0.0, 0.0]], [1.0], activation=(np.ones_like, lambda z: z)),
        direction="ascent",
    )
    centre, errors, step = unit(0, np.sin(colatitude), np.cos(colatitude)), [], 1e-5
    for nlat in (48, 96):
        sphere = Sphere(nlat)
        scheme = scheme_for("donor_blended", sphere).transport(equation.on(sphere))
        density = Density.from_function(sphere, lambda x: 0.1 + von_mises(x, centre, 6))
        masses = scheme.represented(density.masses)
        state = State(masses, np.empty((0, 3)), np.empty(0))
        moved = scheme.stage(state, scheme.flow(state), step).masses - masses
        x = sphere.points[..., 0]
        exact = np.sum(masses * (1 - x**2))
        errors.append(abs(np.sum(moved * x) / step / exact - 1))
    assert np.log2(errors[0] / errors[1]) >= 3
    assert errors[1] <= 2e-5


# --- beta = 0: Lipton, Mirollo & Strogatz (2021) --------------------------------------


# --- One ReLU neuron: a jump for all t > 0 --------------------------------------------


def test_mass_carried_to_a_kink_rests_on_it():
    """The mean distance is 0 in the limit: less than a fifth of a cell, to either side."""
    sphere, offsets = Sphere(96), []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        axis = unit(*rng.normal(size=3))
        beside = unit(*np.cross(axis, rng.normal(size=3)))
        centre = 0.5 * axis + np.sqrt(0.75) * beside
        density = final(
            MeanFieldEquation(Perceptron([axis], [-1.0]), direction="ascent"),
            Density.from_function(sphere, lambda x, c=centre: von_mises(x, c, 20)),
            15.0,
        )
        offsets.append(np.sum(density.masses * (sphere.points @ axis)))
    assert np.abs(offsets).max() <= 0.2 * sphere.spacing
    assert abs(np.mean(offsets)) <= 0.1 * sphere.spacing


# --- What donors send ------------------------------------------------------------------


def test_what_donors_send_diffuses_across_the_velocity_equally_at_any_angle():
    """Variance across the velocity per unit time, speed and spacing: 2^(-1/2)."""

    def sent(own, across):
        return abs(own) + 2 * spread_both_ways(own, across)

    for angle in np.linspace(0, 2 * np.pi, 73):
        along_line, other = np.cos(angle), np.sin(angle)
        variance = sent(along_line, other) * other**2
        variance += sent(other, along_line) * along_line**2
        assert variance == pytest.approx(2**-0.5, rel=0.045)


# --- Linear growth from the uniform state ---------------------------------------------


# --- Conservation, positivity, symmetry -----------------------------------------------


def rotation(seed):
    matrix, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))
    return matrix * np.sign(np.linalg.det(matrix))


@pytest.mark.parametrize("normalized", [False, True])
def test_rotation_error_is_second_order(normalized):
    """Rotate data and weights: the result must be the rotated one."""
    perceptron = Perceptron.random(3, 3, seed=111)
    centre = unit(0.2, -0.4, 0.6)
    errors = []
    for nlat in (64, 128):
        sphere, fields = Sphere(nlat), []
        for turn in (np.eye(3), rotation(2)):
            equation = MeanFieldEquation(
                Attention(8.0, normalized=normalized),
                Perceptron(perceptron.directions @ turn.T, perceptron.weights),
                direction="ascent",
            )
            start = Density.from_function(
                sphere, lambda x, c=turn @ centre: 0.3 + von_mises(x, c, 2.0)
            )
            end = final(equation, start, 1.0)
            moments = sphere.moments(end.masses, 16)
            smoothing = np.exp(-(sphere.degrees(16) ** 2) / 80.0)
            probes = np.random.default_rng(0).standard_normal((200, 3))
            probes /= np.linalg.norm(probes, axis=1, keepdims=True)
            fields.append(sphere.field_at(moments * smoothing, probes @ turn.T).values)
        difference = np.linalg.norm(fields[0] - fields[1])
        errors.append(difference / np.linalg.norm(fields[0]))
    assert np.log2(errors[0] / errors[1]) >= 1.9
    assert errors[1] <= 3e-4


def test_diffusion_alone_decays_as_the_harmonics_do():
    sphere = Sphere(48)
    start = perturbed_uniform(sphere, 0.5, seed=2)
    equation = MeanFieldEquation(
        Perceptron([[0.0, 0.0, 1.0]], [0.0]), direction="ascent", diffusion=0.1
    )
    end = final(equation, start, 1.0)
    before, after = (sphere.moments(d.masses, 3) for d in (start, end))
    expected = before * np.exp(-0.1 * sphere.heat_symbol(3))
    np.testing.assert_allclose(after, expected, atol=1e-4)


# --- Atoms ----------------------------------------------------------------------------

ANGLE = 1.2


def test_an_atom_beside_the_density_moves_as_an_exact_point():
    sphere = Sphere(48)
    axis = unit(0.4, 0.2, 0.9)
    equation = MeanFieldEquation(
        Attention(8.0),
        Perceptron([axis], [1.0], activation=(np.ones_like, lambda z: z)),
        direction="ascent",
    )
    empty = Density(sphere, np.zeros(sphere.shape))
    start = Measure(empty, Atoms(unit(0.1, -0.9, 0.2)[np.newaxis]))
    run = solve(equation, start, t_end=1.0, save_at=[1.0], rtol=1e-6)
    angles = [np.arccos(float(m.atoms.points[0] @ axis)) for m in (start, run.final)]
    assert np.tan(angles[1] / 2) == pytest.approx(
        np.exp(-1.0) * np.tan(angles[0] / 2), rel=1e-5
    )


# --- Nonlinear: against a reference on a grid four times as fine ------------------------


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("activation", [None, "gelu"])
def test_nonlinear_order(normalized, activation):
    """beta = 8, t = 1, L1 against the reference's harmonics up to degree 60."""
    terms = [Attention(8.0, normalized=normalized)]
    if activation is not None:
        terms.append(Perceptron.random(3, 3, seed=111, activation=activation))
    equation = MeanFieldEquation(*terms, direction="ascent")

    def start(x):
        one, other = unit(0.2, -0.4, 0.6), unit(-0.5, 0.3, 0.2)
        return 0.3 + von_mises(x, one, 2.0) + 0.5 * von_mises(x, other, 3.0)

    def end(nlat):
        density = Density.from_function(Sphere(nlat), start)
        run = solve(
            equation,
            density,
            t_end=1.0,
            save_at=[1.0],
            rtol=1e-5,
            transport="donor_blended",
        )
        return run.final.density

    reference = end(192)
    moments = reference.geometry.moments(reference.masses, 60)
    errors = []
    for nlat in (48, 96):
        density = end(nlat)
        exact = reference.geometry.field_at(
            moments / (4 * np.pi), density.geometry.points
        ).values
        errors.append(np.sum(np.abs(density.values - exact) * density.geometry.areas))
    assert np.log2(errors[0] / errors[1]) >= 1.8


def pair(case):
    half = ANGLE / 2
    if case == "across the pole":
        tilt, turn = 0.13, 0.37
        heading = np.array([np.cos(turn), np.sin(turn), 0.0])
        pole = np.array([0.0, 0.0, 1.0])
        return np.stack(
            [
                np.sin(tilt + s * half) * heading + np.cos(tilt + s * half) * pole
                for s in (1, -1)
            ]
        )
    on_equator = np.array(
        [[np.cos(half), np.sin(half), 0.0], [np.cos(half), -np.sin(half), 0.0]]
    )
    return on_equator if case == "equator" else on_equator @ rotation(1).T


def separation(density, points):
    sphere, centres = density.geometry, []
    side = sphere.points @ (points[0] - points[1]) > 0
    for half in (side, ~side):
        mean = np.einsum("n,ni->i", density.masses[half], sphere.points[half])
        centres.append(mean / np.linalg.norm(mean))
    return float(np.arccos(centres[0] @ centres[1]))


@pytest.mark.parametrize("case", ["equator", "generic", "across the pole"])
def test_two_atoms_attract_each_other_at_the_right_speed(case):
    """D' = -exp(beta (cos D - 1)) sin D; face velocities would stay at 1.2 for ever."""
    beta, time = 8.0, 20.0
    exact = solve_ivp(
        lambda _, d: -np.exp(beta * (np.cos(d) - 1)) * np.sin(d),
        (0, time),
        [ANGLE],
        rtol=1e-9,
    ).y[0, -1]
    points, sphere = pair(case), Sphere(96)
    width = 1.5 * sphere.spacing
    start = Density.from_function(
        sphere, lambda x: sum(np.exp((x @ p - 1) / width**2) for p in points)
    )
    equation = MeanFieldEquation(Attention(beta), direction="ascent")
    end = final(equation, start, time)
    # 0.0086 (generic) to 0.0107 (across the pole) nearer than points: bumps have a width.
    assert separation(end, points) == pytest.approx(exact, abs=0.0115)
