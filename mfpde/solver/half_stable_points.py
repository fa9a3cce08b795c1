r"""Mass beside a point of rest that attracts from one side and repels to the other.

There v(x) = -a x for x < 0 and b x for x > 0, a, b > 0 (or the mirror image), as at the common
kink of two opposite ReLU neurons.  Mass that comes from the left contracts like e^(-at) to far
below a cell, and leaves to the right at the rate b once it has passed 0.  When it passes is
decided by velocities at 0 far below a h, and by its place within the cell, which a density on
the grid does not know: grids part there, and none is near the solution of the equation.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.field import GridField
from mfpde.geometry import Circle, Zonal
from mfpde.measures.measure import AnyMeasure, as_measure
from mfpde.runs.layers import Dynamics

LEAST_SHARE = 0.1
"""Share of the mass in three cells that is worth a note."""
CONCENTRATION = 4.0
"""Mass of a cell of such a structure over that two cells away, at least."""
BESIDE_POLES = 2
"""Cells at either end of a zonal grid, whose neighbours are no others."""


def describe_half_stable_mass(
    dynamics: Dynamics, times: Sequence[float], states: Sequence[AnyMeasure]
) -> str | None:
    """Return the note on mass that stood at a half-stable point of rest at a save; None without.

    Where the start stood is the user's.  Layers, and densities on surfaces, are not judged.
    """
    if len(states) < 2 or not isinstance(dynamics, MeanFieldEquation):
        return None
    geometry = as_measure(states[0]).geometry
    if not isinstance(geometry, Circle | Zonal):
        return None
    layers = [term.layer for term in dynamics.on(geometry).externals]
    if not any(layer is None or layer.activation.kinks for layer in layers):
        # Beside a point of rest of a smooth velocity both sides move alike.
        return None
    masses = np.array([as_measure(state).density.masses for state in states])
    share = _ahead(masses, -1) + masses + _ahead(masses, 1)
    beyond = np.maximum(_ahead(masses, -2), _ahead(masses, 2))
    stands = (share >= LEAST_SHARE) & (masses >= CONCENTRATION * beyond)
    stands[0] = False
    if geometry.axis is not None:
        stands[:, :BESIDE_POLES] = stands[:, -BESIDE_POLES:] = False
    for save in reversed(np.flatnonzero(stands.any(axis=1))):
        field = GridField(dynamics.on(geometry), as_measure(states[save]))
        rates = half_stable_rates(field.components[0]) / geometry.spacing
        found = stands[save] & (rates * (times[-1] - times[0]) >= 1)
        if found.any():
            cell = int(found.argmax())
            return (
                f"at t = {times[save]:.4g} a share {share[save, cell]:.2g} of the mass stood "
                f"within a cell of {geometry!r} at the angle {geometry.angles[cell]:.4g}, at a "
                "point of rest that attracts from one side and repels to the other: when it "
                "leaves depends on its place within the cell, which the grid does not know; "
                "compare a finer grid"
            )
    return None


def half_stable_rates(velocity: FloatArray) -> FloatArray:
    """Return the smaller of the rates a and b of a half-stable point in each cell; 0 for none.

    ``velocity`` (n,) is taken as one line through two cells on either side of a cell: both
    vanish within the cell, and their slopes have opposite signs.
    """
    left, right = _ahead(velocity, -1), _ahead(velocity, 1)
    slopes = np.array([left - _ahead(velocity, -2), _ahead(velocity, 2) - right])
    with np.errstate(divide="ignore", invalid="ignore"):
        # In cells from its middle.
        zeros = np.abs([left / slopes[0] + 1, right / slopes[1] - 1]).max(axis=0)
    is_half_stable = (slopes[0] * slopes[1] < 0) & (zeros <= 1)
    return np.where(is_half_stable, np.abs(slopes).min(axis=0), 0.0)


def _ahead(values: FloatArray, cells: int) -> FloatArray:
    """Return the values (..., n) that stand so many cells further around."""
    return np.roll(values, -cells, axis=-1)
