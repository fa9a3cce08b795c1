"""The plan of a sweep: what varies, and the runs, all checked before any work."""

from __future__ import annotations

import copy
import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from itertools import chain, product
from typing import Any, NamedTuple

from mfpde.settings.base import Section, SettingsError, check_path, mark_lines
from mfpde.settings.files import ABSENT, change, flatten, remove
from mfpde.settings.settings import Settings, settings_from_dict
from mfpde.version import __version__

Axis = Sequence[tuple[Any, Mapping[str, Any]]]
"""Values, each with the settings that it changes, by their dotted names."""
CASE = "case"
"""Name of the axis of the cases."""
MOST_RUNS = 1_000_000
LONGEST_VALUE = 40


def read_axes(
    folder: str, product: Any = None, cases: Any = None
) -> tuple[str, dict[str, Axis]]:
    """The folder, and what varies by the name of each axis, to be combined each with each other.

    ``ValueError`` if there are too many runs, or cases change what is in the product.
    """
    check_path("folder", folder)
    # Cases come first, so that runs that differ little are beside each other.
    axes = {} if cases is None else {CASE: _read_cases(cases)}
    by_cases = {name for _, changes in axes.get(CASE, ()) for name in changes}
    for name, values in _read_values(product).items():
        if name in by_cases:
            raise ValueError(f"changes {name!r} in two ways: leave one")
        axes[name] = [(value, {name: value}) for value in values]
    count = math.prod(map(len, axes.values()))
    if count > MOST_RUNS:
        raise ValueError(f"has {count} runs; at most {MOST_RUNS}")
    return folder, axes


def read_sweep_section(data: Any) -> tuple[str, dict[str, Axis]]:
    """Return what :func:`read_axes` reads in [sweep]; ``SettingsError`` with a line an error."""
    try:
        return Section(read_axes).read(data)  # type: ignore[no-any-return]
    except ValueError as error:
        raise SettingsError("\n".join(mark_lines(error, "[sweep]"))) from error


def _read_cases(given: Any) -> Axis:
    is_list = isinstance(given, list) and all(isinstance(t, Mapping) for t in given)
    if not (is_list and given):
        raise ValueError(
            f"cases = {given!r} must be tables [[sweep.cases]], one or more"
        )
    found: dict[str, dict[str, Any]] = {}
    for number, table in enumerate(given, start=1):
        changes = flatten(table)
        name = str(changes.pop("name", number))
        if name in found:
            raise ValueError(f"cases: the name {name!r} is there twice")
        found[name] = changes
    return [*found.items()]


def _read_values(table: Any) -> dict[str, list[Any]]:
    """Return the values of each setting."""
    if not isinstance(table, Mapping | None):
        raise ValueError(f"product = {table!r} must be a table of settings")
    found = flatten(table or {})
    for name, values in found.items():
        if not (isinstance(values, list) and values):
            raise ValueError(
                f"product.{name} = {values!r} must be a list of values, one or more"
            )
    return found


class PlannedRun(NamedTuple):
    """One run of a sweep, its ``settings`` as JSON.

    Its ``name`` is the hash of them and of the version, 16 hexadecimal digits; ``parameters``
    are the values of what the sweep varies by dotted name (of cases their names), which
    ``label`` says in words.
    """

    name: str
    settings: str
    parameters: Mapping[str, Any]
    label: str

    def build_settings(self) -> Settings:
        """Return the settings, built and checked."""
        return settings_from_dict(json.loads(self.settings))


def plan_runs(
    base: Mapping[str, Any], axes: Mapping[str, Axis]
) -> tuple[PlannedRun, ...]:
    """Return a run for each combination of changes of the base; the last axis varies fastest.

    ``SettingsError`` with a line for each error of the first run that has any.
    """
    found: dict[str, PlannedRun] = {}
    for chosen in product(*axes.values()):
        parameters = dict(zip(axes, (value for value, _ in chosen), strict=True))
        label = ", ".join(map(_describe_value, parameters.items())) or "the base"
        data = copy.deepcopy(dict(base))
        try:
            for name, value in chain(*(changes.items() for _, changes in chosen)):
                if value == ABSENT:
                    remove(data, name)
                else:
                    change(data, name, copy.deepcopy(value), "[sweep]")
            settings = settings_from_dict(data)
        except SettingsError as error:
            lines = mark_lines(error, f"run with {label}:")
            raise SettingsError("\n".join(lines)) from error
        text = json.dumps([__version__, settings.data], sort_keys=True)
        name = hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]
        run = PlannedRun(name, settings.to_json(), parameters, label)
        if run.name in found:
            raise SettingsError(
                f"the runs with {found[run.name].label} and with {label} have the same "
                "settings: leave one of them out"
            )
        found[run.name] = run
    return tuple(found.values())


def _describe_value(parameter: tuple[str, Any]) -> str:
    """Return the name and the value of what varies in a few letters."""
    name, value = parameter
    text = value if isinstance(value, str) else json.dumps(value)
    if isinstance(value, float):
        text = f"{value:.6g}"
    if len(text) > LONGEST_VALUE:
        text = f"{text[: LONGEST_VALUE - 3]}..."
    return f"{name.rpartition('.')[2]} = {text}"
