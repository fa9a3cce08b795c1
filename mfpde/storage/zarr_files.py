"""A Dataset on disk: one zarr store that xarray reads, written at once, checked when it is read.

The root attribute ``files`` has the digest of every other file of the store, and ``digest`` that
of all attributes: whatever is read was held against what was written before.  The store is
written into a folder of its own and moved into place, its own ``zarr.json`` at last: until then
the journal is what a run is read from.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.runs.stored_names import FINAL, TIME
from mfpde.storage.files import DESCRIPTION, FORMAT, NEW, StoreError, check_format

if TYPE_CHECKING:
    import xarray as xr

VERSION = "mfpde_version"
_FORMAT = "format_version"
_FILES = "files"
_DIGEST = "digest"
_CHUNK_ENTRIES = 2**15
_MOST_ROWS_IN_CHUNK = 1024
_NAMED = 3


def write_zarr(folder: Path, dataset: xr.Dataset) -> None:
    """Write a Dataset as the zarr store in ``folder``, its description last.

    What else is in the folder stays: the lock, the journal, a group.
    """
    import zarr

    new = folder / NEW
    shutil.rmtree(new, ignore_errors=True)
    # Without fill values: what is missing is damage.
    encoding: dict[str, dict[str, Any]] = {
        str(name): {"_FillValue": None} for name in dataset.variables
    }
    for name, variable in dataset.variables.items():
        if variable.size:
            encoding[str(name)]["chunks"] = _choose_chunks(variable)
    # Each of zarr's threads takes 64 MB of addresses, which limits of memory count.
    with zarr.config.set({"threading.max_workers": 1}):
        dataset.drop_attrs(deep=False).to_zarr(
            new,
            mode="w",
            zarr_format=3,
            consolidated=False,
            encoding=encoding,
            # A chunk of nothing but zeros or NaN is a file too: one that is gone is damage.
            write_empty_chunks=True,
        )
    root = json.loads((new / DESCRIPTION).read_text("utf-8"))
    files = sorted(new.glob("*/**/*"))
    held = {str(f.relative_to(new)): _digest_file(f) for f in files if f.is_file()}
    attributes = {**dataset.attrs, _FORMAT: FORMAT, _FILES: json.dumps(held)}
    root["attributes"] = {**attributes, _DIGEST: _digest_attributes(attributes)}
    (new / DESCRIPTION).write_text(json.dumps(root), "utf-8")
    for name in map(str, dataset.variables):
        shutil.rmtree(folder / name, ignore_errors=True)
        (new / name).rename(folder / name)
    (new / DESCRIPTION).replace(folder / DESCRIPTION)
    new.rmdir()


def read_attributes(folder: str | Path) -> dict[str, Any]:
    """Return the attributes of the zarr store in ``folder``.

    One that is not of a run, of another version, or changed is a ``StoreError``.
    """
    file = Path(folder) / DESCRIPTION
    if not file.is_file():
        missing = f": {file} is missing" if file.parent.is_dir() else ""
        raise FileNotFoundError(f"there is no store of a run at {folder}{missing}")
    try:
        attributes = dict(json.loads(file.read_text("utf-8"))["attributes"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StoreError(
            f"{file} cannot be read, it is cut short or garbled: {error}"
        ) from error
    if VERSION not in attributes:
        raise StoreError(f"{folder} is a zarr store, but not of a run of mfpde")
    version = attributes.get(_FORMAT)
    if isinstance(version, int):
        check_format(folder, version)
    digest = attributes.pop(_DIGEST, None)
    if version is None or digest != _digest_attributes(attributes):
        raise StoreError(
            f"{file} is damaged: equation, geometry, settings and what else it says do not "
            "match their checksum"
        )
    return attributes


def list_files(folder: Path) -> list[str]:
    """Return the files that the zarr store in ``folder`` says it has, relative to it."""
    try:
        files = json.loads(read_attributes(folder)[_FILES])
    except (FileNotFoundError, StoreError, KeyError, ValueError):
        return []
    # Someone may have made a store whose files are to be those of another folder.
    return [DESCRIPTION, *(f for f in files if f.partition("/")[0].isidentifier())]


def open_zarr(folder: Path) -> xr.Dataset:
    """Return the Dataset in ``folder``, of which the descriptions alone are checked."""
    import xarray as xr

    files = json.loads(read_attributes(folder)[_FILES])
    _check_descriptions(folder, _find_damage(folder, files, DESCRIPTION))
    return xr.open_dataset(str(folder), engine="zarr", consolidated=False, chunks=None)


def read_zarr(folder: Path, *, skip_damaged: bool = False) -> xr.Dataset:
    """Return the Dataset in ``folder``, read into memory and checked.

    A file that is not what was written is a ``StoreError``, which names it; with
    ``skip_damaged`` the saves in it, or the last state, are left out in place of an error.
    """
    import xarray as xr
    import zarr

    attributes = read_attributes(folder)
    files = json.loads(attributes.pop(_FILES))
    damage = _find_damage(folder, files)
    _check_descriptions(folder, damage)
    arrays: dict[str, Any] = {
        name: zarr.open_array(str(folder / name), mode="r")
        for name in dict.fromkeys(part.partition("/")[0] for part in files)
    }
    dimensions = {n: array.metadata.dimension_names for n, array in arrays.items()}
    sound = np.ones(arrays[TIME].shape, dtype=bool)
    left_out = set()
    for part in damage:
        name, _, chunk = part.partition("/c/")
        if dimensions[name][0] == TIME:
            rows, number = arrays[name].chunks[0], int(chunk.partition("/")[0])
            sound[number * rows : (number + 1) * rows] = False
        elif name.startswith(FINAL):
            left_out = {name for name in arrays if name.startswith(FINAL)}
        else:
            raise _damage_error(folder, [part], "it does not hold what was written")
    if damage and not skip_damaged:
        count = np.count_nonzero(~sound)
        what = f"{count} of {len(sound)} saves" if count else "the last state"
        raise _damage_error(
            folder,
            damage,
            f"{what} cannot be read; load(path, skip_damaged=True) reads the others",
        )
    variables = {}
    for name in arrays.keys() - left_out:
        is_whole = dimensions[name][0] != TIME or sound.all()
        values = arrays[name][...] if is_whole else arrays[name].oindex[sound]
        words = dict(arrays[name].attrs)
        variables[name] = xr.Variable(dimensions[name], values, words)
    return xr.Dataset(variables, attrs=attributes)


def _find_damage(folder: Path, files: Mapping[str, str], end: str = "") -> list[str]:
    """Return which of the ``files`` with this ``end`` of their names are not as written."""
    chosen = {part: d for part, d in files.items() if part.endswith(end)}
    return [
        part
        for part, digest in chosen.items()
        if not (folder / part).is_file() or _digest_file(folder / part) != digest
    ]


def _check_descriptions(folder: Path, damage: list[str]) -> None:
    """Raise ``StoreError`` if a damaged file is one that describes a variable."""
    if found := [part for part in damage if part.endswith(DESCRIPTION)]:
        raise _damage_error(
            folder, found[:1], "its variable is not as it was described"
        )


def _damage_error(folder: Path, parts: list[str], what: str) -> StoreError:
    named = ", ".join(str(folder / part) for part in parts[:_NAMED])
    more = f" and {len(parts) - _NAMED} more" if len(parts) > _NAMED else ""
    verb = "is" if len(parts) == 1 else "are"
    return StoreError(f"{named}{more} {verb} damaged: {what}")


def _choose_chunks(variable: xr.Variable) -> tuple[int, ...]:
    """Return the shape of chunks: rows of time up to 2^15 entries, all of other dimensions."""
    if variable.dims[0] != TIME:
        return variable.shape
    entries = max(math.prod(variable.shape[1:]), 1)
    rows = min(max(_CHUNK_ENTRIES // entries, 1), _MOST_ROWS_IN_CHUNK)
    return (min(rows, len(variable)), *variable.shape[1:])


def _digest_attributes(attributes: Mapping[str, Any]) -> str:
    text = json.dumps(attributes, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode()).hexdigest()


def _digest_file(file: Path) -> str:
    with file.open("rb") as held:
        return hashlib.file_digest(held, "blake2b").hexdigest()
