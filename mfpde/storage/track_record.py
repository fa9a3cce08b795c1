"""The track of a run's atoms as variables of its records, and back.

    tracked_points(time, tracked_atom, axis), tracked_masses(time, tracked_atom),
    tracked_arrived_masses, tracked_identities,
    tracked_forming (1 or 0)                           NaN beyond the atoms of that time
    verdict(time, character)                           UTF-8, zero beyond the text

The junctions of the tree are an attribute, a list in JSON (whose numbers are exact).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mfpde.arrays import FloatArray, read_only
from mfpde.measures.events import Event
from mfpde.measures.measure import AnyMeasure
from mfpde.runs.stored_names import (
    AXIS,
    CHARACTER,
    TIME,
    TRACKED_ATOM,
    TRACKED_ATOMS,
    VERDICT,
)
from mfpde.storage.growing_store import Variable
from mfpde.tracking import Junction, SeenAtoms, Track

if TYPE_CHECKING:
    import xarray as xr


def track_variables(seen: SeenAtoms | None, verdict: str) -> dict[str, Variable]:
    """Return the atoms seen at one save as variables; none if atoms are not tracked."""
    if seen is None:
        return {}
    text = np.frombuffer(verdict.encode("utf-8"), dtype=np.uint8)
    variables = {
        VERDICT: Variable(text, (CHARACTER,), {"long_name": "verdict in UTF-8"})
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
            (TRACKED_ATOM, AXIS)[: numbers.ndim],
            {"long_name": meaning, "units": "1"},
        )
    return variables


def stored_track(
    dataset: xr.Dataset, junctions: str, final: AnyMeasure
) -> Track | None:
    """Return the track of all records; None if they have none.

    Parameters
    ----------
    dataset
        The records.
    junctions
        The attribute that :func:`junctions_json` made.
    final
        The last state, which has the dimension and the total mass of all.
    """
    if VERDICT not in dataset:
        return None
    times = np.asarray(dataset[TIME].values, dtype=np.float64)
    texts = np.asarray(dataset[VERDICT].values, dtype=np.uint8)
    arrays = {n: np.asarray(dataset[n].values) for n in TRACKED_ATOMS if n in dataset}
    last = times[-1] if len(times) else -np.inf
    return Track(
        times=times,
        seen=tuple(
            _seen({n: a[i] for n, a in arrays.items()}, final.dimension)
            for i in range(len(times))
        ),
        verdicts=tuple(bytes(t[t > 0]).decode("utf-8") for t in texts),
        # A process may have been killed between the junctions and their record.
        junctions=tuple(
            junction
            for junction in map(junction_from_dict, json.loads(junctions))
            if junction.latest <= last
        ),
        total_mass=final.total_mass,
    )


def junctions_json(junctions: Sequence[Junction]) -> str:
    """Return junctions as JSON."""
    return json.dumps([junction_to_dict(junction) for junction in junctions])


def junction_to_dict(junction: Junction) -> dict[str, Any]:
    """Return a junction as plain numbers and words."""
    return event_to_dict(junction.event) | {
        "earliest": junction.earliest,
        "latest": junction.latest,
        "parents": junction.parents,
        "children": junction.children,
    }


def events_json(events: Sequence[Event]) -> str:
    """Return events as JSON."""
    return json.dumps([event_to_dict(event) for event in events])


def all_events(
    earlier: Sequence[Event], later: Sequence[Event], track: Track | None
) -> tuple[Event, ...]:
    """Return the events of a run that was resumed.

    A track goes on from the first part of the run and has all events already; the solver
    tells only of later events.
    """
    if track is not None and tuple(later) == track.events:
        return tuple(later)
    return (*earlier, *later)


def stored_events(text: str | None, track: Track | None) -> tuple[Event, ...]:
    """Return the events of :func:`events_json`; where there is no text, the track's."""
    if text is None:
        return () if track is None else track.events
    return tuple(map(event_from_dict, json.loads(text)))


def event_to_dict(event: Event) -> dict[str, Any]:
    """Return an event as plain numbers and words."""
    return {
        "kind": event.kind,
        "time": float(event.time),
        "points": event.points.tolist(),
        "masses": event.masses.tolist(),
    }


def event_from_dict(record: dict[str, Any]) -> Event:
    """Return the event of :func:`event_to_dict`, to the bit."""
    return Event(
        record["kind"],
        record["time"],
        read_only(np.array(record["points"], dtype=np.float64)),
        read_only(np.array(record["masses"], dtype=np.float64)),
    )


def junction_from_dict(record: dict[str, Any]) -> Junction:
    """Return the junction of :func:`junction_to_dict`, to the bit."""
    return Junction(
        event_from_dict(record),
        record["earliest"],
        record["latest"],
        parents=tuple(record["parents"]),
        children=tuple(record["children"]),
    )


def _seen(row: dict[str, FloatArray], dimension: int) -> SeenAtoms:
    if not row:
        nothing = np.empty(0)
        return SeenAtoms(
            np.empty((0, dimension)), nothing, nothing.astype(bool), nothing.astype(int)
        )
    there = ~np.isnan(row["tracked_masses"])
    return SeenAtoms(
        row["tracked_points"][there],
        row["tracked_masses"][there],
        row["tracked_forming"][there] > 0,
        row["tracked_identities"][there].astype(np.int64),
        arrived_masses=_arrived(row, there),
    )


def _arrived(row: dict[str, FloatArray], there: NDArray[np.bool_]) -> FloatArray | None:
    """Arrived masses (n,), or None in stores of versions that did not keep them."""
    if "tracked_arrived_masses" not in row:
        return None
    return row["tracked_arrived_masses"][there]
