r"""Ordered states of attention with diffusion, as a curve in their height.

In ascent with diffusion kappa a stationary density that depends on u = x.e alone is

    rho = e^(sum_l a_l P_l(u)) / Z,   a_l = w_l M_l / kappa,   M_l = int P_l dmu,   l >= 1,
    w_l = D_l lambda_l / beta                                                      (Funk-Hecke)

against the uniform probability.  Its height h = sum_l a_l is log rho at the pole over its mean.
(At large beta neither the first moment nor the energy grows all along the branch; h does.)  At
fixed h the a_l are the zero of

    G(a) = kappa a - w M(a),   kappa = w . M(a) / h,   dM / da = Cov(P),

and da / dh follows from the same matrix.  From the most concentrated state down coexistence is
where Phi - Phi(uniform) vanishes, the fold where d kappa / dh = 0, and the unstable state where
kappa is that of coexistence again.  No kappa is ever bracketed, so that the smallest windows are
found.  (Derived here.)
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
STEP = 1.06
"""Ratio of neighbouring heights: Newton's method converges from one to the next."""
EPS = float(np.finfo(float).eps)


class OrderedState(NamedTuple):
    """The ordered state of a height h: a (n,) with da/dh, and what follows from them."""

    height: float
    logits: FloatArray
    derivative: FloatArray
    kappa: float
    slope: float
    """d kappa / dh."""
    moment: float
    """The first moment M_1: the length of int x dmu."""
    excess: float
    """Free energy Phi = kappa int rho log rho - E, less that of the uniform state."""


class OrderedStates:
    """The ordered states of one beta, down to the uniform state.

    States of l-fold symmetry on the circle are those of a circle l times as short, whose
    eigenvalue k is lambda_kl; ``mode`` is l.
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
        self.lowest = EPS**0.25 * dimension
        highest = HIGHEST * dimension
        point_mass = highest * self.weights / self.weights.sum()
        self.states = {highest: self._find(highest, point_mass)}

    def find_window(self) -> tuple[OrderedState, OrderedState, OrderedState] | None:
        """Return the states at coexistence and at the fold, and the unstable one at coexistence.

        None if the three are closer to the uniform state than rounding can tell.
        """
        (highest,) = self.states.values()
        met = self._find_below(highest, lambda state: state.excess)
        if met is None:
            return None
        fold = self._find_below(met, lambda state: state.slope)
        if fold is None:
            return None
        unstable = self._find_below(fold, lambda state: met.kappa - state.kappa)
        return None if unstable is None else (met, fold, unstable)

    def _find_below(
        self, above: OrderedState, function: Callable[[OrderedState], float]
    ) -> OrderedState | None:
        """Return the first state below another at which ``function`` grows through zero.

        None if there is none down to the lowest height that counts.
        """

        def value(height: float) -> float:
            return function(self._state_at(height))

        before = here = above.height
        while value(here) <= 0 and here > self.lowest:
            before, here = here, here / STEP
        if here == before or here <= self.lowest:
            return None
        height = brentq(value, before, here, xtol=EPS * here, rtol=4 * EPS)
        return self._state_at(height)

    def _state_at(self, height: float) -> OrderedState:
        """Return the state of a height, found from the nearest known one."""
        if height not in self.states:
            near = self.states[min(self.states, key=lambda h: abs(h - height))]
            guess = near.logits + (height - near.height) * near.derivative
            self.states[height] = self._find(height, guess)
        return self.states[height]

    def _find(self, height: float, guess: FloatArray) -> OrderedState:
        def imbalance(logits: FloatArray) -> tuple[FloatArray, FloatArray]:
            """Return G (n,) and dG/da (n, n)."""
            means, covariance, _ = self._find_moments(logits)
            kappa = self.weights @ means / height
            jacobian = np.outer(logits, self.weights @ covariance / height)
            jacobian += kappa * np.eye(len(logits)) - np.diag(self.weights) @ covariance
            return kappa * logits - self.weights * means, jacobian

        found = root(imbalance, guess, jac=True)
        if not found.success:
            raise FloatingPointError(f"no ordered state of height {height:g} was found")
        # A last step of Newton's method takes the error to rounding.
        rest, jacobian = imbalance(found.x)
        logits = found.x - np.linalg.solve(jacobian, rest)
        means, covariance, log_total = self._find_moments(logits)
        kappa = float(self.weights @ means) / height
        derivative = np.linalg.solve(jacobian, kappa * logits / height)
        return OrderedState(
            height,
            logits,
            derivative,
            kappa,
            slope=float(self.weights @ covariance @ derivative - kappa) / height,
            moment=float(means[0]),
            excess=float(self.weights @ means**2) / 2 - kappa * log_total,
        )

    def _find_moments(self, logits: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Return M (n,), Cov(P) (n, n) and log Z."""
        logs = self.log_shares + logits @ self.harmonics
        log_total = float(np.logaddexp.reduce(logs))
        density = np.exp(logs - log_total)
        means = self.harmonics @ density
        covariance = (self.harmonics * density) @ self.harmonics.T
        return means, covariance - np.outer(means, means), log_total
