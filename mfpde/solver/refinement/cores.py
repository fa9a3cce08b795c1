"""Narrow peaks of a density: forming cores, and atoms that the grid already holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.atoms.peaks import peaks
from mfpde.atoms.rates import contraction_rates
from mfpde.measures.clouds import moments_about, principal_axes
from mfpde.transport import Flow, State, Transport

SMALLEST_MASS = 1e-3
"""Cores that hold less are left alone, as they decide nothing in a verdict."""
WINDOW_CELLS = 12.0
_SHIFTS = 4
_REACH_CELLS = 0.7


@dataclass(frozen=True, eq=False)
class Core:
    """A narrow peak: its mean (d,), its largest principal rms radius in cells, its mass."""

    centre: FloatArray
    width: float
    mass: float


def contracting_cores(
    transport: Transport, state: State, flow: Flow, *, widest: float
) -> list[Core]:
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


def _core(transport: Transport, masses: FloatArray, centre: FloatArray) -> Core:
    geometry = transport.grid.geometry
    points = geometry.points.reshape(-1, geometry.dimension)
    radius = WINDOW_CELLS * geometry.spacing
    mass, covariance = 0.0, np.zeros((geometry.dimension, geometry.dimension))
    for _ in range(_SHIFTS):
        near = geometry.cells_within(centre, radius)
        mass, centre, covariance = moments_about(centre, points[near], masses[near])
    widest = float(principal_axes(centre, covariance)[0].max())
    return Core(centre, widest / geometry.spacing, mass)
