"""Settings files: what they say, and in which line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mfpde.settings.base import SettingsError

_HEADER = re.compile(r"\s*\[\[?\s*([^\]]*?)\s*\]")
_ABOUT = re.compile(
    r"\[(?P<section>\w+)\] (?:(?:head|layer) (?P<number>\d+): )?"
    r"(?:has no setting ')?(?P<key>\w+)"
)
_UNKNOWN = re.compile(r"has no section \[(?P<section>[^\]]+)\]")


def read_table(path: str | Path) -> dict[str, Any]:
    """Return what a TOML file says, unchecked.

    Raises
    ------
    SettingsError
        If there is no such file, or it is no TOML.
    """
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        message = f"the settings file {path} cannot be read: {reason}"
        raise SettingsError(message) from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} is not TOML: {error}") from error
    except ValueError as error:
        raise SettingsError(f"{path} has a number that is too long: {error}") from error
    except RecursionError as error:
        message = f"{path} has tables or lists too deep in each other"
        raise SettingsError(message) from error


def with_places(message: str, path: str | Path, overrides: Sequence[str]) -> str:
    """Return the lines of an error, each with the line of the file that it is about.

    Nothing is added where that is not known, or where one of ``overrides`` has given the value.
    """
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    given = [f"{text.partition('=')[0].strip()}." for text in overrides]

    def placed(error: str) -> str:
        found = _ABOUT.match(error) or _UNKNOWN.match(error)
        if found is None:
            return error
        about = found.groupdict()
        section, key = about["section"], about.get("key")
        number = about.get("number") or "0"
        changed = (f"{section}.{key or ''}", f"{section}.{number}.")
        is_given = any(name.startswith(changed) for name in given)
        line = None if is_given else line_of(lines, section, key, int(number))
        return error if line is None else f"{error} ({path}, line {line})"

    return "\n".join(map(placed, message.splitlines()))


def line_of(
    lines: Sequence[str], section: str, key: str | None, number: int = 0
) -> int | None:
    """Return the number, from 1, of the line of a key, or of the section's header without one.

    ``number`` says which one of several tables ``[[section]]`` it is.
    """
    # In its section, or at the head of the file as section.key = or section = {key =}.
    inside = re.compile(rf'\s*"?{key}"?\s*[.=]')
    outside = re.compile(rf"\s*{re.escape(section)}\s*(\.|=.*[{{,]\s*){key}\s*=")
    wanted = section if key is None else f"{section}.{key}"
    where, seen = "", -1
    for line, text in enumerate(lines, start=1):
        header = _HEADER.match(text)
        where = header[1].replace('"', "") if header else where
        seen += bool(header) and where == section
        is_key = (inside if where == section else outside).match(text)
        if seen in (-1, number) and (where == wanted if header else key and is_key):
            return line
    return None
