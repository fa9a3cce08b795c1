r"""Tokens one by one, in the order of a context: what each sees, and how that pulls it.

Token i at the position s_i is moved by the mixture sum_j W_ij delta_(x_j) of the tokens that it
sees.  Under the causal mask with ALiBi, with masses m_j,

    W_ij = m_j e^(lambda s_j) / sum_(k <= i) m_k e^(lambda s_k),   j <= i (or both < i),

so that moments of mixtures are one recursion over the tokens.  Where as many stand for each row of
densities (:mod:`mfpde.positions.rows`), they see each other by the weights of rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import (
    FloatArray,
    IntArray,
    blocks_of_rows,
    check_entries,
    read_only,
    real_array,
    shown,
)
from mfpde.field import AtomField
from mfpde.geometry import FieldAtPoints
from mfpde.geometry.circle import angles_of, tangents_at
from mfpde.measures.measure import Atoms
from mfpde.positions.rows import read_edges
from mfpde.positions.weights import Causal, Full
from mfpde.terms import InteractionTerm, PointMasses
from mfpde.terms.external import tangential
from mfpde.terms.interaction import MOST_PAIRS, Mix, Weigh


@dataclass(frozen=True, eq=False, init=False, repr=False)
class PositionedAtoms(Atoms):
    """Tokens: atoms at positions in a context, in their order.

    Begin with ``PositionedAtoms([[1.0, 0.0], [0.0, 1.0]], positions=[0.5, 1.0])``.

    Parameters
    ----------
    points, masses
        As of :class:`Atoms`.
    positions
        Positions (n,) in (0, 1].
    edges
        Of tokens of rows the edges (P + 1,) of the cells of positions, equally many tokens in each
        cell; None for tokens one by one.

    Raises
    ------
    ValueError
        As for :class:`Atoms`, and for positions that do not rise within (0, 1].
    """

    positions: FloatArray
    edges: FloatArray | None

    def __init__(
        self,
        points: ArrayLike,
        masses: ArrayLike | None = None,
        *,
        positions: ArrayLike,
        edges: ArrayLike | None = None,
    ) -> None:
        super().__init__(points, masses)
        found = real_array("positions", positions)
        if found.shape != self.masses.shape:
            raise ValueError(
                f"positions of shape {found.shape} must be ({len(self)},), one for each atom"
            )
        rises, cells = np.diff(found, prepend=0.0), None
        # Tokens of a row are at its middle.
        rises[1:] += (edges is not None) * (rises[1:] == 0)
        allowed = "must rise within (0, 1], in the order of the atoms"
        check_entries("positions", found, (rises > 0) & (found <= 1), allowed)
        if edges is not None:
            cells = read_edges(edges, max(np.size(edges) - 1, 1))
            counts = np.bincount(
                np.searchsorted(cells[1:-1], found), None, len(cells) - 1
            )
            if np.ptp(counts):
                raise ValueError(f"edges: positions per cell differ: {counts}")
        vars(self).update(positions=read_only(found), edges=cells)

    def rows(self, edges: ArrayLike | None = None) -> tuple[Atoms, ...]:
        """The tokens in each cell (e_(i-1), e_i] of positions, with masses of sum 1.

        ``edges`` (P + 1,) are those of rows to compare with; of the tokens of rows their own.
        ``ValueError`` if there are none, or a cell has no tokens.
        """
        given = self.edges if edges is None else real_array("edges", edges)
        if given is None:
            raise ValueError("edges = None: tokens one by one have no cells of theirs")
        found = []
        for low, high in pairwise(given):
            own = (low < self.positions) & (self.positions <= high)
            if not own.any():
                raise ValueError(f"edges: no token is in ({low:g}, {high:g}]")
            shares = self.masses[own] / self.masses[own].sum()
            found.append(Atoms(self.points[own], shares))
        return tuple(found)

    def field_under(self, equation: Any) -> AtomField:
        """The field of what each token sees, at the tokens; that of all atoms without masks."""
        terms = tuple(t for t in equation.terms if isinstance(t, InteractionTerm))
        rest = equation.externals, equation.sign, self
        if all(term.positions is None for term in terms):
            return AtomField(terms, *rest)
        return TokenField(tuple(see_tokens(term, self) for term in terms), *rest)

    def moved_to(self, points: FloatArray) -> PositionedAtoms:
        """The tokens at other ``points`` (n, d)."""
        given = points, self.masses
        return PositionedAtoms(*given, positions=self.positions, edges=self.edges)

    def means(self, edges: ArrayLike | None = None) -> FloatArray:
        """The means (P, d) of the tokens in each of the cells of :meth:`rows`."""
        return np.stack([row.masses @ row.points for row in self.rows(edges)])


def place_tokens(start: object, positions: ArrayLike) -> PositionedAtoms:
    """Return the atoms ``start`` as tokens; ``ValueError`` for others, as they have no order."""
    if not isinstance(start, Atoms):
        raise ValueError(f"positions are those of atoms, but start is {shown(start)}")
    return PositionedAtoms(start.points, start.masses, positions=positions)


@dataclass(frozen=True, eq=False)
class TokenField(AtomField):
    """The field at tokens of what each sees."""

    interactions: tuple[Any, ...]

    def velocity_by_moments(self) -> FloatArray:
        """The velocity (n, 2) of tokens on S^1, with terms of x.y summed by moments."""
        others = tuple(one for one in self.interactions if not one.term.is_zonal)
        velocity = replace(self, interactions=others).velocity()
        for one in self.interactions:
            if one.term.is_zonal:
                velocity += self.sign * one.drift_on_circle(self.atoms.points)
        return velocity


@dataclass(frozen=True, eq=False)
class SeenTerm:
    """A ``term`` at tokens with the ``shares`` (P, count) of the mass of their rows, or one each.

    Rows see by ``mix``, of their moments, and ``weigh``.
    """

    term: InteractionTerm
    shares: FloatArray
    mix: Mix
    weigh: Weigh

    def sums_over_atoms(
        self, points: FloatArray, tokens: PointMasses
    ) -> tuple[FloatArray, FloatArray]:
        """Potentials (n,) and vectors (n, d) at the ``tokens`` themselves, by direct sums."""
        if not np.array_equal(points, tokens.points):
            raise ValueError("points: tokens have a field at themselves; leave it out")
        return self._sum_at(np.arange(len(points)), points)

    def _sum_at(
        self, index: IntArray, points: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        values = np.zeros(len(index))
        vectors = np.zeros((len(index), points.shape[1]))
        for block in blocks_of_rows(len(index), len(points), MOST_PAIRS):
            rows = self.weigh(index[block] // self.shares.shape[1])
            weights = (rows[:, :, np.newaxis] * self.shares).reshape(len(rows), -1)
            last = np.flatnonzero(weights.any(axis=0)).max(initial=-1) + 1
            # The first token may see nothing.
            sees = weights.any(axis=1)
            seen = PointMasses(points[:last], weights[sees, :last])
            sums = self.term.sums_over_atoms(points[index[block][sees]], seen)
            values[block][sees], vectors[block][sees] = sums
        return values, vectors

    def drift_on_circle(self, points: FloatArray) -> FloatArray:
        """Drifts (n, 2) of all tokens by the moments of what they see, of a kernel of x.y."""
        angles, kernel = angles_of(points), self.term.zonal_kernel
        k = np.arange(kernel.band_limit(2) + 1)
        spectrum = np.where(k > 0, 2.0, 1.0) * kernel.spectrum(2, len(k) - 1)
        waves = np.exp(1j * angles[:, np.newaxis] * k)
        rows, count = self.shares.shape
        own = waves.conj().reshape(rows, count, -1)
        moments = np.einsum("pc,pcm->pm", self.shares, own)
        waves *= np.repeat(self.mix(moments), count, axis=0)
        means, slopes = waves.real @ spectrum, -waves.imag @ (k * spectrum)
        mean = FieldAtPoints(means, slopes[:, np.newaxis] * tangents_at(angles))
        return self.term.drift_from_means(
            mean, lambda i: tangential(self._sum_at(i, points)[1], points[i])
        )


def see_tokens(term: InteractionTerm, tokens: PositionedAtoms) -> SeenTerm:
    """The ``term`` at ``tokens``, as they see each other by its positions."""
    seen, edges, masses = term.positions or Full(), tokens.edges, tokens.masses
    if seen.rope:
        raise ValueError(f"rope = {seen.rope:g} turns rows of densities, not particles")
    if edges is None and isinstance(seen, Causal):
        alone = np.ones((len(tokens), 1))
        return SeenTerm(term, alone, *seen.see_tokens(masses, tokens.positions))
    if edges is None:
        # Each is a row of its own.
        edges = np.append(0.0, np.cumsum(masses / tokens.total_mass))
    shares = masses.reshape(len(edges) - 1, -1)
    shares = shares / shares.sum(axis=1, keepdims=True)
    return SeenTerm(term, shares, *seen.see(edges))
