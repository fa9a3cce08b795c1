"""[start]: the density at time 0, by its kind."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

from pydantic import SkipValidation

from mfpde.geometry import Geometry
from mfpde.measures.measure import Density, perturbed_uniform, uniform
from mfpde.settings.base import Real, Section, Seed
from mfpde.starts import bumps


class StartSection(Section, ABC):
    """[start]: the density at time 0, of the form that ``kind`` names."""

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
    """[start] with kind = "bumps": see :func:`mfpde.starts.bumps`.

    Bumps lie at ``angles`` on a circle and on a zonal grid, at ``centres`` on a sphere.
    """

    kind: Literal["bumps"] = "bumps"
    angles: SkipValidation[list[float]] | None = None
    centres: SkipValidation[list[list[float]]] | None = None
    widths: SkipValidation[list[float]]
    masses: SkipValidation[list[float]] | None = None
    background: Real = 0.0

    def build(self, geometry: Geometry) -> Density:
        """Return the sum of bumps."""
        return bumps(
            geometry,
            angles=self.angles,
            centres=self.centres,
            widths=self.widths,
            masses=self.masses,
            background=self.background,
        )


START_KINDS: dict[str, type[StartSection]] = {
    "uniform": UniformStart,
    "perturbed_uniform": PerturbedUniformStart,
    "bumps": BumpsStart,
}
