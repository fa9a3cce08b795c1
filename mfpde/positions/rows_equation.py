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

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.geometry.base import Fields
from mfpde.grid_equation import GridEquation
from mfpde.positions.rows import PositionedDensity
from mfpde.positions.weights import Full
from mfpde.terms import Attention, Positions
from mfpde.terms.interaction import Mix
from mfpde.terms.interaction_on_grid import InteractionOnGrid
from mfpde.terms.softmax_sums import EMPTY
from mfpde.transport import Scheme, Transport, scheme_for
from mfpde.transport.base import DEFAULT_RTOL


@dataclass(frozen=True, eq=False)
class MixedTerm:
    """An ``interaction`` on the grid, of what each row sees: ``mix`` makes it of all rows."""

    mix: Mix
    interaction: InteractionOnGrid

    def drift(self, moments: ComplexArray, where: Fields) -> FloatArray:
        """The drift grad A of the mixtures, (directions, P, ...)."""
        mixed = self.mix(moments)
        if self.interaction.head is None:
            return self.interaction.drift(mixed, where)
        each = [self.interaction.drift(row, where) for row in mixed]
        return np.stack(each, axis=1)


@dataclass(frozen=True, eq=False)
class TurnedHead:
    """Attention whose queries and keys are turned by the ``angles`` omega s (P,)."""

    mix: Mix
    attention: Attention
    angles: FloatArray

    def drift(self, moments: ComplexArray, where: Fields) -> FloatArray:
        """The drift, (1, P, ...)."""
        k, beta = np.arange(moments.shape[-1]), self.attention.beta
        back = np.exp(1j * np.outer(self.angles, k))
        turned = moments * back.conj()
        cos, sin = np.cos([self.angles]).T, np.sin([self.angles]).T
        a, b, seen = map(self.mix, (cos * turned, sin * turned, turned))
        along, across = back * (cos * a + sin * b), back * (sin * a - cos * b)
        below, above = ive(np.abs(k - 1), beta), ive(k + 1, beta)
        sums = 1j * (below - above) * along + (below + above) * across
        pull = where.synthesis(sums / 2)
        if not self.attention.needs_values:
            return self.attention.amplitude * pull[np.newaxis]
        mean = where.synthesis(ive(k, beta) * back * seen)
        return np.asarray(pull / np.maximum(mean, EMPTY))[np.newaxis]


@dataclass(frozen=True, eq=False, kw_only=True)
class RowsEquation(GridEquation):
    """The terms of an equation for rows: moments (P, ...) in, velocities (directions, P, ...) out.

    ``edges`` (P + 1,) are those of the cells of positions; ``ValueError`` if weights are not
    those of P rows.
    """

    edges: FloatArray
    # A softmax knows the moments of mixtures, not their masses.
    may_lose_mass = False

    @cached_property
    def _acting(self) -> tuple[Any, ...]:
        """The interactions, each with what takes rows to the mixtures that they see."""
        terms: dict[Positions, list[Any]] = {}
        for term in self.interactions:
            terms.setdefault(term.positions or Full(), []).append(term)
        acting: list[MixedTerm | TurnedHead] = []
        for seen, some in terms.items():
            mix, _ = seen.see(self.edges)
            if not seen.rope:
                acting += [MixedTerm(mix, one) for one in self._put_on_grid(some)]
                continue
            if self.geometry.dimension != 2 or not all(one.is_zonal for one in some):
                raise ValueError(
                    f"{some[0]!r} on {self.geometry!r}: rope turns tokens on a Circle, whose "
                    "attention has no matrices"
                )
            middles = (self.edges[1:] + self.edges[:-1]) / 2
            acting += [TurnedHead(mix, one, seen.rope * middles) for one in some]
        return tuple(acting)

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
