"""The values that a sweep gives to settings: products, zips and cases."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from mfpde.arrays import choice, real_number, whole_number
from mfpde.settings.base import Section, SettingsError, check_path, mark_lines

Change = dict[str, Any]
"""Values by the dotted names of settings."""
CASE = "case"
"""Name of the coordinate that tells the cases."""
MOST_RUNS = 1_000_000


def span_numbers(
    first: float, to: float, count: int, spacing: str = "linear"
) -> list[float]:
    """Return numbers from one to another, ``{ from, to, count, spacing }``; whole ones stay so."""
    choice("spacing", spacing, ("linear", "log"))
    whole_number("count", count, at_least=1, at_most=MOST_RUNS)
    above = 0.0 if spacing == "log" else -np.inf
    real_number("from", first, above=above)
    real_number("to", to, above=above)
    make = np.linspace if spacing == "linear" else np.geomspace
    found = make(first, to, count)
    whole = isinstance(first, int) and isinstance(to, int)
    if whole and (found == np.round(found)).all():
        found = found.astype(int)
    return list(found.tolist())


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

    def axes(self) -> dict[str, list[Change]]:
        """Return lists of changes, by the first name that each changes, to be combined.

        Raises
        ------
        SettingsError
            If there are too many runs, or two lists change one setting.
        """
        # Cases and zips come first, so that runs that differ little are beside each other.
        cases = [] if self.cases is None else [_read_cases(self.cases)]
        zips = self.zip if isinstance(self.zip, list) else [self.zip]
        zipped = [_read_values("[sweep.zip]", table) for table in zips]
        product = _read_values("[sweep.product]", self.product)
        spans = [*zipped, *({name: span} for name, span in product.items())]
        factors = [factor for factor in [*cases, *map(_zip_values, spans)] if factor]
        count = math.prod(map(len, factors))
        if count > MOST_RUNS:
            raise SettingsError(f"[sweep] has {count} runs; at most {MOST_RUNS}")
        names = list_parameters(factors)
        if twice := [name for name in names if names.count(name) > 1]:
            raise SettingsError(f"[sweep] changes {twice[0]!r} in two ways: leave one")
        return {next(iter(factor[0])): factor for factor in factors}


def list_parameters(factors: Iterable[Sequence[Change]]) -> list[str]:
    """Return the names that lists of changes change, in order."""
    return [name for one in factors for name in dict.fromkeys(chain.from_iterable(one))]


_RANGE = Section(span_numbers, names={"from": "first"})
_SWEEP = Section(SweepSection)


def read_sweep_section(data: Any) -> SweepSection:
    """Return the table [sweep].

    Raises
    ------
    SettingsError
        With one line for each error.
    """
    try:
        return _SWEEP.read(data)  # type: ignore[no-any-return]
    except ValueError as error:
        raise SettingsError("\n".join(mark_lines(error, "[sweep]"))) from error


def _zip_values(values: Mapping[str, Sequence[Any]]) -> list[Change]:
    """Return the changes that give settings their values in step."""
    lengths = {name: len(span) for name, span in values.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name}: {n}" for name, n in lengths.items())
        raise SettingsError(f"[sweep.zip] needs lists of one length, not of {listed}")
    rows = zip(*values.values(), strict=True)
    return [dict(zip(values, row, strict=True)) for row in rows]


def _read_cases(given: Any) -> list[Change]:
    is_list = isinstance(given, list) and all(isinstance(t, Mapping) for t in given)
    if not (is_list and given):
        raise SettingsError(
            f"[sweep] cases = {given!r} must be tables [[sweep.cases]], one or more"
        )
    found: dict[str, Change] = {}
    for number, table in enumerate(given, start=1):
        changes = dict(_flatten(table))
        name = str(changes.pop("name", number))
        if name in found:
            raise SettingsError(f"[[sweep.cases]] name = {name!r} is there twice")
        found[name] = {CASE: name, **changes}
    return list(found.values())


def _read_values(where: str, table: Any) -> dict[str, Sequence[Any]]:
    """Return the values of each setting, which a file gives as a list or as a range."""
    if not isinstance(table, Mapping | None):
        raise SettingsError(f"{where} = {table!r} must be a table of settings")
    found: dict[str, Sequence[Any]] = {}
    for name, value in _flatten(table or {}):
        is_range = isinstance(value, Mapping)
        if not (is_range or (isinstance(value, list) and value)):
            raise SettingsError(
                f"{where} {name} = {value!r} must be a list of values, one or more, or "
                "{ from, to, count }"
            )
        try:
            found[name] = _RANGE.read(value) if is_range else value
        except ValueError as error:
            lines = "; ".join(str(error).splitlines())
            raise SettingsError(f"{where} {name}: {lines}") from error
    return found


def _flatten(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted names of all values in nested tables, with the values or ranges."""
    for key, value in table.items():
        if isinstance(value, Mapping) and value and "from" not in value:
            yield from _flatten(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value
