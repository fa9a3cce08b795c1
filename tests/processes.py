"""Commands of mfpde in processes of their own, which can be killed, quickly.

One process imports everything once and is forked for each command.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mfpde.storage import StoreError
from mfpde.storage.journal import Journal
from mfpde.sweeps.execution import execute
from mfpde.sweeps.records import RunRecord, SweepRecords


def has_checkpoint(store: Path) -> bool:
    """Whether the run of a store has saved something that it can go on from."""
    try:
        with contextlib.closing(Journal(store)) as journal:
            return bool(journal.read(Journal.CHECKPOINT).text)
    except (FileNotFoundError, StoreError):
        return False


def end_process_at_beta_2_seed_3(run: Any, records: SweepRecords) -> str:
    """Compute a run of a sweep, but at one place end the process, after the run has begun."""
    if "beta = 2, seed = 3" in run.label:
        records.write(RunRecord(run.name, "running", since=time.time()))
        os._exit(3)
    return execute(run, records)


def raise_no_such_luck(run: Any, **_: object) -> str:
    raise OSError("no such luck")


SERVER = """
import contextlib, io, json, os, signal, sys, traceback
import mfpde
from mfpde.commands import command_line

def command(arguments, folder, errors):
    os.chdir(folder)
    os.dup2(os.open(errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), 2)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    code = 99
    try:
        code = command_line.main(arguments)
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)

# A signal before a command has begun ends its process, as one that is just started.
signal.signal(signal.SIGINT, signal.SIG_DFL)
# Kernels that the first step loads are then there for all.
circle = mfpde.Circle(32)
equation = mfpde.MeanFieldEquation(mfpde.Attention(1.0), direction="ascent")
mfpde.solve(equation, mfpde.perturbed_uniform(circle, 0.1), t_end=0.1)
# And so is what commands import when they are called.
with contextlib.redirect_stdout(io.StringIO()):
    command_line.main(["show", "--help"]), mfpde.load, mfpde.wasserstein
print("ready", flush=True)
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        command(**json.loads(line))
    print(child, flush=True)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
"""


@dataclass
class Processes:
    """Commands, one at a time, each in a fork of one process."""

    folder: Path
    _server: subprocess.Popen[str]

    def start(self, *arguments: str) -> int:
        """Start ``mfpde ARGUMENTS`` and return its process."""
        asked = {
            "arguments": arguments,
            "folder": str(self.folder),
            "errors": str(self.folder / "stderr.txt"),
        }
        self._server.stdin.write(json.dumps(asked) + "\n")
        self._server.stdin.flush()
        return self.ended()

    def ended(self) -> int:
        """Wait for the command that was started, and return its exit code."""
        return int(self._server.stdout.readline())

    def run(self, *arguments: str) -> int:
        self.start(*arguments)
        return self.ended()

    def stopped(self, *arguments: str, after: float, by: int = signal.SIGKILL) -> int:
        """Send a signal to a command so many seconds after its start; return its code."""
        child = self.start(*arguments)
        time.sleep(after)
        # It may have ended before.
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, by)
        return self.ended()

    @property
    def said(self) -> str:
        """What the last command wrote on stderr."""
        return (self.folder / "stderr.txt").read_text()


@contextlib.contextmanager
def processes(folder: Path) -> Iterator[Processes]:
    """Let the block run commands in ``folder``."""
    root = str(Path(__file__).parents[1])
    with subprocess.Popen(
        [sys.executable, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": root, "PYTHONWARNINGS": "ignore"},
    ) as server:
        assert server.stdout.readline() == "ready\n"
        yield Processes(folder, server)
