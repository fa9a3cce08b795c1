r"""The measure of least energy in descent, with a certified duality gap.

E[mu] = (1/2 beta) iint K dmu dmu + int V dmu is strictly convex for beta > 0, so that the
minimiser over all probability measures is unique (paper, Proposition 3.7).
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import real_number
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Sphere
from mfpde.measures.measure import Atoms, as_measure
from mfpde.stationary.atomic_minimizer import atomic_minimum
from mfpde.stationary.certification import (
    TOLERANCE,
    check_descent,
    energy_scale,
    flat_gap,
    spectral_parts,
)
from mfpde.stationary.minimum import Minimum
from mfpde.stationary.ring_minimizer import (
    common_axis,
    ring_counts,
    ring_minimum,
)
from mfpde.stationary.sliding import LARGEST_CONDITION
from mfpde.stationary.smooth_minimizer import smooth_candidate

HOPELESS = 1e4


def minimize(
    equation: MeanFieldEquation,
    geometry: Circle | Sphere,
    *,
    tolerance: float = TOLERANCE,
) -> Minimum:
    """Find the unique minimiser of E among all probability measures on S^1 or S^2.

    Three candidates are tried in turn: a smooth density on ``geometry`` (if V has no kinks),
    rings around the common axis of the neurons (on S^2), and atoms.  The first whose gap is at
    most the tolerance is returned, else the one with the smallest gap; ``gap`` is rigorous in
    either case.  The state that a descent run ends in need not be the minimiser.

    Parameters
    ----------
    equation
        An equation that :func:`certificate` accepts.
    geometry
        The sphere, and the grid that a smooth minimiser is given on.  Atoms and rings do
        not depend on it.
    tolerance
        Largest gap wanted, relative to the size of the energy: the largest of 1, the kernel's
        amplitude (e^beta if unshifted) and sum |w_j| (|a_j| + |b_j|)^2 / 100.

    Raises
    ------
    ValueError
        For an equation that has no certificate, another geometry or dimension, a
        tolerance that is not positive, or a grid too coarse for beta.
    """
    check_descent(equation, "minimize")
    if not isinstance(geometry, Circle | Sphere):
        raise ValueError(f"geometry = {geometry!r} must be a Circle or a Sphere")
    for term in equation.externals:
        term.check_dimension(geometry.dimension)
    tolerance = real_number("tolerance", tolerance, above=0.0) * energy_scale(equation)
    found = []
    for attempt in (_smooth, _ringed, _atomic):
        candidate = attempt(equation, geometry, tolerance)
        if candidate is not None:
            found.append(candidate)
            if candidate.gap <= tolerance:
                break
    return min(found, key=lambda candidate: candidate.gap)


def _smooth(
    equation: MeanFieldEquation, geometry: Circle | Sphere, tolerance: float
) -> Minimum | None:
    density = smooth_candidate(equation, geometry)
    if density is None:
        return None
    field, energy, mean = spectral_parts(equation, as_measure(density))
    found = flat_gap(field, (energy, mean), most=HOPELESS * tolerance)
    return Minimum(equation, density, "density", found, None)


def _ringed(
    equation: MeanFieldEquation, geometry: Circle | Sphere, tolerance: float
) -> Minimum | None:
    axis = common_axis(equation) if geometry.dimension == 3 else None
    if axis is None:
        return None
    rings, end = ring_minimum(equation, axis, tolerance)
    counts = ring_counts(equation, rings.angles)
    atoms = Atoms(*rings.atoms(counts))
    kind = "atoms" if len(atoms) == len(rings.angles) else "ring"
    if not end.condition < LARGEST_CONDITION:
        kind = "spread"
    shown = rings if kind == "ring" else None
    return Minimum(equation, atoms, kind, end.certificate, end.condition, shown)


def _atomic(
    equation: MeanFieldEquation, geometry: Circle | Sphere, tolerance: float
) -> Minimum | None:
    end = atomic_minimum(equation, geometry.dimension, tolerance)
    order = np.argsort(-end.masses, kind="stable")
    if geometry.dimension == 2:
        order = np.argsort(
            np.mod(np.arctan2(end.positions[:, 1], end.positions[:, 0]), 2 * np.pi)
        )
    atoms = Atoms(end.positions[order], end.masses[order])
    kind = "atoms" if end.condition < LARGEST_CONDITION else "spread"
    return Minimum(equation, atoms, kind, end.certificate, end.condition)
