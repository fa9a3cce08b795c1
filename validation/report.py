"""The report: a table of all claims, and of each claim a page with its pictures and numbers."""

from __future__ import annotations

import html
import math
import os
import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from validation.claim import FAILED, SECTIONS, Quantity
from validation.results import CLAIMS, Result, claim_path, figure_path
from validation.sources import HERE, provenance_line

README: Final = HERE / "README.md"
SIGNS: Final = {"equal": "", "at most": "≤ ", "at least": "≥ "}
HEADER: Final = "| Claim | Source | Checks | Verdict |\n|---|---|---|---|"
QUANTITY_HEADER: Final = (
    "| Quantity | Measured | Expected | Tolerance | Holds |\n|---|---|---|---|---|"
)
READ, WRITTEN = (
    "## How to read it\n\n",
    "<!-- From here on written by --update. -->\n\n",
)
"""In validation/README.md: what the report repeats begins and ends here."""
MARKS: Final = re.compile(r"([\\`*_\[\]|])")


def write_report(
    results: Sequence[Result],
    out: Path,
    *,
    name: str = "report",
    readme: Path | None = None,
) -> list[Path]:
    """Write a report as Markdown into ``out``, and the table of ``readme``.

    Parameters
    ----------
    results
        In the order of the report.
    out
        Where the figures of ``results`` are.
    name
        Of its first page, without suffix.
    readme
        ``validation/README.md``, or None to leave it as it is.

    Returns
    -------
    The files that were written.
    """
    (out / CLAIMS).mkdir(parents=True, exist_ok=True)
    report = out / f"{name}.md"
    texts = {report: report_text(results, out)}
    for result in results:
        texts[claim_path(out, result.script)] = claim_page(result, out)
    if readme is not None:
        texts[readme] = readme_text(results, readme.parent, out=out)
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return [report, *([] if readme is None else [readme])]


def readme_text(results: Sequence[Result], root: Path, *, out: Path) -> str:
    """Return how to run and to read, which stays, and one row per claim."""
    head, _, _ = README.read_text(encoding="utf-8").partition(WRITTEN)
    origin = provenance_line(quick=any(result.quick for result in results))
    tables = claim_tables(results, root, out=out)
    return f"{head}{WRITTEN}{summary(results)} {origin}\n\n{tables}"


def report_text(results: Sequence[Result], out: Path) -> str:
    """Return the first page of the report in ``out``, as Markdown."""
    text = README.read_text(encoding="utf-8").partition(WRITTEN)[0]
    reading = text.partition(READ)[2].replace("](report/", "](")
    origin = provenance_line(quick=any(result.quick for result in results))
    head = f"# Validation of mfpde\n\n{reading}{summary(results)}\n\n{origin}\n\n"
    return head + claim_tables(results, out, out=out)


def summary(results: Sequence[Result]) -> str:
    """Return how many claims and quantities there are, and how many hold."""
    quantities = [quantity for result in results for quantity in result.quantities]
    kept = sum(quantity.holds for quantity in quantities)
    words = [result.verdict.split(":")[0] for result in results]
    verdicts = Counter(re.sub(r"in \d+ tries", "in n tries", word) for word in words)
    counts = ", ".join(f"{count} {word}" for word, count in verdicts.items())
    size = "quick forms, " if any(result.quick for result in results) else ""
    minutes = sum(result.seconds for result in results) / 60
    return (
        f"**{len(results)} claims: {counts}.** {kept} of {len(quantities)} quantities "
        f"within their tolerances ({size}{minutes:.1f} minutes of processor time)."
    )


def claim_tables(results: Sequence[Result], root: Path, *, out: Path) -> str:
    """Return one table per section of the report in ``out``; links are relative to ``root``."""
    lines: list[str] = []
    for section, group in groupby(results, lambda result: result.script.section):
        rows = [claim_row(result, root, out=out) for result in group]
        lines += [f"## {SECTIONS.get(section, section)}", "", HEADER, *rows, ""]
    return "\n".join(lines)


