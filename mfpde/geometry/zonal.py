r"""Zonal densities on S^(d-1): functions of the angle theta to an axis e, in any dimension.

Cells are bands of equal width h = pi/n in theta; the transport moves the mass per angle
n(theta) = |S^(d-2)| sin^(d-2)(theta) rho(theta), so that surface areas, which range over
hundreds of orders of magnitude, never enter the transport.  Moments

    M_l = \int P_l(cos theta) dmu,   l = 0..L,

with P_l of ``mfpde.geometry.harmonics``, are sums of the cumulated masses C_j at the faces
and those U_j of the uniform probability, by parts and with the trapezoidal rule,

    M_l = -h sum_j (C_j - C_n U_j) (d/dtheta) P_l(cos theta_j)          (l >= 1).

C is known exactly at faces, C - U is flat at the poles: the rule converges like h^(d+1) in
odd and faster than any power in even dimension, and the uniform state has no moments to
rounding.  (Averages of P_l over the cells give the uniform state no moments either, but are
wrong by O(h^2 d) for a bump away from the equator.)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from scipy.linalg.lapack import dgtsv
from scipy.special import gammaln, roots_legendre

from mfpde.arrays import ComplexArray, FloatArray, read_only, whole_number
from mfpde.geometry.base import CellsNear, FieldAtPoints, Geometry
from mfpde.geometry.harmonics import (
    ZonalFields,
    zonal_derivatives,
    zonal_harmonics,
)
from mfpde.geometry.remap import GHOSTS, edge_densities, sum_between_feet

LARGEST_DIMENSION = 2048
MINIMUM_CELLS = 16
MOST_CELLS = 2**16
"""Its transform is a matrix: beyond it that would not fit in a common memory."""
SMALLEST_TOTAL_AREA = 1e-100
SMALLEST_AREA = 1e-280
_GAUSS_POINTS = 12


@dataclass(frozen=True)
class Zonal(Geometry):
    """Bands around the last axis of R^d: ``num_cells`` of equal width in the polar angle.

    The axis e is the last basis vector, so that for d = 3 theta is the colatitude from the
    z axis.  ``points`` (n, d) are cos(theta) e + sin(theta) u, one for each band, with u the
    first basis vector; ``areas`` (n,) are the areas of the bands.  An atom at angle theta
    stands for mass spread evenly over its ring.

    Where |S^(d-1)| is below 1e-100 (from d = 193 on) surface areas are replaced by
    shares of the whole, see ``areas_are_shares``, and densities are relative to the uniform
    one.  Areas below 1e-280 are replaced by 1e-280, so that every mass has a density.

    Good values: num_cells = 22 sqrt(d) at least (181 for d = 64, 1024 for d = 2048), a
    uniform density being a bump of standard deviation 1/sqrt(d) in theta, and more for
    beta above d.

    Parameters
    ----------
    dimension
        d, from 3 to 2048.
    num_cells
        At least 16 and 4 sqrt(d).

    Raises
    ------
    ValueError
        For a dimension or a number of cells outside these bounds.
    """

    # Without a default the field would take that of its name, the base's property.
    dimension: int = 0
    num_cells: int = 0

    def __post_init__(self) -> None:
        dimension = whole_number(
            "dimension", self.dimension, at_least=2, at_most=LARGEST_DIMENSION
        )
        if dimension == 2:
            raise ValueError(
                "dimension = 2 has no zonal grid: use Circle, whose densities need no axis"
            )
        whole_number(
            "num_cells", self.num_cells, at_least=MINIMUM_CELLS, at_most=MOST_CELLS
        )
        needed = int(np.ceil(4 * np.sqrt(self.dimension)))
        if self.num_cells < needed:
            raise ValueError(
                f"num_cells = {self.num_cells} does not resolve the uniform density in "
                f"dimension {self.dimension}, of width 1/sqrt(d) = "
                f"{self.dimension**-0.5:.3g} in theta: it takes at least {needed} cells, "
                f"better {int(np.ceil(22 * np.sqrt(self.dimension)))}"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape (n,) of an array with one entry for each cell."""
        return (self.num_cells,)

    @property
    def spacing(self) -> float:
        """Cell width h = pi / n."""
        return float(np.pi / self.num_cells)

    @cached_property
    def angles(self) -> FloatArray:
        """Polar angles theta (n,) of the cell centres, in (0, pi)."""
        return read_only((np.arange(self.num_cells) + 0.5) * self.spacing)

    @cached_property
    def face_angles(self) -> FloatArray:
        """Polar angles (n + 1,) of the faces, from 0 to pi."""
        return read_only(np.arange(self.num_cells + 1) * self.spacing)

    @property
    def group_centres(self) -> FloatArray:
        """Places (n, 2) of the cells in a half-plane: along the axis, and away from it."""
        return self.centres.points

    def cells_about(self, points: FloatArray, radius: float) -> CellsNear:
        """Cells with polar angles within ``radius`` of that of each of ``points`` (n, d)."""
        away = np.linalg.norm(points[:, :-1], axis=1)
        return super().cells_about(np.stack([points[:, -1], away], axis=-1), radius)

    @cached_property
    def axis(self) -> FloatArray:
        """The axis e, the last basis vector (d,)."""
        return read_only(np.eye(1, self.dimension, self.dimension - 1)[0])

    def points_at(self, angles: FloatArray) -> FloatArray:
        """One point (n, d) at each of the polar ``angles`` (n,)."""
        points = np.zeros((len(angles), self.dimension))
        points[:, 0] = np.sin(angles)
        points[:, -1] = np.cos(angles)
        return points

    def tangents_at(self, angles: FloatArray) -> FloatArray:
        """Unit tangents (n, d) along increasing theta at ``points_at(angles)``."""
        return self.points_at(angles + np.pi / 2)

    @cached_property
    def points(self) -> FloatArray:
        """One point of each band, at its middle angle, shape (n, d)."""
        return read_only(self.points_at(self.angles))

    @cached_property
    def tangents(self) -> FloatArray:
        """Unit tangents along increasing theta at the points, shape (1, n, d)."""
        return read_only(self.tangents_at(self.angles)[np.newaxis])

    @cached_property
    def _bands(self) -> tuple[FloatArray, FloatArray]:
        """Logarithms of the integrals of sin^(d-2) over the cells, and means of z there.

        By Gauss's rule in each cell; the integrals may underflow.
        """
        nodes, weights = roots_legendre(_GAUSS_POINTS)
        angles = self.angles[:, np.newaxis] + self.spacing / 2 * nodes
        powers = (self.dimension - 2) * np.log(np.sin(angles))
        peaks = powers.max(axis=1)
        shares = np.exp(powers - peaks[:, np.newaxis]) * weights
        sums = shares.sum(axis=1)
        heights = (shares * np.cos(angles)).sum(axis=1) / sums
        return peaks + np.log(self.spacing / 2 * sums), heights

    @cached_property
    def area_shares(self) -> FloatArray:
        """Areas of the bands (n,) as shares of the whole sphere (0 where below 1e-308)."""
        log_areas, _ = self._bands
        relative = np.exp(log_areas - log_areas.max())
        return read_only(relative / relative.sum())

    @cached_property
    def areas_are_shares(self) -> bool:
        """Whether ``areas`` sum to 1 and not to |S^(d-1)|, too small to divide by."""
        return self._surface_area < SMALLEST_TOTAL_AREA

    @property
    def _surface_area(self) -> float:
        half = self.dimension / 2
        return float(np.exp(np.log(2.0) + half * np.log(np.pi) - gammaln(half)))

    @cached_property
    def areas(self) -> FloatArray:
        """Surface areas of the bands (n,), or their shares of the whole; at least 1e-280."""
        total = 1.0 if self.areas_are_shares else self._surface_area
        return read_only(np.maximum(total * self.area_shares, SMALLEST_AREA))

    @property
    def max_degree(self) -> int:
        """Largest l whose waves, 2 pi / sqrt(l (l+d-2)) long at the equator, have two cells."""
        half = (self.dimension - 2) / 2
        return int(np.sqrt((self.num_cells - 1) ** 2 + half**2) - half)

    def cells_for_degree(self, degree: int) -> str:
        """Say how many cells represent ``degree``."""
        wave_number = np.sqrt(degree * (degree + self.dimension - 2))
        return f"at least {int(np.ceil(wave_number)) + 2} cells"

    @cached_property
    def centres(self) -> ZonalFields:
        """Spectral fields at the cell centres."""
        return ZonalFields(self.dimension, self.angles)

    @cached_property
    def faces(self) -> ZonalFields:
        """Spectral fields at the n + 1 faces, poles included."""
        return ZonalFields(self.dimension, self.face_angles)

    @cached_property
    def _moment_table(self) -> Callable[[int], FloatArray]:
        """Function of the degree: the matrix (degree + 1, n) from cell masses to moments."""

        def make_table(degree: int) -> FloatArray:
            # A cell's mass is part of C at every face above it.
            slopes = self.faces.slopes(degree)[:, :0:-1]
            table = -self.spacing * np.cumsum(slopes, axis=1)[:, ::-1]
            table -= (table @ self.area_shares)[:, np.newaxis]
            table[0] = 1.0
            return read_only(table)

        return cache(make_table)

    def moments(self, masses: FloatArray, degree: int) -> ComplexArray:
        """Moments M_0..M_degree of cell masses."""
        return np.asarray(self._moment_table(degree) @ masses, dtype=np.complex128)

    def atom_moments(
        self, points: FloatArray, masses: FloatArray, degree: int
    ) -> ComplexArray:
        """Moments M_0..M_degree of atoms (of the rings that they stand for)."""
        harmonics = zonal_harmonics(self.dimension, degree, points[..., -1])
        return np.asarray(harmonics @ masses, dtype=np.complex128)

    def field_at(self, coefficients: ComplexArray, points: FloatArray) -> FieldAtPoints:
        """Values (...) and tangential gradient f'(z) (e - z x), (..., d), at ``points``."""
        cosines = points[..., -1]
        args = self.dimension, len(coefficients) - 1, cosines.ravel()
        values = coefficients.real @ zonal_harmonics(*args)
        slopes = coefficients.real @ zonal_derivatives(*args)
        towards = self.axis - cosines[..., np.newaxis] * points
        gradients = slopes.reshape(cosines.shape)[..., np.newaxis] * towards
        return FieldAtPoints(values.reshape(cosines.shape), np.asarray(gradients))

    @cached_property
    def _heat_matrix(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Entries below, on and above the diagonal of minus the two-point Laplacian.

        The rates w(face) / (area l) with w = sin^(d-2), at which a cell's mass moves to the cell
        above and below, are in detailed balance with the areas, and bounded also where both
        underflow.  With l the fall of the mean of z over its slope sin(theta) at the face, near
        h, the density 1 + z decays at its exact rate, d - 1.
        """
        log_areas, heights = self._bands
        sines = np.sin(self.face_angles[1:-1])
        flows = (self.dimension - 1) * np.log(sines) - np.log(-np.diff(heights))
        rise, fall = np.exp(flows - log_areas[:-1]), np.exp(flows - log_areas[1:])
        return -rise, np.append(rise, 0.0) + np.append(0.0, fall), -fall

    def heat_flow(self, masses: FloatArray, time: float) -> FloatArray:
        """Flow of the two-point Laplacian on the bands: positive, conservative, of third order.

        One, two and three equal steps of backward Euler, of which each is positive, are
        extrapolated (weights 1/2, -4, 9/2; L-stable).  No positive method is of a higher order
        than the first for every step (Bolley & Crouzeix 1978): what is negative then, beside
        masses that no cell resolves, is none, and the rest is scaled to the mass that there was.
        """
        flowed = np.zeros(self.num_cells)
        for steps, weight in ((1, 0.5), (2, -4.0), (3, 4.5)):
            below, diagonal, above = (time / steps * band for band in self._heat_matrix)
            diagonal += 1.0
            result = masses
            for _ in range(steps):
                *_, result, _ = dgtsv(below, diagonal, above, result)
            flowed += weight * result
        flowed = np.maximum(flowed, 0.0)
        return np.asarray(flowed * (masses.sum() / flowed.sum()))

    def remap_masses(self, masses: FloatArray, finer: Geometry) -> FloatArray:
        """Masses on ``finer`` by a monotone cubic in the cumulated mass, shape (n,)."""
        edges = edge_densities(self.mirror_masses(masses))
        feet = np.linspace(0.0, self.num_cells, finer.shape[0] + 1)
        return sum_between_feet(masses, edges, feet)

    def mirror_masses(self, masses: FloatArray) -> FloatArray:
        """Masses with three ghost cells beyond each pole, shape (n + 6,).

        The density of mass per angle, continued smoothly beyond a pole, is even in the
        distance to the pole if d is even, and odd if d is odd.
        """
        sign = 1.0 if self.dimension % 2 == 0 else -1.0
        return np.concatenate(
            [sign * masses[GHOSTS - 1 :: -1], masses, sign * masses[: -GHOSTS - 1 : -1]]
        )
