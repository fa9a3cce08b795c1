"""An equation on a grid for all rows at once: each is moved by its own mixture of all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from mfpde.arrays import BoolArray, ComplexArray, FloatArray
from mfpde.geometry.base import Fields
from mfpde.grid_equation import GridEquation
from mfpde.positions.weights import Full
from mfpde.terms import InteractionTerm, Positions


class Part(NamedTuple):
    """The terms by which tokens see the same others.

    Attributes
    ----------
    mix
        What takes numbers of rows (P, m) to those of their mixtures.
    is_used
        Which moments count.
    grid
        The equation of these terms alone.
    """

    mix: Callable[[FloatArray], FloatArray]
    is_used: BoolArray
    grid: GridEquation


@dataclass(frozen=True, eq=False, kw_only=True)
class RowsEquation(GridEquation):
    """The terms of an equation for rows: moments (P, ...) in, velocities (directions, P, ...) out.

    Attributes
    ----------
    edges
        Edges (P + 1,) of the cells of positions.

    Raises
    ------
    ValueError
        If weights are not those of P rows.
    """

    edges: FloatArray

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._parts

    @cached_property
    def _parts(self) -> list[Part]:
        terms: dict[Positions, list[InteractionTerm]] = {}
        for term in self.interactions:
            terms.setdefault(term.positions or Full(), []).append(term)
        degrees = self.geometry.degrees(self.degree)
        parts = []
        for seen, some in terms.items():
            grid = GridEquation(self.geometry, tuple(some), (), self.sign, 0.0)
            parts.append(Part(seen.mixing(self.edges), degrees <= grid.degree, grid))
        return parts

    def attention_velocity(
        self, moments: ComplexArray, where: Fields | None = None
    ) -> FloatArray:
        """The velocity s grad A of the mixtures, (directions, P, ...)."""
        tangents = (self.geometry.centres if where is None else where).tangents
        velocity = np.zeros((len(tangents), len(moments), *tangents.shape[1:-1]))
        for mix, is_used, grid in self._parts:
            used = np.ascontiguousarray(moments[:, is_used])
            # A complex number is two numbers that are mixed.
            mixed = mix(used.view(np.float64)).view(np.complex128)
            if grid.heads:
                each = [grid.attention_velocity(row, where) for row in mixed]
                velocity += np.stack(each, axis=1)
            else:
                velocity += grid.attention_velocity(mixed, where)
        return velocity
