"""Where the files of a store are, which of them are its own, and the errors of stores.

x.zarr/zarr.json, density/, energy/, ...   the Dataset of a run that has ended
x.zarr/particles/                          a group: the particle run beside it
x.zarr/journal.sqlite                      the run until it has ended
x.zarr/lock/lock.sqlite                    held by the thread that writes
x.zarr/.new/                               the Dataset while it is written
"""

from __future__ import annotations

import os
from pathlib import Path

from mfpde.arrays import shown

FORMAT = 4
"""Version of the layout of stores."""
DESCRIPTION = "zarr.json"
JOURNAL = "journal.sqlite"
LOCK_FILE = "lock.sqlite"
NEW = ".new"


class StoreError(ValueError):
    """The store at a path is not that of a run, holds no save yet, is damaged or in use."""

    def __str__(self) -> str:
        """Return the message in one line, whatever is quoted in it."""
        return " ".join(super().__str__().split())


class StoreFormatError(StoreError):
    """The store was written by another version, in a layout that this one does not know."""


class StoreLockedError(StoreError):
    """Another process or thread writes to the store."""


def check_path(path: object) -> None:
    """Raise ``ValueError`` unless ``path`` can be that of a store."""
    if not isinstance(path, str | os.PathLike):
        raise ValueError(
            f"path = {shown(path)} must be the path of a store, as 'run.zarr'"
        )


def check_format(folder: str | Path, version: int) -> None:
    """Raise ``StoreFormatError`` if a store was written in another layout than this one's."""
    if version != FORMAT:
        age = "a newer" if version > FORMAT else "an earlier"
        raise StoreFormatError(
            f"{folder} was written by {age} version of mfpde (format {version}); this one "
            f"reads format {FORMAT}"
        )


def has_journal(folder: str | Path) -> bool:
    """Whether the store in ``folder`` has a journal: its run has not ended."""
    return (Path(folder) / JOURNAL).is_file()


def remove_journal(folder: str | Path) -> None:
    """Remove the journal of a store, and what SQLite keeps beside it, if there is one."""
    for end in ("-wal", "-shm", "-journal", ""):
        (Path(folder) / f"{JOURNAL}{end}").unlink(missing_ok=True)
