"""Error messages for settings: one line for each error, in one message."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pydantic import BaseModel, ValidationError

from mfpde.arrays import nearest


class SettingsError(ValueError):
    """Settings that cannot be run; the message has one line for each error."""


@contextmanager
def renamed(**names: str) -> Iterator[None]:
    """Let the errors of a constructor speak of the settings' names, not its own."""
    try:
        yield
    except ValueError as error:
        argument, equals, rest = str(error).partition(" = ")
        name = names.get(argument, argument)
        raise ValueError(f"{name}{equals}{rest}") from error


@contextmanager
def noted(lines: list[str], section: str = "") -> Iterator[None]:
    """Add the message of a ``ValueError`` in the block to ``lines`` and go on."""
    try:
        yield
    except ValueError as error:
        lines += _marked(error, section)


def raise_all(lines: list[str]) -> None:
    """Raise one ``ValueError`` with all ``lines``, if there are any."""
    if lines:
        raise ValueError("\n".join(lines))


def section_lines(error: ValidationError, section: type[BaseModel]) -> list[str]:
    """Say what is wrong in a section, one line for each error."""
    lines: list[str] = []
    for found in error.errors(include_url=False):
        path = ".".join(map(str, found["loc"]))
        match found["type"]:
            case "extra_forbidden":
                known = section.model_fields
                lines.append(
                    f"has no setting {path!r}{nearest(path, known)}; {_listed(section)}"
                )
            case "missing":
                listed = (
                    f"; {_listed(section)}" if "kind" in section.model_fields else ""
                )
                lines.append(f"needs the setting {path!r}{listed}")
            case "value_error":
                lines += _marked(found["ctx"]["error"], path)
            case "model_type":
                where = f"{path} = " if path else ""
                lines.append(f"{where}{found['input']!r} must be a table of settings")
            case _:
                message = found["msg"].replace("Input should be", "must be")
                lines.append(f"{path} = {found['input']!r} {message}")
    return lines


def settings_lines(error: ValidationError, settings: type[BaseModel]) -> list[str]:
    """Say what is wrong with the settings, one line for each error."""
    lines: list[str] = []
    for found in error.errors(include_url=False):
        section = str(found["loc"][0]) if found["loc"] else ""
        if found["type"] == "extra_forbidden":
            known = settings.model_fields
            listed = ", ".join(f"[{name}]" for name in known)
            lines.append(
                f"there is no section [{section}]{nearest(section, known)}; there are: "
                f"{listed}"
            )
        elif found["type"] == "missing":
            lines.append(f"the section [{section}] is missing")
        elif found["type"] == "value_error":
            lines += _marked(found["ctx"]["error"], f"[{section}]" if section else "")
        else:
            given = found["input"]
            lines.append(f"[{section}] = {given!r} must be a table of settings")
    return lines


def _listed(section: type[BaseModel]) -> str:
    """List the keys that a section, or the kind of section, takes."""
    names = list(section.model_fields)
    if "kind" not in names:
        return f"it has: {', '.join(names)}"
    others = ", ".join(name for name in names if name != "kind") or "nothing else"
    return f"kind = {section.model_fields['kind'].default!r} takes: {others}"


def _marked(error: object, mark: str) -> list[str]:
    prefix = f"{mark} " if mark else ""
    return [prefix + line for line in str(error).splitlines()]
