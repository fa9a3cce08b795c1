"""The track of a run's atoms as variables of its saves, and back.

    tracked_points(time, tracked_atom, axis), tracked_masses(time, tracked_atom),
    tracked_arrived_masses, tracked_identities,
    tracked_forming (1 or 0)                           NaN beyond the atoms of that time
    verdict(time, character)                           UTF-8, zero beyond the text

The junctions of the tree are an attribute, a list in JSON (whose numbers are exact).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mfpde.arrays import FloatArray
from mfpde.measures.measure import AnyMeasure
from mfpde.runs.stored_names import TIME, TRACKED_ATOMS, VERDICT
from mfpde.storage.converter import junctions_of
from mfpde.storage.variables import Record, Variable
from mfpde.tracking import SeenAtoms, Track

if TYPE_CHECKING:
    import xarray as xr

TRACK_VARIABLES = (*TRACKED_ATOMS, VERDICT)


def track_variables(seen: SeenAtoms | None, verdict: str) -> Record:
    """Return the atoms seen at one save as variables; none if atoms are not tracked."""
    if seen is None:
        return {}
    text = np.frombuffer(verdict.encode("utf-8"), dtype=np.uint8)
    variables = {
        "verdict": Variable(text, ("character",), {"long_name": "verdict in UTF-8"})
    }
    if not len(seen):
        return variables
    columns = {
        "tracked_points": (seen.points, "unit vectors of the atoms seen"),
        "tracked_masses": (seen.masses, "masses of the atoms seen"),
        "tracked_identities": (seen.identities, "the same atom has the same number"),
        "tracked_forming": (seen.is_forming, "1 for atoms that are forming still"),
    }
    if seen.arrived_masses is not None:
        columns["tracked_arrived_masses"] = (
            seen.arrived_masses,
            "what of the masses is in the atoms seen",
        )
    for name, (values, meaning) in columns.items():
        numbers = np.asarray(values, dtype=np.float64)
        variables[name] = Variable(
            numbers,
            ("tracked_atom", "axis")[: numbers.ndim],
            {"long_name": meaning, "units": "1"},
        )
    return variables


def track_of(dataset: xr.Dataset, junctions: str, final: AnyMeasure) -> Track | None:
    """Return the track of all saves; None if they have none.

    Parameters
    ----------
    dataset
        The saves.
    junctions
        The attribute with the junctions of the tree.
    final
        The last state, which has the dimension and the total mass of all.
    """
    if "verdict" not in dataset:
        return None
    times = np.asarray(dataset[TIME].values, dtype=np.float64)
    texts = np.asarray(dataset["verdict"].values, dtype=np.uint8)
    arrays = {n: np.asarray(dataset[n].values) for n in TRACKED_ATOMS if n in dataset}
    last = times[-1] if len(times) else -np.inf
    return Track(
        times=times,
        seen=tuple(
            _seen({n: a[i] for n, a in arrays.items()}, final.dimension)
            for i in range(len(times))
        ),
        verdicts=tuple(bytes(t[t > 0]).decode("utf-8") for t in texts),
        # A process may have been killed between the junctions and their save.
        junctions=tuple(one for one in junctions_of(junctions) if one.latest <= last),
        total_mass=final.total_mass,
    )


def _seen(row: dict[str, FloatArray], dimension: int) -> SeenAtoms:
    if not row:
        nothing = np.empty(0)
        return SeenAtoms(
            np.empty((0, dimension)), nothing, nothing.astype(bool), nothing.astype(int)
        )
    there: NDArray[np.bool_] = ~np.isnan(row["tracked_masses"])
    arrived = row.get("tracked_arrived_masses")
    return SeenAtoms(
        row["tracked_points"][there],
        row["tracked_masses"][there],
        row["tracked_forming"][there] > 0,
        row["tracked_identities"][there].astype(np.int64),
        arrived_masses=None if arrived is None else arrived[there],
    )
