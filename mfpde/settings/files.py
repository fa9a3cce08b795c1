"""Settings files: what they say, and in which line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mfpde.settings.base import SettingsError
from mfpde.settings.overrides import value_of

_ABOUT = re.compile(
    r"has no section \[([^\]]+)\]"
    r"|\[(\w+)\] (?:(?:head|layer) (\d+): )?(?:has no setting ')?(\w+)"
)
MOST_LINES = 500
"""Lines of a file in which a setting is looked for."""


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
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    changed = [text.partition("=")[0].strip() for text in overrides]
    errors = []
    for error in message.splitlines():
        if found := _ABOUT.match(error):
            name = ".".join(word for word in found.groups() if word)
            is_changed = any(
                one == name or one.startswith(f"{name}.") for one in changed
            )
            line = None if is_changed else find_line(lines, name)
            error += "" if line is None else f" ({path}, line {line})"
        errors.append(error)
    return "\n".join(errors)


def find_line(lines: Sequence[str], name: str) -> int | None:
    """Return the number, from 1, of the line at which a setting or a section begins.

    It is the first one with which what stands above, as TOML, has something of that ``name``.
    """
    ended = 0
    for number in range(1, min(len(lines), MOST_LINES) + 1):
        try:
            data = tomllib.loads("\n".join(lines[:number]))
        except tomllib.TOMLDecodeError:
            # A value goes on in the next line.
            continue
        if value_of(data, name) is not None:
            return ended + 1
        ended = number
    return None
