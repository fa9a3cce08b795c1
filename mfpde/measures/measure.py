"""Measures: ``Density``, values per surface area; ``Atoms``; ``Measure``, the sum of both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from mfpde.arrays import (
    LARGEST_DIMENSION,
    FloatArray,
    check_entries,
    check_kind,
    no_measure,
    read_only,
    real_array,
    unit_vectors,
    whole_number,
)
from mfpde.geometry import Geometry
from mfpde.measures.clouds import cloud_points
from mfpde.measures.samples import kernel_density
from mfpde.notebook import Shown


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Atoms(Shown):
    """Point masses: ``points`` (n, d) on the unit sphere, ``masses`` (n,), all above zero.

    Without ``masses`` each point gets 1/n.  An atom that a density has collapsed to keeps
    its small width as a tangent covariance, ``covariances`` (n, d, d) in squared radians;
    None for points without width.  Begin with ``Atoms([[1.0, 0.0], [0.0, 1.0]])``.

    Raises
    ------
    ValueError
        If a point is off the sphere, a mass is not positive, or the lengths differ.
    """

    points: FloatArray
    masses: FloatArray
    covariances: FloatArray | None

    def __init__(
        self,
        points: ArrayLike,
        masses: ArrayLike | None = None,
        covariances: ArrayLike | None = None,
    ) -> None:
        unit = unit_vectors("points", points)
        count = len(unit)
        equal = np.full(count, 1.0 / max(count, 1))
        weights = equal if masses is None else real_array("masses", masses)
        if unit.ndim != 2 or weights.shape != (count,):
            raise ValueError(
                f"points of shape {unit.shape} and masses of shape {weights.shape} do not "
                "match: they must be (n, d) and (n,)"
            )
        check_entries("masses", weights, weights > 0, "must be above 0")
        widths = None if covariances is None else real_array("covariances", covariances)
        if widths is not None and widths.shape != (*unit.shape, unit.shape[-1]):
            raise ValueError(
                f"covariances of shape {widths.shape} do not fit points of shape "
                f"{unit.shape}: they must be (n, d, d)"
            )
        object.__setattr__(self, "points", read_only(unit))
        object.__setattr__(self, "masses", read_only(weights))
        object.__setattr__(
            self, "covariances", None if widths is None else read_only(widths)
        )

    @classmethod
    def none(cls, dimension: int) -> Atoms:
        """No atoms at all in ``dimension`` d; ``ValueError`` if it is no whole number."""
        d = whole_number("dimension", dimension, at_least=1, at_most=LARGEST_DIMENSION)
        return cls(np.empty((0, d)), np.empty(0))

    def __len__(self) -> int:
        return len(self.masses)

    @property
    def facts(self) -> dict[str, str]:
        """Number, sphere and masses."""
        found = {
            "atoms": f"{len(self)} on S^{self.dimension - 1}",
            "total mass": f"{self.total_mass:.9g}",
        }
        if len(self):
            found["heaviest"] = f"{self.masses.max():.6g}"
        return found

    @property
    def dimension(self) -> int:
        """Dimension d of the space that the sphere lies in."""
        return int(self.points.shape[-1])

    @property
    def total_mass(self) -> float:
        """Sum of the masses."""
        return float(self.masses.sum())

    def as_clouds(self, standard: FloatArray | None = None) -> Atoms:
        """Return equal points in place of each atom, if any has a width: those by which it acts.

        Others if ``standard`` ones are given (:func:`mfpde.measures.clouds.cloud_points`).
        """
        if self.covariances is None or not self.covariances.any():
            return self
        clouds = cloud_points(self.points, self.covariances, standard)
        size = clouds.shape[1]
        points = clouds.reshape(-1, self.dimension)
        return Atoms(points, np.repeat(self.masses / size, size))


@dataclass(frozen=True, eq=False, repr=False)
class Density(Shown):
    """A density on ``geometry``: ``values`` per surface area, shape ``geometry.shape``.

    A run by labels leaves a density with ``labels``, points (cells, 3) and masses (cells,):
    one that starts from it goes on with them.  Everywhere else, in a store too, it is what
    its values say.  Begin with ``Density.from_function(Circle(512), lambda x: 2 + x[..., 0])``.

    Raises
    ------
    ValueError
        If the shape is wrong, or a value is negative or not finite.
    """

    geometry: Geometry
    values: FloatArray
    labels: tuple[FloatArray, FloatArray] | None = None

    def __post_init__(self) -> None:
        values = real_array("values", self.values)
        if values.shape != self.geometry.shape:
            raise ValueError(
                f"values of shape {values.shape} do not fit {self.geometry!r}, which has "
                f"cells of shape {self.geometry.shape}"
            )
        check_entries("values", values, values >= 0, "must not be negative")
        object.__setattr__(self, "values", read_only(values))

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)

    @property
    def facts(self) -> dict[str, str]:
        """Grid, mass and range of the values."""
        return {
            "grid": repr(self.geometry),
            "total mass": f"{self.total_mass:.9g}",
            "values": f"{self.values.min():.4g} to {self.values.max():.4g}",
        }

    @classmethod
    def from_function(
        cls,
        geometry: Geometry,
        function: Callable[[FloatArray], ArrayLike],
        normalize: bool = True,
    ) -> Density:
        """Density with the point values of ``function``.

        Parameters
        ----------
        geometry
            The grid.
        function
            Takes points (..., d), returns values (...), none negative.
        normalize
            Scale the values so that the total mass is 1.

        Raises
        ------
        ValueError
            For values of a wrong shape, negative or not finite, or a total mass of 0.
        """
        values = real_array("function(points)", function(geometry.points))
        if (shape := values.shape) not in ((), geometry.shape):
            raise ValueError(f"function(points): {shape} must be {geometry.shape}")
        density = cls(geometry, np.broadcast_to(values, geometry.shape))
        return density.normalized() if normalize else density

    @classmethod
    def from_samples(
        cls,
        geometry: Geometry,
        points: ArrayLike,
        masses: ArrayLike | None = None,
        bandwidth: float | None = None,
    ) -> Density:
        """Probability density of samples, each spread by a heat kernel.

        Parameters
        ----------
        geometry
            The grid; on a zonal grid a sample stands for its ring.
        points
            Unit vectors (n, d).
        masses
            Relative masses (n,), above 0; equal by default.
        bandwidth
            Standard deviation in each direction, in radians; by default that of
            ``mfpde.measures.samples.rule_of_thumb``, at least what the grid holds.

        Raises
        ------
        ValueError
            If arguments do not fit, or the grid does not hold the bandwidth.
        """
        samples = Atoms(points, masses)
        if samples.dimension != geometry.dimension or not len(samples):
            raise ValueError(
                f"points of shape {samples.points.shape} must be (n, {geometry.dimension}), n "
                f"at least 1, on {geometry!r}"
            )
        shares = samples.masses / samples.total_mass
        values = kernel_density(geometry, samples.points, shares, bandwidth)
        return cls(geometry, values).normalized()

    @cached_property
    def masses(self) -> FloatArray:
        """Mass of each cell, ``values * areas``."""
        return read_only(self.values * self.geometry.areas)

    @property
    def total_mass(self) -> float:
        """Sum of the cell masses."""
        return float(self.masses.sum())

    @property
    def dimension(self) -> int:
        """Dimension d of the space that the sphere lies in."""
        return self.geometry.dimension

    def normalized(self) -> Density:
        """Return the density scaled to total mass 1; ``ValueError`` if its mass is 0."""
        largest = self.values.max()
        if largest <= 0:
            raise ValueError("a density of total mass 0 cannot be normalised")
        # A power of two changes no digit; after it no sum of any values overflows.
        scaled = np.ldexp(self.values, -np.frexp(largest)[1])
        return Density(self.geometry, scaled / (scaled * self.geometry.areas).sum())

    def interpolated(self, finer: Geometry) -> Density:
        """Return the same density on a ``finer`` geometry, with the same mass."""
        return Density(finer, self.geometry.interpolate_values(self.values, finer))


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Measure(Shown):
    """A ``density`` plus (possibly no) ``atoms``; ``total_mass`` is 1 for a probability.

    Raises
    ------
    ValueError
        If the atoms lie on a sphere of another dimension than the density.
    """

    density: Density
    atoms: Atoms

    def __init__(self, density: Density, atoms: Atoms | None = None) -> None:
        check_kind("density", density, Density, source="values on a grid")
        held = Atoms.none(density.dimension) if atoms is None else atoms
        check_kind("atoms", held, Atoms, source="points with masses")
        if held.dimension != density.dimension:
            raise ValueError(
                f"atoms have points in dimension {held.dimension}, but the density lies on "
                f"a sphere in dimension {density.dimension}"
            )
        object.__setattr__(self, "density", density)
        object.__setattr__(self, "atoms", held)

    @property
    def facts(self) -> dict[str, str]:
        """What is said of the density, and of the atoms where there are any."""
        found = self.density.facts
        if not len(self.atoms):
            return found
        found["mass of the density"] = found.pop("total mass")
        held = f"{len(self.atoms)} of mass {self.atoms.total_mass:.9g}"
        return found | {"atoms": held}

    @property
    def geometry(self) -> Geometry:
        """Grid of the density part."""
        return self.density.geometry

    @property
    def dimension(self) -> int:
        """Dimension d of the space that the sphere lies in."""
        return self.density.dimension

    @property
    def total_mass(self) -> float:
        """Mass of the density and the atoms together."""
        return self.density.total_mass + self.atoms.total_mass


AnyMeasure = Density | Atoms | Measure


def as_measure(measure: object, name: str = "measure") -> Measure:
    """Return a density or measure as a :class:`Measure`; ``ValueError`` for bare atoms."""
    if isinstance(measure, Measure):
        return measure
    if isinstance(measure, Density):
        return Measure(measure)
    if isinstance(measure, Atoms):
        raise ValueError(
            "atoms alone have no grid: use Measure(density, atoms) with a density on one, "
            "or solve_particles"
        )
    raise no_measure(name, measure)


def atoms_of(measure: AnyMeasure) -> Atoms:
    """Return the atoms of any measure (none for a density)."""
    if isinstance(measure, Atoms):
        return measure
    return as_measure(measure).atoms


def uniform(geometry: Geometry) -> Density:
    """Return the uniform probability density on ``geometry``."""
    return Density(geometry, np.ones(geometry.shape)).normalized()
