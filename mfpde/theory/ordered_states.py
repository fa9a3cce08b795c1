r"""Ordered states of attention with diffusion, as one branch down to the uniform state.

States are zonal about an axis; formulas are those of :mod:`mfpde.theory.transitions`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.optimize import brentq

from mfpde.arrays import FloatArray
from mfpde.geometry.zonal_fields import zonal_harmonics
from mfpde.terms import Exponential

SMALLEST_MOMENT = 1e-3
"""A fold below this first moment is at kappa_# to 1e-12 of itself."""
STEP = 1.06
COOLING, SWEEPS = 1.3, 200
MOST_HALVINGS = 8
MOST_ITERATIONS = 50
CONVERGED, SMALL = 1e-14, 1e-9


class OrderedState(NamedTuple):
    """An ordered state: its height h, (kappa, M_1, ...) with d/dh, and Phi - Phi(uniform)."""

    height: float
    unknowns: FloatArray
    derivative: FloatArray
    excess: float

    @property
    def kappa(self) -> float:
        """The diffusion at which the state is stationary."""
        return float(self.unknowns[0])

    @property
    def slope(self) -> float:
        """The derivative d kappa / dh along the branch."""
        return float(self.derivative[0])

    @property
    def moment(self) -> float:
        """The first moment M_1, the length of int x dmu."""
        return float(self.unknowns[1])

    def toward(self, height: float) -> FloatArray:
        """A guess of the unknowns at another height."""
        found = self.unknowns + (height - self.height) * self.derivative
        found[0] = max(found[0], 0.5 * self.unknowns[0])
        return np.asarray(found)


class _Equations(NamedTuple):
    """Residuals of M(rho) = M and of the height, their Jacobian, and Phi - Phi(uniform)."""

    residual: FloatArray
    jacobian: FloatArray
    excess: float


class OrderedBranch:
    """The ordered states of one beta by their height.

    States of l-fold symmetry on the circle are those of a circle l times as short, whose
    eigenvalue k is lambda_kl; ``mode`` is l.
    """

    def __init__(self, beta: float, dimension: int, mode: int = 1) -> None:
        kernel = Exponential(beta)
        degree = mode * max(4, kernel.band_limit(dimension, 1e-18) // mode)
        self.weights = kernel.spectrum(dimension, degree, counted=True)[mode::mode]
        # A state of width sqrt(kappa beta) in theta takes some tens of nodes.
        nodes = 256 + 4 * degree + int(24 * np.sqrt(beta * dimension))
        places, shares = leggauss(nodes)
        theta = (places + 1) * np.pi / 2
        count = len(self.weights)
        self.harmonics = zonal_harmonics(dimension, count, np.cos(theta))[1:]
        logs = np.log(shares) + (dimension - 2) * np.log(np.sin(theta))
        peak = logs.max()
        self.log_shares = logs - peak - np.log(np.exp(logs - peak).sum())

    def ordered(self, threshold: float) -> OrderedState:
        """An ordered state of less free energy than the uniform one, at kappa_# or above.

        Raises
        ------
        FloatingPointError
            If none is found.
        """
        kappa = float(self.weights.sum()) / 2
        while True:
            kappa = max(kappa / COOLING, threshold)
            moments = np.ones(len(self.weights))
            for _ in range(SWEEPS):
                density = self._density(kappa, moments)[0]
                moments = self.harmonics @ density
            height = float(self.weights @ moments) / kappa
            if moments[0] > SMALLEST_MOMENT:
                found = self.at(height, np.append(kappa, moments))
                if found.excess < 0:
                    return found
            if kappa == threshold:
                raise FloatingPointError("no ordered state was found at the threshold")

    def _density(self, kappa: float, moments: FloatArray) -> tuple[FloatArray, float]:
        """The masses e^(F / kappa) / Z at the nodes, and log Z."""
        logits = (self.weights * moments) @ self.harmonics / kappa + self.log_shares
        peak = float(logits.max())
        density = np.exp(logits - peak)
        total = float(density.sum())
        return density / total, peak + float(np.log(total))

    def at(self, height: float, unknowns: FloatArray) -> OrderedState:
        """The state of this height, by Newton's method from ``unknowns``.

        Raises
        ------
        FloatingPointError
            If the iteration does not converge.
        """
        last = np.inf
        for _ in range(MOST_ITERATIONS):
            found = self._equations(height, unknowns)
            step = np.linalg.solve(found.jacobian, found.residual)
            length = min(1.0, 0.5 * unknowns[0] / max(abs(step[0]), 1e-300))
            unknowns = unknowns - length * step
            sizes = np.abs(step) / np.append(
                unknowns[:1], np.full(len(step) - 1, abs(unknowns[1]))
            )
            before, last = last, float(sizes.max())
            # Quadratic convergence, until rounding takes over.
            if length == 1.0 and (last < CONVERGED or before / 2 <= last < SMALL):
                found = self._equations(height, unknowns)
                forced = np.zeros(len(unknowns))
                forced[-1] = unknowns[0]
                derivative = np.asarray(np.linalg.solve(found.jacobian, forced))
                return OrderedState(height, unknowns, derivative, found.excess)
        raise FloatingPointError(f"no ordered state of height {height:g} was found")

    def _equations(self, height: float, unknowns: FloatArray) -> _Equations:
        kappa, moments = unknowns[0], unknowns[1:]
        density, log_total = self._density(kappa, moments)
        means = self.harmonics @ density
        covariance = (self.harmonics * density) @ self.harmonics.T
        covariance -= np.outer(means, means)
        jacobian = np.empty((len(unknowns), len(unknowns)))
        jacobian[:-1, 0] = covariance @ (self.weights * moments) / kappa**2
        jacobian[:-1, 1:] = np.eye(len(moments)) - covariance * self.weights / kappa
        jacobian[-1, 0] = -height
        jacobian[-1, 1:] = self.weights
        rise = float(self.weights @ moments)
        residual = np.append(moments - means, rise - kappa * height)
        excess = float(self.weights @ moments**2) / 2
        excess -= kappa * log_total
        return _Equations(residual, jacobian, excess)

    def down(
        self, state: OrderedState, is_past: Callable[[OrderedState], bool], least: float
    ) -> tuple[OrderedState, OrderedState | None]:
        """Neighbouring states before and after ``is_past`` first holds, down from ``state``.

        The second is None if it does not hold above the height ``least``.
        """
        if is_past(state):
            return state, state
        while state.height > least:
            ahead = self._next(state)
            if is_past(ahead):
                return state, ahead
            state = ahead
        return state, None

    def _next(self, state: OrderedState) -> OrderedState:
        height = state.height / STEP
        for _ in range(MOST_HALVINGS):
            try:
                return self.at(height, state.toward(height))
            except FloatingPointError:
                height = 0.5 * (height + state.height)
        raise FloatingPointError(
            f"the branch of ordered states is lost at height {state.height:g}"
        )

    def where(
        self,
        function: Callable[[OrderedState], float],
        first: OrderedState,
        last: OrderedState,
    ) -> OrderedState:
        """The state between two others at which ``function`` vanishes."""
        if first is last:
            return first
        known = [first, last]

        def reached(height: float) -> OrderedState:
            nearest = min(known, key=lambda state: abs(state.height - height))
            found = self.at(height, nearest.toward(height))
            known.append(found)
            return found

        root = brentq(
            lambda height: function(reached(height)),
            first.height,
            last.height,
            xtol=1e-13,
            rtol=4 * np.finfo(float).eps,
        )
        return reached(float(root))
