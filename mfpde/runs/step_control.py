"""The control of step sizes: by the error of the last step, below what was refused, up to a save.

A refusal sets a ceiling of 0.8 times the refused step.  Each accepted step raises it, by a larger
factor each time, and after 40 accepted steps there is none.  Where the step is limited by
stability, as late in descent, the error stays small until the step is too long: a step that may
double after each success would be refused every other time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from mfpde.transport import LARGEST_ERROR

BELOW_REFUSED = 0.8
RELEASE = 1.02
"""To the power 1, 2, ... it raises the ceiling after the first, the second, ... accepted step."""
RELEASED_AFTER = 40
"""Accepted steps after which there is no ceiling: it is ten million times as high by then."""
_SAFETY = 0.9
_SMALLEST_FACTOR, _LARGEST_FACTOR = 0.2, 2.0
_FACTOR_OF_FAR_TOO_LONG = 0.1


@dataclass(frozen=True)
class StepControl:
    """What is known about the size of the next step.

    Attributes
    ----------
    accurate
        The step that the error of the last one allows.
    ceiling
        The limit below the step that was refused last; inf before any was refused.
    accepted
        Steps accepted since then.
    """

    accurate: float = math.inf
    ceiling: float = math.inf
    accepted: int = 0

    @property
    def step(self) -> float:
        """The longest step to try."""
        return min(self.accurate, self.ceiling)


def adapt(
    control: StepControl, step: float, error: float, *, is_cut: bool
) -> tuple[bool, StepControl]:
    """Return whether a step is accepted, and the control of the next one.

    Parameters
    ----------
    control
        The control by which the step was chosen.
    step, error
        The step, and its error over what is allowed; inf if the step was not made.
    is_cut
        Whether a save cut it short: then it says nothing against a longer one.
    """
    is_accurate = error <= LARGEST_ERROR
    # The error is O(dt^3), what is allowed O(dt).
    factor = _SAFETY / math.sqrt(max(error, 1e-300))
    allowed = step * min(max(factor, _SMALLEST_FACTOR), _LARGEST_FACTOR)
    if error == math.inf:
        allowed = step * _FACTOR_OF_FAR_TOO_LONG
    is_news = not is_cut or allowed < step
    accurate = allowed if is_news else control.accurate
    if not is_accurate:
        return False, StepControl(accurate, BELOW_REFUSED * step, 0)
    accepted = control.accepted + 1
    is_free = accepted > RELEASED_AFTER
    ceiling = math.inf if is_free else control.ceiling * RELEASE**accepted
    return True, StepControl(accurate, ceiling, accepted)


def fit_step(longest: float, remaining: float) -> float:
    """Return a step up to ``longest`` that ends with the time ``remaining``, or leaves as much."""
    if longest >= remaining * (1 - 1e-12):
        return remaining
    return min(longest, remaining / 2)
