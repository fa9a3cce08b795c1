r"""Automatic refinement: a run is taken to the grid of twice the cells when it needs it.

Two criteria by which a grid is too coarse for a density.

- **Coarse-to-fine distance**: the density's W1 distance to its form on the 2:1 coarsened
  grid, h sum_i |m_i - m'_i| / 2 (exact on the circle up to a rotation of the whole,
  an upper bound on the sphere).  It is 2e-5 where the strip of analyticity is three cells
  wide on 1024 cells, and falls as h^2 at a jump, so that a jump ends the refinement itself.
- **A forming core**, a peak narrower than 4 cells where the flow contracts.  A core narrower
  than 1.2 cells is an atom: no grid resolves it, and it does not count in the distance either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import singledispatch

import numpy as np

from mfpde.arrays import FloatArray, real_number, shown, whole_number
from mfpde.atoms import atoms_of_state
from mfpde.atoms.clusters import contraction_rates
from mfpde.atoms.exact import least_cells
from mfpde.atoms.peaks import peaks
from mfpde.detection.field import coarse_differences
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Geometry, Sphere
from mfpde.geometry.circle import MOST_CELLS
from mfpde.measures.clouds import moments_about, principal_axes
from mfpde.measures.measure import Density, Measure
from mfpde.transport import Flow, State, Transport

SMALLEST_MASS = 1e-3
"""Cores that hold less are left alone, as they decide nothing in a verdict."""
WINDOW_CELLS = 12.0
_SHIFTS = 4
_REACH_CELLS = 0.7


@dataclass(frozen=True, eq=False)
class NarrowPeak:
    """A narrow peak: its mean (d,), its largest principal rms radius in cells, its mass."""

    centre: FloatArray
    width: float
    mass: float


def contracting_cores(
    transport: Transport, state: State, flow: Flow, *, widest: float
) -> list[NarrowPeak]:
    """Peaks of the density narrower than ``widest`` cells at which the flow contracts.

    The width is that of the mass within 12 cells of its own mean, so that a plateau, a
    jump's side or an edge is at least 12/sqrt(3) cells wide.  The flow, with the core's own
    pull, must contract in all directions.
    """
    geometry = transport.grid.geometry
    masses = state.masses.ravel()
    cores = []
    for cell in peaks(geometry, masses, SMALLEST_MASS):
        centre = geometry.points.reshape(-1, geometry.dimension)[cell]
        core = _core(transport, masses, centre)
        if core.width < widest and core.mass >= SMALLEST_MASS:
            rates = contraction_rates(
                lambda points: transport.grid.velocity_at(flow.moments, points),
                core.centre[np.newaxis],
                _REACH_CELLS * geometry.spacing,
            )
            if rates.max() < 0:
                cores.append(core)
    return cores


def _core(transport: Transport, masses: FloatArray, centre: FloatArray) -> NarrowPeak:
    geometry = transport.grid.geometry
    points = geometry.points.reshape(-1, geometry.dimension)
    radius = WINDOW_CELLS * geometry.spacing
    mass, covariance = 0.0, np.zeros((geometry.dimension, geometry.dimension))
    for _ in range(_SHIFTS):
        near = geometry.cells_within(centre, radius)
        mass, centre, covariance = moments_about(centre, points[near], masses[near])
    widest = float(principal_axes(centre, covariance)[0].max())
    return NarrowPeak(centre, widest / geometry.spacing, mass)


DEFAULT_TOLERANCE = 1e-4
NARROWEST_CELLS = 4.0
ATOM_CELLS = 1.2
AROUND_ATOM_CELLS = 8.0


@dataclass(frozen=True)
class RefinementCriterion:
    """The criterion by which a state needs a finer grid.

    Attributes
    ----------
    tolerance
        Largest coarse-to-fine distance, in radians.
    """

    tolerance: float = DEFAULT_TOLERANCE

    def reason(self, transport: Transport, state: State, flow: Flow) -> str | None:
        """Say why ``state`` needs a finer grid than its own; None if it does not."""
        cores = contracting_cores(transport, state, flow, widest=NARROWEST_CELLS)
        forming = [
            core
            for core in cores
            if core.width >= ATOM_CELLS and not _is_absorbed(core, transport, state)
        ]
        if forming:
            core = min(forming, key=lambda c: c.width)
            return (
                f"a core of mass {core.mass:.3g} that forms is {core.width:.2g} cells wide "
                f"(limit {NARROWEST_CELLS:g})"
            )
        distance = coarse_to_fine(transport, state, cores)
        if distance > self.tolerance:
            return (
                f"coarse-to-fine W1 distance {distance:.1e} above the tolerance "
                f"{self.tolerance:g}"
            )
        return None


def coarse_to_fine(
    transport: Transport, state: State, atoms: list[NarrowPeak]
) -> float:
    """W1 distance of a state's density to its 2:1 coarsened form, away from ``atoms``.

    Cells near the exact atoms are left out too; the distance is NaN on odd grids.
    """
    geometry = transport.grid.geometry
    density = Density(geometry, state.masses / geometry.areas)
    missed = coarse_differences(Measure(density)).ravel()
    centres = [*atoms_of_state(state).points, *(core.centre for core in atoms)]
    for centre in centres:
        near = geometry.cells_within(centre, AROUND_ATOM_CELLS * geometry.spacing)
        missed[near] = 0.0
    return float(geometry.spacing * missed.sum() / 2)


def _is_absorbed(core: NarrowPeak, transport: Transport, state: State) -> bool:
    """Whether an exact atom lies within 8 cells of a core, and so will absorb it."""
    points = atoms_of_state(state).points
    reach = AROUND_ATOM_CELLS * transport.grid.geometry.spacing
    return bool((points @ core.centre > np.cos(reach)).any())


# Where atoms form, grids this much finer than exact atoms need place them to 1e-3 of
# their merge times (circle) or 0.5 % (sphere, where cost grows with the third power).
_CIRCLE_MARGIN = 4.0
_SPHERE_MARGIN = 2.0
_LEAST_DOUBLINGS = 1


@singledispatch
def doubled(geometry: Geometry) -> Geometry:
    """Return the grid with twice as many cells in each direction.

    Raises
    ------
    ValueError
        For a geometry other than a Circle or a Sphere.
    """
    raise ValueError(
        f"refine = True works on a Circle or a Sphere, not on {geometry!r}: start "
        "from more cells"
    )


@doubled.register
def _(geometry: Circle) -> Geometry:
    return Circle(2 * geometry.num_cells)


@doubled.register
def _(geometry: Sphere) -> Geometry:
    return Sphere(2 * geometry.nlat, 2 * geometry.nlon)


def cell_count(geometry: Geometry) -> int:
    """Return the total number of cells: nlat * nlon on a sphere."""
    return math.prod(geometry.shape)


def largest_grid(
    geometry: Geometry, equation: MeanFieldEquation, max_cells: int | None
) -> Geometry:
    """Return the finest grid that refinement may reach from ``geometry``.

    Without ``max_cells`` it is the first doubling with 400 sqrt(beta) cells around a circle
    or 23 sqrt(beta) rings on a sphere, but at least one doubling.
    """
    if max_cells is not None:
        while cell_count(doubled(geometry)) <= max_cells:
            geometry = doubled(geometry)
        return geometry
    margin = _CIRCLE_MARGIN if geometry.dimension == 2 else _SPHERE_MARGIN
    wanted = margin * least_cells(equation, geometry)
    around = geometry.shape[0]
    doublings = math.ceil(math.log2(max(wanted / around, 1.0)))
    finest = geometry
    for _ in range(max(doublings, _LEAST_DOUBLINGS)):
        finest = doubled(finest)
    return finest


def doubled_state(state: State, before: Geometry, transport: Transport) -> State:
    """Return a state on the doubled grid of ``transport``: same mass, same atoms.

    The density is interpolated as ``Density.interpolated`` does: nonnegative, with the
    same mass to rounding.
    """
    density = Density(before, state.masses / before.areas)
    finer = density.interpolated(transport.grid.geometry)
    masses = transport.represented(np.array(finer.masses))
    return State(
        masses, state.points.copy(), state.atom_masses.copy(), state.cloud_size
    )


def check_refine(
    refine: bool,
    geometry: Geometry,
    *,
    tolerance: float | None,
    max_cells: int | None,
) -> None:
    """Raise ``ValueError`` for settings of refinement that are wrong or not used.

    They are wrong too if the start has more than ``max_cells`` cells.
    """
    # Users hand over other things too.
    given: object = refine
    if not isinstance(given, bool):
        raise ValueError(f"refine = {shown(given)} must be True or False")
    for name, value in (("max_cells", max_cells), ("refine_tolerance", tolerance)):
        if value is not None and not refine:
            raise ValueError(f"{name} = {value!r} is used with refine = True only")
    if not refine:
        return
    doubled(geometry)
    if tolerance is not None:
        real_number("refine_tolerance", tolerance, above=0.0)
    if max_cells is None:
        return
    most = whole_number("max_cells", max_cells, at_least=1, at_most=MOST_CELLS - 1)
    if most < cell_count(geometry):
        raise ValueError(
            f"max_cells = {max_cells} is less than the {cell_count(geometry)} cells of "
            f"{geometry!r} that the run starts on (a sphere counts nlat * nlon)"
        )
