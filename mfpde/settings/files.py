"""Settings files as tables: read, changed by dotted names, and the line of what is wrong.

A name as ``attention.beta`` leads through tables by their keys and through lists (several heads,
layers) by numbers from 0: ``layers.2.perceptron.random.seed``.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mfpde.settings.base import SettingsError

_ABOUT = re.compile(
    r"has no section \[([^\]]+)\]"
    r"|\[(\w+)\] (?:(?:head|layer|block) (\d+): )?(?:has no setting ')?(\w+)"
)
MOST_LINES = 500
"""Lines of a file in which a setting is looked for."""


def read_table(path: str | Path) -> dict[str, Any]:
    """Return what a TOML file says, unchecked; ``SettingsError`` if there is none."""
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
            is_changed = any(f"{one}.".startswith(f"{name}.") for one in changed)
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


ABSENT = "none"
"""The value that takes a setting away, so that its default holds."""


def change_by_text(data: dict[str, Any], override: str) -> None:
    """Change one setting of ``data`` as ``"section.key=value"`` says.

    ``SettingsError`` if the text has another form, or leads through something that is no table.
    """
    name, equals, text = override.partition("=")
    if not equals or "." not in name:
        raise SettingsError(
            f"override {override!r} must have the form section.key=value, as in "
            "attention.beta=10"
        )
    try:
        value = tomllib.loads(f"value = {text.strip()}")["value"]
    except tomllib.TOMLDecodeError:
        # Text that is no TOML is a string without quotes.
        value = text.strip()
    change(data, name.replace(" ", ""), value, f"override {override!r}")


def change(data: dict[str, Any], name: str, value: Any, said_by: str) -> None:
    """Give the setting ``name`` of ``data`` a value; tables on the way are made.

    ``SettingsError`` if the name leads through something that is no table, or out of a list.
    """
    *path, last = keys = name.split(".")
    if not all(keys):
        raise SettingsError(f"{said_by}: {name!r} must be names with dots between")
    table: Any = data
    for key in path:
        if isinstance(table, dict):
            table.setdefault(key, {})
        table = table[_place_in(table, key, said_by)]
        if not isinstance(table, dict | list):
            raise SettingsError(f"{said_by}: {key} is not a table")
    table[_place_in(table, last, said_by)] = value


def remove(data: dict[str, Any], name: str) -> None:
    """Take the setting ``name`` out of ``data``, if it is there."""
    path, _, last = name.rpartition(".")
    table = value_of(data, path) if path else data
    if isinstance(table, dict):
        table.pop(last, None)


def value_of(data: Mapping[str, Any], name: str) -> Any:
    """Return the value of the setting ``name`` in ``data``, or None if it is not there."""
    table: Any = data
    for key in name.split("."):
        try:
            table = table[int(key)] if isinstance(table, list) else table.get(key)
        except (AttributeError, ValueError, IndexError):
            return None
    return table


def flatten(table: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Return the values in nested tables by their dotted names."""
    found: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            found |= flatten(value, f"{above}{key}.")
        else:
            found[f"{above}{key}"] = value
    return found


def _place_in(table: dict[str, Any] | list[Any], key: str, said_by: str) -> Any:
    """Return what finds ``key``: itself, or a number in a list."""
    if isinstance(table, dict):
        return key
    if not key.isdecimal() or int(key) >= len(table):
        raise SettingsError(
            f"{said_by}: {key!r} must be a number from 0 to {len(table) - 1}, the place in "
            "a list"
        )
    return int(key)
