"""Measures as numpy arrays, as pandas tables, and in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from mfpde.arrays import FloatArray
from mfpde.notebook import Shown

if TYPE_CHECKING:
    import pandas

    from mfpde.geometry import Geometry

MOST_COORDINATES = 3


def coordinate_columns(points: FloatArray) -> dict[str, FloatArray]:
    """Coordinates of points (n, d) by name: x, y, z up to d = 3, then x1, x2, ...

    On the circle there is also the ``angle`` in [0, 2 pi).
    """
    dimension = points.shape[1]
    names = [f"x{k + 1}" for k in range(dimension)]
    if dimension <= MOST_COORDINATES:
        names = ["x", "y", "z"][:dimension]
    columns = {name: points[:, k] for k, name in enumerate(names)}
    if dimension == 2:
        columns["angle"] = np.mod(np.arctan2(points[:, 1], points[:, 0]), 2 * np.pi)
    return columns


class ShownAtoms(Shown):
    """Atoms as a table."""

    points: FloatArray
    masses: FloatArray

    def to_pandas(self) -> pandas.DataFrame:
        """Return the atoms as a table: mass, coordinates, and on the circle the angle."""
        from pandas import DataFrame

        return DataFrame({"mass": self.masses, **coordinate_columns(self.points)})

    @property
    def facts(self) -> dict[str, str]:
        """Number, sphere and masses."""
        found = {
            "atoms": f"{len(self.masses)} on S^{self.points.shape[-1] - 1}",
            "total mass": f"{self.masses.sum():.9g}",
        }
        if len(self.masses):
            found["heaviest"] = f"{self.masses.max():.6g}"
        return found


class ShownDensity(Shown):
    """A density as an array: ``np.asarray(density)`` are its values."""

    geometry: Geometry
    values: FloatArray

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype, copy=copy)

    @property
    def facts(self) -> dict[str, str]:
        """Grid, mass and range of the values."""
        mass = float((self.values * self.geometry.areas).sum())
        return {
            "grid": repr(self.geometry),
            "total mass": f"{mass:.9g}",
            "values": f"{self.values.min():.4g} to {self.values.max():.4g}",
        }


class ShownMeasure(Shown):
    """A density with atoms, in a notebook."""

    density: ShownDensity
    atoms: ShownAtoms

    @property
    def facts(self) -> dict[str, str]:
        """What is said of the density, and of the atoms where there are any."""
        found = self.density.facts
        if not len(self.atoms.masses):
            return found
        found["mass of the density"] = found.pop("total mass")
        held = f"{len(self.atoms.masses)} of mass {self.atoms.masses.sum():.9g}"
        return found | {"atoms": held}
