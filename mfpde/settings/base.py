"""Tables of settings, read by the signature of what they build.

A :class:`Section` takes the parameters of a constructor as keys, with its defaults.  To read a
table is to build what it describes, so that its values are judged by the constructor itself.
What is wrong is told in one message with one line for each error.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import Any, NamedTuple

from mfpde.arrays import choice, nearest, shown
from mfpde.settings.matrices import read_rows

NEEDED = inspect.Parameter.empty
"""The default of a key that has none."""
_SEVERAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_ROLE = re.compile(r":\w+:`~?([^`]*)`|`+([^`]*)`+")


class SettingsError(ValueError):
    """Settings that cannot be run; the message has one line for each error."""


def check_all(checks: Iterable[tuple[str, Callable[[], object]]]) -> None:
    """Make all checks, each with a mark that says what it is about.

    Raises
    ------
    ValueError
        With the lines of all errors, each behind its mark.
    """
    lines: list[str] = []
    for mark, check in checks:
        try:
            check()
        except ValueError as error:
            # What cannot be built is missed again where it is needed.
            if not any(str(error) in line for line in lines):
                lines += mark_lines(error, mark)
    if lines:
        raise ValueError("\n".join(lines))


def mark_lines(error: ValueError, mark: str) -> list[str]:
    """Return the lines of an error, each behind what it is about."""
    return [f"{mark} {line.lstrip()}".lstrip() for line in str(error).splitlines()]


@contextmanager
def renamed_arguments(names: Mapping[str, str]) -> Iterator[None]:
    """Let the errors of a constructor speak of the settings' names, not its own."""
    try:
        yield
    except ValueError as error:
        argument, equals, rest = str(error).partition(" = ")
        name = names.get(argument, argument)
        raise ValueError(f"{name}{equals}{rest}") from error


def default(function: Callable[..., Any], argument: str) -> Any:
    """Return the default of an argument, which stands in the signature and nowhere else."""
    return inspect.signature(function).parameters[argument].default


def check_path(name: str, value: Any) -> None:
    """Raise ``ValueError`` unless ``value`` could be a path."""
    if not isinstance(value, str):
        raise ValueError(f"{name} = {shown(value)} must be a text")
    if "\0" in value or not value.strip():
        raise ValueError(f"{name} = {value!r} must be a path")


class Table(NamedTuple):
    """A table that has been read: its settings in JSON's types, and what they build."""

    data: Any
    built: Any


