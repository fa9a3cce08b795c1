r"""The minimiser of E among atoms with masses, with its certificate.

1. Local minima of F below its mean come in as new atoms, with the best masses on all
   (``mass_program.py``); atoms without mass go out.
2. Neighbours within a radius are united, and the atoms slide (``sliding_newton.py``).  The
   result is kept if its energy is not above that after 1.  Without progress the radius is halved,
   with progress doubled.
3. Once F has no minimum below its mean, atoms are united until their positions and masses
   are determined, if the energy allows it, and F is bounded below over the whole sphere; if the
   gap is too large, points where F is low come in.

This is the sliding Frank-Wolfe method (Denoyelle, Duval, Peyre & Soubies, 2019), which without
step 2 is the fully corrective Frank-Wolfe method.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.geometry.arcs import normalize
from mfpde.stationary.certification import Certificate, certify, state_of_atoms
from mfpde.stationary.convex_energy import ConvexEnergy
from mfpde.stationary.local_minima import (
    DISTINCT,
    descend,
    find_minima,
    scanning_points,
)
from mfpde.stationary.sliding_newton import Balanced, balance, find_condition, slide
from mfpde.terms import PointMasses

LARGEST_CONDITION = 1e9
"""Above it positions and masses are not determined."""
MOST_ROUNDS = 400
WIDEST = 1 / 2
"""Distance, in widths of the kernel, within which neighbours are united at most."""


class SlidingEnd(NamedTuple):
    """The best atoms found, their certificate and the condition of their system."""

    points: FloatArray
    masses: FloatArray
    certificate: Certificate
    condition: float


def sliding_minimum(energy: ConvexEnergy, tolerance: float) -> SlidingEnd:
    """Minimise E over atoms to a gap of ``tolerance``, if possible."""
    width = min(energy.kernel_width, energy.external.width)
    scan = energy.represent(scanning_points(energy.dimension, width))
    lowest = int(np.argmin(energy.external.values(scan)))
    here = balance(energy, scan[[lowest]], np.ones(1))
    within, is_determined = WIDEST, True
    for _ in range(MOST_ROUNDS):
        state = state_of_atoms(energy, PointMasses(here.points, here.masses))
        new = find_minima(state.field, scan, below=state.mean - tolerance / 2)
        if not len(new):
            if is_determined:
                here = _determine(energy, here, here.energy + tolerance / 2)
                is_determined = _is_determined(energy, here)
                state = state_of_atoms(energy, PointMasses(here.points, here.masses))
            found, low = certify(state, tolerance, enough=tolerance / 2)
            new = descend(state.field, low)
            if found.gap <= tolerance or not len(new):
                break
        points = np.concatenate([here.points, energy.represent(new)])
        masses = np.append(here.masses, np.zeros(len(new)))
        here = balance(energy, points, masses)
        lower = _unite_and_slide(energy, here, within, here.energy + energy.rounding)
        is_progress = here.energy - lower.energy >= tolerance
        within = min(2 * within, WIDEST) if is_progress else within / 2
        here = lower
    else:
        state = state_of_atoms(energy, PointMasses(here.points, here.masses))
        found, _ = certify(state, tolerance)
    condition = find_condition(energy, here)
    return SlidingEnd(here.points, here.masses, found, condition)


def _determine(energy: ConvexEnergy, start: Balanced, limit: float) -> Balanced:
    """The most atoms whose positions and masses are determined, E at most ``limit``.

    ``start`` if there are none.
    """
    here, within = slide(energy, start), DISTINCT
    while not _is_determined(energy, here):
        united = _unite_and_slide(energy, here, within, limit)
        if united is here or within > WIDEST:
            return start
        here, within = united, 2 * within
    return here


def _is_determined(energy: ConvexEnergy, here: Balanced) -> bool:
    return find_condition(energy, here) < LARGEST_CONDITION


def _unite_and_slide(
    energy: ConvexEnergy, start: Balanced, within: float, limit: float
) -> Balanced:
    """Neighbours ``within`` a distance made one and slid; ``start`` if E is above ``limit``."""
    united = _unite_neighbours(start, within * energy.kernel_width)
    found = slide(energy, balance(energy, *united), limit=limit)
    return found if found.energy <= limit else start


def _unite_neighbours(atoms: Balanced, within: float) -> PointMasses:
    """Atoms of which each group ``within`` a distance of its heaviest is one at its mean."""
    points, masses = atoms.points, atoms.masses
    owner = np.full(len(masses), -1)
    for index in np.argsort(-masses, kind="stable"):
        if owner[index] < 0:
            near = np.linalg.norm(points - points[index], axis=1) <= within
            owner[near & (owner < 0)] = index
    owners = np.unique(owner)
    shares = np.where(owner == owners[:, np.newaxis], masses, 0.0)
    return PointMasses(normalize(shares @ points), shares.sum(axis=1))
