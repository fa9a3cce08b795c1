r"""Who is who: atoms of one save matched with those of the save before, by places and masses.

The flow has carried each atom a of the earlier save to the time of the later one.  It is
the atom b if it arrives within ``reach`` of it, by the assignment of least

    cost = distance / reach + |m_a - m_b| / (m_a + m_b)

with as many pairs as possible.  One that is left over is in the atom of its basin, if it has
arrived there or if the mass of that atom is better explained with it than without.

Source of the assignment: D. F. Crouse, IEEE Trans. Aerosp. Electron. Syst. 52 (2016), as in
``scipy.optimize.linear_sum_assignment``.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from mfpde.arrays import FloatArray
from mfpde.geometry.arcs import angles_between
from mfpde.tracking.flow import Rest
from mfpde.tracking.paths import SeenAtoms


def match_atoms(
    places: FloatArray,
    masses: FloatArray,
    atoms: SeenAtoms,
    motion: Rest,
    *,
    reach: float,
) -> dict[int, list[int]]:
    """Return the earlier atoms that each later one is made of, those that there are, by index.

    Parameters
    ----------
    places, masses
        Where the earlier atoms are at the later save, (n, d), and their masses, (n,).
    atoms
        The later atoms.
    motion
        It knows the attractor of each point.
    reach
        Distance (radians) within which two may be the same.
    """
    distances = angles_between(places, atoms.points)
    pairs = assign_pairs(distances, masses, atoms.masses, reach=reach)
    parents = {b: [a] for a, b in pairs.items()}
    left = [a for a in np.argsort(-masses, kind="stable").tolist() if a not in pairs]
    if not left or not len(atoms):
        return parents
    missing = atoms.masses.copy()
    missing[[*pairs.values()]] -= masses[[*pairs]]
    ends = motion.find_attractors(np.concatenate([places[left], atoms.points]))
    apart = angles_between(ends[: len(left)], ends[len(left) :])
    for a, ways in zip(left, apart, strict=True):
        b = int(ways.argmin())
        is_arrived = distances[a, b] <= reach / 2
        is_missing = masses[a] < 2 * missing[b]
        if ways[b] <= reach and (is_arrived or is_missing):
            parents[b] = sorted([*parents.get(b, ()), a])
            missing[b] -= masses[a]
    return parents


def assign_pairs(
    distances: FloatArray, earlier: FloatArray, later: FloatArray, *, reach: float
) -> dict[int, int]:
    """Return the pairs of least total cost, as many as possible, none beyond ``reach``.

    Parameters
    ----------
    distances
        Between earlier and later atoms, (n, m), radians.
    earlier, later
        Their masses, (n,) and (m,).
    reach
        Distance within which two may be the same.
    """
    own = earlier[:, np.newaxis]
    costs = distances / reach + np.abs(own - later) / (own + later)
    allowed = distances <= reach
    forbidden = 1.0 + costs[allowed].sum()
    rows, columns = linear_sum_assignment(np.where(allowed, costs, forbidden))
    return {int(a): int(b) for a, b in zip(rows, columns, strict=True) if allowed[a, b]}
