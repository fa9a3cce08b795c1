r"""Views of measures by one angle: the circle by theta, zonal grids by the polar angle.

On the circle the curve is the density per radian.  A zonal density on S^(d-1) is drawn as
n(theta) = |S^(d-2)| sin^(d-2)(theta) rho(theta), the mass per polar angle: densities per
surface area range over hundreds of orders of magnitude when d is large.

The density of many particles on the circle comes from quantiles of their angles: the circle is
cut in the middle of its widest gap and divided at the quantiles k/K of the mass into K = sqrt(n)
arcs that hold the mass M/K each.  Arcs are short where particles are dense: there is no bin width
to choose.  A monotone cubic through the cumulated masses, differenced over the cells of a grid,
keeps sign and total mass.

The drawing functions ask :func:`domain_of` once and look their painter up by its answer; a
new geometry registers its domain and its view here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import singledispatch
from typing import ClassVar

import numpy as np
from scipy.interpolate import PchipInterpolator

from mfpde.arrays import FloatArray, check_kind
from mfpde.geometry import Circle, Sphere, Zonal
from mfpde.geometry.circle import angles_of, points_at, tangents_at
from mfpde.measures.measure import AnyMeasure, Atoms, Density, as_measure
from mfpde.runs.run import Run

SHORTEST_ARC = 1e-12


def density_from_quantiles(atoms: Atoms, circle: Circle) -> Density:
    """Estimate the density of ``atoms`` from quantiles of their angles."""
    turn = 2 * np.pi
    order = np.argsort(angles_of(atoms.points), kind="stable")
    angles = angles_of(atoms.points)[order]
    gaps = np.diff(angles, append=angles[0] + turn)
    first = (int(np.argmax(gaps)) + 1) % len(angles)
    angles = np.concatenate([angles[first:], angles[:first] + turn])
    masses = np.roll(atoms.masses[order], -first)
    start = angles[0] - gaps.max() / 2
    positions = np.concatenate([[start], angles, [start + turn]])
    middles = np.cumsum(masses) - masses / 2
    cumulated = np.concatenate([[0.0], middles, [atoms.total_mass]])
    arcs = int(np.sqrt(len(angles)))
    quantiles = np.linspace(0.0, atoms.total_mass, arcs + 1)
    # Particles at one point leave arcs of no length; the cubic needs some.
    edges = np.interp(quantiles, cumulated, positions)
    edges += SHORTEST_ARC * np.arange(arcs + 1)
    unrolled = np.concatenate([[edges[-2] - turn], edges, [edges[1] + turn]])
    levels = np.concatenate([[-1.0], np.arange(arcs + 1), [arcs + 1.0]])
    cdf = PchipInterpolator(unrolled, levels * atoms.total_mass / arcs)
    faces = np.concatenate([[0.0], circle.face_angles])
    turns = np.floor((faces - start) / turn)
    below = cdf(faces - turns * turn)
    cell_masses = np.diff(below + turns * atoms.total_mass)
    return Density(circle, np.maximum(cell_masses, 0.0) / circle.spacing)


@singledispatch
def domain_of_geometry(geometry: object) -> str | None:
    """Name the domain of a grid; None where it has no picture.

    A new geometry registers its own: ``domain_of_geometry.register(Grid, lambda _: "circle")``.
    """
    return None


domain_of_geometry.register(Circle, lambda _: "circle")
domain_of_geometry.register(Sphere, lambda _: "sphere")
domain_of_geometry.register(Zonal, lambda _: "zonal")

_DOMAINS_OF_ATOMS = {2: "circle", 3: "sphere"}


def domain_of(measure: AnyMeasure, *, picture: str) -> str:
    """Name the domain that ``measure`` lies on: ``"circle"``, ``"sphere"``, ``"zonal"``.

    Parameters
    ----------
    measure
        A density, atoms, or both.
    picture
        Name of the function that asks, for the error message.

    Raises
    ------
    ValueError
        If there is no picture for the measure's geometry.
    """
    if isinstance(measure, Atoms):
        domain = _DOMAINS_OF_ATOMS.get(measure.dimension)
        where = f"atoms on S^{measure.dimension - 1}"
    else:
        geometry = as_measure(measure).geometry
        domain = domain_of_geometry(geometry)
        where = f"a density on {geometry!r}"
    if domain is None:
        raise ValueError(
            f"{picture} has no picture for {where}: it draws densities on a Circle, a "
            "Sphere or a Zonal grid, and Atoms with points of shape (n, 2) or (n, 3)"
        )
    return domain


def domain_of_run(run: Run, *, picture: str) -> str:
    """Name the domain of a run's saved states; it must have some.

    Raises
    ------
    ValueError
        If nothing was saved, or there is no picture for the geometry.
    """
    check_kind("run", run, Run, source="what solve returns or load reads")
    if not len(run.states):
        raise ValueError(
            f"{picture} needs saved states, but run.states is empty: give "
            "save_every or save_at when solving"
        )
    return domain_of(run.states[0], picture=picture)


MOST_STEMS = 200
PARTICLE_CELLS = 1024
TURN = 2 * np.pi

Curve = tuple[FloatArray, FloatArray]
Spans = list[tuple[float, float]]


class AngleView(ABC):
    """How points, densities and neurons look against one angle."""

    span: ClassVar[float]
    margin: ClassVar[float]
    ticks: ClassVar[tuple[float, ...]]
    tick_labels: ClassVar[tuple[str, ...]]
    angle_label: ClassVar[str]
    density_label: ClassVar[str]
    colour_label: ClassVar[str]
    atom_label: ClassVar[str]

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Dimension d of the space that the sphere lies in."""

    @abstractmethod
    def angles_of(self, points: FloatArray) -> FloatArray:
        """Angles (...) of points (..., d)."""

    @abstractmethod
    def points_at(self, angles: FloatArray) -> FloatArray:
        """Points (n, d) at ``angles`` (n,)."""

    @abstractmethod
    def tangents_at(self, angles: FloatArray) -> FloatArray:
        """Unit tangents (n, d) along increasing angle."""

    @abstractmethod
    def active_spans(self, direction: FloatArray, bias: float) -> Spans:
        """Intervals of angle where direction.x + bias > 0, in order."""

    @abstractmethod
    def curve_of(self, density: Density) -> Curve:
        """Angles of the cells and the values drawn against them."""

    @abstractmethod
    def continued(self, curve: Curve) -> Curve:
        """Return the curve continued, if need be, to both ends of the axis."""

    @abstractmethod
    def resampled(self, curve: Curve, angles: FloatArray) -> FloatArray:
        """Values (n,) of the curve at other ``angles`` (n,)."""

    def curve(self, measure: AnyMeasure) -> Curve | None:
        """Return the curve of a measure; None for few bare atoms."""
        if isinstance(measure, Atoms):
            if len(measure) <= MOST_STEMS:
                return None
            return self.curve_of(
                density_from_quantiles(measure, Circle(PARTICLE_CELLS))
            )
        return self.curve_of(as_measure(measure).density)


