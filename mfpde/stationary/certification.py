r"""A certified bound of how far a measure's energy is above the smallest one possible.

E is convex in mu (``convex_energy.py``), so that for every nu of the same mass m

    E[nu] >= E[mu] + int F d(nu - mu) >= E[mu] - gap,   gap = int F dmu - m min F,

with F = A[mu] + V.  min F is bounded below over the whole sphere (``field_minima.py``).

In exact arithmetic this is a proof.  What rounding may change in F and E is estimated by the
sizes of the terms of sums, and added; rounding of derivatives is not counted.

A density stands for the point masses of its cells.  For A[mu] these are replaced by fewer
points of any sign, with the same moments up to the degree L that the kernel has: the rest of
the kernel, a part r of it, changes A[mu] by at most r (m + the sum of the new |masses|).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray, real_number
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure, Atoms, Measure, as_measure
from mfpde.notebook import Printed
from mfpde.stationary.convex_energy import ConvexEnergy, convex_energy
from mfpde.stationary.field_minima import floor_of
from mfpde.stationary.ridge_fields import RidgeField
from mfpde.terms import PointMasses

TOLERANCE = 1e-12
LARGEST_DIMENSION = 4


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Printed):
    """A measure's energy and how far above the minimum it can be at most.

    Attributes
    ----------
    energy
        E[mu].
    gap
        E[mu] - E* is at most this, E* the minimum over all measures of the same mass, up to
        rounding of derivatives.
    rounding
        Estimate of what rounding may have changed in the energy, included in gap too.
    mean_field, floor, smallest, point
        int F dmu / m, the lower bound of F, the smallest value of F that was met, and where.
    is_tight
        Whether the bound of F is as close to its minimum, or to its mean, as was wanted; if
        not, the gap holds but is larger than it need be.
    """

    energy: float
    gap: float
    rounding: float
    mean_field: float
    floor: float
    smallest: float
    point: FloatArray
    is_tight: bool

    @property
    def lower_bound(self) -> float:
        """E* is at least this: ``energy`` - ``gap`` - ``rounding``."""
        return self.energy - self.gap - self.rounding

    def __str__(self) -> str:
        loose = "" if self.is_tight else " (the search ended early: it may be smaller)"
        return f"energy {self.energy:.12g}, at most {self.gap:.2e} above the minimum{loose}"


class CertifiedState(NamedTuple):
    """A measure of ``mass`` as a certificate needs it.

    Its first variation F is the ``field``; ``energy`` and ``mean`` are E and int F dmu / mass.
    """

    field: RidgeField
    energy: float
    mean: float
    mass: float


def certificate(
    equation: MeanFieldEquation, measure: AnyMeasure, *, tolerance: float = TOLERANCE
) -> Certificate:
    """Bound E[mu] - E*, with a proof, for any measure on S^1, S^2 (atoms: S^3 too).

    A density stands for its cells' masses at their centres.  The widths of atoms count as they
    act: by their clouds.

    Parameters
    ----------
    equation
        Descent with unnormalised attention, its heads with a symmetric positive semidefinite D and
        V = a D, a >= 0, or any kernel with ``bounds`` and no negative eigenvalue, perceptrons with
        scalar weights and activations with bounds, no diffusion.
    measure
        Density, atoms, or both.
    tolerance
        How close the bound of F should come to its minimum, relative to the size of the energy (as
        for :func:`minimize`); a hundredth of the gap is enough in any case.

    Raises
    ------
    ValueError
        For any other equation, by what its energy lacks (it is not convex where a kernel has a
        negative eigenvalue or D is indefinite), a zonal grid or a dimension above 4.
    """
    energy = convex_energy(equation, measure.dimension, "certificate")
    tolerance = real_number("tolerance", tolerance, above=0.0)
    if isinstance(measure, Atoms):
        if len(measure) == 0 or measure.dimension > LARGEST_DIMENSION:
            raise ValueError(
                f"measure: {len(measure)} atoms in dimension {measure.dimension}; a "
                f"certificate is for at least one atom in dimension 2 to {LARGEST_DIMENSION}"
            )
        acting = measure.as_clouds()
        state = state_of_atoms(energy, PointMasses(acting.points, acting.masses))
    else:
        state = state_on_grid(equation, energy, as_measure(measure))
    return certify(state, tolerance * energy.scale)


def state_of_atoms(energy: ConvexEnergy, atoms: PointMasses) -> CertifiedState:
    """The state of point masses, by direct sums."""
    field = energy.first_variation(atoms)
    total = float(atoms.masses @ field.values(atoms.points))
    outside = float(atoms.masses @ energy.external.values(atoms.points))
    mass = float(atoms.masses.sum())
    return CertifiedState(field, (total + outside) / 2, total / mass, mass)


def state_on_grid(
    equation: MeanFieldEquation, energy: ConvexEnergy, whole: Measure
) -> CertifiedState:
    """The state of a density with atoms on a circle or a sphere."""
    geometry, mass = whole.geometry, whole.total_mass
    if geometry.axis is not None:
        raise ValueError(
            f"measure: a density on {geometry!r}; a certificate is for densities on a "
            "Circle or a Sphere, or for Atoms"
        )
    grid, acting = equation.on(geometry), whole.atoms.as_clouds()
    atoms = PointMasses(acting.points, acting.masses)
    small = geometry.with_degree(grid.degree)
    moments = grid.moments(whole.density.masses, atoms)
    masses = (small.synthesis(moments) * small.areas / small.areas.sum()).ravel()
    tail = sum(k.amplitude * k.profile.tail(grid.degree) for k in energy.kernels)
    rest = (mass + float(np.abs(masses).sum())) * tail
    fewer = PointMasses(small.points.reshape(len(masses), -1), masses)
    field = energy.first_variation(fewer, mass=mass, rest=rest)
    outside = float((whole.density.masses * grid.external_potential).sum())
    outside += float(atoms.masses @ energy.external.values(atoms.points))
    found = grid.energy(whole.density.masses, atoms, moments)
    mean = (2 * found - outside) / mass
    return CertifiedState(field, found, mean, mass)


def certify(state: CertifiedState, tolerance: float) -> Certificate:
    """Certificate of a measure with a gap of ``tolerance``, if possible."""
    field, mean, mass = state.field, state.mean, state.mass
    rounding = 2 * field.bounds.rounding
    allowed = max(tolerance - 2 * rounding, tolerance / 2)
    floor = floor_of(field, mean, allowed)
    gap = float(mass * (mean - floor.bound + rounding))
    return Certificate(state.energy, gap, mass * rounding, mean, *floor)
