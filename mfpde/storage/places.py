"""Where a store may be made: where nothing is, or in place of another run's."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from pathlib import Path

from mfpde.runs.stopping import ENDED
from mfpde.runs.stored_names import FINAL, LOCK, PARTICLES
from mfpde.storage.errors import NewerStoreError, StoreLockedError, check_path
from mfpde.storage.journal import JOURNAL, Journal, has_journal, remove_journal
from mfpde.storage.lock import LOCK_FILE, locked_store
from mfpde.storage.run_reader import stored_settings, stored_stop
from mfpde.storage.zarr_store import (
    DESCRIPTION,
    NEW,
    read_attributes,
    variable_names,
)

_NAMED = 3


def check_free(path: str | Path, *, overwrite: bool = False) -> None:
    """Raise ``FileExistsError`` unless a run may be written at ``path``."""
    check_path(path)
    path = Path(path)
    if not path.exists() or (path.is_dir() and not _without_lock(path)):
        return
    if not overwrite:
        raise FileExistsError(
            f"{path} exists: {_how_to_go_on(path)}choose another path, or replace it with "
            "overwrite=True (--overwrite)"
        )
    # Nothing but a store of our own is ever deleted.
    try:
        # Another process may be making it.
        with locked_store(path) if (path / LOCK).is_dir() else contextlib.nullcontext():
            check_is_store(path)
    except StoreLockedError:
        raise
    except NewerStoreError as error:
        raise FileExistsError(f"{error}: it will not be replaced") from error
    except (FileNotFoundError, ValueError) as error:
        raise FileExistsError(
            f"{path} exists and is no store of a run that can be read: it will not be "
            f"replaced; choose another path ({error})"
        ) from error
    if foreign := foreign_files(path):
        more = f" and {len(foreign) - _NAMED} more" if len(foreign) > _NAMED else ""
        raise FileExistsError(
            f"{path} is the store of a run, but there are other files in it, which would not be "
            f"replaced: {', '.join(foreign[:_NAMED])}{more}; choose another path"
        )


def _how_to_go_on(path: Path) -> str:
    with contextlib.suppress(FileNotFoundError, ValueError):
        stop = stored_stop(path)
        has_ended = stop is not None and stop.kind in ENDED
        if stored_settings(path) is not None and not has_ended:
            return (
                f"its run has not ended, and `mfpde resume {path}` goes on with it; or "
            )
    return ""


def _without_lock(folder: Path) -> list[Path]:
    """Return what is in a folder but for a lock, which may be that of who asks."""
    return [part for part in folder.iterdir() if part.name != LOCK]


def check_is_store(path: str | Path) -> None:
    """Raise ``FileNotFoundError`` or ``StoreError`` unless there is the store of a run."""
    if has_journal(path):
        Journal(path).close()
    else:
        read_attributes(path)


def make_folder(path: str | Path) -> None:
    """Make the folder of a store, on a path that is free."""
    Path(path).mkdir(parents=True, exist_ok=True)


def empty_folder(path: str | Path) -> None:
    """Remove what a store consists of, the lock excepted, its description at last."""
    folder = Path(path)
    for part in _parts(folder):
        shutil.rmtree(part)
    remove_journal(folder)
    (folder / DESCRIPTION).unlink(missing_ok=True)


def foreign_files(path: str | Path) -> list[str]:
    """Return the files and links in the folder of a store that are no part of it."""
    folder = Path(path)
    names = "|".join(re.escape(part.name) for part in _parts(folder)) or "-"
    own = re.compile(
        rf"{DESCRIPTION}|{JOURNAL}[-a-z]*|{LOCK}/({DESCRIPTION}|{LOCK_FILE}[-a-z]*)"
        rf"|({names})(/\w+)?(/{DESCRIPTION}|(/c(/\d+)*))"
    )
    found = []
    for place, folders, files in os.walk(folder):
        links = [name for name in folders if Path(place, name).is_symlink()]
        for name in (*files, *links):
            file = Path(place, name)
            inside = file.relative_to(folder).as_posix()
            if name in links or not own.fullmatch(inside):
                found.append(str(file))
    return sorted(found)


def _parts(folder: Path) -> list[Path]:
    """Return the folders that a store consists of: variables, and groups beside them."""
    names = {FINAL, PARTICLES, NEW}
    for place in (folder, folder / NEW):
        if (place / DESCRIPTION).is_file():
            names |= variable_names(place)
    return [folder / name for name in sorted(names) if (folder / name).is_dir()]
