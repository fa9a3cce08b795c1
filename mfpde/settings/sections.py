"""The sections of a settings file: names and defaults of every setting.

``mfpde.settings.grid_and_start`` holds the sections that have kinds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, SkipValidation, ValidationError

from mfpde.arrays import (
    LARGEST_COUNT,
    FloatArray,
    choice,
    real_array,
    real_number,
    whole_number,
)
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Geometry
from mfpde.particles import solve_particles
from mfpde.particles.labels import grid_of_labels
from mfpde.particles.methods import METHODS, resolved_method
from mfpde.runs.stopping import (
    SteadyState,
    StepLimit,
    StoppingCondition,
    WallTimeLimit,
    save_times,
)
from mfpde.settings.base import (
    BuildingSection,
    Real,
    Section,
    Seed,
    Whole,
    Word,
    default,
    noted,
    raise_all,
    renamed,
    section_lines,
)
from mfpde.settings.matrices import matrix_rows
from mfpde.solver.preparation import DEFAULT_SAVES
from mfpde.solver.refinement import cell_count, check_refine, largest_grid
from mfpde.solver.solve import solve
from mfpde.terms import Attention, Perceptron
from mfpde.tracking import Concentration


class AttentionSection(BuildingSection):
    """[attention]: the settings of :class:`Attention`."""

    beta: Real
    normalized: SkipValidation[bool] = default(Attention, "normalized")
    kernel: SkipValidation[Literal["shifted", "unshifted"]] = default(
        Attention, "kernel"
    )
    bilinear: Annotated[Any, BeforeValidator(matrix_rows)] = default(
        Attention, "bilinear"
    )
    value: Annotated[Any, BeforeValidator(matrix_rows)] = default(Attention, "value")

    def build(self) -> Attention:
        """Return the term."""
        matrices = {"bilinear": self.bilinear, "value": self.value}
        return Attention(self.beta, self.normalized, self.kernel, **matrices)


def heads_of(given: Any) -> Any:
    """Sections of all heads from [attention], or from several [[attention]]."""
    if isinstance(given, Mapping):
        return (AttentionSection.model_validate(dict(given)),)
    if not isinstance(given, Sequence) or isinstance(given, str):
        return given
    heads: list[AttentionSection] = []
    lines: list[str] = []
    for number, table in enumerate(given):
        try:
            heads.append(AttentionSection.model_validate(table))
        except ValidationError as error:
            found = section_lines(error, AttentionSection)
            lines += [f"head {number}: {line}" for line in found]
    raise_all(lines)
    return tuple(heads)


class RandomPerceptron(Section):
    """[perceptron] random: the arguments of :meth:`Perceptron.random`."""

    units: Whole
    seed: Seed
    scale: Real = default(Perceptron.random, "scale")


class PerceptronSection(Section):
    """[perceptron]: given neurons, neurons along the axis, or random ones."""

    directions: SkipValidation[list[list[float]]] | None = None
    along_axis: SkipValidation[list[float]] | None = None
    weights: SkipValidation[list[Any]] | None = None
    activation: Word = default(Perceptron, "activation")
    biases: SkipValidation[list[float]] | None = None
    output_bias: SkipValidation[Any] = None
    random: RandomPerceptron | None = None

    def build(self, geometry: Geometry) -> Perceptron:
        """Return the term; neurons that are not given have the geometry's dimension."""
        if self.random is not None:
            return Perceptron.random(
                self.random.units,
                geometry.dimension,
                seed=self.random.seed,
                scale=self.random.scale,
                activation=self.activation,
            )
        directions: Any = self.directions
        if self.along_axis is not None:
            directions = _along_axis(self.along_axis, geometry)
        weights = [] if self.weights is None else self.weights
        constant = self.output_bias
        is_number = constant is not None and np.ndim(constant) == 0
        if self.along_axis is not None and is_number:
            constant = _along_axis([constant], geometry)[0]
        return Perceptron(
            directions,
            weights,
            self.activation,
            biases=self.biases,
            output_bias=constant,
        )

    def check(self) -> None:
        """Raise ``ValueError`` unless exactly one of the three ways is used.

        Neurons that do not need the geometry's axis are checked too.
        """
        given = {
            "directions": self.directions,
            "along_axis": self.along_axis,
            "weights": self.weights,
            "biases": self.biases,
            "output_bias": self.output_bias,
        }
        named = [name for name, value in given.items() if value is not None]
        if self.random is not None and named:
            raise ValueError(
                f"random and {', '.join(named)} exclude each other: give one of them"
            )
        if {"directions", "along_axis"} <= set(named):
            raise ValueError(
                "directions and along_axis exclude each other: give one of them"
            )
        is_placed = self.directions is not None or self.along_axis is not None
        if self.random is None and not (is_placed and self.weights is not None):
            raise ValueError(
                "needs the settings 'directions' and 'weights', or 'random' = "
                "{units, seed, scale}, or on a zonal grid 'along_axis' and 'weights'"
            )
        # Along the axis, neurons are judged when there is a geometry that has one.
        if self.along_axis is None:
            self.build(Circle(16))


