"""Tables of settings, read by the signature of what they build.

A :class:`Section` takes the parameters of a constructor as keys, with its defaults.  Values are
judged by the constructor itself, once, when the table is read.  What is wrong is told in one
message with one line for each error.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from mfpde.arrays import choice, nearest, shown

NEEDED = inspect.Parameter.empty
"""The default of a key that has none."""
_ROLE = re.compile(r":\w+:`~?([^`]*)`|`+([^`]*)`+")


class SettingsError(ValueError):
    """Settings that cannot be run; the message has one line for each error."""


@contextmanager
def renamed(names: Mapping[str, str]) -> Iterator[None]:
    """Let the errors of a constructor speak of the settings' names, not its own."""
    try:
        yield
    except ValueError as error:
        argument, equals, rest = str(error).partition(" = ")
        name = names.get(argument, argument)
        raise ValueError(f"{name}{equals}{rest}") from error


@contextmanager
def noted(lines: list[str], mark: str = "") -> Iterator[None]:
    """Add the message of a ``ValueError`` in the block to ``lines`` and go on."""
    try:
        yield
    except ValueError as error:
        # What cannot be built is missed again where it is needed.
        if not any(str(error) in line for line in lines):
            lines += marked(error, mark)


def marked(error: ValueError, mark: str) -> list[str]:
    """Return the lines of an error, each behind what it is about."""
    prefix = f"{mark} " if mark else ""
    return [prefix + line for line in str(error).splitlines()]


def raise_all(lines: list[str]) -> None:
    """Raise one ``ValueError`` with all ``lines``, if there are any."""
    if lines:
        raise ValueError("\n".join(lines))


def default(function: Callable[..., Any], argument: str) -> Any:
    """Return the default of an argument, which stands in the signature and nowhere else."""
    return inspect.signature(function).parameters[argument].default


def as_given(value: Any) -> Any:
    """Return what a file gives, for the constructor that takes it to judge."""
    return value


def text(value: Any) -> str:
    """Return ``value`` if it is a text."""
    if isinstance(value, str):
        return value
    raise ValueError(f"= {shown(value)} must be a valid string")


def path(value: Any) -> Any:
    """Return ``value`` if it could be a path, or is None."""
    if value is not None and ("\0" in text(value) or not value.strip()):
        raise ValueError(f"= {value!r} must be a path")
    return value


def flag(value: Any) -> bool:
    """Return ``value`` if it is true or false."""
    if isinstance(value, bool):
        return value
    raise ValueError(f"= {shown(value)} must be a valid boolean")


def seed(value: Any) -> Any:
    """Return ``value`` if a generator of random numbers takes it as its seed."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"= {shown(value)} must be a valid integer")
    if value < 0:
        raise ValueError(f"= {value} must be greater than or equal to 0")
    return value


@dataclass(frozen=True)
class Key:
    """One setting: its default, what reads it, and if it is a table the sections by kind."""

    default: Any = NEEDED
    read: Callable[[Any], Any] = as_given
    sections: Mapping[str, Section] = field(default_factory=dict)


@dataclass(frozen=True)
class Section:
    """What a table may hold, and what it builds.

    Attributes
    ----------
    construct
        The constructor, which takes the values of ``keys`` by name.
    keys
        All settings by the names that a file gives them.
    names
        The names that the constructor has for them, where they are others.
    aside
        Keys that are none of the constructor's.
    check
        Judges a table as soon as it is read; None leaves that to later.
    kind
        The value of ``kind`` that chooses this section among others.
    """

    construct: Callable[..., Any]
    keys: Mapping[str, Key]
    names: Mapping[str, str]
    aside: frozenset[str] = frozenset()
    check: Callable[[Table], Any] | None = None
    kind: str = ""

    @property
    def meaning(self) -> str:
        """The first sentence of the constructor's docstring, in the settings' own names."""
        first = (inspect.getdoc(self.construct) or "").partition("\n\n")[0]
        words = _ROLE.sub(r"\1\2", " ".join(first.split())).removeprefix("Return ")
        for name, parameter in self.names.items():
            words = words.replace(parameter, name)
        return words[:1].upper() + words[1:]

    def read(self, given: Any) -> Table:
        """Return the table that ``given`` is.

        Raises
        ------
        ValueError
            With one line for each error: no table, a key that is missing or unknown (with the
            nearest real one), a value that is not allowed.
        """
        if not isinstance(given, Mapping):
            raise ValueError(f"{shown(given)} must be a table of settings")
        values: dict[str, Any] = {}
        lines: list[str] = []
        for name, key in self.keys.items():
            if name not in given and key.default is NEEDED:
                listed = f"; {self._listed}" if self.kind else ""
                lines.append(f"needs the setting {name!r}{listed}")
                continue
            try:
                values[name] = key.read(given[name]) if name in given else key.default
            except ValueError as error:
                lines += marked(error, name)
        known = {*self.keys, "kind"} if self.kind else self.keys
        lines += [
            f"has no setting {name!r}{nearest(name, known)}; {self._listed}"
            for name in given
            if name not in known
        ]
        raise_all(lines)
        table = Table(self, values)
        if self.check:
            self.check(table)
        return table

    def key(self, otherwise: Any = NEEDED) -> Key:
        """Return the key of such a table within another one, or of a whole file."""

        def read(given: Any) -> Table | None:
            return None if given is None and otherwise is None else self.read(given)

        return Key(otherwise, read, {"": self})

    @property
    def _listed(self) -> str:
        """The keys that the section, or its kind, takes."""
        names = ", ".join(self.keys)
        if self.kind:
            return f"kind = {self.kind!r} takes: {names or 'nothing else'}"
        return f"it has: {names}"


@dataclass(frozen=True)
class Table:
    """A table of settings that has been read; its settings are attributes."""

    section: Section
    values: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["values"][name]
        except KeyError:
            raise AttributeError(name) from None

    @property
    def kind(self) -> str:
        """The kind of section, empty where there is only one."""
        return self.section.kind

    def build(self, *given: Any, **more: Any) -> Any:
        """Return what the table describes; what no file gives comes with the call."""
        names, aside = self.section.names, self.section.aside
        values = {names.get(k, k): v for k, v in self.values.items() if k not in aside}
        with renamed({parameter: name for name, parameter in names.items()}):
            return self.section.construct(*given, **values, **more)

    def changed(self, **values: Any) -> Table:
        """Return the table with other ``values``, which are not judged."""
        return replace(self, values={**self.values, **values})

    def to_dict(self) -> dict[str, Any]:
        """Return the table in JSON's types, without what is None."""
        kind = {"kind": self.kind} if self.kind else {}
        return kind | {k: plain(v) for k, v in self.values.items() if v is not None}


