"""The size of a step: below what was refused, up to a save, and what a step has moved."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled_sum
from mfpde.equation import MeanFieldEquation

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


def attention_time(equation: MeanFieldEquation) -> float:
    """Time in which attention moves a unit mass: K is at most 1 or, unshifted, e^beta."""
    return 1.0 / max(1.0, equation.strength)


@compiled_sum
def mass_and_motion(before: FloatArray, after: FloatArray) -> tuple[float, float]:
    """Sum of the cell masses after a step, and half of the sum of their changes."""
    mass = changes = 0.0
    for i in range(len(after)):
        mass += after[i]
        changes += abs(after[i] - before[i])
    return mass, 0.5 * changes


def fitted(wanted: float, remaining: float) -> tuple[float, bool]:
    """Fit a step to the time remaining to the next save: (step, whether it lands there)."""
    if wanted >= remaining * (1 - 1e-12):
        return remaining, True
    if wanted > remaining / 2:
        return remaining / 2, False
    return wanted, False
