"""The table of saboteurs: for each row of the validation the faults that it notices."""

from __future__ import annotations

from collections.abc import Sequence

from validation.faults import FAULTS
from validation.provenance import provenance_line
from validation.report import SECTION_TITLES
from validation.saboteurs import Row, Trial

NAMES = tuple(fault.name for fault in FAULTS)
READING = """\
# Saboteurs: which rows notice a wrong solver

Each figure, theorem and exact fact of the validation that uses the solver is run again with
one fault in it at a time. A row notices a fault if its quantity is then outside its
tolerance. In the first table a number says how many rows of a claim notice the fault,
`raised` that the script ended with an error, `-` that no row of the claim depends on what is
wrong, **missed** that a row does and none notices; (quick) that the claim ran in its quick
form. Rows that compare closed forms with each
other are not about the solver: they are the same under all faults, and not listed.
"""


def described(trial: Trial) -> str:
    """Return a line, and one more for each row or fault that is missed."""
    mark = "ok  " if trial.is_sound else "MISS"
    solver = [row for row in trial.rows if row.subject == "solver"]
    lines = [f"{mark} {trial.script.key}: {len(solver)} rows ({trial.seconds:.0f} s)"]
    if trial.error:
        lines.append(f"     raised without a fault: {trial.error}")
    lines += [f"     notices nothing: {row.name}" for row in trial.idle_rows]
    lines += [
        f"     not a formula, changed by {', '.join(row.changed_by)}: {row.name}"
        for row in trial.false_formulas
    ]
    lines += [f"     missed by all rows: {name}" for name in trial.missed]
    lines += [f"     raised under {name}: {why}" for name, why in trial.raised.items()]
    lines += [
        f"     outside its tolerance without a fault: {row.name}"
        for row in trial.rows
        if not row.holds
    ]
    return "\n".join(lines)


def table_text(trials: Sequence[Trial]) -> str:
    """Return the whole page as Markdown."""
    used = [trial for trial in trials if trial.rows]
    parts = [READING, provenance_line(), "", _summary(used), ""]
    parts += ["| Fault | What is wrong |", "|---|---|"]
    parts += [f"| {fault.name} | {fault.meaning} |" for fault in FAULTS]
    header = f"| Claim | {' | '.join(NAMES)} |\n|---|{'---|' * len(NAMES)}"
    parts += ["", "## Claims", "", header]
    parts += [
        f"| {_code(trial.script.key)}{' (quick)' if trial.quick else ''} | "
        + " | ".join(_mark(trial, name) for name in NAMES)
        + " |"
        for trial in used
    ]
    failed = [trial for trial in trials if trial.error]
    parts += [
        f"| {_code(trial.script.key)} | failed: {trial.error} |" for trial in failed
    ]
    unused = [t.script.key for t in trials if not t.rows and not t.error]
    if unused:
        names = ", ".join(_code(key) for key in unused)
        parts += ["", f"Without a solver: {names}."]
    for trial in used:
        title = SECTION_TITLES[trial.script.section]
        parts += ["", f"## {title}: {_code(trial.script.key)}", ""]
        parts += ["| Row | Notices |", "|---|---|"]
        parts += [_row_line(row) for row in trial.rows if row.subject == "solver"]
    return "\n".join(parts) + "\n"


def _summary(trials: Sequence[Trial]) -> str:
    rows = [row for trial in trials for row in trial.rows if row.subject == "solver"]
    idle = sum(not row.notices for row in rows)
    missed = sum(len(trial.missed) for trial in trials)
    return (
        f"**{len(rows)} rows of {len(trials)} claims; {idle} notice nothing; {missed} faults "
        "that concern a claim are missed by it.**"
    )


def _mark(trial: Trial, fault: str) -> str:
    if trial.noticing(fault):
        return str(trial.noticing(fault))
    if fault in trial.raised:
        return "raised"
    return "**missed**" if fault in trial.concerned else "-"


def _row_line(row: Row) -> str:
    name = row.name.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_")
    return f"| {name} | {', '.join(row.notices) or '**nothing**'} |"


def _code(text: str) -> str:
    return f"`{text}`"
