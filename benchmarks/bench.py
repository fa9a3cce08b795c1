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
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import against_spectral
import growth
import scale
import transport_suite
import whole_runs
from results_table import Row, read_json, write_json, write_table

HERE = Path(__file__).resolve().parent
ROW = "row: "
FAILED = "failed"
"""In place of the unit of a part that could not be measured."""


PARTS: dict[str, Callable[..., Iterator[Row]]] = {
    "runs": whole_runs.rows,
    "peers": against_spectral.rows,
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
    # Processor times are those of one thread.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
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
