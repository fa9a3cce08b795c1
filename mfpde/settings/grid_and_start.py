"""The sections that have kinds: [geometry], the grid, and [start], the density at time 0."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, SkipValidation

from mfpde.geometry import Circle, Geometry, Sphere, Zonal
from mfpde.measures.measure import Density, Measure, perturbed_uniform, uniform
from mfpde.settings.base import (
    BuildingSection,
    Real,
    Section,
    Seed,
    Whole,
    default,
    renamed,
)
from mfpde.settings.matrices import matrix_rows
from mfpde.settings.stored_states import stored_state
from mfpde.starts import bumps, von_mises_fisher


class GeometrySection(BuildingSection, ABC):
    """[geometry]: the grid, of the class that ``kind`` names."""

    kind: str

    @abstractmethod
    def build(self) -> Geometry:
        """Return the geometry."""


class CircleSection(GeometrySection):
    """[geometry] with kind = "circle"."""

    kind: Literal["circle"] = "circle"
    cells: Whole

    def build(self) -> Circle:
        """Return the circle."""
        with renamed(num_cells="cells"):
            return Circle(self.cells)


class SphereSection(GeometrySection):
    """[geometry] with kind = "sphere"; ``nlon`` is 2 ``nlat`` by default."""

    kind: Literal["sphere"] = "sphere"
    nlat: Whole
    nlon: Whole | None = None

    def build(self) -> Sphere:
        """Return the sphere."""
        return Sphere(self.nlat) if self.nlon is None else Sphere(self.nlat, self.nlon)


class ZonalSection(GeometrySection):
    """[geometry] with kind = "zonal": densities that depend on x.e only."""

    kind: Literal["zonal"] = "zonal"
    dimension: Whole
    cells: Whole

    def build(self) -> Zonal:
        """Return the zonal grid."""
        with renamed(num_cells="cells"):
            return Zonal(self.dimension, self.cells)


GEOMETRY_KINDS: dict[str, type[GeometrySection]] = {
    "circle": CircleSection,
    "sphere": SphereSection,
    "zonal": ZonalSection,
}


class StartSection(Section, ABC):
    """[start]: the density at time 0, of the form that ``kind`` names."""

    kind: str

    @abstractmethod
    def build(self, geometry: Geometry) -> Density | Measure:
        """Return the density on ``geometry``, and atoms if there are any."""

    @property
    def store(self) -> str | None:
        """The store of a run that the start is read from, None without one."""
        return None


class UniformStart(StartSection):
    """[start] with kind = "uniform"."""

    kind: Literal["uniform"] = "uniform"

    def build(self, geometry: Geometry) -> Density:
        """Return the uniform density."""
        return uniform(geometry)


class PerturbedUniformStart(StartSection):
    """[start] with kind = "perturbed_uniform"."""

    kind: Literal["perturbed_uniform"] = "perturbed_uniform"
    amplitude: Real = default(perturbed_uniform, "amplitude")
    seed: Seed = default(perturbed_uniform, "seed")

    def build(self, geometry: Geometry) -> Density:
        """Return the uniform density times (1 + a random smooth field)."""
        return perturbed_uniform(geometry, self.amplitude, self.seed)


class BumpsStart(StartSection):
    """[start] with kind = "bumps": see :func:`mfpde.starts.bumps`.

    Bumps lie at ``angles`` on a circle and on a zonal grid, at ``centres`` on a sphere.
    """

    kind: Literal["bumps"] = "bumps"
    angles: SkipValidation[list[float]] | None = None
    centres: SkipValidation[list[list[float]]] | None = None
    widths: SkipValidation[list[float]]
    masses: SkipValidation[list[float]] | None = None
    background: Real = default(bumps, "background")

    def build(self, geometry: Geometry) -> Density:
        """Return the sum of bumps."""
        return bumps(geometry, **{n: value for n, value in self if n != "kind"})


class VonMisesFisherStart(StartSection):
    """[start] with kind = "von_mises_fisher": see :func:`mfpde.von_mises_fisher`."""

    kind: Literal["von_mises_fisher"] = "von_mises_fisher"
    centres: SkipValidation[list[list[float]]]
    concentrations: SkipValidation[list[float]]
    weights: SkipValidation[list[float]] | None = None

    def build(self, geometry: Geometry) -> Density:
        """Return the mixture."""
        return von_mises_fisher(
            geometry, self.centres, self.concentrations, self.weights
        )


class SamplesStart(StartSection):
    """[start] with kind = "samples": see :meth:`mfpde.Density.from_samples`.

    ``points`` are rows, or a file "tokens.npz:name" (.npy, .npz, .safetensors).
    """

    kind: Literal["samples"] = "samples"
    points: Annotated[Any, BeforeValidator(matrix_rows)]
    bandwidth: Real | None = None

    def build(self, geometry: Geometry) -> Density:
        """Return the density of the samples."""
        return Density.from_samples(geometry, self.points, bandwidth=self.bandwidth)


class ArrayStart(StartSection):
    """[start] with kind = "array": values per surface area, one for each cell.

    ``values`` are given inline or by a file, and scaled to mass 1.
    """

    kind: Literal["array"] = "array"
    values: Annotated[Any, BeforeValidator(matrix_rows)]

    def build(self, geometry: Geometry) -> Density:
        """Return the density with these values."""
        return Density(geometry, self.values).normalized()


class RunStart(StartSection):
    """[start] with kind = "run": a state of a stored run, on its grid or a finer one.

    ``path`` is its store; ``time`` is that of one of its saves, by default its last state.
    """

    kind: Literal["run"] = "run"
    path: str
    time: Real | None = None

    def build(self, geometry: Geometry) -> Density | Measure:
        """Return the stored density, with its atoms if it has any, on ``geometry``."""
        return stored_state(self.path, self.time, geometry)

    @property
    def store(self) -> str:
        """The store that the state is read from."""
        return self.path


START_KINDS: dict[str, type[StartSection]] = {
    "uniform": UniformStart,
    "perturbed_uniform": PerturbedUniformStart,
    "bumps": BumpsStart,
    "von_mises_fisher": VonMisesFisherStart,
    "samples": SamplesStart,
    "array": ArrayStart,
    "run": RunStart,
}
