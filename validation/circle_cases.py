"""Exact solutions and starts on the circle, and errors, that scripts and tests share."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

import mfpde

Array = NDArray[np.float64]


def wrapped(angles: Array) -> Array:
    """Angles in [-pi, pi)."""
    return np.mod(angles + np.pi, 2 * np.pi) - np.pi


def poisson(angles: Array, r: float, phase: float = 0.0) -> Array:
    """Poisson kernel, the Ott-Antonsen family."""
    return (1 - r**2) / (2 * np.pi * (1 - 2 * r * np.cos(angles - phase) + r**2))


def density_of(circle: mfpde.Circle, values: Array) -> mfpde.Density:
    return mfpde.Density(circle, values).normalized()


def l1_distance(
    density: mfpde.Density, exact: Array | Callable[[Array], Array]
) -> float:
    """Integral of |density - exact|, ``exact`` values or a function of points."""
    values = exact(density.geometry.points) if callable(exact) else exact
    return float((np.abs(density.values - values) * density.geometry.areas).sum())


def orders(errors: Sequence[float]) -> Array:
    """Observed orders between grids, each twice as fine as the one before."""
    return -np.diff(np.log2(errors))


def cosine_potential(amplitude: float, phase: float = 0.0) -> mfpde.Potential:
    """V = amplitude cos(theta - phase)."""
    axis = amplitude * np.array([np.cos(phase), np.sin(phase)])
    return mfpde.Potential(
        lambda x: x @ axis, lambda x: np.broadcast_to(axis, x.shape), dimension=2
    )


def points_at(angles: Array) -> Array:
    """Points (..., 2) at ``angles`` (...)."""
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def angles_of(points: Array) -> Array:
    """Angles (...) of points (..., 2)."""
    return np.asarray(np.arctan2(points[..., 1], points[..., 0]))


def kernel_on_circle(beta: float, angles: Array | float) -> Array:
    """K(t) = e^{beta (cos t - 1)}."""
    return np.exp(-2 * beta * np.sin(np.asarray(angles) / 2) ** 2)


def curvature(beta: float, angles: Array | float) -> Array:
    """K''(t)/beta = K(t) (beta sin^2 t - cos t)."""
    t = np.asarray(angles)
    return kernel_on_circle(beta, t) * (beta * np.sin(t) ** 2 - np.cos(t))


def atomic_hessian(
    beta: float, atoms: tuple[Array, Array], perceptron: mfpde.Perceptron
) -> Array:
    """Hess E in L2(mu) at atoms (angles, masses), shifted kernel; V'' by differences.

    H_ij = -m_i m_j K''(t_i - t_j)/beta, H_ii = m_i (sum_{j != i} m_j K''/beta + V''), in
    the basis of e_i / sqrt(m_i) (paper, eq. 5.16).
    """
    angles, masses = atoms
    matrix = np.outer(masses, masses) * curvature(
        beta, angles[:, np.newaxis] - angles[np.newaxis, :]
    )
    np.fill_diagonal(matrix, 0.0)
    full = np.diag(matrix.sum(axis=1)) - matrix

    def slope(shift: float) -> Array:
        t = angles + shift
        tangents = np.stack([-np.sin(t), np.cos(t)], axis=-1)
        return (perceptron.drift(points_at(t)) * tangents).sum(axis=1)

    full += np.diag(masses * (slope(1e-5) - slope(-1e-5)) / 2e-5)
    roots = np.sqrt(masses)
    return full / np.outer(roots, roots)
