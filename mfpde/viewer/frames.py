"""The saved states of a run as a page keeps them: densities as halves, atoms as coordinates.

The circle shows the density per radian against the angle, the sphere the density per area
against colatitude and longitude.  A zonal density is shown as its mass per polar angle, since
densities per area range over hundreds of orders of magnitude in high dimension.

Where a run has more saves or finer grids than its page has room for, saves are left out, evenly
and never the first or last, down to a hundred of them; then blocks of cells are averaged, which
keeps the mass; then more saves are left out.  The page says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.geometry import Circle, Sphere, Zonal
from mfpde.geometry.circle import angles_of
from mfpde.measures.distributions import polar_angles
from mfpde.measures.measure import AnyMeasure, Atoms, Density, as_measure, atoms_of
from mfpde.plotting.angle_view import bin_particles
from mfpde.runs.run import Run
from mfpde.viewer.packed import Pack

FEWEST_CELLS = {"circle": 256, "zonal": 256, "sphere": 32 * 64}
"""Cells that a display has at least, where its grid has them."""


@dataclass(frozen=True, eq=False)
class GridView:
    """A grid by blocks of ``factor`` cells a side.

    It has ``measures`` of its cells (rows, columns), widths in angle or on the sphere areas, and
    ``angles`` of its rows (rows,).
    """

    kind: str
    geometry: Circle | Sphere | Zonal
    measures: FloatArray
    angles: FloatArray
    factor: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of blocks."""
        rows, columns = self.measures.shape
        return rows // self.factor, max(1, columns // self.factor)

    @property
    def size(self) -> int:
        """Number of blocks."""
        return self.shape[0] * self.shape[1]

    def values(self, density: Density) -> FloatArray:
        """Mass per measure of each block, (rows, columns)."""
        return self._sum_blocks(density.masses) / self._sum_blocks(self.measures)

    def _sum_blocks(self, cells: FloatArray) -> FloatArray:
        rows, columns = self.shape
        return np.asarray(cells.reshape(rows, self.factor, columns, -1).sum((1, 3)))

    def coarsen(self, most: int) -> GridView:
        """Return the view by blocks, at most that many; as few as there may be otherwise."""
        if self.size <= most:
            return self
        sides = [side for side in self.measures.shape if side > 1]
        for factor in range(self.factor + 1, min(sides) + 1):
            coarser = replace(self, factor=factor)
            if (
                coarser.size >= FEWEST_CELLS[self.kind]
                and not np.mod(sides, factor).any()
            ):
                return coarser.coarsen(most)
        return self

    def description(self) -> dict[str, Any]:
        """Return where rows and columns are; Gauss-Legendre rings are even to a fiftieth."""
        rows, columns = self.shape
        angles = self.angles.reshape(rows, self.factor).mean(axis=1)
        shift = (self.factor - 1) * np.pi / self.measures.shape[1]
        return {
            "rows": rows,
            "columns": columns,
            "first": float(angles[0]),
            "step": float(angles[-1] - angles[0]) / (rows - 1),
            "longitude": float(shift) if columns > 1 else 0.0,
        }


@singledispatch
def grid_view(geometry: object) -> GridView:
    """Return the view of a grid, a ValueError without one; a subclass is shown as its parent."""
    raise ValueError(
        f"view has no picture for a density on {geometry!r}: it shows densities on a "
        "Circle, a Sphere or a Zonal grid, and Atoms with points of shape (n, 2) or (n, 3)"
    )


@grid_view.register
def _(line: Circle | Zonal) -> GridView:
    kind = "circle" if line.axis is None else "zonal"
    return GridView(kind, line, np.full((line.num_cells, 1), line.spacing), line.angles)


@grid_view.register
def _(sphere: Sphere) -> GridView:
    return GridView("sphere", sphere, sphere.areas, sphere.colatitudes)


def coordinates(points: FloatArray, axis: FloatArray | None) -> FloatArray:
    """Return angles (n, 1) of points (n, d), from an ``axis`` if zonal; on S^2 the points."""
    if axis is not None:
        return polar_angles(points)[:, np.newaxis]
    return points if points.shape[1] == 3 else angles_of(points)[:, np.newaxis]


FEWEST_SAVES = 100
FEWEST_PARTICLES = 200
DOMAINS = {2: "circle", 3: "sphere"}


class Frames(NamedTuple):
    """What is shown of the states: which saves, on which grid, one particle of how many."""

    domain: str
    saves: IntArray
    view: GridView | None
    stride: int

    @property
    def axis(self) -> FloatArray | None:
        """Direction of a zonal grid's pole; None for other domains."""
        return None if self.view is None else self.view.geometry.axis


