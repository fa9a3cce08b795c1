"""A Dataset on disk: a zarr store that xarray reads, written at once, checked when it is read.

    zarr.json           {"node_type": "group", "attributes": {...}}
    energy/zarr.json    shape, chunks, names of the dimensions, meaning and unit
    energy/c/0          numbers, little-endian, row by row, without compression

(https://zarr-specs.readthedocs.io/en/latest/v3/core): written and read here, for to load zarr and
xarray, and to write by them, takes longer than a short run.

The root attribute ``files`` has the digest of every other file of the store, and ``digest`` that
of all attributes: whatever is read was held against what was written before.  The store is
written into a folder of its own and moved into place, its own ``zarr.json`` at last: until then
the journal is what a run is read from.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mfpde.arrays import FloatArray, shown

FORMAT = 7
"""Version of the layout of stores."""
NEW = ".new"
"""The folder of a journal or a Dataset while it is made, which is moved into place then."""
DESCRIPTION = "zarr.json"
VERSION = "mfpde_version"
_FORMAT = "format_version"
_FILES = "files"
_DIGEST = "digest"


class StoreError(ValueError):
    """The store at a path is not that of a run, holds no save yet, is damaged or in use."""

    def __str__(self) -> str:
        """Return the message in one line, whatever is quoted in it."""
        return " ".join(super().__str__().split())


@contextmanager
def name_damage(place: object, part: str) -> Iterator[None]:
    """Make whatever goes wrong in reading a part of a store a ``StoreError`` that names it."""
    try:
        yield
    except (StoreError, OSError):
        raise
    # Whatever a file may hold that someone else has made.
    except Exception as error:
        raise StoreError(f"{place} is damaged: {part}: {error}") from error


def check_path(path: object) -> None:
    """Raise ``ValueError`` unless ``path`` can be that of a store."""
    if not isinstance(path, str | os.PathLike):
        raise ValueError(
            f"path = {shown(path)} must be the path of a store, as 'run.zarr'"
        )


def check_format(folder: str | Path, version: object) -> None:
    """Raise ``StoreError`` if a store was written in another layout than this version's."""
    if not isinstance(version, int) or version < 1:
        raise StoreError(f"{folder} is damaged: it has no version of its layout")
    if version != FORMAT:
        age = "a newer" if version > FORMAT else "an earlier"
        raise StoreError(
            f"{folder} was written by {age} version of mfpde (format {version}); this one "
            f"reads format {FORMAT}"
        )


class StoredArray(NamedTuple):
    """An array with the names of its dimensions, and its meaning and unit as attributes."""

    dimensions: tuple[str, ...]
    values: FloatArray
    words: Mapping[str, str]


class Contents(NamedTuple):
    """All that a store holds: arrays by name, and attributes."""

    variables: Mapping[str, StoredArray]
    attributes: Mapping[str, Any]


def write_zarr(folder: Path, contents: Contents) -> None:
    """Write contents as the zarr store in ``folder``, its description last.

    What else is in the folder stays: the lock, the journal, a group.
    """
    new, digests = folder / NEW, {}
    shutil.rmtree(new, ignore_errors=True)
    for name, array in contents.variables.items():
        for part, data in _encode_array(array):
            file = new / name / part
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
            digests[f"{name}/{part}"] = _digest(data)
    attributes = {**contents.attributes, _FORMAT: FORMAT, _FILES: json.dumps(digests)}
    attributes[_DIGEST] = _digest_attributes(attributes)
    root = {"zarr_format": 3, "node_type": "group", "attributes": attributes}
    (new / DESCRIPTION).write_text(json.dumps(root), "utf-8")
    for name in contents.variables:
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
    with name_damage(file, "it is cut short or garbled"):
        attributes = dict(json.loads(file.read_text("utf-8"))["attributes"])
    if VERSION not in attributes:
        raise StoreError(f"{folder} is a zarr store, but not of a run of mfpde")
    check_format(folder, attributes.get(_FORMAT))
    digest = attributes.pop(_DIGEST, None)
    if digest != _digest_attributes(attributes):
        raise StoreError(
            f"{file} is damaged: equation, geometry, settings and what else it says do not "
            "match their checksum"
        )
    return attributes


def list_variables(folder: Path) -> set[str]:
    """Return the names of the variables that the zarr store in ``folder`` says it has."""
    with suppress(FileNotFoundError, StoreError):
        files = json.loads(read_attributes(folder)[_FILES])
        return {file.partition("/")[0] for file in files}
    return set()


def read_zarr(folder: Path) -> Contents:
    """Return the contents of the store in ``folder``.

    A file that is not as it was written is a ``StoreError``, which names it.
    """
    attributes = read_attributes(folder)
    files: dict[str, dict[str, bytes]] = {}
    for path, digest in json.loads(attributes.pop(_FILES)).items():
        name, _, part = path.partition("/")
        data = (folder / path).read_bytes() if (folder / path).is_file() else None
        if data is None or _digest(data) != digest:
            raise StoreError(
                f"{folder / path} is damaged: it is missing, or not as it was written"
            )
        files.setdefault(name, {})[part] = data
    variables = {name: _decode_array(parts) for name, parts in files.items()}
    return Contents(variables, attributes)


def _encode_array(array: StoredArray) -> Iterator[tuple[str, bytes]]:
    """Yield the files of an array: its description, and one chunk if it has numbers."""
    values = np.asarray(array.values, "<f8")
    chunk = [max(size, 1) for size in values.shape]
    about = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": values.shape,
        "data_type": "float64",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunk}},
        "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
        "fill_value": 0.0,
        "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
        "attributes": dict(array.words),
        "dimension_names": array.dimensions,
    }
    yield DESCRIPTION, json.dumps(about).encode()
    if values.size:
        yield "/".join(["c", *("0" for _ in chunk)]), values.tobytes()


def _decode_array(parts: dict[str, bytes]) -> StoredArray:
    """Return the array of the files that :func:`_encode_array` has made."""
    about = json.loads(parts.pop(DESCRIPTION))
    # Of an array without numbers there is no chunk.
    numbers = np.frombuffer(bytearray().join(parts.values()), "<f8")
    values = numbers.reshape(about["shape"])
    return StoredArray(tuple(about["dimension_names"]), values, about["attributes"])


def _digest_attributes(attributes: Mapping[str, Any]) -> str:
    return _digest(json.dumps(attributes, sort_keys=True).encode())


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data).hexdigest()
