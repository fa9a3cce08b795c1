r"""The phase diagram of noisy attention: where order begins, and where it wins.

In ascent with diffusion kappa the uniform state loses its stability below kappa_# =
lambda_1 / beta.  The transition is continuous (ordered states appear with small amplitude, below
kappa_# only) iff beta <= beta_*, the cusp, the solution of

    I_(d/2+1)(beta_*) / I_(d/2)(beta_*) = 1/d,   that is   lambda_2 = lambda_1 / d

(Mun & Rosenzweig, arXiv 2604.16288 and 2606.05140, unnormalised attention).  Above it ordered
states live on to a fold at a larger kappa: hysteresis.  At the coexistence kappa_c both states
have the same free energy Phi = kappa int rho log rho - E, and between them the unstable ordered
state is a barrier.  On the circle states of l-fold symmetry begin at lambda_l / beta.

Ordered states are densities of u = x.e alone,

    rho = e^(sum_l a_l P_l(u)) / Z,   kappa a_l = w_l M_l,   M_l = int P_l dmu,   l >= 1,
    w_l = D_l lambda_l / beta                                                      (Funk-Hecke)

against the uniform probability, here a curve in their height h = sum_l a_l, log rho at the pole
over its mean: at large beta neither the first moment nor the energy grows all along the branch.
At fixed h these are n + 1 equations for a and kappa, with dM / da = Cov(P).  (Derived here.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike
from scipy.optimize import brentq, root

from mfpde.arrays import (
    LARGEST_DIMENSION,
    FloatArray,
    check_entries,
    choice,
    read_only,
    real_array,
    whole_number,
)
from mfpde.geometry.harmonics import zonal_harmonics
from mfpde.notebook import Printed, format_table
from mfpde.terms import Exponential, Kernel
from mfpde.terms.exponential_kernel import log_series
from mfpde.terms.kernels import up_to
from mfpde.theory.spectrum import (
    Convention,
    find_curvatures,
    find_relative_curvatures,
)

MOST_DIMENSIONS = 64
LARGEST_BETA = LARGEST_MODE = 100
HIGHEST = 20.0
"""The branch is followed from this height times d, where order has the lower free energy."""
STEP = 1.1
"""Ratio of neighbouring heights: Newton's method converges from one to the next."""


def largest_continuous_beta(dimension: int, *, degree: int = 1) -> float:
    """The value beta_* up to which the noisy phase transition is continuous.

    It falls to 1 as the ``dimension`` d >= 2 grows.  On the circle each mode of a ``degree`` l
    from 1 to 100 has one, the solution of lambda_2l = lambda_l / 2.  Arguments out of these ranges
    are a ``ValueError``.  Begin with ``largest_continuous_beta(3)``.
    """
    whole_number("dimension", dimension, at_least=2, at_most=LARGEST_DIMENSION)
    l = whole_number("degree", degree, at_least=1, at_most=LARGEST_MODE)
    if l > 1 and dimension > 2:
        raise ValueError(
            f"degree = {l}: modes above 1 are known on the circle only (dimension = 2); on "
            f"S^{dimension - 1} use continuation"
        )

    def excess(beta: float) -> float:
        logs = log_series(beta, dimension)[0]
        return float(logs[2 * l] - logs[l] + np.log(dimension))

    # lambda_2l / lambda_l increases from 0 at small beta to 1; beta_* is near 2.2 l^2 on S^1.
    return float(brentq(excess, l**2 / 2, 4 * l**2))


