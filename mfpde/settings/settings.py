"""Settings of a run, read from TOML and judged as a whole before any work.

``mfpde settings`` lists all sections with their keys.  Paths are relative to the directory in
which the run is started.
"""

from __future__ import annotations

import copy
import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mfpde.arrays import nearest
from mfpde.atoms import check_atoms
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.geometry.memory import check_memory_of_run, check_memory_of_start
from mfpde.measures.measure import Density, Measure
from mfpde.runs.layers import Dynamics, for_each_layer
from mfpde.runs.times import aligned_with_layers, end_time
from mfpde.settings import sections
from mfpde.settings.base import (
    NEEDED,
    Key,
    SettingsError,
    Table,
    marked,
    noted,
    plain,
    raise_all,
)
from mfpde.settings.layers import LAYER, built_layers, completed, read_layers
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
    "layers": Key(None, read_layers, {"": LAYER}),
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
    layers: list[Table] | None
    concentration: Table | None
    particles: Table | None
    output: Table

    def build_geometry(self) -> Geometry:
        """Return the grid."""
        return self._geometry

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
        return {
            "t_end": self.solve.t_end,
            "save_at": times,
            "stop": sections.stopping_conditions(self.solve),
            "transport": self.solve.transport,
            "atoms": self.solve.atoms,
            "rtol": self.solve.rtol,
            "max_step": self.solve.max_step,
            "track": followed.build() if followed and followed.track else None,
            **self._refinement(),
        }

    def check_memory(self) -> None:
        """Raise ``MemoryError`` if the run and its report take more memory than there is."""
        arguments = self.solve_arguments()
        degree = largest_degree(self._dynamics, self._geometry)
        saves = 2 if arguments["stop"] else len(arguments["save_at"])
        check_memory_of_run(self._geometry, degree, saves, reported=True)

    def to_json(self) -> str:
        """Return the settings as JSON, for :func:`settings_from_dict`."""
        given = {name: getattr(self, name) for name in SECTIONS}
        data = {name: plain(one) for name, one in given.items() if one is not None}
        # One head is a table.
        match data.pop("attention"):
            case [head]:
                data["attention"] = head
            case [_, *_] as heads:
                data["attention"] = heads
        return json.dumps(data)

    def with_output(self, **paths: str | None) -> Settings:
        """Return the settings with other paths in [output], and what they have built."""
        other = copy.copy(self)
        object.__setattr__(other, "output", self.output.changed(**paths))
        return other

    @cached_property
    def _geometry(self) -> Geometry:
        return self.geometry.build()  # type: ignore[no-any-return]

    @cached_property
    def _start(self) -> Density | Measure:
        return self.start.build(self._geometry)  # type: ignore[no-any-return]

    def _refinement(self) -> dict[str, Any]:
        return sections.refinement(self.solve, self._geometry, self._dynamics.sharpest)

    @cached_property
    def _dynamics(self) -> Dynamics:
        if self.layers is None:
            return self._built(self.attention, self.perceptron, self.equation)
        return built_layers(
            self.layers,
            attention=self.attention,
            perceptron=self.perceptron,
            equation=self.equation,
            build=self._built,
        )

    def _built(
        self,
        attention: tuple[Table, ...],
        perceptron: Table | None,
        equation: Table,
    ) -> MeanFieldEquation:
        terms: list[Any] = [head.build() for head in attention]
        if self.interaction is not None:
            terms.append(Interaction(self.interaction.build()))
        if perceptron is not None:
            terms.append(perceptron.build(self._geometry))
        return equation.build(*terms)  # type: ignore[no-any-return]

    def check(self) -> None:
        """Raise ``ValueError`` with one line for each thing that does not fit together."""
        if self.layers == []:
            raise ValueError("layers = [] needs one table [[layers]] at least")
        of_layers = [(one.attention, one.perceptron) for one in self.layers or ()]
        is_complete = bool(of_layers) and all(any(terms) for terms in of_layers)
        given = self.attention or self.interaction or self.perceptron
        if not (given or is_complete):
            raise ValueError("an equation needs [attention], [perceptron] or both")
        grid, solve = self._geometry, self.solve

        def each(check: Callable[[MeanFieldEquation], Any]) -> None:
            for_each_layer(self._dynamics, check)

        checks: list[tuple[str, Callable[[], Any]]] = [
            ("[perceptron]", self._check_neurons),
            ("[geometry]", lambda: each(lambda equation: equation.on(grid))),
            ("[start]", self._check_start),
            ("[solve]", lambda: scheme_for(solve.transport, grid)),
            ("[solve]", self._refinement),
            ("[solve]", lambda: each(lambda e: check_atoms(solve.atoms, e, grid))),
            ("[solve]", lambda: end_time(self._dynamics, solve.t_end)),
            ("[particles]", lambda: each(self._check_particles)),
        ]
        lines: list[str] = []
        for section, check in checks:
            # These are about what others have found to be right.
            if not (lines and section in ("[geometry]", "[particles]")):
                with noted(lines, section):
                    check()
        raise_all(lines)

    def _check_start(self) -> None:
        written = self.output.store
        read = self.start.path if self.start.kind == "run" else None
        if read and written and Path(read).resolve() == Path(written).resolve():
            raise ValueError(
                f"path = {read!r} is the store that this run writes: name another one in "
                "[output]"
            )
        check_memory_of_start(self._geometry)
        self.build_start()

    def _check_neurons(self) -> None:
        def check(equation: MeanFieldEquation) -> None:
            for term in equation.externals:
                term.check_dimension(self._geometry.dimension)
                if self._geometry.axis is not None:
                    term.check_axis(self._geometry.axis)

        for_each_layer(self._dynamics, check)

    def _check_particles(self, equation: MeanFieldEquation) -> None:
        if self.particles is not None:
            sections.check_particles_fit(self.particles, equation, self._geometry)


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
        fit together.
    """
    data = read_table(path)
    for override in overrides:
        changed_by_text(data, override)
    return settings_from_dict(data)


def read_table(path: str | Path) -> dict[str, Any]:
    """Return what a TOML file says, unchecked.

    Raises
    ------
    SettingsError
        If there is no such file, or it is no TOML.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        message = f"the settings file {path} cannot be read: {error}"
        raise SettingsError(message) from error
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path} is not TOML: {error}") from error
    except ValueError as error:
        raise SettingsError(f"{path} has a number that is too long: {error}") from error
    except RecursionError as error:
        raise SettingsError(
            f"{path} has tables or lists too deep in each other"
        ) from error
    return data


def settings_from_dict(data: Mapping[str, Any]) -> Settings:
    """Return the settings in ``data``, a table of sections, checked.

    Raises
    ------
    SettingsError
        As :func:`read_settings` does.
    """
    try:
        settings = Settings(**_read_sections(completed(data)))
        settings.check()
    except SettingsError:
        raise
    except ValueError as error:
        raise SettingsError(str(error)) from error
    return settings


def _read_sections(data: Mapping[str, Any]) -> dict[str, Any]:
    tables: dict[str, Any] = {}
    lines: list[str] = []
    for name, key in SECTIONS.items():
        if name not in data and key.default is NEEDED:
            lines.append(f"the section [{name}] is missing")
            continue
        try:
            tables[name] = key.read(data[name]) if name in data else key.default
        except ValueError as error:
            # Layers say themselves which one it is.
            lines += marked(error, "" if name == "layers" else f"[{name}]")
    for name in data:
        if name not in SECTIONS:
            listed = ", ".join(f"[{known}]" for known in SECTIONS)
            lines.append(
                f"there is no section [{name}]{nearest(name, SECTIONS)}; there are: {listed}"
            )
    raise_all(lines)
    return tables
