r"""Ordered states of attention with diffusion, as a curve in their height.

In ascent with diffusion kappa a stationary density that depends on u = x.e alone is

    rho = e^(sum_l a_l P_l(u)) / Z,   a_l = w_l M_l / kappa,   M_l = int P_l dmu,   l >= 1,
    w_l = D_l lambda_l / beta                                                      (Funk-Hecke)

against the uniform probability.  Its height h = sum_l a_l is log rho at the pole over its mean.
(At large beta neither the first moment nor the energy grows all along the branch; h does.)  At
fixed h the a_l are the zero of

    G(a) = kappa a - w M(a),   kappa = w . M(a) / h,   dM / da = Cov(P),

by Newton's method, and da / dh follows from the same matrix.  From the most concentrated state
down coexistence is where Phi - Phi(uniform) vanishes, the fold where d kappa / dh = 0, and the
unstable state where kappa is that of coexistence again.  No kappa is ever bracketed, so that the
smallest windows are found.  (Derived here.)
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

HIGHEST = 20.0
"""The branch is followed from this height times d, where order has the lower free energy."""
LOWEST = 1e-3
"""A fold below this height times d is at kappa_# to 1e-12 of itself."""
STEP = 1.06
"""Ratio of neighbouring heights: Newton's method converges from one to the next."""
SWEEPS = 50
MOST_ITERATIONS = 30
QUADRATIC = 1e-9
"""Steps this small shrink quadratically until rounding stops them."""


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
        degree = mode * max(4, kernel.band_limit(dimension, 1e-18) // mode)
        self.weights = kernel.spectrum(dimension, degree, counted=True)[mode::mode]
        # A state of width sqrt(kappa beta) in theta takes some tens of nodes.
        nodes = 256 + 4 * degree + int(24 * np.sqrt(beta * dimension))
        places, shares = leggauss(nodes)
        theta = (places + 1) * np.pi / 2
        count = len(self.weights)
        self.harmonics = zonal_harmonics(dimension, count, np.cos(theta))[1:]
        logs = np.log(shares) + (dimension - 2) * np.log(np.sin(theta))
        self.shares = np.exp(logs - logs.max())
        self.shares /= self.shares.sum()
        self.lowest = LOWEST * dimension
        self.first = self._find_first(HIGHEST * dimension)
        self.known = [self.first]

    def find_window(self) -> tuple[OrderedState, OrderedState, OrderedState] | None:
        """Return the states at coexistence and at the fold, and the unstable one at coexistence.

        None if the three are closer to the uniform state than rounding can tell.
        """
        met = self.find_below(self.first, lambda state: state.excess)
        if met is None:
            return None
        fold = self.find_below(met, lambda state: state.slope)
        if fold is None:
            return None
        unstable = self.find_below(fold, lambda state: met.kappa - state.kappa)
        return None if unstable is None else (met, fold, unstable)

    def find_below(
        self, above: OrderedState, function: Callable[[OrderedState], float]
    ) -> OrderedState | None:
        """Return the first state below another at which ``function`` grows through zero.

        None if there is none down to the lowest height that counts.
        """
        here = above
        while function(here) <= 0:
            if here.height < self.lowest:
                return None
            before, here = here, self.at(here.height / STEP)
        height = brentq(
            lambda h: function(self.at(h)),
            before.height,
            here.height,
            xtol=1e-13,
            rtol=4 * np.finfo(float).eps,
        )
        return self.at(float(height))

    def at(self, height: float) -> OrderedState:
        """Return the state of a height, by Newton's method from the nearest known one.

        Raises
        ------
        FloatingPointError
            If the iteration does not converge.
        """
        near = min(self.known, key=lambda state: abs(state.height - height))
        guess = near.logits + (height - near.height) * near.derivative
        self.known.append(self._find(height, guess))
        return self.known[-1]

    def _find_first(self, height: float) -> OrderedState:
        """Return the state of a height to which a point mass goes by a <- w M(a) / kappa."""
        pull = self.weights
        for _ in range(SWEEPS):
            logits = height * pull / pull.sum()
            pull = self.weights * (self.harmonics @ self._density(logits)[0])
        return self._find(height, logits)

    def _find(self, height: float, logits: FloatArray) -> OrderedState:
        last = np.inf
        for _ in range(MOST_ITERATIONS):
            density, log_total = self._density(logits)
            means = self.harmonics @ density
            covariance = (self.harmonics * density) @ self.harmonics.T
            covariance -= np.outer(means, means)
            pull = self.weights * means
            kappa = float(pull.sum()) / height
            by_logits = self.weights @ covariance / height
            jacobian = np.outer(logits, by_logits) + kappa * np.eye(len(logits))
            jacobian -= self.weights[:, np.newaxis] * covariance
            sides = np.stack([kappa * logits - pull, kappa * logits / height], axis=1)
            step, derivative = np.linalg.solve(jacobian, sides).T
            before, last = last, float(np.abs(step).max() / np.abs(logits).max())
            if before / 2 <= last < QUADRATIC:
                return OrderedState(
                    height,
                    logits,
                    derivative,
                    kappa,
                    slope=float(by_logits @ derivative) - kappa / height,
                    moment=float(means[0]),
                    excess=float(pull @ means) / 2 - kappa * log_total,
                )
            logits = logits - step
        raise FloatingPointError(f"no ordered state of height {height:g} was found")

    def _density(self, logits: FloatArray) -> tuple[FloatArray, float]:
        """The masses e^(sum a_l P_l) / Z at the nodes, and log Z."""
        values = logits @ self.harmonics
        peak = float(values.max())
        masses = self.shares * np.exp(values - peak)
        total = float(masses.sum())
        return masses / total, peak + float(np.log(total))
