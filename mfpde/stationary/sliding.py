r"""The minimiser of E among weighted pieces, atoms or rings, with its certificate.

1. Local minima of F below its mean come in as new pieces, with the best masses on all
   (``mass_program.py``); pieces without mass go out.
2. Neighbours are united, and the pieces slide (``sliding_newton.py``).  The result is kept if
   its energy is not above that after 1; else step 2 is tried with closer neighbours only.
3. Once F has no minimum below its mean, F is bounded below over the whole sphere; if the gap
   is too large, points where F is low come in.

This is the sliding Frank-Wolfe method (Denoyelle, Duval, Peyre & Soubies, 2019).  Where F is
flat along curves or on areas, the positions of pieces are not determined: step 2 makes no
progress and is tried more and more seldom, which leaves the fully corrective
Frank-Wolfe method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from mfpde.arrays import FloatArray
from mfpde.stationary.certification import Certificate
from mfpde.stationary.sliding_newton import (
    Arrangement,
    Balanced,
    WeightedPieces,
    balanced,
    condition,
    slid,
)

LARGEST_CONDITION = 1e9
"""Above it positions and masses are not determined."""
MOST_ROUNDS = 400
WIDTHS = (0.4, 0.2, 0.1, 0.03)
SETTLED_WIDTHS = (0.01, 0.03, 0.1, 0.2, 0.4)
FEW_STEPS, STEPS, MANY_STEPS, LAST_STEPS = 3, 8, 12, 20
FAR = 1e-5
FLAT = 1e-7
SLOW = 0.3
LEAST_GAIN = 1e-12
SLOW_ROUNDS = 2
DEPTH_SHARE = 0.4
REST = 6
ROUNDING = 1e-15


class SlidingPieces(WeightedPieces, Protocol):
    """Pieces with the operations that the search for their minimum needs."""

    def start(self) -> Arrangement:
        """State that the search begins with."""

    def lowest(self, state: Arrangement, below: float) -> tuple[FloatArray, float]:
        """Minima of F more than ``below`` under its mean, and how far the lowest is below it."""

    def united(self, state: Arrangement, within: float) -> Arrangement:
        """State with neighbours within a distance made one."""

    def certified(self, state: Arrangement, tolerance: float) -> Certificate:
        """Certificate of the pieces from a full search."""

    def tested(
        self, state: Arrangement, tolerance: float
    ) -> tuple[Certificate, FloatArray]:
        """Certificate of a search that stops early, and positions where it met low values of F."""


@dataclass(frozen=True, eq=False)
class SlidingEnd:
    """The best pieces found, their certificate and the condition of their system."""

    positions: FloatArray
    masses: FloatArray
    certificate: Certificate
    condition: float


@dataclass
class _Pace:
    """Progress of the search: how fast the depth of F's minima falls, and what to try next.

    ``rounds`` counts the rounds since the depth stopped falling; from then on neighbours are
    united only when it reaches ``next``, which is tripled each time.  ``widest`` is the index
    of the distance in ``WIDTHS`` to begin with.
    """

    depth: float = float("inf")
    slow: int = 0
    rounds: int = 0
    next: int = REST
    widest: int = 0

    def attempts(self, depth: float, scale: float) -> tuple[tuple[float, ...], int]:
        """Return the distances within which to unite, in order, and the number of Newton steps."""
        self.slow = self.slow + 1 if depth > SLOW * self.depth else 0
        self.depth = depth
        if self.rounds or (self.slow >= SLOW_ROUNDS and depth < FLAT * scale):
            self.rounds += 1
        if 0 < self.rounds < self.next:
            return (), 0
        if self.rounds:
            self.next *= 3
            return WIDTHS, MANY_STEPS
        return WIDTHS[self.widest :], FEW_STEPS if depth > FAR * scale else STEPS

    def succeeded(self, within: float) -> None:
        """Begin the next attempts with the distance before the one that succeeded."""
        self.widest = max(0, WIDTHS.index(within) - 1)

    def failed(self, depth: float, scale: float) -> None:
        """Begin to count ``rounds`` if F is flat: no distance succeeded, or without effect."""
        if depth < FLAT * scale:
            self.rounds = max(self.rounds, 1)


def sliding_minimum(pieces: SlidingPieces, tolerance: float) -> SlidingEnd:
    """Minimise E over the pieces to a gap of ``tolerance``, if possible."""
    pace, is_tidied = _Pace(), False
    here = balanced(pieces, pieces.start())
    for _ in range(MOST_ROUNDS):
        new, depth = pieces.lowest(here.state, DEPTH_SHARE * tolerance)
        if not len(new):
            if not pace.rounds:
                here = slid(pieces, here, steps=LAST_STEPS)
            elif not is_tidied:
                here, is_tidied = _tidied(pieces, here, tolerance), True
            found, new = pieces.tested(here.state, tolerance)
            depth = found.mean_field - found.smallest
            if found.gap <= tolerance or not len(new):
                break
        here = balanced(pieces, here.state, new)
        here = _slid_if_lower(pieces, here, pace, depth=depth)
    else:
        found = pieces.certified(here.state, tolerance)
    if is_tidied and condition(pieces, here.state) >= LARGEST_CONDITION:
        return SlidingEnd(*here.state, found, condition(pieces, here.state))
    return _settled(pieces, here.state, found, tolerance)


def _slid_if_lower(
    pieces: SlidingPieces, start: Balanced, pace: _Pace, *, depth: float
) -> Balanced:
    """Unite and slide at the first distance that does not raise the energy."""
    distances, steps = pace.attempts(depth, pieces.scale)
    for within in distances:
        united = balanced(pieces, pieces.united(start.state, within * pieces.width))
        limit = start.energy + ROUNDING * pieces.scale
        trial = slid(pieces, united, steps=steps, limit=limit)
        if trial.energy <= limit:
            pace.succeeded(within)
            if start.energy - trial.energy < LEAST_GAIN * pieces.scale:
                pace.failed(depth, pieces.scale)
            return trial
    if distances:
        pace.failed(depth, pieces.scale)
    return start


def _settled(
    pieces: SlidingPieces, state: Arrangement, found: Certificate, tolerance: float
) -> SlidingEnd:
    """Replace the pieces by fewer, well-determined ones where the gap allows it."""
    fewer = _tidied(pieces, balanced(pieces, state), tolerance).state
    if len(fewer.masses) < len(state.masses):
        again = pieces.certified(fewer, tolerance)
        if again.gap <= max(tolerance, found.gap):
            state, found = fewer, again
    return SlidingEnd(*state, found, condition(pieces, state))


def _tidied(pieces: SlidingPieces, start: Balanced, tolerance: float) -> Balanced:
    """Unite until the condition number is acceptable, unless that raises the energy."""
    if condition(pieces, start.state) < LARGEST_CONDITION:
        return start
    limit = start.energy + tolerance / 4
    # The widest first: where pieces far apart are not determined, closer ones are not either.
    for within in (SETTLED_WIDTHS[-1], *SETTLED_WIDTHS[:-1]):
        united = balanced(pieces, pieces.united(start.state, within * pieces.width))
        trial = slid(pieces, united, steps=MANY_STEPS, limit=limit)
        is_low = trial.energy <= limit
        if is_low and condition(pieces, trial.state) < LARGEST_CONDITION:
            return trial
        if is_low == (within == SETTLED_WIDTHS[-1]):
            break
    return start
