r"""The minimiser of E among weighted pieces, atoms or rings, with its certificate.

1. Local minima of F below its mean come in as new pieces, with the best masses on all
   (``mass_program.py``); pieces without mass go out.
2. Neighbours within a radius are united, and the pieces slide (``sliding_newton.py``).  The
   result is kept if its energy is not above that after 1.  Without progress the radius is
   halved, and where no radius makes any, as on a flat F, step 2 waits for twice as many rounds.
3. Once F has no minimum below its mean, pieces are united until their positions and masses
   are determined, if the energy allows it, and F is bounded below over the whole sphere; if the
   gap is too large, points where F is low come in.

This is the sliding Frank-Wolfe method (Denoyelle, Duval, Peyre & Soubies, 2019), which without
step 2 is the fully corrective Frank-Wolfe method.
"""

from __future__ import annotations

from dataclasses import dataclass

from mfpde.arrays import FloatArray
from mfpde.stationary.atomic_pieces import AtomicPieces
from mfpde.stationary.certification import Certificate
from mfpde.stationary.sliding_newton import (
    ROUNDING,
    Balanced,
    balance,
    find_condition,
    slide,
)

LARGEST_CONDITION = 1e9
"""Above it positions and masses are not determined."""
MOST_ROUNDS = 400
WIDEST, CLOSEST = 0.4, 0.01
"""Distances, in widths of the kernel, within which neighbours are united."""
LEAST_GAIN = 1e-12
"""Fall of the energy, in units of its scale, that is progress."""
DEPTH_SHARE = 0.4
"""Share of the tolerance above which the depth of a minimum of F is of interest."""


@dataclass(frozen=True, eq=False)
class SlidingEnd:
    """The best pieces found, their certificate and the condition of their system."""

    positions: FloatArray
    masses: FloatArray
    certificate: Certificate
    condition: float


def sliding_minimum(pieces: AtomicPieces, tolerance: float) -> SlidingEnd:
    """Minimise E over the pieces to a gap of ``tolerance``, if possible."""
    here = balance(pieces, pieces.start())
    within, rounds, pause, is_determined = WIDEST, 0, 1, True
    for _ in range(MOST_ROUNDS):
        new = pieces.lowest(here.state, DEPTH_SHARE * tolerance)
        if not len(new):
            if is_determined:
                here = _determine(pieces, here, here.energy + tolerance / 4)
                is_determined = _is_determined(pieces, here)
            found, new = pieces.probe(here.state, tolerance)
            if found.gap <= tolerance or not len(new):
                break
        here, rounds = balance(pieces, here.state, new), rounds + 1
        if rounds < pause:
            continue
        limit = here.energy + ROUNDING * pieces.scale
        lower = _unite_and_slide(pieces, here, within, limit)
        if here.energy - lower.energy >= LEAST_GAIN * pieces.scale:
            within = min(2 * within, WIDEST)
        elif within > CLOSEST:
            within /= 2
        else:
            within, rounds, pause = WIDEST, 0, 2 * pause
        here = lower
    else:
        found = pieces.certify(here.state, tolerance)
    return SlidingEnd(*here.state, found, find_condition(pieces, here.state))


def _unite_and_slide(
    pieces: AtomicPieces, start: Balanced, within: float, limit: float
) -> Balanced:
    """Neighbours ``within`` a distance made one and slid; ``start`` if E is above ``limit``."""
    united = balance(pieces, pieces.unite(start.state, within * pieces.width))
    found = slide(pieces, united, limit=limit)
    return found if found.energy <= limit else start


def _determine(pieces: AtomicPieces, start: Balanced, limit: float) -> Balanced:
    """The most pieces whose positions and masses are determined, E at most ``limit``.

    ``start`` if there are none.
    """
    here, within = slide(pieces, start), CLOSEST
    while not _is_determined(pieces, here):
        united = _unite_and_slide(pieces, here, within, limit)
        if united is here or within > WIDEST:
            return start
        here, within = united, 2 * within
    return here


def _is_determined(pieces: AtomicPieces, here: Balanced) -> bool:
    return find_condition(pieces, here.state) < LARGEST_CONDITION
