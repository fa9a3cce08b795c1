"""Ordered states of noisy ascent: zonal densities by their masses at angles, no spectrum.

They minimise kappa int rho log rho - E among densities whose mean of z is given, by
rho <- e^(F / kappa) / Z with kappa such that the mean stays.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from validation.exact_facts.runs import Array

NODES, RING_NODES = 400, 200
SWEEPS = 20_000
STEEPEST = 1e6


class OrderedState(NamedTuple):
    """The mean of z, the diffusion, and the free energy less that of the uniform state."""

    order: float
    kappa: float
    excess: float


class ZonalStates:
    """Zonal densities on S^(d-1), with the kernel averaged over rings."""

    def __init__(self, dimension: int, beta: float) -> None:
        places, shares = np.polynomial.legendre.leggauss(NODES)
        theta = (places + 1) * np.pi / 2
        logs = np.log(shares) + (dimension - 2) * np.log(np.sin(theta))
        self.shares, self.heights = np.exp(logs - logs.max()), np.cos(theta)
        self.shares /= self.shares.sum()
        along = np.multiply.outer(np.cos(theta), np.cos(theta))
        across = np.multiply.outer(np.sin(theta), np.sin(theta))
        if dimension == 2:
            # A ring of the circle is a pair of points.
            cosines, weights = np.array([1.0, -1.0]), np.array([0.5, 0.5])
        else:
            inner, weights = np.polynomial.legendre.leggauss(RING_NODES)
            angles = (inner + 1) * np.pi / 2
            weights = weights * np.sin(angles) ** (dimension - 3)
            cosines, weights = np.cos(angles), weights / weights.sum()
        self.kernel = sum(
            w * np.exp(beta * (along + across * c - 1)) / beta
            for c, w in zip(cosines, weights, strict=True)
        )

    def tilt(self, field: Array) -> Array:
        """Masses e^field / Z."""
        masses = self.shares * np.exp(field - field.max())
        return np.asarray(masses / masses.sum())

    def find(self, order: float) -> OrderedState:
        """The state of this mean of z, from e^(c z) / Z of it."""
        field, masses = self.heights, self.shares
        for _ in range(SWEEPS):

            def missing(steepness: float, field: Array = field) -> float:
                return float(self.tilt(steepness * field) @ self.heights - order)

            steepness = brentq(missing, 0.0, STEEPEST, xtol=1e-14, rtol=1e-14)
            before, masses = masses, self.tilt(steepness * field)
            if np.abs(masses - before).max() < 1e-14:
                break
            field = self.kernel @ masses
        entropy = (masses * np.log(np.maximum(masses / self.shares, 1e-300))).sum()
        gain = masses @ self.kernel @ masses - self.shares @ self.kernel @ self.shares
        return OrderedState(order, 1 / steepness, entropy / steepness - gain / 2)

    def coexistence(self) -> OrderedState:
        """The state as good as uniform, of larger order than the unstable branch."""
        orders = np.linspace(0.1, 0.98, 12)
        signs = np.sign([self.find(order).excess for order in orders])
        first = int(np.flatnonzero(np.diff(signs) < 0)[0])
        low, high = orders[first : first + 2]
        return self.find(brentq(lambda m: self.find(m).excess, low, high, xtol=1e-12))

    def fold(self) -> float:
        """The largest kappa of an ordered state."""
        best = minimize_scalar(
            lambda m: -self.find(m).kappa, bounds=(0.02, 0.98), method="bounded"
        )
        return float(-best.fun)
