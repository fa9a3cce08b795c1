"""The recipes of CONTRIBUTING.md: its blocks run as they are written, and each keeps its law."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import xarray as xr
from documents import ROOT, Page
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import mfpde
import mfpde.transport
from mfpde.commands.command_line import main
from mfpde.solver.diagnostics import DIAGNOSTICS
from mfpde.solver.recorder import Observer
from mfpde.storage import RunWriter
from mfpde.terms import PointMasses
from mfpde.terms.activations import ACTIVATIONS, register_activation
from mfpde.transport import Scheme, State, register_scheme, scheme_for

NEURONS = {
    2: mfpde.Perceptron([[0.4, -0.2]], [0.5], "gelu"),
    3: mfpde.Perceptron([[0.4, -0.2, 0.1]], [0.5], "gelu"),
}
START = mfpde.perturbed_uniform(mfpde.Circle(256), 0.3, seed=1)


@pytest.fixture(scope="module")
def made() -> Iterator[Any]:
    """Return what the blocks define, which for these tests alone the package knows."""
    schemes = mfpde.transport._SCHEMES
    known = list(schemes[mfpde.Circle])
    page = Page(ROOT / "CONTRIBUTING.md", slow=False)
    assert page.run() == 5
    yield SimpleNamespace(**page.names)
    schemes[mfpde.Circle] = known
    del ACTIVATIONS["arctan"]


def ascent(*terms: Any) -> mfpde.MeanFieldEquation:
    return mfpde.MeanFieldEquation(*terms, direction="ascent")


def descent(*terms: Any) -> mfpde.MeanFieldEquation:
    return mfpde.MeanFieldEquation(*terms, direction="descent")


@pytest.fixture(params=["kernel", "activation"])
def of_recipe(request, made) -> mfpde.MeanFieldEquation:
    """Return an equation with a term of a recipe."""
    if request.param == "kernel":
        return ascent(made.kernel, NEURONS[2])
    return ascent(mfpde.Attention(4.0), made.neurons)


def test_a_density_moves_as_its_particles_do(of_recipe) -> None:
    run = mfpde.solve(of_recipe, START, t_end=1.0)
    particles = mfpde.solve_particles(of_recipe, START, t_end=1.0, count=4000)
    # Both are second order: cells of 0.025, steps of mass 2.5e-4.
    assert mfpde.wasserstein(run.final, particles.final) < 2e-3
    assert run.mass_drift < 1e-12
    assert (np.diff(run.energies) >= -1e-12).all()


def test_stationary_atoms_are_polished(made) -> None:
    places = [[0.6, 0.0, 0.8], [0.0, 1.0, 0.0], [-0.6, 0.8, 0.0]]
    three = mfpde.quantized(mfpde.uniform(mfpde.Circle(64)), 3)
    for equation, start in (
        (ascent(made.kernel, NEURONS[3]), mfpde.Atoms(places, [0.5, 0.3, 0.2])),
        (ascent(mfpde.Attention(4.0), made.neurons), three),
    ):
        run = mfpde.solve_particles(equation, start, t_end=600.0, rtol=1e-8, atol=1e-10)
        found = mfpde.polish(equation, run.final)
        assert found.residual < 1e-13
        assert np.abs(equation.velocity(found.atoms)).max() < 1e-13


# A kernel -------------------------------------------------------------------------------------


@pytest.mark.parametrize("dimension", [2, 3])
def test_density_particles_and_atoms_have_the_field_that_is_written_out(
    made, dimension
) -> None:
    kernel, neurons = made.kernel.kernel, NEURONS[dimension]
    rng = np.random.default_rng(5)
    points = rng.normal(size=(40, dimension))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    masses = rng.dirichlet(np.ones(40))
    pulls = (kernel.slope(points @ points.T) * masses) @ points + neurons.drift(points)
    exact = pulls - (pulls * points).sum(axis=1)[:, np.newaxis] * points
    atoms = mfpde.Atoms(points, masses)
    grid = mfpde.Circle(64) if dimension == 2 else mfpde.Sphere(32)
    both = mfpde.Measure(mfpde.Density(grid, np.zeros(grid.shape)), atoms)
    equation = ascent(made.kernel, neurons)
    assert np.abs(equation.velocity(atoms) - exact).max() < 1e-14
    assert np.abs(equation.velocity(both, points) - exact).max() < 1e-13
    pairs = kernel.value(points @ points.T) @ masses
    values = pairs + neurons.value(points)
    assert np.abs(equation.first_variation(both, points) - values).max() < 1e-13
    energy = masses @ pairs / 2 + masses @ neurons.value(points)
    for measure in (atoms, both):
        assert equation.energy(measure) == pytest.approx(energy, abs=1e-14)


@pytest.mark.parametrize("method", ["direct", "spectral"])
def test_two_atoms_move_as_their_equation_says(made, method) -> None:
    """Density (exact atoms), direct and spectral particles, and an equation of one angle."""
    angles, masses = np.array([0.3, 1.9]), np.array([0.35, 0.65])
    start = mfpde.Atoms(np.stack([np.cos(angles), np.sin(angles)], axis=1), masses)

    def rate(_: float, d: np.ndarray) -> np.ndarray:
        """D' = -(m_1 + m_2) W'(cos D) sin D."""
        return -made.kernel.kernel.slope(np.cos(d)) * np.sin(d)

    found = solve_ivp(rate, (0, 1), [1.6], rtol=1e-12, atol=1e-13)
    accuracy = {"method": method, "rtol": 1e-8, "atol": 1e-10}
    particles = mfpde.solve_particles(made.equation, start, t_end=1.0, **accuracy)
    nothing = mfpde.Density(mfpde.Circle(128), np.zeros(128))
    whole = mfpde.Measure(nothing, start)
    run = mfpde.solve(made.equation, whole, t_end=1.0, atoms="exact")
    for end in (particles.final.points, run.final.atoms.points):
        distance = np.arccos(end[0] @ end[1])
        assert distance == pytest.approx(found.y[0, -1], abs=1e-8)


def test_what_a_kernel_does_not_say_is_refused(made) -> None:
    unbounded = r"bound of the kernel's third derivative.*Polynomial"
    with pytest.raises(ValueError, match=unbounded):
        mfpde.certificate(descent(made.kernel), mfpde.Atoms([[1.0, 0.0]]))
    with pytest.raises(ValueError, match=unbounded):
        mfpde.minimize(descent(made.kernel), mfpde.Circle(64))
    with pytest.raises(ValueError, match="known for Attention alone"):
        _ = made.equation.attentions
    steep = mfpde.Interaction(made.Polynomial((0.0,) * 30 + (1.0,)))
    with pytest.raises(ValueError, match="degrees up to 30"):
        ascent(steep).on(mfpde.Circle(32))
    jump = mfpde.Interaction(mfpde.ZonalKernel(np.sign, np.zeros_like))
    with pytest.raises(ValueError, match="not smooth enough"):
        ascent(jump).on(mfpde.Circle(64))


def test_attention_as_a_kernel_of_two_functions() -> None:
    """The general path agrees with that of attention; a subclass is asked, everywhere."""
    beta = 4.0
    kernel = mfpde.ZonalKernel(
        lambda u: np.exp(beta * (u - 1)) / beta, lambda u: np.exp(beta * (u - 1))
    )
    assert kernel.sharpness == pytest.approx(beta, rel=1e-6)
    atoms = mfpde.quantized(mfpde.perturbed_uniform(mfpde.Sphere(32), 0.5), 5)
    start = mfpde.perturbed_uniform(mfpde.Circle(96), 0.2)
    velocities, ends = [], []
    for term in (mfpde.Attention(beta), mfpde.Interaction(kernel)):
        velocities.append(ascent(term, NEURONS[3]).velocity(atoms))
        ends.append(mfpde.solve(ascent(term), start, t_end=0.5).final.density.values)
    assert np.abs(velocities[0] - velocities[1]).max() < 1e-14
    assert np.abs(ends[0] - ends[1]).max() < 1e-10

    class Asked(mfpde.Attention):
        @property
        def zonal_kernel(self):
            return mfpde.Exponential(2 * self.beta)

    masses = PointMasses(atoms.points, atoms.masses)
    sharp = mfpde.Attention(2 * beta).pull_between_atoms(masses)
    np.testing.assert_array_equal(Asked(beta).pull_between_atoms(masses), sharp)


# An activation --------------------------------------------------------------------------------


@given(z=st.floats(-50, 50))
def test_the_bounds_of_an_activation_hold(made, z) -> None:
    bounds, at, step = made.arctan.bounds, np.array(z), 1e-4
    slopes = [float(made.arctan.derivative(at + t)) for t in (-step, 0.0, step)]
    assert bounds.least_slope <= slopes[1] <= bounds.largest_slope
    assert abs((slopes[2] - slopes[0]) / (2 * step)) <= bounds.second


def test_its_minimiser_has_a_certificate(made) -> None:
    equation = descent(mfpde.Attention(4.0), made.neurons)
    found = mfpde.minimize(equation, mfpde.Circle(256))
    assert 0 <= found.gap < 1e-9
    assert equation.energy(found.measure) == pytest.approx(found.energy, abs=1e-12)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        angles = rng.uniform(0, 2 * np.pi, 4)
        points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        other = mfpde.Atoms(points, rng.dirichlet(np.ones(4)))
        assert equation.energy(other) >= found.energy - found.gap


def test_what_an_activation_does_not_say_is_refused(made) -> None:
    unknown = replace(made.arctan, name="unknown", bounds=None)
    neurons = mfpde.Perceptron([[1.0, 0.0]], [0.8], unknown)
    with pytest.raises(ValueError, match="'unknown': no bounds of its derivatives"):
        mfpde.minimize(descent(mfpde.Attention(4.0), neurons), mfpde.Circle(64))
    with pytest.raises(ValueError, match="needs its derivative"):
        replace(made.arctan, derivative=None)
    with pytest.raises(ValueError, match="is there already"):
        register_activation(replace(made.arctan, bounds=None))
    with pytest.raises(ValueError, match="needs Phi' = sigma"):
        register_activation(replace(made.arctan, name="wrong", primitive=np.sin))


# A scheme -------------------------------------------------------------------------------------


AXIS = np.array([1.0, 0.0])
LINEAR = mfpde.Potential(
    lambda x: x @ AXIS, lambda x: np.broadcast_to(AXIS, x.shape), dimension=2
)


def pushed_density(circle: mfpde.Circle, time: float) -> mfpde.Density:
    """Push-forward of (1 + sin(theta + 1) / 2) / (2 pi) by V = cos(theta), in ascent.

    Points move by tan(theta / 2) = e^(-t) tan(theta_0 / 2).
    """
    factor = np.exp(time)
    half = np.tan((np.mod(circle.angles + np.pi, 2 * np.pi) - np.pi) / 2)
    origin = 2 * np.arctan(factor * half)
    stretch = factor * (1 + half**2) / (1 + (factor * half) ** 2)
    return mfpde.Density(circle, (1 + 0.5 * np.sin(origin + 1)) / (2 * np.pi) * stretch)


def test_solve_runs_a_new_scheme_at_its_first_order(made) -> None:
    errors = []
    for circle in map(mfpde.Circle, (128, 256, 512)):
        start, end = (pushed_density(circle, time) for time in (0.0, 1.0))
        times = {"t_end": 1.0, "save_at": [1.0]}
        run = mfpde.solve(ascent(LINEAR), start, transport="monotone", **times)
        assert run.statistics["method"] == "monotone"
        difference = np.abs(run.final.density.values - end.values)
        errors.append(difference.sum() * circle.spacing)
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert (np.abs(orders - 1) <= 0.1).all()


@pytest.mark.parametrize("direction", ["ascent", "descent"])
@pytest.mark.parametrize("normalized", [False, True])
def test_its_energy_moves_one_way_at_every_instant(made, direction, normalized) -> None:
    """dE/dt = sum_i F_i dm_i/dt, of random masses and along a run."""
    circle = mfpde.Circle(128)
    attention = mfpde.Attention(12.0, normalized=normalized)
    equation = mfpde.MeanFieldEquation(attention, direction=direction)
    grid = equation.on(circle)
    transport = scheme_for("monotone", circle).transport(grid)
    masses = np.random.default_rng(1).random(circle.shape) ** 4
    state = State(masses / masses.sum(), np.empty((0, 2)), np.empty(0))
    flow = transport.flow(state)
    rate = transport.rate(state.masses, flow.outflows)
    assert grid.sign * (grid.first_variation(flow.moments) @ rate) > 0
    start = mfpde.perturbed_uniform(circle, 0.3)
    run = mfpde.solve(equation, start, t_end=30.0, transport="monotone")
    assert (grid.sign * np.diff(run.energies)).min() >= -1e-14
    assert grid.sign * (run.energies[-1] - run.energies[0]) > 0


@pytest.mark.parametrize("step", [1e-3, 1.0, 1e3])
def test_a_new_scheme_keeps_mass_and_sign_for_any_step(made, step: float) -> None:
    circle = mfpde.Circle(128)
    grid = descent(mfpde.Attention(8.0), LINEAR).on(circle)
    transport = scheme_for("monotone", circle).transport(grid)
    masses = np.random.default_rng(0).random(circle.shape) ** 12
    state = State(masses / masses.sum(), np.empty((0, 2)), np.empty(0))
    flow = transport.flow(state)
    stage, whole = transport.stage(state, flow, step), transport.step(state, step).state
    for new in (stage, whole):
        assert new.masses.min() >= 0
        assert new.masses.sum() == pytest.approx(1, abs=1e-14)
    rate = transport.rate(state.masses, flow.outflows)
    assert abs(rate.sum()) <= 1e-14 * np.abs(rate).sum()


def test_a_subclass_has_the_schemes_of_its_bases_and_its_own(made) -> None:
    class Ring(mfpde.Circle):
        pass

    class OtherMonotone(made.MonotoneCircle):
        pass

    register_scheme(Ring, Scheme("monotone", OtherMonotone))
    ring, circle = Ring(128), mfpde.Circle(128)
    assert scheme_for("monotone", ring).transport is OtherMonotone
    assert scheme_for("monotone", circle).transport is made.MonotoneCircle
    for exact in (False, True):
        own, of_base = (scheme_for(None, g, exact_atoms=exact) for g in (ring, circle))
        assert own is of_base
    run = mfpde.solve(made.equation, mfpde.perturbed_uniform(ring, 0.3), t_end=0.5)
    assert run.statistics["method"] == "semi_lagrangian_donor_blended"


# A diagnostic, a geometry, an observer -----------------------------------------------------------


def test_a_diagnostic_is_recorded_stored_shown_and_drawn(
    made, tmp_path, capsys
) -> None:
    run, order, path = made.run, made.order, tmp_path / "run.zarr"
    points = mfpde.Circle(128).points
    expected = [np.linalg.norm(s.density.masses @ points) for s in run.states]
    np.testing.assert_array_equal(run.diagnostics["order"], expected)
    assert list(run.diagnostics) == [*DIAGNOSTICS, "order"]
    mfpde.save(run, path)
    other = tmp_path / "as it goes.zarr"
    writer = RunWriter(other, made.equation, mfpde.Circle(128))
    times = {"t_end": 1.0, "save_every": 0.5, "diagnostics": [order]}
    mfpde.solve(made.equation, made.start, observer=writer, **times)
    for store in (path, other):
        stored = xr.open_zarr(store, consolidated=False)["order"]
        assert stored.attrs == {"long_name": order.meaning, "units": order.unit}
        loaded = mfpde.load(store)
        np.testing.assert_array_equal(loaded.diagnostics["order"], expected)
        assert loaded.quantities == run.quantities
    assert main(["show", str(path)]) == 0
    told = capsys.readouterr().out
    assert f"{expected[-1]:.6g}" in told
    assert f"order: {order.meaning} [1]" in told
    ax = mfpde.plot_diagnostic(run, "order").axes[0]
    (line,) = (line for line in ax.lines if line.get_gid() == "order")
    np.testing.assert_array_equal(line.get_ydata(), expected)
    assert ax.get_title("left") == order.meaning
    with pytest.raises(ValueError, match=r"'ordre'.*did you mean 'order'"):
        mfpde.plot_diagnostic(run, "ordre")


def test_an_observer_sees_the_run_and_changes_nothing(made) -> None:
    class Seen(Observer):
        def begin(self, quantities, tracker, events):
            self.quantities, self.times = quantities, []

        def save(self, time, measure, diagnostics):
            self.times.append(time)

        def finish(self, run):
            self.run = run

    seen, run = Seen(), made.run
    times = {"t_end": 1.0, "save_every": 0.5, "diagnostics": [made.order]}
    again = mfpde.solve(made.equation, made.start, observer=seen, **times)
    assert seen.run is again
    assert seen.times == run.times.tolist()
    assert seen.quantities == run.quantities
    np.testing.assert_array_equal(again.final.density.values, run.final.density.values)


def smooth(points: np.ndarray) -> np.ndarray:
    return np.exp(points[..., 0] + 0.5 * points[..., 1] ** 2)


def test_moments_and_fields_are_those_of_the_turned_centres(made) -> None:
    turned = made.TurnedCircle(64, 0.3)
    masses = np.random.default_rng(0).random(64)
    moments = turned.moments(masses, 20)
    expected = turned.atom_moments(turned.points, masses, 20)
    np.testing.assert_allclose(moments, expected, atol=1e-12)
    turns = turned.face_angles
    corners = np.stack([np.cos(turns), np.sin(turns)], axis=-1)
    for grid, points in ((turned, turned.points), (turned.faces, corners)):
        field = turned.field_at(moments, points).values
        np.testing.assert_allclose(grid.synthesis(moments), field, atol=1e-11)
    for cell in (0, 17, 63):
        near = turned.cells_about(turned.points[[cell]], 0.6 * turned.spacing).cells
        assert near.tolist() == [cell]
    ends = [np.eye(32)[31], np.eye(32)[31]]
    grids = [mfpde.Circle(32), made.TurnedCircle(32, 0.5)]
    one, other = (
        mfpde.Density(*pair).normalized() for pair in zip(grids, ends, strict=True)
    )
    assert mfpde.wasserstein(one, other) == pytest.approx(np.pi / 32, abs=1e-12)


def test_runs_on_a_new_geometry_converge_to_those_on_the_plain_circle(made) -> None:
    equation = ascent(mfpde.Attention(4.0), mfpde.Perceptron.random(3, 2, seed=5))

    def difference(cells: int) -> float:
        """Largest difference of moments after a run on a turned and on a plain circle."""
        moments = []
        for circle in (made.TurnedCircle(cells, 0.3), mfpde.Circle(cells)):
            start = mfpde.Density.from_function(circle, smooth)
            end = mfpde.solve(equation, start, t_end=0.5, save_every=0.5).final.density
            moments.append(circle.moments(end.masses, 10))
        return np.abs(moments[0] - moments[1]).max()

    assert difference(256) < difference(64) / 10


def test_what_is_new_is_printed_stored_loaded_and_drawn(made, tmp_path) -> None:
    start = mfpde.Density.from_function(made.TurnedCircle(128, 0.3), smooth)
    equation = ascent(mfpde.Attention(4.0), made.neurons)
    run = mfpde.solve(equation, start, t_end=0.5, save_every=0.25)
    assert "TurnedCircle(num_cells=128, share=0.3)" in repr(run.final)
    assert mfpde.concentration(run.final, equation).verdict
    mfpde.save(run, tmp_path / "run.zarr")
    loaded = mfpde.load(tmp_path / "run.zarr")
    assert loaded.final.density.geometry == made.TurnedCircle(128, 0.3)
    np.testing.assert_array_equal(loaded.final.density.values, run.final.density.values)
    (neurons,) = loaded.equation.perceptrons
    assert neurons.activation is made.arctan
    assert "2 arctan neurons" in neurons.description
    mfpde.plot_run(loaded).savefig(tmp_path / "run.png")
