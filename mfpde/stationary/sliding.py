r"""The minimiser of E among weighted pieces, atoms or rings, with its certificate.

1. Local minima of F below its mean come in as new pieces, with the best masses on all
   (``mass_program.py``); pieces without mass go out.
2. Neighbours within a radius are united, and the pieces slide (``sliding_newton.py``).  The
   result is kept if its energy is not above that after 1.  Without progress the radius is halved,
   with progress doubled.
3. Once F has no minimum below its mean, pieces are united until their positions and masses
   are determined, if the energy allows it, and F is bounded below over the whole sphere; if the
   gap is too large, points where F is low come in.

This is the sliding Frank-Wolfe method (Denoyelle, Duval, Peyre & Soubies, 2019), which without
step 2 is the fully corrective Frank-Wolfe method.
"""

from __future__ import annotations

from typing import NamedTuple

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
WIDEST, CLOSEST = 1 / 2, 0.01
"""Distances, in widths of the kernel, within which neighbours are united."""


class SlidingEnd(NamedTuple):
    """The best pieces found, their certificate and the condition of their system."""

    positions: FloatArray
    masses: FloatArray
    certificate: Certificate
    condition: float


def sliding_minimum(pieces: AtomicPieces, tolerance: float) -> SlidingEnd:
    """Minimise E over the pieces to a gap of ``tolerance``, if possible."""
    here = balance(pieces, pieces.start())
    within, is_determined = WIDEST, True
    for _ in range(MOST_ROUNDS):
        new = pieces.lowest(here.state, tolerance / 2)
        if not len(new):
            if is_determined:
                here = _determine(pieces, here, here.energy + tolerance / 2)
                is_determined = _is_determined(pieces, here)
            found, new = pieces.probe(here.state, tolerance)
            if found.gap <= tolerance or not len(new):
                break
        here = balance(pieces, here.state, new)
        limit = here.energy + ROUNDING * pieces.scale
        lower = _unite_and_slide(pieces, here, within, limit)
        is_progress = here.energy - lower.energy >= tolerance
        within = min(2 * within, WIDEST) if is_progress else within / 2
        here = lower
    else:
        found, _ = pieces.probe(here.state, tolerance)
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
