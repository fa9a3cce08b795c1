"""From a measure and its equation to the report on where it concentrates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mfpde.detection.balls import CORE_CELLS, largest_ball_mass, profile_radii
from mfpde.detection.basins import Basins, find_basins
from mfpde.detection.clusters import particle_clusters, resting_clusters
from mfpde.detection.cores import NO_MASS, POINT_WIDTH, Cloud
from mfpde.detection.edges import Edges, find_edges, find_owners, move_edges
from mfpde.detection.flow import CellFlow, flow_of
from mfpde.detection.jumps import Jumps, find_jumps
from mfpde.detection.parts import split_basins
from mfpde.detection.region import FROZEN_SPEED, ConcentratedRegion
from mfpde.detection.regions import RegionSearch
from mfpde.detection.report import ConcentrationReport
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.circle import angles_of
from mfpde.measures.measure import Atoms, Measure


def search_measure(
    measure: Atoms | Measure, equation: MeanFieldEquation
) -> ConcentrationReport:
    """Return what is found in a measure with mass."""
    flow = flow_of(measure, equation)
    whole = _gather_mass(flow)
    basins = find_basins(flow)
    edges = find_edges(flow, basins) if flow.cells.on_line else None
    moving = _take_moving(flow, basins, edges, whole)
    none = np.empty((0, flow.cells.points.shape[1]))
    clusters = none
    if flow.has_grid and flow.place == "sphere":
        basins = move_edges(flow, basins, whole.masses[: len(flow.cells)])
        moving = _take_moving(flow, basins, edges, whole)
        clusters = resting_clusters(flow, basins, moving)
    if isinstance(measure, Measure):
        jumps, exact = find_jumps(measure), measure.atoms
        balls = [largest_ball_mass(measure, r) for r in profile_radii(flow.spacing)]
    else:
        jumps = Jumps(none, np.zeros(len(flow.cells), dtype=bool))
        exact, balls = Atoms.none(measure.dimension), []
        clusters = particle_clusters(Atoms(moving.points, moving.masses))
    apart = CORE_CELLS * flow.cell
    places = flow.places_of(exact.points)
    parts = split_basins(basins, moving, places, clusters, apart=apart)
    search = RegionSearch(flow, edges, whole, tuple(parts), exact, jumps.cells)
    regions = search.regions()
    resting = max(1 - float(moving.masses.sum()), 0.0) * measure.total_mass
    return ConcentrationReport(
        regions=regions,
        core_radius=search.core_radius,
        resting_mass=resting,
        frozen_mass=_frozen_mass(search, regions) if flow.has_grid else resting,
        place=flow.place,
        spacing=flow.spacing,
        radii=profile_radii(flow.spacing),
        largest_ball_masses=np.array(balls),
        jumps=jumps.points,
        jump_length=jumps.length,
        measure=measure,
    )


def _gather_mass(flow: CellFlow) -> Cloud:
    """All mass as points: the cells of a grid, in order, and then the atoms."""
    measure, cells = flow.measure, flow.cells
    atoms, masses = measure, np.empty(0)
    if isinstance(measure, Measure):
        atoms, masses = measure.atoms, measure.density.masses.ravel()
    assert isinstance(atoms, Atoms)
    count, places = len(masses), flow.places_of(atoms.points)
    shares = np.concatenate([masses, atoms.masses]) / measure.total_mass
    numbers = np.arange(-count, len(atoms))
    densities = shares.copy()
    densities[:count] /= cells.areas[:count]
    densities[count:] += densities[:count].max(initial=0.0)
    return Cloud(
        np.concatenate([cells.points[:count], places]),
        shares,
        densities,
        np.where(numbers < 0, cells.width, POINT_WIDTH),
        np.concatenate([np.arange(count), cells.cells_of(places)]),
        np.full(len(shares), -1),
        numbers if count else np.full(len(shares), -1),
    )


def _take_moving(
    flow: CellFlow, basins: Basins, edges: Edges | None, whole: Cloud
) -> Cloud:
    """The mass that is not at rest, in its basins, and all exact atoms."""
    labels, cells = basins.labels, whole.cells.copy()
    count = len(labels) if flow.has_grid else 0
    moving = whole
    if edges is not None:
        cells[count:] = edges.cells_of(angles_of(whole.points[count:]))
        moving = replace(whole, cells=cells, owners=labels[cells])
        if count:
            moving = edges.split_cells(flow, labels, moving)
    elif flow.has_grid:
        moving = replace(whole, owners=labels[cells])
    else:
        moving = replace(whole, owners=find_owners(flow, basins, whole.points))
    # An atom of the measure is one also where it rests: there it is a basin of its own.
    alone = (moving.owners < 0) & (moving.numbers >= 0)
    moving.owners[alone] = labels.max(initial=-1) + 1 + moving.cells[alone]
    return moving.take((moving.owners >= 0) & (moving.masses > NO_MASS))


def _frozen_mass(
    search: RegionSearch, regions: tuple[ConcentratedRegion, ...]
) -> float:
    """Mass in cells with |v| < 1e-3 h per unit time, outside the cores of atoms."""
    flow = search.flow
    frozen = flow.speeds < max(FROZEN_SPEED * flow.spacing, flow.rest_speed)
    for region in regions:
        if region.kind in ("atom", "forming"):
            place = flow.places_of(region.position[np.newaxis])[0]
            frozen[flow.cells.within(place, search.window)] = False
    return float(search.whole.masses[: len(frozen)][frozen].sum() * search.total)
