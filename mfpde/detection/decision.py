r"""The kind of a region, decided from several indicators, never from one.

In this order:

1. an exact atom of the measure is an atom by construction;
2. mass on a line (locally anisotropic and of dimension 1) is a curve;
3. mass that contracts in every direction, flows inwards and stands out of its basin is an
   atom if it is at most 1.2 cells wide and its masses in balls no longer grow, and forming
   otherwise; if the 2:1 coarsened density has another basin there, it is unresolved;
4. without velocity it is frozen;
5. a density that the 2:1 coarsened grid does not represent is unresolved;
6. a resolved density with a jump in it is called so; everything else is resolved.

Contraction is that of the density's own velocity, own mass included.  "Without velocity" means
|v| < 1e-3 h per unit time: a thousand units of time for a cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from mfpde.arrays import FloatArray

Kind = Literal["atom", "forming", "curve", "unresolved", "jump", "frozen", "resolved"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""All kinds, in the order in which they are listed."""

NARROW = 1.2
"""An atom's rms radius in each direction, in cells, is at most this."""
NARROW_WITHOUT_GRID = 1e-3
"""Largest rms radius of an atom, in radians, where there are no cells."""
CELL_WITHOUT_GRID = NARROW_WITHOUT_GRID / NARROW
"""The length that stands for a cell's width where there are none."""
ATOM_EXPONENT = 0.5
"""Largest d log Q / d log r of an atom between 2 and 4 cells."""
LEAST_EXCESS = 2.0
"""What stands out has a core at least this many times as dense as its basin."""
LEAST_MASS, LEAST_SHARE = 1e-4, 1e-2
"""Least mass of a core that may be an atom; least share of its basin."""
LEAST_RATE = 1e-3
"""Slowest contraction, per unit time."""
FROZEN_SPEED = 1e-3
"""Largest speed of what is called frozen, in cells per unit time."""
COARSE_TOLERANCE = 0.15
"""Largest L1 difference from the coarsened grid, as a share of the core."""
COARSE_MASS_TOLERANCE = 0.25
"""Largest change of a basin's mass on the coarsened density, as a share of it."""
RIVAL, SECOND_PEAK = 0.25, 1e-2
"""So much of the core's mass elsewhere in the same basin has yet to arrive: as a second
densest window, or at a point."""


@dataclass(frozen=True, eq=False)
class Signals:
    """The indicators for one region; NaN where there is no grid.

    Attributes
    ----------
    core_mass, core_share
        Mass of the core, and its share of the basin.
    excess
        Mean density of the core over its extent (that of a uniform density with its rms
        radius, at most the ball), in units of that of its basin.
    eigenvalues
        Eigenvalues of the velocity's gradient at the core's mean, (d - 1,).
    inflow
        tr cov(v, x) / tr cov(x, x) over the core: negative if it shrinks.
    width
        Largest principal rms radius within 6 cells, in cells.
    exponent
        d log mu(B(r)) / d log r between 2 and 4 cells about the mean.
    rival
        Mass of the second densest window of the basin, as a share of the core.
    second_peak
        The value of ``rival`` if that window's mass is at most 1.2 cells wide, else 0.
    largest_speed
        Largest speed in the basin, in cells per unit time.
    coarse_difference
        L1 difference from the 2:1 coarsened density within 6 cells, as a share.
    coarse_mass_change
        Change of the basin's mass on the coarsened density, as a share of it.
    is_exact, is_curve, has_jump
        Whether the region is an exact atom, is mass on a line, has a jump in its basin.
    """

    core_mass: float
    core_share: float
    excess: float
    eigenvalues: FloatArray
    inflow: float
    width: float
    exponent: float
    rival: float
    largest_speed: float
    coarse_difference: float
    coarse_mass_change: float
    second_peak: float = 0.0
    is_exact: bool = False
    is_curve: bool = False
    has_jump: bool = False

    @property
    def contracts(self) -> bool:
        """Whether all lengths shrink, by the velocity's gradient and by the flow."""
        return bool(np.max(self.eigenvalues) < -LEAST_RATE and self.inflow < 0)

    @property
    def stands_out(self) -> bool:
        """Whether the core is clearly denser than its basin, and not negligible."""
        heavy = self.core_mass > LEAST_MASS and self.core_share > LEAST_SHARE
        return heavy and self.excess > LEAST_EXCESS

    @property
    def is_narrow(self) -> bool:
        """Whether the core is a point to the grid, by its width and its ball masses."""
        return self.width <= NARROW and not self.exponent > ATOM_EXPONENT


def decide(signals: Signals) -> tuple[Kind, str]:
    """Kind of a region, and the reason in words."""
    if signals.is_exact:
        return "atom", "an exact atom of the measure"
    if signals.is_curve:
        return "curve", "narrow across and long along, mass grows linearly in balls"
    if signals.contracts and signals.stands_out:
        return _contracting(signals)
    return _standing(signals)


def _contracting(signals: Signals) -> tuple[Kind, str]:
    if signals.coarse_mass_change > COARSE_MASS_TOLERANCE:
        return "unresolved", "contracts, but the coarsened density has another basin"
    if not signals.is_narrow:
        return "forming", "contracts, and is wider than a cell"
    if signals.rival > RIVAL or signals.second_peak > SECOND_PEAK:
        return "forming", "a second peak flows to the same attractor"
    return "atom", "contracts, a cell wide, mass in balls constant"


def _standing(signals: Signals) -> tuple[Kind, str]:
    if signals.largest_speed < FROZEN_SPEED:
        return "frozen", "no speed above 1e-3 cells per unit time"
    if signals.coarse_difference > COARSE_TOLERANCE:
        return "unresolved", "the coarsened grid does not represent it"
    if signals.has_jump:
        return "jump", "a resolved density with a jump, nothing contracts there"
    return "resolved", "a resolved density, nothing contracts there"
