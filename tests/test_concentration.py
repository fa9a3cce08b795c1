"""Basins and their cores: what is called an atom, and what must not be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mfpde
from validation.circle_cases import density_of, wrapped


def bumps(circle: mfpde.Circle, centres: list[float], width: float) -> mfpde.Density:
    values = sum(
        np.exp(-(wrapped(circle.angles - c) ** 2) / (2 * width**2)) for c in centres
    )
    return density_of(circle, values)


def test_exact_atoms_are_found_with_position_mass_and_rate() -> None:
    circle = mfpde.Circle(512)
    angles, masses = np.array([0.4, 2.5, 4.4]), np.array([0.5, 0.3, 0.2])
    points = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    measure = mfpde.Measure(
        mfpde.Density(circle, np.zeros(512)), mfpde.Atoms(points, masses)
    )
    beta = 25.0
    equation = mfpde.MeanFieldEquation(mfpde.Attention(beta), direction="ascent")
    report = mfpde.concentration(measure, equation)
    assert [a.kind for a in report.atoms] == ["atom"] * 3
    np.testing.assert_allclose([a.mass for a in report.atoms], masses, atol=1e-14)
    np.testing.assert_allclose([a.angle for a in report.atoms], angles, atol=1e-12)
    # One cluster contracts at its mass exactly; others are far away.
    np.testing.assert_allclose(
        [a.contraction_rate for a in report.atoms], masses, rtol=2e-3
    )
    for atom in report.atoms:
        np.testing.assert_allclose(
            atom.position, [np.cos(atom.angle), np.sin(atom.angle)], atol=1e-12
        )


def test_five_cluster_start_has_five_forming_regions() -> None:
    circle = mfpde.Circle(512)
    x = circle.angles
    start = density_of(circle, 1 + 0.3 * np.cos(5 * x + 0.3) + 0.1 * np.sin(2 * x))
    equation = mfpde.MeanFieldEquation(mfpde.Attention(25.0), direction="ascent")
    run = mfpde.solve(equation, start, t_end=100.0)
    reports = [
        mfpde.concentration(state, equation) for state in (run.states[5], run.final)
    ]
    assert [len(report.regions) for report in reports] == [5, 5]
    assert [a.kind for a in reports[1].atoms] == ["atom"] * 5
    assert sum(a.mass for a in reports[1].atoms) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_descent_of_attention_alone_makes_no_atom(seed: int) -> None:
    circle = mfpde.Circle(256)
    equation = mfpde.MeanFieldEquation(mfpde.Attention(5.0), direction="descent")
    start = mfpde.perturbed_uniform(circle, 0.8, seed=seed)
    run = mfpde.solve(equation, start, t_end=30.0)
    for state in run.states[::10]:
        assert mfpde.concentration(state, equation).atoms == ()


def test_one_relu_neuron_makes_half_an_atom() -> None:
    """Ascent: half the mass collapses, the dead half stays uniform."""
    circle = mfpde.Circle(512)
    neuron = mfpde.Perceptron([[np.cos(1.0), np.sin(1.0)]], [1.0])
    equation = mfpde.MeanFieldEquation(neuron, direction="ascent")
    run = mfpde.solve(equation, mfpde.uniform(circle), t_end=14.0)
    report = mfpde.concentration(run.final, equation)
    assert len(report.atoms) == 1
    atom = report.atoms[0]
    assert atom.core_mass == pytest.approx(0.5, abs=2 * circle.spacing)
    assert atom.angle == pytest.approx(1.0, abs=circle.spacing)
    assert atom.contraction_rate == pytest.approx(1.0, rel=0.01)
    assert atom.widths_in_cells[0] < 1.2


def test_uniform_state_is_at_rest() -> None:
    equation = mfpde.MeanFieldEquation(mfpde.Attention(5.0), direction="ascent")
    report = mfpde.concentration(mfpde.uniform(mfpde.Circle(128)), equation)
    assert report.regions == ()
    assert report.verdict == "frozen"
    assert report.frozen_mass == pytest.approx(1.0)
    assert "at rest" in report.summary


def test_atoms_turn_with_the_measure() -> None:
    circle = mfpde.Circle(400)
    equation = mfpde.MeanFieldEquation(mfpde.Attention(20.0), direction="ascent")
    reports = [
        mfpde.concentration(bumps(circle, [c, c + 2.0], 0.03), equation)
        for c in (0.0, 100 * circle.spacing)
    ]
    turned = [
        sorted(
            np.mod(np.array([a.angle for a in report.clusters]) - turn + 1, 2 * np.pi)
        )
        for report, turn in zip(reports, (0.0, 100 * circle.spacing), strict=True)
    ]
    np.testing.assert_allclose(turned[0], turned[1], atol=1e-9)
    np.testing.assert_allclose(turned[0], [1.0, 3.0], atol=1e-6)


def test_particles_and_density_agree() -> None:
    circle = mfpde.Circle(512)
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(5.0),
        mfpde.Perceptron.random(2, 2, seed=777),
        direction="descent",
    )
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


def test_a_report_prints_a_table() -> None:
    circle = mfpde.Circle(256)
    equation = mfpde.MeanFieldEquation(mfpde.Attention(20.0), direction="ascent")
    text = str(mfpde.concentration(bumps(circle, [1.0], 0.01), equation))
    assert "mass" in text
    assert "shrinks" in text
    assert "1 atom," in text


def test_a_dead_stretch_is_at_rest_and_in_no_basin() -> None:
    circle = mfpde.Circle(512)
    equation = mfpde.MeanFieldEquation(
        mfpde.Perceptron([[0.6, 0.8]], [1.0]), direction="ascent"
    )
    report = mfpde.concentration(mfpde.uniform(circle), equation)
    assert report.resting_mass == pytest.approx(0.5, abs=2 / 512)
    total = report.resting_mass + sum(region.mass for region in report.regions)
    assert total == pytest.approx(1.0, abs=1e-13)
    assert report.frozen_mass == pytest.approx(report.resting_mass, abs=2 / 512)
    assert "frozen" in report.summary


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        (mfpde.Atoms(np.eye(4)), "use d = 2 or 3, or a Measure on a Zonal grid"),
        (mfpde.Atoms.none(3), "total mass 0"),
        (np.ones(8), "must be a Density, Atoms or a Measure"),
    ],
)
def test_what_cannot_be_searched_is_named(measure, message) -> None:
    equation = mfpde.MeanFieldEquation(mfpde.Attention(2.0), direction="ascent")
    with pytest.raises(ValueError, match=message):
        mfpde.concentration(measure, equation)


@pytest.mark.parametrize("total", [2.0, 0.5])
@pytest.mark.parametrize("grid", [mfpde.Circle(256), mfpde.Sphere(32)])
def test_masses_are_masses_whatever_the_total(
    grid: mfpde.Circle | mfpde.Sphere, total: float
) -> None:
    """A measure scaled by a number has its masses scaled by it, and the verdict of before."""
    equation = mfpde.MeanFieldEquation(mfpde.Attention(4.0), direction="ascent")
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
    circle = mfpde.Circle(256)
    atoms = mfpde.Atoms([[1.0, 0.0], [-1.0, 0.0]], [1.2, 0.8])
    equation = mfpde.MeanFieldEquation(mfpde.Attention(9.0), direction="ascent")
    measure = mfpde.Measure(mfpde.Density(circle, np.zeros(256)), atoms)
    own = mfpde.polish(equation, atoms)
    found = mfpde.polish(equation, mfpde.concentration(measure, equation).clusters)
    assert found.atoms.total_mass == pytest.approx(2.0)
    np.testing.assert_allclose(
        np.sort(found.split_rates.ravel()), np.sort(own.split_rates.ravel()), rtol=1e-9
    )


def test_a_track_adds_no_shares_to_masses() -> None:
    """An exact atom and one on the grid, in a measure of mass 2, are followed by their masses."""
    circle = mfpde.Circle(256)
    equation = mfpde.MeanFieldEquation(mfpde.Attention(25.0), direction="ascent")
    peak = bumps(circle, [4.0], circle.spacing / 2)
    measure = mfpde.Measure(
        mfpde.Density(circle, 0.8 * peak.values), mfpde.Atoms([[1.0, 0.0]], [1.2])
    )
    run = mfpde.solve_particles(equation, mfpde.Atoms([[1.0, 0.0]]), t_end=0.1)
    saved = replace(run, times=np.array([0.0]), states=(measure,), events=())
    (seen,) = saved.tracked().track.seen
    np.testing.assert_allclose(np.sort(seen.masses), [0.8, 1.2], rtol=1e-6)
