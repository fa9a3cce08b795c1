"""The plan of a sweep: its folder, and all runs with their settings, checked before any work."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mfpde.settings.base import SettingsError
from mfpde.settings.files import read_table
from mfpde.settings.overrides import (
    ABSENT,
    change,
    change_by_text,
    remove,
    value_of,
)
from mfpde.settings.settings import Settings, settings_from_dict
from mfpde.sweeps.variations import (
    CASE,
    Change,
    combine_changes,
    read_sweep_section,
)
from mfpde.version import __version__

ASIDE = ("output", "particles")
"""Sections that belong to a run of its own, not to one of a sweep."""
MOST_LINES = 10
LONGEST_VALUE = 40
_DIGITS = 16
_LARGEST_EXACT = 2.0**53


@dataclass(frozen=True)
class PlannedRun:
    """One run of a sweep.

    Attributes
    ----------
    name
        The hash of its settings and of the version, 16 hexadecimal digits.
    settings
        Its settings as JSON, for :func:`mfpde.settings.settings.settings_from_dict`.
    parameters
        The values of what the sweep varies, by dotted name; None where a setting is not given.
    label
        The values in words; the name of a case stands for what it changes.
    """

    name: str
    settings: str
    parameters: Mapping[str, Any]
    label: str

    def built(self) -> Settings:
        """Return the settings, built and checked."""
        return settings_from_dict(json.loads(self.settings))


@dataclass(frozen=True)
class Plan:
    """The folder of a sweep, its runs, and the names of what varies.

    The runs are in the order of ``axes``, the last of which varies fastest: names and values of
    each setting of the product, of the first one of each zip, and of the cases.
    """

    folder: Path
    runs: tuple[PlannedRun, ...]
    parameters: tuple[str, ...]
    axes: Mapping[str, tuple[Any, ...]]


def plan_sweep(
    source: str | Path | Mapping[str, Any],
    *,
    folder: str | Path | None = None,
    overrides: Iterable[str] = (),
) -> Plan:
    """Read a sweep and check the settings of each of its runs.

    Parameters
    ----------
    source
        A sweep file, or what one would hold, as a table.
    folder
        The folder, in place of the one that the sweep names.
    overrides
        Changes ``"section.key=value"`` of the settings of all runs.

    Raises
    ------
    SettingsError
        With a line for each error, which names the run.
    """
    if isinstance(source, Mapping):
        data, beside = copy.deepcopy(dict(source)), Path()
    else:
        data, beside = read_table(source), Path(source).parent
    for text in overrides:
        change_by_text(data, text)
    if "sweep" not in data:
        raise SettingsError(
            "the table [sweep] is missing, which says what varies; `mfpde run` makes a "
            "single run"
        )
    wanted = data.pop("sweep")
    if folder is not None and isinstance(wanted, Mapping):
        wanted = {**wanted, "folder": str(folder)}
    section = read_sweep_section(wanted)
    if section.base is not None:
        data = _merge_tables(read_table(beside / section.base), data)
    base = {name: table for name, table in data.items() if name not in ASIDE}
    factors = section.factors()
    changes = combine_changes(factors)
    every = dict.fromkeys(name for one in changes for name in one)
    # Where a section is taken away in one run, its settings say so.
    names = [n for n in every if not any(one.startswith(f"{n}.") for one in every)]
    first = [factor[0] for factor in factors]
    told = {n for one in first for n in ([CASE] if CASE in one else one)}
    axes = {
        name: tuple(one[name] for one in factor)
        for factor in factors
        for name in list(factor[0])[:1]
    }
    runs = _plan_runs(base, changes, names, told)
    return Plan(Path(section.folder).absolute(), runs, tuple(names), axes)


def name_run(settings: Settings) -> str:
    """Return the hash that a run of these settings is known by, with this version."""
    data = json.loads(settings.to_json(), parse_float=_read_number)
    kept = {name: table for name, table in data.items() if name not in ASIDE}
    text = json.dumps([__version__, kept], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:_DIGITS]


def describe_value(value: Any) -> str:
    """Return a value of a setting in a few letters."""
    if value is None:
        return ABSENT
    if isinstance(value, float):
        return f"{value:.6g}"
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."


def _plan_runs(
    base: dict[str, Any],
    changes: Iterable[Change],
    names: Collection[str],
    told: Collection[str],
) -> tuple[PlannedRun, ...]:
    """Return a run for each of the changes; the label has the values of what is told."""
    found: dict[str, PlannedRun] = {}
    lines: list[str] = []
    for one in changes:
        try:
            data = _change_settings(base, one)
            settings = settings_from_dict(data)
        except SettingsError as error:
            what = ", ".join(f"{n} = {describe_value(v)}" for n, v in one.items())
            lines += [f"run with {what}: {line}" for line in str(error).splitlines()]
            continue
        values = {n: one[n] if n == CASE else value_of(data, n) for n in names}
        words = [
            f"{name.rpartition('.')[2]} = {describe_value(value)}"
            for name, value in values.items()
            if name in told
        ]
        label = ", ".join(words) or "the base"
        run = PlannedRun(name_run(settings), settings.to_json(), values, label)
        if run.name in found:
            lines.append(
                f"the runs with {found[run.name].label} and with {label} have the same "
                "settings: leave one of them out"
            )
        found[run.name] = run
    if len(lines) > MOST_LINES:
        rest = len(lines) - MOST_LINES
        lines = [*lines[:MOST_LINES], f"... and {rest} lines more"]
    if lines:
        raise SettingsError("\n".join(lines))
    return tuple(found.values())


def _change_settings(base: dict[str, Any], changes: Change) -> dict[str, Any]:
    data = copy.deepcopy(base)
    for name, value in changes.items():
        if isinstance(value, str) and value == ABSENT:
            remove(data, name)
        elif name != CASE:
            change(data, name, copy.deepcopy(value), "[sweep]")
    return data


def _merge_tables(below: dict[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``below`` with the values of ``above``, table by table."""
    joined = dict(below)
    for key, value in above.items():
        there = joined.get(key)
        if isinstance(there, dict) and isinstance(value, Mapping):
            value = _merge_tables(there, value)
        joined[key] = value
    return joined


def _read_number(text: str) -> float:
    """Return a number of JSON in one form: 1.0 is 1."""
    value = float(text)
    is_whole = value.is_integer() and abs(value) < _LARGEST_EXACT
    return int(value) if is_whole else value
