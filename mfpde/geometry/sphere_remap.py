"""Conservative, nonnegative remapping of cell masses between Gauss-Legendre grids."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import PchipInterpolator

from mfpde.arrays import FloatArray


def remapped(
    masses: FloatArray,
    heights: tuple[FloatArray, FloatArray],
    num_longitudes: int,
) -> FloatArray:
    """Masses on another grid, by monotone cubics in the cumulated mass.

    Masses are remapped first along the rings, then across them.

    Parameters
    ----------
    masses
        Cell masses, shape (nlat, nlon).
    heights
        Heights 1 - cos theta of the ring faces, old (nlat + 1,) and new.
    num_longitudes
        Number of cells in each ring of the new grid.

    Returns
    -------
    Cell masses on the new grid, one row for each of its rings, none negative.
    """
    nlon = masses.shape[1]
    cumulated = np.concatenate([np.zeros((len(masses), 1)), masses.cumsum(1)], axis=1)
    total = cumulated[:, -1:]
    # Three turns: the interpolant is periodic on the middle one.  Cells start half a
    # cell before longitude 0.
    unrolled = np.concatenate(
        [cumulated[:, :-1] - total, cumulated[:, :-1], cumulated + total], axis=1
    )
    faces = 2 * np.pi * (np.arange(-nlon, 2 * nlon + 1) - 0.5) / nlon
    new_faces = 2 * np.pi * (np.arange(num_longitudes + 1) - 0.5) / num_longitudes
    along = np.diff(PchipInterpolator(faces, unrolled, axis=1)(new_faces), axis=1)
    across = np.concatenate([np.zeros((1, num_longitudes)), along.cumsum(0)])
    old_heights, new_heights = heights
    result = np.diff(
        PchipInterpolator(old_heights, across, axis=0)(new_heights), axis=0
    )
    return np.asarray(np.maximum(result, 0.0))
