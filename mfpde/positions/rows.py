"""Rows: one density for each cell of positions in a context."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import (
    ComplexArray,
    FloatArray,
    check_entries,
    check_kind,
    read_only,
    real_array,
    real_number,
    shown,
    whole_number,
)
from mfpde.field import GridField
from mfpde.geometry import Circle, Geometry, Sphere
from mfpde.measures.measure import Atoms, Density, Measure
from mfpde.notebook import Shown, call_above
from mfpde.positions.weights import Full

MOST_POSITIONS = 100_000
UNIT_MASS = 1e-8
"""How far the mass of a row may be from 1."""


@dataclass(frozen=True, eq=False, init=False, repr=False)
class PositionedDensity(Shown):
    """A density f_i of mass 1 for each cell (e_(i-1), e_i) of positions in [0, 1].

    Begin with ``PositionedDensity.repeated(uniform(Circle(256)), positions=32)``.

    Parameters
    ----------
    geometry
        A circle or a sphere, the grid of all rows.
    values
        Densities per surface area (P, *geometry.shape), none negative, each row of mass 1.
    edges
        0 = e_0 < ... < e_P = 1; cells of equal widths by default.

    Raises
    ------
    ValueError
        If values or edges are others.
    """

    geometry: Geometry
    values: FloatArray
    edges: FloatArray
    labels: ClassVar[None] = None
    """No labels carry rows."""

    def __init__(
        self, geometry: Geometry, values: ArrayLike, edges: ArrayLike | None = None
    ) -> None:
        if not isinstance(geometry, Circle | Sphere):
            raise ValueError(
                f"geometry = {geometry!r} must be a Circle or a Sphere for rows of positions"
            )
        held = real_array("values", values)
        if held.ndim != 1 + len(geometry.shape) or held.shape[1:] != geometry.shape:
            wanted = ", ".join(map(str, geometry.shape))
            raise ValueError(
                f"values of shape {held.shape} must be (P, {wanted}), a row for each position"
            )
        cells = read_edges(edges, len(held))
        check_entries("values", held, held >= 0, "must not be negative")
        totals = (held * geometry.areas).reshape(len(held), -1).sum(axis=1)
        if not (is_unit := np.abs(totals - 1) <= UNIT_MASS).all():
            i = int(np.argmin(is_unit))
            raise ValueError(
                f"values[{i}] from {held[i].min():g} to {held[i].max():g} has mass "
                f"{totals[i]:.12g}; each row must have 1 (Density.normalized() scales one)"
            )
        held, cells = read_only(held), read_only(cells)
        vars(self).update(geometry=geometry, values=held, edges=cells)

    @classmethod
    def from_function(
        cls,
        geometry: Geometry,
        function: Callable[[FloatArray, float], ArrayLike],
        positions: int = 32,
    ) -> PositionedDensity:
        """Rows with the values of ``function``, each scaled to mass 1.

        Parameters
        ----------
        geometry
            The grid of all rows.
        function
            Takes points (..., d) and a position, the middle of a cell of positions; returns
            values (...), none negative.
        positions
            Number P of cells of equal widths.

        Raises
        ------
        ValueError
            For values of a wrong shape, negative or not finite, or a mass of 0.
        """
        rows = [
            Density.from_function(geometry, lambda x, s=s: function(x, s))  # type: ignore[misc]
            for s in _middles(read_edges(None, positions)).tolist()
        ]
        return cls(geometry, [row.values for row in rows])

    @classmethod
    def repeated(cls, density: Density, positions: int = 32) -> PositionedDensity:
        """``positions`` rows that are all the same ``density``."""
        check_kind("density", density, Density, source="values on a grid")
        count = len(read_edges(None, positions)) - 1
        return cls(density.geometry, [density.values] * count)

    @classmethod
    def from_blocks(
        cls, blocks: Sequence[Density], positions: int = 32, *, blend: bool = False
    ) -> PositionedDensity:
        """Rows of the first, the second, ... of several densities on one grid.

        Parameters
        ----------
        blocks
            Densities of mass 1, each of an equal part of the context.
        positions
            Number P of cells of equal widths.
        blend
            Whether rows between the middles of two blocks are mixtures of both, linear in s.
        """
        for block in blocks:
            check_kind("blocks", block, Density, source="for each part of a context")
        if not isinstance(blend, bool):
            raise ValueError(f"blend = {shown(blend)} must be True or False")
        few = cls(blocks[0].geometry, [block.values for block in blocks])
        middles = _middles(read_edges(None, positions))
        rows = [few.at(s) if blend else few.row(int(s * len(few))) for s in middles]
        return cls(few.geometry, [row.values for row in rows])

    @property
    def facts(self) -> dict[str, str]:
        """Grid, number of rows and range of the values."""
        return {
            "grid": repr(self.geometry),
            "rows": f"{len(self)}",
            "values": f"{self.values.min():.4g} to {self.values.max():.4g}",
        }

    def __len__(self) -> int:
        return len(self.values)

    @property
    def density(self) -> PositionedDensity:
        """The rows, where a measure has its density."""
        return self

    @property
    def atoms(self) -> Atoms:
        """No atoms are beside rows."""
        return Atoms.none(self.dimension)

    @property
    def dimension(self) -> int:
        """Dimension d of the space that the sphere lies in."""
        return self.geometry.dimension

    @property
    def widths(self) -> FloatArray:
        """Widths w_i (P,) of the cells of positions."""
        return np.diff(self.edges)

    @property
    def middles(self) -> FloatArray:
        """Middles s_i (P,) of the cells of positions."""
        return _middles(self.edges)

    @cached_property
    def masses(self) -> FloatArray:
        """Masses of the cells of the grid, (P, *geometry.shape)."""
        return read_only(self.values * self.geometry.areas)

    @property
    def total_mass(self) -> float:
        """Mass of a row, in the mean over positions."""
        return float(self.widths @ self.masses.reshape(len(self), -1).sum(axis=1))

    def moments(self, degree: int) -> ComplexArray:
        """Moments up to ``degree`` of each row, (P, ...)."""
        most = self.geometry.max_degree
        degree = whole_number("degree", degree, at_least=0, at_most=most)
        return self.geometry.moments(self.masses, degree)

    def __getitem__(self, index: int) -> Row:
        """The row ``index`` as a measure that knows the others, by which it is moved."""
        return Row(self, index)

    def __iter__(self) -> Iterator[Row]:
        return (self[i] for i in range(len(self)))

    def row(self, index: int) -> Density:
        """The density of row ``index``, from 0 to P - 1, or from the end if negative."""
        i = whole_number("index", index, at_least=-len(self), at_most=len(self) - 1)
        return Density(self.geometry, self.values[i])

    def at(self, position: float) -> Density:
        """The density at a position in [0, 1], linear between the middles of the cells.

        Before the first middle and behind the last it is that of the row.
        """
        s = real_number("position", position, at_least=0.0, at_most=1.0)
        middles, count = self.middles, len(self)
        shares = [np.interp(s, middles, np.arange(count) == i) for i in range(count)]
        return Density(self.geometry, np.tensordot(shares, self.values, axes=1))

    def plot(self, **options: Any) -> Any:
        """The figure of the rows, as :func:`mfpde.plot_rows` makes it with these options."""
        return call_above("plotting:plot_rows", self, **options)

    def mean(self) -> Density:
        """The mean over positions, sum_i w_i f_i."""
        return Density(self.geometry, np.tensordot(self.widths, self.values, axes=1))


class Row(Measure):
    """The row ``index`` of ``rows`` as a measure, which what it sees of all of them moves."""

    rows: PositionedDensity
    index: int

    def __init__(self, rows: PositionedDensity, index: int) -> None:
        super().__init__(rows.row(index))
        vars(self).update(rows=rows, index=index)

    def field_under(self, equation: Any) -> GridField:
        """The field of the mixture of rows that this one sees."""
        grid, edges = equation.on(self.geometry), self.rows.edges
        kinds = {term.positions or Full() for term in grid.interactions} or {Full()}
        if len(kinds) > 1 or any(seen.rope for seen in kinds):
            raise ValueError(f"a row has no one mixture of others through {kinds}")
        weights = kinds.pop().find_weights(edges)[self.index]
        values = np.tensordot(weights, self.rows.values, axes=1)
        return GridField(grid, Measure(Density(self.geometry, values)))


RunState = Measure | PositionedDensity
"""What a run of the density solver saves: a measure, or a row for each position."""


def _middles(edges: FloatArray) -> FloatArray:
    return np.asarray((edges[1:] + edges[:-1]) / 2)


def read_edges(edges: ArrayLike | None, count: int) -> FloatArray:
    """Return the edges (count + 1,), of equal cells for None; ``ValueError`` for others."""
    whole_number("positions", count, at_least=1, at_most=MOST_POSITIONS)
    if edges is None:
        return np.linspace(0.0, 1.0, count + 1)
    found = real_array("edges", edges)
    if found.shape != (count + 1,):
        raise ValueError(
            f"edges of shape {found.shape} must be ({count + 1},) for {count} rows"
        )
    if found[0] != 0.0 or found[-1] != 1.0 or (np.diff(found) <= 0).any():
        raise ValueError(
            f"edges from {found[0]:g} to {found[-1]:g} must rise from 0 to 1"
        )
    return found
