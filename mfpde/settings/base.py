"""The base of all sections of a settings file: unknown keys, kinds, defaults, error messages.

A section knows its keys; values are checked by the object that the section builds
(:class:`Attention`, :class:`Circle`, ...), once, when the section is read, and defaults are
those of its signature.  Errors are told in one message with one line for each.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    SkipValidation,
    ValidationError,
    model_validator,
)

from mfpde.arrays import choice, nearest


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
        # What cannot be built is missed again where it is needed.
        if not any(str(error) in line for line in lines):
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
        section = ".".join(map(str, found["loc"][:2]))
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


# Numbers are checked by the constructors that take them, whose messages say more.
Real = SkipValidation[float]
Whole = SkipValidation[int]
Word = SkipValidation[str]
Seed = Annotated[int, Field(ge=0)]


class Section(BaseModel):
    """A table of settings; unknown keys are errors that name the nearest real one."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @model_validator(mode="wrap")
    @classmethod
    def _explained(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(data)
        except ValidationError as error:
            raise ValueError("\n".join(section_lines(error, cls))) from error

    @model_validator(mode="after")
    def _checked(self) -> Self:
        self.check()
        return self

    def check(self) -> None:
        """Raise ``ValueError`` for errors that show in this section alone."""


class BuildingSection(Section, ABC):
    """A table of settings that is judged by building what it describes."""

    @abstractmethod
    def build(self) -> Any:
        """Return what the section describes."""

    def check(self) -> None:
        """Raise ``ValueError`` if the constructor does."""
        self.build()


def default(function: Callable[..., Any], argument: str) -> Any:
    """Return the default of an argument, which stands in the signature and nowhere else."""
    return inspect.signature(function).parameters[argument].default


def of_kind(kinds: Mapping[str, type[Section]]) -> Callable[[Any], Any]:
    """Return a validator that reads a table as the section that its ``kind`` names."""

    def read(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        if "kind" not in value:
            listed = ", ".join(map(repr, kinds))
            raise ValueError(f"needs the setting 'kind', one of {listed}")
        chosen = kinds[choice("kind", value["kind"], kinds)]
        return chosen.model_validate(dict(value))

    return read
