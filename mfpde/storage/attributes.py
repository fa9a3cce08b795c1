"""The attributes of a store: written together with their checksum, checked when they are read.

A store says which version of this layout it has; one of a newer version is left alone.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import zarr

from mfpde.storage.errors import StoreError

FORMAT = 3
"""Version of the layout of a store; earlier ones had no digests of what the arrays are."""
FORMAT_VERSION = "format_version"
VERSION = "mfpde_version"
EQUATION = "equation"
LAYERS = "layers"
"""Attribute of a store of several layers; ``equation`` is then that of the last one."""
BREAKPOINTS = "breakpoints"
GEOMETRY = "geometry"
REFINED = "refined_geometries"
REFINEMENTS = "refinements"
EVENTS = "events"
JUNCTIONS = "junctions"
CLOSING = ("stop_kind", "stop_message", "final_time", "statistics", EVENTS)
"""What is known when a run has ended, and forgotten when it goes on."""
GROWING = (EVENTS, JUNCTIONS, REFINED, REFINEMENTS)
"""What grows as the run goes."""
_CHECKSUM = "attributes_checksum"
_FIXED = (EQUATION, GEOMETRY, "settings", "convention")
_KNOWN = (*_FIXED, FORMAT_VERSION, VERSION, LAYERS, BREAKPOINTS, *CLOSING, *GROWING)
# Events have a checksum of their own.
_ALL = tuple(name for name in _KNOWN if name != EVENTS)
PROVENANCE = "provenance"
"""Attribute of a store: a record, as JSON, for each process that wrote it."""
_OWN_CHECKSUMS = {EVENTS: "events_checksum", PROVENANCE: "provenance_checksum"}
"""Attributes with a checksum of their own, and its name."""


class NewerStoreError(StoreError):
    """The store was written by a newer version, in a layout that this one does not know."""


def note(
    group: zarr.Group, changes: Mapping[str, Any], *, dropped: Collection[str] = ()
) -> None:
    """Change attributes of ``group`` in one write, with their checksum."""
    there: dict[str, Any] = dict(group.attrs)
    kept = {name: value for name, value in there.items() if name not in dropped}
    group.attrs.put(with_checksum({**kept, **changes}))


def with_checksum(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes with the checksum of those that a run is read from."""
    return {**attributes, _CHECKSUM: _checksum(attributes), **_own(attributes)}


def check_attributes(path: str | Path, attributes: Mapping[str, Any]) -> None:
    """Raise :class:`StoreError` if attributes were changed on disk, or are of a newer version.

    Raises
    ------
    StoreError
        If they do not match their checksums, or have none.
    NewerStoreError
        If a newer version wrote them.
    """
    version = attributes.get(FORMAT_VERSION, 0)
    if not isinstance(version, int) or version > FORMAT:
        raise NewerStoreError(
            f"{path} was written by a newer version of mfpde: its format_version is "
            f"{version!r}, and this one reads up to {FORMAT}"
        )
    if version < FORMAT:
        raise StoreError(
            f"{path} is damaged, or was written before there were checksums of all that is in "
            f"it: its format_version is {attributes.get(FORMAT_VERSION)!r} where {FORMAT} is read"
        )
    expected = {_CHECKSUM: _checksum(attributes), **_own(attributes)}
    if any(attributes.get(name) != found for name, found in expected.items()):
        raise StoreError(
            f"{path}/zarr.json is damaged: equation, geometry, settings or what was noted "
            "as the run went do not match their checksum"
        )


def _checksum(attributes: Mapping[str, Any]) -> int:
    found = {name: attributes[name] for name in _ALL if name in attributes}
    return zlib.crc32(json.dumps(found, sort_keys=True).encode())


def _own(attributes: Mapping[str, Any]) -> dict[str, int]:
    """Return the checksums of the attributes that have one of their own, by its name."""
    return {
        checksum: zlib.crc32(str(attributes[name]).encode())
        for name, checksum in _OWN_CHECKSUMS.items()
        if name in attributes
    }
