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

from mfpde.arrays import BoolArray, FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Zonal
from mfpde.measures.measure import AnyMeasure, as_measure
from mfpde.terms import PointMasses

Line = Circle | Zonal
LEAST_SHARE = 0.1
"""Share of the mass in three cells that is worth a note."""
_CONCENTRATION = 4.0
"""Times the mass two cells away that a cell of such a structure holds at least."""
_BESIDE_ENDS = 2


def describe_half_stable_mass(
    equation: MeanFieldEquation,
    times: Sequence[float],
    states: Sequence[AnyMeasure],
) -> str | None:
    """Return the note on mass that stood at a half-stable point of rest at two saves.

    Parameters
    ----------
    equation
        The equation of the whole run.
    times, states
        Times of the saves and the states saved, on one grid.

    Returns
    -------
    The note, or None without such mass, and for densities on surfaces, which are not judged.
    """
    geometry = as_measure(states[0]).geometry if states else None
    if not isinstance(geometry, Line):
        return None
    on_grid, span = equation.on(geometry), times[-1] - times[0]
    later = np.zeros(geometry.shape, dtype=bool)
    # Where the start stands is the user's.
    for time, state in zip(reversed(times[1:]), reversed(states[1:]), strict=True):
        measure = as_measure(state)
        masses, atoms = measure.density.masses, measure.atoms
        stands = _is_narrow(masses, geometry)
        if stands.any():
            moments = on_grid.moments(masses, PointMasses(atoms.points, atoms.masses))
            velocity = np.asarray(on_grid.velocity(moments))[0]
            stands &= span * _half_stable_rates(velocity, geometry) >= 1
        stands_on = stands & (later | np.roll(later, 1) | np.roll(later, -1))
        if stands_on.any():
            cell = int(stands_on.argmax())
            return (
                f"at t = {time:.4g} a share {_three_cells(masses)[cell]:.2g} of the mass "
                f"stood within a cell of {geometry!r} at the angle "
                f"{geometry.angles[cell]:.4g}, at a point of rest that attracts from one "
                "side and repels to the other: when it leaves depends on its place within "
                "the cell, which the grid does not know; compare a finer grid"
            )
        later = stands
    return None


def _three_cells(masses: FloatArray) -> FloatArray:
    return np.asarray(np.roll(masses, 1) + masses + np.roll(masses, -1))


def _is_narrow(masses: FloatArray, geometry: Line) -> BoolArray:
    """Whether mass stands at each cell in a structure of a cell, away from poles."""
    beyond = np.maximum(np.roll(masses, 2), np.roll(masses, -2))
    narrow = (masses >= _CONCENTRATION * beyond) & (_three_cells(masses) >= LEAST_SHARE)
    if geometry.axis is not None:
        narrow[:_BESIDE_ENDS] = narrow[-_BESIDE_ENDS:] = False
    return np.asarray(narrow)


def _half_stable_rates(velocity: FloatArray, geometry: Line) -> FloatArray:
    """Return the smaller of the rates a and b of a point of rest in each cell, 0 without one.

    The velocities on each side of the cell are continued by a line, which must vanish within
    a cell of its centre.
    """
    left, right = np.roll(velocity, 1), np.roll(velocity, -1)
    slopes = left - np.roll(velocity, 2), np.roll(velocity, -2) - right
    with np.errstate(divide="ignore", invalid="ignore"):
        zeros = np.abs([left / slopes[0] + 1, right / slopes[1] - 1]).max(axis=0)
    is_half_stable = (slopes[0] * slopes[1] < 0) & (zeros <= 1)
    rates = np.minimum(*np.abs(slopes)) / geometry.spacing
    return np.where(is_half_stable, rates, 0.0)
