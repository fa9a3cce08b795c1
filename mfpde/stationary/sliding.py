r"""The minimiser of E among weighted pieces, atoms or rings, with its certificate.

1. Local minima of F below its mean come in as new pieces, with the best masses on all
   (``mass_program.py``); pieces without mass go out.
2. Neighbours are united, and the pieces slide (``sliding_newton.py``).  That stays if the
   energy is not above what it was after 1; else it is tried with closer neighbours only.
3. Once there is no such minimum F is bounded below over the whole sphere; if the gap is too
   large, the point where F is lowest comes in.

This is the sliding Frank-Wolfe method (Denoyelle, Duval, Peyre & Soubies, 2019).  Where F is
flat over more than points, pieces cannot be told from what they stand for: 2 makes no
progress and is left out but for a round in three, which leaves the fully corrective
Frank-Wolfe method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from mfpde.arrays import FloatArray
from mfpde.stationary.certificate import Certificate
from mfpde.stationary.sliding_newton import (
    Pieces,
    State,
    condition,
    energy_of,
    slid,
    with_best_masses,
)

MOST_ROUNDS = 60
STALLED_ROUNDS = 6
WIDE, MIDDLE, NARROW = 0.4, 0.2, 0.1
STEPS, MANY_STEPS, LAST_STEPS = 5, 12, 20
FLAT = 1e-7
SLOW = 0.3
SLOW_ROUNDS = 2
REST = 3
ROUNDING = 1e-15


class SlidingPieces(Pieces, Protocol):
    """Pieces with all that the search for their minimum needs."""

    def start(self) -> State:
        """Pieces to begin with."""

    def lowest(self, state: State, below: float) -> tuple[FloatArray, float]:
        """Minima of F more than ``below`` under its mean, and how far the lowest is."""

    def united(self, state: State, within: float) -> State:
        """Neighbours within a distance made one."""

    def certified(
        self, state: State, tolerance: float
    ) -> tuple[Certificate, FloatArray]:
        """Return the certificate, and a position near F's smallest value."""


@dataclass(frozen=True, eq=False)
class SlidingEnd:
    """The best pieces found, their certificate and the condition of their system."""

    positions: FloatArray
    masses: FloatArray
    certificate: Certificate
    condition: float


@dataclass
class _Pace:
    """How fast the depth of F's minima falls; ``rounds`` counts those since it does not."""

    depth: float = float("inf")
    slow: int = 0
    rounds: int = 0

    def attempts(self, depth: float, scale: float) -> list[tuple[float, int]]:
        """Return distances within which to unite, and steps to slide, to be tried next."""
        self.slow = self.slow + 1 if depth > SLOW * self.depth else 0
        self.depth = depth
        if self.rounds or (self.slow >= SLOW_ROUNDS and depth < FLAT * scale):
            self.rounds += 1
        if not self.rounds:
            return [(WIDE, STEPS), (NARROW, STEPS)]
        if self.rounds % REST == 0:
            return [(WIDE, MANY_STEPS), (MIDDLE, STEPS), (NARROW, STEPS)]
        return []


def sliding_minimum(pieces: SlidingPieces, tolerance: float) -> SlidingEnd:
    """Minimise E over the pieces to a gap of ``tolerance``, if possible."""
    state, pace = pieces.start(), _Pace()
    best: tuple[State, Certificate] | None = None
    stalled = 0
    for number in range(MOST_ROUNDS):
        new, depth = pieces.lowest(state, tolerance / 4)
        is_last = number == MOST_ROUNDS - 1
        if not len(new) or is_last:
            if not pace.rounds:
                state = slid(pieces, state, steps=LAST_STEPS)
            found, new = pieces.certified(state, tolerance)
            stalled += 1
            if best is None or found.gap < best[1].gap:
                best, stalled = (state, found), 0
            if found.gap <= tolerance or stalled == STALLED_ROUNDS or is_last:
                break
        state = with_best_masses(pieces, state, new)
        state = _slid_if_lower(pieces, state, pace.attempts(depth, pieces.scale))
    assert best is not None
    state, found = best
    return SlidingEnd(*state, found, condition(pieces, state))


def _slid_if_lower(
    pieces: SlidingPieces, state: State, attempts: list[tuple[float, int]]
) -> State:
    """Unite and slide as the first attempt says that does not raise the energy."""
    energy = energy_of(pieces, state) + ROUNDING * pieces.scale
    for within, steps in attempts:
        united = pieces.united(state, within * pieces.width)
        trial = slid(pieces, with_best_masses(pieces, united), steps=steps)
        if energy_of(pieces, trial) <= energy:
            return trial
    return state
