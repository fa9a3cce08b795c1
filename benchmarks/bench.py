"""All benchmarks, as one table: ``make bench``.

    python benchmarks/bench.py [--only PART ...] [--quick] [--folder FOLDER]

Each part runs in a process of its own.  Prints each figure as it is found, and writes
``results.json`` and ``results.md`` after each part, where parts that are not measured stay as they
were; a part that fails is a row that says why, the others go on, and the exit code is 3.  With
``--quick`` each part does its smallest problem, to see that it runs.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import against_spectral
import growth
import scale
import sphere_step
import transport_suite
from results_table import Row, in_turns, read_json, write_json, write_table

from mfpde import Sphere

HERE = Path(__file__).resolve().parent
ROW = "row: "
FAILED = "failed"
"""In place of the unit of a part that could not be measured."""


def peers(*, quick: bool) -> Iterator[Row]:
    """The package beside filtered spectral code, signed and positive, at equal errors."""
    problems = against_spectral.PROBLEMS
    for problem in problems[:1] if quick else problems:
        found = against_spectral.measured(against_spectral.CODES, problem)
        rows = {row.code: row for row in found}
        times = {name: row.time_to(problem.error) for name, row in rows.items()}
        wanted = 1.0 if not problem.sphere else (0.3 if problem.time < 5 else 0.5)
        for peer, target in (("signed", wanted), ("positive", 3.0)):
            if peer == "positive" and not problem.sphere:
                continue
            told = [rows[code].describe(problem.error) for code in ("package", peer)]
            remark = " against ".join(told)
            ratio = times[peer] / times["package"]
            part = "Beside 35 lines of filtered spectral code, speed at equal modes"
            what = f"{problem}: {peer}"
            yield Row(part, what, ratio, target=target, at_least=True, remark=remark)


def steps(*, quick: bool) -> Iterator[Row]:
    """A complete step on the sphere in bare transforms."""
    for nlat, nlon, target in sphere_step.GRIDS[:1] if quick else sphere_step.GRIDS:
        sphere = Sphere(nlat, nlon)
        pair, step = in_turns(
            [
                sphere_step.bare_pair(sphere),
                sphere_step.complete_step(sphere, "donor_blended"),
            ],
            3 if quick else sphere_step.REPETITIONS,
        )
        # SSPRK(4,2): four stages where the target counts the two of Heun's method.
        what = f"{nlat} x {nlon}: a step of four stages, in bare transforms"
        ratio, spread = step.median / pair.median, step.spread / pair.median
        yield Row("Steps", what, ratio, spread=spread, target=2 * target)


PARTS: dict[str, Callable[..., Iterator[Row]]] = {
    "peers": peers,
    "steps": steps,
    "growth": growth.rows,
    "transport": transport_suite.rows,
    "scale": scale.rows,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write; return 0, or 3 if a part failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--folder", type=Path, default=HERE)
    # What a process of its own is asked for.
    parser.add_argument("--rows-of", choices=PARTS, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.rows_of is not None:
        for row in PARTS[given.rows_of](quick=given.quick):
            print(ROW + json.dumps(row), flush=True)
        return 0
    older = read_json(given.folder / "results.json")
    found, failed = [], []
    for name in given.only:
        for row in measured(name, quick=given.quick):
            found.append(row)
            print(name, *row.cells(), sep="  ", flush=True)
            if row.unit == FAILED:
                failed.append(name)
        parts = {row.part for row in found}
        rows = [*found, *(row for row in older if row.part not in parts)]
        write_json(rows, given.folder / "results.json")
        write_table(rows, given.folder / "results.md")
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 3 if failed else 0


def measured(name: str, *, quick: bool) -> Iterator[Row]:
    """Yield the rows of a part as its process finds them, at last why it failed if it did."""
    command = [sys.executable, __file__, "--rows-of", name]
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            [*command, "--quick"] if quick else command,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        for line in process.stdout or ():
            # Libraries say things of their own.
            if line.startswith(ROW):
                yield Row(*json.loads(line.removeprefix(ROW)))
        code = process.wait()
        if code:
            errors.seek(0)
            why = (errors.read().strip().splitlines() or [f"exit code {code}"])[-1]
            yield Row(name.capitalize(), name, math.nan, FAILED, remark=why[:200])


if __name__ == "__main__":
    raise SystemExit(main())
