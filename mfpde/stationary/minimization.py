r"""The measure of least energy in descent, with a certified duality gap.

E[mu] = (1/2 beta) iint K dmu dmu + int V dmu is strictly convex for beta > 0, so that the
minimiser over all probability measures is unique (paper, Proposition 3.7).

The minimiser of E where it is a smooth density.

F is constant iff rho = 1 - sum_{l >= 1} V_l / kappa_l (times the uniform probability), V_l the
harmonics of V and kappa_l the eigenvalues of K / beta (paper, Lemma 5.1, eq. 5.1): the
minimiser, if this is a density.  The kappa_l fall faster than any power, so that the sum is
cut at the last degree to which it can be taken with rho >= 0.  The part of V beyond that degree
is left in F, and the certificate bounds its effect.

The result of ``minimize``: the minimiser, its kind, and its certificate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray, real_number
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Geometry, Sphere
from mfpde.measures.measure import Atoms, Density, as_measure
from mfpde.notebook import Printed
from mfpde.stationary.atomic_minimizer import atomic_minimum
from mfpde.stationary.certification import (
    TOLERANCE,
    Certificate,
    Levels,
    check_convex,
    check_descent,
    energy_scale,
    flat_gap,
    spectral_parts,
)
from mfpde.stationary.external_bounds import external_bounds, polynomial_error
from mfpde.stationary.ring_minimizer import (
    AxialRings,
    common_axis,
    ring_counts,
    ring_minimum,
)
from mfpde.stationary.sliding import LARGEST_CONDITION
from mfpde.terms import Attention

LARGEST_REMAINDER = 1e-9
CHECKED_DEGREE = 80
LEAST_EIGENVALUE = 1e-15
ROUNDING = 2e-15


def smooth_candidate(equation: MeanFieldEquation, geometry: Geometry) -> Density | None:
    """Density of mass 1 whose F is as nearly constant as possible; None if V has kinks."""
    external = external_bounds(equation, geometry.dimension)
    rests = [polynomial_error(term, CHECKED_DEGREE) for term in external.terms]
    if sum(rests) > LARGEST_REMAINDER:
        return None
    grid = equation.on(geometry)
    degree = grid.degree
    degrees = geometry.degrees(degree)
    kappa = np.zeros(degree + 1)
    for term in equation.zonal_terms:
        spectrum = term.zonal_kernel.spectrum(geometry.dimension, degree)
        kappa += term.amplitude * spectrum
    shares = geometry.areas / geometry.areas.sum()
    moments = geometry.moments(grid.external_potential * shares, degree)
    # Rounding errors of V must not be divided by small eigenvalues.
    noise = ROUNDING * float(np.abs(grid.external_potential).max())
    moments = np.where(np.abs(moments) > noise, moments, 0.0)
    usable = kappa > LEAST_EIGENVALUE * kappa.max()
    safe = np.where(usable, kappa, 1.0)
    coefficients = np.where(usable[degrees], -moments / safe[degrees], 0.0)
    coefficients[degrees == 0] = 1.0
    last = int(np.flatnonzero(usable)[-1]) if usable.any() else 0
    for cut in range(last, -1, -1):
        relative = geometry.synthesis(np.where(degrees <= cut, coefficients, 0.0))
        if relative.min() >= 0:
            return _of_relative(geometry, relative)
    return None


def _of_relative(geometry: Geometry, relative: FloatArray) -> Density:
    return Density(geometry, relative).normalized()


KINDS = ("atoms", "density", "ring", "spread")
MOST_ROWS = 24


@dataclass(frozen=True, eq=False, repr=False)
class Minimum(Printed):
    """The minimiser of E in descent, with a certificate.

    Attributes
    ----------
    equation
        The equation.
    measure
        Atoms or a density of mass 1 whose energy is within ``gap`` of the minimum.
    kind
        ``"atoms"``: point masses whose positions and masses are determined by a
        well-conditioned system; ``"density"``: F is constant on the sphere; ``"ring"``:
        circles around an axis (and perhaps its poles), each drawn as equal atoms;
        ``"spread"``: the atoms of ``measure`` have the energy, but their system is
        ill-conditioned: they stand for a curve or for more mass than they can show.
    certificate
        Energy, gap, and the lower bound of F.
    condition
        Condition number of the system of positions and masses; None for a density.
    rings
        Angles and masses of the rings, if the kind is ``"ring"``.
    """

    equation: MeanFieldEquation
    measure: Atoms | Density
    kind: str
    certificate: Certificate
    condition: float | None
    rings: AxialRings | None = None

    @property
    def energy(self) -> float:
        """Energy E of the measure."""
        return self.certificate.energy

    @property
    def gap(self) -> float:
        """Largest possible difference between the energy and the smallest one."""
        return self.certificate.gap

    @property
    def lower_bound(self) -> float:
        """Lower bound of the energy of all measures of mass 1."""
        return self.certificate.lower_bound

    @property
    def atoms(self) -> Atoms | None:
        """The minimiser's atoms; None if its kind is not ``"atoms"``."""
        is_atomic = self.kind == "atoms" and isinstance(self.measure, Atoms)
        return self.measure if is_atomic else None  # type: ignore[return-value]

    @property
    def facts(self) -> dict[str, str]:
        """Equation, kind and certified energy, for a notebook."""
        return {
            "equation": str(self.equation),
            "convention": self.equation.convention,
            "kind": self.kind,
            "energy": f"{self.energy:.12g}",
            "certified gap": f"{self.gap:.1e}",
            "measure": repr(self.measure).strip("<>"),
        }

    def __str__(self) -> str:
        lines = [
            f"{self.equation}, {self.equation.convention}",
            f"minimum: {self.kind}; {self.certificate}",
        ]
        if self.condition is not None:
            lines.append(f"condition of positions and masses: {self.condition:.1e}")
        return "\n".join([*lines, *self._table()])

    def _table(self) -> list[str]:
        if self.kind == "density":
            assert isinstance(self.measure, Density)
            values = self.measure.values * self.measure.geometry.areas.sum()
            return [
                f"density over the uniform one: {values.min():.6g} to {values.max():.6g}"
            ]
        if self.rings is not None:
            axis = " ".join(f"{x:.7f}" for x in self.rings.axis)
            pairs = zip(self.rings.angles, self.rings.masses, strict=True)
            return [
                f"axis {axis}",
                f"{'ring':>4} {'angle/pi':>12} {'mass':>11}",
                *(
                    f"{i:4d} {t / np.pi:12.9f} {m:11.8f}"
                    for i, (t, m) in enumerate(pairs)
                ),
            ]
        assert isinstance(self.measure, Atoms)
        return _atom_rows(self.measure)


