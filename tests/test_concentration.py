"""Basins and their cores on S^1, S^2 and zonal grids: masses, places, rates, balls."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from drawn import run_of
from equations import ascent, descent, pull
from hypothesis import given, settings
from random_points import atoms_alone, atoms_at

import mfpde
from mfpde.detection import ball_radius, largest_ball_mass
from validation import verdict_shapes as shapes
from validation.circle_cases import points_at
from validation.verdict_shapes import unit

CENTRES = unit([[0.0, 0.0, 1.0], [1.0, 0.2, -0.3], [-0.5, -0.8, 0.3]])
MASSES = np.array([0.5, 0.3, 0.2])
TILT = np.array([0.5, 0.4, -0.3])


def rotation(seed):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))[0]


def test_particles_and_density_agree() -> None:
    circle = mfpde.Circle(512)
    equation = descent(5.0, mfpde.Perceptron.random(2, 2, seed=777))
    run = mfpde.solve(equation, mfpde.uniform(circle), t_end=40.0)
    particles = mfpde.solve_particles(
        equation, mfpde.quantized(mfpde.uniform(circle), 2000), t_end=40.0, rtol=1e-6
    )
    dense = mfpde.concentration(run.final, equation).clusters
    points = mfpde.concentration(particles.final, equation).clusters
    assert len(dense) == len(points) == 2
    for one, other in zip(dense, points, strict=True):
        assert one.mass == pytest.approx(other.mass, abs=2e-3)
        assert one.angle == pytest.approx(other.angle, abs=circle.spacing / 2)


def test_a_dead_stretch_is_at_rest_and_in_no_basin() -> None:
    circle = mfpde.Circle(512)
    equation = ascent(mfpde.Perceptron([[0.6, 0.8]], [1.0]))
    report = mfpde.concentration(mfpde.uniform(circle), equation)
    assert report.resting_mass == pytest.approx(0.5, abs=2 / 512)
    total = report.resting_mass + sum(region.mass for region in report.regions)
    assert total == pytest.approx(1.0, abs=1e-13)
    assert report.frozen_mass == pytest.approx(report.resting_mass, abs=2 / 512)
    assert "frozen" in report.summary


@pytest.mark.parametrize("total", [2.0, 0.5])
@pytest.mark.parametrize("grid", [mfpde.Circle(256), mfpde.Sphere(32)])
def test_masses_are_masses_whatever_the_total(grid, total) -> None:
    """A measure scaled by a number has its masses scaled by it, and the verdict of before."""
    equation = ascent(4.0)
    points = np.eye(grid.dimension)[:2] * [[1.0], [-1.0]]
    background = 0.1 / grid.areas.sum()

    def scaled(factor: float) -> mfpde.ConcentrationReport:
        density = mfpde.Density(grid, np.full(grid.shape, factor * background))
        atoms = mfpde.Atoms(points, factor * np.array([0.4, 0.5]))
        return mfpde.concentration(mfpde.Measure(density, atoms), equation)

    one, report = scaled(1.0), scaled(total)
    assert report.total_mass == pytest.approx(total)
    assert report.verdict == one.verdict == "atoms"
    for name in ("mass", "core_mass", "arrived_mass", "ball_masses"):
        np.testing.assert_allclose(
            [getattr(region, name) for region in report.regions],
            [total * getattr(region, name) for region in one.regions],
            rtol=1e-12,
        )
    np.testing.assert_allclose(
        report.largest_ball_masses, total * one.largest_ball_masses, rtol=1e-12
    )
    assert sum(region.mass for region in report.regions) == pytest.approx(total)
    assert f"parts of {total:g}" in str(report)
    assert "parts of" not in str(one)


def test_polished_regions_are_the_atoms_of_the_measure() -> None:
    """Atoms of total mass 2 turn and split at the same rates, however they are handed over."""
    atoms = mfpde.Atoms([[1.0, 0.0], [-1.0, 0.0]], [1.2, 0.8])
    equation = ascent(9.0)
    measure = atoms_alone(mfpde.Circle(256), atoms)
    own = mfpde.polish(equation, atoms)
    found = mfpde.polish(equation, mfpde.concentration(measure, equation).clusters)
    assert found.atoms.total_mass == pytest.approx(2.0)
    np.testing.assert_allclose(
        np.sort(found.split_rates.ravel()), np.sort(own.split_rates.ravel()), rtol=1e-9
    )


def test_a_track_adds_no_shares_to_masses() -> None:
    """An exact atom and one on the grid, in a measure of mass 2, are followed by their masses."""
    circle = mfpde.Circle(256)
    peak = mfpde.Density(circle, 0.8 * shapes.bump(circle, 4.0, circle.spacing / 2))
    measure = mfpde.Measure(peak, mfpde.Atoms([[1.0, 0.0]], [1.2]))
    (seen,) = run_of([measure], ascent(25.0)).tracked().track.seen
    np.testing.assert_allclose(np.sort(seen.masses), [0.8, 1.2], rtol=1e-6)


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize("bare", [True, False])
def test_exact_atoms_are_found_in_any_orientation(seed, bare) -> None:
    turn = np.eye(3) if seed is None else rotation(seed)
    points = CENTRES @ turn.T
    atoms = mfpde.Atoms(points, MASSES)
    measure = atoms if bare else atoms_alone(mfpde.Sphere(64), atoms)
    report = mfpde.concentration(measure, ascent(20.0))
    assert [a.kind for a in report.atoms] == ["atom"] * 3
    assert len(report.regions) == 3
    assert report.arrived_mass == pytest.approx(1.0, abs=1e-14)
    assert report.arriving_mass == 0
    np.testing.assert_allclose([a.mass for a in report.atoms], MASSES, atol=1e-14)
    np.testing.assert_allclose([a.core_mass for a in report.atoms], MASSES, atol=1e-14)
    for atom, point in zip(report.atoms, points, strict=True):
        np.testing.assert_allclose(atom.position, point, atol=1e-6)
        assert atom.radius <= 1e-12
        assert np.isnan(atom.spacing) == bare


@pytest.mark.parametrize("tilt", [0.0, 0.01, 0.03, 0.3, 1.5])
def test_a_lone_atom_contracts_at_its_mass(tilt: float) -> None:
    """All directions shrink at rate 1 per unit mass, at a pole too."""
    sphere = mfpde.Sphere(128)
    point = np.array([[np.sin(tilt) * 0.6, np.sin(tilt) * 0.8, np.cos(tilt)]])
    alone = atoms_alone(sphere, mfpde.Atoms(point))
    (atom,) = mfpde.concentration(alone, ascent(5.0)).atoms
    # Differences over half a cell to both sides see the kernel's next order.
    expected = -np.exp(-5.0 * (sphere.spacing / 2) ** 2 / 2)
    np.testing.assert_allclose(atom.eigenvalues, expected, rtol=1e-4)
    assert atom.contraction_rate == -atom.eigenvalues[-1]
    np.testing.assert_allclose(atom.position, point[0], atol=1e-12)
    assert atom.angle == pytest.approx(tilt, abs=1e-12)
    bare = mfpde.concentration(mfpde.Atoms(point), ascent(5.0)).atoms[0]
    np.testing.assert_allclose(bare.eigenvalues, -1.0, rtol=1e-5)


@pytest.mark.parametrize("radius", [0.05, 0.3, np.pi / 6, 2.0, 3.2])
def test_largest_ball_mass_is_that_of_all_balls_about_centres_and_atoms(
    radius: float, rng
) -> None:
    sphere = mfpde.Sphere(32)
    density = mfpde.Density(sphere, rng.random(sphere.shape) ** 8).normalized()
    atoms = mfpde.Atoms(unit(rng.standard_normal((5, 3))), 0.02 * rng.random(5))
    centres = np.concatenate([sphere.points.reshape(-1, 3), atoms.points])
    held = np.concatenate([density.masses.ravel(), atoms.masses])
    inside = centres @ centres.T >= np.cos(min(radius, np.pi)) - 1e-12
    measure = mfpde.Measure(density, atoms)
    assert largest_ball_mass(measure, radius) == pytest.approx((inside @ held).max())
    count = density.masses.size
    alone = (inside[:count, :count] @ held[:count]).max()
    measure = mfpde.Measure(density)
    assert largest_ball_mass(measure, radius) == pytest.approx(alone)


@pytest.mark.parametrize(
    ("beta", "radius"), [(0.0, np.pi / 6), (0.1, np.pi / 6), (25.0, 0.1)]
)
def test_the_radius_of_a_ball_is_that_of_a_core(beta: float, radius: float) -> None:
    equation = ascent(beta)
    assert ball_radius(equation) == pytest.approx(radius)
    for geometry in (mfpde.Circle(256), mfpde.Sphere(256), mfpde.Zonal(3, 64)):
        report = mfpde.concentration(mfpde.uniform(geometry), equation)
        assert report.core_radius == pytest.approx(radius)


@pytest.mark.parametrize("angle", [0.6, 1.2])
def test_a_curve_has_the_axis_the_polar_angle_and_the_length_of_its_circle(angle):
    # It stays: attention at beta = 0 moves nothing.
    sphere, axis = mfpde.Sphere(96), unit([1.0, 2.0, 0.5])
    ring = mfpde.Density(sphere, shapes.bump(sphere, axis, sphere.spacing, angle))
    report = mfpde.concentration(ring, ascent(0.0))
    (region,) = [r for r in report.regions if r.curve is not None]
    side = np.sign(region.curve.axis @ axis)
    np.testing.assert_allclose(side * region.curve.axis, axis, atol=5e-3)
    assert region.curve.polar_angle == pytest.approx(angle, abs=5e-3)
    assert region.curve.length == pytest.approx(2 * np.pi * np.sin(angle), rel=0.05)


def half_masses(turn, width):
    """Masses about +- turn_0 of (1 + tilt.x) exp(-(turn_2.x / width)^2 / 2)."""
    z, weights = np.polynomial.legendre.leggauss(400)
    weights = weights * np.exp(-((z / width) ** 2) / 2)
    mean = 2 / np.pi * (weights @ np.sqrt(1 - z**2)) / weights.sum()
    return {side: 0.5 + side * (TILT @ turn[0]) * mean / 2 for side in (1, -1)}


def tilted(sphere, turn, width):
    return mfpde.Density.from_function(
        sphere, lambda x: (1 + x @ TILT) * np.exp(-((x @ turn[2] / width) ** 2) / 2)
    )


# From nearly even to a ring two cells wide of the coarsest grid, along which s F is flat.
SHAPES = [([1.0, 0.6, 0.0], 50.0), ([1.0, 0.9, 0.0], 0.15)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("rates", "width"), SHAPES)
def test_masses_of_basins_are_those_of_their_halves(rates, width, seed) -> None:
    """V = sum_k rates_k (turn_k.x)^2 / 2: basins are the halves about +- turn_0.

    Edges are oblique to the grid: eight directions leave some thousandths beyond them.
    """
    turn = rotation(seed)
    exact = half_masses(turn, width)
    equation = ascent(mfpde.Perceptron(turn, rates, "linear"))
    particles = mfpde.Atoms(
        mfpde.quantized(tilted(mfpde.Sphere(32), turn, width), 3000).points
    )
    sides = np.sign(particles.points @ turn[0])
    inside = {side: particles.masses[sides == side].sum() for side in (1, -1)}
    for measure, masses in (
        (tilted(mfpde.Sphere(32), turn, width), exact),
        (tilted(mfpde.Sphere(128), turn, width), exact),
        (particles, inside),
    ):
        report = mfpde.concentration(measure, equation)
        assert len(report.regions) == 2
        for region in report.regions:
            side = int(np.sign(region.position @ turn[0]))
            assert region.mass == pytest.approx(masses[side], abs=1e-2)


@pytest.mark.parametrize("dimension", [2, 3])
def test_clusters_within_one_basin_are_told_apart(dimension, rng) -> None:
    """Two clusters at distance .4 feel one attractor between them for beta = 1."""
    plane = np.linalg.qr(np.random.default_rng(1).standard_normal((dimension, 2)))[0]
    centres = points_at([0.0, 0.4]) @ plane.T
    points = np.repeat(centres, [70, 30], axis=0)
    particles = mfpde.Atoms(unit(points + 1e-6 * rng.standard_normal(points.shape)))
    report = mfpde.concentration(particles, ascent(1.0))
    assert report.verdict == "atoms"
    masses = sorted(region.mass for region in report.of_kinds("atom"))
    np.testing.assert_allclose(masses, [0.3, 0.7], rtol=1e-12)
    for centre in centres:
        nearest = max(region.position @ centre for region in report.regions)
        assert nearest > 1 - 1e-10


def test_a_cluster_beside_a_kink_has_its_own_basin() -> None:
    r"""An attractor and the end of its basin, both 1e-4 from a kink, to either side.

    V = c cos(x - phi) + w relu(cos x)^2 / 2 has the drift -c sin(x - phi), less w sin x cos x
    below pi/2: with phi = pi/2 + e and w = 2 c, zeros at phi and near pi/2 - e.
    """
    e, c = 1e-4, 1.0
    target = points_at(np.pi / 2 + e)
    neuron = mfpde.Perceptron([[1.0, 0.0]], [2 * c])
    np.testing.assert_allclose(neuron.kink_angles(), [np.pi / 2, 3 * np.pi / 2])
    equation = ascent(pull(c * target), neuron)
    particles = atoms_at([np.pi / 2 + e, np.pi / 2 - 3 * e], [0.6, 0.4])
    report = mfpde.concentration(particles, equation)
    (held,) = [r for r in report.regions if abs(r.angle - np.pi / 2 - e) < 1e-12]
    assert held.kind == "atom"
    assert held.mass == pytest.approx(0.6)
    assert held.eigenvalues[0] == pytest.approx(-c, rel=1e-3)
    before = report.basins.edges[report.basins.edges < held.angle]
    assert before.max() == pytest.approx(np.pi / 2 - e, abs=1e-6)


def test_kinks_of_biased_neurons_lie_where_the_slope_jumps() -> None:
    rng = np.random.default_rng(3)
    neurons = mfpde.Perceptron(
        rng.standard_normal((6, 2)), rng.standard_normal(6), biases=rng.normal(size=6)
    )
    angles = neurons.kink_angles()
    assert len(angles) > 0
    step = 1e-5

    def drift(at):
        tangents = np.stack([-np.sin(at), np.cos(at)], axis=1)
        return np.einsum("ni,ni->n", neurons.drift(points_at(at)), tangents)

    bend = (drift(angles + step) - 2 * drift(angles) + drift(angles - step)) / step
    between = (angles + np.roll(angles, -1)) / 2 + np.pi * (
        np.roll(angles, -1) < angles
    )
    smooth = drift(between + step) - 2 * drift(between) + drift(between - step)
    assert np.abs(bend).min() > 100 * np.abs(smooth / step).max()
    assert len(mfpde.Perceptron([[1.0, 0.0]], [1.0], "gelu").kink_angles()) == 0
    assert len(mfpde.Perceptron([[1.0, 0.0]], [1.0], biases=[2.0]).kink_angles()) == 0


@settings(max_examples=25, deadline=None)
@given(count=st.integers(1, 5000), dimension=st.integers(2, 3), seed=st.integers(0))
def test_particles_of_a_density_are_no_clusters(count, dimension, seed) -> None:
    """All drift to one end, without attention: one basin."""
    density = mfpde.uniform(mfpde.Circle(64) if dimension == 2 else mfpde.Sphere(32))
    neuron = mfpde.Perceptron(np.eye(1, dimension), [1.0], "linear", biases=[5.0])
    drawn = mfpde.sampled(density, count, seed), mfpde.quantized(density, count)
    for particles in drawn:
        assert len(mfpde.concentration(particles, ascent(neuron)).regions) == 1


def test_what_is_far_from_all_atoms_is_on_its_way() -> None:
    """README's first example: two atoms to be, and tails that take long."""
    neurons = mfpde.Perceptron([[1.0, 0.0], [0.6, 0.8]], [0.8, -0.5])
    equation = descent(5.0, neurons)
    circle = mfpde.Circle(512)
    run = mfpde.solve(
        equation, mfpde.uniform(circle), t_end=20.0, track=mfpde.Concentration()
    )
    report = mfpde.concentration(run.final, equation)
    # What is further from an atom than this has not arrived; cores reach a little further.
    away = 0.2
    assert report.core_radius >= away
    assert {atom.kind for atom in report.atoms} == {"atom"}
    places = np.array([atom.position for atom in report.atoms])
    is_far = (circle.points @ places.T < np.cos(away)).all(axis=1)
    far = run.final.density.masses[is_far].sum()
    assert far > 0.3
    assert report.arriving_mass == pytest.approx(far, abs=0.02)
    assert report.arrived_mass + report.arriving_mass == pytest.approx(1.0, abs=1e-12)
    assert f"mass {report.arrived_mass:.6f} in atoms" in report.summary
    assert f"{report.arriving_mass:.6f} on its way" in report.summary
    assert report.summary in str(run)
