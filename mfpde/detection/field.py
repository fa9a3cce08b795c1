"""The velocity field of a fixed measure at any points; its moments are computed once."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.field import GridField
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure
from mfpde.terms import PointMasses

ROUNDING = 1e-12
"""Speeds below this, in units of the largest (at least 1), have no direction; shares of the
mass below it are none."""


class VelocityField:
    """The velocity v = s grad F of ``measure`` at any points, and at its cells' centres."""

    def __init__(self, equation: MeanFieldEquation, measure: AnyMeasure) -> None:
        self.equation = equation
        self.measure = measure

    @cached_property
    def on_grid(self) -> GridField:
        """The field by the moments on the measure's grid."""
        whole = as_measure(self.measure)
        return GridField(self.equation.on(whole.geometry), whole)

    def at(self, points: FloatArray) -> FloatArray:
        """Velocity at ``points`` (..., d), shape (..., d)."""
        if isinstance(self.measure, Atoms):
            return self.equation.velocity(self.measure, points)
        return self.on_grid.velocity(points)

    def of_atom(self, points: FloatArray, mass: float) -> FloatArray:
        """Velocity (n, d) of one more atom of this mass at each of ``points`` (n, d).

        The atom's own field has no gradient at its place; under softmax its mass counts in
        the normalisation.
        """
        grid, moments = self.on_grid.grid, self.on_grid.moments
        if not grid.pulls_on_itself:
            return grid.velocity_at(moments, points)
        masses = np.array([mass])
        cells, acting = self.on_grid.measure.density.masses, self.on_grid.acting
        found = []
        for point in points[:, np.newaxis]:
            own = grid.geometry.atom_moments(point, masses, grid.degree)
            with_own = PointMasses(
                np.concatenate([acting.points, point]),
                np.concatenate([acting.masses, masses]),
            )
            whole = grid.with_masses(
                np.asarray(moments) + own, cells, with_own, everywhere=True
            )
            found.append(grid.velocity_at(whole, point)[0])
        return np.array(found).reshape(points.shape)

    def drift(self, points: FloatArray) -> FloatArray:
        """Velocity (n, d) that the terms beside attention give at ``points`` (n, d)."""
        drifts = [term.drift(points) for term in self.equation.externals]
        return self.equation.sign * sum(drifts, np.zeros(points.shape))

    def potential(self, points: FloatArray | None = None) -> FloatArray:
        """The potential s F, whose gradient is v, at ``points`` or at the cell centres."""
        values = self.equation.first_variation(self.measure, points)
        return np.asarray(self.equation.sign * values)

    def rest_speed(self, speeds: FloatArray) -> float:
        """Speed below which a field with these ``speeds`` has no direction but rounding's.

        The speed is infinite if the field is nothing but rounding.
        """
        largest = float(np.abs(speeds).max())
        scale = max(1.0, self.equation.strength)
        return np.inf if largest <= ROUNDING * scale else ROUNDING * max(scale, largest)
