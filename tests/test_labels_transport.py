"""Labels that carry the mass of a density on the sphere, and the density that is saved."""

import numpy as np
import pytest
from equations import ascent, descent
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import mfpde
from mfpde import Density, Layers, Perceptron, Sphere, solve, uniform
from mfpde.transport import State, scheme_for
from mfpde.transport.push_forward import deposit_masses
from validation.sphere_cases import von_mises

SPHERE = Sphere(32)


def smooth_start(sphere):
    return Density.from_function(
        sphere, lambda x: np.exp(0.5 * x[..., 0] + x[..., 1] * x[..., 2])
    ).normalized()


def driven(beta=4.0, **options):
    return ascent(beta, Perceptron.random(3, 3, seed=111, activation="gelu"), **options)


def after_turn(sphere, function, seed):
    """Masses of labels that have turned rigidly, and of the density that turned as well."""
    turn = Rotation.random(random_state=seed).as_matrix()
    start = Density.from_function(sphere, function).normalized()
    labels = np.ascontiguousarray(sphere.points @ turn.T)
    found = deposit_masses(labels, start.masses, sphere).masses
    exact = Density.from_function(sphere, lambda x: function(x @ turn)).normalized()
    return found, exact


# --- The push-forward -----------------------------------------------------------------


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 2**31), st.floats(0.0, 1.0), st.floats(1e-12, 30.0))
def test_any_labels_keep_mass_and_sign(seed, together, spread):
    """Labels anywhere: wild, drawn to one place, or all but in one place."""
    sphere, generator = Sphere(32), np.random.default_rng(seed)
    masses = generator.random(sphere.shape) ** 8
    masses /= masses.sum()
    wild = generator.standard_normal((*sphere.shape, 3))
    centre = generator.standard_normal(3)
    labels = together * sphere.points + spread * (1 - together) * wild + centre
    labels /= np.linalg.norm(labels, axis=-1, keepdims=True)
    found = deposit_masses(labels, masses, sphere).masses
    assert found.min() >= 0
    assert found.sum() == pytest.approx(1, abs=1e-13)


def test_labels_in_one_place_are_an_atom_of_that_mean():
    sphere = Sphere(32)
    place = np.array([0.48, -0.6, 0.64])
    labels = np.broadcast_to(place, (*sphere.shape, 3)).copy()
    found = deposit_masses(labels, uniform(sphere).masses, sphere).masses
    assert np.count_nonzero(found) <= 4
    mean = np.einsum("ij,ijk->k", found, sphere.points)
    apart = np.arccos(mean @ place / np.linalg.norm(mean))
    assert apart <= 0.1 * sphere.spacing


def test_a_turned_bump_is_pushed_forward_to_second_order_in_its_moments():
    errors = []
    for nlat in (32, 64, 128):
        sphere = Sphere(nlat)
        found, exact = after_turn(
            sphere, lambda x: np.exp(3 * x[..., 0] + x[..., 2]), 5
        )
        missed = sphere.moments(found - exact.masses, 8)
        errors.append(np.abs(missed).max())
    assert np.log2(errors[0] / errors[1]) >= 1.8
    assert np.log2(errors[1] / errors[2]) >= 1.8


def test_what_rests_keeps_its_density():
    """Half of the sphere turns about its axis; the other half is as it was."""
    sphere = Sphere(32)
    start = mfpde.perturbed_uniform(sphere, 0.5, seed=2)
    turn = Rotation.from_rotvec([0, 0, 0.37]).as_matrix()
    labels = sphere.points.copy()
    labels[:16] = labels[:16] @ turn.T
    found = deposit_masses(labels, start.masses, sphere).masses
    # Corners of patches feel labels two rings off, and reach one ring further.
    kept = np.abs(found[19:] / start.masses[19:] - 1)
    assert kept.max() <= 1e-12


@pytest.mark.parametrize("nlat", [32, 48])
def test_what_rests_beside_a_core_keeps_its_density_in_what_is_saved(nlat):
    """One neuron draws half of the mass into an atom, the other half is in its dead zone."""
    sphere, centre = Sphere(nlat), np.array([0.48, -0.6, 0.64])
    equation = ascent(Perceptron([centre], [1.0]))
    run = solve(equation, uniform(sphere), t_end=8.0, save_at=[8.0])
    rests = sphere.points @ centre < -2 * sphere.spacing
    values = run.final.density.values[rests] * 4 * np.pi
    assert np.abs(values - 1).mean() <= 0.03
    near = sphere.points @ centre > np.cos(3 * sphere.spacing)
    assert run.final.density.masses[near].sum() == pytest.approx(0.5, abs=0.02)


HALF = Density(SPHERE, 0.5 * uniform(SPHERE).values)
WITH_AN_ATOM = mfpde.Measure(HALF, mfpde.Atoms([[0.0, 0.6, 0.8]], [0.5]))
CASES = [
    ({}, WITH_AN_ATOM, {}, "start has atoms"),
    ({"diffusion": 0.05}, uniform(SPHERE), {}, "diffusion = 0.05"),
    ({}, uniform(SPHERE), {"atoms": "exact"}, "atoms = 'exact'"),
]


