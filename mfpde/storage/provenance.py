"""Where the numbers of a store come from: versions, platform, and the commit of a checkout."""

from __future__ import annotations

import json
import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from mfpde.version import __version__

LIBRARIES = (
    *("numpy", "scipy", "numba", "llvmlite", "shtns", "pyfftw", "POT"),
    *("xarray", "zarr"),
)


def add_process(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the attributes of a store with this process among those that wrote it."""
    known = json.loads(attributes["provenance"])
    now = describe_process()
    together = known if now in known else [*known, now]
    return {**attributes, "provenance": json.dumps(together)}


@cache
def describe_process() -> dict[str, Any]:
    """Return versions, platform and commit of this process.

    The commit is what ``git describe`` says of the checkout that the package is in, with
    ``dirty`` at its end if files have changed; None if it is in none.
    """
    versions = {"mfpde": __version__, "python": platform.python_version()}
    return {
        "versions": versions | {name: _find_version(name) for name in LIBRARIES},
        "platform": platform.platform(),
        "processor": platform.machine(),
        "commit": describe_commit(Path(__file__).parents[2]),
    }


def describe_commit(root: Path) -> str | None:
    """Return the commit of the checkout at ``root``; None if it is none."""
    if not (root / ".git").exists():
        return None
    words = ["describe", "--always", "--tags", "--dirty=-dirty"]
    command = ["git", "-C", str(root), *words]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()


def _find_version(library: str) -> str | None:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return None
