"""Settings of a run, read from TOML and judged as a whole before any work.

``mfpde settings`` lists all sections with their keys.  Paths are relative to the directory in
which the run is started.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mfpde.atoms import check_atoms
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.geometry.memory import check_memory_of_run, check_memory_of_start
from mfpde.measures.measure import Density, Measure
from mfpde.runs.layers import Dynamics, Layers, for_each_layer
from mfpde.runs.times import aligned_with_layers, end_time
from mfpde.settings import sections
from mfpde.settings.base import (
    Key,
    SettingsError,
    Table,
    all_errors,
    plain,
    read_keys,
)
from mfpde.settings.files import read_table, with_places
from mfpde.settings.layers import LAYER, completed, perceptrons
from mfpde.settings.neurons import PERCEPTRON
from mfpde.settings.overrides import changed_by_text
from mfpde.solver.label_conditions import largest_degree
from mfpde.terms import Interaction
from mfpde.transport import scheme_for

__all__ = [
    "SECTIONS",
    "Settings",
    "SettingsError",
    "read_settings",
    "read_table",
    "settings_from_dict",
]

SECTIONS: dict[str, Key] = {
    "geometry": sections.GEOMETRY,
    "attention": sections.HEADS,
    "interaction": sections.KERNEL,
    "perceptron": PERCEPTRON.key(None),
    "equation": sections.EQUATION.key(),
    "start": sections.START,
    "solve": sections.SOLVE.key(),
    "layers": LAYER.several("layer {}:", None),
    "concentration": sections.CONCENTRATION.key(None),
    "particles": sections.PARTICLES.key(None),
    "output": sections.OUTPUT.key(sections.OUTPUT.read({})),
}
"""All sections of a settings file, in the order in which they are told."""


@dataclass(frozen=True)
class Settings:
    """All settings of a run, checked: the objects that they build fit together.

    Settings are made by :func:`read_settings` or :func:`settings_from_dict`, which explain
    errors.
    """

    geometry: Table
    attention: tuple[Table, ...]
    interaction: Table | None
    perceptron: Table | None
    equation: Table
    start: Table
    solve: Table
    layers: tuple[Table, ...] | None
    concentration: Table | None
    particles: Table | None
    output: Table

    def build_geometry(self) -> Geometry:
        """Return the grid."""
        return self.geometry.built  # type: ignore[no-any-return]

    def build_equation(self) -> MeanFieldEquation:
        """Return the equation (always the same object, so that its grid is shared).

        Raises
        ------
        SettingsError
            If the settings have layers, which are several equations.
        """
        if not isinstance(self._dynamics, MeanFieldEquation):
            raise SettingsError(
                f"[[layers]] are {len(self._dynamics)} equations: this works on one alone; "
                "leave them out"
            )
        return self._dynamics

    def build_dynamics(self) -> Dynamics:
        """Return what a run solves: the layers if there are any, else the equation."""
        return self._dynamics

    def build_start(self) -> Density | Measure:
        """Return the density at time 0, and atoms if a stored run has any."""
        return self._start

    def solve_arguments(self) -> dict[str, Any]:
        """Return the keyword arguments for :func:`mfpde.solve`."""
        followed, times = self.concentration, sections.times_of_saves(self.solve)
        if self.solve.save_every is None and self.solve.save_at is None:
            times = aligned_with_layers(self._dynamics, times)
        same = ("t_end", "transport", "atoms", "rtol", "max_step")
        return {
            **{name: self.solve.values[name] for name in same},
            "save_at": times,
            "stop": sections.stopping_conditions(self.solve),
            "track": followed.built if followed and followed.track else None,
        }

    def check_memory(self) -> None:
        """Raise ``MemoryError`` if the run and its report take more memory than there is."""
        arguments, grid = self.solve_arguments(), self.build_geometry()
        saves = 2 if arguments["stop"] else len(arguments["save_at"])
        degree = largest_degree(self._dynamics, grid)
        check_memory_of_run(grid, degree, saves, reported=True)

    def to_json(self) -> str:
        """Return the settings as JSON, for :func:`settings_from_dict`."""
        data = plain({name: getattr(self, name) for name in SECTIONS})
        heads = data.pop("attention")
        # One head is a table.
        attention = {"attention": heads[0] if len(heads) == 1 else heads}
        return json.dumps({**(attention if heads else {}), **data})

    def with_output(self, **paths: str | None) -> Settings:
        """Return the settings with other paths in [output], and what they have built."""
        other = copy.copy(self)
        object.__setattr__(other, "output", self.output.changed(**paths))
        return other

    @cached_property
    def _start(self) -> Density | Measure:
        return self.start.build(self.build_geometry())  # type: ignore[no-any-return]

    @cached_property
    def _dynamics(self) -> Dynamics:
        if self.layers is None:
            return self._equation(self.attention, self.perceptron, self.equation)
        return Layers(
            [
                (
                    self._equation(
                        one.attention or self.attention,
                        neurons,
                        one.equation or self.equation,
                    ),
                    one.duration,
                )
                for one in self.layers
                for neurons in perceptrons(one.perceptron or self.perceptron, one.count)
            ]
        )

    def _equation(
        self,
        attention: tuple[Table, ...],
        perceptron: Table | None,
        equation: Table,
    ) -> MeanFieldEquation:
        terms: list[Any] = [head.built for head in attention]
        if self.interaction is not None:
            terms.append(Interaction(self.interaction.built))
        if perceptron is not None:
            terms.append(perceptron.build(self.build_geometry()))
        return equation.build(*terms)  # type: ignore[no-any-return]

    def check(self) -> None:
        """Raise ``ValueError`` with one line for each thing that does not fit together."""
        if self.layers == ():
            raise ValueError("layers = [] needs one table [[layers]] at least")
        of_file = self.attention or self.interaction or self.perceptron
        of_layers = [one.attention or one.perceptron for one in self.layers or ()]
        if not (of_file or (of_layers and all(of_layers))):
            raise ValueError("an equation needs [attention], [perceptron] or both")
        grid, solve = self.build_geometry(), self.solve

        def each(check: Callable[[MeanFieldEquation], Any]) -> None:
            for_each_layer(self._dynamics, check)

        with all_errors() as noted:
            with noted("[perceptron]"):
                each(self._check_neurons)
            with noted("[geometry]"):
                each(lambda equation: equation.on(grid))
            with noted("[start]"):
                self._check_start()
            with noted("[solve]"):
                scheme_for(solve.transport, grid)
            with noted("[solve]"):
                each(lambda equation: check_atoms(solve.atoms, equation, grid))
            with noted("[solve]"):
                end_time(self._dynamics, solve.t_end)
        if self.particles is not None:
            with all_errors() as noted, noted("[particles]"):
                each(self._check_particles)

    def _check_start(self) -> None:
        written = self.output.store
        read = self.start.path if self.start.kind == "run" else None
        if read and written and Path(read).resolve() == Path(written).resolve():
            raise ValueError(
                f"path = {read!r} is the store that this run writes: name another one in "
                "[output]"
            )
        check_memory_of_start(self.build_geometry())
        self.build_start()

    def _check_neurons(self, equation: MeanFieldEquation) -> None:
        grid = self.build_geometry()
        for term in equation.externals:
            term.check_dimension(grid.dimension)
            if grid.axis is not None:
                term.check_axis(grid.axis)

    def _check_particles(self, equation: MeanFieldEquation) -> None:
        assert self.particles is not None
        sections.check_particles_fit(self.particles, equation, self.build_geometry())


def read_settings(path: str | Path, overrides: Iterable[str] = ()) -> Settings:
    """Read a settings file, change single settings, and check everything.

    Parameters
    ----------
    path
        A TOML file.
    overrides
        Changes of the form ``"section.key=value"``; the value is TOML or a bare string.

    Raises
    ------
    SettingsError
        With one line for each error: no such file, no TOML, an unknown section or key
        (with the nearest real one), a value that is not allowed, settings that do not
        fit together.  It says the line of the file where one is to blame.
    """
    data, overrides = read_table(path), list(overrides)
    for override in overrides:
        changed_by_text(data, override)
    try:
        return settings_from_dict(data)
    except SettingsError as error:
        raise SettingsError(with_places(str(error), path, overrides)) from error


def settings_from_dict(data: Mapping[str, Any]) -> Settings:
    """Return the settings in ``data``, a table of sections, checked.

    Raises
    ------
    SettingsError
        As :func:`read_settings` does.
    """
    try:
        # Layers say themselves which one it is.
        tables = read_keys(SECTIONS, completed(data), word="section", form="[{}]")
        settings = Settings(**tables)
        settings.check()
    except SettingsError:
        raise
    except ValueError as error:
        raise SettingsError(str(error)) from error
    return settings
