r"""What is compared between grids: the atoms of a run at its end, and its merges.

The centre x of a core is defined alike for grids, exact atoms and particles: it is the fixed point
of the mean shift

    x <- sum_i m_i w(x.x_i) x_i / | . |,    w(u) = max(0, u - cos R)^2,    R = 2 ball_radius

(or half the distance to the next atom, if that is less) from the position in the report.  As the
window is smooth, the quadrature error of cells is that of a smooth integrand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.detection import ball_radius, concentration
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.arcs import angles_between, normalize
from mfpde.measures.measure import AnyMeasure, Atoms
from mfpde.measures.sampling import as_atoms
from mfpde.runs.run import Run
from mfpde.studies.convergence import Converging
from mfpde.tracking.matching import assign_pairs
from mfpde.tracking.paths import join_atoms

Landmarks = Mapping[str, FloatArray]
"""Of n atoms, heaviest basin first, or merges: each ``"position"`` (n, d), ``"mass"`` (n,), ..."""


def find_final_atoms(
    measure: AnyMeasure, equation: MeanFieldEquation, smallest_mass: float
) -> Landmarks:
    """Return the atoms of a measure, and those forming, that are heavy enough."""
    regions = concentration(measure, equation).clusters
    found = [region for region in regions if region.mass >= smallest_mass]
    places = [region.position for region in found]
    points = np.reshape(places, (len(found), measure.dimension))
    # Windows are small enough to hold one atom each.
    apart = angles_between(points, points) + np.diag(np.full(len(found), np.inf))
    radii = np.minimum(2 * ball_radius(equation), apart.min(axis=1, initial=np.inf) / 2)
    return {
        "position": find_centres(points, as_atoms(measure), radii),
        "mass": np.array([region.mass for region in found]),
        "core mass": np.array([region.core_mass for region in found]),
    }


def find_centres(points: FloatArray, cells: Atoms, radii: FloatArray) -> FloatArray:
    """Return the centres (n, d) of cores at ``points`` (n, d), with windows of ``radii`` (n,)."""
    edges = np.cos(radii)[:, np.newaxis]
    move = np.inf
    while move > np.finfo(float).eps ** (3 / 4):
        weights = cells.masses * np.maximum(points @ cells.points.T - edges, 0.0) ** 2
        before, points = points, normalize(weights @ cells.points)
        move = np.abs(points - before).max(initial=0.0)
    return points


def find_merges(run: Run, smallest_mass: float) -> Landmarks:
    """Return the merges of a run between atoms that are heavy enough, as the run tells them."""
    found = [
        event
        for event in run.events
        if event.kind == "merge" and np.sort(event.masses)[-2] >= smallest_mass
    ]
    joined = [join_atoms(event.points, event.masses) for event in found]
    return {
        "position": np.reshape(
            [point for point, _ in joined], (-1, run.final.dimension)
        ),
        "mass": np.array([mass for _, mass in joined]),
        "merge time": np.array([event.time for event in found]),
    }


def align(finest: Landmarks, other: Landmarks, reach: float) -> Landmarks:
    """Return what ``other`` holds, each at the index of the same one of ``finest``, else NaN.

    Two are the same by the assignment of least cost in distance, of at most ``reach``
    radians, and mass.
    """
    ours, theirs = ((marks["position"], marks["mass"]) for marks in (finest, other))
    partners = assign_pairs(*ours, *theirs, reach=reach)
    found = {kind: np.full(own.shape, np.nan) for kind, own in finest.items()}
    for kind, values in found.items():
        values[[*partners]] = other[kind][[*partners.values()]]
    return found


def compare_grids(
    name: str,
    found: Sequence[Landmarks],
    spacings: FloatArray,
    *,
    kinds: Sequence[str],
    reach: float,
    references: Mapping[str, Landmarks],
) -> list[Converging]:
    """Return the number of atoms, or merges, and their quantities of some ``kinds``, judged.

    They are ``found`` on each grid, coarsest first, and matched within a ``reach`` with those of
    the finest one, in whose order other means find the ``references``.  None converges while the
    number changes.
    """
    finest, counts = found[-1], [float(len(marks["mass"])) for marks in found]
    on_grids = [align(finest, landmarks, reach) for landmarks in found]
    number = Converging(f"number of {name}s", "number", np.array(counts), spacings)
    changes = f"the {number.name} changes from grid to grid"
    quantities = [
        Converging(
            f"{kind.removeprefix('merge ')} of {name} {k + 1}",
            kind,
            np.stack([marks[kind][k] for marks in on_grids]),
            spacings,
            {who: own[kind][k] for who, own in references.items() if kind in own},
            obstacle="" if number.converged else changes,
        )
        for k in range(len(finest["mass"]))
        for kind in kinds
    ]
    return [number, *quantities]
