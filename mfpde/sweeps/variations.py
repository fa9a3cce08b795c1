"""The values that a sweep gives to settings: products, zips, cases, and their combinations."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfpde.arrays import choice, real_number, whole_number
from mfpde.settings.base import Section, SettingsError, check_path, mark_lines

Change = dict[str, Any]
"""Values by the dotted names of settings."""
CASE = "case"
"""Name of the coordinate that tells the cases."""
MOST_RUNS = 1_000_000


@dataclass(frozen=True)
class Range:
    """Numbers from one to another: ``{ from, to, count, spacing }``."""

    first: float
    to: float
    count: int
    spacing: str = "linear"

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for numbers that span no range."""
        choice("spacing", self.spacing, ("linear", "log"))
        whole_number("count", self.count, at_least=1, at_most=MOST_RUNS)
        above = 0.0 if self.spacing == "log" else -np.inf
        real_number("from", self.first, above=above)
        real_number("to", self.to, above=above)

    def values(self) -> list[Any]:
        """Return the numbers; whole ones stay whole."""
        make = np.linspace if self.spacing == "linear" else np.geomspace
        found = [float(v) for v in make(self.first, self.to, self.count)]
        whole = isinstance(self.first, int) and isinstance(self.to, int)
        if whole and all(v.is_integer() for v in found):
            return [int(v) for v in found]
        return found


@dataclass(frozen=True)
class SweepSection:
    """[sweep]: the folder, the base, and how settings vary."""

    folder: str
    base: str | None = None
    product: Any = None
    zip: Any = None
    cases: Any = None

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for what is no path."""
        check_path("folder", self.folder)
        if self.base is not None:
            check_path("base", self.base)

    @property
    def in_cases(self) -> set[str]:
        """Names of the settings that cases change, without that of the case."""
        cases = [] if self.cases is None else _cases(self.cases)
        return {name for case in cases for name in case} - {CASE}

    def factors(self) -> list[list[Change]]:
        """Return the lists of changes of which each is combined with each of the others."""
        # Cases and zips come first, so that runs that differ little are beside each other.
        return [
            *([_cases(self.cases)] if self.cases is not None else []),
            *_zips(self.zip),
            *_product(self.product),
        ]

    def changes(self) -> list[Change]:
        """Return what each run changes in the base, in order: the last name varies fastest.

        Raises
        ------
        SettingsError
            If the tables cannot be read so.
        """
        factors = self.factors()
        count = int(np.prod([float(len(factor)) for factor in factors]))
        if count > MOST_RUNS:
            raise SettingsError(f"[sweep] has {count} runs; at most {MOST_RUNS}")
        combined = []
        for parts in itertools.product(*factors):
            names = [name for part in parts for name in part]
            twice = next((n for n in names if names.count(n) > 1), None)
            if twice is not None:
                raise SettingsError(f"[sweep] changes {twice!r} in two ways: leave one")
            combined.append({n: v for part in parts for n, v in part.items()})
        return combined


_RANGE = Section(Range, names={"from": "first"})
_SWEEP = Section(SweepSection)


def sweep_section(data: Any) -> SweepSection:
    """Return the table [sweep], checked.

    Raises
    ------
    SettingsError
        With one line for each error.
    """
    try:
        return _SWEEP.read(data).built  # type: ignore[no-any-return]
    except ValueError as error:
        raise SettingsError("\n".join(mark_lines(error, "[sweep]"))) from error


def _product(given: Any) -> list[list[Change]]:
    if given is None:
        return []
    values = _spans("[sweep.product]", given)
    return [[{name: value} for value in span] for name, span in values.items()]


def _zips(given: Any) -> Iterator[list[Change]]:
    tables = given if isinstance(given, list) else [] if given is None else [given]
    for table in tables:
        spans = _spans("[sweep.zip]", table)
        lengths = {name: len(span) for name, span in spans.items()}
        if len(set(lengths.values())) > 1:
            listed = ", ".join(f"{name}: {n}" for name, n in lengths.items())
            raise SettingsError(
                f"[sweep.zip] needs lists of one length, not of {listed}"
            )
        rows = zip(*spans.values(), strict=True)
        yield [dict(zip(spans, row, strict=True)) for row in rows]


def _cases(given: Any) -> list[Change]:
    if not isinstance(given, list) or not given:
        raise SettingsError(
            f"[sweep] cases = {given!r} must be tables [[sweep.cases]], one or more"
        )
    found: list[Change] = []
    for number, table in enumerate(given, start=1):
        if not isinstance(table, Mapping):
            raise SettingsError(f"[[sweep.cases]] {number} = {table!r} is no table")
        rest = {key: value for key, value in table.items() if key != "name"}
        name = str(table.get("name", number))
        if any(name == other[CASE] for other in found):
            raise SettingsError(f"[[sweep.cases]] name = {name!r} is there twice")
        found.append({CASE: name, **dict(_leaves(rest))})
    return found


def _leaves(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted names of all values in tables, with the values."""
    for key, value in table.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{name}.")
        else:
            yield name, value


def _spans(where: str, table: Any) -> dict[str, Sequence[Any]]:
    if not isinstance(table, Mapping):
        raise SettingsError(f"{where} = {table!r} must be a table of settings")
    found: dict[str, Sequence[Any]] = {}
    for name, value in _ranges_or_lists(table):
        if isinstance(value, Mapping):
            try:
                found[name] = _RANGE.read(value).built.values()
            except ValueError as error:
                lines = "; ".join(str(error).splitlines())
                raise SettingsError(f"{where} {name}: {lines}") from error
        elif isinstance(value, list) and value:
            found[name] = value
        else:
            raise SettingsError(
                f"{where} {name} = {value!r} must be a list of values, one or more, or "
                "{ from, to, count }"
            )
    return found


def _ranges_or_lists(
    table: Mapping[str, Any], before: str = ""
) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping) and value and "from" not in value:
            yield from _ranges_or_lists(value, f"{name}.")
        else:
            yield name, value
