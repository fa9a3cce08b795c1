"""When a run saves its state, what stops it before its end time, and the reasons of its end.

Every condition of ``stop=[...]`` is judged from the solution or from counts; only
:class:`WallTimeLimit` looks at the clock, and it changes when a run ends, never what it computes.
Saves are regular, given, or the ends of equal intervals.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, real_array, real_number, shown, whole_number

LARGEST_NUMBER_OF_SAVES = 1_000_000
ROUNDING = 1e-9
LAST_DIGITS = 1e-14
SHORTEST_TIME = 1e-100
"""A shorter run or step has no rates: changes divided by it are no numbers."""
ENDED = ("t_end", "steady_state", "non_finite", "step_too_small")
"""Kinds of the reasons after which a run does not go on."""


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


@dataclass(frozen=True)
class StopReason:
    """The reason of a run's end: ``kind`` for programs, ``message`` with the remedy for people."""

    kind: str
    message: str

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class StepRecord:
    """The numbers by which a stopping condition may judge a step.

    ``change_rate`` is the mass that changed cells in the step, per unit time (half the
    L1 distance of the masses, plus the atoms' mass times their speed); ``slowing`` says
    that this rate did not grow over the last steps.
    """

    steps: int
    time: float
    change_rate: float
    slowing: bool
    started_at: float


class StoppingCondition(ABC):
    """A condition that decides after each step whether, and why, the run stops.

    A condition that ``judges_rest`` looks at the last of several layers only, since what rests
    in one layer moves in the next.
    """

    judges_rest: ClassVar[bool] = False

    @abstractmethod
    def check(self, record: StepRecord) -> StopReason | None:
        """Return the reason to stop, or None to go on."""


@dataclass(frozen=True)
class SteadyState(StoppingCondition):
    """Stop when the mass that changes cells per unit time is below ``tolerance``, not growing.

    An unstable state near which the change still grows is not steady; metastable
    clusters that approach each other more slowly than the tolerance are.  Of several layers
    it judges the last one that the run reaches.

    Begin with ``SteadyState(1e-8)``.

    Parameters
    ----------
    tolerance
        Mass per unit time, above 0.

    Raises
    ------
    ValueError
        If it is not so.
    """

    judges_rest = True

    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        real_number("tolerance", self.tolerance, above=0.0)

    def check(self, record: StepRecord) -> StopReason | None:
        """Compare the change rate with the tolerance."""
        if record.change_rate <= self.tolerance and record.slowing:
            return StopReason(
                "steady_state",
                f"steady state at t = {record.time:.6g}: {record.change_rate:.2e} of mass "
                f"moves per unit time (tolerance {self.tolerance:g}); for slower motion "
                "lower SteadyState's tolerance; an unstable equilibrium is left only by a "
                "perturbed start",
            )
        return None


@dataclass(frozen=True)
class StepLimit(StoppingCondition):
    """Stop after ``steps`` time steps.

    Begin with ``StepLimit(1000)``.

    Parameters
    ----------
    steps
        Number of steps, at least 1.

    Raises
    ------
    ValueError
        If it is not so.
    """

    steps: int

    def __post_init__(self) -> None:
        whole_number("steps", self.steps, at_least=1)

    def check(self, record: StepRecord) -> StopReason | None:
        """Compare the number of steps with the limit."""
        if record.steps >= self.steps:
            return StopReason(
                "step_limit",
                f"the limit of {self.steps} steps was reached at t = {record.time:.6g}; "
                "raise StepLimit, use fewer cells or a larger rtol, or continue from "
                "run.final",
            )
        return None


@dataclass(frozen=True)
class WallTimeLimit(StoppingCondition):
    """Stop after ``seconds`` of wall time.

    Begin with ``WallTimeLimit(3600.0)``.

    Parameters
    ----------
    seconds
        Seconds of wall time, above 0.

    Raises
    ------
    ValueError
        If it is not so.
    """

    seconds: float

    def __post_init__(self) -> None:
        real_number("seconds", self.seconds, above=0.0)

    def check(self, record: StepRecord) -> StopReason | None:
        """Compare the time since the start with the limit."""
        if monotonic() - record.started_at >= self.seconds:
            return StopReason(
                "wall_time_limit",
                f"the limit of {self.seconds:g} s of wall time was reached at t = "
                f"{record.time:.6g}; raise WallTimeLimit or continue from run.final",
            )
        return None


def stopping_conditions(
    stop: StoppingCondition | Sequence[StoppingCondition],
) -> tuple[StoppingCondition, ...]:
    """Return one or several conditions as a tuple; other objects raise ``ValueError``."""
    # Users hand over other things too.
    given: object = stop
    if isinstance(given, StoppingCondition):
        return (given,)
    several = (
        given if isinstance(given, Sequence) and not isinstance(given, str) else None
    )
    for condition in (given,) if several is None else several:
        if not isinstance(condition, StoppingCondition):
            raise ValueError(
                f"stop holds {shown(condition)}; it takes SteadyState, StepLimit and "
                "WallTimeLimit, one or several"
            )
    return tuple(stop)  # type: ignore[arg-type]


def reached_end(time_reached: float) -> StopReason:
    """Return the reason of a run that reached its end time."""
    return StopReason("t_end", f"the end time t = {time_reached:.6g} was reached")


def interrupted(time_reached: float) -> StopReason:
    """Return the reason of a run that the user interrupted."""
    return StopReason(
        "interrupted",
        f"interrupted at t = {time_reached:.6g}; what was saved is kept; continue from "
        "run.final, or with `mfpde resume` if the run has a store",
    )


def not_finite(time_reached: float) -> StopReason:
    """Return the reason of a run whose numbers left the finite range."""
    return StopReason(
        "non_finite",
        f"a value was not finite at t = {time_reached:.6g}; the last finite state is in "
        "run.final; look for overflowing weights or potentials, or lower max_step",
    )


def step_too_small(time_reached: float, step: float) -> StopReason:
    """Return the reason of a run whose steps became too small to reach its end."""
    return StopReason(
        "step_too_small",
        f"at t = {time_reached:.6g} only steps of {step:.1e} are stable or accurate, which "
        "would never reach the end; look for very large weights or potentials (with an "
        "unshifted kernel time is shorter by e^-beta), or raise rtol",
    )
