"""Transport on the sphere: exact solutions, orders, positivity, atoms."""

import numpy as np
import pytest
from equations import ascent
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import mfpde
from mfpde.transport import State, scheme_for
from validation.circle_cases import l1_distance, points_at
from validation.sphere_cases import AXES, linear_potential, moebius, unit, von_mises

# Transport, rings, rtol, the largest error on the finer grid, and the order.
MOEBIUS = [
    ("donor_blended", (64, 128), 1e-4, 1e-4, 1.9),
    ("labels", (32, 64), 1e-4, 5e-3, 0.73),
    (None, (64,), 1e-4, 1e-5, 0.0),
    (None, (64,), 1e-9, 1e-7, 0.0),
]


@pytest.mark.parametrize("case", AXES)
@pytest.mark.parametrize(("transport", "rings", "rtol", "largest", "order"), MOEBIUS)
def test_the_moebius_flow(case, transport, rings, rtol, *, largest, order):
    """Characteristics do not depend on the density: moments are the push-forward's."""
    axis, centre = AXES[case]
    exact, errors, moments = moebius(axis, centre, 0.6), [], []
    saves = [0.0, 0.6] if transport else [0.0, 0.17, 0.41, 0.6]
    options = {"t_end": 0.6, "save_at": saves, "rtol": rtol, "transport": transport}
    for nlat in rings:
        sphere = mfpde.Sphere(nlat)
        start = mfpde.Density.from_function(sphere, lambda x: von_mises(x, centre))
        run = mfpde.solve(ascent(linear_potential(axis)), start, **options)
        assert "spectral_until" not in run.statistics
        if transport != "donor_blended":
            first = run.states[0].density.values
            assert np.abs(first / start.values - 1).max() <= 1e-15
        density = run.final.density
        for time, state in zip(saves, run.states, strict=True):
            assert state.density.values.min() >= 0
            assert state.total_mass == pytest.approx(1, abs=1e-13)
            away = l1_distance(state.density, moebius(axis, centre, time))
            assert transport is not None or away <= largest
        errors.append(l1_distance(density, exact))
        wanted = mfpde.Density.from_function(sphere, exact, normalize=False).masses
        moments.append(np.abs(sphere.moments(density.masses - wanted, 8)).max())
    assert errors[-1] <= largest
    assert np.log2(errors[0] / errors[-1]) >= order
    if transport == "labels":
        assert moments[0] <= 2e-4
        assert moments[1] <= 8e-5


@pytest.mark.parametrize("colatitude", [0.0, 0.15, 0.4])
def test_speed_of_a_flow_over_the_pole(colatitude):
    """V = x moves the mean of x by the integral of 1 - x^2, near a pole as elsewhere."""
    equation = ascent(linear_potential(np.eye(3)[0]))
    centre, errors, step = unit(0, np.sin(colatitude), np.cos(colatitude)), [], 1e-5
    for nlat in (48, 96):
        sphere = mfpde.Sphere(nlat)
        scheme = scheme_for("donor_blended", sphere).transport(equation.on(sphere))
        density = mfpde.Density.from_function(
            sphere, lambda x: 0.1 + von_mises(x, centre, 6)
        )
        masses = scheme.represent_masses(density.masses)
        state = State(masses, np.empty((0, 3)), np.empty(0))
        moved = scheme.stage(state, scheme.flow(state), step).masses - masses
        x = sphere.points[..., 0]
        exact = np.sum(masses * (1 - x**2))
        errors.append(abs(np.sum(moved * x) / step / exact - 1))
    assert np.log2(errors[0] / errors[1]) >= 3
    assert errors[1] <= 2e-5


@pytest.mark.parametrize("height", [0.8, -0.8])
@pytest.mark.parametrize("ring", [9, 24])
def test_what_a_lone_cell_sends_moves_with_its_velocity(ring, height):
    """In the tangent plane of its centre, exactly."""
    axis, sphere, step = unit(0.36, -0.48, height), mfpde.Sphere(32), 1e-6
    equation = ascent(linear_potential(axis))
    scheme = scheme_for("donor_blended", sphere).transport(equation.on(sphere))
    masses = np.zeros(sphere.shape)
    masses[ring, 5] = 1.0
    state = State(masses, np.empty((0, 3)), np.empty(0))
    moved = scheme.stage(state, scheme.flow(state), step).masses - masses
    rate = np.einsum("ij,ijk->k", moved, sphere.points) / step
    place = sphere.points[ring, 5]
    np.testing.assert_allclose(
        rate - (rate @ place) * place, axis - (axis @ place) * place, atol=1e-13
    )


ANGLE = 1.2


def test_an_atom_beside_the_density_moves_as_an_exact_point():
    sphere = mfpde.Sphere(48)
    axis = unit(0.4, 0.2, 0.9)
    equation = ascent(8.0, linear_potential(axis))
    empty = mfpde.Density(sphere, np.zeros(sphere.shape))
    start = mfpde.Measure(empty, mfpde.Atoms(unit(0.1, -0.9, 0.2)[np.newaxis]))
    run = mfpde.solve(equation, start, t_end=1.0, save_at=[1.0], rtol=1e-6)
    angles = [np.arccos(float(m.atoms.points[0] @ axis)) for m in (start, run.final)]
    assert np.tan(angles[1] / 2) == pytest.approx(
        np.exp(-1.0) * np.tan(angles[0] / 2), rel=1e-5
    )


def pair(case):
    half = ANGLE / 2
    if case == "across the pole":
        tilt, turn = 0.13, 0.37
        plane = np.array([[0.0, 0.0, 1.0], [np.cos(turn), np.sin(turn), 0.0]])
        return points_at(np.array([tilt + half, tilt - half])) @ plane
    on_equator = points_at(np.array([half, -half])) @ np.eye(2, 3)
    return (
        on_equator @ Rotation.random(rng=1).as_matrix()
        if case == "generic"
        else on_equator
    )


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
    points, sphere = pair(case), mfpde.Sphere(96)
    width = 1.5 * sphere.spacing
    start = mfpde.Density.from_function(
        sphere, lambda x: sum(np.exp((x @ p - 1) / width**2) for p in points)
    )
    end = mfpde.solve(ascent(beta), start, t_end=time, save_at=[time]).final.density
    assert end.values.min() >= 0
    assert end.total_mass == pytest.approx(1, abs=1e-12)
    # 0.0086 (generic) to 0.0107 (across the pole) nearer than points: bumps have a width.
    assert separation(end, points) == pytest.approx(exact, abs=0.0115)
