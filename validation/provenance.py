"""Where a report comes from: version, commit, day, and a digest of all its sources."""

from __future__ import annotations

import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import mfpde
from validation.source_digest import whole_digest

ROOT = Path(__file__).parent.parent
_DIGEST = re.compile(r"sources (?P<digest>[0-9a-f]{16})")


def provenance_line(*, quick: bool = False) -> str:
    """Return one sentence: version, commit, day and digest of the sources."""
    size = ", quick forms" if quick else ""
    return (
        f"Made by mfpde {mfpde.__version__} at commit {commit()} on "
        f"{datetime.now(UTC):%Y-%m-%d}{size}; sources {whole_digest()[:16]}."
    )


def commit() -> str:
    """Return the short name of the commit, with a word if files differ from it."""
    try:
        name = _git("rev-parse", "--short=12", "HEAD")
        changed = _git(
            "status", "--porcelain", "--untracked-files=no", "mfpde", "validation/*.py"
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{name} (with changes)" if changed else name


def digest_in(report: str) -> str:
    """Return the digest that the text of a report states, or an empty string."""
    found = _DIGEST.search(report)
    return found["digest"] if found else ""


def _git(*arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()
