r"""The time in which two atoms that attract each other approach, in closed form.

Two atoms of total mass M at the angle D, with y = 1 - cos D, approach in ascent with the shifted
kernel, in any dimension, by (derived here; softmax: of shares p + q = 1, k = e^(-beta y))

    D' = -M k sin D                                                   unnormalised
    D' = -k (q / (p + q k) + p / (q + p k)) sin D                      softmax

so that unnormalised

    2 M T = Ei(beta y_0) - Ei(beta y_1) + e^(2 beta) (E_1(beta (2 - y_0)) - E_1(beta (2 - y_1))).

In u = log((2 - y) / y) / 2 the time is int e^(beta y) du / M, for softmax
int du / (k (q / (p + q k) + p / (q + p k))): no cancellation, and beta = 0 is included.  It is
computed by Gauss-Legendre quadrature on panels that grow away from the start, where the integrand
is largest.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, real_number
from mfpde.theory.curvature import checked_attention

NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)
FIRST_PANEL, LARGEST_PANEL, GROWTH = 1e-4, 0.1, 1.5
"""In u; the integrand falls off over no less than 1 / (4 beta + 4) >= 2e-4 at the start."""
SMALLEST_ANGLE = 1e-100
"""The square of a smaller angle is soon no number."""


def merge_time(
    beta: float,
    mass: float = 1.0,
    *,
    start_angle: float,
    end_angle: float,
    normalized: bool = False,
    share: float = 0.5,
    kernel: str = "shifted",
) -> float:
    """Time in which two atoms alone come from ``start_angle`` to ``end_angle`` in ascent.

    The time is the same in any dimension (the atoms stay on their great circle); in descent it
    is that of the way back.  Formula: this module's docstring (derived).

    Begin with ``merge_time(5.0, start_angle=1.0, end_angle=1e-3)``.

    Parameters
    ----------
    beta
        Inverse temperature, from 0 to 1000 (350 with the unshifted kernel).
    mass
        Total mass M; under softmax without effect.
    start_angle, end_angle
        Angles between the atoms in radians, 0 < end_angle <= start_angle < pi.  Exact atoms
        of a run merge at 1e-6.
    normalized
        Whether the attention is softmax.
    share
        Share of the total mass in one of the atoms, above 0 and at most 1/2; it matters
        under softmax only.
    kernel
        ``"shifted"`` or ``"unshifted"``, which divides the time by e^beta (not for
        softmax).

    Returns
    -------
    The time, or inf where it is above the largest number (1.8e308).

    Raises
    ------
    ValueError
        For an argument out of its range.
    """
    attention = checked_attention(beta, normalized=normalized, kernel=kernel)
    mass = real_number("mass", mass, above=0.0)
    share = real_number("share", share, above=0.0, at_most=0.5)
    wide = real_number("start_angle", start_angle, above=0.0)
    close = real_number("end_angle", end_angle, at_least=SMALLEST_ANGLE)
    if not close <= wide < np.pi:
        raise ValueError(
            f"end_angle = {close!r}, start_angle = {wide!r}: allowed is "
            "0 < end_angle <= start_angle < pi"
        )
    start, end = -np.log(np.tan(np.array([wide, close]) / 2))
    edges = _panels(float(start), float(end))
    half = np.diff(edges) / 2
    u = edges[:-1, np.newaxis] + half[:, np.newaxis] * (NODES + 1)
    y = 2 / (np.exp(np.minimum(2 * u, 700.0)) + 1)
    pull = np.asarray(mass * attention.amplitude)
    if normalized:
        k, other = attention.zonal_kernel.slope(1 - y), 1 - share
        pull = other / (share + other * k) + share / (other + share * k)
    logs = attention.beta * y - np.log(pull)
    largest = float(logs.max())
    total = float((np.exp(logs - largest) * WEIGHTS).sum(axis=1) @ half)
    with np.errstate(over="ignore"):
        return float(np.exp(largest + np.log(total))) if total > 0 else 0.0


def _panels(start: float, end: float) -> FloatArray:
    """Edges of panels from ``start`` to ``end``, which grow up to the largest."""
    count = int(np.log(LARGEST_PANEL / FIRST_PANEL) / np.log(GROWTH)) + 1
    growing = FIRST_PANEL * GROWTH ** np.arange(count)
    even = np.full(1 + max(0, int((end - start) / LARGEST_PANEL)), LARGEST_PANEL)
    inner = start + np.cumsum(np.concatenate([growing, even]))
    return np.concatenate([[start], inner[inner < end], [end]])
