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


@compiled
def draining_quantile(
    masses: FloatArray, outflow: FloatArray, ignored_mass: float
) -> float:
    """Draining time below which cells of total mass ``ignored_mass`` lie.

    Parameters
    ----------
    masses, outflow
        Mass and summed outflow of each cell, flat arrays of one length.
    ignored_mass
        Mass that may drain faster.

    Returns
    -------
    The lower edge of the histogram bin (8 an octave) that holds the quantile; inf if
    nothing flows.
    """
    # The leading bits of a positive double are its octave and the eighth within it.
    mass_in_bin = np.zeros(_BINS)
    times = np.empty(1)
    bits = times.view(np.int64)
    for i in range(len(masses)):
        if outflow[i] > 0.0 and masses[i] > 0.0:
            times[0] = masses[i] / outflow[i]
            bin_index = (bits[0] >> _DROPPED_BITS) - _FIRST_BIN
            mass_in_bin[min(max(bin_index, 0), _BINS - 1)] += masses[i]
    passed = 0.0
    for k in range(_BINS):
        passed += mass_in_bin[k]
        if passed > ignored_mass:
            bits[0] = np.int64(k + _FIRST_BIN) << _DROPPED_BITS
            return float(times[0])
    return np.inf
