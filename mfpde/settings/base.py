"""Tables of settings, read by the signature of what they build.

A :class:`Section` takes the parameters of a constructor as keys, with its defaults.  To read a
table is to build what it describes, so that its values are judged by the constructor itself.
What is wrong is told in one message with one line for each error.

Rows of numbers may be in a file, .npy, .npz or .safetensors, one of several arrays in it as
``"weights.npz:name"``.  Files are read as numbers only and never run code.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mfpde.arrays import choice, nearest, shown
from mfpde.geometry.memory import check_memory_of_start
from mfpde.terms.array_files import SUFFIXES, open_arrays

NEEDED = inspect.Parameter.empty
"""The default of a key that has none."""
_SEVERAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_ROLE = re.compile(r":\w+:`~?([^`]*)`|`+([^`]*)`+")
_NAMED = re.compile(rf"(.*?(?:{'|'.join(map(re.escape, SUFFIXES))})):(.*)", re.DOTALL)
_LISTED = 20


class SettingsError(ValueError):
    """Settings that cannot be run; the message has one line for each error."""


def check_all(checks: Iterable[tuple[str, Callable[[], object]]]) -> None:
    """Make all checks, each with a mark that says what it is about.

    ``ValueError`` with the lines of all errors, each behind its mark.
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


def default(function: Callable[..., Any], argument: str) -> Any:
    """Return the default of an argument, which stands in the signature and nowhere else."""
    return inspect.signature(function).parameters[argument].default


def check_path(name: str, value: Any) -> None:
    """Raise ``ValueError`` unless ``value`` could be a path."""
    if not isinstance(value, str):
        raise ValueError(f"{name} = {shown(value)} must be a text")
    if "\0" in value or not value.strip():
        raise ValueError(f"{name} = {value!r} must be a path")


class Section:
    """The keys of a table: the parameters of what it builds, ``construct``, which checks them.

    A file must give those that are ``needed`` although there are defaults for them.  Keys that
    are called otherwise in a file have the constructor's ``names``; in errors each is a ``key``.
    An array may be given by the name of a file too; a geometry is that of an earlier table.
    ``tables`` are the forms of the tables in the table, by their keys.  Where there may be a list
    of tables, ``each`` is the mark of one of them, as ``"head {}:"``.
    """

    def __init__(
        self,
        construct: Callable[..., Any],
        *,
        needed: Iterable[str] = (),
        names: Mapping[str, str] | None = None,
        key: str = "setting {!r}",
        each: str = "",
        **tables: Form,
    ) -> None:
        self.construct, self.tables = construct, tables
        self.key, self.each = key, each
        self.names = names or {}
        self.of_file = {parameter: name for name, parameter in self.names.items()}
        self.keys: dict[str, Any] = {}
        self.arrays: set[str] = set()
        self.is_on_a_grid = False
        for parameter in inspect.signature(construct).parameters.values():
            name = self.of_file.get(parameter.name, parameter.name)
            if str(parameter.annotation) == "Geometry" and name not in tables:
                self.is_on_a_grid = True
            elif parameter.kind not in _SEVERAL:
                self.keys[name] = NEEDED if name in needed else parameter.default
                if "ArrayLike" in str(parameter.annotation):
                    self.arrays.add(name)

    @property
    def meaning(self) -> str:
        """The first sentence of the constructor's docstring, in the settings' own names."""
        first = (inspect.getdoc(self.construct) or "").partition("\n")[0]
        words = _ROLE.sub(r"\1\2", first).removeprefix("Return ")
        for name, parameter in self.names.items():
            words = words.replace(parameter, name)
        return words[:1].upper() + words[1:]

    def read(
        self, given: Any, before: Mapping[str, Any] | None = None, kind: str = ""
    ) -> Any:
        """Return what a table of a file builds; defaults and arrays are filled into it.

        ``before`` has what earlier tables have built, by name: without the geometry that it
        needs nothing is built.  ``kind`` is its kind, if there are others.  ``ValueError`` with
        one line for each error: a key that is missing or unknown (with the nearest real one), a
        value that is not allowed.
        """
        check_table(given)
        built = dict(before or {})
        check_all(
            (
                self.mark(name) * (name in given and name in self.keys),
                partial(self._take, name, given, built, kind),
            )
            for name in {**self.keys, **given}
        )
        if self.is_on_a_grid:
            if "geometry" not in built:
                return None
            check_memory_of_start(built["geometry"])
        names = [*self.keys, *["geometry"] * self.is_on_a_grid]
        try:
            return self.construct(**{self.names.get(k, k): built[k] for k in names})
        except ValueError as error:
            # It speaks of the settings' names, not of the constructor's.
            argument, equals, rest = str(error).partition(" = ")
            name = self.of_file.get(argument, argument)
            raise ValueError(f"{name}{equals}{rest}") from error

    def _take(
        self, name: str, given: dict[str, Any], built: dict[str, Any], kind: str
    ) -> None:
        """Put what the value of a key, or its default, builds into ``built``."""
        called, default = self.key.format(name), self.keys.get(name)
        listed = ", ".join(map(self.mark, self.keys)) or "nothing else"
        known = f"; kind = {kind!r} takes: {listed}" if kind else f"; it has: {listed}"
        if name not in self.keys:
            raise ValueError(f"has no {called}{nearest(name, self.keys)}{known}")
        if name not in given and default is NEEDED:
            raise ValueError(f"needs the {called}{known if kind else ''}")
        if name in given and name in self.tables:
            built[name] = read_form(self.tables[name], given[name], built)
            return
        value = given.get(name, default)
        if name in self.arrays and isinstance(value, str):
            value = read_rows(value)
        built[name] = value
        if name not in self.tables and value is not None:
            given[name] = value

    def mark(self, name: str) -> str:
        """Return what stands before an error about a key, and before the key in a list."""
        return self.key.format(name).partition(" ")[2].strip("'")


