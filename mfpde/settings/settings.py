"""Settings of a run, read from TOML and judged as a whole before any work.

    [geometry]    kind = "circle", cells
                  kind = "sphere", nlat, nlon
                  kind = "zonal", dimension, cells
    [attention]   beta, normalized, kernel, and of a head with matrices bilinear, value:
                  rows, or a file "weights.npz:name"; several heads by several
                  [[attention]]                                             (optional)
    [interaction] kind = "polynomial", coefficients
                  kind = "onsager", width
                  kind = "power", exponent, width
                  kind = "sigmoid", slope_of_logits, offset
                  kind = "bounded_confidence", radius, width
                  kind = "exponential", beta                                (optional)
    [perceptron]  directions, weights, activation, biases, output_bias; or
                  along_axis, weights, activation, biases (zonal); or
                  random = {units, seed, scale}, activation                 (optional)
    [equation]    direction, diffusion
    [[layers]]    duration, count, attention, perceptron, equation: one table for each layer;
                  what it leaves out is that of the file                    (optional)
    [start]       kind = "uniform"
                  kind = "perturbed_uniform", amplitude, seed
                  kind = "bumps", angles (circle, zonal) or centres (sphere),
                                  widths, masses, background
                  kind = "von_mises_fisher", centres, concentrations, weights
                  kind = "samples", points, bandwidth
                  kind = "array", values
                  kind = "run", path, time
    [solve]       t_end, save_every or save_at, transport, atoms, rtol, max_step,
                  refine, refine_tolerance, max_cells,
                  steady_state, max_steps, wall_time_limit
    [concentration]  track, smallest_mass, mass_tolerance, longest_gap, forming
                                                                            (optional)
    [particles]   count, method                                             (optional)
    [output]      store, figure                                             (optional)

Paths are relative to the directory in which the run is started.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    SerializeAsAny,
    ValidationError,
    model_validator,
)

from mfpde.atoms import check_atoms
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.geometry.memory import check_memory_of_run, check_memory_of_start
from mfpde.measures.measure import Density, Measure
from mfpde.runs.layers import Dynamics, for_each_layer
from mfpde.runs.times import aligned_with_layers, end_time
from mfpde.settings.base import SettingsError, noted, of_kind, raise_all, settings_lines
from mfpde.settings.grid_and_start import (
    GEOMETRY_KINDS,
    START_KINDS,
    GeometrySection,
    StartSection,
)
from mfpde.settings.kernel_sections import KERNEL_KINDS, KernelSection
from mfpde.settings.layer_sections import LayerSection, built_layers, completed
from mfpde.settings.overrides import changed_by_text
from mfpde.settings.sections import (
    AttentionSection,
    ConcentrationSection,
    EquationSection,
    OutputSection,
    ParticlesSection,
    PerceptronSection,
    SolveSection,
    heads_of,
)
from mfpde.solver.label_conditions import largest_degree
from mfpde.transport import scheme_for

__all__ = ["Settings", "SettingsError", "read_settings", "settings_from_dict"]


class Settings(BaseModel):
    """All settings of a run, checked: the objects that they build fit together.

    Settings are made by :func:`read_settings` or :func:`settings_from_dict`, which explain
    errors.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    geometry: Annotated[
        SerializeAsAny[GeometrySection], BeforeValidator(of_kind(GEOMETRY_KINDS))
    ]
    attention: Annotated[tuple[AttentionSection, ...], BeforeValidator(heads_of)] = ()
    interaction: Annotated[
        SerializeAsAny[KernelSection] | None, BeforeValidator(of_kind(KERNEL_KINDS))
    ] = None
    perceptron: PerceptronSection | None = None
    equation: EquationSection
    start: Annotated[
        SerializeAsAny[StartSection], BeforeValidator(of_kind(START_KINDS))
    ]
    solve: SolveSection
    layers: list[LayerSection] | None = None
    concentration: ConcentrationSection | None = None
    particles: ParticlesSection | None = None
    output: OutputSection = OutputSection()

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
        return self.start.build(self._geometry)

    def solve_arguments(self) -> dict[str, Any]:
        """Return the keyword arguments for :func:`mfpde.solve`."""
        followed, times = self.concentration, self.solve.save_times()
        if self.solve.save_every is None and self.solve.save_at is None:
            times = aligned_with_layers(self._dynamics, times)
        return {
            "t_end": self.solve.t_end,
            "save_at": times,
            "stop": self.solve.stopping_conditions(),
            "transport": self.solve.transport,
            "atoms": self.solve.atoms,
            "rtol": self.solve.rtol,
            "max_step": self.solve.max_step,
            "track": followed.build() if followed and followed.track else None,
            **self.solve.refinement(self._geometry, self._dynamics.sharpest),
        }

    def check_memory(self) -> None:
        """Raise ``MemoryError`` if the run and its report take more memory than there is."""
        arguments = self.solve_arguments()
        degree = largest_degree(self._dynamics, self._geometry)
        saves = 2 if arguments["stop"] else len(arguments["save_at"])
        check_memory_of_run(self._geometry, degree, saves, reported=True)

    def to_json(self) -> str:
        """Return the settings as JSON, for :func:`settings_from_dict`."""
        data = self.model_dump(mode="json", exclude_none=True, warnings=False)
        # One head is a table, as in stores of before there could be several.
        match data.pop("attention"):
            case [head]:
                data["attention"] = head
            case [_, *_] as heads:
                data["attention"] = heads
        return json.dumps(data)

    @cached_property
    def _geometry(self) -> Geometry:
        return self.geometry.build()

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
        attention: tuple[AttentionSection, ...],
        perceptron: PerceptronSection | None,
        equation: EquationSection,
    ) -> MeanFieldEquation:
        terms: list[Any] = [head.build() for head in attention]
        if self.interaction is not None:
            terms.append(self.interaction.build())
        if perceptron is not None:
            terms.append(perceptron.build(self._geometry))
        return equation.build(*terms)

    @model_validator(mode="before")
    @classmethod
    def _completed(cls, data: Any) -> Any:
        return completed(data)

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.layers == []:
            raise ValueError("layers = [] needs one table [[layers]] at least")
        of_layers = [(one.attention, one.perceptron) for one in self.layers or ()]
        is_complete = bool(of_layers) and all(any(terms) for terms in of_layers)
        given = self.attention or self.interaction or self.perceptron
        if not (given or is_complete):
            raise ValueError("an equation needs [attention], [perceptron] or both")
        lines: list[str] = []
        with noted(lines, "[perceptron]"):
            self._check_neurons()
        if not lines:
            with noted(lines, "[geometry]"):
                for_each_layer(self._dynamics, lambda e: e.on(self._geometry))
        with noted(lines, "[start]"):
            self._check_store()
            check_memory_of_start(self._geometry)
            self.build_start()
        with noted(lines, "[solve]"):
            scheme_for(self.solve.transport, self._geometry)
        with noted(lines, "[solve]"):
            self.solve.refinement(self._geometry, self._dynamics.sharpest)
        with noted(lines, "[solve]"):
            for_each_layer(
                self._dynamics,
                lambda e: check_atoms(self.solve.atoms, e, self._geometry),
            )
        with noted(lines, "[solve]"):
            end_time(self._dynamics, self.solve.t_end)
        if self.particles is not None and not lines:
            with noted(lines, "[particles]"):
                particles = self.particles
                for_each_layer(
                    self._dynamics, lambda e: particles.check_fits(e, self._geometry)
                )
        raise_all(lines)
        return self

    def _check_store(self) -> None:
        read, written = self.start.store, self.output.store
        if read and written and Path(read).resolve() == Path(written).resolve():
            raise ValueError(
                f"path = {read!r} is the store that this run writes: name another one in "
                "[output]"
            )

    def _check_neurons(self) -> None:
        geometry = self._geometry

        def check(equation: MeanFieldEquation) -> None:
            for term in equation.externals:
                term.check_dimension(geometry.dimension)
                if geometry.axis is not None:
                    term.check_axis(geometry.axis)

        for_each_layer(self._dynamics, check)


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
        return Settings.model_validate(dict(data))
    except ValidationError as error:
        raise SettingsError("\n".join(settings_lines(error, Settings))) from error
