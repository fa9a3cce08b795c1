"""Events of the atoms of a run: births, merges, fissions, deaths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mfpde.arrays import FloatArray

EventKind = Literal["birth", "merge", "fission", "death"]


@dataclass(frozen=True, eq=False)
class Event:
    """One event of a run's atoms.

    Attributes
    ----------
    kind
        ``"birth"`` (an atom formed), ``"merge"`` (atoms became one), ``"fission"`` (an
        atom spread into density or split) or ``"death"`` (an atom's mass went elsewhere).
    time
        Time at which the event happened.
    points, masses
        The atoms concerned, unit vectors (k, d) and masses (k,): the new atom of a birth,
        the parents of a merge (as they were just before), the atom that ended in a
        fission or death.
    """

    kind: EventKind
    time: float
    points: FloatArray
    masses: FloatArray

    def __str__(self) -> str:
        held = ", ".join(f"{mass:.6f}" for mass in self.masses)
        return f"t = {self.time:.8g}: {self.kind} ({held})"
