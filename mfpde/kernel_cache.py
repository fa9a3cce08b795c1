"""Compiled kernels that are older than their sources.

numba keeps compiled kernels beside their modules and looks at the module's own file only: a
kernel that calls another module's kernel stays as it was when the other module changes, and
both together may be wrong.
"""

from __future__ import annotations

import time
from pathlib import Path


def remove_stale_kernels(package: Path) -> int:
    """Delete compiled kernels in ``package`` that are older than any module with kernels.

    Files that cannot be deleted stay.  Modules dated in the future are ignored, as every
    kernel would be compiled anew each time.

    Returns
    -------
    Number of files deleted.
    """
    caches = list(package.rglob("__pycache__/*.nb[ic]"))
    modules = {
        cache.parents[1] / f"{cache.name.partition('.')[0]}.py" for cache in caches
    }
    now = time.time_ns()
    changed = [_changed(module) for module in modules]
    newest = max((when for when in changed if when <= now), default=0)
    removed = 0
    for cache in caches:
        if 0 < _changed(cache) < newest:
            try:
                cache.unlink()
            except OSError:
                continue
            removed += 1
    return removed


def _changed(file: Path) -> int:
    """Time of the last change in ns; 0 if there is no such file (any more)."""
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0
