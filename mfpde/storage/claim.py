"""One process, and in it one thread, writes to a store: a file in it is locked meanwhile.

The system releases the lock of a process that ends, however it ends, so that nothing is left
behind by one that was killed.  The file remains: one that is removed and made again would be
locked twice.  It is opened for writing, without which network file systems lock nothing.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from mfpde.runs.stored_names import LOCK
from mfpde.storage.errors import StoreError

if sys.platform != "win32":  # which has no such locks
    import fcntl

Result = TypeVar("Result")
LOCK_FILE = "writer"
_GROUP = b'{"zarr_format": 3, "node_type": "group"}'
"""What makes of the folder of the lock a part of a zarr store, of which no reader warns."""
_READINGS = 20


class StoreLockedError(StoreError):
    """Another process or thread writes to the store."""


@dataclass
class _Lock:
    """A lock of this process: its open file, the thread that took it, and how often."""

    file: int
    thread: int
    count: int = 1


_HELD: dict[tuple[int, int], _Lock] = {}
"""Locks of this process by device and inode of their files."""
_GUARD = threading.RLock()


def _forget_held() -> None:
    """Leave to the process of which this one is a copy what it has claimed."""
    global _GUARD
    _GUARD = threading.RLock()
    while _HELD:
        os.close(_HELD.popitem()[1].file)


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_forget_held)


class Claim:
    """The right to write to a store, until it is released or forgotten.

    Claims of one thread count: the store is free when all are released.
    """

    def __init__(self, key: tuple[int, int], lock: _Lock) -> None:
        self._key, self._lock = key, lock
        self._is_held = True

    def release(self) -> None:
        """Let others write, unless an earlier claim of this thread still holds."""
        with _GUARD:
            is_last = self._is_held and self._lock.count == 1
            self._lock.count -= self._is_held
            self._is_held = False
            # A copy of a process holds nothing.
            if is_last and _HELD.get(self._key) is self._lock:
                del _HELD[self._key]
                os.close(self._lock.file)

    def __del__(self) -> None:
        self.release()


def claim(path: str | Path) -> Claim:
    """Let this thread alone write to the store in the folder ``path``.

    Raises
    ------
    StoreLockedError
        If another process or thread writes to it.
    StoreError
        If the file system has no locks.
    """
    folder = Path(path) / LOCK
    folder.mkdir(exist_ok=True)
    if not (folder / "zarr.json").exists():
        (folder / "zarr.json").write_bytes(_GROUP)
    file = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o666)
    with _GUARD:
        found = os.fstat(file)
        key = (found.st_dev, found.st_ino)
        if (held := _HELD.get(key)) is None:
            _lock(file, path)
            held = _HELD[key] = _Lock(file, threading.get_ident())
            return Claim(key, held)
        os.close(file)
        if held.thread != threading.get_ident():
            raise _locked(path)
        held.count += 1
        return Claim(key, held)


def _lock(file: int, path: str | Path) -> None:
    if sys.platform == "win32":
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(file)
        raise _locked(path) from error
    except OSError as error:
        os.close(file)
        raise StoreError(
            f"{path} cannot be locked, so that two processes might write to it: its file system "
            f"says {error.strerror!r}; write to a local disk, or mount the file system with "
            "locks (NFS: without nolock)"
        ) from error


def _locked(path: str | Path) -> StoreLockedError:
    return StoreLockedError(
        f"{path} is being written by another process or thread: wait until it has ended"
    )


def is_claimed_elsewhere(path: str | Path) -> bool:
    """Whether another process or thread writes to the store at ``path``."""
    with contextlib.suppress(OSError):
        file = os.open(Path(path) / LOCK / LOCK_FILE, os.O_RDONLY)
        try:
            found = os.fstat(file)
            held = _HELD.get((found.st_dev, found.st_ino))
            if held is not None or sys.platform == "win32":
                return held is not None and held.thread != threading.get_ident()
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(file)
    return False


def read_beside_writer(path: str | Path, read: Callable[[], Result]) -> Result:
    """Return what ``read`` reads of the store at ``path``, which may be growing.

    What another process is about to save does not match its checksum yet: it is read again,
    for a second at most.

    Raises
    ------
    StoreError
        As ``read`` does.
    """
    for _ in range(_READINGS):
        try:
            return read()
        except StoreError:
            if not is_claimed_elsewhere(path):
                break
            time.sleep(1.0 / _READINGS)
    # The other process may just have ended.
    return read()


@contextlib.contextmanager
def alone(path: str | Path) -> Iterator[None]:
    """Let this thread alone write to the store at ``path``, if there is one, in the block.

    Raises
    ------
    StoreError
        If another process or thread writes to it: what is about to be written cannot be read.
    """
    held = claim(path) if Path(path).is_dir() else None
    try:
        yield
    finally:
        if held is not None:
            held.release()
