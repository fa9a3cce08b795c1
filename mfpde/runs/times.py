"""Times of a run: where it ends, where it saves its state, and how long a step may be."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import (
    FloatArray,
    check_entries,
    real_array,
    real_number,
    whole_number,
)
from mfpde.runs.layers import SLIVER, Dynamics, Layers
from mfpde.runs.stopping import SHORTEST_TIME

DEFAULT_SAVES = 50
"""Intervals between the saves of a run of the density solver that is told no others."""
LARGEST_NUMBER_OF_SAVES = 1_000_000
ROUNDING = 1e-9
_SAFETY = 0.9
_SMALLEST_FACTOR, _LARGEST_FACTOR = 0.2, 2.0
_FACTOR_OF_FAR_TOO_LONG = 0.1


def end_time(dynamics: Dynamics, t_end: float | None, *, after: float = 0.0) -> float:
    """Return the end time of a run, by default the depth of its layers.

    ``ValueError`` if it is missing for a single equation, not above the start ``after``, or beyond
    the last layer.
    """
    layers = dynamics if isinstance(dynamics, Layers) else None
    if t_end is None and layers is None:
        raise ValueError("t_end = None must be the end time of the run")
    end = real_number("t_end", layers.depth if layers and t_end is None else t_end)
    if not SHORTEST_TIME <= end - after < np.inf:
        raise ValueError(
            f"t_end = {end!r} must be above start_time = {after:g}, the time of the start, "
            f"by at least {SHORTEST_TIME:g}"
        )
    if layers is not None and end > layers.depth * (1 + SLIVER):
        raise ValueError(
            f"t_end = {end:g} must be at most the total depth of the {len(layers)} "
            f"layers, {layers.depth:g}"
        )
    return end


def save_times(
    t_end: float,
    *,
    start_time: float = 0.0,
    save_every: float | None = None,
    save_at: ArrayLike | None = None,
    default_saves: int | None = None,
    breaks: Iterable[float] = (),
) -> FloatArray:
    """Return the times at which a run from ``start_time`` to ``t_end`` saves its state.

    They are the start, ``save_every``, twice that, ..., and the end; or exactly those of
    ``save_at``.  Without both they are the ends of about ``default_saves`` intervals, of which
    each of ``breaks`` between start and end is one, or start and end alone.  A save that misses
    a break by rounding is there: no step as short as that follows.  ``ValueError`` if a value is
    out of its range, ``save_at`` is empty or not increasing, both are given, or there would be
    more than a million saves.
    """
    t_end = real_number("t_end", t_end, above=start_time)
    if save_every is not None and save_at is not None:
        raise ValueError(
            f"save_every = {save_every!r} and save_at = {save_at!r} exclude each "
            "other: give one of them"
        )
    ends = np.unique([*breaks, t_end])
    if save_at is not None:
        return _round(_check_times(save_at, start_time, t_end), ends, start_time)
    if save_every is None:
        if default_saves is None:
            return np.array([start_time, t_end])
        intervals = whole_number("default_saves", default_saves, at_least=1)
        return _divide(np.insert(ends, 0, start_time), intervals)
    interval = real_number("save_every", save_every, above=0.0)
    count = (t_end - start_time) / interval
    if count > LARGEST_NUMBER_OF_SAVES:
        raise ValueError(
            f"save_every = {interval:g} up to t_end = {t_end:g} would give "
            f"{count:.3g} saves; at most {LARGEST_NUMBER_OF_SAVES} are allowed: "
            "raise save_every"
        )
    before_end = int(np.ceil(count * (1 - ROUNDING)))
    regular = np.append(start_time + interval * np.arange(before_end), t_end)
    return _round(regular, ends, start_time)


def _round(times: FloatArray, ends: FloatArray, start_time: float) -> FloatArray:
    """Return ``times``, with those that miss one of the increasing ``ends`` by rounding there."""
    tolerance = SLIVER * (ends[-1] - start_time)
    nearest = ends[np.searchsorted(ends[:-1], times - tolerance)]
    return np.where(np.abs(nearest - times) <= tolerance, nearest, times)


def _divide(ends: FloatArray, intervals: int) -> FloatArray:
    """Divide pieces between ``ends`` into equal intervals, about so many in all."""
    shares = np.diff(ends) / (ends[-1] - ends[0])
    counts = np.maximum(np.rint(intervals * shares).astype(int), 1)
    pieces = map(np.linspace, ends[:-1], ends[1:], counts + 1)
    return np.unique(np.concatenate([*pieces]))


def _check_times(save_at: ArrayLike, start_time: float, t_end: float) -> FloatArray:
    times = np.atleast_1d(real_array("save_at", save_at))
    if times.ndim != 1 or times.size == 0:
        raise ValueError(
            f"save_at of shape {times.shape} must be a nonempty list of times; "
            "leave it out for the default"
        )
    since, most = times - start_time, (t_end - start_time) * (1 + SLIVER)
    is_inside = (since == 0) | ((since >= SHORTEST_TIME) & (since <= most))
    allowed = (
        f"must lie within [{start_time:g}, t_end] = [{start_time:g}, {t_end:g}], at the start "
        f"or {SHORTEST_TIME:g} after it; raise t_end to save later"
    )
    check_entries("save_at", times, is_inside, allowed)
    increases = np.diff(times, prepend=-np.inf) > 0
    check_entries("save_at", times, increases, "must increase, as in numpy.unique")
    return times


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
