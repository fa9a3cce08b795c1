r"""Velocities beside half-stable kinks, between whose sides a grid does not tell.

At the common kink of two opposite neurons whose sigma is 0 up to an argument one of them may bring
mass from behind, which rests there, while the other repels what lies ahead, at a rate that
vanishes on the kink.  Mass on a grid has no place within its cell, so that the cell of the kink
would lose its mass at that rate at once.

So mass stops within half a cell of the kink, where neither neuron acts, or at the last face before
it, where the one that brings it does not: then none of the mass that lies ahead is held, and none
gets ahead.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.grid_equation import GridEquation
from mfpde.terms.perceptron import Perceptron

_SAME_PLANE = 1e-12
ROUNDING = 1e-9
"""Share of a cell by which a kink may miss a face and still lie on it."""


def external_velocity_beside_kinks(
    grid: GridEquation, points: FloatArray, tangents: FloatArray
) -> FloatArray:
    """External velocity without what the neurons of half-stable kinks push close to them.

    It is that at ``points`` (..., d) along ``tangents`` (..., d) there, (...).  Close are half a
    cell to either side, or on a zonal grid, where no point but a face counts, one behind a kink.
    """
    result, cell = grid.external_velocity_along(points, tangents), grid.geometry.spacing
    behind = ahead = (1 + ROUNDING) / 2 * cell
    if grid.geometry.axis is not None:
        behind, ahead = (1 - ROUNDING) * cell, 0.0
    for term in grid.externals:
        layer = term.layer
        if layer is None or layer.activation.silent_below is None:
            continue
        normals, offsets = _kinks(layer, layer.activation.silent_below)
        planes = np.column_stack([normals, offsets])
        is_opposite = np.abs(planes[:, np.newaxis] + planes).max(axis=2) <= _SAME_PLANE
        repels = grid.sign * (layer.vectors * normals).sum(axis=1) >= 0
        which = (is_opposite & (repels[:, np.newaxis] != repels)).any(axis=1)
        if which.any():
            angles = np.arcsin(np.clip(points @ normals[which].T, -1, 1))
            angles += np.arcsin(np.clip(offsets[which], -1, 1))
            reach = np.where(repels[which], ahead, behind)
            is_close = (angles > 0) & (angles < reach)
            outputs = layer.activation.sigma(layer.preactivations(points)[..., which])
            drift = np.where(is_close, outputs, 0.0) @ layer.vectors[which]
            result -= grid.sign * np.einsum("...i,...i->...", tangents, drift)
    return result


def _kinks(layer: Perceptron, silent_below: float) -> tuple[FloatArray, FloatArray]:
    """Unit normals n (k, d) and offsets c (k,) of the kinks n.x + c = 0, where sigma begins."""
    lengths = np.linalg.norm(layer.directions, axis=1)
    normals = layer.directions / lengths[:, np.newaxis]
    return normals, (layer.biases - silent_below) / lengths
