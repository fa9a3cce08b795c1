r"""Ordered states of attention with diffusion, as a curve in their height.

In ascent with diffusion kappa a stationary density that depends on u = x.e alone is

    rho = e^(sum_l a_l P_l(u)) / Z,   kappa a_l = w_l M_l,   M_l = int P_l dmu,   l >= 1,
    w_l = D_l lambda_l / beta                                                      (Funk-Hecke)

against the uniform probability.  Its height h = sum_l a_l is log rho at the pole over its mean.
(At large beta neither the first moment nor the energy grows all along the branch; h does.)  At
fixed h these are n + 1 equations for a and kappa, with dM / da = Cov(P).  (Derived here.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss
from scipy.optimize import brentq, root

from mfpde.arrays import FloatArray
from mfpde.geometry.harmonics import zonal_harmonics
from mfpde.terms import Exponential

HIGHEST = 20.0
"""The branch is followed from this height times d, where order has the lower free energy."""
STEP = 1.1
"""Ratio of neighbouring heights: Newton's method converges from one to the next."""


class OrderedState(NamedTuple):
    """The ordered state of a height h: (a, kappa) (n + 1,), its derivative by h, and M_1.

    ``excess`` is its free energy Phi = kappa int rho log rho - E, less that of the uniform state.
    """

    height: float
    unknowns: FloatArray
    tangent: FloatArray
    moment: float
    excess: float

    @property
    def kappa(self) -> float:
        """The diffusion."""
        return float(self.unknowns[-1])


class OrderedStates:
    """The ordered states of one beta, down to the uniform state.

    Those of l-fold symmetry, ``mode`` l, are states of a circle l times as short, whose eigenvalue
    k is lambda_kl.
    """

    def __init__(self, beta: float, dimension: int, mode: int = 1) -> None:
        kernel = Exponential(beta)
        count = max(4, kernel.band_limit(dimension) // mode)
        spectrum = kernel.spectrum(dimension, mode * count, counted=True)
        self.weights = spectrum[mode::mode]
        # So many resolve the harmonics, and the narrow law of u in high dimension.
        nodes, shares = leggauss(4 * (count + dimension))
        theta = (nodes + 1) * np.pi / 2
        self.harmonics = zonal_harmonics(dimension, count, np.cos(theta))[1:]
        self.log_shares = np.log(shares) + (dimension - 2) * np.log(np.sin(theta))
        self.log_shares -= np.log(np.exp(self.log_shares).sum())
        # A fold below is at kappa_# to rounding: their distance is of fourth order in h.
        self.lowest = np.finfo(float).eps ** 0.25 * dimension
        height, total = HIGHEST * dimension, self.weights.sum()
        point_mass = np.append(height * self.weights / total, total / height)
        self.highest = self._find_state(height, point_mass)

    def find_below(
        self, above: OrderedState, function: Callable[[OrderedState], float]
    ) -> OrderedState | None:
        """Return the first state below another at which ``function`` grows through zero.

        None if there is none down to the lowest height that counts.
        """
        before = here = above
        while function(here) <= 0:
            if here.height <= self.lowest:
                return None
            before, here = here, self._move(here, here.height / STEP)
        if here is above:
            return None
        logarithm = brentq(
            lambda log_height: function(self._move(before, np.exp(log_height))),
            np.log(here.height),
            np.log(before.height),
        )
        return self._move(before, np.exp(logarithm))

    def _move(self, state: OrderedState, height: float) -> OrderedState:
        """Return the state of another height, found from the tangent at ``state``."""
        guess = state.unknowns + (height - state.height) * state.tangent
        return self._find_state(height, guess)

    def _find_state(self, height: float, guess: FloatArray) -> OrderedState:
        """Solve kappa a = w M(a), sum a = h for (a, kappa) by Newton's method from a guess."""

        def imbalance(unknowns: FloatArray) -> tuple[FloatArray, FloatArray]:
            logits, kappa = unknowns[:-1], unknowns[-1]
            means, covariance, _ = self._find_moments(logits)
            rest = np.append(
                kappa * logits - self.weights * means, logits.sum() - height
            )
            jacobian = kappa * np.eye(len(unknowns))
            jacobian[:-1, :-1] -= self.weights[:, np.newaxis] * covariance
            jacobian[:-1, -1], jacobian[-1] = logits, np.append(np.ones(len(logits)), 0)
            return rest, jacobian

        found = root(imbalance, guess, jac=True)
        if not found.success:
            raise FloatingPointError(f"no ordered state of height {height:g} was found")
        # A last step of Newton's method takes the error to rounding.
        rest, jacobian = imbalance(found.x)
        unknowns = found.x - np.linalg.solve(jacobian, rest)
        tangent = np.linalg.solve(jacobian, np.eye(len(rest))[-1])
        means, _, log_total = self._find_moments(unknowns[:-1])
        excess = float(self.weights @ means**2) / 2 - float(unknowns[-1]) * log_total
        return OrderedState(height, unknowns, tangent, float(means[0]), excess)

    def _find_moments(self, logits: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Return M (n,), Cov(P) (n, n) and log Z."""
        logs = self.log_shares + logits @ self.harmonics
        log_total = float(np.logaddexp.reduce(logs))
        density = np.exp(logs - log_total)
        means = self.harmonics @ density
        covariance = (self.harmonics * density) @ self.harmonics.T
        return means, covariance - np.outer(means, means), log_total
