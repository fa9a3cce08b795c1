"""How the time loop comes back to a step size that was refused."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_BELOW_REFUSED = 0.8
_RELEASE = 1.02
# By then the step may be ten million times as long.
_REMEMBERED_STEPS = 40


@dataclass
class StepBelowRefused:
    """A step below the one refused last, let go step by step, each time by more.

    Where the step is limited by stability, as it is late in descent, the error shows nothing
    of it until it is too late: a step that may double after each success is refused every
    other time.

    Attributes
    ----------
    step
        The longest step to try; inf before any was refused.
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
