"""Transport on the sphere: exact solutions, orders, positivity, atoms."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.special import spherical_in

from mfpde import (
    Atoms,
    Attention,
    Density,
    MeanFieldEquation,
    Measure,
    Perceptron,
    Sphere,
    SteadyState,
    perturbed_uniform,
    solve,
    uniform,
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


@pytest.mark.parametrize(("direction", "sign"), [("ascent", 1), ("descent", -1)])
def test_beta_zero_stays_in_the_family_of_poisson_kernels(direction, sign):
    axis, start_radius = unit(0.3, -0.5, 0.8), 0.4

    def family(a):
        return lambda x: (
            ((1 - a * a) / (1 + a * a - 2 * a * (x @ axis))) ** 2 / (4 * np.pi)
        )

    def rate(_, a):
        mean = (1 + a * a) / (2 * a) + (1 - a * a) ** 2 / (4 * a * a) * np.log(
            (1 - a) / (1 + a)
        )
        return sign * (1 - a * a) * mean / 2

    radius = solve_ivp(rate, (0, 1), [start_radius], rtol=1e-10, atol=1e-12).y[0, -1]
    equation = MeanFieldEquation(Attention(0.0), direction=direction)
    errors = []
    for nlat in (48, 96):
        start = Density.from_function(Sphere(nlat), family(start_radius))
        density = final(equation, start, 1.0, transport="donor_blended")
        errors.append(l1_distance(density, family(radius)))
    assert np.log2(errors[0] / errors[1]) >= 1.9
    assert errors[1] <= 1e-3


# --- One ReLU neuron: a jump for all t > 0 --------------------------------------------


@pytest.mark.parametrize(
    "axis", [unit(0.3, -0.5, 0.8), unit(0, 0, 1)], ids=["generic", "pole"]
)
def test_one_relu_neuron(axis):
    time, errors = 1.0, []
    equation = MeanFieldEquation(Perceptron([axis], [1.0]), direction="ascent")

    def exact(points):
        z, stretch = points @ axis, np.exp(time)
        active = stretch**2 / (z**2 + stretch**2 * (1 - z**2)) ** 1.5
        return np.where(z > 0, active, 1.0) / (4 * np.pi)

    for nlat in (48, 96):
        density = final(
            equation, uniform(Sphere(nlat)), time, transport="donor_blended"
        )
        errors.append(l1_distance(density, exact))
    # A jump costs O(h) in L1 whatever the scheme.
    assert np.log2(errors[0] / errors[1]) >= 0.9
    assert errors[1] <= 8e-3


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


@pytest.mark.parametrize("direction", ["ascent", "descent"])
@pytest.mark.parametrize("degree", [1, 2, 3, 4])
def test_growth_rates_of_the_uniform_state(degree, direction):
    sphere, beta, time = Sphere(64), 4.0, 0.5
    degrees = sphere.degrees(degree)
    rng = np.random.default_rng(degree)
    mode = (degrees == degree) * rng.standard_normal((2, len(degrees)))
    ripple = sphere.synthesis(mode[0] + 1j * mode[1])
    start = Density(sphere, 1 + 1e-4 * ripple / np.abs(ripple).max()).normalized()
    equation = MeanFieldEquation(Attention(beta), direction=direction)
    end = final(equation, start, time)
    before, after = (
        sphere.moments(d.masses, degree)[degrees == degree] for d in (start, end)
    )
    growth = np.log(np.vdot(before, after).real / np.vdot(before, before).real) / time
    rate = degree * (degree + 1) * spherical_in(degree, beta) / beta * np.exp(-beta)
    assert growth == pytest.approx(equation.sign * rate, rel=2e-3)


# --- Conservation, positivity, symmetry -----------------------------------------------


def test_a_stage_keeps_mass_and_sign_for_any_step():
    sphere = Sphere(32)
    equation = MeanFieldEquation(
        Attention(8.0), Perceptron.random(3, 3, seed=111), direction="ascent"
    )
    scheme = scheme_for("donor_blended", sphere).transport(equation.on(sphere))
    masses = np.random.default_rng(0).random(sphere.shape) ** 12
    masses[5, 7] = 10.0
    masses /= masses.sum()
    state = State(scheme.represented(masses), np.empty((0, 3)), np.empty(0))
    assert state.total_mass == pytest.approx(1, abs=1e-14)
    for step in (1e-3, 1.0, 1e3):
        stage = scheme.stage(state, scheme.flow(state), step)
        assert stage.masses.min() >= 0
        assert stage.masses.sum() == pytest.approx(1, abs=1e-13)
    rate = scheme.rate(state.masses, scheme.flow(state).outflows)
    assert abs(rate.sum()) <= 1e-13 * np.abs(rate).sum()


def test_the_uniform_density_rests():
    sphere = Sphere(64)
    equation = MeanFieldEquation(Attention(5.0), direction="descent")
    start = uniform(sphere)
    end = final(equation, start, 5.0)
    np.testing.assert_allclose(end.values, start.values, rtol=1e-12)


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


@pytest.mark.parametrize(
    ("normalized", "direction", "activation"),
    [(False, "descent", "relu"), (True, "ascent", "relu"), (True, "descent", "gelu")],
)
def test_weak_diffusion_costs_no_steps(normalized, direction, activation):
    """Heat is exact in time, and smooths what transport must follow.

    With the Courant number 0.8, groups of at least half a ring's width and the three
    lengths per step of a diagonal move, transport at speed S takes at most
    3 S t / (0.8 h) steps.
    """
    sphere, time, steps = Sphere(64), 3.0, []
    start = perturbed_uniform(sphere, 0.3, seed=1)
    for diffusion in (0.0, 1e-3):
        equation = MeanFieldEquation(
            Attention(8.0, normalized=normalized),
            Perceptron.random(3, 3, seed=111, activation=activation),
            direction=direction,
            diffusion=diffusion,
        )
        run = solve(
            equation,
            start,
            t_end=time,
            save_at=[time],
            transport="spectral_donor_blended",
        )
        steps.append(run.statistics["steps"])
    grid = equation.on(sphere)
    speed = max(
        np.linalg.norm(grid.velocity(sphere.moments(masses, grid.degree)), axis=0).max()
        for masses in (start.masses, run.final.density.masses)
    )
    assert steps[1] <= steps[0]
    assert steps[1] <= 3 * speed * time / (0.8 * sphere.spacing)


def test_gibbs_state_of_a_linear_potential():
    kappa, sphere = 0.5, Sphere(48)
    axis = unit(1.0, 0.5, 0.7)
    equation = MeanFieldEquation(
        Perceptron([axis], [1.0], activation=(np.ones_like, lambda z: z)),
        direction="ascent",
        diffusion=kappa,
    )
    end = final(equation, uniform(sphere), 12.0, stop=[SteadyState()])
    assert l1_distance(end, lambda x: von_mises(x, axis, 1 / kappa)) <= 2e-3


# --- Atoms ----------------------------------------------------------------------------

ANGLE = 1.2


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