def density_shown(state: AnyMeasure) -> Density | None:
    """Return the density of a state: of particles on the circle that in bins, on S^2 none."""
    if not isinstance(state, Atoms):
        return as_measure(state).density
    return bin_particles(state) if state.dimension == 2 else None


def choose_frames(states: Sequence[AnyMeasure], room: int) -> Frames:
    """Choose what is shown of the states so that it takes about ``room`` numbers.

    Raises
    ------
    ValueError
        If there are no states, or there is no picture for them.
    """
    if not len(states):
        raise ValueError(
            "view needs saved states, but run.states is empty: give save_every or "
            "save_at when solving"
        )
    dimension = states[0].dimension
    if isinstance(states[0], Atoms) and dimension not in DOMAINS:
        raise ValueError(
            f"view has no picture for atoms on S^{dimension - 1}: it shows those with "
            "points of shape (n, 2) or (n, 3), and densities"
        )
    density, most = density_shown(states[0]), min(len(states), FEWEST_SAVES)
    view, domain, size = None, DOMAINS.get(dimension, ""), 0
    if density is not None:
        view = grid_view(density.geometry).coarsen(room // most)
        domain, size = view.kind, view.size
    # Coordinates and mass of a particle, of four bytes each, are two numbers each.
    crowd = max(len(s) if isinstance(s, Atoms) else 0 for s in states)
    numbers = 2 * crowd * (2 if dimension == 2 else 4)
    stride = max(1, min(-(-numbers * most // room), crowd // FEWEST_PARTICLES))
    count = min(len(states), max(2, room // max(size + numbers // stride, 1)))
    saves = np.linspace(0, len(states) - 1, count).round().astype(np.int64)
    return Frames(domain, np.unique(saves), view, stride)


def describe_frames(run: Run, frames: Frames, pack: Pack) -> dict[str, Any]:
    """Put the states that are shown into a pack, and describe them."""
    states, view = [run.states[k] for k in frames.saves], frames.view
    described = {
        "saves": frames.saves.tolist(),
        "times": run.times[frames.saves].tolist(),
        "atoms": _describe_atoms(states, frames, pack),
    }
    if view is None:
        nothing: dict[str, Any] = {"means": [], "lows": [], "highs": [], "base": 0.0}
        return described | nothing | {"grid": None, "density": None}
    densities = [d for d in map(density_shown, states) if d is not None]
    values = np.array([view.values(density).ravel() for density in densities])
    # What is nearly uniform is told by how much it exceeds the smallest.
    base = float(values.min()) if values.min() > 0.5 * values.max() else 0.0
    return described | {
        "grid": view.description(),
        "means": [float(d.total_mass / view.measures.sum()) for d in densities],
        "lows": values.min(axis=1).tolist(),
        "highs": values.max(axis=1).tolist(),
        "base": base,
        "density": pack.add_halves(values - base),
    }


def _describe_atoms(
    states: Sequence[AnyMeasure], frames: Frames, pack: Pack
) -> dict[str, Any]:
    """Put the atoms that states carry into a pack, of particles every ``stride``-th."""
    atoms = [atoms_of(state) for state in states]
    points = [one.points[:: frames.stride] for one in atoms]
    masses = [one.masses[:: frames.stride] for one in atoms]
    places = coordinates(np.concatenate(points), frames.axis)
    return {
        "counts": [len(one) for one in points],
        "areParticles": isinstance(states[0], Atoms),
        "places": pack.add_singles(places),
        "masses": pack.add_singles(np.concatenate(masses)),
    }


def notes_of(run: Run, frames: Frames) -> list[str]:
    """Say what the page leaves out."""
    view, count, notes = frames.view, len(frames.saves), []
    if view is not None and view.factor > 1:
        blocks = " × ".join(str(side) for side in view.shape if side > 1)
        notes.append(
            f"{view.geometry!r} is shown by {blocks} means over blocks of cells"
        )
    if count < len(run.times):
        notes.append(f"{count} of the {len(run.times)} saves are shown, evenly spread")
    if frames.stride > 1:
        notes.append(f"every {frames.stride}th particle is shown")
    precision = (
        "Densities are kept as 16-bit numbers: each is right to 5e-04 of itself, below "
        "2e-9 of the largest to 1e-12 of that."
    )
    coarse = [f"Coarsened for display: {note}." for note in notes]
    return coarse if view is None else [precision, *coarse]
