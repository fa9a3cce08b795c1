r"""A certified bound of how far a measure's energy is above the smallest one possible.

E[mu] = (1/2 beta) iint K dmu dmu + int V dmu is convex in mu (all eigenvalues of K are
positive; those of another kernel are checked), so that for every nu of the same mass m

    E[nu] >= E[mu] + int F d(nu - mu) >= E[mu] - gap,   gap = int F dmu - m min F,

with F = A[mu] + V.  min F is bounded below over the whole sphere: ``branch_and_bound.py``
and, for nearly constant F, ``meridian_field.py``.  Rounding of values, gradients, Hessians and
energies is bounded a priori, to first order in the unit roundoff, and added
(``bounded_fields.py``); there is no interval arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray, real_number
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure, Atoms, Measure, as_measure
from mfpde.notebook import Printed
from mfpde.stationary.bounded_fields import AtomicField, BandLimitedField
from mfpde.stationary.branch_and_bound import Floor, floor_of
from mfpde.stationary.external_bounds import activation_bounds
from mfpde.stationary.meridian_field import MeridianField, flat_floor
from mfpde.terms import Attention, PointMasses

TOLERANCE = 1e-12
NO_EIGENVALUE = 1e-13
"""Eigenvalues this small, in units of the largest, have no sign."""
AnyField = AtomicField | BandLimitedField | MeridianField
SLACK_SHARE = 0.2
LARGEST_DIMENSION = 4


@dataclass(frozen=True, eq=False, repr=False)
class Certificate(Printed):
    """A measure's energy and how far above the minimum it can be at most.

    Attributes
    ----------
    energy
        E[mu].
    gap
        E[mu] - E* is at most this, E* the minimum over all measures of the same mass;
        rounding is bounded a priori, to first order, and included.
    lower_bound
        E* is at least this: energy - gap - energy_rounding.
    mean_field, floor, smallest, point
        int F dmu / m, the lower bound of F, the smallest value of F that was met, and
        where.
    rounding
        What rounding may have changed in a value of F: twice it, times the mass, is in gap.
    energy_rounding
        What rounding may have changed in the energy.
    evaluations
        Cells that the search looked at.
    is_tight
        Whether the bound of F is as close to its minimum as was wanted; if not, the gap
        holds but is larger than it need be.
    """

    energy: float
    gap: float
    mean_field: float
    floor: float
    smallest: float
    point: FloatArray
    rounding: float
    energy_rounding: float
    evaluations: int
    is_tight: bool

    @property
    def lower_bound(self) -> float:
        """Lower bound of the smallest energy: ``energy`` - ``gap`` - ``energy_rounding``."""
        return self.energy - self.gap - self.energy_rounding

    def __str__(self) -> str:
        loose = "" if self.is_tight else " (the search ended early: it may be smaller)"
        return f"energy {self.energy:.12g}, at most {self.gap:.2e} above the minimum{loose}"


class Levels(NamedTuple):
    """The energy of a measure, and the mean of F over it."""

    energy: float
    mean_field: float


def certificate(
    equation: MeanFieldEquation, measure: AnyMeasure, *, tolerance: float = TOLERANCE
) -> Certificate:
    """Bound E[mu] - E*, with a proof, for any measure on S^1, S^2 (atoms: S^3 too).

    A density stands for its cells' masses at their centres: its energy and its F are
    those of these point masses, evaluated as a band-limited field (exact but for the
    degrees of K that are left out, which are bounded and counted as rounding).  The widths
    of atoms count as they act: by their clouds.

    Parameters
    ----------
    equation
        Descent with unnormalised attention, or any kernel with ``bounds`` and no negative
        eigenvalue, perceptrons with scalar weights and activations with bounds, no
        diffusion.
    measure
        Density, atoms, or both.
    tolerance
        How close the bound of F should come to its minimum, relative to the
        size of the energy (as for :func:`minimize`); a hundredth of the gap is enough in
        any case.

    Raises
    ------
    ValueError
        For ascent, softmax, diffusion, vector weights, a :class:`Potential`, a kernel or
        an activation without bounds, a kernel with a negative eigenvalue (E is not convex
        then), no attention, a zonal grid or a dimension above 4.
    """
    check_descent(equation, "certificate")
    check_convex(equation, measure.dimension, "certificate")
    tolerance = real_number("tolerance", tolerance, above=0.0)
    field, energy, mean = _parts(equation, measure)
    return bounded_gap(field, Levels(energy, mean), tolerance * energy_scale(equation))


def bounded_gap(field: AnyField, known: Levels, tolerance: float) -> Certificate:
    """Certificate from the field F, the ``known`` levels and the tolerance of F."""
    return _of_floor(field, known, _floor(field, known.mean_field, tolerance))


def hasty_gap(
    field: AtomicField | MeridianField, known: Levels, tolerance: float
) -> tuple[Certificate, FloatArray]:
    """Certificate of a search that stops once the gap is above the tolerance, and low points.

    At the low points (k, d) F is below its mean by more than half the tolerance.
    """
    floor = _floor(field, known.mean_field, tolerance, enough=tolerance / 2)
    return _of_floor(field, known, floor), floor.low


def _of_floor(field: AnyField, known: Levels, floor: Floor) -> Certificate:
    energy, mean = known
    mass = (
        field.mass if isinstance(field, BandLimitedField) else float(field.masses.sum())
    )
    gap = mass * (mean - floor.bound + 2 * field.rounding + field.mean_rounding)
    return Certificate(
        energy=energy,
        gap=float(gap),
        mean_field=mean,
        floor=floor.bound,
        smallest=floor.smallest,
        point=floor.point,
        rounding=field.rounding,
        energy_rounding=mass * (field.rounding + field.mean_rounding),
        evaluations=floor.evaluations,
        is_tight=floor.is_tight,
    )


def flat_gap(field: BandLimitedField, known: Levels, *, most: float) -> Certificate:
    """Certificate of a measure whose F is nearly constant, without a search.

    The gap is inf if F is further than ``most`` from its mean anywhere.
    """
    bound = flat_floor(field, known.mean_field, most=most)
    point = np.eye(1, field.dimension)
    floor = Floor(bound, known.mean_field, point[0], True, 0, point[:0])
    return _of_floor(field, known, floor)


def energy_scale(equation: MeanFieldEquation) -> float:
    """Scale that energies are compared with.

    The largest of 1, max |W'| of the kernels (e^beta if unshifted), and a hundredth of
    sum |w_j| (|a_j| + |b_j|)^2, where rounding of V alone comes near 1e-12.
    """
    amplitude = sum(term.strength for term in equation.zonal_terms)
    strength = 0.0
    for layer in equation.perceptron_parts:
        reach = np.linalg.norm(layer.directions, axis=1) + np.abs(layer.biases)
        strength += float(np.abs(layer.weights) @ reach**2)
    return max(1.0, amplitude, strength / 100)


def check_descent(equation: MeanFieldEquation, name: str) -> None:
    """Raise ``ValueError`` unless E is convex and the flow descends it."""
    reason = ""
    if equation.direction != "descent":
        reason = "direction = 'ascent': E is convex, which bounds its minimum only"
    elif equation.has_softmax:
        reason = "softmax attention is no gradient of E beside other terms"
    elif not equation.interactions:
        reason = "without attention E is not strictly convex; see maximize"
    elif equation.diffusion > 0:
        reason = f"diffusion = {equation.diffusion:g}: E alone is not what decreases"
    if reason:
        raise ValueError(f"{name} is for unnormalised descent; {reason}")
    check_bounded(equation, name)


def check_convex(equation: MeanFieldEquation, dimension: int, name: str) -> None:
    """Raise ``ValueError`` unless E is convex: no eigenvalue from degree 1 on is negative.

    Those of attention are positive; those of other kernels are computed, to rounding.
    """
    terms = equation.zonal_terms
    if all(isinstance(term, Attention) for term in terms):
        return
    degree = max(term.zonal_kernel.band_limit(dimension) for term in terms)
    spectrum = sum(
        (t.amplitude * t.zonal_kernel.spectrum(dimension, degree) for t in terms),
        np.zeros(degree + 1),
    )
    lowest = 1 + int(np.argmin(spectrum[1:]))
    if spectrum[lowest] < -NO_EIGENVALUE * np.abs(spectrum).max():
        raise ValueError(
            f"{name} needs a convex energy: the kernel's eigenvalue of degree {lowest} on "
            f"S^{dimension - 1} is {spectrum[lowest]:.4g}, below 0, and a local minimum of E "
            "need not be the global one; polish finds stationary atoms"
        )


def check_bounded(equation: MeanFieldEquation, name: str) -> None:
    """Raise ``ValueError`` unless all terms have bounded second derivatives."""
    for interaction in equation.interactions:
        if not interaction.has_energy:
            raise ValueError(
                f"{name} needs an energy, and {interaction!r} has none: value is no "
                "multiple of bilinear, or bilinear is not symmetric"
            )
        if interaction.bounds is None:
            raise ValueError(
                f"{name} needs bounds of the kernel's derivatives, which "
                f"{interaction!r} does not give"
            )
    for term in equation.externals:
        if term.layer is None:
            raise ValueError(
                f"{name} needs bounds of V's second derivatives, which a Potential does "
                "not give; use perceptrons"
            )
        if not term.is_gradient:
            raise ValueError(f"{name} needs an energy: vector weights have none")
        activation_bounds(term.layer)


def _floor(
    field: AnyField, mean: float, tolerance: float, enough: float = np.inf
) -> Floor:
    """The floor of F from a search, which ends ``enough`` below the mean, or as F is flat."""
    bound = -np.inf
    if isinstance(field, BandLimitedField):
        bound = flat_floor(field, mean)
        if mean - bound <= tolerance:
            point = np.eye(1, field.dimension)
            return Floor(bound, mean, point[0], True, 0, point[:0])
    found = floor_of(field, SLACK_SHARE * tolerance, level=mean, enough=enough)
    if isinstance(field, AtomicField) and not found.is_tight and not len(found.low):
        bound = flat_floor(field, mean, is_fine=True)
    return found if found.bound > bound else replace(found, bound=bound)


def _parts(
    equation: MeanFieldEquation, measure: AnyMeasure
) -> tuple[AtomicField | BandLimitedField, float, float]:
    """Field, energy and mean of F of a measure."""
    energy = equation.energy(measure)
    assert energy is not None
    if isinstance(measure, Atoms):
        if len(measure) == 0 or measure.dimension > LARGEST_DIMENSION:
            raise ValueError(
                f"measure: {len(measure)} atoms in dimension {measure.dimension}; a "
                f"certificate is for at least one atom in dimension 2 to {LARGEST_DIMENSION}"
            )
        for term in equation.externals:
            term.check_dimension(measure.dimension)
        acting = measure.as_clouds()
        atoms = AtomicField(equation, acting.points, acting.masses)
        mean = float(acting.masses @ atoms.values(acting.points)) / acting.total_mass
        return atoms, energy, mean
    whole = as_measure(measure)
    if whole.geometry.axis is not None:
        raise ValueError(
            f"measure: a density on {whole.geometry!r}; a certificate is for densities on a "
            "Circle or a Sphere, or for Atoms"
        )
    return spectral_parts(equation, whole)


def spectral_parts(
    equation: MeanFieldEquation, whole: Measure
) -> tuple[BandLimitedField, float, float]:
    """Field, energy and mean of F of a density with atoms on a circle or a sphere."""
    grid = equation.on(whole.geometry)
    acting = whole.atoms.as_clouds()
    masses = whole.density.masses
    atoms = PointMasses(acting.points, acting.masses)
    moments = grid.moments(masses, atoms)
    field = BandLimitedField(equation, whole.geometry, moments, whole.total_mass)
    mean = float((masses * grid.first_variation(moments)).sum())
    if len(acting):
        mean += float(acting.masses @ field.values(acting.points))
    energy = grid.energy(masses, atoms, moments)
    return field, energy, mean / whole.total_mass
