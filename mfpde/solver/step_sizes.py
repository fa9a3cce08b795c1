"""The size of a step: below what was refused, up to a save, and what a step has moved."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled, compiled_sum
from mfpde.equation import MeanFieldEquation

BELOW_REFUSED = 0.8
# After as many steps as there are factors the step may be ten million times as long.
RELEASES = np.array([1.02**step for step in range(41)])
"""Factors by which the limit below a refused step is raised after 0, 1, ... accepted ones."""
_ROUNDING = 1e-14
# Below this share of the draining step, accuracy is the grid's matter, not the step's; near
# rest, where cells drain slowly, of the time in which attention moves a unit mass.
_SMALLEST_SHARE = 1e-3


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
        self.step, self._accepted = BELOW_REFUSED * step, 0

    def accept(self) -> None:
        """Note that a step was accepted."""
        self._accepted += 1
        if self._accepted >= len(RELEASES):
            self.step = np.inf
        else:
            self.step *= float(RELEASES[self._accepted])


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


@compiled_sum
def motion_of_atoms(before: FloatArray, after: FloatArray, masses: FloatArray) -> float:
    """Masses (n,) times the distances between points (n, d) before and after a step, summed."""
    total = 0.0
    for p in range(len(masses)):
        squared = 0.0
        for i in range(before.shape[1]):
            squared += (after[p, i] - before[p, i]) ** 2
        total += masses[p] * np.sqrt(squared)
    return total


@compiled
def judged(error: float, size: float, step: float) -> tuple[float, bool]:
    """Return the step that the error would allow, and whether this one is accurate.

    ``error`` is that of the step, ``size`` what is allowed of it per unit time.
    """
    allowed = size * step + _ROUNDING
    # The error is O(dt^3), what is allowed O(dt).
    ratio = 0.9 * math.sqrt(allowed / max(error, 1e-300))
    return step * min(max(ratio, 0.2), 2.0), error <= 2.0 * allowed


@compiled
def smallest_step(draining: float, attention_time: float) -> float:
    """Return the step that is accepted whatever its error: a smaller one would win nothing."""
    longest = min(draining, attention_time) if draining < math.inf else 0.0
    return _SMALLEST_SHARE * longest


@compiled
def fitted(wanted: float, remaining: float) -> tuple[float, bool]:
    """Fit a step to the time remaining to the next save: (step, whether it lands there)."""
    if wanted >= remaining * (1 - 1e-12):
        return remaining, True
    if wanted > remaining / 2:
        return remaining / 2, False
    return wanted, False
