"""The runs of a sweep, each with its settings, checked before any work."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from mfpde.settings.base import SettingsError, mark_lines
from mfpde.settings.overrides import ABSENT, change, remove
from mfpde.settings.settings import Settings, settings_from_dict
from mfpde.sweeps.variations import Axis
from mfpde.version import __version__

ASIDE = "particles"
"""A section that belongs to a run of its own, not to one of a sweep."""
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
        The values of what the sweep varies, by dotted name; of cases their names.
    label
        The values in words.
    """

    name: str
    settings: str
    parameters: Mapping[str, Any]
    label: str

    def built(self) -> Settings:
        """Return the settings, built and checked."""
        return settings_from_dict(json.loads(self.settings))


def plan_runs(
    base: Mapping[str, Any], axes: Mapping[str, Axis]
) -> tuple[PlannedRun, ...]:
    """Return a run for each combination of changes of the base; the last axis varies fastest.

    Raises
    ------
    SettingsError
        With a line for each error, which names the run.
    """
    found: dict[str, PlannedRun] = {}
    lines: list[str] = []
    for chosen in itertools.product(*axes.values()):
        parameters = {
            axis: value for axis, (value, _) in zip(axes, chosen, strict=True)
        }
        label = ", ".join(map(_describe_value, parameters.items())) or "the base"
        data = {name: copy.deepcopy(one) for name, one in base.items() if name != ASIDE}
        try:
            for _, changes in chosen:
                _change_settings(data, changes)
            settings = settings_from_dict(data)
        except SettingsError as error:
            lines += mark_lines(error, f"run with {label}:")
            continue
        run = PlannedRun(name_run(settings), settings.to_json(), parameters, label)
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


def _change_settings(data: dict[str, Any], changes: Mapping[str, Any]) -> None:
    for name, value in changes.items():
        if value == ABSENT:
            remove(data, name)
        elif name.partition(".")[0] != ASIDE:
            change(data, name, copy.deepcopy(value), "[sweep]")


def _describe_value(parameter: tuple[str, Any]) -> str:
    """Return the name and the value of what varies in a few letters."""
    name, value = parameter
    text = value if isinstance(value, str) else json.dumps(value)
    if isinstance(value, float):
        text = f"{value:.6g}"
    if len(text) > LONGEST_VALUE:
        text = f"{text[: LONGEST_VALUE - 3]}..."
    return f"{name.rpartition('.')[2]} = {text}"