def _along_axis(components: list[float], geometry: Geometry) -> FloatArray:
    """Return the directions c_j e, (units, d), with e the axis of ``geometry``."""
    if geometry.axis is None:
        raise ValueError(
            f"along_axis = {components!r} needs a geometry with an axis (kind = "
            f"'zonal'), which {geometry!r} has not: use directions"
        )
    return np.outer(real_array("along_axis", components), geometry.axis)


class EquationSection(Section):
    """[equation]: direction and diffusion of :class:`MeanFieldEquation`."""

    direction: Word
    diffusion: Real = default(MeanFieldEquation, "diffusion")

    def check(self) -> None:
        """Raise ``ValueError`` if the equation's constructor does, with any term."""
        self.build(Attention(0.0))

    def build(self, *terms: Attention | Perceptron) -> MeanFieldEquation:
        """Return the equation with ``terms``."""
        return MeanFieldEquation(
            *terms, direction=self.direction, diffusion=self.diffusion
        )


class SolveSection(Section):
    """[solve]: times, scheme, accuracy, and the conditions that stop a run early."""

    t_end: Real
    save_every: Real | None = default(solve, "save_every")
    save_at: SkipValidation[list[float]] | None = default(solve, "save_at")
    transport: Word | None = default(solve, "transport")
    atoms: Word = default(solve, "atoms")
    rtol: Real = default(solve, "rtol")
    max_step: Real | None = default(solve, "max_step")
    refine: SkipValidation[bool] = default(solve, "refine")
    refine_tolerance: Real | None = default(solve, "refine_tolerance")
    max_cells: Whole | None = default(solve, "max_cells")
    steady_state: Real | None = None
    max_steps: Whole | None = None
    wall_time_limit: Real | None = None

    def save_times(self) -> FloatArray:
        """Return the times of all saves, from 0 to t_end."""
        return save_times(
            self.t_end,
            save_every=self.save_every,
            save_at=self.save_at,
            default_saves=DEFAULT_SAVES,
        )

    def stopping_conditions(self) -> list[StoppingCondition]:
        """Return the conditions that were asked for."""
        made: list[StoppingCondition] = []
        with renamed(
            tolerance="steady_state", steps="max_steps", seconds="wall_time_limit"
        ):
            if self.steady_state is not None:
                made.append(SteadyState(self.steady_state))
            if self.max_steps is not None:
                made.append(StepLimit(self.max_steps))
            if self.wall_time_limit is not None:
                made.append(WallTimeLimit(self.wall_time_limit))
        return made

    def refinement(
        self, geometry: Geometry, equation: MeanFieldEquation
    ) -> dict[str, Any]:
        """Return the arguments of :func:`mfpde.solve` that are about refinement.

        The finest grid that a run may reach is counted from ``geometry``, its first grid: a
        run that is resumed from a finer grid goes no further.
        """
        most = self.max_cells
        check_refine(
            self.refine, geometry, tolerance=self.refine_tolerance, max_cells=most
        )
        if self.refine and most is None:
            most = cell_count(largest_grid(geometry, equation, None))
        return {
            "refine": self.refine,
            "refine_tolerance": self.refine_tolerance,
            "max_cells": most,
        }

    def check(self) -> None:
        """Raise ``ValueError`` for times or stopping conditions that are not allowed."""
        lines: list[str] = []
        with noted(lines):
            self.save_times()
        with noted(lines):
            real_number("rtol", self.rtol, above=0.0, at_most=1.0)
        with noted(lines):
            if self.max_step is not None:
                real_number("max_step", self.max_step, above=0.0)
        with noted(lines):
            self.stopping_conditions()
        raise_all(lines)


class ConcentrationSection(BuildingSection):
    """[concentration]: settings of :class:`Concentration`, and whether atoms are tracked."""

    track: bool = True
    smallest_mass: Real = default(Concentration, "smallest_mass")
    mass_tolerance: Real = default(Concentration, "mass_tolerance")
    longest_gap: Whole = default(Concentration, "longest_gap")
    forming: SkipValidation[bool] = default(Concentration, "forming")

    def build(self) -> Concentration:
        """Return the settings of the track."""
        return Concentration(**{n: value for n, value in self if n != "track"})


class ParticlesSection(Section):
    """[particles]: a particle run beside the density run."""

    count: Whole = 2000
    method: Word = default(solve_particles, "method")

    def check(self) -> None:
        """Raise ``ValueError`` for a number or a method that is not allowed."""
        whole_number("count", self.count, at_least=1, at_most=LARGEST_COUNT)
        choice("method", self.method, METHODS)

    def check_fits(self, equation: MeanFieldEquation, geometry: Geometry) -> None:
        """Raise ``ValueError`` if these particles cannot go beside the density run."""
        if equation.diffusion > 0:
            raise ValueError(
                f"move without noise, but [equation] has diffusion = "
                f"{equation.diffusion:g}: leave one of them out"
            )
        if resolved_method(self.method, geometry.dimension, self.count) == "labels":
            grid_of_labels(geometry, self.count)


"""Beyond it a run would not fit in the memory of a common machine."""


class OutputSection(Section):
    """[output]: paths of the store and the figure, relative to where the run starts."""

    store: str | None = None
    figure: str | None = None

    def check(self) -> None:
        """Raise ``ValueError`` for what is no path."""
        for name, path in (("store", self.store), ("figure", self.figure)):
            if path is not None and ("\0" in path or not path.strip()):
                raise ValueError(f"{name} = {path!r} must be a path")
