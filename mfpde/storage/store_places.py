"""Stores of runs as places on disk: free paths, existing stores, reasons of a run's end."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import zarr

from mfpde.runs.stopping import StopReason, interrupted
from mfpde.storage.growing_store import StoreError

PARTICLES = "particles"
_CHECKSUM = "attributes_checksum"
_FIXED = ("equation", "geometry", "settings", "convention")


def check_free(path: str | Path, *, overwrite: bool = False) -> None:
    """Raise ``FileExistsError`` unless a run may be written at ``path``."""
    path = Path(path)
    if not path.exists():
        return
    if not overwrite:
        raise FileExistsError(
            f"{path} exists: choose another path, or replace it with overwrite=True "
            "(--overwrite)"
        )
    # Nothing but a store of our own is ever deleted.
    try:
        opened_group(path, None)
    except (FileNotFoundError, ValueError) as error:
        raise FileExistsError(
            f"{path} exists and is no store of a run: it will not be replaced; choose "
            "another path"
        ) from error


def stored_stop(path: str | Path) -> StopReason | None:
    """Return the reason of a stored run's end, or None if the run was killed before it."""
    attributes: dict[str, Any] = dict(opened_group(path, None).attrs)
    return stop_of(attributes, 0.0) if "stop_kind" in attributes else None


def stored_settings(path: str | Path) -> dict[str, Any] | None:
    """Return the settings from which a stored run was made, or None without settings."""
    attributes = dict(opened_group(path, None).attrs)
    check_attributes(path, attributes)
    text = attributes.get("settings")
    return None if text is None else dict(json.loads(str(text)))


def with_checksum(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes with a checksum of equation, grid and settings among them."""
    return {**attributes, _CHECKSUM: _attributes_checksum(attributes)}


def check_attributes(path: str | Path, attributes: Mapping[str, Any]) -> None:
    """Raise :class:`StoreError` if equation, grid or settings were changed on disk.

    Raises
    ------
    StoreError
        If they do not match their checksum; stores of older versions have none.
    """
    there = attributes.get(_CHECKSUM)
    if there is not None and there != _attributes_checksum(attributes):
        raise StoreError(
            f"{path}/zarr.json is damaged: equation, geometry or settings do not match "
            "their checksum"
        )


def _attributes_checksum(attributes: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps([attributes.get(name) for name in _FIXED]).encode())


def has_particles(path: str | Path) -> bool:
    """Whether the store at ``path`` holds a particle run beside the density run."""
    return PARTICLES in opened_group(path, None)


def created_group(path: str | Path, group: str | None, overwrite: bool) -> zarr.Group:
    """Return a new, empty store at ``path``, or a new ``group`` of the one there."""
    if group is None:
        check_free(path, overwrite=overwrite)
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return zarr.open_group(str(path), mode="w", zarr_format=3)
    whole = zarr.open_group(existing_store(path), mode="r+")
    if group in whole and not overwrite:
        raise FileExistsError(
            f"{path} has a group {group!r}: replace it with overwrite=True"
        )
    return whole.create_group(group, overwrite=overwrite)


def existing_store(path: str | Path) -> str:
    """Return ``path``, or raise ``FileNotFoundError`` if there is no store at it."""
    if not (Path(path) / "zarr.json").is_file():
        raise FileNotFoundError(f"there is no store of a run at {path}")
    return str(path)


def opened_group(path: str | Path, group: str | None) -> zarr.Group:
    """Return the store of a run, or a ``group`` of it, to be read."""
    try:
        whole = zarr.open_group(existing_store(path), mode="r")
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(
            f"{path}/zarr.json cannot be read, it is cut short or garbled: {error}"
        ) from error
    if "mfpde_version" not in whole.attrs:
        raise StoreError(f"{path} is a zarr store, but not of a run of mfpde")
    if group is None:
        return whole
    if group not in whole:
        raise FileNotFoundError(f"{path} has no group {group!r}")
    return zarr.open_group(str(path), path=group, mode="r")


def stop_of(attributes: Mapping[str, Any], reached: float) -> StopReason:
    """Return the reason of a run's end; without one the run was interrupted at ``reached``."""
    if "stop_kind" not in attributes:
        return interrupted(reached)
    return StopReason(str(attributes["stop_kind"]), str(attributes["stop_message"]))
