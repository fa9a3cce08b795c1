"""Events of the atoms of a run: births, merges, fissions, deaths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from mfpde.arrays import FloatArray
from mfpde.measures.measure import Atoms

if TYPE_CHECKING:
    import pandas

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


class Events(tuple[Event, ...]):
    """The events of a run in their order, a tuple that is a table too."""

    __slots__ = ()

    def to_pandas(self) -> pandas.DataFrame:
        """Return one row for each atom of each event.

        Columns are the number of the ``event`` from 0, its ``time`` and ``kind``, and
        ``mass`` and coordinates of the atom.
        """
        from pandas import DataFrame, concat

        tables = [DataFrame(columns=["event", "time", "kind", "mass"])]
        for number, event in enumerate(self):
            told = {"event": number, "time": event.time, "kind": event.kind}
            atoms = Atoms(event.points, event.masses)
            tables.append(DataFrame({**told, **atoms.columns}))
        return concat(tables[bool(self) :], ignore_index=True)
