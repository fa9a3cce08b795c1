r"""Views of measures by one angle: the circle by theta, zonal grids by the polar angle.

On the circle the curve is the density per radian.  A zonal density on S^(d-1) is drawn as
n(theta) = |S^(d-2)| sin^(d-2)(theta) rho(theta), the mass per polar angle: densities per
surface area range over hundreds of orders of magnitude when d is large.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from scipy.interpolate import PchipInterpolator

from mfpde.arrays import FloatArray, check_kind
from mfpde.geometry import Circle, Sphere, Zonal
from mfpde.geometry.circle import angles_of, points_at, tangents_at
from mfpde.measures.measure import AnyMeasure, Atoms, Density, as_measure
from mfpde.runs.run import Run

TURN = 2 * np.pi
MOST_STEMS = 200
PARTICLE_CELLS = 1024
SHORTEST_ARC = 1e-12

Curve = tuple[FloatArray, FloatArray]
"""Angles (n,) and the values drawn against them."""


@dataclass(frozen=True, eq=False)
class AngleView:
    """How points, densities and neurons look against an angle in [0, span].

    ``angles_of`` points (..., d) are (...); ``points_at`` and ``tangents_at`` angles (n,) are
    (n, d); ``curve_of`` a density is what is drawn against its cells' angles.  Tick
    labels stand at the quarters of the axis, which has a ``margin`` for curves that end at a
    pole.
    """

    dimension: int
    span: float
    margin: float
    tick_labels: tuple[str, ...]
    angle_label: str
    density_label: str
    colour_label: str
    atom_label: str
    angles_of: Callable[[FloatArray], FloatArray]
    points_at: Callable[[FloatArray], FloatArray]
    tangents_at: Callable[[FloatArray], FloatArray]
    curve_of: Callable[[Density], Curve]

    @property
    def is_periodic(self) -> bool:
        """Whether both ends of the axis are one place."""
        return self.span == TURN

    def set_axis(self, ax: Axes, name: Literal["x", "y"]) -> None:
        """Let the axis ``name`` run over all angles, with ticks in units of pi.

        An x axis leaves room to see curves that end at a pole.
        """
        axis = ax.xaxis if name == "x" else ax.yaxis
        margin = self.margin if name == "x" else 0.0
        ax.set(**{f"{name}lim": (-margin, self.span + margin)})
        axis.set_ticks(np.linspace(0.0, self.span, 5), labels=self.tick_labels)
        axis.set_label_text(self.angle_label)

    def active_spans(
        self, direction: FloatArray, bias: float
    ) -> list[tuple[float, float]]:
        """Intervals in [0, span] where |a| cos(theta - phi) + b > 0, with a at the angle phi."""
        opposite = -bias / float(np.linalg.norm(direction))
        half = float(np.arccos(np.clip(opposite, -1.0, 1.0)))
        if half == np.pi:
            return [(0.0, self.span)]
        first = float(self.angles_of(direction)) - half
        lows = (first - TURN, first, first + TURN)
        cut = [(max(low, 0.0), min(low + 2 * half, self.span)) for low in lows]
        return [(low, high) for low, high in cut if low < high]

    def curve(self, measure: AnyMeasure) -> Curve | None:
        """Return the curve of a measure, of many atoms by their quantiles; None for few."""
        if not isinstance(measure, Atoms):
            return self.curve_of(as_measure(measure).density)
        if len(measure) <= MOST_STEMS:
            return None
        return self.curve_of(density_from_quantiles(measure, Circle(PARTICLE_CELLS)))

    def continued(self, curve: Curve) -> Curve:
        """Return the curve to both ends of the axis: a periodic one by a cell on each side."""
        if not self.is_periodic:
            return curve
        angles, values = (np.pad(part, 1, mode="wrap") for part in curve)
        angles[0], angles[-1] = angles[0] - TURN, angles[-1] + TURN
        return angles, values

    def resampled(self, curve: Curve, angles: FloatArray) -> FloatArray:
        """Values (n,) of the curve at other ``angles`` (n,)."""
        period = TURN if self.is_periodic else None
        return np.asarray(np.interp(angles, *curve, period=period))


CIRCLE = AngleView(
    dimension=2,
    span=TURN,
    margin=0.0,
    tick_labels=("0", "π/2", "π", "3π/2", "2π"),
    angle_label="angle θ",
    density_label="density ρ (per radian)",
    colour_label="log10 density",
    atom_label="mass of an atom",
    angles_of=angles_of,
    points_at=points_at,
    tangents_at=tangents_at,
    curve_of=lambda density: (angles_of(density.geometry.points), density.values),
)


def zonal_view(zonal: Zonal) -> AngleView:
    """Return the view of a zonal grid by its polar angle; atoms stand for rings."""

    def polar_angles(points: FloatArray) -> FloatArray:
        along = points @ zonal.axis
        across = points - along[..., np.newaxis] * zonal.axis
        return np.asarray(np.arctan2(np.linalg.norm(across, axis=-1), along))

    return AngleView(
        dimension=zonal.dimension,
        span=np.pi,
        margin=0.02 * np.pi,
        tick_labels=("0", "π/4", "π/2", "3π/4", "π"),
        angle_label="polar angle θ",
        density_label="mass per polar angle\n(per radian, not per area)",
        colour_label="log10 mass per polar angle",
        atom_label="mass of a ring",
        angles_of=polar_angles,
        points_at=zonal.points_at,
        tangents_at=zonal.tangents_at,
        curve_of=lambda density: (zonal.angles, density.masses / zonal.spacing),
    )


def density_from_quantiles(atoms: Atoms, circle: Circle) -> Density:
    """Estimate the density of ``atoms`` from quantiles of their angles.

    The circle is cut in the middle of its widest gap and divided at the quantiles k/K of the
    mass into K = sqrt(n) arcs that hold the mass M/K each: arcs are short where particles are
    dense, so that there is no bin width to choose.  A monotone cubic through the cumulated
    masses, differenced over the cells, keeps sign and total mass.
    """
    angles, order = angles_of(atoms.points), np.argsort(angles_of(atoms.points))
    gaps = np.diff(angles[order], append=angles[order[0]] + TURN)
    order = np.roll(order, -int(np.argmax(gaps)) - 1)
    masses, total = atoms.masses[order], atoms.total_mass
    start = float(angles[order[0]]) - gaps.max() / 2
    within = start + (angles[order] - start) % TURN
    arcs = int(np.sqrt(len(angles)))
    levels = np.linspace(0.0, total, arcs + 1)
    edges = np.interp(
        levels,
        np.concatenate([[0.0], np.cumsum(masses) - masses / 2, [total]]),
        np.concatenate([[start], within, [start + TURN]]),
    )
    # Particles at one point leave arcs of no length; the cubic needs some.
    edges += SHORTEST_ARC * np.arange(arcs + 1)
    turns = np.arange(-1, 2)[:, np.newaxis]
    cdf = PchipInterpolator(
        np.append(edges[:-1] + TURN * turns, edges[-1] + TURN),
        np.append(levels[:-1] + total * turns, 2 * total),
    )
    faces = np.append(0.0, circle.face_angles)
    return Density(circle, np.maximum(np.diff(cdf(faces)), 0.0) / circle.spacing)


@singledispatch
def view_of_geometry(geometry: object) -> AngleView | None:
    """Return the view of a grid by one angle; None of a Sphere, which has maps and globes."""
    raise LookupError(f"a density on {geometry!r}")


view_of_geometry.register(Circle, lambda _: CIRCLE)
view_of_geometry.register(Sphere, lambda _: None)
view_of_geometry.register(Zonal, zonal_view)


def view_of(measure: AnyMeasure, *, picture: str) -> AngleView | None:
    """Return the view of a measure by one angle; None on S^2, which has maps and globes.

    Raises
    ------
    ValueError
        If ``picture`` has none for the measure.
    """
    try:
        if not isinstance(measure, Atoms):
            return view_of_geometry(as_measure(measure).geometry)
        if measure.dimension > 3:
            raise LookupError(f"atoms on S^{measure.dimension - 1}")
        return CIRCLE if measure.dimension == 2 else None
    except LookupError as what:
        raise ValueError(
            f"{picture} has no picture for {what}: it draws densities on a Circle, a "
            "Sphere or a Zonal grid, and Atoms with points of shape (n, 2) or (n, 3)"
        ) from None


def view_of_run(run: Run, *, picture: str) -> AngleView | None:
    """Return the view of a run's saved states (:func:`view_of`); ValueError without any."""
    check_kind("run", run, Run, source="what solve returns or load reads")
    if not len(run.states):
        raise ValueError(
            f"{picture} needs saved states, but run.states is empty: give "
            "save_every or save_at when solving"
        )
    return view_of(run.states[0], picture=picture)
