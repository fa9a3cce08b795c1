"""Errors of stores."""

from __future__ import annotations

import os

from mfpde.arrays import shown


class StoreError(ValueError):
    """The store at a path is not that of a run, holds no save yet, is damaged or in use."""

    def __str__(self) -> str:
        """Return the message in one line, whatever is quoted in it."""
        return " ".join(super().__str__().split())


class NewerStoreError(StoreError):
    """The store was written by a newer version, in a layout that this one does not know."""


class StoreLockedError(StoreError):
    """Another process or thread writes to the store."""


def check_path(path: object) -> None:
    """Raise ``ValueError`` unless ``path`` can be that of a store."""
    if not isinstance(path, str | os.PathLike):
        raise ValueError(
            f"path = {shown(path)} must be the path of a store, as 'run.zarr'"
        )
