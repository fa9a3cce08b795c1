"""What a validation script says and measures: a claim, its quantities, its verdict.

Each script of a section (``validation/exact_facts``, ``theorems``, ``figures``,
``particle_limit``, ``schemes``, ``next_checks``; in the order of the section's
``SCRIPTS``) is a function that yields rows and pictures and is decorated by its claim:
``main`` of the module of that name, or of ``"home.name"`` the function ``name`` in ``home``.

    @CLAIM
    def main(quick: bool = False) -> Findings:
        yield equal("mass of the atom", run.masses.max(), exact, 1e-9)
        yield vanishes("E - E* along the run", run.energies - least, 1e-12)
        yield from mark(spectra(quick), under="S^2: ", subject="formula")
        yield "masses", figure

Called, it returns ``{"quantities": [Quantity, ...], "figures": {name: Figure}}``.

Expected values are computed when it runs, from formulas or independent methods; a
tolerance is what the method promises.  A tolerance, an expected value or an input changes
only in a commit of its own that says why.

A verdict follows from the quantities.  A condition or a refutation needs a quantity that
shows it (``shows=``); a number in its text is a quantity's, put in where the text names the
quantity's key:

    condition="of the three clusters two are left, merged at t = {merge:.2g}"
    equal("time of the merge", measured, expected, 0.05, key="merge", shows="condition")
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import ArrayLike

SECTIONS: Final = {
    "exact_facts": "Exact facts",
    "theorems": "Theorems",
    "figures": "Figures of the paper",
    "particle_limit": "Particles and their limit",
    "schemes": "Schemes",
    "next_checks": "Next checks",
}
"""Folders of scripts, in the order of the report, and their titles there."""

PROVED = "proved by certificate"
UNCONTRADICTED = "no counterexample in {tries} tries"
REPRODUCED = "reproduced at guessed beta"
MEASURED = "measured"
CONTRADICTED_IN_PART = "contradicted in part"
CONTRADICTED = "contradicted"
FAILED = "failed: a quantity is outside its tolerance"
WITH_CONDITION = ", with a condition"

NUMBERS_IN_WORDS: Final = (
    "no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"
)  # fmt: skip


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
        With a condition beside it the claim holds in part: there, and not here.
    at_guessed_beta
        Whether the source has a beta that we do not know: then its numbers cannot be compared,
        and what holds, holds at the beta chosen here.
    """

    title: str
    source: str
    statement: str
    condition: str = ""
    refutation: str = ""
    at_guessed_beta: bool = False

    def __call__(
        self, findings: Callable[..., Findings]
    ) -> Callable[..., dict[str, Any]]:
        """As a decorator: collect the rows and pictures that ``findings(quick)`` yields.

        The function has the claim as its attribute ``claim``.
        """

        @wraps(findings)
        def main(quick: bool = False) -> dict[str, Any]:
            rows: list[Quantity] = []
            figures: dict[str, Any] = {}
            for found in findings(quick):
                match found:
                    case Quantity():
                        rows.append(found)
                    case str(name), figure:
                        figures[name] = figure
                    case _:
                        raise TypeError(f"{found!r} is no row and no named figure")
            return {"quantities": rows, "figures": figures}

        main.claim = self  # type: ignore[attr-defined]
        return main

    def told(self, quantities: Sequence[Quantity], *, quick: bool = False) -> Claim:
        """Return the claim with the numbers of ``quantities`` in its texts.

        ``{key}`` and ``{key:.2g}`` stand for the measured value of the quantity of this
        key, ``{key:word}`` for it in words up to ten, ``{key.expected:.2g}`` for its
        expected value.

        Parameters
        ----------
        quick
            Whether the quantities are those of a quick form, which may lack some: then
            no number is put in, and a text that no quantity shows is left out.

        Raises
        ------
        ValueError
            If a text names a key that no quantity has, or two quantities share a key.
        """
        keyed = [quantity for quantity in quantities if quantity.key]
        by_key = {quantity.key: quantity for quantity in keyed}
        if len(by_key) < len(keyed):
            raise ValueError(f"{self.title}: two quantities have the same key")
        texts = {"condition": self.condition, "refutation": self.refutation}
        if quick:
            shown = {quantity.shows for quantity in quantities}
            blank = {n: re.sub(r"\{[^}]*\}", "…", texts[n]) for n in shown & set(texts)}
            return replace(self, **dict.fromkeys(texts, "") | blank)
        try:
            told = {name: text.format_map(by_key) for name, text in texts.items()}
        except KeyError as error:
            raise ValueError(
                f"{self.title}: its text names {error}, which is the key of no quantity; "
                f"there are {sorted(by_key)}"
            ) from error
        return replace(self, **told)


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
    key
        Name by which the texts of the claim cite the measured number.
    subject
        ``"formula"`` for a closed form beside another, which no run of the solver, no
        minimiser and no polished state enters; such a number is the same whatever is
        wrong with the solver (``validation.saboteurs`` checks this).
    shows
        Whether the number shows the claim, its condition or its refutation.
    tries
        Of a claim about all measures, or all weights: how many of them the number was taken
        over in search of one that contradicts it.
    certificate
        Whether the number is a duality gap, which proves that a measure is the least or the
        largest one.
    """

    name: str
    measured: float
    expected: float
    tolerance: float
    rule: Literal["equal", "at most", "at least"] = "equal"
    relative: bool = False
    key: str = ""
    subject: Literal["solver", "formula"] = "solver"
    shows: Literal["claim", "condition", "refutation"] = "claim"
    tries: int = 0
    certificate: bool = False

    def __post_init__(self) -> None:
        """Make plain floats of numpy's numbers and of truth values."""
        for name in ("measured", "expected", "tolerance"):
            object.__setattr__(self, name, float(getattr(self, name)))

    def __format__(self, spec: str) -> str:
        """The measured value; with the spec ``word`` a number up to ten in words."""
        if spec != "word":
            return format(self.measured, spec or ".3g")
        if self.measured not in range(len(NUMBERS_IN_WORDS)):
            return f"{self.measured:g}"
        return NUMBERS_IN_WORDS[int(self.measured)]

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


