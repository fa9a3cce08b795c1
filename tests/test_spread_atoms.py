"""Atoms with a width where measures are compared and sampled."""

from __future__ import annotations

import numpy as np
import pytest

import mfpde
from mfpde.measures.normal_points import spread_atoms, standard_points


def wide_atom(dimension, widths, *, mass=1.0, seed=0):
    """One atom at a random place, with random principal axes."""
    rng = np.random.default_rng(seed)
    frame = np.linalg.qr(rng.standard_normal((dimension, dimension)))[0]
    covariance = sum(
        width**2 * np.outer(axis, axis)
        for width, axis in zip(widths, frame[1:], strict=True)
    )
    return mfpde.Atoms(frame[:1], [mass], np.array([covariance])), frame


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_standard_points_have_no_mean_and_covariance_one(dimension: int) -> None:
    points = standard_points(dimension)
    np.testing.assert_allclose(points.mean(axis=0), 0.0, atol=1e-14)
    covariance = points.T @ points / len(points)
    np.testing.assert_allclose(covariance, np.eye(dimension), atol=1e-13)


@pytest.mark.parametrize("widths", [(0.02,), (0.02, 0.005)])
def test_an_atom_is_close_to_the_normal_density_that_it_stands_for(widths) -> None:
    """W1 to a Gaussian on a fine grid: a point would be .8 (1.2 on S^2) widths away."""
    dimension = 1 + len(widths)
    atom, frame = wide_atom(dimension, widths)
    rng = np.random.default_rng(1)
    steps = rng.standard_normal((2000, len(widths))) * widths
    ends = mfpde.Atoms(
        np.cos(np.linalg.norm(steps, axis=1))[:, None] * frame[0]
        + np.sinc(np.linalg.norm(steps, axis=1) / np.pi)[:, None] * (steps @ frame[1:])
    )
    noise = 2 * np.linalg.norm(widths) / np.sqrt(2000)
    closeness = 0.05 if dimension == 2 else 0.25
    distance = mfpde.wasserstein(atom, ends)
    assert distance <= closeness * max(widths) + noise
    point = mfpde.Atoms(atom.points, atom.masses)
    assert mfpde.wasserstein(point, ends) > 3 * distance


def test_narrow_atoms_and_densities_stay_as_they_are() -> None:
    density = mfpde.uniform(mfpde.Circle(32))
    assert spread_atoms(density) is density
    points = mfpde.Atoms(np.eye(2))
    assert spread_atoms(points) is points
    narrow, _ = wide_atom(3, (1e-12, 0.0))
    spread = spread_atoms(narrow)
    assert isinstance(spread, mfpde.Atoms)
    np.testing.assert_allclose(spread.points, narrow.points, atol=1e-15)


@pytest.mark.parametrize("dimension", [2, 3])
def test_samples_and_quanta_have_the_covariance(dimension: int) -> None:
    widths = (0.03, 0.01)[: dimension - 1]
    atom, frame = wide_atom(dimension, widths)
    for drawn, accuracy in (
        (mfpde.quantized(atom, 640), 1e-2),
        (mfpde.sampled(atom, 4000, seed=2), 0.1),
    ):
        steps = drawn.points @ frame[1:].T
        covariance = steps.T @ steps / len(steps)
        assert covariance == pytest.approx(
            np.diag(np.square(widths)), rel=accuracy, abs=accuracy * widths[-1] ** 2
        )


def test_a_run_with_exact_atoms_is_as_close_to_particles_as_the_grid() -> None:
    """GeLU: clusters that have left the grid two cells wide."""
    neuron = mfpde.Perceptron([[np.cos(0.7), np.sin(0.7)]], [0.5], "gelu")
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(5.0), neuron, direction="descent"
    )
    start = mfpde.uniform(mfpde.Circle(512))
    particles = mfpde.solve_particles(
        equation, mfpde.quantized(start, 2000), t_end=50.0, time_step=0.1
    ).final
    distances = {}
    for atoms in ("grid", "exact"):
        run = mfpde.solve(equation, start, t_end=50.0, save_at=[50.0], atoms=atoms)
        distances[atoms] = mfpde.wasserstein(run.final, particles)
        assert (len(run.final.atoms) > 0) == (atoms == "exact")
    assert distances["exact"] <= 2 * distances["grid"] + np.pi / 2 / 2000
