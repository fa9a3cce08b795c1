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


def with_breakpoints(dynamics: Dynamics, times: FloatArray) -> FloatArray:
    """Return the ``times`` of saves with the breakpoints between them; both only once."""
    if isinstance(dynamics, MeanFieldEquation):
        return times
    breaks, tolerance = dynamics.breakpoints, SLIVER * dynamics.depth
    inner = breaks[(breaks > times[0] + tolerance) & (breaks < times[-1] - tolerance)]
    together = np.sort(np.concatenate([times, inner]))
    kept = np.append(np.diff(together) > tolerance, True)
    return np.asarray(together[kept])
