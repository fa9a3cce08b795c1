"""Single settings of a file changed by their dotted names, as in ``attention.beta``.

A name leads through tables by their keys and through lists (several heads, layers) by numbers
from 0: ``layers.2.perceptron.random.seed``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from mfpde.settings.base import SettingsError

ABSENT = "none"
"""The value that takes a setting away, so that its default holds."""


def change_by_text(data: dict[str, Any], override: str) -> None:
    """Change one setting of ``data`` as ``"section.key=value"`` says.

    Raises
    ------
    SettingsError
        If the text has another form, or leads through something that is no table.
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

    Raises
    ------
    SettingsError
        If the name leads through something that is no table, or out of a list.
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
