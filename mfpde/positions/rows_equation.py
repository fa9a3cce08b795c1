r"""An equation on a grid for all rows at once: each is moved by its own mixture of all of them.

With RoPE, on the circle, a head turns queries and keys by omega s, and values not.  With
I_k = I_k(beta) e^-beta, the moments M_jk of row j, and C, S = cos, sin(omega s),

    v_i = s sum_k e^(ik(theta + omega s_i)) [(i/2) (I_(k-1) - I_(k+1)) (C_i A_ik + S_i B_ik)
                                             + (1/2) (I_(k-1) + I_(k+1)) (S_i A_ik - C_i B_ik)],
    A_ik = sum_j W_ij C_j M_jk e^(-ik omega s_j),     B_ik with S_j,

and softmax divides by Z_i = sum_k e^(ik(theta + omega s_i)) I_k sum_j W_ij M_jk e^(-ik omega s_j).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ive

from mfpde.arrays import BoolArray, ComplexArray, FloatArray
from mfpde.geometry.base import Fields
from mfpde.grid_equation import GridEquation
from mfpde.positions.rows import PositionedDensity
from mfpde.positions.weights import Full
from mfpde.terms import Attention, InteractionTerm, Positions
from mfpde.terms.interaction import Mix
from mfpde.terms.softmax_sums import EMPTY
from mfpde.transport import Scheme, Transport, scheme_for
from mfpde.transport.base import DEFAULT_RTOL


@dataclass(frozen=True, eq=False)
class Part:
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

    mix: Mix
    is_used: BoolArray
    grid: GridEquation

    def drift(self, moments: ComplexArray, where: Fields) -> FloatArray:
        """The drift grad A of the mixtures, (directions, P, ...)."""
        mixed = self.mix(moments[:, self.is_used])
        if not self.grid.heads:
            return self.grid.attention_velocity(mixed, where)
        each = [self.grid.attention_velocity(row, where) for row in mixed]
        return np.stack(each, axis=1)


@dataclass(frozen=True, eq=False)
class TurnedPart(Part):
    """The heads whose queries and keys are turned by the angles omega s (P,)."""

    angles: FloatArray

    def drift(self, moments: ComplexArray, where: Fields) -> FloatArray:
        """The drift of the heads, (1, P, ...)."""
        k = np.arange(int(self.is_used.sum()))
        back = np.exp(1j * np.outer(self.angles, k))
        turned = moments[:, self.is_used] * back.conj()
        cos, sin = np.cos([self.angles]).T, np.sin([self.angles]).T
        a, b, seen = map(self.mix, (cos * turned, sin * turned, turned))
        along, across = back * (cos * a + sin * b), back * (sin * a - cos * b)
        total = np.zeros((len(moments), *where.tangents.shape[1:-1]))
        for head in self.grid.interactions:
            assert isinstance(head, Attention)
            below, above = ive(np.abs(k - 1), head.beta), ive(k + 1, head.beta)
            sums = 1j * (below - above) * along + (below + above) * across
            pull = where.synthesis(sums / 2)
            if head.needs_values:
                mean = where.synthesis(ive(k, head.beta) * back * seen)
                total += pull / np.maximum(mean, EMPTY)
            else:
                total += head.amplitude * pull
        return total[np.newaxis]


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
    # A softmax knows the moments of mixtures, not their masses.
    may_lose_mass = False

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self._acting

    @cached_property
    def _acting(self) -> tuple[Any, ...]:
        """The parts, each of terms by which tokens see the same others."""
        terms: dict[Positions, list[InteractionTerm]] = {}
        for term in self.interactions:
            terms.setdefault(term.positions or Full(), []).append(term)
        degrees, parts = self.geometry.degrees(self.degree), []
        for seen, some in terms.items():
            grid = GridEquation(self.geometry, tuple(some), (), 1, 0.0)
            given = seen.mixing(self.edges), degrees <= grid.degree, grid
            if not seen.rope:
                parts.append(Part(*given))
                continue
            if self.geometry.dimension != 2 or grid.heads:
                raise ValueError(
                    f"{some[0]!r} on {self.geometry!r}: rope turns tokens on a Circle, whose "
                    "attention has no matrices"
                )
            middles = (self.edges[1:] + self.edges[:-1]) / 2
            parts.append(TurnedPart(*given, seen.rope * middles))
        return tuple(parts)

    def velocity(
        self, moments: ComplexArray, external: FloatArray | None = None
    ) -> FloatArray:
        """The velocity, whose ``external`` part (directions, *shape) all rows have."""
        same = self.external_velocity if external is None else external
        return super().velocity(moments, same[:, np.newaxis])


def scheme_of_rows(rows: PositionedDensity) -> Scheme:
    """Return donor blending of ``rows``.

    Stages couple the rows, so that all take one step, the shortest that one asks for; the error
    is that of the moments of all together.
    """
    name, edges = "donor_blended", rows.edges
    of_one = scheme_for(name, rows.geometry).transport

    def make(grid: GridEquation, rtol: float = DEFAULT_RTOL) -> Transport:
        terms = grid.geometry, grid.interactions, grid.externals
        of_rows = RowsEquation(*terms, grid.sign, grid.diffusion, edges=edges)
        return of_one(of_rows, rtol)

    return Scheme(name, make)
