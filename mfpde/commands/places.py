"""Checks of the places that a command will write to, made before any work."""

from __future__ import annotations

import tempfile
from pathlib import Path

from mfpde.settings.errors import SettingsError


def check_writable(name: str, path: str | Path | None) -> None:
    """Refuse a ``path`` that cannot be written; ``name`` says which option gave it.

    The nearest folder that is there must take a file; nothing is left in it.

    Raises
    ------
    SettingsError
        If the path is a folder itself where a file is wanted, or its folder takes none.
    """
    if path is None:
        return
    folder = Path(path).absolute().parent
    while not folder.exists():
        folder = folder.parent
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        raise SettingsError(
            f"{name} {path} cannot be written: {reason} ({folder})"
        ) from error


def check_file_place(name: str, path: str | Path | None) -> None:
    """Refuse a ``path`` for a file that cannot be written, or that is a folder."""
    check_writable(name, path)
    if path is not None and Path(path).is_dir():
        raise SettingsError(
            f"{name} {path} is a folder: give the name of a file in it, as in "
            f"{Path(path) / 'figure.pdf'}"
        )
