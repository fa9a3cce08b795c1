"""Where a new store may be made: where nothing is, or in place of another run's."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import zarr

from mfpde.storage.attributes import NewerStoreError
from mfpde.storage.claim import claim
from mfpde.storage.descriptions import NOTHING_YET
from mfpde.storage.run_reader import existing_store, opened_group


def check_free(path: str | Path, *, overwrite: bool = False) -> None:
    """Raise ``FileExistsError`` unless a run may be written at ``path``."""
    path = Path(path)
    if not path.exists() or (path.is_dir() and not any(path.iterdir())):
        return
    if not overwrite:
        raise FileExistsError(
            f"{path} exists: choose another path, or replace it with overwrite=True "
            "(--overwrite)"
        )
    # Nothing but a store of our own is ever deleted.
    try:
        opened_group(path, None)
    except NewerStoreError as error:
        raise FileExistsError(f"{error}: it will not be replaced") from error
    except (FileNotFoundError, ValueError) as error:
        raise FileExistsError(
            f"{path} exists and is no store of a run: it will not be replaced; choose "
            "another path"
        ) from error


def created_group(
    path: str | Path, group: str | None, overwrite: bool, attributes: dict[str, Any]
) -> zarr.Group:
    """Return a new, empty store at ``path``, or a new ``group`` of the one there."""
    attributes = attributes | NOTHING_YET
    if group is None:
        check_free(path, overwrite=overwrite)
        Path(path).mkdir(parents=True, exist_ok=True)
        # Not what another process is writing.
        claim(path)
        emptied(Path(path))
        return zarr.create_group(str(path), zarr_format=3, attributes=attributes)
    whole = zarr.open_group(existing_store(path), mode="r+")
    if group in whole and not overwrite:
        raise FileExistsError(
            f"{path} has a group {group!r}: replace it with overwrite=True"
        )
    return whole.create_group(group, overwrite=overwrite, attributes=attributes)


def emptied(store: Path) -> None:
    """Remove all that is in the folder of a store, at last what makes it one."""
    for part in store.iterdir():
        if part.is_dir() and not part.is_symlink():
            shutil.rmtree(part)
        elif part.name != "zarr.json":
            part.unlink()
    (store / "zarr.json").unlink(missing_ok=True)
