"""The velocity field of a fixed measure, its moments computed once."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.detection.decision import FROZEN_SPEED
from mfpde.detection.report import REST
from mfpde.equation import MeanFieldEquation
from mfpde.grid_equation import GridEquation
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure

BoolArray = NDArray[np.bool_]


class VelocityField:
    """The velocity v = s grad F of ``measure`` at any points, and at its cells' centres."""

    def __init__(self, equation: MeanFieldEquation, measure: AnyMeasure) -> None:
        self.equation = equation
        self.measure = measure

    @cached_property
    def _on_grid(self) -> tuple[GridEquation, ComplexArray]:
        whole = as_measure(self.measure)
        grid = self.equation.on(whole.geometry)
        acting = whole.atoms.without_widths
        atoms = (acting.points, acting.masses)
        return grid, grid.moments(whole.density.masses, atoms)

    def at(self, points: FloatArray) -> FloatArray:
        """Velocity at ``points`` (..., d), shape (..., d)."""
        if isinstance(self.measure, Atoms):
            return self.equation.velocity(self.measure, points)
        grid, moments = self._on_grid
        return grid.velocity_at(moments, points)

    def of_atom(self, points: FloatArray, mass: float) -> FloatArray:
        """Velocity (n, d) of one more atom of this mass at each of ``points`` (n, d).

        The atom's own field has no gradient at its place; under softmax its mass counts in
        the normalisation.
        """
        grid, moments = self._on_grid
        if not grid.softmaxes:
            return grid.velocity_at(moments, points)
        masses = np.array([mass])
        found = []
        for point in points[:, np.newaxis]:
            own = grid.geometry.atom_moments(point, masses, grid.degree)
            found.append(grid.velocity_at(moments + own, point)[0])
        return np.array(found).reshape(points.shape)

    def drift(self, points: FloatArray) -> FloatArray:
        """Velocity (n, d) that the terms beside attention give at ``points`` (n, d)."""
        drifts = [term.drift(points) for term in self.equation.externals]
        return self.equation.sign * sum(drifts, np.zeros(points.shape))

    def components(self) -> FloatArray:
        """Components of the velocity along ``geometry.tangents`` at the cell centres."""
        grid, moments = self._on_grid
        return grid.velocity(moments)

    def potential(self, points: FloatArray | None = None) -> FloatArray:
        """The potential s F, whose gradient is v, at ``points`` or at the cell centres."""
        values = self.equation.first_variation(self.measure, points)
        return np.asarray(self.equation.sign * values)

    def rest_speed(self, speeds: FloatArray) -> float:
        """Speed below which a field with these ``speeds`` has no direction but rounding's.

        The speed is infinite if the field is nothing but rounding.
        """
        largest = float(np.abs(speeds).max())
        amplitudes = [attention.amplitude for attention in self.equation.attentions]
        scale = max([1.0, *amplitudes])
        return np.inf if largest <= REST * scale else REST * max(scale, largest)

    def is_frozen(self, speeds: FloatArray, cell: float) -> BoolArray:
        """Whether each of ``speeds`` (or signed velocities) is below 1e-3 ``cell`` or rounding."""
        limit = max(FROZEN_SPEED * cell, self.rest_speed(speeds))
        return np.asarray(np.abs(speeds) < limit)


def at_rest(signs: FloatArray) -> BoolArray:
    """Whether each cell of a line rests: velocity 0 in it and beside it, and no inflow.

    One zero alone is an attractor or a source, not a place at rest.

    Parameters
    ----------
    signs
        Signs of the velocity in n cells and in one more at either end, (n + 2,).

    Returns
    -------
    Booleans (n,).
    """
    before, here, after = signs[:-2], signs[1:-1], signs[2:]
    lone = (before != 0) & (after != 0)
    return np.asarray((here == 0) & ~lone & (before <= 0) & (after >= 0))
