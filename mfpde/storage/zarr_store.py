"""A run that has ended on disk: one zarr store that xarray reads, written at once.

The root attribute ``contents`` lists every variable with its type, shape and words, and a digest
of what has no checksum of its own; ``digest`` is that of all attributes.  The store is written
into a folder of its own and moved into place, its ``zarr.json`` at last: until then the journal
is what a run is read from.
"""

from __future__ import annotations

import hashlib
import json
import math
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mfpde.runs.stored_names import CHECKSUM, TIME
from mfpde.storage.datasets import damaged_rows, with_checksums
from mfpde.storage.errors import NewerStoreError, StoreError
from mfpde.storage.journal import FORMAT

if TYPE_CHECKING:
    import xarray as xr
    import zarr

FORMAT_VERSION = "format_version"
VERSION = "mfpde_version"
CONTENTS = "contents"
DIGEST = "digest"
DESCRIPTION = "zarr.json"
NEW = ".new"
_CHUNK_ENTRIES = 2**15
_MOST_ROWS_IN_CHUNK = 1024
_NAMED = 3


def write_dataset(
    folder: str | Path, dataset: xr.Dataset, attributes: Mapping[str, Any]
) -> None:
    """Write a Dataset and attributes as the zarr store in ``folder``, its description last.

    What else is in the folder stays: the lock, the journal, a particle run.
    """
    import zarr

    place = Path(folder)
    new = place / NEW
    shutil.rmtree(new, ignore_errors=True)
    whole = with_checksums(dataset)
    contents = {str(name): _described(whole[name]) for name in whole.variables}
    held = {**attributes, FORMAT_VERSION: FORMAT, CONTENTS: json.dumps(contents)}
    whole.attrs = {**held, DIGEST: _digest_of_attributes(held)}
    # Without fill values: what is missing is damage.
    encoding: dict[str, dict[str, Any]] = {
        str(name): {"_FillValue": None} for name in whole.variables
    }
    for name, variable in whole.variables.items():
        if variable.size:
            chunks = _chunks(variable.shape, variable.dims[:1] == (TIME,))
            encoding[str(name)]["chunks"] = chunks
    # Each of zarr's threads takes 64 MB of addresses, which limits of memory count.
    with zarr.config.set({"threading.max_workers": 1}):
        whole.to_zarr(
            new,
            mode="w",
            zarr_format=3,
            consolidated=False,
            encoding=encoding,
            # A chunk of nothing but zeros or NaN is a file too: one that is gone is damage.
            write_empty_chunks=True,
        )
    for part in new.iterdir():
        if part.name != DESCRIPTION:
            shutil.rmtree(place / part.name, ignore_errors=True)
            part.rename(place / part.name)
    (new / DESCRIPTION).replace(place / DESCRIPTION)
    new.rmdir()