@pytest.mark.filterwarnings("ignore:.*too coarse")
@pytest.mark.parametrize(("of_equation", "start", "options", "reason"), CASES)
def test_what_labels_cannot_carry_is_left_to_fluxes(
    of_equation, start, options, reason
):
    equation = driven(**of_equation)
    run = solve(equation, start, t_end=0.1, save_at=[0.1], **options)
    assert run.statistics["method"] == "spectral_donor_blended"
    for name in ("labels", "spectral_labels"):
        with pytest.raises(ValueError, match=f"transport = '{name}'.*{reason}"):
            solve(equation, start, t_end=0.1, transport=name, **options)


# --- From layer to layer, and from run to run ------------------------------------------


def several_layers(count=6, duration=1.0):
    """Layers of random neurons with kinks, every third of them in descent."""
    drawn = [(5.0, Perceptron.random(2, 3, seed=seed)) for seed in range(count)]
    equations = [(ascent if k % 3 else descent)(*one) for k, one in enumerate(drawn)]
    return Layers([(one, duration) for one in equations])


def test_a_run_goes_on_with_the_labels_that_another_left():
    layers = several_layers(2, 2.0)
    start = smooth_start(Sphere(32))
    whole = solve(layers, start, save_at=[1.0, 2.0, 4.0])
    first = solve(layers.equations[0], start, t_end=2.0, save_at=[1.0, 2.0])
    assert first.statistics["spectral_until"] < 2.0
    assert first.final.density.labels is not None
    assert first.states[-1] is first.final
    assert first.states[-2].density.labels is None
    second = solve(layers.equations[1], first.final, t_end=2.0, save_at=[0.0, 2.0])
    begun, left = (m.density.values for m in (second.states[0], first.final))
    assert np.array_equal(begun, left)
    values = whole.final.density.values
    assert np.abs(second.final.density.values - values).max() <= 1e-10 * values.max()
    by_grid = Density(first.final.geometry, left)
    third = solve(layers.equations[1], by_grid, t_end=2.0, save_at=[2.0])
    assert not np.array_equal(third.final.density.values, values)


def test_a_layer_that_labels_cannot_carry_leaves_all_to_fluxes():
    noisy, sharp = driven(diffusion=0.05), driven(200.0)
    for other, sphere in ((noisy, Sphere(32)), (sharp, Sphere(160))):
        layers = Layers([(driven(), 0.001), (other, 0.001)])
        start = mfpde.perturbed_uniform(sphere, 0.1)
        run = solve(layers, start, save_at=[0.002])
        assert run.statistics["method"] == "spectral_donor_blended"
    layers = Layers([(driven(), 0.001), (noisy, 0.001)])
    with pytest.raises(ValueError, match=r"'labels'.*a layer has diffusion = 0.05"):
        solve(layers, uniform(Sphere(32)), transport="labels")


def carried(transport, state, time, *, steps):
    for _ in range(steps):
        state = transport.step(state, time / steps).state
    return state


def distance(state, other):
    apart = np.linalg.norm(state.points - other.points, axis=1)
    return float(state.atom_masses @ apart)


def test_the_error_of_a_step_falls_with_its_fifth_power():
    transport = scheme_for("labels", SPHERE).transport(driven(5.0).on(SPHERE))
    nobody = np.empty((0, 3)), np.empty(0)
    start = transport.begin(State(smooth_start(SPHERE).masses, *nobody))
    state = carried(transport, start, 1.0, steps=10)
    errors = [
        distance(
            carried(transport, state, step, steps=1),
            carried(transport, state, step, steps=8),
        )
        for step in (0.1, 0.05)
    ]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(5, abs=0.25)


@pytest.mark.parametrize("grid", [Sphere(32), Sphere(32, 128)])
def test_rates_of_moments_are_sums_of_gradients_of_harmonics(grid):
    """d/dt of g_k = sum m conj Y_k as the centres move, by central differences."""
    generator = np.random.default_rng(3)
    masses = generator.random(grid.shape)
    velocity = generator.standard_normal(grid.tangents.shape[:-1])
    points = grid.points.reshape(-1, grid.dimension)
    moved = np.einsum("a...,a...i->...i", velocity, grid.tangents)
    along, step = moved.reshape(points.shape), 1e-4
    ends = [points + sign * step * along for sign in (1, -1)]
    plus, minus = (
        grid.atom_moments(
            end / np.linalg.norm(end, axis=1, keepdims=True), masses.ravel(), 8
        )
        for end in ends
    )
    by_differences = (plus - minus) / (2 * step)
    exact = grid.drift_moments(masses, velocity, 8)
    assert np.abs(by_differences - exact).max() <= 1e-5 * np.abs(exact).max()


def test_what_dips_below_zero_in_the_degrees_of_the_grid_is_saved_positive():
    centre = np.array([0.0, 0.6, 0.8])
    start = Density.from_function(Sphere(32), lambda x: von_mises(x, centre, 20))
    options = {"t_end": 0.1, "save_every": 0.02, "transport": "spectral_donor_blended"}
    run = solve(ascent(2.0), start, **options)
    assert "spectral_until" not in run.statistics
    for state in run.states[1:]:
        assert state.density.values.min() == 0.0
        assert state.total_mass == pytest.approx(1, abs=1e-13)
