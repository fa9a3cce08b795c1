r"""The semi-Lagrangian schemes: around the circle, and from pole to pole of zonal grids.

The scheme of the circle evolves the exact masses of the cells, not their width times the density
at their centres.  Values at the centres and means over the cells become each other: with delta^2
the second difference over h = 1,

    mean = value + delta^2/24 - 17 delta^4/5760 + 367 delta^6/967680,
    value = mean - delta^2/24 + 3 delta^4/640 - 5 delta^6/7168,

to O(h^8), written as fluxes through the faces, so that sums are kept.  The fluxes are
limited, so that no value turns negative, and none leaves the range of its neighbours except at a
smooth extremum: jumps do not ring.

On zonal grids the mass per angle n = m/h is odd or even about a pole as d is, velocities are
odd: so ghost cells beyond the poles reflect.  Nothing crosses a pole.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray, writable
from mfpde.compiled import compiled, compiled_inside
from mfpde.geometry.base import as_kind
from mfpde.geometry.circle import Circle
from mfpde.geometry.remap import GHOSTS, wrap
from mfpde.geometry.zonal import Zonal
from mfpde.grid_equation import GridEquation
from mfpde.transport.base import DEFAULT_RTOL, State
from mfpde.transport.kinks import external_velocity_beside_kinks
from mfpde.transport.line import blends
from mfpde.transport.phases import SmoothTransport
from mfpde.transport.semi_lagrangian import SemiLagrangian

# Mass in structures of a cell or two up to which semi-Lagrangian transport, which would pin
# them, is more accurate than donor blending.
_LARGEST_UNRESOLVED_MASS = 0.3
_RESOLVED_TOLERANCE = 0.5
_CELLS_OF_FULL_TOLERANCE = 256
_TO_MEANS = (1 / 24, -17 / 5760, 367 / 967680)
_TO_VALUES = (-1 / 24, 3 / 640, -5 / 7168)
# Second differences of smooth values vary by less than this factor from cell to cell.
_SMOOTH = 16.0


class SemiLagrangianCircle(SemiLagrangian):
    """Conservative semi-Lagrangian transport around the circle.

    The scheme evolves the exact masses of the cells, not their width times the density at
    their centres; masses are converted at the start and when a state is saved.
    """

    periodic = True

    def __init__(self, grid: GridEquation, rtol: float = DEFAULT_RTOL) -> None:
        self.circle = as_kind("geometry", grid.geometry, Circle)
        faces = self.circle.faces
        places = faces.points, faces.tangents[0]
        external = external_velocity_beside_kinks(grid, *places)
        super().__init__(grid, rtol, faces, external)
        # Means over cells multiply wave k by sin(k h / 2) / (k h / 2).
        waves = np.arange(grid.degree + 1)
        self._means_of_waves = np.sinc(waves / self.circle.num_cells)
        # The masses restored last, and what they are at the centres.
        self._known: tuple[FloatArray, FloatArray] | None = None

    def represent_masses(self, masses: FloatArray) -> FloatArray:
        """Exact masses of the cells from cell width times density at the centres."""
        self._known = cell_means(masses), masses.copy()
        return self._known[0]

    def restore_masses(self, masses: FloatArray) -> FloatArray:
        """Cell width times density at the centres, from the exact masses of the cells.

        Where nothing has moved yet it is what was given, to the bit.
        """
        if self._known is None or self._known[0] is not masses:
            self._known = masses, centre_values(masses)
        return self._known[1]

    def density_moments(self, masses: FloatArray) -> ComplexArray:
        """Moments of the density whose cells have these masses."""
        return self.circle.moments(masses, self.grid.degree) / self._means_of_waves

    def extend(self, masses: FloatArray) -> FloatArray:
        """Masses continued around the circle by three at each end, (n + 6,)."""
        return wrap(masses)

    def unresolved_mass(self, masses: FloatArray) -> float:
        """Mass in structures of a cell or two."""
        return float(blends(self.extend(masses)) @ masses)


class ResolvedSemiLagrangianCircle(SemiLagrangianCircle, SmoothTransport):
    """Semi-Lagrangian transport, without atoms, of a density that the circle mostly resolves."""

    name = "semi_lagrangian"

    def __init__(self, grid: GridEquation, rtol: float = DEFAULT_RTOL) -> None:
        super().__init__(grid, rtol)
        # The error in time stays well below that of the grid, which falls with the cells.
        fineness = max(self.circle.num_cells / _CELLS_OF_FULL_TOLERANCE, 1.0)
        self.tolerance_share = _RESOLVED_TOLERANCE / fineness**2

    def carries(self, state: State) -> bool:
        """Return whether at most 30 % of the mass are in structures of a cell or two."""
        return self.flow(state).unresolved_mass <= _LARGEST_UNRESOLVED_MASS


class SemiLagrangianZonal(SemiLagrangian):
    """Conservative semi-Lagrangian transport from pole to pole."""

    periodic = False

    def __init__(self, grid: GridEquation, rtol: float = DEFAULT_RTOL) -> None:
        self.zonal = as_kind("geometry", grid.geometry, Zonal)
        angles = self.zonal.face_angles
        places = self.zonal.points_at(angles), self.zonal.tangents_at(angles)
        external = external_velocity_beside_kinks(grid, *places)
        super().__init__(grid, rtol, self.zonal.faces, external)
        # Bumps as narrow as 1/sqrt(d) err by more than the moments that are watched.
        self.tolerance_share = min(0.1, 1.0 / grid.geometry.dimension)
        if grid.diffusion > 0:
            # The error of splitting is larger than that of stages, and costs far more steps.
            self.tolerance_share = 0.05

    def extend(self, masses: FloatArray) -> FloatArray:
        """Masses with three ghost cells beyond each pole."""
        return self.zonal.mirror_masses(masses)

    def unresolved_mass(self, masses: FloatArray) -> float:
        """Mass in structures of a cell or two, of n or of rho, whichever is smoother.

        Near a pole n falls to 0 while rho is smooth, in a bump far from the equator the
        opposite holds; at an atom both jump.
        """
        per_angle = blends(np.abs(self.extend(masses)))
        density = masses / self.zonal.areas
        ends = (density[GHOSTS - 1 :: -1], density, density[: -GHOSTS - 1 : -1])
        share = np.minimum(per_angle, blends(np.concatenate(ends)))
        return float(share @ masses)


@compiled_inside
def _is_smooth(r: FloatArray, j: int) -> bool:
    """Whether second differences at cell j and at its neighbour on the flatter side agree.

    They agree if they have one sign and differ by at most a factor of 16.
    """
    side = -1 if abs(r[j] - r[j - 1]) < abs(r[j + 1] - r[j]) else 1
    here = r[j - 1] - 2.0 * r[j] + r[j + 1]
    beside = r[j] - 2.0 * r[j + side] + r[j + 2 * side]
    smaller = min(abs(here), abs(beside))
    larger = max(abs(here), abs(beside))
    return bool(here * beside > 0.0 and _SMOOTH * smaller >= larger)


@compiled_inside
def _room(r: FloatArray, j: int) -> tuple[float, float]:
    """Amounts by which value j may rise and may fall through one face: to 0 through both."""
    if _is_smooth(r, j):
        return np.inf, 0.5 * r[j]
    highest = max(max(r[j - 1], r[j]), r[j + 1])
    lowest = min(min(r[j - 1], r[j]), r[j + 1])
    return highest - r[j], min(r[j] - lowest, 0.5 * r[j])


@compiled
def _convert(values: FloatArray, factors: tuple[float, float, float]) -> FloatArray:
    """Values (n,) after fluxes of ``factors`` times differences of order 1, 3 and 5."""
    n = len(values)
    r, rooms = wrap(values), np.empty((n, 2))
    for i in range(n):
        rooms[i, 0], rooms[i, 1] = _room(r, i + GHOSTS)
    passed = np.empty(n + 1)
    for i in range(n):
        j = i + GHOSTS
        rise = r[j] - r[j - 1]
        rises = (r[j - 1] - r[j - 2]) + (r[j + 1] - r[j])
        outer = (r[j - 2] - r[j - 3]) + (r[j + 2] - r[j + 1])
        third = rises - 2.0 * rise
        fifth = outer - 4.0 * rises + 6.0 * rise
        flux = factors[0] * rise + factors[1] * third + factors[2] * fifth
        # It goes downwards, from cell i to the one below.
        most = min(rooms[i - 1, 0], rooms[i, 1])
        least = -min(rooms[i, 0], rooms[i - 1, 1])
        passed[i] = min(max(flux, least), most)
    passed[n] = passed[0]
    result = np.empty(n)
    for i in range(n):
        # What is left of a cell is not negative, but for rounding.
        result[i] = max(values[i] + (passed[i + 1] - passed[i]), 0.0)
    return result


def cell_means(values: FloatArray) -> FloatArray:
    """Means over the cells (n,) from the values at their centres."""
    return _convert(writable(values), _TO_MEANS)


def centre_values(means: FloatArray) -> FloatArray:
    """Values at the centres (n,) from the means over the cells."""
    return _convert(writable(means), _TO_VALUES)