def has_continuous_transition(beta: float | Kernel, dimension: int) -> bool:
    """Whether the noisy phase transition is continuous: beta <= beta_*.

    This holds for unnormalised attention, under either kernel.  For a kernel W in place of
    ``beta`` it is about small amplitudes: the states that leave the uniform one at the critical
    diffusion do so below it iff lambda_2l <= lambda_l / d, l the degree of the largest
    eigenvalue, for l = 1 or on the circle; for even l in ``dimension`` d > 2 they never do (the
    free energy has a cubic term).  Ordered states far from the uniform one are not excluded.
    An argument out of its range is a ``ValueError``, and so is a kernel without a positive
    eigenvalue from degree 1 on, or whose largest one is of an odd degree above 1 in d > 2.
    Begin with ``has_continuous_transition(1.0, 3)``.
    """
    found = find_relative_curvatures(beta, dimension)
    l = 1 + int(np.argmax(found[1:]))
    if l == 1 or dimension == 2:
        return bool(up_to(2 * l, found)[2 * l] <= found[l] / dimension)
    if l % 2:
        raise ValueError(
            f"beta = {beta!r}: its largest eigenvalue on S^{dimension - 1} is of degree "
            f"{l}; nothing is known here of odd degrees above 1 in dimension > 2"
        )
    return False


@dataclass(frozen=True, eq=False, repr=False)
class PhaseDiagram(Printed):
    """Transitions of noisy attention in ascent, for each beta; arrays of shape (betas,).

    Where the transition is continuous, at or below the ``cusp`` beta_*, ``fold`` is the threshold,
    its moment 0, and coexistence, its barrier and its moment are nan.

    Attributes
    ----------
    dimension, kernel, degree, betas
        As they were given; all else is about states of the symmetry of the ``degree`` l.
    threshold, fold, coexistence
        kappa_# = lambda_l / beta, below which the mode grows from the uniform state; the largest
        kappa with an ordered state; and kappa_c, at which the two have the same free energy.
    barrier
        Free energy at kappa_c of the unstable ordered state between the two, less theirs.
    moment_at_fold, moment_at_coexistence
        Moments int P_l dmu of the ordered state there (l = 1: the length of int x dmu).
    """

    dimension: int
    kernel: str
    degree: int
    cusp: float
    betas: FloatArray
    threshold: FloatArray
    fold: FloatArray
    coexistence: FloatArray
    barrier: FloatArray
    moment_at_fold: FloatArray
    moment_at_coexistence: FloatArray

    def __str__(self) -> str:
        kernel = "exp(beta (x.y - 1))" if self.kernel == "shifted" else "exp(beta x.y)"
        mode = f"of degree {self.degree} " if self.degree > 1 else ""
        columns = {k: v for k, v in vars(self).items() if isinstance(v, np.ndarray)}
        table = format_table([*columns], zip(*columns.values(), strict=True))
        return (
            f"ascent with diffusion on S^{self.dimension - 1}, K = {kernel}; the transition "
            f"{mode}is continuous up to beta = {self.cusp:.12g}\n{table}"
        )


def phase_diagram(
    dimension: int, betas: ArrayLike, *, kernel: Convention = "shifted", degree: int = 1
) -> PhaseDiagram:
    """The phase diagram in beta and kappa of attention in ascent with diffusion.

    Of unnormalised attention alone, without a perceptron.  Ratios of kappa are accurate to about
    1e-10.  ``print`` it for a table, draw it by :func:`mfpde.plot_phase_diagram`.

    Begin with ``phase_diagram(3, [2.0, 4.0])``.

    Parameters
    ----------
    dimension
        Dimension d of S^(d-1), from 2 to 64.
    betas
        One or more inverse temperatures, above 0 and at most 100; shape (betas,).
    kernel
        ``"shifted"`` or ``"unshifted"``, which multiplies every kappa by e^beta.
    degree
        Degree l of the mode that orders, from 1 to 100, above 1 on the circle only: states of
        l-fold symmetry.  Against other modes these need not be stable.

    An argument out of its range is a ``ValueError``; if Newton's method fails there is a
    ``FloatingPointError``.
    """
    whole_number("dimension", dimension, at_least=2, at_most=MOST_DIMENSIONS)
    given = np.atleast_1d(real_array("betas", betas))
    if given.ndim != 1 or len(given) == 0:
        raise ValueError(f"betas has shape {given.shape}: it must be a list of numbers")
    is_right = (given > 0) & (given <= LARGEST_BETA)
    check_entries(
        "betas", given, is_right, f"must be above 0 and at most {LARGEST_BETA}"
    )
    choice("kernel", kernel, ("shifted", "unshifted"))
    cusp = largest_continuous_beta(dimension, degree=degree)
    rows = [_find_window(beta, dimension, degree, cusp) for beta in given]
    columns = np.transpose(rows)
    if kernel == "unshifted":
        # Free energies scale as kappa does.
        columns[:4] *= np.exp(given)
    return PhaseDiagram(
        dimension, kernel, degree, cusp, read_only(given), *read_only(columns)
    )


