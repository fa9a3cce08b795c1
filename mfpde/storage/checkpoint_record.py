"""Checkpoints of a run in its store: ``checkpoint/state``, replaced as a whole at each save.

The file begins with a line of its format and the BLAKE2 digest of all that follows: numpy
arrays and a text in JSON, as numpy writes several arrays; nothing in it is ever executed.  It is
written beside the old one and put in its place at once, so that a process that is killed
leaves one of the two.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mfpde.geometry import Geometry
from mfpde.measures.measure import AnyMeasure
from mfpde.runs.checkpoint import Checkpoint
from mfpde.runs.stored_names import CHECKPOINT
from mfpde.storage.equation_record import geometry_from_dict, geometry_to_dict
from mfpde.storage.errors import StoreError
from mfpde.storage.track_record import (
    event_from_dict,
    event_to_dict,
    junction_from_dict,
    junction_to_dict,
)
from mfpde.terms.array_files import read_member
from mfpde.tracking import OpenPath, Track, TrackerMemory, TreeMemory
from mfpde.transport import State

_FILE = "state"
_FORMAT = b"mfpde checkpoint 1 "
_ARRAYS = ("masses", "points", "atom_masses")


def checkpoint_file(path: str | Path) -> Path:
    """Return the place of the checkpoint in the store at ``path``."""
    return Path(path) / CHECKPOINT / _FILE


class StoredCheckpoint(NamedTuple):
    """A checkpoint as its file tells it.

    Attributes
    ----------
    checkpoint
        The checkpoint; the memory of its tracker is without what the records hold.
    noted
        The attributes of the store that grow with the run, as they were then.
    """

    checkpoint: Checkpoint
    noted: Mapping[str, Any]

    def with_records(
        self, track: Track | None, states: Sequence[AnyMeasure]
    ) -> StoredCheckpoint:
        """Return it with what its tracker has seen, from the saves before it."""
        memory, saves = self.checkpoint.tracker, self.checkpoint.saves
        if memory is None or track is None:
            return self
        seen = replace(
            track,
            times=track.times[:saves],
            seen=track.seen[:saves],
            verdicts=track.verdicts[:saves],
        )
        whole = memory._replace(track=seen, before=states[saves - 1])
        return self._replace(checkpoint=replace(self.checkpoint, tracker=whole))


def write_checkpoint(
    path: str | Path, checkpoint: Checkpoint, noted: Mapping[str, Any]
) -> None:
    """Replace the checkpoint of the store at ``path``, unless the new one is not finite.

    Raises
    ------
    OSError
        If it cannot be written; then the old one is still there.
    """
    if not checkpoint.is_finite:
        return
    place = checkpoint_file(path)
    new = place.with_suffix(f".{os.getpid()}.partial")
    try:
        with new.open("wb") as file:
            file.write(_as_bytes(checkpoint, noted))
            file.flush()
            os.fsync(file.fileno())
        new.replace(place)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def read_checkpoint(path: str | Path) -> StoredCheckpoint | None:
    """Return the checkpoint of the store at ``path``; None if it has none.

    Raises
    ------
    StoreError
        If it is damaged.
    """
    place = checkpoint_file(path)
    try:
        data = place.read_bytes()
    except FileNotFoundError:
        return None
    head, _, payload = data.partition(b"\n")
    if head != _FORMAT + _digest(payload):
        raise StoreError(f"{place} is damaged: it does not match its digest")
    try:
        return _from_bytes(payload)
    # Whatever a file may hold that someone else has made.
    except Exception as error:
        raise StoreError(f"{place} is damaged: {error}") from error


def _digest(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=16).hexdigest().encode()


def _as_bytes(checkpoint: Checkpoint, noted: Mapping[str, Any]) -> bytes:
    state = checkpoint.state
    record = {
        "geometry": geometry_to_dict(checkpoint.geometry),
        "cloud_size": int(state.cloud_size),
        "time": float(checkpoint.time),
        "saves": checkpoint.saves,
        "stage": checkpoint.stage,
        "numbers": dict(checkpoint.numbers),
        "events": [event_to_dict(event) for event in checkpoint.events],
        "held_back": checkpoint.held_back,
        "tracker": _memory_to_dict(checkpoint.tracker),
        "stopped_by": checkpoint.stopped_by,
        "noted": dict(noted),
    }
    text = np.frombuffer(json.dumps(record).encode(), dtype=np.uint8)
    file = io.BytesIO()
    arrays: dict[str, Any] = {name: getattr(state, name) for name in _ARRAYS}
    np.savez(file, record=text, **arrays)
    payload = file.getvalue()
    return _FORMAT + _digest(payload) + b"\n" + payload


def _from_bytes(payload: bytes) -> StoredCheckpoint:
    held = io.BytesIO(payload)
    record = json.loads(read_member(held, "record").tobytes())
    arrays = {name: read_member(held, name) for name in _ARRAYS}
    geometry = geometry_from_dict(record["geometry"])
    state = State(**arrays, cloud_size=record["cloud_size"])
    _check_fits(state, geometry)
    checkpoint = Checkpoint(
        state=state,
        geometry=geometry,
        time=float(record["time"]),
        saves=int(record["saves"]),
        stage=int(record["stage"]),
        numbers=dict(record["numbers"]),
        events=tuple(map(event_from_dict, record["events"])),
        held_back=str(record["held_back"]),
        tracker=_memory_of(record["tracker"]),
        stopped_by=str(record["stopped_by"]),
    )
    return StoredCheckpoint(checkpoint, dict(record["noted"]))


def _check_fits(state: State, geometry: Geometry) -> None:
    count, dimension = len(state.atom_masses), geometry.dimension
    shapes = (state.masses.shape, state.points.shape, state.atom_masses.shape)
    if shapes != (geometry.shape, (count, dimension), (count,)):
        raise ValueError(f"arrays of the shapes {shapes} do not fit {geometry!r}")


def _memory_to_dict(memory: TrackerMemory | None) -> dict[str, Any] | None:
    if memory is None:
        return None
    return {
        "junctions": [junction_to_dict(one) for one in memory.tree.junctions],
        "paths": [_path_to_dict(path) for path in memory.tree.paths],
        "next_identity": memory.tree.next_identity,
        "events_taken": memory.events_taken,
    }


def _memory_of(record: dict[str, Any] | None) -> TrackerMemory | None:
    if record is None:
        return None
    tree = TreeMemory(
        tuple(map(junction_from_dict, record["junctions"])),
        tuple(map(_path_of, record["paths"])),
        int(record["next_identity"]),
    )
    nothing = Track(np.empty(0), (), (), ())
    return TrackerMemory(nothing, None, tree, int(record["events_taken"]))


def _path_to_dict(path: OpenPath) -> dict[str, Any]:
    return {
        "identity": int(path.identity),
        "expected": np.asarray(path.expected).tolist(),
        "point": np.asarray(path.point).tolist(),
        "mass": float(path.mass),
        "is_forming": bool(path.is_forming),
        "seen_at": float(path.seen_at),
        "missed_at": [float(time) for time in path.missed_at],
    }


def _path_of(record: dict[str, Any]) -> OpenPath:
    return OpenPath(
        record["identity"],
        np.array(record["expected"], dtype=np.float64),
        np.array(record["point"], dtype=np.float64),
        record["mass"],
        record["is_forming"],
        record["seen_at"],
        tuple(record["missed_at"]),
    )
