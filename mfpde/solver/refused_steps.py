"""A limit by which the time loop returns slowly to a step size that was refused."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_BELOW_REFUSED = 0.8
_RELEASE = 1.02
# By then the step may be ten million times as long.
_REMEMBERED_STEPS = 40


@dataclass
class StepBelowRefused:
    """A limit of the step size, below the step that was refused last.

    A refusal sets the limit to 0.8 times the refused step.  Each accepted step raises it, by
    a larger factor each time, and after 40 accepted steps there is no limit.  Where the step
    is limited by stability, as late in descent, the error stays small until the step is too
    long: a step that may double after each success would be refused every other time.

    Attributes
    ----------
    step
        The longest step to try; inf before any step was refused.
    """

    step: float = np.inf
    _accepted: int = 0

    def refuse(self, step: float) -> None:
        """Note that ``step`` was refused."""
        self.step, self._accepted = _BELOW_REFUSED * step, 0

    def accept(self) -> None:
        """Note that a step was accepted."""
        self._accepted += 1
        if self._accepted > _REMEMBERED_STEPS:
            self.step = np.inf
        else:
            self.step *= _RELEASE**self._accepted