def _find_window(
    beta: float, dimension: int, degree: int, cusp: float
) -> tuple[float, ...]:
    """Return threshold, fold, coexistence, barrier and both moments at one beta.

    They are met on the way down from the highest state; no kappa is bracketed, so that the
    smallest windows are found.
    """
    threshold = float(find_curvatures(beta, dimension, np.array(degree)))
    if beta <= cusp:
        return threshold, threshold, np.nan, np.nan, 0.0, np.nan
    branch = OrderedBranch(beta, dimension, degree)
    try:
        met = branch.find_below(branch.highest, lambda state: state.excess)
        fold = branch.find_below(met, lambda state: state.tangent[-1])
        middle = branch.find_below(fold, lambda state: met.kappa - state.kappa)
    except LookupError:
        # Rounding cannot tell that there is a window.
        return threshold, threshold, threshold, 0.0, 0.0, 0.0
    return threshold, fold.kappa, met.kappa, middle.excess, fold.moment, met.moment


class OrderedState(NamedTuple):
    """The ordered state of a height h: (a, kappa) (n + 1,), its derivative by h, kappa, and M_1.

    Its ``excess`` is its free energy Phi less that of the uniform state.
    """

    height: float
    unknowns: FloatArray
    tangent: FloatArray
    kappa: float
    moment: float
    excess: float


class OrderedBranch:
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
    ) -> OrderedState:
        """Return the first state below another at which ``function`` grows through zero.

        ``LookupError`` if there is none down to the lowest height that counts.
        """
        before = here = above
        while function(here) <= 0 and here.height > self.lowest:
            before, here = here, self._move(here, here.height / STEP)
        if here is above or function(here) <= 0:
            raise LookupError(f"none below h = {above.height:g}")
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
            rest = kappa * logits - self.weights * means
            slopes = kappa * np.eye(len(logits))
            slopes -= self.weights[:, np.newaxis] * covariance
            of_height = np.append(np.ones(len(logits)), 0.0)
            jacobian = np.vstack([np.column_stack([slopes, logits]), of_height])
            return np.append(rest, logits.sum() - height), jacobian

        found = root(imbalance, guess, jac=True)
        if not found.success:
            raise FloatingPointError(f"no ordered state of height {height:g} was found")
        # A last step of Newton's method takes the error to rounding.
        rest, jacobian = imbalance(found.x)
        goals = np.column_stack([rest, np.eye(len(rest))[-1]])
        step, tangent = np.linalg.solve(jacobian, goals).T
        unknowns = found.x - step
        means, _, log_total = self._find_moments(unknowns[:-1])
        kappa, moment = float(unknowns[-1]), float(means[0])
        excess = float(self.weights @ means**2) / 2 - kappa * log_total
        return OrderedState(height, unknowns, tangent, kappa, moment, excess)

    def _find_moments(self, logits: FloatArray) -> tuple[FloatArray, FloatArray, float]:
        """Return M (n,), Cov(P) (n, n) and log Z."""
        logs = self.log_shares + logits @ self.harmonics
        log_total = float(np.logaddexp.reduce(logs))
        density = np.exp(logs - log_total)
        means = self.harmonics @ density
        covariance = (self.harmonics * density) @ self.harmonics.T
        return means, covariance - np.outer(means, means), log_total
