"""Which rows of the validation notice a wrong solver.

    python -m validation.saboteurs                              # all, on two processes
    python -m validation.saboteurs --quick --only figures/figure_09

Each figure, theorem and exact fact is run again with one fault in the solver at a time
(``validation.faults``).  A row notices a fault if it is then outside its tolerance.  The
table is written to ``validation/report/saboteurs.md``.  The exit code is 0 only if

- each row whose subject is the solver notices a fault at least,
- each fault that changes a row of a claim, beyond rounding, is noticed by a row of that claim,
- each row whose subject is a formula is the same under all faults.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
import traceback
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from matplotlib import rc_context

from mfpde.plotting.style import STYLE
from validation.claim import Quantity
from validation.faults import FAULTS
from validation.results import Script
from validation.runner import selected_scripts, worker_pool
from validation.source_digest import source_digest

SECTIONS: Final = ("exact_facts", "theorems", "figures")
REPORT: Final = Path(__file__).parent / "report"
RAISED: Final = "raised"
ROUNDING: Final = 1e-12
DEAR: Final = ("theorems/theorem_3_3",)
"""At reduced size always: 36 minimisers on S^2 take minutes each with the unshifted kernel."""


@dataclass(frozen=True)
class Row:
    """A quantity and the faults that it notices, and those that change its value."""

    name: str
    subject: str
    holds: bool
    notices: tuple[str, ...] = ()
    changed_by: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trial:
    """What became of a script under all faults.

    Parameters
    ----------
    rows
        Its quantities; none if it calls no solver.
    raised
        Faults under which it raised, with the message: noticed, by no row of its own.
    error
        What it raised without a fault; it then has no rows.
    quick
        Whether it ran at reduced size.
    """

    script: Script
    rows: tuple[Row, ...]
    raised: dict[str, str]
    seconds: float
    digest: str
    error: str = ""
    quick: bool = False

    @property
    def concerned(self) -> list[str]:
        """Faults that change a row, or under which the script raised."""
        changing = {name for row in self.rows for name in row.changed_by}
        return [f.name for f in FAULTS if f.name in changing or f.name in self.raised]

    def noticing(self, fault: str) -> int:
        """How many rows notice the fault."""
        return sum(fault in row.notices for row in self.rows)

    @property
    def missed(self) -> list[str]:
        """Faults that change a row and that none notices."""
        return [
            name
            for name in self.concerned
            if not self.noticing(name) and name not in self.raised
        ]

    @property
    def idle_rows(self) -> list[Row]:
        """Rows about the solver that notice nothing."""
        return [row for row in self.rows if row.subject == "solver" and not row.notices]

    @property
    def false_formulas(self) -> list[Row]:
        """Rows that are said to be about a formula and change with the solver."""
        return [row for row in self.rows if row.subject != "solver" and row.changed_by]

    @property
    def is_sound(self) -> bool:
        """Whether every row and every fault that concerns the claim is accounted for."""
        missing = self.missed or self.idle_rows or self.false_formulas
        return not (self.error or missing)


def tried(script: Script, *, quick: bool) -> Trial:
    """Run a script without and with each of the faults."""
    # Imported here: a process that only draws the table needs no solver.
    from validation.sabotage import Laboratory

    begin = time.process_time()
    laboratory = Laboratory()
    module = importlib.import_module(script.module)
    measured: dict[str, dict[str, Quantity]] = {}
    raised: dict[str, str] = {}
    try:
        with laboratory.with_fault(None):
            sound = _quantities(module.main, quick=quick)
    # One script that fails must not stop the others.
    except Exception as error:
        seconds = time.process_time() - begin
        why = _last_line(error)
        return Trial(script, (), {}, seconds, _digest(script), why, quick=quick)
    for fault in FAULTS if laboratory.solver_calls else ():
        try:
            with laboratory.with_fault(fault):
                measured[fault.name] = _quantities(module.main, quick=quick)
        # A script that a wrong solver makes raise has noticed it.
        except Exception as error:
            raised[fault.name] = _last_line(error)
    names = list(sound) if laboratory.solver_calls else []
    rows = tuple(_row(sound[name], measured) for name in names)
    seconds = time.process_time() - begin
    return Trial(script, rows, raised, seconds, _digest(script), quick=quick)


def _quantities(main: Callable[..., Any], *, quick: bool) -> dict[str, Quantity]:
    with rc_context(STYLE), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = main(quick=quick)["quantities"]
    by_name = {quantity.name: quantity for quantity in found}
    if len(by_name) < len(found):
        names = [quantity.name for quantity in found]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise ValueError(f"rows of the same name: {twice}")
    return by_name


def _row(sound: Quantity, measured: dict[str, dict[str, Quantity]]) -> Row:
    """Compare a quantity with what it is under each fault; a row that is gone says nothing."""
    there = {
        name: rows[sound.name] for name, rows in measured.items() if sound.name in rows
    }
    return Row(
        sound.name,
        sound.subject,
        sound.holds,
        notices=tuple(name for name, row in there.items() if not row.holds),
        changed_by=tuple(
            name for name, row in there.items() if _is_changed(row, sound)
        ),
    )


def _is_changed(row: Quantity, sound: Quantity) -> bool:
    """Whether a quantity differs: sums in another order differ by rounding, and are the same."""
    now, before = (row.measured, row.expected), (sound.measured, sound.expected)
    differences = np.abs(np.subtract(now, before))
    return now != before and not differences.max() <= ROUNDING * np.abs(before).max()


def _last_line(error: Exception) -> str:
    return traceback.format_exception_only(error)[-1].strip()[:200]


def _digest(script: Script) -> str:
    return source_digest(script.module) + source_digest("validation.sabotage")


def trials(
    scripts: Sequence[Script],
    *,
    quick: Collection[Script],
    jobs: int,
    folder: Path,
) -> Iterator[Trial]:
    """Yield the trials of all scripts as they end; those that are kept come first.

    Parameters
    ----------
    quick
        Scripts that run at reduced size.
    """
    missing = []
    for script in scripts:
        kept = _kept(script, folder, quick=script in quick)
        if kept is None:
            missing.append(script)
        else:
            yield kept
    if not missing:
        return
    with worker_pool(min(jobs, len(missing))) as pool:
        running = [
            pool.submit(tried, script, quick=script in quick) for script in missing
        ]
        for future in as_completed(running):
            trial = future.result()
            if not trial.error:
                _keep(trial, folder)
            yield trial


def _place(script: Script, folder: Path, *, quick: bool) -> Path:
    kind = "quick.saboteurs" if quick else "saboteurs"
    return folder / "results" / f"{script.section}.{script.name}.{kind}.json"


def _keep(trial: Trial, folder: Path) -> None:
    path = _place(trial.script, folder, quick=trial.quick)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(trial), indent=1), encoding="utf-8")


def _kept(script: Script, folder: Path, *, quick: bool) -> Trial | None:
    try:
        stored = json.loads(_place(script, folder, quick=quick).read_text("utf-8"))
        rows = tuple(
            Row(**{k: tuple(v) if isinstance(v, list) else v for k, v in row.items()})
            for row in stored["rows"]
        )
        trial = Trial(**{**stored, "script": script, "rows": rows})
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return trial if trial.digest == _digest(script) else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return 0 if nothing is missed, else 3."""
    from validation.saboteurs_table import described, table_text

    parser = argparse.ArgumentParser(prog="python -m validation.saboteurs")
    parser.add_argument(
        "--quick",
        nargs="*",
        metavar="NAME",
        help="the quick forms of these sections or scripts, of all if none is named",
    )
    parser.add_argument("--only", nargs="*", default=list(SECTIONS), metavar="NAME")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--fresh", action="store_true", help="use no kept trial")
    given = parser.parse_args(arguments)
    scripts = [s for s in selected_scripts(given.only) if s.section in SECTIONS]
    quick = set() if given.quick is None else set(selected_scripts(given.quick))
    quick |= {script for script in scripts if script.key in DEAR}
    if given.fresh:
        for script in scripts:
            place = _place(script, REPORT, quick=script in quick)
            place.unlink(missing_ok=True)
    found = {}
    for trial in trials(scripts, quick=quick, jobs=given.jobs, folder=REPORT):
        found[trial.script] = trial
        print(described(trial), flush=True)
    ordered = [found[script] for script in scripts]
    # All of it, even where some ran at reduced size: that is said for each claim.
    whole = given.only == list(SECTIONS) and not quick >= set(scripts)
    path = (REPORT if whole else Path("results")) / "saboteurs.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(table_text(ordered), encoding="utf-8")
    print(f"written: {path}")
    return 0 if all(trial.is_sound for trial in ordered) else 3


if __name__ == "__main__":
    raise SystemExit(main())
