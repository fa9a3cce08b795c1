r"""What is searched: the velocity field of a fixed measure, and its 2:1 coarsened density.

The velocity's moments are computed once.  The coarsened density is put back on its own grid:
pairs of cells (on S^2 two rings by two longitudes) are averaged, so that velocity and basins
of the averaged measure are those of the coarse grid, without another grid.  How well the
coarse grid represents the density is judged from its averages a_i with the central slope
s_i = (a_(i+1) - a_(i-1)) / 8, that is a_i -+ s_i in the two cells of a pair: the
difference is O(h^2) where the density is smooth and O(1) where it is not.
"""

from __future__ import annotations

from functools import cached_property, singledispatch

import numpy as np

from mfpde.arrays import BoolArray, FloatArray
from mfpde.detection.decision import FROZEN_SPEED
from mfpde.detection.report import REST
from mfpde.equation import MeanFieldEquation
from mfpde.field import GridField
from mfpde.geometry import Circle, Geometry, Sphere, Zonal
from mfpde.measures.measure import AnyMeasure, Atoms, Density, Measure, as_measure
from mfpde.terms import PointMasses


def unknown_grid(geometry: Geometry) -> ValueError:
    """The error for a grid on which concentrations cannot be searched."""
    return ValueError(
        f"measure on {geometry!r} must lie on a Circle, a Sphere or a Zonal grid"
    )


class VelocityField:
    """The velocity v = s grad F of ``measure`` at any points, and at its cells' centres."""

    def __init__(self, equation: MeanFieldEquation, measure: AnyMeasure) -> None:
        self.equation = equation
        self.measure = measure

    @cached_property
    def _on_grid(self) -> GridField:
        whole = as_measure(self.measure)
        return GridField(self.equation.on(whole.geometry), whole)

    def at(self, points: FloatArray) -> FloatArray:
        """Velocity at ``points`` (..., d), shape (..., d)."""
        if isinstance(self.measure, Atoms):
            return self.equation.velocity(self.measure, points)
        return self._on_grid.velocity(points)

    def of_atom(self, points: FloatArray, mass: float) -> FloatArray:
        """Velocity (n, d) of one more atom of this mass at each of ``points`` (n, d).

        The atom's own field has no gradient at its place; under softmax its mass counts in
        the normalisation.
        """
        grid, moments = self._on_grid.grid, self._on_grid.moments
        if not grid.pulls_on_itself:
            return grid.velocity_at(moments, points)
        masses = np.array([mass])
        cells, acting = self._on_grid.measure.density.masses, self._on_grid.acting
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

    def components(self) -> FloatArray:
        """Components of the velocity along ``geometry.tangents`` at the cell centres."""
        return self._on_grid.components

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
        return np.inf if largest <= REST * scale else REST * max(scale, largest)

    def is_frozen(self, speeds: FloatArray, cell: float) -> BoolArray:
        """Whether each of ``speeds`` (or signed velocities) is below 1e-3 ``cell`` or rounding."""
        limit = max(FROZEN_SPEED * cell, self.rest_speed(speeds))
        return np.asarray(np.abs(speeds) < limit)


def coarsened(measure: Measure) -> Measure | None:
    """The measure with its density averaged over pairs of cells; None for odd numbers."""
    geometry = measure.geometry
    if any(count % 2 for count in geometry.shape):
        return None
    masses, areas = measure.density.masses, geometry.areas
    for axis in range(masses.ndim):
        masses, areas = _paired_sums(masses, axis), _paired_sums(areas, axis)
    values = masses / areas
    for axis in range(values.ndim):
        values = np.repeat(values, 2, axis=axis)
    return Measure(Density(geometry, values), measure.atoms)


def coarse_differences(measure: Measure) -> FloatArray:
    """Mass (*shape) of each cell that the coarse grid's piecewise linear density misses."""
    geometry = measure.geometry
    if any(count % 2 for count in geometry.shape):
        return np.full(geometry.shape, np.nan)
    return _missed(geometry, measure.density)


@singledispatch
def _missed(geometry: Geometry, density: Density) -> FloatArray:
    """Mass of each cell that the coarse grid misses."""
    del density
    raise unknown_grid(geometry)


@_missed.register(Circle)
def _(circle: Circle, density: Density) -> FloatArray:
    rebuilt = _rebuilt(density.values, 0, "periodic")
    return np.asarray(np.abs(density.values - rebuilt) * circle.areas)


@_missed.register(Sphere)
def _(sphere: Sphere, density: Density) -> FloatArray:
    values = _rebuilt(density.values, 1, "periodic")
    nlat, nlon = values.shape
    # Over a pole a column goes on in its opposite.
    circles = np.concatenate([values, np.roll(values, nlon // 2, axis=1)[::-1]])
    rebuilt = _rebuilt(circles, 0, "periodic")[:nlat]
    return np.asarray(np.abs(density.values - rebuilt) * sphere.areas)


@_missed.register(Zonal)
def _(zonal: Zonal, density: Density) -> FloatArray:
    # Mass per angle, which is smooth also where areas are many decades apart.
    rebuilt = _rebuilt(density.masses, 0, "mirrored")
    return np.asarray(np.abs(density.masses - rebuilt))


def _paired_sums(values: FloatArray, axis: int) -> FloatArray:
    shape = values.shape
    pairs = values.reshape(*shape[:axis], shape[axis] // 2, 2, *shape[axis + 1 :])
    return np.asarray(pairs.sum(axis=axis + 1))


def _rebuilt(values: FloatArray, axis: int, ends: str) -> FloatArray:
    """Averages over pairs along ``axis`` with central slopes, in the cells again."""
    averages = np.moveaxis(_paired_sums(values, axis) / 2, axis, 0)
    ahead, behind = np.roll(averages, -1, axis=0), np.roll(averages, 1, axis=0)
    if ends == "mirrored":
        ahead[-1], behind[0] = averages[-1], averages[0]
    slopes = (ahead - behind) / 8
    cells = np.stack([averages - slopes, averages + slopes], axis=1)
    return np.moveaxis(cells.reshape(-1, *averages.shape[1:]), 0, axis)
