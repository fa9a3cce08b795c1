"""States as they are drawn: each with its equation, its time and the atoms found in it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure
from mfpde.plotting.atoms import NONE_FOUND, FoundAtoms, atoms_found
from mfpde.runs.run import Run


class Frame(NamedTuple):
    """A state as it is drawn: with its equation, the atoms found in it, and its time."""

    state: AnyMeasure
    equation: MeanFieldEquation | None = None
    found: FoundAtoms = NONE_FOUND
    time: float = 0.0

    @property
    def title(self) -> str:
        """The time in words."""
        return f"t = {self.time:.4g}"


def frames_of(run: Run, saves: Iterable[int], *, is_searched: bool) -> list[Frame]:
    """Return saved states under the equations of their times, searched for atoms or not."""
    frames = []
    for save in saves:
        state, time = run.states[save], float(run.times[save])
        equation = run.equation_at(time)
        found = atoms_found(state, equation) if is_searched else NONE_FOUND
        frames.append(Frame(state, equation, found, time))
    return frames
