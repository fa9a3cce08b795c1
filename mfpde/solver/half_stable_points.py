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
    if not len(states) or not isinstance(dynamics, MeanFieldEquation):
        return None
    geometry = as_measure(states[0]).geometry
    if not isinstance(geometry, Circle | Zonal):
        return None
    layers = [term.layer for term in dynamics.on(geometry).externals]
    if not any(layer is None or layer.activation.kinks for layer in layers):
        # Beside a point of rest of a smooth velocity both sides move alike.
        return None
    for time, state in zip(reversed(times[1:]), reversed(states[1:]), strict=True):
        measure = as_measure(state)
        masses = measure.density.masses
        share = np.roll(masses, 1) + masses + np.roll(masses, -1)
        beyond = np.maximum(np.roll(masses, 2), np.roll(masses, -2))
        stands = (share >= LEAST_SHARE) & (masses >= CONCENTRATION * beyond)
        if geometry.axis is not None:
            stands[:BESIDE_POLES] = stands[-BESIDE_POLES:] = False
        if not stands.any():
            continue
        velocity = GridField(dynamics.on(geometry), measure).components[0]
        left, right = np.roll(velocity, 1), np.roll(velocity, -1)
        slopes = np.array([left - np.roll(velocity, 2), np.roll(velocity, -2) - right])
        rates = np.abs(slopes).min(axis=0) / geometry.spacing
        # Where the lines through the velocities on either side vanish, in cells.
        with np.errstate(divide="ignore", invalid="ignore"):
            zeros = np.abs([left / slopes[0] + 1, right / slopes[1] - 1]).max(axis=0)
        stands &= (slopes[0] * slopes[1] < 0) & (zeros <= 1)
        stands &= rates * (times[-1] - times[0]) >= 1
        if stands.any():
            cell = int(stands.argmax())
            return (
                f"at t = {time:.4g} a share {share[cell]:.2g} of the mass stood within a cell of "
                f"{geometry!r} at the angle {geometry.angles[cell]:.4g}, at a point of rest that "
                "attracts from one side and repels to the other: when it leaves depends on its "
                "place within the cell, which the grid does not know; compare a finer grid"
            )
    return None
