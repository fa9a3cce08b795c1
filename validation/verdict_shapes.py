"""Densities with a known answer, for validation/verdict_cases.py and verdict_tuning.py.

Lengths called ``cells`` are in cell widths h of the grid that the shape is put on: what
is narrow for one grid is narrow for every grid.  An :class:`Expected` says what
``mfpde.concentration`` has to answer; None means that nothing is said about it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import mfpde
from mfpde.detection import ConcentrationReport
from mfpde.geometry import Geometry

MASS_TOLERANCE = 0.02
FROZEN_TOLERANCE = 0.02
LENGTH_TOLERANCE = 0.15

Array = np.ndarray
Situation = Callable[
    [int], tuple[mfpde.measures.measure.AnyMeasure, mfpde.MeanFieldEquation]
]


@dataclass(frozen=True)
class Expected:
    """The right answer: verdict (or several that are right), and the numbers with it.

    ``atoms`` counts the regions called atom or forming, ``masses`` are theirs, heaviest
    first, to 0.02; ``frozen`` is the mass at rest to 0.02; ``jumps`` counts the places
    on S^1 and on zonal grids, and is the length on S^2, to 15 % (to 0.3 if it is 0).
    """

    verdict: tuple[str, ...]
    atoms: int | None = 0
    masses: tuple[float, ...] | None = None
    frozen: float | None = None
    jumps: float | None = 0.0
    has_curve: bool | None = None

    def mistakes(self, report: ConcentrationReport) -> list[str]:
        """Return what in ``report`` differs from what is expected."""
        found = []
        if report.verdict not in self.verdict:
            found.append(f"verdict {report.verdict}")
        if self.atoms is not None and len(report.clusters) != self.atoms:
            found.append(f"{len(report.clusters)} atoms")
        found += self._wrong_masses(report)
        if self.has_curve is not None and bool(report.curves) != self.has_curve:
            found.append(f"{len(report.curves)} curves")
        found += self._wrong_jumps(report)
        return found

    def _wrong_masses(self, report: ConcentrationReport) -> list[str]:
        found = []
        if self.masses is not None:
            masses = sorted((atom.mass for atom in report.clusters), reverse=True)
            if len(masses) != len(self.masses) or not np.allclose(
                masses, self.masses, rtol=0, atol=MASS_TOLERANCE
            ):
                found.append(f"masses {np.round(masses, 4).tolist()}")
        if self.frozen is not None and not np.isclose(
            report.frozen_mass, self.frozen, rtol=0, atol=FROZEN_TOLERANCE
        ):
            found.append(f"frozen mass {report.frozen_mass:.4f}")
        return found

    def _wrong_jumps(self, report: ConcentrationReport) -> list[str]:
        if self.jumps is None:
            return []
        if report.place == "sphere":
            allowed = max(0.3, LENGTH_TOLERANCE * self.jumps)
            wrong = abs(report.jump_length - self.jumps) > allowed
            return [f"jump length {report.jump_length:.2f}"] if wrong else []
        wrong = len(report.jumps) != self.jumps
        return [f"{len(report.jumps)} jumps"] if wrong else []


@dataclass(frozen=True)
class Case:
    """A situation by grid size, and what is true of it."""

    name: str
    place: str
    situation: Situation
    expected: Expected
    is_dear: bool = False


def attention(
    beta: float, direction: str = "ascent", **options: bool
) -> mfpde.MeanFieldEquation:
    """Attention alone."""
    return mfpde.MeanFieldEquation(
        mfpde.Attention(beta, **options), direction=direction
    )


def neuron(
    direction_of_neuron: Array,
    weight: float,
    direction: str = "ascent",
    *,
    activation: str = "relu",
) -> mfpde.MeanFieldEquation:
    """One neuron alone."""
    row = np.reshape(direction_of_neuron, (1, -1))
    perceptron = mfpde.Perceptron(row, [weight], activation)
    return mfpde.MeanFieldEquation(perceptron, direction=direction)


def still(
    geometry: Callable[[int], Geometry],
    values: Callable[[Geometry], Array],
    equation: mfpde.MeanFieldEquation,
) -> Situation:
    """A density given by values at the cell centres."""

    def situation(size: int):
        grid = geometry(size)
        return mfpde.Density(grid, values(grid)).normalized(), equation

    return situation


def solved(
    geometry: Callable[[int], Geometry],
    start: Callable[[Geometry], mfpde.Density],
    equation: mfpde.MeanFieldEquation,
    *,
    time: float,
) -> Situation:
    """The density at ``time`` by the default transport."""

    def situation(size: int):
        run = mfpde.solve(equation, start(geometry(size)), t_end=time, save_at=[time])
        return run.final, equation

    return situation


def with_atoms(
    geometry: Callable[[int], Geometry],
    values: Callable[[Geometry], Array] | None,
    atoms: Callable[[Geometry], mfpde.Atoms],
    *,
    equation: mfpde.MeanFieldEquation,
) -> Situation:
    """Exact atoms over a density, which has the rest of the mass; None for no density."""

    def situation(size: int):
        grid = geometry(size)
        held = atoms(grid)
        if values is None:
            density = mfpde.Density(grid, np.zeros(grid.shape))
        else:
            shape = mfpde.Density(grid, values(grid)).normalized()
            density = mfpde.Density(grid, (1 - held.total_mass) * shape.values)
        return mfpde.Measure(density, held), equation

    return situation


def unit(vectors: object) -> Array:
    """Scale to unit length."""
    array = np.asarray(vectors, dtype=float)
    return array / np.linalg.norm(array, axis=-1, keepdims=True)


def on_circle(*angles: float) -> Array:
    """Points of the circle."""
    return np.stack([np.cos(angles), np.sin(angles)], axis=-1)


def offset(circle: mfpde.Circle, centre: float) -> Array:
    """Angles from ``centre``, in [-pi, pi)."""
    return np.mod(circle.angles - centre + np.pi, 2 * np.pi) - np.pi


def distance(points: Array, centre: Array) -> Array:
    """Great-circle distance, accurate for small ones too."""
    chord = np.linalg.norm(points - centre, axis=-1)
    return 2 * np.arcsin(np.minimum(chord / 2, 1.0))


def gaussian(circle: mfpde.Circle, centre: float, width: float) -> Array:
    """Gaussian of mass 1 on the circle, ``width`` in radians."""
    shape = np.exp(-((offset(circle, centre) / width) ** 2) / 2)
    return shape / (shape.sum() * circle.spacing)


def poisson(circle: mfpde.Circle, r: float, centre: float = 0.0) -> Array:
    """The Kuramoto solution; its strip of analyticity has width -log r."""
    bottom = 1 - 2 * r * np.cos(circle.angles - centre) + r**2
    return (1 - r**2) / (2 * np.pi * bottom)


def neuron_on_circle(circle: mfpde.Circle, centre: float, time: float) -> Array:
    """One ReLU neuron of weight 1 in ascent from the uniform density."""
    growth = np.exp(time)
    x = offset(circle, centre)
    active = growth / (np.cos(x) ** 2 + (growth * np.sin(x)) ** 2)
    return np.where(np.abs(x) < np.pi / 2, active, 1.0)


def neuron_on_sphere(sphere: mfpde.Sphere, axis: Array, time: float) -> Array:
    """One ReLU neuron of weight 1 in ascent from the uniform density."""
    growth = np.exp(time)
    z = sphere.points @ axis
    active = growth**2 / (z**2 + growth**2 * (1 - z**2)) ** 1.5
    return np.where(z > 0, active, 1.0)


def bump(sphere: mfpde.Sphere, centre: Array, width: float) -> Array:
    """Gaussian of mass 1 on the sphere, ``width`` in radians."""
    shape = np.exp(-((distance(sphere.points, centre) / width) ** 2) / 2)
    return shape / (shape * sphere.areas).sum()


def ring(sphere: mfpde.Sphere, axis: Array, angle: float, *, width: float) -> Array:
    """Ring of mass 1 at ``angle`` from ``axis``, ``width`` in radians."""
    away = distance(sphere.points, axis) - angle
    shape = np.exp(-((away / width) ** 2) / 2)
    return shape / (shape * sphere.areas).sum()


def tangents_of(axis: Array) -> tuple[Array, Array]:
    """Two orthonormal tangents at ``axis``."""
    first = unit(np.cross(axis, np.eye(3)[np.abs(axis).argmin()]))
    return first, np.cross(axis, first)


def arc(sphere: mfpde.Sphere, axis: Array, angle: float, *, width: float) -> Array:
    """One half of a ring, with ends as soft as it is wide."""
    along = sphere.points @ tangents_of(axis)[0]
    keep = 1 / (1 + np.exp(-np.clip(along / width, -40, 40)))
    return ring(sphere, axis, angle, width=width) * keep


def ellipse(sphere: mfpde.Sphere, centre: Array, widths: tuple[float, float]) -> Array:
    """Gaussian with two widths, in radians."""
    first, second = tangents_of(centre)
    scaled = (sphere.points @ first / widths[0]) ** 2 + (
        sphere.points @ second / widths[1]
    ) ** 2
    return np.where(sphere.points @ centre > 0, np.exp(-scaled / 2), 0.0)
