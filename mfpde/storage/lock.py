"""One thread alone writes to a store: the lock is a transaction of a second, small database.

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
import sqlite3
import threading
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from mfpde.runs.stored_names import LOCK
from mfpde.storage.files import (
    DESCRIPTION,
    LOCK_FILE,
    StoreError,
    StoreLockedError,
)

_GROUP = '{"zarr_format": 3, "node_type": "group", "attributes": {}}'


@dataclass
class _Held:
    """The open transaction of a lock, and how many locks of its thread share it."""

    connection: sqlite3.Connection
    count: int = 0


_HELD: dict[tuple[int, int, str], _Held] = {}
"""By process, thread and folder: a process that is forked holds nothing of its parent's."""


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
        if holder not in _HELD:
            _HELD[holder] = _Held(_begin_exclusively(path, patience))
        _HELD[holder].count += 1
        lock.callback(_release, holder)
    return lock


def _release(holder: tuple[int, int, str]) -> None:
    held = _HELD[holder]
    held.count -= 1
    if held.count == 0 and holder[0] == os.getpid():
        del _HELD[holder]
        held.connection.close()


def _begin_exclusively(path: str | Path, patience: float) -> sqlite3.Connection:
    folder = Path(path) / LOCK
    folder.mkdir(exist_ok=True)
    if not (folder / DESCRIPTION).is_file():
        (folder / DESCRIPTION).write_text(_GROUP)
    # The thread that ends a process closes what others have opened.
    connection = sqlite3.connect(
        folder / LOCK_FILE,
        timeout=patience,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        connection.close()
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
            raise StoreLockedError(
                f"{path} is being written by another process or thread: wait until it has "
                "ended"
            ) from error
        raise StoreError(
            f"{path} cannot be locked, so that two processes could write to it at a time: "
            f"{error}; choose a folder on another file system"
        ) from error
    return connection
