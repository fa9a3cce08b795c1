r"""The phase diagram of noisy attention: where order begins, and where it wins.

In ascent with diffusion kappa the uniform state loses its stability below kappa_# =
lambda_1 / beta.  The transition is continuous (ordered states appear with small amplitude, below
kappa_# only) iff beta <= beta_*, the cusp, the solution of

    I_(d/2+1)(beta_*) / I_(d/2)(beta_*) = 1/d,   that is   lambda_2 = lambda_1 / d

(Mun & Rosenzweig, arXiv 2604.16288 and 2606.05140, unnormalised attention).  Above it ordered
states (``ordered_states.py``) live on to a fold at a larger kappa: hysteresis.  At the coexistence
kappa_c both states have the same free energy Phi = kappa int rho log rho - E, and between them
lies a barrier, the free energy of the unstable ordered state.

On the circle the states of l-fold symmetry begin at lambda_l / beta.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from mfpde.arrays import (
    LARGEST_DIMENSION,
    FloatArray,
    check_entries,
    choice,
    read_only,
    real_array,
    whole_number,
)
from mfpde.notebook import Printed, format_table
from mfpde.terms import Kernel
from mfpde.terms.funk_hecke import log_eigenvalues
from mfpde.theory.curvature import Convention
from mfpde.theory.ordered_states import OrderedStates
from mfpde.theory.spectrum import find_curvatures, find_relative_curvatures

MOST_DIMENSIONS = 64
LARGEST_BETA = LARGEST_MODE = 100


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
        logs = log_eigenvalues(beta, dimension, 2 * l)
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
        return bool(found[2 * l] <= found[l] / dimension)
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
    threshold
        kappa_# = lambda_l / beta, below which the mode grows from the uniform state.
    fold
        Largest kappa with an ordered state.
    coexistence
        kappa_c, at which the ordered state and the uniform one have the same free energy.
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

    Raises
    ------
    ValueError
        For an argument out of its range.
    FloatingPointError
        If Newton's method fails.
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

    They are met on the way down from the most concentrated state.  No kappa is ever bracketed, so
    that the smallest windows are found.
    """
    threshold = float(find_curvatures(beta, dimension, degree))
    if beta <= cusp:
        return threshold, threshold, np.nan, np.nan, 0.0, np.nan
    states = OrderedStates(beta, dimension, degree)
    met = states.find_below(states.highest, lambda state: state.excess)
    fold = met and states.find_below(met, lambda state: state.tangent[-1])
    if met and fold:
        kappa = met.kappa
        middle = states.find_below(fold, lambda state: kappa - state.kappa)
        if middle:
            moments = fold.moment, met.moment
            return threshold, fold.kappa, kappa, middle.excess, *moments
    # Rounding cannot tell that there is a window.
    return threshold, threshold, threshold, 0.0, 0.0, 0.0
