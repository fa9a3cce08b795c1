"""The saved states of a run as a page keeps them: densities as halves, atoms as coordinates.

Where a run has more saves or finer grids than its page has room for, saves are left out, evenly
and never the first or last, down to a hundred of them; then blocks of cells are averaged; then
more saves are left out.  The page says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.geometry import Circle, Geometry
from mfpde.geometry.circle import angles_of
from mfpde.measures.measure import AnyMeasure, Atoms, Density, as_measure, atoms_of
from mfpde.runs.run import Run
from mfpde.viewer.grids import GridView, coordinates, grid_view
from mfpde.viewer.packed import Pack

FEWEST_SAVES = 100
FEWEST_PARTICLES = 200
DOMAINS = {2: "circle", 3: "sphere"}
BINS = Circle(128)
"""Bins in which particles on the circle are shown as a density."""


class Frames(NamedTuple):
    """What is shown of the states: which saves, on which grids, one particle of how many."""

    domain: str
    saves: IntArray
    views: dict[Geometry, GridView]
    stride: int

    @property
    def axis(self) -> FloatArray | None:
        """Direction of a zonal grid's pole; None for other domains."""
        return next((view.axis for view in self.views.values()), None)


def density_shown(state: AnyMeasure) -> Density | None:
    """Return the density of a state: of particles on the circle that in bins, on S^2 none."""
    if not isinstance(state, Atoms):
        return as_measure(state).density
    if state.dimension != 2:
        return None
    bins = np.append(0.0, BINS.face_angles)
    masses, _ = np.histogram(angles_of(state.points), bins, weights=state.masses)
    return Density(BINS, masses / BINS.spacing)


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
    densities = [d for d in map(density_shown, states) if d is not None]
    views = {d.geometry: grid_view(d.geometry) for d in densities}
    domain = next((view.kind for view in views.values()), DOMAINS.get(dimension, ""))
    most = min(len(states), FEWEST_SAVES)
    size = _coarsen(views, room // most)
    # Coordinates and mass of a particle, of four bytes each, are two numbers each.
    crowd = max(len(s) if isinstance(s, Atoms) else 0 for s in states)
    numbers = 2 * crowd * (2 if dimension == 2 else 4)
    stride = max(1, min(-(-numbers * most // room), crowd // FEWEST_PARTICLES))
    count = min(len(states), max(2, room // max(size + numbers // stride, 1)))
    saves = np.linspace(0, len(states) - 1, count).round().astype(np.int64)
    return Frames(domain, np.unique(saves), views, stride)


def _coarsen(views: dict[Geometry, GridView], room: int) -> int:
    """Coarsen the largest grids until they have room, or cannot be; return their size."""
    while views:
        geometry, largest = max(views.items(), key=lambda item: item[1].size)
        coarser = largest.coarsened()
        if largest.size <= room or coarser is largest:
            return largest.size
        views[geometry] = coarser
    return 0


def describe_frames(run: Run, frames: Frames, pack: Pack) -> dict[str, Any]:
    """Put the states that are shown into a pack, and describe them."""
    states = [run.states[k] for k in frames.saves]
    densities = [d for d in map(density_shown, states) if d is not None]
    views = [frames.views[density.geometry] for density in densities]
    pairs = list(zip(views, densities, strict=True))
    values = [view.values(density).ravel() for view, density in pairs]
    grids = list(frames.views.values())
    whole = np.concatenate(values) if values else np.zeros(1)
    # What is nearly uniform is told by how much it exceeds the smallest.
    base = float(whole.min()) if whole.min() > 0.5 * whole.max() else 0.0
    return {
        "saves": frames.saves.tolist(),
        "times": run.times[frames.saves].tolist(),
        "grids": [view.description() for view in grids],
        "gridOf": [grids.index(view) for view in views],
        "means": [float(d.total_mass / view.measures.sum()) for view, d in pairs],
        "lows": [float(array.min()) for array in values],
        "highs": [float(array.max()) for array in values],
        "base": base,
        "density": pack.add_halves(whole - base) if values else None,
        "atoms": _describe_atoms(states, frames, pack),
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
    notes = [
        "Densities are kept as 16-bit numbers: each is right to 5e-04 of itself, below "
        "2e-9 of the largest to 1e-12 of that."
    ]
    coarse = [
        f"{geometry!r} is shown by means over blocks, "
        f"{' × '.join(str(side) for side in view.shape if side > 1)} of them, which keep "
        "the mass."
        for geometry, view in frames.views.items()
        if view.factor > 1
    ]
    count = len(frames.saves)
    if count < len(run.times):
        coarse.append(
            f"{count} of the {len(run.times)} saves are shown, evenly spread."
        )
    if frames.stride > 1:
        coarse.append(f"every {frames.stride}th particle is shown.")
    return notes[: len(frames.views)] + [f"Coarsened for display: {c}" for c in coarse]
