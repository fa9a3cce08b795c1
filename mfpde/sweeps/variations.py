"""The values that a sweep gives to settings: products and cases."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from mfpde.settings.base import Section, SettingsError, check_path, mark_lines

Axis = Sequence[tuple[Any, Mapping[str, Any]]]
"""Values, each with the settings that it changes, by their dotted names."""
CASE = "case"
"""Name of the axis of the cases."""
MOST_RUNS = 1_000_000


@dataclass(frozen=True)
class SweepSection:
    """[sweep]: the folder, and how settings vary."""

    folder: str
    product: Any = None
    cases: Any = None

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for what is no path."""
        check_path("folder", self.folder)

    def axes(self) -> dict[str, Axis]:
        """Return what varies, by the name of each axis, to be combined each with each other.

        Raises
        ------
        SettingsError
            If there are too many runs, or two axes change one setting.
        """
        # Cases come first, so that runs that differ little are beside each other.
        axes = {} if self.cases is None else {CASE: _read_cases(self.cases)}
        for name, values in _read_values(self.product).items():
            axes[name] = [(value, {name: value}) for value in values]
        count = math.prod(map(len, axes.values()))
        if count > MOST_RUNS:
            raise SettingsError(f"[sweep] has {count} runs; at most {MOST_RUNS}")
        changed = Counter(
            name
            for axis in axes.values()
            for name in {*chain.from_iterable(changes for _, changes in axis)}
        )
        for name in (name for name, times in changed.items() if times > 1):
            raise SettingsError(f"[sweep] changes {name!r} in two ways: leave one")
        return axes


_SWEEP = Section(SweepSection)


def read_sweep_section(data: Any) -> SweepSection:
    """Return the table [sweep]; raise ``SettingsError`` with one line for each error."""
    try:
        return _SWEEP.read(data)  # type: ignore[no-any-return]
    except ValueError as error:
        raise SettingsError("\n".join(mark_lines(error, "[sweep]"))) from error


def _read_cases(given: Any) -> Axis:
    is_list = isinstance(given, list) and all(isinstance(t, Mapping) for t in given)
    if not (is_list and given):
        raise SettingsError(
            f"[sweep] cases = {given!r} must be tables [[sweep.cases]], one or more"
        )
    found: dict[str, dict[str, Any]] = {}
    for number, table in enumerate(given, start=1):
        changes = dict(_flatten(table))
        name = str(changes.pop("name", number))
        if name in found:
            raise SettingsError(f"[[sweep.cases]] name = {name!r} is there twice")
        found[name] = changes
    return [*found.items()]


def _read_values(table: Any) -> dict[str, list[Any]]:
    """Return the values of each setting."""
    where = "[sweep.product]"
    if not isinstance(table, Mapping | None):
        raise SettingsError(f"{where} = {table!r} must be a table of settings")
    found = dict(_flatten(table or {}))
    for name, values in found.items():
        if not (isinstance(values, list) and values):
            raise SettingsError(
                f"{where} {name} = {values!r} must be a list of values, one or more"
            )
    return found


def _flatten(table: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the dotted names of all values in nested tables, with the values."""
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            yield from _flatten(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value
