"""The times at which a run saves its state: regular, given, or ends of equal intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, real_array, real_number, whole_number

LARGEST_NUMBER_OF_SAVES = 1_000_000
ROUNDING = 1e-9


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
    outside = (times < 0) | (times > t_end)
    if outside.any():
        where = int(np.argmax(outside))
        raise ValueError(
            f"save_at[{where}] = {times[where]:g} must lie within [0, t_end] = "
            f"[0, {t_end:g}]; raise t_end to save later"
        )
    falling = np.diff(times) <= 0
    if falling.any():
        where = int(np.argmax(falling))
        raise ValueError(
            f"save_at must increase, but save_at[{where}] = {times[where]:g} is "
            f"followed by {times[where + 1]:g}; use numpy.unique(save_at)"
        )
    return times
