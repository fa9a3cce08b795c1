r"""Density of many particles on the circle, from quantiles of their angles.

The circle is cut in the middle of its widest gap and divided at the quantiles k/K of
the mass into K = sqrt(n) arcs that hold the mass M/K each.  Arcs are short where
particles are dense: there is no bin width to choose.  A monotone cubic through the
cumulated masses, differenced over the cells of a grid, keeps sign and total mass.
"""

from __future__ import annotations

import numpy as np
from scipy.interpolate import PchipInterpolator

from mfpde.geometry import Circle
from mfpde.geometry.circle import angles_of
from mfpde.measures.measure import Atoms, Density

SHORTEST_ARC = 1e-12


def density_from_quantiles(atoms: Atoms, circle: Circle) -> Density:
    """Estimate the density of ``atoms`` from quantiles of their angles."""
    turn = 2 * np.pi
    order = np.argsort(angles_of(atoms.points), kind="stable")
    angles = angles_of(atoms.points)[order]
    gaps = np.diff(angles, append=angles[0] + turn)
    first = (int(np.argmax(gaps)) + 1) % len(angles)
    angles = np.concatenate([angles[first:], angles[:first] + turn])
    masses = np.roll(atoms.masses[order], -first)
    start = angles[0] - gaps.max() / 2
    positions = np.concatenate([[start], angles, [start + turn]])
    middles = np.cumsum(masses) - masses / 2
    cumulated = np.concatenate([[0.0], middles, [atoms.total_mass]])
    arcs = int(np.sqrt(len(angles)))
    quantiles = np.linspace(0.0, atoms.total_mass, arcs + 1)
    # Particles at one point leave arcs of no length; the cubic needs some.
    edges = np.interp(quantiles, cumulated, positions)
    edges += SHORTEST_ARC * np.arange(arcs + 1)
    unrolled = np.concatenate([[edges[-2] - turn], edges, [edges[1] + turn]])
    levels = np.concatenate([[-1.0], np.arange(arcs + 1), [arcs + 1.0]])
    cdf = PchipInterpolator(unrolled, levels * atoms.total_mass / arcs)
    faces = np.concatenate([[0.0], circle.face_angles])
    turns = np.floor((faces - start) / turn)
    below = cdf(faces - turns * turn)
    cell_masses = np.diff(below + turns * atoms.total_mass)
    return Density(circle, np.maximum(cell_masses, 0.0) / circle.spacing)
