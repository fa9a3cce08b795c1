"""Times of a run: where it ends, and where its layers do."""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray, real_number
from mfpde.equation import MeanFieldEquation
from mfpde.runs.layers import SLIVER, Dynamics, layer_after, layer_before
from mfpde.runs.stopping import SHORTEST_TIME


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


def begins_layer(dynamics: Dynamics, time: float) -> bool:
    """Whether ``time`` is a breakpoint between two layers."""
    if isinstance(dynamics, MeanFieldEquation):
        return False
    breaks = dynamics.breakpoints
    return layer_before(breaks, time) < layer_after(breaks, time)


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
