"""What all parts of a store share: its version, the folder of what is new, its errors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mfpde.arrays import shown

FORMAT = 7
"""Version of the layout of stores."""
NEW = ".new"
"""The folder of a journal or a Dataset while it is made, which is moved into place then."""


class StoreError(ValueError):
    """The store at a path is not that of a run, holds no save yet, is damaged or in use."""

    def __str__(self) -> str:
        """Return the message in one line, whatever is quoted in it."""
        return " ".join(super().__str__().split())


@contextmanager
def name_damage(place: object, part: str) -> Iterator[None]:
    """Make whatever goes wrong in reading a part of a store a ``StoreError`` that names it."""
    try:
        yield
    except (StoreError, OSError):
        raise
    # Whatever a file may hold that someone else has made.
    except Exception as error:
        raise StoreError(f"{place} is damaged: {part}: {error}") from error


def check_path(path: object) -> None:
    """Raise ``ValueError`` unless ``path`` can be that of a store."""
    if not isinstance(path, str | os.PathLike):
        raise ValueError(
            f"path = {shown(path)} must be the path of a store, as 'run.zarr'"
        )


def check_format(folder: str | Path, version: object) -> None:
    """Raise ``StoreError`` if a store was written in another layout than this version's."""
    if not isinstance(version, int) or version < 1:
        raise StoreError(f"{folder} is damaged: it has no version of its layout")
    if version != FORMAT:
        age = "a newer" if version > FORMAT else "an earlier"
        raise StoreError(
            f"{folder} was written by {age} version of mfpde (format {version}); this one "
            f"reads format {FORMAT}"
        )
