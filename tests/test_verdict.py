"""The verdict: atom, forming, curve, jump, frozen, resolved or unresolved, and why."""

from __future__ import annotations

import numpy as np
import pytest
from equations import ascent

import mfpde
from validation import verdict_shapes as shapes
from validation.circle_cases import density_of, poisson
from validation.verdict_cases import CORPORA, mistakes
from validation.verdict_shapes import attention


@pytest.mark.parametrize("num_cells", [256, 512, 1024])
def test_kuramoto_ball_masses_are_those_of_the_closed_form(num_cells: int) -> None:
    circle = mfpde.Circle(num_cells)
    for width in (20.0, 5.0, 3.0, 2.0, 1.5):
        r = np.exp(-width * circle.spacing)
        density = density_of(circle, poisson(circle.angles, r, 1.0))
        report = mfpde.concentration(density, attention(0.0))
        np.testing.assert_allclose(report.radii[:2], circle.spacing * np.array([1, 2]))
        growth = (1 + r) / (1 - r) * np.tan(report.radii / 2)
        np.testing.assert_allclose(
            report.largest_ball_masses[1:], 2 / np.pi * np.arctan(growth)[1:], rtol=0.01
        )


def test_a_forming_atom_reports_the_growth_of_its_density() -> None:
    """Kuramoto: d/dt log max rho = r, the order parameter."""
    circle = mfpde.Circle(512)
    equation = attention(0.0)
    start = density_of(circle, poisson(circle.angles, 0.5, 1.0))
    run = mfpde.solve(equation, start, t_end=1.2, save_at=[0.9, 1.0, 1.1])
    peaks = [np.log(state.density.values.max()) for state in run.states]
    report = mfpde.concentration(run.states[1], equation)
    assert report.verdict == "forming"
    (atom,) = report.clusters
    assert atom.growth_rate == pytest.approx((peaks[2] - peaks[0]) / 0.2, rel=0.01)
    mean = run.states[1].density.masses @ circle.points
    assert atom.growth_rate == pytest.approx(np.linalg.norm(mean), rel=1e-3)


def test_on_the_sphere_a_forming_density_grows_by_both_eigenvalues() -> None:
    """Kuramoto on S^2 contracts at |mean| in both directions."""
    sphere = mfpde.Sphere(64)
    axis = shapes.unit([1.0, -2.0, 0.5])
    density = mfpde.Density(
        sphere, 1 / (np.cosh(1.5) - np.sinh(1.5) * (sphere.points @ axis)) ** 2
    ).normalized()
    report = mfpde.concentration(density, attention(0.0))
    mean = np.tensordot(density.masses, sphere.points, axes=2)
    (atom,) = report.clusters
    assert atom.kind == "forming"
    assert atom.growth_rate == pytest.approx(2 * np.linalg.norm(mean), rel=1e-3)
    # The cap of radius r about the axis was one of tan(R/2) = e^c tan(r/2).
    grown = (np.exp(1.5) * np.tan(report.radii / 2)) ** 2
    expected = grown / (1 + grown)
    np.testing.assert_allclose(report.largest_ball_masses[2:], expected[2:], rtol=0.05)


@pytest.mark.parametrize("size", [96, 256])
def test_one_relu_neuron_is_half_an_atom_half_frozen_with_a_jump(size: int) -> None:
    geometry, axis = {
        96: (mfpde.Sphere(96), shapes.unit([0.3, -0.5, 0.8])),
        256: (mfpde.Circle(256), shapes.on_circle(1.0)),
    }[size]
    equation = shapes.neuron(axis, 1.0)
    run = mfpde.solve(equation, mfpde.uniform(geometry), t_end=7.0)
    report = mfpde.concentration(run.final, equation)
    assert report.verdict == "atoms"
    (atom,) = report.atoms
    assert atom.kind == "atom"
    assert atom.mass == pytest.approx(0.5, abs=0.02)
    assert report.frozen_mass == pytest.approx(0.5, abs=0.02)
    assert atom.pinning_force == pytest.approx(atom.core_mass * geometry.spacing / 2)
    if size == 96:
        assert report.jump_length == pytest.approx(2 * np.pi, rel=0.1)
    else:
        assert len(report.jumps) == 2
        np.testing.assert_allclose(report.jumps @ axis[0], 0, atol=2 * geometry.spacing)


def test_a_jump_alone_is_no_atom() -> None:
    """Half a circle with five times the density of the rest, which alone moves, or all of it."""
    circle = mfpde.Circle(300)
    half = np.where(np.abs(shapes.offset(circle, 2.0)) < np.pi / 2, 1.0, 0.2)
    density = density_of(circle, half)
    for equation, frozen in (
        (attention(4.0, "descent"), 0.0),
        (shapes.neuron(-shapes.on_circle(2.0), 1.0), 1.0 / 1.2),
    ):
        report = mfpde.concentration(density, equation)
        assert report.of_kinds("atom") == ()
        assert len(report.jumps) == 2
        assert report.verdict == "jump"
        assert report.frozen_mass == pytest.approx(frozen, abs=1e-12)