def read_attributes(folder: str | Path) -> dict[str, Any]:
    """Return the attributes of the zarr store in ``folder``.

    Raises
    ------
    FileNotFoundError
        If there is no store.
    StoreError
        If it is not that of a run, of a newer version, or its attributes were changed.
    """
    place = Path(folder)
    file = place / DESCRIPTION
    if not file.is_file():
        missing = f": {file} is missing" if place.is_dir() else ""
        raise FileNotFoundError(f"there is no store of a run at {folder}{missing}")
    try:
        attributes = dict(json.loads(file.read_text("utf-8"))["attributes"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StoreError(
            f"{file} cannot be read, it is cut short or garbled: {error}"
        ) from error
    if VERSION not in attributes:
        raise StoreError(f"{folder} is a zarr store, but not of a run of mfpde")
    version = attributes.get(FORMAT_VERSION)
    if isinstance(version, int) and version > FORMAT:
        raise NewerStoreError(
            f"{folder} was written by a newer version of mfpde: its format_version is "
            f"{version}, and this one reads up to {FORMAT}"
        )
    digest = attributes.pop(DIGEST, None)
    if version != FORMAT or digest != _digest_of_attributes(attributes):
        raise StoreError(
            f"{file} is damaged: equation, geometry, settings and what else it says do not "
            "match their checksum"
        )
    return attributes


def variable_names(folder: str | Path) -> set[str]:
    """Return the names of the variables that the store in ``folder`` says it has."""
    try:
        return set(json.loads(str(read_attributes(folder)[CONTENTS])))
    except (StoreError, KeyError, ValueError):
        return set()


def check_descriptions(folder: str | Path, attributes: Mapping[str, Any]) -> None:
    """Raise ``StoreError`` unless all variables are described as they were written."""
    for name, described in json.loads(str(attributes[CONTENTS])).items():
        _opened(Path(folder) / name, described)


def read_dataset(
    folder: str | Path, attributes: Mapping[str, Any], *, skip_damaged: bool = False
) -> xr.Dataset:
    """Return the Dataset of the zarr store in ``folder``, read into memory and checked.

    Raises
    ------
    StoreError
        If something does not match its checksum or cannot be read; the message names the
        file, and what can be read.  With ``skip_damaged`` saves are left out in its place.
    """
    import xarray as xr

    place = Path(folder)
    contents = json.loads(str(attributes[CONTENTS]))
    wrong: dict[str, set[int]] = {}
    variables = {}
    for name, described in contents.items():
        array = _opened(place / name, described)
        values = np.empty(array.shape, dtype=array.dtype)
        for rows in _rows_of_chunks(array):
            if not _read_rows(array, rows, values):
                wrong.setdefault(name, set()).update(range(rows.start, rows.stop))
        dimensions = tuple(described["dimensions"])
        if "digest" in described and (
            wrong.get(name) or described["digest"] != _digest(values)
        ):
            raise StoreError(
                f"{_first_chunk(place / name, array.ndim)} is damaged: it does not hold "
                f"what was written"
            )
        variables[name] = xr.Variable(dimensions, values, described["attributes"])
    dataset = xr.Dataset(variables, attrs=dict(attributes))
    for name, numbers in damaged_rows(dataset).items():
        wrong.setdefault(name, set()).update(numbers)
    dataset = dataset.drop_vars(CHECKSUM)
    if not wrong:
        return dataset
    lost = set().union(*wrong.values())
    sound = np.setdiff1d(np.arange(dataset.sizes[TIME]), sorted(lost))
    if skip_damaged:
        return dataset.isel({TIME: sound})
    files = [
        file
        for name, numbers in wrong.items()
        for file in _chunk_files(place / name, numbers, contents[name]["shape"])
    ]
    raise StoreError(_account(files, dataset[TIME].values, lost))


def _described(variable: xr.DataArray) -> dict[str, Any]:
    """Return what the contents say of a variable; a digest where rows have no checksums."""
    described = {
        "type": variable.dtype.str,
        "dimensions": list(variable.dims),
        "shape": list(variable.shape),
        "attributes": {name: str(words) for name, words in variable.attrs.items()},
    }
    if variable.dims[:1] != (TIME,) or variable.name == CHECKSUM:
        described["digest"] = _digest(variable.values)
    return described


def _opened(place: Path, described: Mapping[str, Any]) -> zarr.Array[Any]:
    """Return an array that is as described, and whose chunks are all there to be read."""
    import zarr

    file = place / DESCRIPTION
    if not file.is_file():
        raise StoreError(f"{file} is missing or garbled, so that it cannot be read")
    try:
        array = zarr.open_array(str(place), mode="r")
    # Whatever zarr makes of a description that is none.
    except Exception as error:
        raise StoreError(
            f"{file} is cut short or garbled, so that {place.name!r} cannot be read: {error}"
        ) from error
    shape = tuple(described["shape"])
    is_long = described["dimensions"][:1] == [TIME]
    names = array.metadata.dimension_names  # type: ignore[union-attr]
    words = {name: str(value) for name, value in dict(array.attrs).items()}
    found = (array.dtype.str, array.shape, list(names or ()), words, array.chunks)
    expected = (
        described["type"],
        shape,
        described["dimensions"],
        described["attributes"],
        _chunks(shape, is_long) if 0 not in shape else array.chunks,
    )
    if found != expected:
        raise StoreError(f"{file} is damaged: it does not describe {place.name!r}")
    return array


def _chunks(shape: tuple[int, ...], is_long: bool) -> tuple[int, ...]:
    """Return the shape of chunks: rows of time up to 2^15 entries, all of other dimensions."""
    if not is_long:
        return shape
    entries = max(math.prod(shape[1:]), 1)
    rows = min(max(_CHUNK_ENTRIES // entries, 1), _MOST_ROWS_IN_CHUNK, shape[0])
    return (rows, *shape[1:])


def _rows_of_chunks(array: zarr.Array[Any]) -> Iterator[slice]:
    """Yield the rows of each chunk along the first dimension."""
    if array.ndim == 0 or not array.size:
        return
    step = array.chunks[0]
    for start in range(0, array.shape[0], step):
        yield slice(start, min(start + step, array.shape[0]))


def _read_rows(array: zarr.Array[Any], rows: slice, values: Any) -> bool:
    """Read rows into ``values``; whether they could be read."""
    file = _chunk_file(array, rows.start)
    if not file.is_file():
        return False
    try:
        values[rows] = array[rows]
    # Whatever codecs make of bytes that were changed.
    except Exception:
        values[rows] = 0
        return False
    return True


def _chunk_file(array: zarr.Array[Any], row: int) -> Path:
    place = Path(str(array.store.root)) / array.path  # type: ignore[attr-defined]
    numbers = [row // array.chunks[0], *(0 for _ in array.shape[1:])]
    return place.joinpath("c", *map(str, numbers))


def _chunk_files(place: Path, rows: set[int], shape: list[int]) -> list[Path]:
    size = _chunks(tuple(shape), True)[0]
    numbers = sorted({row // size for row in rows})
    rest = ["0"] * (len(shape) - 1)
    return [place.joinpath("c", str(number), *rest) for number in numbers]


def _first_chunk(place: Path, ndim: int) -> Path:
    return place.joinpath("c", *(["0"] * ndim))


def _account(files: list[Path], times: Any, lost: set[int]) -> str:
    """Say which files are damaged, and what of the saves can be read."""
    named = ", ".join(map(str, files[:_NAMED]))
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    verb = "is" if len(files) == 1 else "are"
    return (
        f"{named}{more} {verb} damaged: {len(lost)} of {len(times)} saves do not match their "
        "checksums or cannot be read; load(path, skip_damaged=True) reads the others"
    )


def _digest(values: Any) -> str:
    data = np.ascontiguousarray(values).tobytes()
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _digest_of_attributes(attributes: Mapping[str, Any]) -> str:
    text = json.dumps(attributes, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
