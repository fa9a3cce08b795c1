"""Rows of measurements: how they are taken in turns, printed, and written as JSON and a table."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Row(NamedTuple):
    """One measured figure: a ratio, a time, an error, or memory.

    ``spread`` is half the distance of the quartiles of its repetitions, nan for what was
    measured once.  ``target`` is a bound: at most, or with ``at_least`` at least, that much.
    """

    part: str
    what: str
    value: float
    unit: str = "ratio"
    spread: float = np.nan
    target: float | None = None
    at_least: bool = False
    remark: str = ""

    @property
    def verdict(self) -> str:
        """Whether the target is met; empty without one."""
        if self.target is None:
            return ""
        is_met = (
            self.value >= self.target if self.at_least else self.value <= self.target
        )
        return "met" if is_met else "missed"

    def cells(self) -> list[str]:
        """Texts of the columns of the table."""
        spread = "" if np.isnan(self.spread) else f" ± {self.spread:.2g}"
        relation = "≥" if self.at_least else "≤"
        bound = "" if self.target is None else f"{relation} {self.target:g}"
        return [
            self.what,
            f"{self.value:.3g}{spread} {self.unit}".removesuffix(" ratio"),
            bound,
            self.verdict,
            self.remark,
        ]


class Timing(NamedTuple):
    """Median time of a work in seconds, and half the distance of its quartiles."""

    median: float
    spread: float


def in_turns(works: Iterable[Callable[[], object]], repetitions: int) -> list[Timing]:
    """Return the times of ``works``, measured in turns after one call of each.

    As the machine may be shared, their ratios say more than the times.
    """
    works = list(works)
    for work in works:
        work()
    times: list[list[float]] = [[] for _ in works]
    for _ in range(repetitions):
        for work, taken in zip(works, times, strict=True):
            begun = time.perf_counter()
            work()
            taken.append(time.perf_counter() - begun)
    return [timing(taken) for taken in times]


def timing(taken: list[float]) -> Timing:
    """Return median and spread of repeated measurements."""
    low, high = np.quantile(taken, [0.25, 0.75])
    return Timing(statistics.median(taken), float(high - low) / 2)


def write_json(rows: list[Row], path: Path) -> None:
    """Write all rows with the names of their columns."""
    entries = [row._asdict() | {"verdict": row.verdict} for row in rows]
    for entry in entries:
        for name, value in entry.items():
            if isinstance(value, float) and not np.isfinite(value):
                entry[name] = None
    path.write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")


def read_json(path: Path) -> list[Row]:
    """Read the rows that :func:`write_json` wrote; none if there is no such file."""
    if not path.exists():
        return []
    rows = []
    for entry in json.loads(path.read_text(encoding="utf-8")):
        known = {name: entry[name] for name in Row._fields}
        # A number that JSON cannot hold: a ratio to what was never reached, or no spread.
        infinite = {"value": np.inf, "spread": np.nan}
        known |= {
            name: value for name, value in infinite.items() if known[name] is None
        }
        rows.append(Row(**known))
    return rows


def write_table(rows: list[Row], path: Path) -> None:
    """Write all rows as Markdown, a table for each part."""
    lines = ["# What was measured", ""]
    lines += ["Made by `make bench`.  Ratios are of medians taken in turns.", ""]
    for part in dict.fromkeys(row.part for row in rows):
        lines += [f"## {part}", "", "| what | value | target | | remark |"]
        lines += ["|---|---|---|---|---|"]
        lines += [
            "| " + " | ".join(row.cells()) + " |" for row in rows if row.part == part
        ]
        lines += [""]
    path.write_text("\n".join(lines), encoding="utf-8")
