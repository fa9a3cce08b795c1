"""One process alone writes to a store: its folder is locked while a run is written to it.

The system releases the lock of a process that ends, however it ends, so that nothing is left
behind by one that was killed.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from mfpde.storage.errors import StoreError

if sys.platform != "win32":  # which has no such locks
    import fcntl

Result = TypeVar("Result")
_READINGS = 20
_HELD: dict[tuple[int, int], int] = {}
"""Open folders of this process by device and inode."""


def _forget_held() -> None:
    """Leave to the process of which this one is a copy what it has claimed."""
    while _HELD:
        os.close(_HELD.popitem()[1])


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_forget_held)


def claim(path: str | Path) -> None:
    """Let this process alone write to the store at ``path``, until :func:`release`.

    Raises
    ------
    StoreError
        If another process writes to it.
    """
    if sys.platform == "win32":
        return
    folder = os.open(path, os.O_RDONLY)
    found = os.fstat(folder)
    key = (found.st_dev, found.st_ino)
    if key in _HELD:
        os.close(folder)
        return
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(folder)
        raise StoreError(
            f"{path} is being written by another process: wait until it has ended"
        ) from error
    except OSError:
        # A file system without locks.
        os.close(folder)
        return
    _HELD[key] = folder


def is_claimed_elsewhere(path: str | Path) -> bool:
    """Whether another process writes to the store at ``path``."""
    if sys.platform == "win32":
        return False
    with contextlib.suppress(FileNotFoundError):
        found = Path(path).stat()
        if (found.st_dev, found.st_ino) in _HELD:
            return False
        folder = os.open(path, os.O_RDONLY)
        try:
            fcntl.flock(folder, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            # A file system without locks.
            return False
        finally:
            os.close(folder)
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


def release(path: str | Path) -> None:
    """Let other processes write to the store at ``path``."""
    with contextlib.suppress(FileNotFoundError):
        found = Path(path).stat()
        folder = _HELD.pop((found.st_dev, found.st_ino), None)
        if folder is not None:
            os.close(folder)


@contextlib.contextmanager
def alone(path: str | Path) -> Iterator[None]:
    """Let this process alone write to the store at ``path``, if there is one, in the block.

    Raises
    ------
    StoreError
        If another process writes to it: what that one is about to write cannot be read.
    """
    if Path(path).is_dir():
        claim(path)
    try:
        yield
    finally:
        release(path)
