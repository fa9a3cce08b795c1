r"""The time in which atoms that attract each other approach, in closed form.

n equal atoms of total mass M with the same angle D between any two of them, in ascent with
the shifted kernel, keep equal angles; with y = 1 - cos D (Geshkovski, Letrouit, Polyanskiy &
Rigollet, arXiv 2312.10794, for starts at right angles)

    y' = -(2 M / n) e^(-beta y) y (n - (n - 1) y)                     unnormalised
    y' = -2 e^(-beta y) y (n - (n - 1) y) / (1 + (n - 1) e^(-beta y))  softmax

In u = log((n - (n - 1) y) / y) / n these are

    dt = (n / (2 M)) e^(beta y) du,     dt = (e^(beta y) + n - 1) / 2 du.

n = 2 is D' = -M e^(-beta y) sin D, for any two masses of sum M, in any dimension, and there

    2 M T = Ei(beta y_0) - Ei(beta y_1) + e^(2 beta) (E_1(beta (2 - y_0)) - E_1(beta (2 - y_1))).

The integrals in u are computed by Gauss-Legendre quadrature on panels that grow away from
the start, where the integrand is largest: it has no cancellation, and includes beta = 0.
Softmax with two shares p + q = 1 has dt = du / (k (q / (p + q k) + p / (q + p k))),
k = e^(-beta y).  (All but the cited case is derived here.)
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mfpde.arrays import FloatArray, real_number, whole_number
from mfpde.theory.curvature import checked_attention

NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)
LARGEST_PANEL = 0.1
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

    def log_pace(y: FloatArray) -> FloatArray:
        if not normalized:
            return np.asarray(attention.beta * y - np.log(mass * attention.amplitude))
        k = attention.zonal_kernel.slope(1 - y)
        other = 1 - share
        pull = other / (share + other * k) + share / (other + share * k)
        return np.asarray(attention.beta * y - np.log(pull))

    return _duration(log_pace, 2, start_angle=start_angle, end_angle=end_angle)


def equiangular_rate(
    beta: float,
    count: int,
    *,
    angle: float,
    normalized: bool = False,
    kernel: str = "shifted",
) -> float:
    """Rate of change of the angle between n equal, equiangular atoms in ascent.

    Total mass 1.  n = 3 on S^2 is the largest such set there that can merge; in descent the
    sign is opposite.  Formula and sources: this module's docstring.

    Begin with ``equiangular_rate(5.0, count=3, angle=1.0)``.

    Parameters
    ----------
    beta, normalized
        As in :func:`merge_time`.
    count
        Number n of atoms, at least 2; they need a space of dimension n (n - 1 at the widest
        angle).
    angle
        Angle in radians between any two atoms, above 0 and at most arccos(-1/(n - 1)).
    kernel
        ``"shifted"`` or ``"unshifted"``, which multiplies the rate by e^beta (not for
        softmax).

    Raises
    ------
    ValueError
        For an argument out of its range.
    """
    attention = checked_attention(beta, normalized=normalized, kernel=kernel)
    count = whole_number("count", count, at_least=2)
    angle = real_number("angle", angle, above=0.0, at_most=_widest_angle(count))
    y = 2 * np.sin(angle / 2) ** 2
    pull = (
        2 * y * max(count - (count - 1) * y, 0.0) * attention.zonal_kernel.slope(1 - y)
    )
    if normalized:
        pull /= 1 + (count - 1) * attention.zonal_kernel.slope(1 - y)
    else:
        pull *= attention.amplitude / count
    return float(-pull / np.sin(angle)) if angle < np.pi else 0.0


def equiangular_time(
    beta: float,
    count: int,
    *,
    start_angle: float,
    end_angle: float,
    normalized: bool = False,
    kernel: str = "shifted",
) -> float:
    """Time in which n equal, equiangular atoms come from one angle to another in ascent.

    Total mass 1.  Formula and sources: this module's docstring.

    Begin with ``equiangular_time(5.0, count=3, start_angle=1.0, end_angle=1e-3)``.

    Parameters
    ----------
    beta, count, normalized, kernel
        As in :func:`equiangular_rate`.
    start_angle, end_angle
        Angles between any two atoms in radians,
        0 < end_angle <= start_angle < arccos(-1/(n - 1)).

    Returns
    -------
    The time, or inf where it is above the largest number (1.8e308).

    Raises
    ------
    ValueError
        For an argument out of its range.
    """
    attention = checked_attention(beta, normalized=normalized, kernel=kernel)
    count = whole_number("count", count, at_least=2)

    def log_pace(y: FloatArray) -> FloatArray:
        if normalized:
            others = np.log1p((count - 1) * attention.zonal_kernel.slope(1 - y))
            return np.asarray(attention.beta * y + others - np.log(2))
        return np.asarray(
            attention.beta * y + np.log(count / (2 * attention.amplitude))
        )

    return _duration(log_pace, count, start_angle=start_angle, end_angle=end_angle)


def _widest_angle(count: int) -> float:
    return float(np.arccos(-1 / (count - 1)))


def _position(count: int, angle: float) -> float:
    """The variable u in which the motion is integrated, at an angle between the atoms."""
    # n - (n - 1) y without cancellation next to the widest angle w, where it vanishes.
    widest = _widest_angle(count)
    left = 2 * (count - 1) * np.sin((widest + angle) / 2) * np.sin((widest - angle) / 2)
    return float(np.log(left) - np.log(2 * np.sin(angle / 2) ** 2)) / count


def _duration(
    log_pace: Callable[[FloatArray], FloatArray],
    count: int,
    *,
    start_angle: float,
    end_angle: float,
) -> float:
    """Integrate e^log_pace(y(u)) in u between two angles, y = n / (e^(n u) + n - 1)."""
    wide = real_number("start_angle", start_angle, above=0.0)
    close = real_number("end_angle", end_angle, at_least=SMALLEST_ANGLE)
    widest = _widest_angle(count)
    if not close <= wide < widest:
        raise ValueError(
            f"end_angle = {close!r}, start_angle = {wide!r}: allowed is "
            f"0 < end_angle <= start_angle < {widest:.6g}"
        )
    start, end = _position(count, wide), _position(count, close)
    # The integrand falls off over no less than 1/(4 beta + 4) >= 2e-4 at the start, and
    # where it falls off later it has a width of about 1.
    growing = 1e-4 * 1.5 ** np.arange(18)
    even = np.arange(1, 2 + max(0, int((end - start) / LARGEST_PANEL))) * LARGEST_PANEL
    inner = start + np.concatenate([np.cumsum(growing), growing.sum() + even])
    edges = np.concatenate([[start], inner[inner < end], [end]])
    half = np.diff(edges) / 2
    u = edges[:-1, np.newaxis] + half[:, np.newaxis] * (NODES + 1)
    growth = np.exp(np.minimum(count * u, 700.0))
    y = count / (growth + count - 1)
    logs = log_pace(y)
    largest = float(logs.max())
    total = float((np.exp(logs - largest) * WEIGHTS).sum(axis=1) @ half)
    with np.errstate(over="ignore"):
        return float(np.exp(largest + np.log(total))) if total > 0 else 0.0
