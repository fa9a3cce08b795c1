"""Settings of a run, read from TOML and judged as a whole before any work.

``mfpde settings`` lists all sections with their keys.  Paths are relative to the directory in
which the run is started.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.geometry.memory import check_memory_of_run
from mfpde.measures.measure import as_measure
from mfpde.particles.systems import check_motion, choose_method
from mfpde.positions.rows import PositionedDensity
from mfpde.runs.layers import (
    Dynamics,
    Layers,
    for_each_layer,
    largest_degree,
    stages_of,
)
from mfpde.runs.times import DEFAULT_SAVES, end_time, save_times
from mfpde.settings import sections
from mfpde.settings.base import Section, SettingsError, check_all
from mfpde.settings.files import change_by_text, name_places, read_table
from mfpde.solver import arguments
from mfpde.terms import Interaction, Kernel
from mfpde.tracking import Concentration


@dataclass(kw_only=True, eq=False)
class Settings:
    """All settings of a run, checked: the objects that they build fit together.

    Settings are made by :func:`read_settings` or :func:`settings_from_dict`, which explain
    errors.  The run ends with the last layer, and the equation of the first layer is that of
    the file, where these are left out.
    """

    geometry: Geometry
    attention: tuple[Any, ...] = ()
    interaction: Kernel | None = None
    perceptron: sections.Draw | None = None
    equation: dict[str, Any] | None = None
    start: Any
    rows: Callable[[Any], PositionedDensity] | None = None
    solve: dict[str, Any] = field(default_factory=dict)
    layers: tuple[sections.LayerOptions, ...] | None = None
    concentration: Concentration | None = None
    particles: sections.Particles | None = None

    data: dict[str, Any] = field(init=False, default_factory=dict)
    """All of it in JSON's types, by section."""

    def __post_init__(self) -> None:
        if self.layers == ():
            raise ValueError("layers = [] needs one table [[layers]] at least")
        layers = self.layers or ()
        if self.equation is None and layers:
            self.equation = layers[0].equation
        if self.equation is None:
            raise ValueError("needs the section [equation]")
        of_file = self.attention or self.interaction or self.perceptron
        of_layers = [one.attention or one.perceptron for one in layers]
        if not (of_file or (of_layers and all(of_layers))):
            raise ValueError("an equation needs [attention], [perceptron] or both")
        self.solve = self.solve or sections.solve_options()
        if not layers and self.solve["t_end"] is None:
            raise ValueError("[solve] needs the setting 't_end'")
        if self.rows is not None:
            self.start = (self.rows(self.start),)
        if len(self.start) != 1:
            raise ValueError(
                "[[start]]: several are blocks of positions and need [rows]"
            )
        (self.start,) = self.start
        check_all(
            [
                ("[geometry]", self._check_geometry),
                ("[solve]", self._check_method),
                ("[solve]", self.save_times),
                ("[particles]", self._check_particles),
            ]
        )

    def _check_geometry(self) -> None:
        for_each_layer(self.dynamics, lambda one: one.on(self.geometry))

    def _check_method(self) -> None:
        start, names = self.start, ("transport", "atoms", "rtol", "max_step")
        measure = start if isinstance(start, PositionedDensity) else as_measure(start)
        given = {name: self.solve[name] for name in names}
        arguments.choose_method(self.dynamics, measure, **given)

    def _check_particles(self) -> None:
        start = self.start
        if isinstance(start, PositionedDensity):
            for section in ("particles", "concentration"):
                if getattr(self, section) is not None:
                    raise ValueError("rows of positions have none yet: leave it out")
        elif self.particles is not None:
            for_each_layer(self.dynamics, lambda one: check_motion(one, start))
            choose_method(start, self.particles.method, self.particles.count)

    @cached_property
    def dynamics(self) -> Dynamics:
        """What a run solves: the layers if there are any, else the equation."""
        pairs = []
        for layer in self.layers or (sections.LayerOptions(1.0),):
            draw = layer.perceptron or self.perceptron
            for number in range(layer.count):
                terms = [*(layer.attention or self.attention)]
                if self.interaction is not None:
                    terms.append(Interaction(self.interaction))
                if draw is not None:
                    terms.append(draw(number))
                options: Any = layer.equation or self.equation
                pairs.append((MeanFieldEquation(*terms, **options), layer.duration))
        return Layers(pairs) if self.layers else pairs[0][0]

    def single_equation(self) -> MeanFieldEquation:
        """Return the equation; ``SettingsError`` for layers, which are several."""
        if not isinstance(self.dynamics, MeanFieldEquation):
            raise SettingsError(
                f"[[layers]] are {len(self.dynamics)} equations: this works on one alone; "
                "leave them out"
            )
        return self.dynamics

    def solve_arguments(self) -> dict[str, Any]:
        """Return the keyword arguments for :func:`mfpde.solve`."""
        return {**self.solve, "track": self.concentration}

    def save_times(self) -> FloatArray:
        """Return the times of the saves, of which the last is the end of the run."""
        times: dict[str, Any] = {k: self.solve[k] for k in ("save_every", "save_at")}
        t_end = end_time(self.dynamics, self.solve["t_end"])
        breaks = [stage.end for stage in stages_of(self.dynamics, 0.0, t_end)]
        return save_times(t_end, default_saves=DEFAULT_SAVES, breaks=breaks, **times)

    def check_memory(self) -> None:
        """Raise ``MemoryError`` if the run and its report take more memory than there is."""
        grid = self.geometry
        saves = 2 if self.solve["stop"] else len(self.save_times())
        saves *= len(self.start) if isinstance(self.start, PositionedDensity) else 1
        degree = largest_degree(self.dynamics, grid)
        check_memory_of_run(grid, degree, saves, reported=True)

    def to_json(self) -> str:
        """Return the settings as JSON, for :func:`settings_from_dict`."""
        return json.dumps(self.data)


FILE = Section(Settings, key="section [{}]", **sections.SECTIONS)
"""A settings file."""


def read_settings(path: str | Path, overrides: Iterable[str] = ()) -> Settings:
    """Read a settings file, change single settings, and check everything.

    The ``path`` is that of a TOML file; ``overrides`` are changes of the form
    ``"section.key=value"``, the value TOML or a bare string.

    ``SettingsError`` with one line for each error: no such file, no TOML, an unknown section or
    key (with the nearest real one), a value that is not allowed, settings that do not fit
    together.  It says the line of the file where one is to blame.
    """
    data, overrides = read_table(path), list(overrides)
    for override in overrides:
        change_by_text(data, override)
    try:
        return settings_from_dict(data)
    except SettingsError as error:
        raise SettingsError(name_places(str(error), path, overrides)) from error


def settings_from_dict(data: Mapping[str, Any]) -> Settings:
    """Return the settings in ``data``, a table of sections; errors as :func:`read_settings`."""
    complete = copy.deepcopy(dict(data))
    try:
        settings: Settings = FILE.read(complete)
    except ValueError as error:
        raise SettingsError(str(error)) from error
    settings.data = complete
    return settings
