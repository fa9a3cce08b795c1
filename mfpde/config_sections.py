"""The sections of a settings file: names and defaults of every setting.

A section knows its keys; what a value may be is checked by the object that the section
builds (:class:`Attention`, :class:`Circle`, ...), once, when the section is read.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    SkipValidation,
    ValidationError,
    model_validator,
)

from mfpde.arrays import FloatArray, choice, real_number, whole_number
from mfpde.config_errors import noted, raise_all, renamed, section_lines
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Geometry
from mfpde.measure import Density, perturbed_uniform, uniform
from mfpde.particles.solver import METHODS
from mfpde.save_times import save_times
from mfpde.solve import DEFAULT_SAVES
from mfpde.starts import bumps
from mfpde.stopping import SteadyState, StepLimit, StoppingCondition, WallTimeLimit
from mfpde.terms import Attention, Perceptron

# Numbers are checked by the constructors that take them, whose messages say more.
Real = SkipValidation[float]
Whole = SkipValidation[int]
Word = SkipValidation[str]
Seed = Annotated[int, Field(ge=0)]


class Section(BaseModel):
    """A table of settings; unknown keys are errors that name the nearest real one."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    @model_validator(mode="wrap")
    @classmethod
    def _explained(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        try:
            return handler(data)
        except ValidationError as error:
            raise ValueError("\n".join(section_lines(error, cls))) from error

    @model_validator(mode="after")
    def _checked(self) -> Self:
        self.check()
        return self

    def check(self) -> None:
        """Raise ``ValueError`` for what can be judged from this section alone."""


class GeometrySection(Section, ABC):
    """[geometry]: the grid; ``kind`` chooses which."""

    kind: str

    @abstractmethod
    def build(self) -> Geometry:
        """Return the geometry."""

    def check(self) -> None:
        """Let the geometry's constructor judge."""
        self.build()


class CircleSection(GeometrySection):
    """[geometry] with kind = "circle"."""

    kind: Literal["circle"] = "circle"
    cells: Whole

    def build(self) -> Circle:
        """Return the circle."""
        with renamed(num_cells="cells"):
            return Circle(self.cells)


class AttentionSection(Section):
    """[attention]: the settings of :class:`Attention`."""

    beta: Real
    normalized: SkipValidation[bool] = False
    kernel: SkipValidation[Literal["shifted", "unshifted"]] = "shifted"

    def build(self) -> Attention:
        """Return the term."""
        return Attention(self.beta, self.normalized, self.kernel)

    def check(self) -> None:
        """Let the constructor judge."""
        self.build()


class RandomPerceptron(Section):
    """[perceptron] random: the arguments of :meth:`Perceptron.random`."""

    units: Whole
    seed: Seed
    scale: Real = 1.0


class PerceptronSection(Section):
    """[perceptron]: given neurons, or random ones."""

    directions: SkipValidation[list[list[float]]] | None = None
    weights: SkipValidation[list[Any]] | None = None
    activation: Word = "relu"
    biases: SkipValidation[list[float]] | None = None
    random: RandomPerceptron | None = None

    def build(self, dimension: int) -> Perceptron:
        """Return the term; ``dimension`` d is used by random neurons only."""
        if self.random is not None:
            return Perceptron.random(
                self.random.units,
                dimension,
                seed=self.random.seed,
                scale=self.random.scale,
                activation=self.activation,
            )
        return Perceptron(
            self.directions if self.directions is not None else [],
            self.weights if self.weights is not None else [],
            self.activation,
            biases=self.biases,
        )

    def check(self) -> None:
        """Ask for exactly one of the two ways, and let the constructor judge."""
        given = {
            "directions": self.directions,
            "weights": self.weights,
            "biases": self.biases,
        }
        named = [name for name, value in given.items() if value is not None]
        if self.random is not None and named:
            raise ValueError(
                f"random and {', '.join(named)} exclude each other: give one of them"
            )
        if self.random is None and (self.directions is None or self.weights is None):
            raise ValueError(
                "needs the settings 'directions' and 'weights', or 'random' = "
                "{units, seed, scale}"
            )
        self.build(dimension=2)


class EquationSection(Section):
    """[equation]: direction and diffusion of :class:`MeanFieldEquation`."""

    direction: Word
    diffusion: Real = 0.0

    def check(self) -> None:
        """Let the constructor judge; for that any term will do."""
        self.build(Attention(0.0))

    def build(self, *terms: Attention | Perceptron) -> MeanFieldEquation:
        """Return the equation with ``terms``."""
        return MeanFieldEquation(
            *terms, direction=self.direction, diffusion=self.diffusion
        )


class StartSection(Section, ABC):
    """[start]: the density at time 0; ``kind`` chooses which."""

    kind: str

    @abstractmethod
    def build(self, geometry: Geometry) -> Density:
        """Return the density on ``geometry``."""


class UniformStart(StartSection):
    """[start] with kind = "uniform"."""

    kind: Literal["uniform"] = "uniform"

    def build(self, geometry: Geometry) -> Density:
        """Return the uniform density."""
        return uniform(geometry)


class PerturbedUniformStart(StartSection):
    """[start] with kind = "perturbed_uniform"."""

    kind: Literal["perturbed_uniform"] = "perturbed_uniform"
    amplitude: Real = 0.01
    seed: Seed = 0

    def build(self, geometry: Geometry) -> Density:
        """Return the uniform density times (1 + a random smooth field)."""
        return perturbed_uniform(geometry, self.amplitude, self.seed)


class BumpsStart(StartSection):
    """[start] with kind = "bumps": see :func:`mfpde.starts.bumps`."""

    kind: Literal["bumps"] = "bumps"
    angles: SkipValidation[list[float]]
    widths: SkipValidation[list[float]]
    masses: SkipValidation[list[float]] | None = None
    background: Real = 0.0

    def build(self, geometry: Geometry) -> Density:
        """Return the sum of bumps, on a circle."""
        if not isinstance(geometry, Circle):
            raise ValueError(f"kind = 'bumps' needs a circle, not {geometry!r}")
        return bumps(
            geometry,
            angles=self.angles,
            widths=self.widths,
            masses=self.masses,
            background=self.background,
        )


class SolveSection(Section):
    """[solve]: times, scheme, accuracy, and what stops a run early."""

    t_end: Real
    save_every: Real | None = None
    save_at: SkipValidation[list[float]] | None = None
    transport: Word | None = None
    rtol: Real = 1e-4
    max_step: Real | None = None
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

    def check(self) -> None:
        """Let times and conditions judge themselves."""
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


class ParticlesSection(Section):
    """[particles]: a particle run beside the density run."""

    count: Whole = 2000
    method: Word = "auto"

    def check(self) -> None:
        """Judge number and method."""
        whole_number("count", self.count, at_least=1)
        choice("method", self.method, METHODS)


class OutputSection(Section):
    """[output]: paths of the store and the figure, relative to where the run starts."""

    store: str | None = None
    figure: str | None = None


GEOMETRY_KINDS: dict[str, type[GeometrySection]] = {"circle": CircleSection}
START_KINDS: dict[str, type[StartSection]] = {
    "uniform": UniformStart,
    "perturbed_uniform": PerturbedUniformStart,
    "bumps": BumpsStart,
}


def of_kind(kinds: Mapping[str, type[Section]]) -> Callable[[Any], Any]:
    """Return a validator that reads a table as the section its ``kind`` names."""

    def read(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        if "kind" not in value:
            listed = ", ".join(map(repr, kinds))
            raise ValueError(f"needs the setting 'kind', one of {listed}")
        chosen = kinds[choice("kind", value["kind"], kinds)]
        return chosen.model_validate(dict(value))

    return read