class Section:
    """What a table may hold, and what it builds: the parameters of a constructor are its keys.

    An array may be given by the name of a file too.  A geometry is that of an earlier table.

    Parameters
    ----------
    construct
        A class or a function; its checks are those of the settings.
    needed
        Keys that a file must give although the constructor has defaults for them.
    names
        The constructor's names for keys that are called otherwise in a file.
    key
        What a key is called in errors.
    tables
        What reads the tables in the table, by their keys.
    """

    kind = ""
    """The value of ``kind`` that chooses this section among others."""

    def __init__(
        self,
        construct: Callable[..., Any],
        *,
        needed: Iterable[str] = (),
        names: Mapping[str, str] | None = None,
        key: str = "setting {!r}",
        **tables: Section | Kinds | Several,
    ) -> None:
        self.construct, self.key, self.tables = construct, key, tables
        self.names, self.sections = names or {}, {"": self}
        self.keys: dict[str, Any] = {}
        self.arrays: set[str] = set()
        self.is_on_a_grid = False
        of_file = {parameter: name for name, parameter in self.names.items()}
        for parameter in inspect.signature(construct).parameters.values():
            name = of_file.get(parameter.name, parameter.name)
            if str(parameter.annotation) == "Geometry" and name not in tables:
                self.is_on_a_grid = True
            elif parameter.kind not in _SEVERAL:
                self.keys[name] = NEEDED if name in needed else parameter.default
                if "ArrayLike" in str(parameter.annotation):
                    self.arrays.add(name)

    @property
    def meaning(self) -> str:
        """The first sentence of the constructor's docstring, in the settings' own names."""
        first = (inspect.getdoc(self.construct) or "").partition("\n\n")[0]
        words = _ROLE.sub(r"\1\2", " ".join(first.split())).removeprefix("Return ")
        for name, parameter in self.names.items():
            words = words.replace(parameter, name)
        return words[:1].upper() + words[1:]

    def read(self, given: Any, before: Mapping[str, Any] | None = None) -> Table:
        """Return the table that ``given`` is, and what it builds.

        Parameters
        ----------
        given
            The table of a file.
        before
            What earlier tables have built, by name.  Without the geometry that it needs
            nothing is built.

        Raises
        ------
        ValueError
            With one line for each error: a key that is missing or unknown (with the nearest
            real one), a value that is not allowed.
        """
        if not isinstance(given, Mapping):
            raise ValueError(f"= {shown(given)} must be a table of settings")
        given = {name: value for name, value in given.items() if value is not None}
        kind = {"kind": given.pop("kind")} if self.kind else {}
        built, taken = {**(before or {})}, {}

        def take(name: str) -> None:
            taken[name] = self._read_key(name, given, built)
            built[name] = taken[name].built

        check_all(
            (
                self._mark(name) * (name in given and name in self.keys),
                partial(take, name),
            )
            for name in {**self.keys, **given}
        )
        data = {k: one.data for k, one in taken.items() if one.data is not None}
        values = {self.names.get(k, k): one.built for k, one in taken.items()}
        if self.is_on_a_grid:
            if "geometry" not in built:
                return Table(kind | data, None)
            values["geometry"] = built["geometry"]
        with renamed_arguments(
            {argument: name for name, argument in self.names.items()}
        ):
            return Table(kind | data, self.construct(**values))

    def _read_key(
        self, name: str, given: Mapping[str, Any], before: Mapping[str, Any]
    ) -> Table:
        called = self.key.format(name)
        if name not in self.keys:
            close = nearest(name, self.keys)
            raise ValueError(f"has no {called}{close}; {self._known_keys}")
        value = given.get(name, self.keys[name])
        if value is NEEDED:
            more = f"; {self._known_keys}" if self.kind else ""
            raise ValueError(f"needs the {called}{more}")
        if name in self.tables:
            is_given = name in given
            return (
                self.tables[name].read(value, before)
                if is_given
                else Table(None, value)
            )
        if name in self.arrays and isinstance(value, str):
            value = read_rows(value)
        return Table(value, value)

    def _mark(self, name: str) -> str:
        return self.key.format(name).partition(" ")[2].strip("'")

    @property
    def _known_keys(self) -> str:
        listed = ", ".join(map(self._mark, self.keys)) or "nothing else"
        return (
            f"kind = {self.kind!r} takes: {listed}"
            if self.kind
            else f"it has: {listed}"
        )


class Kinds:
    """Tables of several kinds: ``kind`` names the section that reads one."""

    def __init__(self, **sections: Section) -> None:
        self.sections = {kind: copy(section) for kind, section in sections.items()}
        for kind, section in self.sections.items():
            section.kind = kind

    def read(self, given: Any, before: Mapping[str, Any] | None = None) -> Table:
        """Read a table by the section of its kind."""
        if not isinstance(given, Mapping):
            raise ValueError(f"= {shown(given)} must be a table of settings")
        if "kind" not in given:
            listed = ", ".join(map(repr, self.sections))
            raise ValueError(f"needs the setting 'kind', one of {listed}")
        kind = choice("kind", given["kind"], self.sections)
        return self.sections[kind].read(given, before)


class Several:
    """A list of tables of one section, or one of them; ``mark`` says which is wrong."""

    def __init__(self, section: Section, mark: str) -> None:
        self.sections, self.section, self.mark = section.sections, section, mark

    def read(self, given: Any, before: Mapping[str, Any] | None = None) -> Table:
        """Read a table, or a list of them; what they build is a tuple."""
        if isinstance(given, Mapping):
            data, built = self.section.read(given, before)
            return Table(data, (built,))
        if not isinstance(given, list | tuple):
            raise ValueError(
                f"= {shown(given)} must be a table of settings, or several"
            )
        found: list[Table] = []

        def read(one: Any) -> None:
            found.append(self.section.read(one, before))

        check_all(
            (self.mark.format(k), partial(read, one)) for k, one in enumerate(given)
        )
        return Table([one.data for one in found], tuple(one.built for one in found))
