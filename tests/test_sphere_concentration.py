"""Basins and cores on S^2 and on zonal grids; masses in balls."""

from __future__ import annotations

import numpy as np
import pytest

import mfpde
from mfpde.detection import ball_radius, largest_ball_mass


def unit(vectors):
    array = np.asarray(vectors, dtype=float)
    return array / np.linalg.norm(array, axis=-1, keepdims=True)


def attention(beta, direction="ascent"):
    return mfpde.MeanFieldEquation(mfpde.Attention(beta), direction=direction)


def atoms_on(geometry, points, masses):
    empty = mfpde.Density(geometry, np.zeros(geometry.shape))
    return mfpde.Measure(empty, mfpde.Atoms(points, masses))


def distance(points, centre):
    """Great-circle distance, accurate for small ones too."""
    return 2 * np.arcsin(np.minimum(np.linalg.norm(points - centre, axis=-1) / 2, 1))


def bumps(geometry, centres, masses, *, width):
    return mfpde.Density.from_function(
        geometry,
        lambda x: sum(
            m * np.exp(-((distance(x, c) / width) ** 2) / 2)
            for c, m in zip(centres, masses, strict=True)
        ),
    )


def ring(sphere, axis, angle, *, cells):
    width = cells * sphere.spacing
    return mfpde.Density.from_function(
        sphere, lambda x: np.exp(-(((distance(x, axis) - angle) / width) ** 2) / 2)
    )


CENTRES = unit([[0.0, 0.0, 1.0], [1.0, 0.2, -0.3], [-0.5, -0.8, 0.3]])
MASSES = np.array([0.5, 0.3, 0.2])
AXES = unit([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [1.0, 2.0, 0.5]])


def rotation(seed):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))[0]


@pytest.mark.parametrize("seed", [None, 1, 2])
@pytest.mark.parametrize("bare", [True, False])
def test_exact_atoms_are_found_in_any_orientation(seed, bare) -> None:
    turn = np.eye(3) if seed is None else rotation(seed)
    points = CENTRES @ turn.T
    measure = (
        mfpde.Atoms(points, MASSES)
        if bare
        else atoms_on(mfpde.Sphere(64), points, MASSES)
    )
    report = mfpde.concentration(measure, attention(20.0))
    assert [a.kind for a in report.atoms] == ["atom"] * 3
    assert len(report.regions) == 3
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
    report = mfpde.concentration(atoms_on(sphere, point, [1.0]), attention(5.0))
    (atom,) = report.atoms
    # Differences over half a cell to both sides see the kernel's next order.
    expected = -np.exp(-5.0 * (sphere.spacing / 2) ** 2 / 2)
    np.testing.assert_allclose(atom.eigenvalues, expected, rtol=1e-4)
    assert atom.contraction_rate == -atom.eigenvalues[-1]
    np.testing.assert_allclose(atom.position, point[0], atol=1e-12)
    assert atom.angle == pytest.approx(tilt, abs=1e-12)
    bare = mfpde.concentration(mfpde.Atoms(point), attention(5.0)).atoms[0]
    np.testing.assert_allclose(bare.eigenvalues, -1.0, rtol=1e-5)


def test_particles_and_density_agree() -> None:
    sphere = mfpde.Sphere(64)
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(7.0),
        mfpde.Perceptron.random(3, 3, seed=111),
        direction="descent",
    )
    run = mfpde.solve(equation, mfpde.uniform(sphere), t_end=25.0)
    # Points of a Fibonacci lattice, evenly spread.
    number = np.arange(600) + 0.5
    heights, turns = 1 - number / 300, number * np.pi * (1 + np.sqrt(5))
    across = np.sqrt(1 - heights**2)
    points = np.stack([across * np.cos(turns), across * np.sin(turns), heights], -1)
    particles = mfpde.solve_particles(
        equation, mfpde.Atoms(unit(points)), t_end=25.0, rtol=1e-4
    )
    dense = mfpde.concentration(run.final, equation).atoms
    exact = mfpde.concentration(particles.final, equation).atoms
    assert len(dense) == len(exact) > 0
    for one, other in zip(dense, exact, strict=True):
        assert one.mass == pytest.approx(other.mass, abs=5e-3)
        assert distance(one.position, other.position) < sphere.spacing / 2
        assert one.contraction_rate == pytest.approx(other.contraction_rate, rel=0.05)


