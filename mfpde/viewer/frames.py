"""The saved states of a run as a page keeps them: densities as codes, atoms as coordinates.

Where a run has more saves or finer grids than its page has room for, saves are left out, evenly
and never the first or last, down to a hundred of them; then blocks of cells are averaged; then
more saves are left out.  The page says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mfpde.arrays import IntArray
from mfpde.geometry import Geometry
from mfpde.measures.measure import AnyMeasure, Atoms, Density, as_measure, atoms_of
from mfpde.runs.run import Run
from mfpde.viewer.grids import GridView, grid_view
from mfpde.viewer.packed import LogarithmicScale, Stream

FEWEST_SAVES = 100
FEWEST_PARTICLES = 200
DOMAINS = {2: "circle", 3: "sphere"}


class Choice(NamedTuple):
    """Which saves are shown, on which grids, and every which particle."""

    saves: IntArray
    views: dict[Geometry, GridView]
    particle_stride: int


@dataclass(frozen=True, eq=False)
class Frames:
    """The states that are shown: what the page is told of them, and in which words."""

    domain: str
    description: dict[str, Any]
    choice: Choice
    scale: LogarithmicScale
    notes: tuple[str, ...]


def density_part(state: AnyMeasure) -> Density | None:
    """Density of a state; None for bare atoms."""
    return None if isinstance(state, Atoms) else as_measure(state).density


def domain_of_states(states: Sequence[AnyMeasure]) -> str:
    """Name the domain of saved states: circle, sphere or zonal.

    Raises
    ------
    ValueError
        If there are none, or there is no picture for them.
    """
    if not len(states):
        raise ValueError(
            "view needs saved states, but run.states is empty: give save_every or "
            "save_at when solving"
        )
    density = density_part(states[0])
    if density is not None:
        return grid_view(density.geometry).kind
    dimension = states[0].dimension
    if dimension not in DOMAINS:
        raise ValueError(
            f"view has no picture for atoms on S^{dimension - 1}: it shows those with "
            "points of shape (n, 2) or (n, 3), and densities"
        )
    return DOMAINS[dimension]


def chosen(states: Sequence[AnyMeasure], room: int) -> Choice:
    """Choose what is shown of the states so that it takes about ``room`` numbers."""
    geometries = list(
        dict.fromkeys(d.geometry for d in map(density_part, states) if d is not None)
    )
    views = {geometry: grid_view(geometry) for geometry in geometries}
    most = min(len(states), FEWEST_SAVES)
    while largest_of(views) * most > room:
        coarser = {g: view.coarsened() for g, view in views.items()}
        largest = largest_of(views)
        views = {
            g: c if views[g].cells == largest else views[g] for g, c in coarser.items()
        }
        if largest_of(views) == largest:
            break
    per_save = largest_of(views)
    stride = 1
    crowd = max(_numbers(state) for state in states)
    if crowd:
        stride = max(1, -(-crowd * most // room))
        stride = min(stride, max(1, crowd // FEWEST_PARTICLES))
        per_save += -(-crowd // stride)
    count = min(len(states), max(2, room // max(per_save, 1)))
    saves = np.unique(np.linspace(0, len(states) - 1, count).round().astype(np.int64))
    return Choice(saves, views, stride)


def largest_of(views: dict[Geometry, GridView]) -> int:
    """Largest number of cells; 0 for no grids at all."""
    return max((view.cells for view in views.values()), default=0)


def _numbers(state: AnyMeasure) -> int:
    """Numbers that a state's bare atoms take, counted in codes of two bytes."""
    if not isinstance(state, Atoms):
        return 0
    return 2 * len(state) * (2 if state.dimension == 2 else 4)


