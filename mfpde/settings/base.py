"""Tables of settings, read by the signature of what they build.

A :class:`Section` takes the parameters of a constructor as keys, with its defaults.  Values are
judged by the constructor itself, once, when the table is read.  What is wrong is told in one
message with one line for each error.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import UnionType
from typing import Any

from mfpde.arrays import choice, nearest, shown, whole_number

NEEDED = inspect.Parameter.empty
"""The default of a key that has none."""
_SEVERAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
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
def all_errors() -> Iterator[Callable[..., AbstractContextManager[None]]]:
    """Collect errors in the block, and raise one ``ValueError`` of all of them at its end.

    The block gets a function: ``with noted("[solve]"): ...`` notes a ``ValueError`` line by
    line, behind the words it is given, and goes on.
    """
    lines: list[str] = []

    @contextmanager
    def noted(mark: str = "") -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            # What cannot be built is missed again where it is needed.
            if not any(str(error) in line for line in lines):
                lines.extend(marked(error, mark))

    yield noted
    if lines:
        raise ValueError("\n".join(lines))


def marked(error: ValueError, mark: str) -> list[str]:
    """Return the lines of an error, each behind what it is about."""
    return [f"{mark} {line.lstrip()}".lstrip() for line in str(error).splitlines()]


def default(function: Callable[..., Any], argument: str) -> Any:
    """Return the default of an argument, which stands in the signature and nowhere else."""
    return inspect.signature(function).parameters[argument].default


def of_type(kind: type | UnionType, words: str) -> Callable[[Any], Any]:
    """Return what reads values of one ``kind`` of Python, which ``words`` say."""

    def read(value: Any) -> Any:
        if isinstance(value, kind):
            return value
        raise ValueError(f"= {shown(value)} must be {words}")

    return read


text = of_type(str, "a text")
flag = of_type(bool, "true or false")
table = of_type(Mapping, "a table of settings")
listing = of_type(list | tuple, "a table of settings, or several")
as_given = of_type(object, "anything")
"""What a file gives, for the constructor that takes it to judge."""


def path(value: Any) -> Any:
    """Return ``value`` if it could be a path, or is None."""
    if value is not None and ("\0" in text(value) or not value.strip()):
        raise ValueError(f"= {value!r} must be a path")
    return value


def seed(value: Any) -> int:
    """Return ``value`` if a generator of random numbers takes it as its seed."""
    return whole_number("", value, at_least=0)


@dataclass(frozen=True)
class Key:
    """One setting: its default, what reads it, and if it is a table the sections by kind."""

    default: Any = NEEDED
    read: Callable[[Any], Any] = as_given
    sections: Mapping[str, Section] = field(default_factory=dict)


def read_keys(
    keys: Mapping[str, Key],
    given: Mapping[str, Any],
    *,
    word: str = "setting",
    form: str = "{!r}",
    kind: str = "",
) -> dict[str, Any]:
    """Return the values of ``keys`` in ``given``.

    Raises
    ------
    ValueError
        With one line for each error: a key that is missing or unknown (with the nearest real
        one), a value that is not allowed.  A key is called ``word``, and written in ``form``;
        ``kind`` has chosen them.
    """
    names = ", ".join(form.format(name).strip("'") for name in keys)
    listed = f"kind = {kind!r} takes: {names or 'nothing else'}"
    listed = listed if kind else f"it has: {names}"
    values = {}
    with all_errors() as noted:
        for name, key in keys.items():
            if name not in given and key.default is NEEDED:
                with noted():
                    more = f"; {listed}" if kind else ""
                    raise ValueError(f"needs the {word} {form.format(name)}{more}")
            with noted(form.format(name).strip("'")):
                value = given.get(name, key.default)
                is_default = name not in given or value is key.default is None
                values[name] = value if is_default else key.read(value)
        for name in given:
            if name not in keys and not (kind and name == "kind"):
                with noted():
                    close = nearest(name, keys)
                    raise ValueError(
                        f"has no {word} {form.format(name)}{close}; {listed}"
                    )
    return values


class Section:
    """What a table may hold, and what it builds: the parameters of a constructor are its keys.

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
        Judges a table when it is read: by default it is built.
    read
        What reads the values of single keys: a function, a key, or the section of a table in
        the table.
    """

    kind = ""
    """The value of ``kind`` that chooses this section among others."""

    def __init__(
        self,
        construct: Callable[..., Any],
        *,
        only: Iterable[str] | None = None,
        without: Iterable[str] = (),
        needed: Iterable[str] = (),
        names: Mapping[str, str] | None = None,
        more: Mapping[str, Key] | None = None,
        check: Callable[[Table], Any] | None = lambda table: table.built,
        **read: Callable[[Any], Any] | Section | Key,
    ) -> None:
        self.construct, self.check = construct, check
        self.names, self.aside = names or {}, more or {}
        of_file = {parameter: name for name, parameter in self.names.items()}
        self.keys: dict[str, Key] = {}
        for parameter in inspect.signature(construct).parameters.values():
            name = of_file.get(parameter.name, parameter.name)
            is_left = name in without or (only is not None and name not in only)
            if not (is_left or parameter.kind in _SEVERAL):
                self.keys[name] = Key(NEEDED if name in needed else parameter.default)
        self.keys |= self.aside
        for name, reader in read.items():
            otherwise = self.keys[name].default
            match reader:
                case Section():
                    self.keys[name] = reader.key(otherwise)
                case Key():
                    self.keys[name] = reader
                case _:
                    self.keys[name] = Key(otherwise, reader)

    @property
    def meaning(self) -> str:
        """The first sentence of the constructor's docstring, in the settings' own names."""
        first = (inspect.getdoc(self.construct) or "").partition("\n\n")[0]
        words = _ROLE.sub(r"\1\2", " ".join(first.split())).removeprefix("Return ")
        for name, parameter in self.names.items():
            words = words.replace(parameter, name)
        return words[:1].upper() + words[1:]

    def read(self, given: Any) -> Table:
        """Return the table that ``given`` is, checked."""
        found = Table(self, read_keys(self.keys, table(given), kind=self.kind))
        if self.check:
            self.check(found)
        return found

    def key(self, otherwise: Any = NEEDED) -> Key:
        """Return the key of such a table within another one, or of a whole file."""
        return Key(otherwise, self.read, {"": self})

    def several(self, mark: str, otherwise: Any = ()) -> Key:
        """Return the key of a list of such tables, or of one; ``mark`` says which is wrong."""

        def read(given: Any) -> tuple[Table, ...]:
            if isinstance(given, Mapping):
                return (self.read(given),)
            found = []
            with all_errors() as noted:
                for number, one in enumerate(listing(given)):
                    with noted(mark.format(number)):
                        found.append(self.read(one))
            return tuple(found)

        return Key(otherwise, read, {"": self})


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

    @cached_property
    def built(self) -> Any:
        """What the table describes, where nothing else is needed for it."""
        return self.build()

    def build(self, *given: Any, **more: Any) -> Any:
        """Return what the table describes; what no file gives comes with the call."""
        names, aside = self.section.names, self.section.aside
        values = {names.get(k, k): v for k, v in self.values.items() if k not in aside}
        with renamed({parameter: name for name, parameter in names.items()}):
            return self.section.construct(*given, **values, **more)

    def changed(self, **values: Any) -> Table:
        """Return the table with other ``values``, which are not judged."""
        return replace(self, values={**self.values, **values})


def of_kinds(otherwise: Any = NEEDED, **sections: Section) -> Key:
    """Return the key of a table that is read by the section that its ``kind`` names."""
    kinds = {kind: copy(one) for kind, one in sections.items()}
    for kind, one in kinds.items():
        one.kind = kind

    def read(given: Any) -> Table:
        if "kind" not in table(given):
            listed = ", ".join(map(repr, kinds))
            raise ValueError(f"needs the setting 'kind', one of {listed}")
        return kinds[choice("kind", given["kind"], kinds)].read(given)

    return Key(otherwise, read, kinds)


def plain(value: Any) -> Any:
    """Return tables and lists of them in JSON's types, without what is None."""
    if isinstance(value, Table):
        kind = {"kind": value.kind} if value.kind else {}
        return kind | plain(value.values)
    if isinstance(value, Mapping):
        return {k: plain(one) for k, one in value.items() if one is not None}
    return [plain(one) for one in value] if isinstance(value, tuple | list) else value
