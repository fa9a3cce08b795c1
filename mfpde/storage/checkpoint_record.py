"""A checkpoint as bytes: numpy arrays and a text in JSON, as numpy writes several arrays.

Nothing in it is ever executed.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from mfpde.geometry import Geometry
from mfpde.measures.measure import AnyMeasure
from mfpde.runs.checkpoint import Checkpoint
from mfpde.storage.converter import events_of, json_of, record_of_tree, tree_of
from mfpde.storage.equation_record import geometry_from_dict, geometry_to_dict
from mfpde.terms.array_files import read_member
from mfpde.tracking import Track, TrackerMemory
from mfpde.transport import State

_ARRAYS = ("masses", "points", "atom_masses")


class StoredCheckpoint(NamedTuple):
    """A checkpoint as a store tells it.

    Attributes
    ----------
    checkpoint
        The checkpoint; the memory of its tracker is without what the saves hold.
    noted
        The attributes of the store that grow with the run, as they were then.
    """

    checkpoint: Checkpoint
    noted: Mapping[str, Any]

    def with_saves(
        self, track: Track | None, states: Sequence[AnyMeasure]
    ) -> StoredCheckpoint:
        """Return it with what its tracker has seen, from the saves before it."""
        memory, saves = self.checkpoint.tracker, self.checkpoint.saves
        if memory is None or track is None or saves == 0:
            return self
        seen = replace(
            track,
            times=track.times[:saves],
            seen=track.seen[:saves],
            verdicts=track.verdicts[:saves],
        )
        whole = memory._replace(track=seen, before=states[saves - 1])
        return self._replace(checkpoint=replace(self.checkpoint, tracker=whole))


def bytes_of_checkpoint(checkpoint: Checkpoint, noted: Mapping[str, Any]) -> bytes:
    """Return a checkpoint, with the attributes that grow, as bytes."""
    state, memory = checkpoint.state, checkpoint.tracker
    tracker = None
    if memory is not None:
        tracker = record_of_tree(memory.tree) | {"events_taken": memory.events_taken}
    record = {
        "geometry": geometry_to_dict(checkpoint.geometry),
        "cloud_size": int(state.cloud_size),
        "time": float(checkpoint.time),
        "saves": checkpoint.saves,
        "stage": checkpoint.stage,
        "numbers": dict(checkpoint.numbers),
        "events": json_of(checkpoint.events),
        "tracker": tracker,
        "stopped_by": checkpoint.stopped_by,
        "noted": dict(noted),
    }
    text = np.frombuffer(json.dumps(record, default=float).encode(), dtype=np.uint8)
    file = io.BytesIO()
    arrays: dict[str, Any] = {name: getattr(state, name) for name in _ARRAYS}
    np.savez(file, record=text, **arrays)
    return file.getvalue()


def checkpoint_of(data: bytes) -> StoredCheckpoint:
    """Return the checkpoint of :func:`bytes_of_checkpoint`.

    Raises
    ------
    ValueError
        If its arrays do not fit its grid.
    """
    held = io.BytesIO(data)
    record = json.loads(read_member(held, "record").tobytes())
    arrays = {name: read_member(held, name) for name in _ARRAYS}
    geometry = geometry_from_dict(record["geometry"])
    state = State(**arrays, cloud_size=record["cloud_size"])
    _check_fits(state, geometry)
    tracker = record["tracker"]
    memory = None
    if tracker is not None:
        nothing = Track(np.empty(0), (), (), ())
        taken = int(tracker["events_taken"])
        memory = TrackerMemory(nothing, None, tree_of(tracker), taken)
    checkpoint = Checkpoint(
        state=state,
        geometry=geometry,
        time=float(record["time"]),
        saves=int(record["saves"]),
        stage=int(record["stage"]),
        numbers=dict(record["numbers"]),
        events=events_of(record["events"]),
        tracker=memory,
        stopped_by=str(record["stopped_by"]),
    )
    return StoredCheckpoint(checkpoint, dict(record["noted"]))


def _check_fits(state: State, geometry: Geometry) -> None:
    count, dimension = len(state.atom_masses), geometry.dimension
    shapes = (state.masses.shape, state.points.shape, state.atom_masses.shape)
    if shapes != (geometry.shape, (count, dimension), (count,)):
        raise ValueError(f"arrays of the shapes {shapes} do not fit {geometry!r}")