class CircleView(AngleView):
    """The circle by its angle in [0, 2 pi)."""

    span = TURN
    margin = 0.0
    ticks = (0.0, np.pi / 2, np.pi, 3 * np.pi / 2, TURN)
    tick_labels = ("0", "π/2", "π", "3π/2", "2π")
    angle_label = "angle θ"
    density_label = "density ρ (per radian)"
    colour_label = "log10 density"
    atom_label = "mass of an atom"

    @property
    def dimension(self) -> int:
        """Dimension of the space that the circle lies in: 2."""
        return 2

    def angles_of(self, points: FloatArray) -> FloatArray:
        """Angles (...) in [0, 2 pi) of points (..., 2)."""
        return angles_of(points)

    def points_at(self, angles: FloatArray) -> FloatArray:
        """Points (n, 2) at ``angles`` (n,)."""
        return points_at(angles)

    def tangents_at(self, angles: FloatArray) -> FloatArray:
        """Unit tangents (n, 2), counter-clockwise."""
        return tangents_at(angles)

    def active_spans(self, direction: FloatArray, bias: float) -> Spans:
        """|theta - phi| < arccos(-b / |a|), with a at the angle phi, in [0, 2 pi]."""
        length = float(np.linalg.norm(direction))
        if bias > length:
            return [(0.0, TURN)]
        if bias <= -length:
            return []
        half = float(np.arccos(-bias / length))
        low = float(angles_of(direction)) - half
        high = low + 2 * half
        if low < 0:
            return [(0.0, high), (low + TURN, TURN)]
        if high > TURN:
            return [(0.0, high - TURN), (low, TURN)]
        return [(low, high)]

    def curve_of(self, density: Density) -> Curve:
        """Angles of the cells and the density per radian."""
        return angles_of(density.geometry.points), density.values

    def continued(self, curve: Curve) -> Curve:
        """Return the curve continued by one cell on both sides."""
        angles, values = curve
        around = np.concatenate([[angles[-1] - TURN], angles, [angles[0] + TURN]])
        return around, np.concatenate([values[-1:], values, values[:1]])

    def resampled(self, curve: Curve, angles: FloatArray) -> FloatArray:
        """Values (n,) of the periodic curve at other ``angles`` (n,)."""
        return np.asarray(np.interp(angles, *curve, period=TURN))