Findings = Iterator[Quantity | tuple[str, Any]]
"""What a ``main`` yields: rows, and pictures as pairs of a name and a matplotlib figure."""


def equal(
    name: str, measured: float, expected: float, tolerance: float, **more: Any
) -> Quantity:
    """Return the row |measured - expected| <= tolerance; ``more`` is of :class:`Quantity`."""
    return Quantity(name, measured, expected, tolerance, **more)


def vanishes(name: str, measured: ArrayLike, tolerance: float, **more: Any) -> Quantity:
    """Return the row |measured| <= tolerance, of an array for its largest absolute value."""
    largest = np.abs(measured).max() if np.ndim(measured) else measured
    return Quantity(name, largest, 0.0, tolerance, **more)


def at_most(
    name: str, measured: float, bound: float, tolerance: float = 0.0, **more: Any
) -> Quantity:
    """Return the row measured <= bound + tolerance."""
    return Quantity(name, measured, bound, tolerance, "at most", **more)


def at_least(
    name: str, measured: float, bound: float, tolerance: float = 0.0, **more: Any
) -> Quantity:
    """Return the row measured >= bound - tolerance."""
    return Quantity(name, measured, bound, tolerance, "at least", **more)


def mark(rows: Iterable[Quantity], *, under: str = "", **more: Any) -> list[Quantity]:
    """Return ``rows`` with ``under`` before their names, and ``more`` as in Quantity.

    ``mark(rows, under="S^2, beta = 4: ", subject="formula", tries=1)``
    """
    return [replace(row, name=under + row.name, **more) for row in rows]


def verdict(claim: Claim, quantities: Sequence[Quantity]) -> str:
    """Return what the quantities say about the claim; at least one is needed.

    Examples do not confirm a claim about all measures, they fail to contradict it; a number
    beside its expected value is a measurement; a duality gap proves.  A condition or a
    refutation that no quantity shows is a failure.
    """
    shown = {quantity.shows for quantity in quantities}
    needed = {name for name in ("condition", "refutation") if getattr(claim, name)}
    if not quantities or not all(quantity.holds for quantity in quantities):
        return FAILED
    if not needed <= shown:
        return FAILED
    if claim.refutation:
        return CONTRADICTED_IN_PART if claim.condition else CONTRADICTED
    if claim.at_guessed_beta:
        return REPRODUCED
    if tries := sum(quantity.tries for quantity in quantities):
        word = UNCONTRADICTED.format(tries=tries)
    elif any(quantity.certificate for quantity in quantities):
        word = PROVED
    else:
        word = MEASURED
    return word + (WITH_CONDITION if claim.condition else "")


# Numbers that a text may hold without a quantity: names of statements and settings.
_NAMED: Final = re.compile(
    r"""\{[^}]*\}
    | S\^?[\d¹²]
    | (?:figures?|theorems?|lemma|propositions?|remarks?|corollary|sections?|seeds?|eqs?\.|
        arXiv|footnote|degrees?|modes?|order)\s\(?[\d.]+(?:\)|,\s[\d.]+|\sand\s[\d.]+|\sto\s[\d.]+)*
    | (?:\b(?:beta|t|d|N|n|nlat|rings|cells|kappa|scale|l|m|w)|β|κ)\s?(?:=|<=|>=|<|>|≤|≥)\s?
        [\d.]+(?:e[+-]?\d+)?(?:(?:,|\sand|\sto|\sor)\s[\d.]+)*
    | L\^?[12]\b | W_?1 | [A-Za-z]_\d | \^\(?-?\d(?:/\d)?\)? | (?<![\d.])0(?![.\d]) | \b1/[a-z(]
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NUMBER: Final = re.compile(
    r"\d+(?:\.\d+)?|\b(?:two|three|four|five|six|seven|eight|nine|ten|twice|third|quarter|fifth|"
    r"sixth|seventh|tenth|dozen|hundred)s?\b",
    re.IGNORECASE,
)


def numbers_without_quantity(text: str) -> list[str]:
    """Return the numbers in a condition or refutation that no quantity stands for.

    Numbers of statements, dimensions and parameters ("Theorem 3.1", "d = 2", "beta = 5,
    15") are names; all others, in digits or in words, must be put in by ``{key}``.
    """
    rest = _NAMED.sub(" ", text)
    return [found.group() for found in _NUMBER.finditer(rest)]
