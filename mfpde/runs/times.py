"""Times of a run: where it ends, and where it saves its state."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, real_array, real_number, whole_number
from mfpde.equation import MeanFieldEquation
from mfpde.runs.layers import SLIVER, Dynamics
from mfpde.runs.stopping import SHORTEST_TIME

DEFAULT_SAVES = 50
"""Intervals between the saves of a run of the density solver that is told no others."""
LARGEST_NUMBER_OF_SAVES = 1_000_000
ROUNDING = 1e-9
LAST_DIGITS = 1e-14


def end_time(dynamics: Dynamics, t_end: float | None, *, after: float = 0.0) -> float:
    """Return the end time of a run, by default the depth of its layers.

    Raises
    ------
    ValueError
        If it is missing for a single equation, not above the start ``after``, or beyond the
        last layer.
    """
    if isinstance(dynamics, MeanFieldEquation):
        if t_end is None:
            raise ValueError("t_end = None must be the end time of the run")
        return _checked_end(t_end, after)
    depth = dynamics.depth
    if t_end is None:
        return real_number("t_end, the depth of the layers,", depth, above=after)
    t_end = _checked_end(t_end, after)
    if t_end > depth * (1 + SLIVER):
        raise ValueError(
            f"t_end = {t_end:g} must be at most the total depth of the {len(dynamics)} "
            f"layers, {depth:g}"
        )
    return t_end


def _checked_end(t_end: float, start: float) -> float:
    """Return ``t_end`` if it is later than ``start``, else raise ``ValueError``."""
    end = real_number("t_end", t_end)
    if not SHORTEST_TIME <= end - start < np.inf:
        raise ValueError(
            f"t_end = {t_end!r} must be above start_time = {start:g}, the time of the start, "
            f"by at least {SHORTEST_TIME:g}"
        )
    return end


def aligned_with_layers(dynamics: Dynamics, times: FloatArray) -> FloatArray:
    """Return about as many ``times`` of saves, of which each breakpoint between them is one.

    The intervals of a layer are equal, and there is at least one: of a single equation the
    times are those given.
    """
    if isinstance(dynamics, MeanFieldEquation):
        return times
    first, last = times[0], times[-1]
    breaks, tolerance = dynamics.breakpoints, SLIVER * dynamics.depth
    inner = breaks[(breaks > first + tolerance) & (breaks < last - tolerance)]
    ends = np.concatenate([[first], inner, [last]])
    shares = np.diff(ends) / (last - first)
    intervals = np.maximum(np.rint((len(times) - 1) * shares).astype(int), 1)
    pieces = [
        np.linspace(begin, end, count, endpoint=False)
        for begin, end, count in zip(ends[:-1], ends[1:], intervals, strict=True)
    ]
    return np.append(np.concatenate(pieces), last)


def times_of_saves(
    dynamics: Dynamics,
    start_time: float,
    t_end: float,
    *,
    save_every: float | None = None,
    save_at: ArrayLike | None = None,
) -> FloatArray:
    """Return the times of saves of a run of the density solver, as :func:`save_times`.

    By default they are the ends of about 50 intervals, breakpoints of layers among them.
    """
    if save_at is not None:
        save_at = real_array("save_at", save_at) - start_time
    times = save_times(
        t_end - start_time,
        save_every=save_every,
        save_at=save_at,
        default_saves=DEFAULT_SAVES,
    )
    # Adding the start again must not move the last save past the end.
    times = np.minimum(times + start_time, t_end)
    is_default = save_every is None and save_at is None
    return aligned_with_layers(dynamics, times) if is_default else times


def save_times(
    t_end: float,
    *,
    save_every: float | None = None,
    save_at: ArrayLike | None = None,
    default_saves: int | None = None,
) -> FloatArray:
    """Return the times at which a run over [0, t_end] saves its state, increasing.

    Parameters
    ----------
    t_end
        End of the run, above 0.
    save_every
        Saves at 0, save_every, 2 save_every, ..., and at t_end.
    save_at
        Saves at exactly these times: increasing, within [0, t_end].
    default_saves
        If neither is given, saves at the ends of this many equal intervals; without it
        at 0 and t_end only.

    Raises
    ------
    ValueError
        If a value is out of its range, ``save_at`` is empty or not increasing, both
        ``save_every`` and ``save_at`` are given, or there would be more than a million
        saves.
    """
    t_end = real_number("t_end", t_end, above=0.0)
    if save_every is not None and save_at is not None:
        raise ValueError(
            f"save_every = {save_every!r} and save_at = {save_at!r} exclude each "
            "other: give one of them"
        )
    if save_at is not None:
        return _checked(save_at, t_end)
    if save_every is not None:
        return _regular(real_number("save_every", save_every, above=0.0), t_end)
    if default_saves is None:
        return np.array([0.0, t_end])
    return np.linspace(
        0.0, t_end, whole_number("default_saves", default_saves, at_least=1) + 1
    )


def _regular(interval: float, t_end: float) -> FloatArray:
    intervals = t_end / interval
    if intervals > LARGEST_NUMBER_OF_SAVES:
        raise ValueError(
            f"save_every = {interval:g} up to t_end = {t_end:g} would give "
            f"{intervals:.3g} saves; at most {LARGEST_NUMBER_OF_SAVES} are allowed: "
            "raise save_every"
        )
    # A multiple that misses t_end by rounding only is t_end itself.
    before_end = int(np.ceil(intervals * (1 - ROUNDING)))
    return np.append(interval * np.arange(before_end), t_end)


def _checked(save_at: ArrayLike, t_end: float) -> FloatArray:
    times = np.atleast_1d(real_array("save_at", save_at))
    if times.ndim != 1 or times.size == 0:
        raise ValueError(
            f"save_at of shape {times.shape} must be a nonempty list of times; "
            "leave it out for the default"
        )
    beyond_by_rounding = (times > t_end) & (times <= t_end * (1 + ROUNDING))
    times[beyond_by_rounding] = t_end
    if 0 < t_end - times[-1] <= LAST_DIGITS * t_end:
        # Sums of durations have other last digits: no step as short as they follows a save.
        times[-1] = t_end
    outside = (times < 0) | (times > t_end) | ((times > 0) & (times < SHORTEST_TIME))
    if outside.any():
        where = int(np.argmax(outside))
        raise ValueError(
            f"save_at[{where}] = {times[where]:g} must lie within [0, t_end] = "
            f"[0, {t_end:g}], not between 0 and {SHORTEST_TIME:g}; raise t_end to save later"
        )
    falling = np.diff(times) <= 0
    if falling.any():
        where = int(np.argmax(falling))
        raise ValueError(
            f"save_at must increase, but save_at[{where}] = {times[where]:g} is "
            f"followed by {times[where + 1]:g}; use numpy.unique(save_at)"
        )
    return times