@dataclass(frozen=True)
class ZonalView(AngleView):
    """A zonal grid by its polar angle in [0, pi]; atoms stand for rings."""

    geometry: Zonal

    span = np.pi
    margin = 0.02 * np.pi
    ticks = (0.0, np.pi / 4, np.pi / 2, 3 * np.pi / 4, np.pi)
    tick_labels = ("0", "π/4", "π/2", "3π/4", "π")
    angle_label = "polar angle θ"
    density_label = "mass per polar angle\n(per radian, not per area)"
    colour_label = "log10 mass per polar angle"
    atom_label = "mass of a ring"

    @property
    def dimension(self) -> int:
        """Dimension d of the space that the sphere lies in."""
        return self.geometry.dimension

    def angles_of(self, points: FloatArray) -> FloatArray:
        """Angles (...) in [0, pi] to the axis of points (..., d)."""
        axis = self.geometry.axis
        along = points @ axis
        across = np.linalg.norm(points - along[..., np.newaxis] * axis, axis=-1)
        return np.asarray(np.arctan2(across, along))

    def points_at(self, angles: FloatArray) -> FloatArray:
        """One point (n, d) at each of the polar ``angles`` (n,)."""
        return self.geometry.points_at(angles)

    def tangents_at(self, angles: FloatArray) -> FloatArray:
        """Unit tangents (n, d) away from the north pole."""
        return self.geometry.tangents_at(angles)

    def active_spans(self, direction: FloatArray, bias: float) -> Spans:
        """Where alpha cos(theta) + b > 0, with the direction alpha times the axis."""
        along = float(direction @ self.geometry.axis)
        border = float(np.arccos(np.clip(-bias / along, -1.0, 1.0)))
        low, high = (0.0, border) if along > 0 else (border, np.pi)
        return [(low, high)] if high > low else []

    def curve_of(self, density: Density) -> Curve:
        """Polar angles of the cells and the mass per polar angle."""
        return self.geometry.angles, density.masses / self.geometry.spacing

    def continued(self, curve: Curve) -> Curve:
        """Return the curve itself."""
        return curve

    def resampled(self, curve: Curve, angles: FloatArray) -> FloatArray:
        """Values (n,) of the curve at other ``angles`` (n,)."""
        return np.asarray(np.interp(angles, *curve))


def view_of(measure: AnyMeasure) -> AngleView:
    """Return the view of a measure on a circle or a zonal grid."""
    if isinstance(measure, Atoms):
        return CircleView()
    return view_of_geometry(as_measure(measure).geometry)


@singledispatch
def view_of_geometry(geometry: object) -> AngleView:
    """Return the view of a grid by one angle: that of the circle unless another is registered."""
    return CircleView()


view_of_geometry.register(Zonal, ZonalView)
