r"""Linear stability of n equal atoms at equal distances around the circle, a stationary state.

With total mass 1, spacing 2 pi / n and without external terms, the shift
delta_j = eps e^(2 pi i j q / n) of the atoms changes at the rate

    s (1/n) \sum_j (K''/beta)(2 pi j / n) (1 - cos(2 pi j q / n)),    q = 0..n-1,

K = exp(beta (cos t - 1)) (unshifted: times e^beta); for softmax divided by the mean of K
over the atoms, as seen from one of them.  q = 0 is the rotation, q and n - q have the same
rate.  (Derived here.)
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, whole_number
from mfpde.theory.arguments import checked_attention, sign_of
from mfpde.theory.curvature import kernel_second_derivative

ROUNDING = 1e-14


def equispaced_rates(
    beta: float,
    count: int,
    *,
    direction: str,
    normalized: bool = False,
    kernel: str = "shifted",
) -> FloatArray:
    """Linear rates of the shifts of n equispaced atoms, for q = 0..n-1 (module docstring).

    Parameters
    ----------
    beta
        Inverse temperature, from 0 to 1000 (350 with the unshifted kernel).
    count
        Number n of atoms, at least 1.
    direction
        ``"ascent"`` or ``"descent"``.
    normalized
        Whether the attention is softmax.
    kernel
        ``"shifted"`` or ``"unshifted"`` (for softmax without effect).

    Returns
    -------
    Rates per unit of time, shape (n,); above 0 means that the shift grows.  Rates below
    1e-14 of the terms of the sum are set to 0.

    Raises
    ------
    ValueError
        For an argument out of its range.
    """
    attention = checked_attention(beta, normalized=normalized, kernel=kernel)
    count = whole_number("count", count, at_least=1)
    sign = sign_of(direction)
    j = np.arange(count)
    angles = 2 * np.pi * j / count
    # Products j q are reduced modulo n, so that large ones cost no digits.
    waves = 2 * np.sin(np.pi * (np.outer(j, j) % count) / count) ** 2
    rates = waves @ kernel_second_derivative(attention.beta, angles) / count
    # Where terms of size up to (1 + beta) K cancel, only rounding is left.
    pulls = np.exp(-2 * attention.beta * np.sin(angles / 2) ** 2)
    sizes = (1 + attention.beta) * (waves @ pulls) / count
    rates[np.abs(rates) <= ROUNDING * sizes] = 0.0
    if normalized:
        rates /= pulls.mean()
    return np.asarray(sign * attention.amplitude * rates)


def equispaced_lifetime(
    beta: float,
    count: int,
    *,
    direction: str = "ascent",
    normalized: bool = False,
    kernel: str = "shifted",
) -> float:
    """Time in which the fastest shift of n equispaced atoms grows by a factor e.

    Parameters are those of :func:`equispaced_rates`.  Clusters that far apart last this
    time times the logarithm of what they are off by.

    Returns
    -------
    1 / (largest rate), or inf if no shift grows at a rate above the smallest number.

    Raises
    ------
    ValueError
        For an argument out of its range.
    """
    rates = equispaced_rates(
        beta, count, direction=direction, normalized=normalized, kernel=kernel
    )
    largest = float(rates[1:].max(initial=0.0))
    return 1 / largest if largest > 0 else float(np.inf)
