"""What a validation script says and measures: a claim, its quantities, its verdict.

Each script of a section (``validation/exact_facts``, ``theorems``, ``figures``,
``particle_limit``, ``schemes``, ``next_checks``; in the order of the section's
``SCRIPTS``) has a ``CLAIM`` and

    main(quick=False) -> {"quantities": [Quantity, ...], "figures": {name: Figure}}

Expected values are computed when it runs, from formulas or independent methods; a
tolerance is what the method promises, stated before it is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

SECTIONS = (
    "exact_facts",
    "theorems",
    "figures",
    "particle_limit",
    "schemes",
    "next_checks",
)

CONFIRMED = "confirmed"
CONDITIONAL = "confirmed with a condition"
REFUTED = "not confirmed"
FAILED = "failed: a quantity is outside its tolerance"


@dataclass(frozen=True)
class Claim:
    """What is claimed, and where.

    Parameters
    ----------
    title
        A line for the table.
    source
        The paper's numbering (``"Theorem 3.5"``, ``"Figure 7"``), or where else the
        formula stands.
    statement
        The claim in a sentence or two, with its formula.
    condition
        If the claim holds only under a condition: which.
    refutation
        If the claim as printed does not hold: what the quantities show instead, and why.
    """

    title: str
    source: str
    statement: str
    condition: str = ""
    refutation: str = ""


@dataclass(frozen=True)
class Quantity:
    """A measured number beside what is expected of it.

    Parameters
    ----------
    name
        What was measured, with its parameters.
    measured, expected
        The numbers.
    tolerance
        Largest difference allowed; a share of ``expected`` if ``relative``.
    rule
        ``"equal"``, or ``"at most"`` and ``"at least"`` where ``expected`` is a bound.
    """

    name: str
    measured: float
    expected: float
    tolerance: float
    rule: Literal["equal", "at most", "at least"] = "equal"
    relative: bool = False

    @property
    def excess(self) -> float:
        """How far the measured value is on the wrong side of the expected one."""
        difference = self.measured - self.expected
        signed = {
            "equal": abs(difference),
            "at most": difference,
            "at least": -difference,
        }
        return float(signed[self.rule])

    @property
    def allowed(self) -> float:
        """Largest ``excess`` within the tolerance."""
        return float(self.tolerance * (abs(self.expected) if self.relative else 1.0))

    @property
    def holds(self) -> bool:
        """Whether all numbers are finite and the measured one is within the tolerance."""
        numbers = (self.measured, self.expected, self.tolerance)
        return bool(np.all(np.isfinite(numbers))) and self.excess <= self.allowed


def verdict(claim: Claim, quantities: Sequence[Quantity]) -> str:
    """Return what the quantities say about the claim; at least one is needed."""
    if not quantities or not all(quantity.holds for quantity in quantities):
        return FAILED
    if claim.refutation:
        return REFUTED
    return CONDITIONAL if claim.condition else CONFIRMED
