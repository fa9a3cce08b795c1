r"""The measure of least energy in descent, with a certified duality gap.

E[mu] = (1/2 beta) iint K dmu dmu + int V dmu is strictly convex for beta > 0, so that the
minimiser over all probability measures is unique (paper, Proposition 3.7); with a head whose D is
singular it is convex, and one of the minimisers is found.

On S^2, where V has an axis e and kernels are of x.y, it is symmetric about e.  A ring stands for
one point y = (cos t, sin t) of the half circle of polar angles t, and the average over the azimuth
makes of W(x.y) the mean of W(x.By) over B = diag(1, cos phi): the rings are atoms on S^1 with this
kernel, and with V on a meridian.  The mean over phi_i = (i + 1/2) pi / n is exact for the degrees
of W below 2 n.

A smooth minimiser has F constant: in harmonics of degree 1 and more A rho = -V, A the matrix of
the interaction (``harmonics.py``).  For kernels of x.y rho = 1 - sum_{l >= 1} V_l / kappa_l (times
the uniform probability), V_l the harmonics of V and kappa_l the eigenvalues of K / beta (paper,
Lemma 5.1, eq. 5.1).  This is the minimiser, if it is a density.  The eigenvalues fall faster than
any power, so that the sum is cut at the last degree to which it can be taken with rho >= 0.  The
part of V beyond that degree is left in F, and the certificate bounds its effect.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mfpde.arrays import BoolArray, FloatArray, real_number
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Geometry, Sphere
from mfpde.geometry.arcs import normalize, tangent_frames
from mfpde.geometry.base import RealHarmonics
from mfpde.measures.measure import Atoms, Density, as_measure
from mfpde.notebook import Printed, format_table
from mfpde.stationary.certification import (
    TOLERANCE,
    Certificate,
    certify,
    state_on_grid,
)
from mfpde.stationary.convex_energy import (
    ConvexEnergy,
    convex_energy,
    turn_neurons,
)
from mfpde.stationary.field_minima import unite_neighbours
from mfpde.stationary.harmonics import kernel_matrix
from mfpde.stationary.result import tabulate_atoms
from mfpde.stationary.ridge_fields import ROUNDING, SAME
from mfpde.stationary.sliding import sliding_minimum
from mfpde.terms import PointMasses

LARGEST_CONDITION = 1e9
"""Above it positions and masses are not determined."""


class AxialRings(NamedTuple):
    """Rings around ``axis`` (3,): polar ``angles`` (n,), 0 and pi for atoms, and ``masses``."""

    axis: FloatArray
    angles: FloatArray
    masses: FloatArray

    def atoms(self, count: int) -> PointMasses:
        """Arrangement of ``count`` equally spaced atoms on each ring, one on a pole."""
        shifts = np.linspace(0.0, 1.0, len(self.angles))[:, np.newaxis]
        turns = 2 * np.pi / count * (np.arange(count) + shifts)
        circles = np.stack([np.cos(turns), np.sin(turns)], axis=-1)
        circles = circles @ tangent_frames(self.axis[np.newaxis])[0]
        angles = self.angles[:, np.newaxis, np.newaxis]
        points = np.cos(angles) * self.axis + np.sin(angles) * circles
        masses = np.repeat(self.masses / count, count)
        atoms = PointMasses(normalize(points.reshape(-1, 3)), masses)
        return unite_neighbours(atoms, SAME)


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
        numbers = np.column_stack([self.rings.angles / np.pi, self.rings.masses])
        rows = [[f"{number:.9f}" for number in row] for row in numbers]
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
        # Atoms of one mass are in the order of their places, whatever the rounding.
        places, shares = np.round(atoms.points.T, 9), np.round(atoms.masses, 12)
        heaviest_first = np.lexsort((*places, -shares))
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


def common_axis(energy: ConvexEnergy) -> FloatArray | None:
    """Axis (3,) of V on S^2, if kernels are of x.y; None if there is none."""
    if energy.dimension != 3 or any(
        (kernel.matrices != np.eye(3)).any() for kernel in energy.kernels
    ):
        return None
    rows = [t.directions[t.acts] for t in energy.neurons]
    directions = np.concatenate([np.empty((0, 3)), *rows])
    if not len(directions):
        return np.array([0.0, 0.0, 1.0])
    axis = directions[0] / np.linalg.norm(directions[0])
    return axis if np.linalg.matrix_rank(directions) == 1 else None


def ring_count(energy: ConvexEnergy) -> int:
    """Number of atoms on a ring at which F is that of the ring to rounding."""
    return max(len(kernel.profile.chebyshev) for kernel in energy.kernels)


def energy_of_rings(energy: ConvexEnergy, axis: FloatArray) -> ConvexEnergy:
    """The energy on S^1, of coordinates along the ``axis`` and across it, for rings as atoms."""
    count = ring_count(energy)
    azimuths = (np.arange(count) + 0.5) * np.pi / count
    matrices = np.stack([np.diag([1.0, c]) for c in np.cos(azimuths)])
    kernels = tuple(replace(kernel, matrices=matrices) for kernel in energy.kernels)
    neurons = turn_neurons(energy.neurons, np.outer(axis, [1.0, 0.0]))
    return ConvexEnergy(kernels, neurons, 2, is_mirrored=True)


def smooth_candidate(
    equation: MeanFieldEquation, energy: ConvexEnergy, geometry: Geometry
) -> Density | None:
    """Density of mass 1 whose F is as nearly constant as possible; None if V has kinks."""
    if not np.isfinite(energy.external.bounds.degree):
        return None
    grid = equation.on(geometry)
    packed = RealHarmonics.of(geometry, grid.degree)
    external, shares = grid.external_potential, geometry.areas / geometry.areas.sum()
    potential = packed.read(geometry.moments(external * shares, grid.degree))
    # Rounding errors of V must not be divided by small eigenvalues.
    noise = ROUNDING * float(np.abs(external).max())
    potential = np.where(np.abs(potential) > noise, potential, 0.0)
    matrix = kernel_matrix(equation, geometry, grid.degree)
    sizes = matrix if matrix.ndim == 1 else np.diagonal(matrix)
    is_usable = sizes > ROUNDING * sizes.max()
    for cut in range(int(packed.degrees[is_usable].max(initial=0)), -1, -1):
        inside = (packed.degrees <= cut) & is_usable & (packed.degrees > 0)
        moments = np.where(packed.degrees == 0, 1.0, 0.0)
        moments[inside] = _solve(matrix, potential, inside)
        relative = geometry.synthesis(packed.pack(moments))
        if relative.min() >= 0:
            return Density(geometry, relative).normalized()
    return None


def _solve(matrix: FloatArray, potential: FloatArray, inside: BoolArray) -> FloatArray:
    """The moments ``inside`` (n,) of rho, where A rho + V = 0; NaN if A is not positive there."""
    if matrix.ndim == 1:
        return -potential[inside] / matrix[inside]
    block = matrix[np.ix_(inside, inside)]
    target = potential[inside] + matrix[inside, 0]
    # Entries have the accuracy of the diagonal, and so has the solution if that is scaled out.
    roots = np.sqrt(np.diagonal(block))
    try:
        factor = cho_factor(block / np.outer(roots, roots))
    except LinAlgError:
        return np.full(len(block), np.nan)
    return np.asarray(-cho_solve(factor, target / roots) / roots)