def test_a_drift_without_potential_has_attractors_too() -> None:
    """Nearly constant vector weights: everything flows to their direction."""
    sphere = mfpde.Sphere(64)
    weights = np.array([[0.0, 0.5, 2.0]])
    neuron = mfpde.Perceptron(AXES[:1], weights, activation="tanh", biases=[3.0])
    equation = mfpde.MeanFieldEquation(neuron, direction="ascent")
    assert not equation.has_energy
    run = mfpde.solve(equation, mfpde.uniform(sphere), t_end=8.0)
    (atom,) = mfpde.concentration(run.final, equation).atoms
    assert distance(atom.position, unit(weights[0])) < sphere.spacing
    assert atom.mass == pytest.approx(1.0, abs=1e-3)
    assert (atom.eigenvalues < 0).all()


@pytest.mark.parametrize(("beta", "width"), [(5.0, 0.06), (20.0, 0.035)])
def test_zonal_and_full_sphere_agree(beta: float, width: float) -> None:
    shape = {
        "centres": AXES[:1] * [[1.0], [-1.0]],
        "masses": [1.0, 2.0],
        "width": width,
    }
    equation = attention(beta)
    full, band = (
        mfpde.concentration(bumps(geometry, **shape), equation)
        for geometry in (mfpde.Sphere(128), mfpde.Zonal(3, 256))
    )
    assert len(full.clusters) == len(band.clusters) == 2
    for one, other in zip(full.clusters, band.clusters, strict=True):
        assert one.mass == pytest.approx(other.mass, abs=1e-4)
        assert one.radius == pytest.approx(other.radius, rel=0.02)
        assert one.kind == other.kind == "forming"
        np.testing.assert_allclose(one.position, other.position, atol=1e-9)
        np.testing.assert_allclose(one.eigenvalues, other.eigenvalues, rtol=0.02)
        np.testing.assert_allclose(
            one.principal_radii, other.principal_radii, rtol=0.02
        )


@pytest.mark.parametrize("radius", [0.05, 0.3, np.pi / 6, 2.0, 3.2])
def test_largest_ball_mass_is_that_of_all_balls_about_centres_and_atoms(
    radius: float, rng
) -> None:
    sphere = mfpde.Sphere(32)
    density = mfpde.Density(sphere, rng.random(sphere.shape) ** 8).normalized()
    atoms = mfpde.Atoms(unit(rng.standard_normal((5, 3))), 0.02 * rng.random(5))
    centres = np.concatenate([sphere.points.reshape(-1, 3), atoms.points])
    held = np.concatenate([density.masses.ravel(), atoms.masses])
    inside = distance(centres[:, np.newaxis], centres) <= radius + 1e-9
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
    equation = attention(beta)
    assert ball_radius(equation) == pytest.approx(radius)
    for geometry in (mfpde.Circle(256), mfpde.Sphere(256), mfpde.Zonal(3, 64)):
        report = mfpde.concentration(mfpde.uniform(geometry), equation)
        assert report.core_radius == pytest.approx(radius)


@pytest.mark.parametrize("angle", [0.6, 1.2])
def test_a_curve_has_the_axis_the_polar_angle_and_the_length_of_its_circle(angle):
    # It stays: attention at beta = 0 moves nothing.
    report = mfpde.concentration(
        ring(mfpde.Sphere(96), AXES[2], angle, cells=1.0), attention(0.0)
    )
    (region,) = [r for r in report.regions if r.curve is not None]
    side = np.sign(region.curve.axis @ AXES[2])
    np.testing.assert_allclose(side * region.curve.axis, AXES[2], atol=5e-3)
    assert region.curve.polar_angle == pytest.approx(angle, abs=5e-3)
    assert region.curve.length == pytest.approx(2 * np.pi * np.sin(angle), rel=0.05)


@pytest.mark.parametrize("dimension", [2, 3])
def test_particles_spread_evenly_are_no_atoms_and_clusters_of_them_are(dimension):
    rng = np.random.default_rng(3)
    gas = mfpde.Atoms(unit(rng.normal(size=(400, dimension))))
    centres = unit(np.eye(dimension)[:2])
    cluster = centres[rng.integers(2, size=400)]
    tight = mfpde.Atoms(unit(cluster + 1e-9 * rng.normal(size=cluster.shape)))
    equation = attention(4.0)
    assert mfpde.concentration(gas, equation).verdict != "atoms"
    report = mfpde.concentration(tight, equation)
    assert report.verdict == "atoms"
    assert len(report.atoms) == 2
