"""Where a store may be made: where nothing is, or in place of another run's."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from mfpde.runs.stored_names import LOCK, PARTICLES
from mfpde.storage.files import (
    DESCRIPTION,
    JOURNAL,
    LOCK_FILE,
    NEW,
    check_path,
    has_journal,
)
from mfpde.storage.journal import Journal
from mfpde.storage.lock import lock_store
from mfpde.storage.zarr_files import list_files, read_attributes


def clear_place(path: str | Path, *, overwrite: bool) -> ExitStack:
    """Make an empty folder for a store at ``path``, and return its lock.

    What is no store, or one not to be replaced, is a ``FileExistsError``.
    """
    check_path(path)
    folder = Path(path)
    if not (folder / LOCK / LOCK_FILE).is_file():
        # Nothing is put into a folder that is not a store's.
        _check_free(folder, overwrite=overwrite)
    folder.mkdir(parents=True, exist_ok=True)
    with lock_store(path) as lock:
        _check_free(folder, overwrite=overwrite)
        empty_store(folder)
        return lock.pop_all()


def stored_attributes(path: str | Path) -> dict[str, Any]:
    """Return the attributes of the store at ``path``.

    If there is none that is a ``FileNotFoundError``, one that is damaged or of another version a
    ``StoreError``.
    """
    if not has_journal(path):
        return read_attributes(path)
    with closing(Journal(path)) as journal:
        return journal.read_attributes()


def empty_store(path: str | Path) -> None:
    """Remove all in the folder of a store but its lock, what makes it a store at last."""
    parts = Path(path).iterdir()
    for part in sorted(parts, key=lambda part: part.name in (JOURNAL, DESCRIPTION)):
        if part.name == LOCK:
            continue
        if part.is_dir():
            shutil.rmtree(part)
        else:
            part.unlink()


def _check_free(folder: Path, *, overwrite: bool) -> None:
    """Raise ``FileExistsError`` unless nothing is lost if ``folder`` is emptied."""
    names = {part.name for part in folder.iterdir()} if folder.is_dir() else None
    # The lock may be that of who asks, or of a process that was killed before there was a store.
    if not folder.exists() or names in (set(), {LOCK}, {LOCK, NEW}):
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
    for foreign in _find_foreign_files(folder):
        raise FileExistsError(
            f"{folder} is the store of a run, but there are other files in it, as {foreign}, "
            "which would not be replaced; choose another path"
        )


def _find_foreign_files(folder: Path) -> Iterator[Path]:
    """Find the files and links in the folder of a store that are no part of it."""
    # Also of a store, and of the group in it, that is half written.
    own = {
        Path(group, part)
        for group in ("", PARTICLES)
        for new in ("", NEW)
        for part in list_files(folder / group / new)
    }
    for file in folder.rglob("*"):
        part = file.relative_to(folder)
        is_kept = {LOCK, NEW} & set(part.parts) or str(part).startswith(JOURNAL)
        if file.is_symlink() or not (file.is_dir() or is_kept or part in own):
            yield file
