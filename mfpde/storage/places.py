"""The place of a store: free before a run begins, and written by one thread alone.

``lock/lock.sqlite`` in the folder of a store is held in BEGIN EXCLUSIVE from before the first save
until all that belongs to the run is written.  The system ends the transaction of a process that
ends, however it ends.  The journal cannot be the lock: in WAL mode a second writer may write
between two saves, and exclusive locking would shut readers out.

Only sqlite3 opens the file, and nobody removes it: closing any other handle of it gives a POSIX
lock away, and a lock of a removed file is none.  The folder is a group to zarr, which warns of
files that it does not know.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
from collections.abc import Collection
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from mfpde.runs.run import LOCK, PARTICLES
from mfpde.storage import files
from mfpde.storage.journal import JOURNAL, JOURNAL_FILES, Journal, has_journal

LOCK_FILE = "lock.sqlite"
_GROUP = '{"zarr_format": 3, "node_type": "group", "attributes": {}}'
_HELD: dict[tuple[int, int, str], tuple[sqlite3.Connection, int]] = {}
"""The open transaction of a lock, and how many locks of its thread share it, by process, thread
and folder: a process that is forked holds nothing of its parent's."""


class StoreLockedError(files.StoreError):
    """Another process or thread writes to the store."""


def lock_store(path: str | Path, patience: float = 0.2) -> ExitStack:
    """Let this thread alone write to the store in the folder ``path``, if there is one.

    The lock is held in a block, or until its ``close``.  A thread may lock a store several
    times; others have it when all of them are closed.  If another process or thread still
    writes to it after ``patience`` seconds that is a ``StoreLockedError``, and a file system
    without locks a ``StoreError``.
    """
    lock = ExitStack()
    if Path(path).is_dir():
        holder = (os.getpid(), threading.get_ident(), os.path.realpath(path))
        connection, count = _HELD.get(holder) or (_begin_exclusively(path, patience), 0)
        _HELD[holder] = connection, count + 1
        lock.callback(_release, holder)
    return lock


def _release(holder: tuple[int, int, str]) -> None:
    connection, count = _HELD[holder]
    _HELD[holder] = connection, count - 1
    if count == 1 and holder[0] == os.getpid():
        del _HELD[holder]
        connection.close()


def _begin_exclusively(path: str | Path, patience: float) -> sqlite3.Connection:
    folder = Path(path) / LOCK
    folder.mkdir(exist_ok=True)
    if not (folder / files.DESCRIPTION).is_file():
        (folder / files.DESCRIPTION).write_text(_GROUP)
    # The thread that ends a process closes what others have opened.
    shared: Any = {"isolation_level": None, "check_same_thread": False}
    file = folder / LOCK_FILE
    connection: sqlite3.Connection = sqlite3.connect(file, patience, **shared)
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        connection.close()
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
            raise StoreLockedError(
                f"{path} is being written by another process or thread: wait until it has "
                "ended"
            ) from error
        raise files.StoreError(
            f"{path} cannot be locked, so that two processes could write to it at a time: "
            f"{error}; choose a folder on another file system"
        ) from error
    return connection


def clear_place(path: str | Path, *, overwrite: bool) -> ExitStack:
    """Make a folder for a store at ``path``, and return its lock.

    What is no store, or one not to be replaced, is a ``FileExistsError``.
    """
    files.check_path(path)
    folder = Path(path)
    if not (folder / LOCK / LOCK_FILE).is_file():
        # Nothing is put into a folder that is not a store's.
        _check_free(folder, overwrite=overwrite)
    folder.mkdir(parents=True, exist_ok=True)
    with lock_store(path) as lock:
        _check_free(folder, overwrite=overwrite)
        if files.list_variables(folder / PARTICLES):
            _remove_store(folder / PARTICLES)
        _remove_store(folder)
        return lock.pop_all()


def stored_attributes(path: str | Path) -> dict[str, Any]:
    """Return the attributes of the store at ``path``; errors as :func:`files.read_attributes`."""
    if not has_journal(path):
        return files.read_attributes(path)
    with closing(Journal(path)) as journal:
        return journal.read_attributes()


def _remove_store(folder: Path) -> None:
    """Remove the store in a folder; what else is there stays."""
    own = files.list_variables(folder) | files.list_variables(folder / files.NEW)
    remove_parts(folder, own | {files.NEW, files.DESCRIPTION, *JOURNAL_FILES})


def remove_parts(folder: Path, names: Collection[str]) -> None:
    """Remove files and folders of these names from a store, what makes it a store at last."""
    parts = [part for part in folder.iterdir() if part.name in names]
    last = (JOURNAL, files.DESCRIPTION)
    for part in sorted(parts, key=lambda part: part.name in last):
        if part.is_dir() and not part.is_symlink():
            shutil.rmtree(part)
        else:
            part.unlink()


def _check_free(folder: Path, *, overwrite: bool) -> None:
    """Raise ``FileExistsError`` unless nothing but a store is lost if it is removed."""
    names = {part.name for part in folder.glob("*")}
    # The lock may be that of who asks, or of a process that was killed before there was a store.
    if names in (set(), {LOCK}, {LOCK, files.NEW}) and not folder.is_file():
        return
    if not overwrite:
        goes_on = (
            f"its run has not ended, and `mfpde resume {folder}` goes on with it; or "
        )
        raise FileExistsError(
            f"{folder} exists: {goes_on if has_journal(folder) else ''}choose another path, "
            "or replace it with overwrite=True (--overwrite)"
        )
    try:
        stored_attributes(folder)
    except (FileNotFoundError, ValueError) as error:
        raise FileExistsError(
            f"{folder} exists and is no store of a run that can be read: it will not be "
            f"replaced; choose another path ({error})"
        ) from error
