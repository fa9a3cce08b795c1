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
    r"has no section \[(?P<unknown>[^\]]+)\]"
    r"|\[(?P<section>\w+)\] (?:(?:head|layer) (?P<number>\d+): )?"
    r"(?:has no setting ')?(?P<key>\w+)"
)


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
        why = getattr(error, "strerror", None) or error
        reason = f"the settings file {path} cannot be read: {why}"
    except tomllib.TOMLDecodeError as error:
        reason = f"{path} is not TOML: {error}"
    except ValueError as error:
        reason = f"{path} has a number that is too long: {error}"
    except RecursionError:
        reason = f"{path} has tables or lists too deep in each other"
    raise SettingsError(reason)


def name_places(message: str, path: str | Path, overrides: Sequence[str]) -> str:
    """Return the lines of an error, each with the line of the file that it is about.

    Nothing is added where that is not known, or where one of ``overrides`` has given the value.
    """
    text = Path(path).read_text(encoding="utf-8").splitlines()
    names = tuple(f"{override.partition('=')[0].strip()}." for override in overrides)
    errors = []
    for error in message.splitlines():
        found = _ABOUT.match(error)
        if found is not None:
            section, key = found["unknown"] or found["section"], found["key"] or ""
            number = found["number"] or "0"
            changed = (f"{section}.{key}", f"{section}.{number}.")
            line = find_line(text, section, key, int(number))
            if line is not None and not any(n.startswith(changed) for n in names):
                error = f"{error} ({path}, line {line})"
        errors.append(error)
    return "\n".join(errors)


def find_line(
    lines: Sequence[str], section: str, key: str = "", number: int = 0
) -> int | None:
    """Return the number, from 1, of the line of a key, or of the section's header without one.

    ``number`` says which one of several tables ``[[section]]`` it is.
    """
    # In its section, or at the head of the file as section.key = or section = {key =}.
    inside = re.compile(rf'\s*"?{key}"?\s*[.=]')
    outside = re.compile(rf"\s*{re.escape(section)}\s*(\.|=.*[{{,]\s*){key}\s*=")
    header_of_key = f"{section}.{key}".rstrip(".")
    where, seen = "", -1
    for line, text in enumerate(lines, start=1):
        header = _HEADER.match(text)
        where = header[1].replace('"', "") if header else where
        seen += bool(header) and where == section
        is_key = (inside if where == section else outside).match(text)
        is_there = where == header_of_key if header else key and is_key
        if is_there and seen in (-1, number):
            return line
    return None
