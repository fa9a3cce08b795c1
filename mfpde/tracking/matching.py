r"""Who is who: the atoms of a save, and which of them are those of the save before.

Between the saves the velocity is taken to change linearly in time,

    x' = (1 - s) v_0(x) + s v_1(x),     s = (t - t_0) / (t_1 - t_0),

which is stiff where mass has collapsed: LSODA (Petzold 1983) follows it.  An earlier atom a is
the later atom b if it arrives within ``reach`` of it, by the assignment of least

    cost = distance / reach + |m_a - m_b| / (m_a + m_b)

with as many pairs as possible (``scipy.optimize.linear_sum_assignment``; Crouse, IEEE Trans.
Aerosp. Electron. Syst. 52 (2016)).  One that is left over is in the nearest atom of its basin in
the field v_1, if it has arrived there or if the mass of that atom is better explained with it than
without.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy

from mfpde.arrays import BoolArray, FloatArray, IntArray
from mfpde.detection import ConcentrationReport
from mfpde.geometry.arcs import angles_between, normalize
from mfpde.measures.measure import Atoms, Measure

Velocity = Callable[[FloatArray], FloatArray]
"""Velocities (n, d) at points (n, d)."""


@dataclass(frozen=True, eq=False)
class SeenAtoms:
    """The atoms of one save, heaviest first: unit vectors (n, d) and masses (n,).

    Those that ``is_forming`` (n,) marks are no atoms yet.  The ``identities`` (n,) are whole
    numbers from 1: the same atom has the same one at all saves.  In the atom are
    ``arrived_masses`` (n,): its core's; of an exact atom all; of one that is forming 0.  The rest
    is on its way.
    """

    points: FloatArray
    masses: FloatArray
    is_forming: BoolArray
    identities: IntArray
    arrived_masses: FloatArray

    def __len__(self) -> int:
        return len(self.masses)


def find_atoms(report: ConcentrationReport, smallest_mass: float) -> SeenAtoms:
    """Return the atoms of a measure without identities, heaviest first.

    They are those that it carries beside a density, with their own places and masses, and
    those that are found in the density, formed or forming.
    """
    measure = report.measure
    # Bare atoms are particles, whose crowds are searched.
    none = Atoms.none(measure.dimension)
    own = measure.atoms if isinstance(measure, Measure) else none
    found = [region for region in report.clusters if not region.is_exact]
    points = np.array([*own.points, *(region.position for region in found)])
    masses = np.array([*own.masses, *(region.mass for region in found)])
    arrived = np.array([*own.masses, *(region.arrived_mass for region in found)])
    forming = np.array([False] * len(own) + [r.kind == "forming" for r in found], bool)
    kept = np.argsort(-masses, kind="stable")
    kept = kept[masses[kept] >= smallest_mass]
    return SeenAtoms(
        points.reshape(-1, measure.dimension)[kept],
        masses[kept],
        forming[kept],
        np.zeros(len(kept), dtype=np.int64),
        arrived[kept],
    )


@dataclass(frozen=True, eq=False)
class FlowBetween:
    """The flow between the measures of two saves, at the times ``start`` and ``end``.

    The velocities ``before`` and ``after`` are those in their fields; ``share_basin`` tells which
    points (n, d) are in the basins of others (m, d) in the later field, (n, m).
    """

    before: Velocity
    after: Velocity
    share_basin: Callable[[FloatArray, FloatArray], BoolArray]
    start: float
    end: float

    def carry(self, points: FloatArray, start: float, end: float) -> FloatArray:
        """Return where ``points`` (n, d) of time ``start`` are at time ``end``."""
        if len(points) == 0 or end <= start:
            return points

        def velocity(time: float, flat: FloatArray) -> FloatArray:
            share = (time - self.start) / (self.end - self.start)
            places = normalize(flat.reshape(points.shape))
            speeds = (1 - share) * self.before(places) + share * self.after(places)
            return np.asarray(speeds.ravel())

        # Points do not act on each other: the Jacobian is one block for each of them.
        band = points.shape[1] - 1
        path = scipy.integrate.solve_ivp(
            velocity,
            (start, end),
            points.ravel(),
            method="LSODA",
            lband=band,
            uband=band,
        )
        return normalize(path.y[:, -1].reshape(points.shape))


def match_atoms(
    places: FloatArray,
    masses: FloatArray,
    atoms: SeenAtoms,
    motion: FlowBetween,
    *,
    reach: float,
) -> dict[int, list[int]]:
    """Return the earlier atoms that each later one is made of, those that there are, by index.

    At the later save the earlier atoms are at ``places`` (n, d); ``motion`` tells what is in one
    basin, and within ``reach`` radians two may be the same.
    """
    pairs = assign_pairs(places, masses, atoms.points, atoms.masses, reach=reach)
    parents = {b: [a] for a, b in pairs.items()}
    left = [a for a in np.argsort(-masses, kind="stable").tolist() if a not in pairs]
    if not left or not len(atoms):
        return parents
    missing = atoms.masses.copy()
    missing[[*pairs.values()]] -= masses[[*pairs]]
    apart = angles_between(places[left], atoms.points)
    apart[~motion.share_basin(places[left], atoms.points)] = np.inf
    for a, distances in zip(left, apart, strict=True):
        b = int(distances.argmin())
        is_missing = masses[a] < 2 * missing[b] and np.isfinite(distances[b])
        if is_missing or distances[b] <= reach / 2:
            parents[b] = sorted([*parents.get(b, ()), a])
            missing[b] -= masses[a]
    return parents


def assign_pairs(
    points: FloatArray,
    masses: FloatArray,
    others: FloatArray,
    other_masses: FloatArray,
    *,
    reach: float,
) -> dict[int, int]:
    """Return the pairs of least total cost, as many as possible, none beyond ``reach`` radians.

    The earlier ones have ``points`` (n, d) and ``masses`` (n,), the later ones (m, d) and (m,).
    """
    if not len(masses) or not len(other_masses):
        return {}
    own, distances = masses[:, np.newaxis], angles_between(points, others)
    costs = distances / reach + np.abs(own - other_masses) / (own + other_masses)
    allowed = distances <= reach
    forbidden = 1.0 + costs[allowed].sum()
    rows, columns = scipy.optimize.linear_sum_assignment(
        np.where(allowed, costs, forbidden)
    )
    return {int(a): int(b) for a, b in zip(rows, columns, strict=True) if allowed[a, b]}
