r"""Views of measures by one angle: the circle by theta, zonal grids by the polar angle.

On the circle the curve is the density per radian.  A zonal density on S^(d-1) is drawn as
n(theta) = |S^(d-2)| sin^(d-2)(theta) rho(theta), the mass per polar angle: densities per
surface area range over hundreds of orders of magnitude when d is large.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, cast

import numpy as np
from matplotlib.axes import Axes

from mfpde.arrays import FloatArray, check_kind
from mfpde.geometry import Circle, Sphere, Zonal
from mfpde.geometry.circle import angles_of, points_at, tangents_at
from mfpde.measures.distributions import TURN, polar_angles
from mfpde.measures.measure import AnyMeasure, Atoms, Density, as_measure
from mfpde.runs.run import Run

MOST_STEMS = 200
MARGIN = 0.02
BINS = Circle(128)
"""Bins in which particles on the circle are shown as a density."""


@dataclass(frozen=True, eq=False)
class AngleView:
    """How points, densities and neurons look against an angle in [0, span].

    ``angles_of`` points (..., d) are (...); ``points_at`` and ``tangents_at`` angles (n,) are
    (n, d).  Tick labels stand at the quarters of the axis.
    """

    dimension: int
    span: float
    tick_labels: tuple[str, ...]
    angle_label: str
    density_label: str
    atom_label: str
    angles_of: Callable[[FloatArray], FloatArray]
    points_at: Callable[[FloatArray], FloatArray]
    tangents_at: Callable[[FloatArray], FloatArray]

    @property
    def is_periodic(self) -> bool:
        """Whether both ends of the axis are one place."""
        return self.span == TURN

    def set_axis(self, ax: Axes, name: Literal["x", "y"]) -> None:
        """Let the axis ``name`` run over all angles, with ticks in units of pi."""
        axis = ax.xaxis if name == "x" else ax.yaxis
        # Room to see curves that end at a pole.
        margin = 0.0 if self.is_periodic or name == "y" else MARGIN * self.span
        ax.set(**{f"{name}lim": (-margin, self.span + margin)})
        axis.set_ticks(np.linspace(0.0, self.span, 5), labels=self.tick_labels)
        axis.set_label_text(self.angle_label)

    def curve(self, measure: AnyMeasure) -> tuple[FloatArray, FloatArray]:
        """Return angles (n,) and the mass per angle there of the density that is drawn."""
        density = cast("Density", density_of(measure))
        grid = cast("Circle | Zonal", density.geometry)
        return grid.angles, density.masses / grid.spacing


CIRCLE = AngleView(
    dimension=2,
    span=TURN,
    tick_labels=("0", "π/2", "π", "3π/2", "2π"),
    angle_label="angle θ",
    density_label="density ρ (per radian)",
    atom_label="mass of an atom",
    angles_of=angles_of,
    points_at=points_at,
    tangents_at=tangents_at,
)


def zonal_view(zonal: Zonal) -> AngleView:
    """Return the view of a zonal grid by its polar angle; atoms stand for rings."""
    return AngleView(
        dimension=zonal.dimension,
        span=np.pi,
        tick_labels=("0", "π/4", "π/2", "3π/4", "π"),
        angle_label="polar angle θ",
        density_label="mass per polar angle\n(per radian, not per area)",
        atom_label="mass of a ring",
        angles_of=polar_angles,
        points_at=zonal.points_at,
        tangents_at=zonal.tangents_at,
    )


def is_few(measure: AnyMeasure) -> bool:
    """Whether a measure is bare atoms, so few that each is drawn and no density."""
    return isinstance(measure, Atoms) and len(measure) <= MOST_STEMS


def density_of(measure: AnyMeasure) -> Density | None:
    """Return the density that is drawn: of bare atoms on the circle in bins, elsewhere None."""
    if not isinstance(measure, Atoms):
        return as_measure(measure).density
    if measure.dimension > 2:
        return None
    edges = np.append(0.0, BINS.face_angles)
    masses, _ = np.histogram(angles_of(measure.points), edges, weights=measure.masses)
    return Density(BINS, masses / BINS.spacing)


def view_of(measure: AnyMeasure, *, picture: str) -> AngleView | None:
    """Return the view of a measure by one angle; None on S^2, which has maps and globes.

    ``ValueError`` if ``picture`` has none for the measure.
    """
    geometry = None if isinstance(measure, Atoms) else as_measure(measure).geometry
    match geometry, measure.dimension:
        case (Circle(), _) | (None, 2):
            return CIRCLE
        case (Sphere(), _) | (None, 3):
            return None
        case (Zonal() as zonal, _):
            return zonal_view(zonal)
    atoms = f"atoms on S^{measure.dimension - 1}"
    what = f"a density on {geometry!r}" if geometry else atoms
    raise ValueError(
        f"{picture} has no picture for {what}: it draws densities on a Circle, a "
        "Sphere or a Zonal grid, and Atoms with points of shape (n, 2) or (n, 3)"
    )


def view_of_run(run: Run, *, picture: str) -> AngleView | None:
    """Return the view of a run's saved states (:func:`view_of`); ValueError without any."""
    check_kind("run", run, Run, source="what solve returns or load reads")
    if not len(run.states):
        raise ValueError(
            f"{picture} needs saved states, but run.states is empty: give "
            "save_every or save_at when solving"
        )
    return view_of(run.states[0], picture=picture)