def test_exact_atoms_are_atoms_whatever_the_flow() -> None:
    """In descent an atom spreads as a density would; an exact one is one all the same."""
    widths = np.array([0.02, 0.05])
    for geometry in (mfpde.Circle(256), mfpde.Sphere(48)):
        points = np.eye(geometry.dimension)[:2]
        tangential = np.eye(geometry.dimension) - points[:, :, None] * points[:, None]
        atoms = mfpde.Atoms(points, [0.3, 0.2], widths[:, None, None] ** 2 * tangential)
        density = mfpde.Density(geometry, 0.5 * mfpde.uniform(geometry).values)
        report = mfpde.concentration(
            mfpde.Measure(density, atoms), attention(5.0, "descent")
        )
        assert report.verdict == "atoms"
        found = report.of_kinds("atom")
        assert len(found) == 2
        assert all(atom.is_exact and atom.pinning_force is None for atom in found)
        for atom in found:
            nearest = int(np.argmax(points @ atom.position))
            np.testing.assert_allclose(atom.position, points[nearest], atol=1e-12)
            np.testing.assert_allclose(
                atom.principal_radii, widths[nearest], rtol=1e-10
            )
            assert atom.core_mass >= atoms.masses[nearest]


def test_an_exact_atom_at_rest_is_an_atom() -> None:
    """In the dead zone of a neuron nothing moves."""
    for geometry in (mfpde.Circle(128), mfpde.Sphere(32), mfpde.Zonal(3, 64)):
        axis = np.eye(geometry.dimension)[-1]
        half = mfpde.Density(geometry, 0.5 * mfpde.uniform(geometry).values)
        measure = mfpde.Measure(half, mfpde.Atoms(-axis[None], [0.5]))
        report = mfpde.concentration(measure, shapes.neuron(axis, 1.0))
        (atom,) = report.of_kinds("atom")
        np.testing.assert_allclose(atom.position, -axis, atol=1e-12)
        assert atom.is_exact


@pytest.mark.parametrize(
    ("beta", "time"),
    [(5.0, 60.0), (10.0, 60.0), pytest.param(25.0, 150.0, marks=pytest.mark.slow)],
)
def test_counts_from_basins_do_not_depend_on_the_grid(beta: float, time: float) -> None:
    equation = attention(beta)
    for seed in range(3):
        masses = []
        for num_cells in (256, 512, 1024):
            start = mfpde.perturbed_uniform(mfpde.Circle(num_cells), 0.3, seed=seed)
            run = mfpde.solve(equation, start, t_end=time, save_at=[time])
            atoms = mfpde.concentration(run.final, equation).clusters
            masses.append([atom.mass for atom in atoms])
        np.testing.assert_allclose(masses[1:], [masses[0]] * 2, atol=2e-4)
        assert sum(masses[0]) == pytest.approx(1.0, abs=1e-9)


# Of each case an oracle has the words and the masses.
@pytest.mark.slow
@pytest.mark.parametrize("corpus", CORPORA)
def test_the_cases_written_down_first_are_right(corpus: str) -> None:
    assert mistakes(corpus, quick=True) == []


@pytest.mark.parametrize(
    "geometry", [mfpde.Circle(1024), mfpde.Sphere(160)], ids=["circle", "sphere"]
)
def test_the_position_is_the_mean_of_atom_and_tail_on_every_kind_of_measure(
    geometry,
) -> None:
    """What is still on its way belongs to the cluster, as it does for particles."""
    first, second = np.eye(geometry.dimension)[:2]
    width, away = 0.012, 0.04
    middle = np.cos(away) * first + np.sin(away) * second
    squares = ((geometry.points - middle) ** 2).sum(axis=-1)
    bump = mfpde.Density(geometry, np.exp(-squares / (2 * width**2))).normalized()
    tail = mfpde.Density(geometry, 0.1 * bump.values)
    equation = attention(25.0)

    def found(measure):
        (region,) = mfpde.concentration(measure, equation).clusters
        return region

    points, masses = tail.geometry.points.reshape(-1, geometry.dimension), tail.masses
    atom = mfpde.Atoms(first[None], [0.9])
    exact = found(mfpde.Measure(tail, atom))
    particles = found(
        mfpde.Atoms(
            np.concatenate([first[None], points[masses.ravel() > 1e-9]]),
            np.concatenate([[0.9], masses.ravel()[masses.ravel() > 1e-9]]),
        )
    )
    mean = 0.9 * first + 0.1 * middle
    mean /= np.linalg.norm(mean)
    assert np.linalg.norm(exact.position - mean) < 1e-5
    assert np.linalg.norm(particles.position - mean) < 1e-5
    assert exact.is_exact
    assert exact.radius == 0.0
    # A light atom beside a denser bump is where it is.
    light = mfpde.Measure(
        mfpde.Density(geometry, 0.95 * bump.values), mfpde.Atoms(first[None], [0.05])
    )
    np.testing.assert_allclose(found(light).position, first, atol=1e-14)


def test_a_light_cluster_on_its_way_is_told_from_the_core() -> None:
    """A tenth of the mass slides along a ridge of s F to the rest."""
    sphere = mfpde.Sphere(64)
    top, beside = np.eye(3)[:2]
    place = (top + 1.2 * beside) / np.hypot(1.0, 1.2)
    width = 0.5 * sphere.spacing
    values = 0.1 * shapes.bump(sphere, place, width) + 0.9 * shapes.bump(
        sphere, top, width
    )
    equation = ascent(
        mfpde.Attention(25.0),
        mfpde.Perceptron(np.stack([top, beside]), [1.0, 0.9], "linear"),
    )
    report = mfpde.concentration(mfpde.Density(sphere, values).normalized(), equation)
    (region,) = report.clusters
    assert region.kind == "forming"
    assert region.core_mass == pytest.approx(0.9, abs=1e-3)
    assert region.second_peak == pytest.approx(0.1, abs=1e-3)
    assert "0.1000" in report.summary
