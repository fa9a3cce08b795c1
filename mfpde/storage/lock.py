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
    thread: int
    count: int = 1


class StoreLock:
    """The right of this thread alone to write to a store, in a block or until it is released."""

    def __init__(self, place: str | None) -> None:
        self._place = place

    def release(self) -> None:
        """Give the right back, once; others have it when the thread has no other lock."""
        held = None if self._place is None else _HELD.get(self._place)
        if self._place is not None and held is not None:
            held.count -= 1
            if held.count == 0:
                del _HELD[self._place]
                held.connection.close()
        self._place = None

    def __enter__(self) -> StoreLock:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


_HELD: dict[str, _Held] = {}
_OF_PARENT: list[dict[str, _Held]] = []
"""Locks of the process of which this one is a copy: never closed here, they are not ours."""


def _leave_locks_to_parent() -> None:
    _OF_PARENT.append(_HELD.copy())
    _HELD.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_locks_to_parent)


def lock_store(path: str | Path, patience: float = 0.2) -> StoreLock:
    """Let this thread alone write to the store in the folder ``path``, if there is one.

    A thread may lock a store several times; each lock is released by itself.  If another
    process or thread writes to it so many seconds that is a ``StoreLockedError``, and a file
    system without locks a ``StoreError``.
    """
    if not Path(path).is_dir():
        return StoreLock(None)
    place, thread = os.path.realpath(path), threading.get_ident()
    held = _HELD.get(place)
    if held is not None and held.thread == thread:
        held.count += 1
        return StoreLock(place)
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
    _HELD[place] = _Held(connection, thread)
    return StoreLock(place)
