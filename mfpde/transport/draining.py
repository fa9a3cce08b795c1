"""The draining time tau = mass / outflow of a cell, and the time step that it allows."""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled

# The step may outlast the draining time of this share of the mass (those cells are
# drained completely, which keeps them positive): 1e-5 changes results by less than 1e-6
# and saves most of the steps that nearly empty cells would ask for.
IGNORED_SHARE = 1e-5
# A cell never gives up more than this share of what it has: the rest is rounding.
FULL_DRAIN = 1.0 - 1e-14
_DROPPED_BITS = 49
# Bins from 2^-64 to 2^64; faster and slower cells count in the first and last.
_FIRST_BIN = (1023 - 64) * 8
_BINS = 128 * 8
_BLOCK = 256


@compiled
def draining_times(masses: FloatArray, outflow: FloatArray) -> FloatArray:
    """Draining times of cells with these masses and summed outflows, all flat."""
    times = np.empty(len(masses))
    for i in range(len(masses)):
        times[i] = masses[i] / outflow[i] if outflow[i] > 0.0 else np.inf
    return times


@compiled
def draining_quantile(
    masses: FloatArray, times: FloatArray, ignored_mass: float
) -> float:
    """Draining time below which cells of total mass ``ignored_mass`` lie.

    Parameters
    ----------
    masses, times
        Mass and draining time of each cell, flat arrays of one length.
    ignored_mass
        Mass that may drain in a shorter time.

    Returns
    -------
    The lower edge of the histogram bin (8 an octave) that holds the quantile; inf if
    nothing flows.
    """
    mass_in_bin = np.zeros(_BINS)
    edges = np.full(1, np.inf)
    # The leading bits of a positive double are its octave and the eighth within it.
    bits = edges.view(np.int64)
    # The quantile of the cells so far lies in ``last``; slower cells cannot change it.
    last, edge = _BINS, np.inf
    counted = 0.0
    for start in range(0, len(masses), _BLOCK):
        mass, time = masses[start : start + _BLOCK], times[start : start + _BLOCK]
        faster = 0
        for i in range(len(mass)):
            faster += 1 if time[i] < edge else 0
        if faster == 0:
            continue
        for i in range(len(mass)):
            if time[i] < edge and mass[i] > 0.0:
                edges[0] = time[i]
                k = min(max((bits[0] >> _DROPPED_BITS) - _FIRST_BIN, 0), _BINS - 1)
                mass_in_bin[k] += mass[i]
                counted += mass[i]
        if counted > ignored_mass:
            last, passed = 0, mass_in_bin[0]
            while passed <= ignored_mass and last < _BINS - 1:
                last += 1
                passed += mass_in_bin[last]
            if passed > ignored_mass:
                counted = passed - mass_in_bin[last]
                bits[0] = np.int64(last + _FIRST_BIN) << _DROPPED_BITS
                edge = edges[0]
    return float(edge)
