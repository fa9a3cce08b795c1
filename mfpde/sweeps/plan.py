"""The plan of a sweep: its folder, and all runs with their settings, checked before any work."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterable, Mapping
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
from mfpde.sweeps.variations import CASE, Change, SweepSection, sweep_section
from mfpde.version import __version__

ASIDE = ("output", "particles")
"""Sections that belong to a run of its own, not to one of a sweep."""
MOST_LINES = 10
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
    source: Mapping[str, Any]
    axes: Mapping[str, tuple[Any, ...]]


def planned(
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
    whole = copy.deepcopy(data)
    if "sweep" not in data:
        raise SettingsError(
            "the table [sweep] is missing, which says what varies; `mfpde run` makes a "
            "single run"
        )
    wanted = data.pop("sweep")
    if folder is not None and isinstance(wanted, Mapping):
        wanted = {**wanted, "folder": str(folder)}
    section = sweep_section(wanted)
    if section.base is not None:
        data = _laid_over(read_table(beside / section.base), data)
    for name in ASIDE:
        data.pop(name, None)
    runs, names = _runs(section, data)
    axes = {}
    for factor in section.factors():
        name = next(iter(factor[0]))
        axes[name] = tuple(one[name] for one in factor)
    return Plan(Path(section.folder).absolute(), runs, names, whole, axes)


def run_name(settings: Settings) -> str:
    """Return the hash that a run of these settings is known by, with this version."""
    data = json.loads(settings.to_json())
    for name in ASIDE:
        data.pop(name, None)
    text = json.dumps([__version__, _canonical(data)], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:_DIGITS]


def shown_value(value: Any) -> str:
    """Return a value of a setting in a few letters."""
    if value is None:
        return ABSENT
    if isinstance(value, float):
        return f"{value:.6g}"
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def _runs(
    section: SweepSection, data: dict[str, Any]
) -> tuple[tuple[PlannedRun, ...], tuple[str, ...]]:
    changes = section.changes()
    all_names = dict.fromkeys(name for one in changes for name in one)
    # Where a section is taken away in one run, its settings say so.
    names = tuple(
        name
        for name in all_names
        if not any(other.startswith(f"{name}.") for other in all_names)
    )
    spanned = {name for name in changes[0] if name not in section.in_cases}
    found: dict[str, PlannedRun] = {}
    lines: list[str] = []
    for one in changes:
        try:
            run = _planned_run(data, one, names, spanned)
        except SettingsError as error:
            what = ", ".join(f"{n} = {shown_value(v)}" for n, v in one.items())
            lines += [f"run with {what}: {line}" for line in str(error).splitlines()]
            continue
        if run.name in found:
            lines.append(
                f"the runs with {found[run.name].label} and with {run.label} have the same "
                "settings: leave one of them out"
            )
        found[run.name] = run
    if len(lines) > MOST_LINES:
        rest = len(lines) - MOST_LINES
        lines = [*lines[:MOST_LINES], f"... and {rest} lines more"]
    if lines:
        raise SettingsError("\n".join(lines))
    return tuple(found.values()), names


def _planned_run(
    base: dict[str, Any], changes: Change, names: tuple[str, ...], told: set[str]
) -> PlannedRun:
    data = copy.deepcopy(base)
    for name, value in changes.items():
        if name == CASE:
            continue
        if isinstance(value, str) and value == ABSENT:
            remove(data, name)
        else:
            change(data, name, copy.deepcopy(value), "[sweep]")
    settings = settings_from_dict(data)
    values = {n: changes[n] if n == CASE else value_of(data, n) for n in names}
    words = [
        f"{name.rpartition('.')[2]} = {shown_value(values[name])}"
        for name in names
        if name in told
    ]
    label = ", ".join(words) or "the base"
    return PlannedRun(run_name(settings), settings.to_json(), values, label)


def _laid_over(below: dict[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``below`` with the values of ``above``, table by table."""
    joined = dict(below)
    for key, value in above.items():
        there = joined.get(key)
        if isinstance(there, dict) and isinstance(value, Mapping):
            joined[key] = _laid_over(there, value)
        else:
            joined[key] = value
    return joined


def _canonical(value: Any) -> Any:
    """Return the value with each number in one form: 1.0 is 1."""
    if isinstance(value, dict):
        return {key: _canonical(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_canonical(part) for part in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _LARGEST_EXACT:
        return int(value)
    return value