def claim_row(result: Result, root: Path, *, out: Path) -> str:
    """Return the row of a claim: its source, how many checks it has, and the verdict."""
    cells = [
        f"[{_cell(result.claim.title)}]({_relative(claim_path(out, result.script), root)})",
        _cell(result.claim.source),
        str(len(result.quantities)),
        verdict_text(result),
    ]
    return f"| {' | '.join(cells)} |"


def verdict_text(result: Result) -> str:
    """Return the verdict with its condition, refutation or failure."""
    if result.verdict == FAILED:
        bad = [quantity.name for quantity in result.quantities if not quantity.holds]
        reason = (
            result.error or "; ".join(bad) or "no quantity shows what the text says"
        )
        return f"**{FAILED.split(':')[0]}**: {_cell(reason)}"
    told = (result.claim.condition, result.claim.refutation)
    why = " But: ".join(text for text in told if text)
    return f"**{result.verdict}**" + (f": {_cell(why)}" if why else "")


def claim_page(result: Result, out: Path) -> str:
    """Return the page of a claim of the report in ``out``."""
    claim, folder = result.claim, out / CLAIMS
    lines = [
        f"# {_cell(claim.title)}",
        "",
        f"*{_cell(claim.source)}*. {_cell(claim.statement)}",
        "",
        verdict_text(result),
        "",
    ]
    kept = sum(quantity.holds for quantity in result.quantities)
    lines += [f"{kept} of {len(result.quantities)} checks hold.", ""]
    for name in result.figures:
        lines += [f"![{name}]({_relative(figure_path(out, name), folder)})", ""]
    if result.quantities:
        rows = [_quantity_row(quantity) for quantity in result.quantities]
        lines += ["## Numbers", "", QUANTITY_HEADER, *rows, ""]
    lines += [f"Script: {_script_link(result, folder)}, {result.seconds:.1f} s.", ""]
    return "\n".join(lines)


def _quantity_row(quantity: Quantity) -> str:
    texts = [quantity.name, *_numbers(quantity), "yes" if quantity.holds else "**no**"]
    return f"| {' | '.join(_cell(text) for text in texts)} |"


def _numbers(quantity: Quantity) -> tuple[str, str, str]:
    """Measured and expected value, to the second digit of the tolerance, and the tolerance.

    A bound contains its tolerance, so that what is within it is below it.
    """
    expected, allowed = quantity.expected, quantity.allowed
    if quantity.rule != "equal":
        expected += allowed if quantity.rule == "at most" else -allowed
    numbers = [_to_digits(value, allowed) for value in (quantity.measured, expected)]
    kind = " relative" if quantity.relative else ""
    tolerance = f"{quantity.tolerance:.2g}{kind}" if quantity.tolerance else "exact"
    if quantity.tolerance and quantity.rule != "equal":
        tolerance = f"{tolerance}, in the bound"
    return numbers[0], SIGNS[quantity.rule] + numbers[1], tolerance


def _to_digits(value: float, allowed: float) -> str:
    digits = 4
    if value and allowed and math.isfinite(value) and math.isfinite(allowed):
        digits = math.ceil(math.log10(abs(value) / allowed)) + 2
    return f"{value:.{min(max(digits, 3), 12)}g}"


def _script_link(result: Result, root: Path) -> str:
    """Return the script's name, as a link if the report stands in the same checkout."""
    source = HERE.parent / f"{result.script.module.replace('.', '/')}.py"
    if not root.resolve().is_relative_to(HERE.parent):
        return _cell(result.script.key)
    return f"[{_cell(result.script.key)}]({_relative(source, root)})"


def _relative(path: Path, root: Path) -> str:
    return Path(os.path.relpath(path, root)).as_posix()


def _cell(text: str) -> str:
    """Return ``text`` as it may stand in a table: no line ends, tags or Markdown."""
    words = " ".join(text.split())
    return MARKS.sub(r"\\\1", html.escape(words, quote=False))
