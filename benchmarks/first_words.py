"""Seconds until each command says its first word on a terminal, and processor time of all of it.

    python benchmarks/first_words.py

Commands look at a small run on the circle.  A first word within a second is wanted, and .3 s of
processor time for a help.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SETTINGS = """
geometry = { kind = "circle", cells = 128 }
attention = { beta = 5.0 }
equation = { direction = "descent" }
start = { kind = "perturbed_uniform", amplitude = 0.3 }
solve = { t_end = 1.0, save_every = 0.1 }
"""
COMMANDS = """--help; run --help; settings; run run.toml --overwrite --out run.zarr; show run.zarr;
plot run.zarr --out picture; view run.zarr --out page.html; minimize run.toml;
theory beta=5"""


def measure(words: list[str], folder: str) -> str:
    """Run a command on a terminal; return its times as a row of the table."""
    ours, its = os.openpty()
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "mfpde", *words]
    process = subprocess.Popen(command, cwd=folder, stdout=its, stderr=its)
    os.close(its)
    os.read(ours, 1)
    first = time.perf_counter() - began
    try:
        while os.read(ours, 4096):
            pass
    except OSError:  # the terminal's other end is closed
        pass
    code = process.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return f"{' '.join(words):48s} {first:12.2f} {spent:12.2f} {code:5d}"


def main() -> None:
    """Print the table."""
    print(f"{'mfpde':48s} first word/s  processor/s  code")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "run.toml").write_text(SETTINGS, encoding="utf-8")
        for command in COMMANDS.split(";"):
            print(measure(command.split(), folder), flush=True)


if __name__ == "__main__":
    main()
