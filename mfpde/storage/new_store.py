"""Where a new store may be made: where nothing is, or in place of another run's."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import zarr

from mfpde.runs.stopping import ENDED
from mfpde.runs.stored_names import CHECKPOINT, FINAL, LOCK, PARTICLES
from mfpde.storage.attributes import NewerStoreError
from mfpde.storage.claim import LOCK_FILE, Claim, claim
from mfpde.storage.descriptions import CLOSED, DESCRIPTIONS, NOTHING_YET
from mfpde.storage.run_reader import (
    check_path,
    existing_store,
    opened_group,
    stored_settings,
    stored_stop,
)

_OWN = re.compile(
    rf"{CHECKPOINT}/(?:zarr\.json|state)|{LOCK}/(?:zarr\.json|{LOCK_FILE})"
    rf"|(?:(?:{FINAL}|{PARTICLES})/)?(?:zarr\.json|(?P<array>\w+)/(?:zarr\.json|c(?:/\d+)*))"
    r"|(?:\w+/)*\w+\.[0-9a-f]+\.partial"
)
"""What the files of a store are called: descriptions, chunks, checkpoint, lock, or half of one."""
_NAMED = 3


class NewGroup(NamedTuple):
    """An empty group to write to, and the right to do so."""

    group: zarr.Group
    claim: Claim


def check_free(path: str | Path, *, overwrite: bool = False) -> None:
    """Raise ``FileExistsError`` unless a run may be written at ``path``."""
    path = Path(path)
    # A process that was killed may have left its lock alone.
    if not path.exists() or (path.is_dir() and {*path.iterdir()} <= {path / LOCK}):
        return
    if not overwrite:
        raise FileExistsError(
            f"{path} exists: {_how_to_go_on(path)}choose another path, or replace it with "
            "overwrite=True (--overwrite)"
        )
    # Nothing but a store of our own is ever deleted.
    try:
        opened_group(path, None)
    except NewerStoreError as error:
        raise FileExistsError(f"{error}: it will not be replaced") from error
    except (FileNotFoundError, ValueError) as error:
        raise FileExistsError(
            f"{path} exists and is no store of a run that can be read: it will not be replaced; "
            f"choose another path ({error})"
        ) from error
    foreign = [str(file) for file, is_own in _files(path) if not is_own]
    if foreign:
        more = f" and {len(foreign) - _NAMED} more" if len(foreign) > _NAMED else ""
        raise FileExistsError(
            f"{path} is the store of a run, but there are other files in it, which would not be "
            f"replaced: {', '.join(foreign[:_NAMED])}{more}; choose another path"
        )


def _how_to_go_on(path: Path) -> str:
    with contextlib.suppress(FileNotFoundError, ValueError):
        stop = stored_stop(path)
        if stored_settings(path) is not None and (
            stop is None or stop.kind not in ENDED
        ):
            return (
                f"its run has not ended, and `mfpde resume {path}` goes on with it; or "
            )
    return ""


def created_group(
    path: str | Path, group: str | None, overwrite: bool, attributes: dict[str, Any]
) -> NewGroup:
    """Return a new, empty store at ``path``, or a new ``group`` of the one there, claimed."""
    check_path(path)
    attributes = attributes | NOTHING_YET
    if group is None:
        check_free(path, overwrite=overwrite)
        Path(path).mkdir(parents=True, exist_ok=True)
    else:
        existing_store(path)
    # Not what another process is writing.
    held = claim(path)
    try:
        return NewGroup(_made(path, group, overwrite, attributes), held)
    except BaseException:
        held.release()
        raise


def _made(
    path: str | Path, group: str | None, overwrite: bool, attributes: dict[str, Any]
) -> zarr.Group:
    if group is None:
        # What another process was writing may have ended just now.
        check_free(path, overwrite=overwrite)
        emptied(Path(path))
        return zarr.create_group(str(path), zarr_format=3, attributes=attributes)
    whole = zarr.open_group(existing_store(path), mode="r+")
    if group in whole and not overwrite:
        raise FileExistsError(
            f"{path} has a group {group!r}: replace it with overwrite=True"
        )
    return whole.create_group(group, overwrite=overwrite, attributes=attributes)


def emptied(store: Path) -> None:
    """Remove the files of a store but for its lock, at last the one that makes it a store."""
    root = store / "zarr.json"
    own = [file for file, is_own in _files(store) if is_own and file != root]
    for file in own:
        if file.parent != store / LOCK:
            file.unlink()
    folders = {folder for file in own for folder in file.parents}
    for folder in sorted(folders, key=lambda one: -len(one.parts)):
        if store in folder.parents:
            # One that holds anything else remains.
            with contextlib.suppress(OSError):
                folder.rmdir()
    root.unlink(missing_ok=True)


def _files(store: Path) -> Iterator[tuple[Path, bool]]:
    """Yield the files and links in the folder of a store, and whether each is of the store."""
    known = _arrays(store)
    for place, folders, files in os.walk(store):
        links = [name for name in folders if Path(place, name).is_symlink()]
        for name in (*files, *links):
            file = Path(place, name)
            matched = _OWN.fullmatch(file.relative_to(store).as_posix())
            is_own = matched is not None and name not in links
            array = None if matched is None else matched["array"]
            yield file, is_own and (known is None or array is None or array in known)


def _arrays(store: Path) -> set[str] | None:
    """Return the names of the arrays of a store that is closed; None if there may be others."""
    names: set[str] = set()
    for part in (store, store / FINAL, store / PARTICLES):
        if (part / "zarr.json").is_file():
            try:
                attributes: dict[str, Any] = dict(zarr.open_group(part, mode="r").attrs)
                names |= {*attributes[DESCRIPTIONS]}
            # What a killed process has left.
            except Exception:
                return None
            if not attributes.get(CLOSED):
                return None
    return names
