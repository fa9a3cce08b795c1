"""A Dataset on disk: one zarr store that xarray reads, written at once, checked when it is read.

The root attribute ``files`` has the digest of every other file of the store, and ``digest`` that
of all attributes: whatever is read was held against what was written before.  The store is
written into a folder of its own and moved into place, its own ``zarr.json`` at last: until then
the journal is what a run is read from.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mfpde.storage.files import (
    DESCRIPTION,
    FORMAT,
    NEW,
    StoreError,
    check_format,
    name_damage,
)

if TYPE_CHECKING:
    import xarray as xr

VERSION = "mfpde_version"
_FORMAT = "format_version"
_FILES = "files"
_DIGEST = "digest"


def write_zarr(folder: Path, dataset: xr.Dataset) -> None:
    """Write a Dataset as the zarr store in ``folder``, its description last.

    What else is in the folder stays: the lock, the journal, a group.
    """
    import zarr

    new = folder / NEW
    # Each of zarr's threads takes 64 MB of addresses, which limits of memory count.
    with zarr.config.set({"threading.max_workers": 1}):
        dataset.drop_attrs(deep=False).to_zarr(
            new,
            mode="w",
            zarr_format=3,
            consolidated=False,
            # Without fill values, and chunks of nothing but zeros or NaN are files too: what is
            # missing is damage.
            encoding={name: {"_FillValue": None} for name in dataset.variables},
            write_empty_chunks=True,
        )
    files = [file for file in sorted(new.glob("*/**/*")) if file.is_file()]
    digests = {str(file.relative_to(new)): _digest_file(file) for file in files}
    attributes = {**dataset.attrs, _FORMAT: FORMAT, _FILES: json.dumps(digests)}
    root = json.loads((new / DESCRIPTION).read_text("utf-8"))
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


def list_files(folder: Path) -> list[str]:
    """Return the files that the zarr store in ``folder`` says it has, relative to it."""
    with suppress(FileNotFoundError, StoreError):
        return [DESCRIPTION, *json.loads(read_attributes(folder)[_FILES])]
    return []


def read_zarr(folder: Path) -> xr.Dataset:
    """Return the Dataset in ``folder``, in memory.

    A file that is not as it was written is a ``StoreError``, which names it.
    """
    import xarray as xr
    import zarr

    attributes = read_attributes(folder)
    digests = json.loads(attributes.pop(_FILES))
    for part, digest in digests.items():
        if _digest_file(folder / part) != digest:
            raise StoreError(
                f"{folder / part} is damaged: it is missing, or not as it was written"
            )
    variables = {}
    for name in dict.fromkeys(part.partition("/")[0] for part in digests):
        array = zarr.open_array(folder / name, mode="r")
        metadata: Any = array.metadata
        variables[name] = xr.Variable(
            metadata.dimension_names, array[...], dict(array.attrs)
        )
    return xr.Dataset(variables, attrs=attributes)


def _digest_attributes(attributes: Mapping[str, Any]) -> str:
    text = json.dumps(attributes, sort_keys=True)
    return hashlib.blake2b(text.encode()).hexdigest()


def _digest_file(file: Path) -> str | None:
    """Return the digest of a file; None if there is none."""
    if not file.is_file():
        return None
    with file.open("rb") as held:
        return hashlib.file_digest(held, "blake2b").hexdigest()
