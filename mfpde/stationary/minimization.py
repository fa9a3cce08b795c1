r"""The measure of least energy in descent, with a certified duality gap.

E[mu] = (1/2 beta) iint K dmu dmu + int V dmu is strictly convex for beta > 0, so that the
minimiser over all probability measures is unique (paper, Proposition 3.7); with a head whose D is
singular it is convex, and one of the minimisers is found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import real_number
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Geometry, Sphere
from mfpde.measures.measure import Atoms, Density, as_measure
from mfpde.notebook import Printed, format_table
from mfpde.stationary.certification import (
    TOLERANCE,
    Certificate,
    certify,
    state_on_grid,
)
from mfpde.stationary.convex_energy import convex_energy
from mfpde.stationary.kernel_matrix import smooth_candidate
from mfpde.stationary.result import tabulate_atoms
from mfpde.stationary.ring_minimizer import (
    AxialRings,
    common_axis,
    energy_of_rings,
    ring_count,
)
from mfpde.stationary.sliding import sliding_minimum

LARGEST_CONDITION = 1e9
"""Above it positions and masses are not determined."""


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

    def __str__(self) -> str:
        lines = [
            f"{self.equation}, {self.equation.convention}",
            f"minimum: {self.kind}; {self.certificate}",
        ]
        if self.condition is not None:
            lines.append(f"condition of positions and masses: {self.condition:.1e}")
        if isinstance(self.measure, Density):
            values = self.measure.values * self.measure.geometry.areas.sum()
            extent = f"{values.min():.6g} to {values.max():.6g}"
            return "\n".join([*lines, f"density over the uniform one: {extent}"])
        if self.rings is None:
            return "\n".join([*lines, tabulate_atoms(self.measure)])
        axis = " ".join(f"{x:.7f}" for x in self.rings.axis)
        numbers = zip(self.rings.angles / np.pi, self.rings.masses, strict=True)
        rows = [[f"{angle:.9f}", f"{mass:.9f}"] for angle, mass in numbers]
        table = format_table(["polar angle/pi", "mass"], rows)
        return "\n".join([*lines, f"rings around the axis {axis}", table])


def minimize(
    equation: MeanFieldEquation,
    geometry: Circle | Sphere,
    *,
    tolerance: float = TOLERANCE,
) -> Minimum:
    """Find the unique minimiser of E among all probability measures on S^1 or S^2.

    Two candidates are tried: a smooth density on ``geometry`` (if V has no kinks), and if its gap
    is above the tolerance rings around the common axis of the neurons (on S^2) or atoms.  The one
    with the smaller gap is returned; ``gap`` holds in either case, up to rounding.  The state
    that a descent run ends in need not be the minimiser.
    :func:`mfpde.follow_minimizer` follows it along beta.

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
    if not isinstance(geometry, Geometry) or geometry.axis is not None:
        raise ValueError(f"geometry = {geometry!r} must be a Circle or a Sphere")
    energy = convex_energy(equation, geometry.dimension, "minimize")
    tolerance = real_number("tolerance", tolerance, above=0.0) * energy.scale
    density = smooth_candidate(equation, energy, geometry)
    smooth = None
    # A density's gap is not smaller than the range of F.
    if density is not None and np.ptp(equation.first_variation(density)) <= tolerance:
        state = state_on_grid(equation, energy, as_measure(density))
        smooth = Minimum(equation, density, "density", certify(state, tolerance), None)
        if smooth.gap <= tolerance:
            return smooth
    axis = common_axis(energy)
    sought = energy if axis is None else energy_of_rings(energy, axis)
    atoms, found, condition = sliding_minimum(sought, tolerance)
    kind, rings = "atoms" if condition < LARGEST_CONDITION else "spread", None
    if axis is None:
        heaviest_first = np.argsort(-atoms.masses, kind="stable")
        measure = Atoms(atoms.points[heaviest_first], atoms.masses[heaviest_first])
    else:
        angles = np.arctan2(atoms.points[:, 1], atoms.points[:, 0])
        order = np.argsort(angles)
        circles = AxialRings(axis, angles[order], atoms.masses[order])
        measure = Atoms(*circles.atoms(ring_count(energy)))
        if kind == "atoms" and len(measure) > len(atoms.masses):
            kind, rings = "ring", circles
    singular = Minimum(equation, measure, kind, found, condition, rings)
    return singular if smooth is None or singular.gap <= smooth.gap else smooth
