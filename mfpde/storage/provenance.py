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

PROVENANCE = "provenance"
"""Attribute of a store: a record, as JSON, for each process that wrote it."""
LIBRARIES = (
    *("numpy", "scipy", "numba", "llvmlite", "shtns", "pyfftw", "POT"),
    *("xarray", "zarr"),
)


def added_provenance(attributes: Mapping[str, Any]) -> dict[str, str]:
    """Return the attribute with the record of this process after those that are there."""
    before = stored_records(attributes)
    now = present()
    return {PROVENANCE: json.dumps(before if now in before else [*before, now])}


def stored_records(attributes: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the records in the attributes of a store; none in stores of before."""
    return list(json.loads(str(attributes.get(PROVENANCE, "[]"))))


@cache
def present() -> dict[str, Any]:
    """Return versions, platform and commit of this process.

    The commit is what ``git describe`` says of the checkout that the package is in, with
    ``dirty`` at its end if files have changed; None if it is in none.
    """
    versions = {"mfpde": __version__, "python": platform.python_version()}
    return {
        "versions": versions | {name: _version(name) for name in LIBRARIES},
        "platform": platform.platform(),
        "processor": platform.machine(),
        "commit": _commit(Path(__file__).parents[2]),
    }


def _version(library: str) -> str | None:
    try:
        return metadata.version(library)
    except metadata.PackageNotFoundError:
        return None


def _commit(root: Path) -> str | None:
    if not (root / ".git").exists():
        return None
    command = [
        "git",
        "-C",
        str(root),
        "describe",
        "--always",
        "--tags",
        "--dirty=-dirty",
    ]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=10, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