def section(
    construct: Callable[..., Any],
    *,
    only: Iterable[str] | None = None,
    without: Iterable[str] = (),
    needed: Iterable[str] = (),
    names: Mapping[str, str] | None = None,
    more: Mapping[str, Key] | None = None,
    check: Callable[[Table], Any] | None = None,
    **read: Callable[[Any], Any] | Section | Key,
) -> Section:
    """Return the section with the parameters of ``construct`` as its keys.

    Parameters
    ----------
    construct
        A class or a function; its checks are those of the settings.
    only, without
        The parameters that are keys, or those that are none.
    needed
        Keys that a file must give although the constructor has defaults for them.
    names
        The constructor's names for keys that are called otherwise in a file.
    more
        Keys of the table that are no parameters.
    check
        Judges a table when it is read, as ``Table.build`` does.
    read
        What reads the values of single keys: a function, or the section of a table in the
        table.
    """
    names = names or {}
    of_file = {parameter: name for name, parameter in names.items()}
    keys: dict[str, Key] = {}
    for parameter in inspect.signature(construct).parameters.values():
        name = of_file.get(parameter.name, parameter.name)
        is_several = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        is_left = name in without or (only is not None and name not in only)
        if not (is_several or is_left):
            keys[name] = Key(NEEDED if name in needed else parameter.default)
    keys |= more or {}
    for name, reader in read.items():
        if isinstance(reader, Section):
            keys[name] = reader.key(keys[name].default)
        elif isinstance(reader, Key):
            keys[name] = reader
        else:
            keys[name] = replace(keys[name], read=reader)
    return Section(construct, keys, names, frozenset(more or ()), check)


def of_kinds(otherwise: Any = NEEDED, **sections: Section) -> Key:
    """Return the key of a table that is read by the section that its ``kind`` names."""
    kinds = {kind: replace(one, kind=kind) for kind, one in sections.items()}

    def read(given: Any) -> Table | None:
        if given is None and otherwise is None:
            return None
        if not isinstance(given, Mapping):
            raise ValueError(f"{shown(given)} must be a table of settings")
        if "kind" not in given:
            listed = ", ".join(map(repr, kinds))
            raise ValueError(f"needs the setting 'kind', one of {listed}")
        return kinds[choice("kind", given["kind"], kinds)].read(given)

    return Key(otherwise, read, kinds)


def plain(value: Any) -> Any:
    """Return tables and lists of them in JSON's types, without what is None."""
    if isinstance(value, Table):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {k: plain(one) for k, one in value.items() if one is not None}
    return [plain(one) for one in value] if isinstance(value, tuple | list) else value
