"""Ordered states of noisy ascent by their self-consistency: no grid of the solver.

rho = exp(A[rho] / kappa) / Z (detailed balance).  Zonal states only: the unknowns are log
kappa and the moments of P_2 to P_DEGREES under rho, at a given first moment.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import least_squares
from scipy.special import roots_legendre

from mfpde import theory
from mfpde.geometry.harmonics import zonal_harmonics

Array = NDArray[np.float64]
DEGREES = 24


@dataclass(frozen=True)
class OrderedState:
    """A zonal state of noisy ascent.

    ``moments`` are the means of P_0 to P_DEGREES, ``excess`` its free energy
    kappa int rho log(rho/uniform) - (E[rho] - E[uniform]): below 0 it is the better one.
    """

    beta: float
    kappa: float
    moments: Array
    excess: float


def ordered_state(beta: float, dimension: int, order: float) -> OrderedState:
    """Find the state whose mean of x along its axis is ``order``, and its kappa."""
    nodes, weights = roots_legendre(240)
    angles = np.pi * (nodes + 1) / 2
    weights = weights * np.sin(angles) ** (dimension - 2)
    weights /= weights.sum()
    harmonics = zonal_harmonics(dimension, DEGREES, np.cos(angles))
    # K = sum_l D_l lambda_l P_l, D_l = 1 / mean(P_l^2).
    counts = 1 / (harmonics**2 @ weights)
    degrees = np.arange(DEGREES + 1)
    spectrum = counts * theory.eigenvalues(beta, dimension, degrees) / beta

    def density_of(log_kappa: float, moments: Array) -> Array:
        potential = (spectrum * moments)[1:] @ harmonics[1:] / np.exp(log_kappa)
        density = np.exp(potential - potential.max())
        return density / (weights @ density)

    def residual(unknown: Array) -> Array:
        moments = np.concatenate([[1.0, order], unknown[1:]])
        density = density_of(unknown[0], moments)
        return (harmonics @ (weights * density) - moments)[1:]

    # A von Mises density of that order starts the search.
    guess = _von_mises_moments(order, harmonics, weights)
    start = np.concatenate(
        [[np.log(theory.critical_diffusion(beta, dimension))], guess[2:]]
    )
    found = least_squares(residual, start, xtol=1e-15, ftol=1e-15, gtol=1e-15)
    assert np.abs(found.fun).max() < 1e-11, found
    kappa, moments = np.exp(found.x[0]), np.concatenate([[1.0, order], found.x[1:]])
    density = density_of(found.x[0], moments)
    entropy = weights @ (density * np.log(density))
    gain = (spectrum[1:] * moments[1:] ** 2).sum() / 2
    return OrderedState(beta, float(kappa), moments, float(kappa * entropy - gain))


def _von_mises_moments(order: float, harmonics: Array, weights: Array) -> Array:
    """Moments of e^{c z} with the mean ``order`` of z, c by bisection."""
    low, high = 0.0, 1000.0
    for _ in range(100):
        middle = (low + high) / 2
        density = weights * np.exp(middle * (harmonics[1] - 1))
        mean = harmonics[1] @ density / density.sum()
        low, high = (middle, high) if mean < order else (low, middle)
    return np.asarray(harmonics @ density / density.sum())
