"""What stops a run before its end time, and the reasons of its end.

Every condition of ``stop=[...]`` is judged from the solution or from counts; only
:class:`WallTimeLimit` looks at the clock, and it changes when a run ends, never what it computes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, ClassVar

from mfpde.arrays import real_number, shown, whole_number
from mfpde.runs.progress import Progress

SHORTEST_TIME = 1e-100
"""A shorter run or step has no rates: changes divided by it are no numbers."""
STEP_LIMIT = "step_limit"
"""Kind of the reason with which a limit of steps stops a run."""
FAILED = ("non_finite", "step_too_small")
"""Kinds of the reasons of an end that is no result."""
ENDED = ("t_end", "steady_state", *FAILED, "vanished")
"""Kinds of the reasons after which a run does not go on."""
MESSAGES = {
    "t_end": "the end time t = {time:.6g} was reached",
    "interrupted": "interrupted at t = {time:.6g}; what was saved is kept; continue from "
    "run.final, or with `mfpde resume` if the run has a store",
    "non_finite": "a value was not finite at t = {time:.6g}; the last finite state is in "
    "run.final; look for overflowing weights or potentials, or lower max_step",
    "step_too_small": "at t = {time:.6g} only steps of {step:.1e} are stable or accurate, "
    "which would never reach the end; look for very large weights or potentials (with an "
    "unshifted kernel time is shorter by e^-beta), or raise rtol",
    "steady_state": "steady state at t = {time:.6g}: {rate:.2e} of mass moves per unit time "
    "(tolerance {tolerance:g}); for slower motion lower SteadyState's tolerance; an unstable "
    "equilibrium is left only by a perturbed start",
    STEP_LIMIT: "the limit of {steps} steps was reached at t = {time:.6g}; raise StepLimit, "
    "use fewer cells or a larger rtol, or continue from run.final",
    "wall_time_limit": "the limit of {seconds:g} s of wall time was reached at t = "
    "{time:.6g}; raise WallTimeLimit or continue from run.final",
}
"""What is said of the end of a run, and what to do then, by the kind of the reason."""


@dataclass(frozen=True)
class StopReason:
    """The reason of a run's end: ``kind`` for programs, ``message`` with the remedy for people."""

    kind: str
    message: str

    @classmethod
    def of(cls, kind: str, **numbers: float) -> StopReason:
        """Return the reason of a kind that is known, at a ``time``; some tell more numbers."""
        return cls(kind, MESSAGES[kind].format(**numbers))

    def __str__(self) -> str:
        return self.message


class StoppingCondition(ABC):
    """A condition that decides after each step whether, and why, the run stops.

    A condition that ``judges_rest`` looks at the last of several layers only, since what rests
    in one layer moves in the next.
    """

    judges_rest: ClassVar[bool] = False

    @abstractmethod
    def check(self, progress: Progress) -> StopReason | None:
        """Return the reason to stop, or None to go on."""


@dataclass(frozen=True)
class SteadyState(StoppingCondition):
    """Stop when the mass that changes cells per unit time is below ``tolerance``, not growing.

    An unstable state near which the change still grows is not steady; metastable
    clusters that approach each other more slowly than the tolerance are.  Of several layers
    it judges the last one that the run reaches.  A ``tolerance`` that is not above 0 is a
    ``ValueError``.

    Begin with ``SteadyState(1e-8)``.
    """

    judges_rest = True

    tolerance: float = 1e-8

    def __post_init__(self) -> None:
        real_number("tolerance", self.tolerance, above=0.0)

    def check(self, progress: Progress) -> StopReason | None:
        """Compare the change rate with the tolerance."""
        if not (progress.change_rate <= self.tolerance and progress.is_slowing):
            return None
        numbers = {"rate": progress.change_rate, "tolerance": self.tolerance}
        return StopReason.of("steady_state", time=progress.time, **numbers)


@dataclass(frozen=True)
class StepLimit(StoppingCondition):
    """Stop after ``steps`` time steps, at least 1; else a ``ValueError``.

    Begin with ``StepLimit(1000)``.
    """

    steps: int

    def __post_init__(self) -> None:
        whole_number("steps", self.steps, at_least=1)

    def check(self, progress: Progress) -> StopReason | None:
        """Compare the number of steps with the limit."""
        if progress.steps - progress.steps_before < self.steps:
            return None
        return StopReason.of(STEP_LIMIT, time=progress.time, steps=self.steps)


@dataclass(frozen=True)
class WallTimeLimit(StoppingCondition):
    """Stop after ``seconds`` of wall time, above 0; else a ``ValueError``.

    Begin with ``WallTimeLimit(3600.0)``.
    """

    seconds: float

    def __post_init__(self) -> None:
        real_number("seconds", self.seconds, above=0.0)

    def check(self, progress: Progress) -> StopReason | None:
        """Compare the time since the start with the limit."""
        seconds = self.seconds
        if monotonic() - progress.started_at < seconds:
            return None
        return StopReason.of("wall_time_limit", time=progress.time, seconds=seconds)


def stopping_conditions(
    stop: StoppingCondition | Sequence[StoppingCondition],
) -> tuple[StoppingCondition, ...]:
    """Return one or several conditions as a tuple; other objects raise ``ValueError``."""
    several: Any = stop
    if isinstance(stop, str) or not isinstance(stop, Sequence):
        several = (stop,)
    for condition in several:
        if not isinstance(condition, StoppingCondition):
            raise ValueError(
                f"stop holds {shown(condition)}; it takes SteadyState, StepLimit and "
                "WallTimeLimit, one or several"
            )
    return tuple(several)
