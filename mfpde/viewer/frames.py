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
from typing import Any, NamedTuple, cast

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.geometry import Geometry, Sphere
from mfpde.measures.measure import AnyMeasure, Atoms, Density, atoms_of
from mfpde.plotting.angle_view import AngleView, density_of, view_of_run
from mfpde.runs.run import Run, spread_indices
from mfpde.viewer.packed import Pack

FEWEST_CELLS = {1: 256, 2: 32 * 64}
"""Cells that a display of a line or a sphere has at least, where its grid has them."""


@dataclass(frozen=True, eq=False)
class GridView:
    """A grid by blocks of ``factor`` cells a side; on a line blocks are rows."""

    geometry: Geometry
    factor: int = 1

    @property
    def measures(self) -> FloatArray:
        """Areas of the cells of a sphere (rows, columns), else their widths in angle (rows,)."""
        grid = self.geometry
        is_sphere = isinstance(grid, Sphere)
        return grid.areas if is_sphere else np.full(grid.shape, grid.spacing)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of blocks."""
        rows, *around = (side // self.factor for side in self.geometry.shape)
        return rows, around[0] if around else 1

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
        sides = self.geometry.shape
        factors = range(self.factor + 1, min(sides) + 1)
        coarser = (
            replace(self, factor=k) for k in factors if not np.mod(sides, k).any()
        )
        fewest = FEWEST_CELLS[len(sides)]
        views = [self, *(view for view in coarser if view.size >= fewest)]
        return next((view for view in views if view.size <= most), views[-1])

    def description(self) -> dict[str, Any]:
        """Return where rows and columns are; Gauss-Legendre rings are even to a fiftieth."""
        (rows, columns), grid = self.shape, cast("Any", self.geometry)
        angles = grid.colatitudes if isinstance(grid, Sphere) else grid.angles
        angles = angles.reshape(rows, self.factor).mean(axis=1)
        shift = (self.factor - 1) * np.pi / (self.factor * columns)
        return {
            "rows": rows,
            "columns": columns,
            "first": float(angles[0]),
            "step": float(angles[-1] - angles[0]) / (rows - 1),
            "longitude": float(shift) if columns > 1 else 0.0,
        }


FEWEST_SAVES = 100
FEWEST_PARTICLES = 200


class Frames(NamedTuple):
    """What is shown of the states: which saves, on which grid, one particle of how many.

    Without a ``view`` by one angle they are on the sphere.
    """

    view: AngleView | None
    grid: GridView | None
    saves: IntArray
    stride: int

    @property
    def domain(self) -> str:
        """Where the states are: circle, zonal or sphere."""
        if self.view is None:
            return "sphere"
        return "circle" if self.view.is_periodic else "zonal"

    def coordinates(self, points: FloatArray) -> FloatArray:
        """Return angles (n, 1) of points (n, d); on the sphere the points."""
        if self.view is None:
            return points
        return self.view.angles_of(points)[:, np.newaxis]


def choose_frames(run: Run, room: int) -> Frames:
    """Choose what is shown of the states so that it takes about ``room`` numbers.

    No saved states, or such as have no picture, are a ``ValueError``.
    """
    view, states = view_of_run(run, picture="view"), run.states
    density, most = density_of(states[0]), min(len(states), FEWEST_SAVES)
    grid, size = None, 0
    if density is not None:
        grid = GridView(density.geometry).coarsen(room // most)
        size = grid.size
    # Coordinates and mass of a particle, of four bytes each, are two numbers each.
    crowd = max(len(s) if isinstance(s, Atoms) else 0 for s in states)
    numbers = 2 * crowd * (4 if view is None else 2)
    stride = max(1, min(-(-numbers * most // room), crowd // FEWEST_PARTICLES))
    count = max(2, room // max(size + numbers // stride, 1))
    return Frames(view, grid, spread_indices(len(states), count), stride)


def describe_frames(run: Run, frames: Frames, pack: Pack) -> dict[str, Any]:
    """Put the states that are shown into a pack, and describe them."""
    states, grid = [run.states[k] for k in frames.saves], frames.grid
    described = {
        "saves": frames.saves.tolist(),
        "times": run.times[frames.saves].tolist(),
        "atoms": _describe_atoms(states, frames, pack),
    }
    if grid is None:
        nothing: dict[str, Any] = {"means": [], "lows": [], "highs": [], "base": 0.0}
        return described | nothing | {"grid": None, "density": None}
    densities = [d for d in map(density_of, states) if d is not None]
    values = np.array([grid.values(density).ravel() for density in densities])
    # What is nearly uniform is told by how much it exceeds the smallest.
    base = float(values.min()) if values.min() > 0.5 * values.max() else 0.0
    return described | {
        "grid": grid.description(),
        "means": [float(d.total_mass / grid.measures.sum()) for d in densities],
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
    places = frames.coordinates(np.concatenate(points))
    return {
        "counts": [len(one) for one in points],
        "areParticles": isinstance(states[0], Atoms),
        "places": pack.add_singles(places),
        "masses": pack.add_singles(np.concatenate(masses)),
    }


def notes_of(run: Run, frames: Frames) -> list[str]:
    """Say what the page leaves out."""
    grid, count, notes = frames.grid, len(frames.saves), []
    if grid is not None and grid.factor > 1:
        blocks = " × ".join(str(side) for side in grid.shape if side > 1)
        notes.append(
            f"{grid.geometry!r} is shown by {blocks} means over blocks of cells"
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
    return coarse if grid is None else [precision, *coarse]
