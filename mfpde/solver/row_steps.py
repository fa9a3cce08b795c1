"""The size of the steps of many runs at once, each with its own: choice, error, acceptance.

The kernels loop over the rows of a :class:`RowControl` and call what decides a single run's
steps (:mod:`mfpde.solver.step_sizes`, :mod:`mfpde.solver.time_stepping`).  A row that needs more
than that, since a number is not finite or a step too small to reach the end, is marked as odd and
left as it is: its own time loop finds out why.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from mfpde.arrays import BoolArray, ComplexArray, FloatArray, IntArray
from mfpde.compiled import compiled
from mfpde.solver.step_sizes import (
    BELOW_REFUSED,
    RELEASES,
    fitted,
    judged,
    mass_and_motion,
    smallest_step,
)
from mfpde.solver.time_loop import RECENT_STEPS, SMALLEST_STEP
from mfpde.solver.time_stepping import (
    UNRESOLVED_TOLERANCE,
    StepMoments,
    moment_norms,
)
from mfpde.transport.base import fill_defect
from mfpde.transport.circle import net_rate
from mfpde.transport.draining import IGNORED_SHARE, draining_quantile, draining_times


class RowControl(NamedTuple):
    """What decides the steps of each row, by the names of :class:`TimeLoop`'s attributes.

    ``target`` is the time that no step crosses, ``horizon`` the time span of the run;
    ``below`` and ``accepted`` are those of :class:`StepBelowRefused`; ``rates`` (rows, 6) ends
    with the last of ``known`` rates.  Of the step that is tried ``step`` is its length,
    ``wanted`` the one without a save to land on, ``draining`` the one that cells allow.
    """

    time: FloatArray
    target: FloatArray
    horizon: FloatArray
    longest: FloatArray
    attention_time: FloatArray
    tolerance: FloatArray
    accurate_step: FloatArray
    below: FloatArray
    accepted: IntArray
    steps: IntArray
    rejected: IntArray
    last_step: FloatArray
    rates: FloatArray
    known: IntArray
    step: FloatArray
    wanted: FloatArray
    draining: FloatArray
    lands: BoolArray
    is_odd: BoolArray

    @classmethod
    def of(cls, count: int) -> RowControl:
        """Return the control of ``count`` rows, all zero."""
        counts = ("accepted", "steps", "rejected", "known")
        kinds = dict.fromkeys(counts, np.int64) | dict.fromkeys(
            ("lands", "is_odd"), np.bool_
        )
        shapes = {"rates": (count, RECENT_STEPS)}
        arrays: list[Any] = [
            np.zeros(shapes.get(name, (count,)), kinds.get(name, np.float64))
            for name in cls._fields
        ]
        return cls(*arrays)

    def taken(self, rows: IntArray) -> RowControl:
        """Return the control of these rows alone."""
        arrays: list[Any] = [values[rows] for values in self]
        return RowControl(*arrays)


@compiled
def choose_steps(
    control: RowControl,
    masses: FloatArray,
    outflows: FloatArray,
    totals: FloatArray,
    draining_share: float,
) -> None:
    """Choose the step of each row, from masses (rows, n), outflows (rows, 2, n), totals."""
    for row in range(len(masses)):
        sent = outflows[row, 0] + outflows[row, 1]
        times = draining_times(masses[row], sent)
        quantile = draining_quantile(masses[row], times, IGNORED_SHARE * totals[row])
        draining = min(draining_share * quantile, control.longest[row])
        wanted = min(min(draining, control.accurate_step[row]), control.below[row])
        control.draining[row] = draining
        control.wanted[row] = wanted
        if not wanted >= SMALLEST_STEP * control.horizon[row]:
            control.is_odd[row] = True
            control.step[row] = 0.0
            continue
        step, lands = fitted(wanted, control.target[row] - control.time[row])
        control.step[row] = step
        control.lands[row] = lands


@compiled
def defects(
    old: FloatArray,
    new: FloatArray,
    first: FloatArray,
    last: FloatArray,
    steps: FloatArray,
) -> FloatArray:
    """Defects (rows, n) of the trapezoidal rule, from masses and outflows at both ends."""
    missed = np.empty(old.shape)
    for row in range(len(old)):
        rates = net_rate(first[row]), net_rate(last[row])
        fill_defect(
            missed[row], old[row], new[row], rates[0], rates[1], 0.5 * steps[row]
        )
    return missed


class RowMoments(NamedTuple):
    """Moments (rows, k) before and after a step and of its defect, and how errors weigh them.

    Of each row the first ``sizes`` count.
    """

    old: ComplexArray
    new: ComplexArray
    missed: ComplexArray
    weights: FloatArray
    sizes: IntArray


def row_norms(control: RowControl, moments: RowMoments) -> FloatArray:
    """Norms (rows, 3) of the error of each row's step, and of the rates of motion.

    Each row is a call of its own: compiled into a loop the sums, whose order is free, would have
    other last digits than those of a single run, and all its steps with them.
    """
    norms = np.zeros((len(moments.sizes), 3))
    for row, size in enumerate(moments.sizes.tolist()):
        if not control.is_odd[row]:
            old = moments.old[row, :size]
            four = StepMoments(
                old, old, moments.new[row, :size], moments.missed[row, :size]
            )
            weights = moments.weights[row, :size]
            norms[row] = moment_norms(weights, four, control.step[row])
    return norms


@compiled
def judge_steps(
    control: RowControl,
    norms: FloatArray,
    masses: FloatArray,
    moved: FloatArray,
    unresolved: FloatArray,
    totals: FloatArray,
) -> BoolArray:
    """Judge the step of each row from ``masses`` to ``moved``, and return what is accepted.

    ``norms`` (rows, 3) are those of :func:`row_norms`.
    """
    is_accepted = np.zeros(len(masses), dtype=np.bool_)
    for row in range(len(masses)):
        if control.is_odd[row]:
            continue
        step, error = control.step[row], norms[row, 0]
        mass, motion = mass_and_motion(masses[row], moved[row])
        share = unresolved[row] / max(totals[row], 1e-300)
        tolerance = control.tolerance[row] + UNRESOLVED_TOLERANCE * share
        size = tolerance * (norms[row, 1] + norms[row, 2])
        accurate_step, is_accurate = judged(error, size, step)
        if not (np.isfinite(error) and np.isfinite(mass + accurate_step)):
            control.is_odd[row] = True
            continue
        # A step cut short by a save says nothing against a longer one after it.
        cut_short = step < control.wanted[row]
        if not cut_short or accurate_step < step or not is_accurate:
            control.accurate_step[row] = accurate_step
        smallest = smallest_step(control.draining[row], control.attention_time[row])
        if not (is_accurate or step <= smallest):
            control.rejected[row] += 1
            control.below[row] = BELOW_REFUSED * step
            control.accepted[row] = 0
            continue
        is_accepted[row] = True
        control.accepted[row] += 1
        is_forgotten = control.accepted[row] >= len(RELEASES)
        factor = np.inf if is_forgotten else RELEASES[control.accepted[row]]
        control.below[row] *= factor
        for i in range(RECENT_STEPS - 1):
            control.rates[row, i] = control.rates[row, i + 1]
        control.rates[row, RECENT_STEPS - 1] = motion / step
        control.known[row] = min(control.known[row] + 1, RECENT_STEPS)
        if control.lands[row]:
            control.time[row] = control.target[row]
        else:
            control.time[row] += step
        control.last_step[row] = step
        control.steps[row] += 1
    return is_accepted