def _atom_rows(atoms: Atoms) -> list[str]:
    shown = min(len(atoms), MOST_ROWS)
    if atoms.dimension == 2:
        turns = np.mod(np.arctan2(atoms.points[:, 1], atoms.points[:, 0]) / np.pi, 2.0)
        places = [f"{turn:12.9f}" for turn in turns]
        title = f"{'angle/pi':>12}"
    else:
        rounded = np.round(atoms.points, 7) + 0.0
        places = [" ".join(f"{x:10.7f}" for x in row) for row in rounded]
        title = " ".join(f"{f'x{k + 1}':>10}" for k in range(atoms.dimension))
    rows = [f"{'atom':>4} {title} {'mass':>11}"]
    rows += [f"{i:4d} {places[i]} {atoms.masses[i]:11.8f}" for i in range(shown)]
    if shown < len(atoms):
        rows.append(f"and {len(atoms) - shown} more")
    return rows


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
    most the tolerance is returned, else the one with the smallest gap; ``gap`` holds in
    either case, rounding bounded a priori.  The state that a descent run ends in need not be
    the minimiser.  Follow it along beta by one call for each value: masses move too.

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
    if not isinstance(geometry, Geometry) or geometry.axis is not None:
        raise ValueError(f"geometry = {geometry!r} must be a Circle or a Sphere")
    for term in equation.externals:
        term.check_dimension(geometry.dimension)
    check_convex(equation, geometry.dimension, "minimize")
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
    found = flat_gap(field, Levels(energy, mean), most=HOPELESS * tolerance)
    return Minimum(equation, density, "density", found, None)


def _ringed(
    equation: MeanFieldEquation, geometry: Circle | Sphere, tolerance: float
) -> Minimum | None:
    # The averages of rings are known for attention alone.
    is_attention = all(isinstance(t, Attention) for t in equation.interactions)
    axis = common_axis(equation) if geometry.dimension == 3 and is_attention else None
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
