"""The spectral phase of runs on the sphere, and the hand-over to finite volumes."""

import numpy as np
import pytest

from mfpde import (
    Atoms,
    Attention,
    Density,
    MeanFieldEquation,
    Measure,
    Perceptron,
    Sphere,
    solve,
)
from mfpde.transport import SMOOTH, State, scheme_for
from validation.sphere_cases import AXES, l1_distance, moebius, von_mises


def smooth_start(sphere):
    return Density.from_function(
        sphere, lambda x: np.exp(0.5 * x[..., 0] + x[..., 1] * x[..., 2])
    ).normalized()


def driven(beta=4.0, activation="gelu", direction="ascent", **options):
    neurons = Perceptron.random(3, 3, seed=111)
    return MeanFieldEquation(
        Attention(beta),
        Perceptron(neurons.directions, neurons.weights, activation),
        direction=direction,
        **options,
    )


# --- Moments of a flux ----------------------------------------------------------------


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


def test_the_grid_s_error_in_the_moments_falls_at_second_order_or_better():
    errors = []
    for nlat in (64, 128):
        sphere = Sphere(nlat)
        grid = driven().on(sphere)
        transport = scheme_for("donor_blended", sphere).transport(grid)
        masses = transport.represented(smooth_start(sphere).masses)
        state = State(masses, np.empty((0, 3)), np.empty(0))
        errors.append(transport.grid_error_rate(state, transport.flow(state)))
    assert np.log2(errors[0] / errors[1]) >= 2.0


def test_the_phase_begins_where_the_band_limited_form_of_a_density_is_positive():
    sphere = Sphere(32)
    transport = scheme_for("spectral_labels", sphere).transport(driven().on(sphere))
    phases = []
    for function in (
        lambda x: np.exp(2 * x[..., 0]),
        lambda x: 1.0 * (x[..., 0] > 0.7),
    ):
        start = Density.from_function(sphere, function).normalized()
        state = State(start.masses, np.empty((0, 3)), np.empty(0))
        phases.append(transport.begin(state).phase)
    assert phases == [SMOOTH, 0]


# --- The phase itself -----------------------------------------------------------------


@pytest.mark.parametrize("case", AXES)
@pytest.mark.parametrize(("rtol", "allowed"), [(1e-4, 1e-5), (1e-9, 1e-7)])
def test_the_moebius_flow_is_as_exact_as_rtol_says(case, rtol, allowed):
    axis, centre = AXES[case]
    equation = MeanFieldEquation(
        Perceptron([axis], [1.0], activation=(np.ones_like, lambda z: z)),
        direction="ascent",
    )
    start = Density.from_function(Sphere(64), lambda x: von_mises(x, centre))
    run = solve(equation, start, t_end=0.6, save_at=[0.6], rtol=rtol)
    assert "spectral_until" not in run.statistics
    density = run.final.density
    assert l1_distance(density, moebius(axis, centre, 0.6)) <= allowed
    assert density.values.min() >= 0
    assert run.final.total_mass == pytest.approx(1, abs=1e-13)


# --- Hand-over ------------------------------------------------------------------------


def test_a_density_that_concentrates_is_handed_over_positive():
    start = smooth_start(Sphere(32))
    run = solve(driven(), start, t_end=4.0, save_every=0.25)
    assert 0.2 < run.statistics["spectral_until"] < 4.0
    for state in run.states:
        assert state.density.values.min() >= 0
        assert state.total_mass == pytest.approx(1, abs=1e-12)
    before = run.statistics["spectral_until"]
    rises = np.diff(run.energies)
    assert (rises <= 1e-6).all() or (rises >= -1e-6).all(), before


def test_a_rough_start_is_left_to_finite_volumes_from_the_first_step():
    sphere = Sphere(32)
    cap = Density.from_function(sphere, lambda x: 1.0 * (x[..., 2] > 0.7)).normalized()
    runs = [
        solve(driven(), cap, t_end=1.0, save_at=[0.5, 1.0], transport=name)
        for name in ("spectral_donor_blended", "donor_blended")
    ]
    assert runs[0].statistics["spectral_until"] == 0.0
    for one, other in zip(runs[0].states, runs[1].states, strict=True):
        assert np.array_equal(one.density.values, other.density.values)


@pytest.mark.parametrize("case", ["atoms", "diffusion", "named"])
def test_there_is_no_spectral_phase(case):
    sphere = Sphere(32)
    start = smooth_start(sphere)
    equation, options = driven(), {}
    if case == "atoms":
        half = Density(sphere, 0.5 * start.values)
        start = Measure(half, Atoms([[0.0, 0.6, 0.8]], [0.5]))
    elif case == "diffusion":
        equation = driven(diffusion=0.05)
    else:
        options = {"transport": "donor_blended"}
    runs = [
        solve(equation, start, t_end=0.3, save_at=[0.3], **options),
        solve(equation, start, t_end=0.3, save_at=[0.3], transport="donor_blended"),
    ]
    first, second = (run.final.density.values for run in runs)
    assert np.array_equal(first, second)