class Kinds(dict[str, Section]):
    """Tables of several kinds, each with its ``kind``; ``each`` as of a :class:`Section`."""

    def __init__(self, sections: Mapping[str, Section], each: str = "") -> None:
        super().__init__(sections)
        self.each = each

    def read(self, given: Any, before: Mapping[str, Any]) -> Any:
        """Return what a table builds, as its kind does."""
        check_table(given)
        if "kind" not in given:
            listed = ", ".join(map(repr, self))
            raise ValueError(f"needs the setting 'kind', one of {listed}")
        kind = choice("kind", given.pop("kind"), self)
        built = self[kind].read(given, before, kind)
        given["kind"] = kind
        return built


Form = Section | Kinds


def read_form(form: Form, given: Any, before: Mapping[str, Any]) -> Any:
    """Return what a table builds; where there may be several, a tuple of what they build."""
    if not form.each:
        return form.read(given, before)
    found: list[Any] = []

    def read(one: Any) -> None:
        found.append(form.read(one, before))

    if isinstance(given, list):
        each = enumerate(given)
        check_all((form.each.format(k), partial(read, one)) for k, one in each)
    else:
        read(given)
    return tuple(found)


def check_table(given: Any) -> None:
    """Raise ``ValueError`` unless ``given`` is a table."""
    if not isinstance(given, dict):
        raise ValueError(f"= {shown(given)} must be a table of settings")


def read_rows(given: str) -> Any:
    """Return the rows of the array that a text names: ``"file"``, or ``"file:name"``.

    ``ValueError`` if the file is missing, of another kind, no array, or has none of that name.
    """
    file, name = found.groups() if (found := _NAMED.match(given)) else (given, None)
    path = Path(file)
    if not path.name.endswith(SUFFIXES):
        kinds = ", ".join(SUFFIXES)
        raise ValueError(
            f"= {given!r} must be rows of numbers or a file that ends in {kinds}"
        )
    if not path.is_file():
        raise ValueError(f"= {given!r}: there is no file {file!r}")
    try:
        with open_arrays(path) as arrays:
            names = list(arrays)
            chosen = name or (names[0] if len(names) == 1 else None)
            array = np.asarray(arrays[chosen][...]) if chosen in names else None
    except Exception as error:
        # Whatever a reader makes of bytes that are none of its own.
        reason = " ".join(str(error).split()) or type(error).__name__
        raise ValueError(f"= {file!r} cannot be read: {reason}") from error
    if array is None:
        what = f"has no array {name!r}" if name else "needs the name of an array"
        listed = ", ".join(map(repr, names[:_LISTED])) or "nothing"
        more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        raise ValueError(
            f"= {given!r}: {file!r} {what}{nearest(name, names)}; it holds {listed}{more}, "
            f"as in '{file}:{next(iter(names), 'name')}'"
        )
    if array.dtype.kind not in "fiu":
        raise ValueError(
            f"= {given!r} holds {array.dtype}, which is not an array of real numbers"
        )
    with np.errstate(over="ignore"):
        # What is too large is infinite then, which is refused.
        return array.astype(np.float64).tolist()