def frames_of(run: Run, stream: Stream, *, room: int) -> Frames:
    """Put the states of a run into a stream.

    Parameters
    ----------
    run
        The run.
    stream
        Where they go.
    room
        Numbers of two bytes that they may take, about.

    Raises
    ------
    ValueError
        As for :func:`domain_of_states`.
    """
    domain = domain_of_states(run.states)
    choice = chosen(run.states, room)
    states = [run.states[k] for k in choice.saves]
    views = list(choice.views.values())
    grids, values = [], []
    for state in states:
        density = density_part(state)
        if density is None:
            grids.append(-1)
            continue
        view = choice.views[density.geometry]
        grids.append(views.index(view))
        values.append(view.values(density))
    scale = LogarithmicScale.of(values)
    codes = [scale.codes(array).ravel() for array in values]
    described: dict[str, Any] = {
        "saves": choice.saves.tolist(),
        "times": [float(run.times[k]) for k in choice.saves],
        "grids": [view.description() for view in views],
        "gridOf": grids,
        "low": scale.low,
        "high": scale.high,
        "density": None,
        "masses": [_density_mass(state) for state in states],
        "means": [_mean_density(state, choice) for state in states],
    }
    if codes:
        described["density"] = stream.add_codes(np.concatenate(codes))
    described["atoms"] = _atoms(states, choice, stream)
    return Frames(
        domain,
        described,
        choice,
        scale,
        tuple(_notes(run, choice, scale, has_density=bool(codes))),
    )


def _density_mass(state: AnyMeasure) -> float:
    density = density_part(state)
    return 0.0 if density is None else float(density.total_mass)


def _mean_density(state: AnyMeasure, choice: Choice) -> float:
    """Mean of what is shown, in its own unit."""
    density = density_part(state)
    if density is None:
        return 0.0
    view = choice.views[density.geometry]
    return float(density.total_mass / view.weights.sum())


def _atoms(
    states: Sequence[AnyMeasure], choice: Choice, stream: Stream
) -> dict[str, Any]:
    """Coordinates and masses of the atoms that the states carry, of crowds every n-th."""
    counts, coordinates, masses = [], [], []
    crowd = isinstance(states[0], Atoms)
    stride = choice.particle_stride
    for state in states:
        atoms = atoms_of(state)
        points = atoms.points[::stride]
        counts.append(len(points))
        if not len(points):
            continue
        density = density_part(state)
        if density is not None:
            places = choice.views[density.geometry].coordinates(points)
        elif state.dimension == 2:
            places = np.arctan2(points[:, 1], points[:, 0])[:, np.newaxis]
        else:
            places = points
        coordinates.append(places.ravel())
        masses.append(atoms.masses[::stride])
    if not coordinates:
        return {"counts": counts, "crowd": crowd, "places": None, "masses": None}
    return {
        "counts": counts,
        "crowd": crowd,
        "stride": stride,
        "places": stream.add_floats(np.concatenate(coordinates)),
        "masses": stream.add_floats(np.concatenate(masses)),
    }


def _notes(
    run: Run, choice: Choice, scale: LogarithmicScale, *, has_density: bool
) -> list[str]:
    notes = []
    if has_density:
        notes.append(
            f"Densities are kept as 16-bit logarithms from {scale.low:.3g} to "
            f"{scale.high:.3g}: each is right to {scale.relative_error:.1e} of itself; "
            f"what is below {scale.low:.3g} is shown as nothing."
        )
    for geometry, view in choice.views.items():
        if view.cells < np.prod(geometry.shape):
            shape = " × ".join(str(side) for side in view.shape)
            notes.append(
                f"Coarsened for display: {geometry!r} is shown by means over blocks, "
                f"{shape} of them, which keep the mass."
            )
    if len(choice.saves) < len(run.times):
        notes.append(
            f"Coarsened for display: {len(choice.saves)} of the {len(run.times)} saves "
            "are shown, evenly spread."
        )
    if choice.particle_stride > 1:
        notes.append(
            f"Coarsened for display: every {choice.particle_stride}th particle is shown."
        )
    return notes
