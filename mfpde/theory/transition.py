r"""The phase transition of the noisy equation in ascent, without external terms.

The uniform state is stable for kappa > kappa_# and loses stability below

    kappa_# = max over l >= 1 of lambda_l / beta = lambda_1 / beta,

lambda_l decreasing in l.  The transition is continuous (ordered states appear with small
amplitude, below kappa_# only) iff beta <= beta_*, the solution of

    I_(d/2+1)(beta_*) / I_(d/2)(beta_*) = 1/d;

above it ordered states exist on both sides of kappa_#: hysteresis (Mun & Rosenzweig, arXiv
2604.16288 and 2606.05140, unnormalised attention).  For softmax kappa_# is the same
linearisation, done here; nothing is claimed about its continuity.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from mfpde.terms import Attention
from mfpde.terms.funk_hecke import log_eigenvalues
from mfpde.theory.arguments import checked_dimension
from mfpde.theory.spectrum import growth_rates


def critical_diffusion(
    beta: float, dimension: int, *, normalized: bool = False, kernel: str = "shifted"
) -> float:
    """Diffusion kappa_# below which the uniform state is unstable in ascent.

    It is lambda_1 / beta, for softmax lambda_1 / (beta lambda_0); 1/d at beta = 0.  In descent
    the uniform state is always stable.  Formula and sources: this module's docstring.

    Parameters
    ----------
    beta
        Inverse temperature, from 0 to 1000 (350 with the unshifted kernel).
    dimension
        Dimension d of S^(d-1), at least 2.
    normalized
        Whether the attention is softmax.
    kernel
        ``"shifted"`` (default) or ``"unshifted"``, which multiplies kappa_# by e^beta.

    Raises
    ------
    ValueError
        For an argument out of its range.
    """
    rate = growth_rates(
        beta, dimension, 1, direction="ascent", normalized=normalized, kernel=kernel
    )
    return float(rate) / (dimension - 1)


def largest_continuous_beta(dimension: int) -> float:
    """The value beta_* up to which the noisy phase transition is continuous.

    Parameters
    ----------
    dimension
        Dimension d of S^(d-1), at least 2; beta_* falls to 1 as d grows.

    Raises
    ------
    ValueError
        If the dimension is below 2.
    """
    dimension = checked_dimension(dimension)

    def excess(beta: float) -> float:
        logs = log_eigenvalues(beta, dimension, 2)
        return float(logs[2] - logs[1] + np.log(dimension))

    # lambda_2 / lambda_1 increases from beta / (d + 2) at small beta to 1.
    return float(brentq(excess, 0.5, 5.0, xtol=1e-13, rtol=1e-14))


def has_continuous_transition(beta: float, dimension: int) -> bool:
    """Whether the noisy phase transition is continuous: beta <= beta_*.

    This holds for unnormalised attention, under either kernel (this module's docstring); for
    beta > beta_* the transition is discontinuous.

    Parameters
    ----------
    beta
        Inverse temperature, from 0 to 1000.
    dimension
        Dimension d of S^(d-1), at least 2.

    Raises
    ------
    ValueError
        For an argument out of its range.
    """
    beta = Attention(beta).beta
    dimension = checked_dimension(dimension)
    logs = log_eigenvalues(beta, dimension, 2)
    return bool(beta == 0 or logs[2] - logs[1] <= -np.log(dimension))
