"""The draining time tau = mass / outflow of a cell, and the time step that it allows."""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled

# The step may outlast the draining time of cells that hold less than this share of the mass in
# the mean over the cells: they are drained completely, which keeps them positive.  It saves most
# of the steps that nearly empty cells would ask for.
IGNORED_SHARE = 1e-3
# A cell never gives up more than this share of what it has: the rest is rounding.
FULL_DRAIN = 1.0 - 1e-14


@compiled
def draining_times(masses: FloatArray, outflow: FloatArray) -> FloatArray:
    """Draining times of cells with these masses and summed outflows, all flat."""
    times = np.empty(len(masses))
    for i in range(len(masses)):
        times[i] = masses[i] / outflow[i] if outflow[i] > 0.0 else np.inf
    return times


@compiled
def shortest_draining_time(
    masses: FloatArray, times: FloatArray, least_mass: float
) -> float:
    """Least of the ``times`` of cells that hold more than ``least_mass``; inf for none."""
    shortest = np.inf
    for i in range(len(masses)):
        if masses[i] > least_mass:
            shortest = min(shortest, times[i])
    return float(shortest)
