"""Where a store may be made: where nothing is, or in place of another run's."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

from mfpde.runs.stored_names import LOCK, PARTICLES
from mfpde.storage.files import (
    DESCRIPTION,
    JOURNAL,
    NEW,
    StoreFormatError,
    StoreLockedError,
    check_path,
    has_journal,
    remove_journal,
)
from mfpde.storage.journal import Journal
from mfpde.storage.lock import StoreLock, lock_store
from mfpde.storage.zarr_files import list_files, read_attributes

_NAMED = 3


def clear_place(path: str | Path, *, overwrite: bool) -> StoreLock:
    """Make an empty folder for a store at ``path``, and return its lock.

    What is no store, or one not to be replaced, is a ``FileExistsError``.
    """
    _check_free(path, overwrite=overwrite)
    Path(path).mkdir(parents=True, exist_ok=True)
    lock = lock_store(path)
    try:
        # What another process was writing may have ended just now.
        _check_free(path, overwrite=overwrite)
        empty_store(path)
    except BaseException:
        lock.release()
        raise
    return lock


def check_is_store(path: str | Path) -> None:
    """Raise ``FileNotFoundError`` or ``StoreError`` unless there is the store of a run."""
    if has_journal(path):
        Journal(path).close()
    else:
        read_attributes(path)


def empty_store(path: str | Path) -> None:
    """Remove what a store consists of, its description at last; not its lock."""
    folder = Path(path)
    own = {Path(part).parts[0] for part in _list_own_files(folder)}
    for name in own | {NEW, PARTICLES}:
        if name != DESCRIPTION and (folder / name).is_dir():
            shutil.rmtree(folder / name)
    remove_journal(folder)
    (folder / DESCRIPTION).unlink(missing_ok=True)


def _check_free(path: str | Path, *, overwrite: bool) -> None:
    check_path(path)
    path = Path(path)
    if not path.exists():
        return
    # The lock may be that of who asks.
    if path.is_dir() and all(part.name == LOCK for part in path.iterdir()):
        return
    if not overwrite:
        goes_on = (
            f"its run has not ended, and `mfpde resume {path}` goes on with it; or "
        )
        raise FileExistsError(
            f"{path} exists: {goes_on if has_journal(path) else ''}choose another path, or "
            "replace it with overwrite=True (--overwrite)"
        )
    # Nothing but a store of our own is ever deleted.
    try:
        # Another process may be making it.
        with lock_store(path) if (path / LOCK).is_dir() else contextlib.nullcontext():
            check_is_store(path)
    except StoreLockedError:
        raise
    except StoreFormatError as error:
        raise FileExistsError(f"{error}: it will not be replaced") from error
    except (FileNotFoundError, ValueError) as error:
        raise FileExistsError(
            f"{path} exists and is no store of a run that can be read: it will not be "
            f"replaced; choose another path ({error})"
        ) from error
    if foreign := _find_foreign_files(path):
        more = f" and {len(foreign) - _NAMED} more" if len(foreign) > _NAMED else ""
        raise FileExistsError(
            f"{path} is the store of a run, but there are other files in it, which would not be "
            f"replaced: {', '.join(foreign[:_NAMED])}{more}; choose another path"
        )


def _list_own_files(folder: Path) -> set[str]:
    """Return the files of a store and its group, also of one that is half written or removed."""
    return {
        str(Path(group, part))
        for group in ("", PARTICLES)
        for place in (folder / group, folder / group / NEW)
        for part in list_files(place)
    }


def _find_foreign_files(folder: Path) -> list[str]:
    """Return the files and links in the folder of a store that are no part of it."""
    own = _list_own_files(folder)
    found = []
    for place, folders, files in os.walk(folder):
        links = [name for name in folders if Path(place, name).is_symlink()]
        for name in (*files, *links):
            part = Path(place, name).relative_to(folder)
            is_own = str(part) in own or str(part).startswith(JOURNAL)
            if name in links or not (is_own or {LOCK, NEW} & set(part.parts)):
                found.append(str(Path(place, name)))
    return sorted(found)
