"""The search for concentrations: from a measure and its equation to the report."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mfpde.arrays import IntArray
from mfpde.detection.balls import largest_ball_mass, profile_radii
from mfpde.detection.basins import Edges, find_edges, label_basins
from mfpde.detection.clusters import split_basins
from mfpde.detection.cores import Cloud
from mfpde.detection.flow import ROUNDING, CellFlow, flow_of
from mfpde.detection.jumps import find_jumps
from mfpde.detection.region import FROZEN_SPEED, ConcentratedRegion
from mfpde.detection.regions import RegionSearch
from mfpde.detection.report import ConcentrationReport
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.circle import angles_of
from mfpde.measures.measure import AnyMeasure, Atoms, Measure, as_measure


def concentration(
    measure: AnyMeasure, equation: MeanFieldEquation
) -> ConcentrationReport:
    """Find where a measure concentrates to atoms, with what masses, by several indicators.

    Counts and masses are those of basins of the velocity field.  The kind of a basin's content is
    decided from several indicators, never from one (:mod:`mfpde.detection.region`):
    contraction by the velocity's gradient and by the flow, widths in cells, growth of the
    mass in balls, agreement of neighbouring cells, jumps, speed.

    Parameters
    ----------
    measure
        A density on a Circle, a Sphere or a Zonal grid, with or without atoms; or atoms
        alone with d = 2 or 3.
    equation
        The equation whose velocity decides.

    Returns
    -------
    ConcentrationReport
        ``verdict`` in one word, ``summary`` in a sentence, ``atoms`` (position, mass, rms
        radius, contraction rate, ...), ``curves``, ``regions``, frozen mass, jumps, and the
        largest masses in balls; printed, a table.

    Raises
    ------
    ValueError
        If the measure has no mass, lies in another dimension than the equation, or
        consists of atoms alone with d above 3.
    """
    if isinstance(measure, Atoms) and measure.dimension > 3:
        raise ValueError(
            f"atoms alone in dimension d = {measure.dimension} have no basins here: use "
            "d = 2 or 3, or a Measure on a Zonal grid for rings around an axis; "
            "mfpde.clusters counts clusters of any dimension, without a velocity"
        )
    whole = measure if isinstance(measure, Atoms) else as_measure(measure)
    if whole.total_mass <= 0:
        raise ValueError(
            "measure has total mass 0: there is nothing that could concentrate"
        )
    flow = flow_of(whole, equation)
    mass, labels = _gather_mass(flow), label_basins(flow)
    edges = find_edges(flow, labels) if flow.cells.on_line else None
    moving = _take_moving(flow, labels, edges, mass)
    radii, jumps = profile_radii(flow.spacing), find_jumps(flow)
    exact, balls = Atoms.none(whole.dimension), []
    if isinstance(whole, Measure):
        exact = whole.atoms
        balls = [largest_ball_mass(whole, radius) for radius in radii]
    parts = tuple(split_basins(flow, labels, moving, flow.places_of(exact.points)))
    search = RegionSearch(flow, edges, mass, parts, exact, jumps.cells)
    regions = search.regions()
    resting = max(1 - float(moving.masses.sum()), 0.0) * whole.total_mass
    return ConcentrationReport(
        regions=regions,
        core_radius=search.core_radius,
        resting_mass=resting,
        frozen_mass=_frozen_mass(search, regions) if flow.has_grid else resting,
        place=flow.place,
        spacing=flow.spacing,
        radii=radii,
        largest_ball_masses=np.array(balls),
        jumps=jumps.points,
        jump_length=jumps.length,
        measure=whole,
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
    numbers = np.full(len(shares), -1)
    if count:
        numbers[count:] = np.arange(len(atoms))
    return Cloud(
        points=np.concatenate([cells.points[:count], places]),
        masses=shares,
        widths=np.repeat([cells.width, ROUNDING], [count, len(atoms)]),
        cells=np.concatenate([np.arange(count), cells.cells_of(places)]),
        owners=np.full(len(shares), -1),
        numbers=numbers,
    )


def _take_moving(
    flow: CellFlow, labels: IntArray, edges: Edges | None, whole: Cloud
) -> Cloud:
    """The mass that is not at rest, in its basins, and all exact atoms."""
    cells, count = whole.cells.copy(), len(labels) if flow.has_grid else 0
    if edges is not None:
        cells[count:] = edges.cells_of(angles_of(whole.points[count:]))
    moving = replace(whole, cells=cells, owners=labels[cells])
    if edges is not None and count:
        moving = edges.split_cells(labels, moving)
    # An atom of the measure is one also where it rests: there it is a basin of its own.
    alone = (moving.owners < 0) & (moving.numbers >= 0)
    moving.owners[alone] = labels.max(initial=-1) + 1 + moving.cells[alone]
    return moving.take((moving.owners >= 0) & (moving.masses > ROUNDING**2))


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
