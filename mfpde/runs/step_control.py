"""The size of steps: what the error of the last one allows, up to a save."""

from __future__ import annotations

import math

_SAFETY = 0.9
_SMALLEST_FACTOR, _LARGEST_FACTOR = 0.2, 2.0
_FACTOR_OF_FAR_TOO_LONG = 0.1


def adapt_step(step: float, error: float) -> float:
    """Return the length of the next step from the ``error`` of a ``step`` over what is allowed.

    The error is O(dt^3), what is allowed O(dt).  It is inf if the step was not made.
    """
    if error == math.inf:
        return step * _FACTOR_OF_FAR_TOO_LONG
    factor = _SAFETY / math.sqrt(max(error, 1e-300))
    return step * min(max(factor, _SMALLEST_FACTOR), _LARGEST_FACTOR)


def fit_step(longest: float, remaining: float) -> float:
    """Return a step up to ``longest`` that ends with the time ``remaining``, or leaves as much."""
    if longest >= remaining * (1 - 1e-12):
        return remaining
    return min(longest, remaining / 2)
