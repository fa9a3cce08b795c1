"""The search for concentrations: from a measure and its equation to the report."""

from __future__ import annotations

from collections.abc import Iterable
from typing import overload

import numpy as np

from mfpde.detection.balls import largest_ball_mass, profile_radii
from mfpde.detection.basins import Basins, find_basins
from mfpde.detection.clusters import find_crowds, split_basins
from mfpde.detection.cores import Cloud
from mfpde.detection.flow import ROUNDING, CellFlow, flow_of
from mfpde.detection.jumps import find_jumps
from mfpde.detection.region import FROZEN_SPEED, ConcentratedRegion
from mfpde.detection.regions import RegionSearch
from mfpde.detection.report import ConcentrationReport
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure, Atoms, Measure, as_measure


@overload
def concentration(
    measure: AnyMeasure, equation: MeanFieldEquation
) -> ConcentrationReport: ...


@overload
def concentration(
    measure: Iterable[Measure], equation: MeanFieldEquation
) -> tuple[ConcentrationReport, ...]: ...


def concentration(
    measure: AnyMeasure | Iterable[Measure], equation: MeanFieldEquation
) -> ConcentrationReport | tuple[ConcentrationReport, ...]:
    """Find where a measure concentrates to atoms, with what masses, by several indicators.

    Counts and masses are those of basins of the velocity field, and the kind of each is decided
    from several indicators, never from one (:mod:`mfpde.detection.region`).

    Parameters
    ----------
    measure
        A density on a Circle, a Sphere or a Zonal grid, with or without atoms; atoms alone
        with d = 2 or 3; or rows at positions, each of which has a report, by what it sees.
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
    if isinstance(measure, Iterable):
        return tuple(concentration(row, equation) for row in measure)
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
    basins, jumps = find_basins(flow), find_jumps(flow)
    mass, moving = _gather_mass(flow, basins)
    radii, balls = profile_radii(flow.spacing), []
    if isinstance(whole, Measure):
        balls = [largest_ball_mass(whole, radius) for radius in radii]
    search = RegionSearch(flow, mass, jumps.cells)
    parts = split_basins(flow, basins, moving)
    regions = [search.measure(part) for part in parts]
    on_line = flow.cells.on_line
    regions.sort(key=lambda region: region.angle if on_line else -region.mass)
    resting = max(1 - float(moving.masses.sum()), 0.0) * whole.total_mass
    return ConcentrationReport(
        regions=tuple(regions),
        core_radius=flow.core_radius,
        resting_mass=resting,
        frozen_mass=_find_frozen(search, regions) if flow.has_grid else resting,
        basins=basins,
        spacing=flow.spacing,
        radii=radii,
        largest_ball_masses=np.array(balls),
        jumps=jumps.points,
        jump_length=jumps.length,
        measure=whole,
    )


def _gather_mass(flow: CellFlow, basins: Basins) -> tuple[Cloud, Cloud]:
    """All mass as points, the cells of a grid first; and what is not at rest, in its basins."""
    measure, cells = flow.measure, flow.cells
    atoms = measure.atoms if isinstance(measure, Measure) else measure
    places, shares = cells.places_of(atoms.points), atoms.masses / measure.total_mass
    owners, numbers = basins.labels_at(places), np.arange(len(atoms))
    widths, nothing = np.full(len(atoms), ROUNDING), np.zeros(len(atoms))
    if not isinstance(measure, Measure):
        crowds = find_crowds(flow, places, shares)
        whole = Cloud(places, shares, widths, crowds, owners, np.full_like(numbers, -1))
        return whole, whole.take(owners >= 0)
    # An atom of the measure is one also where it rests: there it is a basin of its own.
    owners = np.where(owners < 0, len(cells) + numbers, owners)
    points = Cloud(places, shares, widths, nothing, owners, numbers)
    masses = measure.density.masses.ravel() / measure.total_mass
    # By angle a bump about a pole has no peak at the pole itself.
    heights = masses / (cells.width if cells.place == "zonal" else cells.areas)
    widths, nowhere = np.full(len(cells), cells.width), np.full(len(cells), -1)
    density = Cloud(cells.points, masses, widths, heights, basins.labels, nowhere)
    moving = basins.divide(density).add(points)
    is_moving = (moving.owners >= 0) & (moving.masses > ROUNDING**2)
    return density.add(points), moving.take(is_moving)


def _find_frozen(search: RegionSearch, regions: list[ConcentratedRegion]) -> float:
    """Mass in cells with |v| < 1e-3 h per unit time, outside the cores of atoms."""
    flow = search.flow
    frozen = flow.speeds < max(FROZEN_SPEED * flow.spacing, flow.rest_speed)
    for region in regions:
        if region.kind in ("atom", "forming"):
            place = flow.cells.places_of(region.position[np.newaxis])[0]
            frozen[flow.cells.within(place, flow.window)] = False
    share = search.whole.masses[: len(frozen)][frozen].sum()
    return float(share * flow.measure.total_mass)
