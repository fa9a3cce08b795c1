"""The runs of a sweep, each with its settings, checked before any work."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

from mfpde.settings.base import SettingsError, mark_lines
from mfpde.settings.overrides import ABSENT, change, remove, value_of
from mfpde.settings.settings import Settings, settings_from_dict
from mfpde.sweeps.variations import CASE, Change, list_parameters
from mfpde.version import __version__

ASIDE = ("particles",)
"""Sections that belong to a run of its own, not to one of a sweep."""
MOST_LINES = 10
LONGEST_VALUE = 40
_DIGITS = 16


class PlannedRun(NamedTuple):
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


def plan_runs(
    base: Mapping[str, Any], factors: Collection[Sequence[Change]]
) -> tuple[PlannedRun, ...]:
    """Return a run for each combination of changes of the base; the last factor varies fastest.

    Raises
    ------
    SettingsError
        With a line for each error, which names the run.
    """
    parameters = list_parameters(factors)
    found: dict[str, PlannedRun] = {}
    lines: list[str] = []
    for changes in itertools.product(*factors):
        label = ", ".join(map(_describe_change, changes)) or "the base"
        try:
            data = _change_settings(base, changes)
            settings = settings_from_dict(data)
        except SettingsError as error:
            lines += mark_lines(error, f"run with {label}:")
            continue
        values = {name: value_of(data, name) for name in parameters}
        for one in changes:
            values |= {n: None if v == ABSENT else v for n, v in one.items()}
        run = PlannedRun(name_run(settings), settings.to_json(), values, label)
        if run.name in found:
            lines.append(
                f"the runs with {found[run.name].label} and with {label} have the same "
                "settings: leave one of them out"
            )
        found[run.name] = run
    if lines:
        rest = len(lines) - MOST_LINES
        more = [f"... and {rest} lines more"] if rest > 0 else []
        raise SettingsError("\n".join([*lines[:MOST_LINES], *more]))
    return tuple(found.values())


def name_run(settings: Settings) -> str:
    """Return the hash that a run of these settings is known by, with this version."""
    data = json.loads(settings.to_json(), parse_float=_read_number)
    text = json.dumps([__version__, data], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:_DIGITS]


def _read_number(text: str) -> float:
    """Return a number of JSON in one form: 1.0 is 1."""
    value = float(text)
    return int(value) if value.is_integer() else value


def _change_settings(
    base: Mapping[str, Any], changes: Iterable[Change]
) -> dict[str, Any]:
    data = copy.deepcopy(dict(base))
    for name, value in chain.from_iterable(one.items() for one in changes):
        if value == ABSENT:
            remove(data, name)
        elif name != CASE:
            change(data, name, copy.deepcopy(value), "[sweep]")
    return {name: table for name, table in data.items() if name not in ASIDE}


def _describe_change(change: Change) -> str:
    """Return the values that a change gives in a few letters; of a case its name."""
    told = {CASE: change[CASE]} if CASE in change else change
    return ", ".join(
        f"{name.rpartition('.')[2]} = {_describe_value(value)}"
        for name, value in told.items()
    )


def _describe_value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 3]}..."
