"""``mfpde settings``: every key that a settings file may hold, with its default."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from mfpde.commands import DONE
from mfpde.commands.answers import say
from mfpde.settings.grid_and_start import GEOMETRY_KINDS, START_KINDS
from mfpde.settings.settings import Settings

_KINDS: dict[str, Mapping[str, Any]] = {
    "geometry": GEOMETRY_KINDS,
    "start": START_KINDS,
}


def settings(_arguments: argparse.Namespace) -> int:
    """Print all sections and keys; read from the classes that check a settings file."""
    say(settings_text())
    return DONE


def settings_text() -> str:
    """Return all sections with their keys, defaults, and what each is about."""
    parts = []
    for name, field in Settings.model_fields.items():
        for kind, section in _KINDS.get(name, {"": _table(field)}).items():
            optional = (
                "" if field.is_required() else "    (the section may be left out)"
            )
            lines = [f"[{name}]{optional}", f"  # {_meaning(section)}"]
            if kind:
                lines.append(f'  kind = "{kind}"')
            lines += _keys(section)
            parts.append("\n".join(lines))
    return "\n\n".join(parts)


def _keys(section: type[BaseModel], indent: str = "  ") -> list[str]:
    lines = []
    for name, field in section.model_fields.items():
        if name == "kind":
            continue
        inner = _table(field)
        lines.append(f"{indent}{name}{_default(field)}")
        if inner is not None:
            lines += _keys(inner, indent + "  ")
    return lines


def _table(field: FieldInfo) -> type[BaseModel] | None:
    """Return the class of a setting that is a table, optional or not; None for a value."""
    for option in getattr(field.annotation, "__args__", (field.annotation,)):
        if isinstance(option, type) and issubclass(option, BaseModel):
            return option
    return None


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "    (needed)"
    value = field.default
    if value is None:
        return "    (none)"
    shown = str(value).lower() if isinstance(value, bool) else value
    return f' = "{shown}"' if isinstance(value, str) else f" = {shown}"


def _meaning(section: type[BaseModel]) -> str:
    """Return the first line of the class's docstring, without names and marks."""
    first = (section.__doc__ or "").strip().splitlines()[0]
    words = first.partition("]")[2].lstrip(": ")
    return words.replace(":class:", "").replace(":func:", "").replace("`", "")
