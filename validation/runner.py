"""Run the scripts of all sections, each on its own, and keep what each has found.

A script that raises, or whose process dies, is a failed one; the others go on.  Results are
kept as soon as they are there, and used again as long as the sources are the same.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from matplotlib import rc_context

from mfpde.plotting.style import STYLE
from validation.claim import SECTIONS, Claim
from validation.results import Result, Script, read_result, write_figures, write_result
from validation.sources import source_digest

# One thread for each process: the processes are the parallelism.
THREAD_SETTINGS = [
    f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")
]
PROCESS_DIED = "the process that ran it died"


def all_scripts() -> list[Script]:
    """Return the scripts of all sections, in the order of the report."""
    return [
        Script(section, place.split(".")[-1], place.rpartition(".")[0])
        for section in SECTIONS
        for place in importlib.import_module(f"validation.{section}").SCRIPTS
    ]


def selected_scripts(names: Sequence[str]) -> list[Script]:
    """Return the scripts that ``names`` name; all if there are none.

    Parameters
    ----------
    names
        Sections, scripts, or both as in ``theorems/inverse``.

    Raises
    ------
    ValueError
        If a name is neither a section nor a script, or no script is left.
    """
    scripts = all_scripts()
    known = {word for s in scripts for word in (s.section, s.name, s.key)}
    known |= set(SECTIONS)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(
            f"--only {unknown[0]!r} must be a section ({', '.join(SECTIONS)}) or one of "
            f"the scripts: {', '.join(s.key for s in scripts)}"
        )
    wanted = set(names)
    found = [s for s in scripts if not wanted or wanted & {s.section, s.name, s.key}]
    if not found:
        raise ValueError(f"--only {' '.join(names)}: there are no scripts there")
    return found


def run_script(script: Script, out: Path, *, quick: bool) -> Result:
    """Run one script, keep its figures and its result below ``out``, and return it.

    What it raises is in the result: ``error`` in a line, the traceback in ``printed``.
    """
    begin, printed = time.process_time(), io.StringIO()
    result = Result(
        script, Claim(title=script.key, source="", statement=""), quick=quick
    )
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            main = script.main
            result = replace(result, claim=main.claim)
            with rc_context(STYLE):
                found = main(quick=quick)
            result = replace(result, quantities=tuple(found["quantities"]))
            claim = main.claim.told(result.quantities, quick=quick)
            prefix = f"{script.section}.{script.name}"
            names = write_figures(found["figures"], out, prefix=prefix)
            result = replace(result, claim=claim, figures=tuple(names))
        # Whatever a script raises is a result of its own, and must not stop the others.
        except Exception as error:
            traceback.print_exc()
            result = replace(result, error=f"{type(error).__name__}: {error}")
    result = replace(
        result,
        seconds=time.process_time() - begin,
        digest=source_digest(script.module),
        printed=printed.getvalue(),
    )
    write_result(result, out)
    return result


def run_scripts(
    scripts: Sequence[Script],
    out: Path,
    *,
    quick: bool = False,
    fresh: bool = False,
    jobs: int = 2,
    on_done: Callable[[Result], None] = lambda result: None,
) -> list[Result]:
    """Run ``scripts`` and return their results in the same order.

    Parameters
    ----------
    out
        Directory of results and figures.  A result that is kept there is used again if
        the sources have not changed and the script did not raise.
    quick
        At reduced size.
    fresh
        Use nothing again.
    jobs
        Number of processes; 0 runs in this one, where an interruption may end a script's
        run early instead of all.
    on_done
        Called with each result as soon as it is there.
    """
    done: dict[Script, Result] = {}

    def take(result: Result) -> None:
        done[result.script] = result
        on_done(result)

    for script in () if fresh else scripts:
        kept = read_result(script, out, quick=quick)
        if kept and not kept.error and kept.digest == source_digest(script.module):
            take(kept)
    missing = [script for script in scripts if script not in done]
    if jobs == 0:
        for script in missing:
            take(run_script(script, out, quick=quick))
    elif missing:
        for result in _in_processes(missing, out, quick=quick, jobs=jobs):
            take(result)
    return [done[script] for script in scripts]


def _in_processes(
    scripts: Sequence[Script], out: Path, *, quick: bool, jobs: int
) -> Iterator[Result]:
    """Yield results as they come; a process that dies takes one script with it."""
    unfinished = list(scripts)
    try:
        for result in _in_pool(unfinished, out, quick=quick, jobs=jobs):
            unfinished.remove(result.script)
            yield result
    except BrokenProcessPool:
        for script in unfinished:
            try:
                yield from _in_pool([script], out, quick=quick, jobs=1)
            except BrokenProcessPool:
                claim = Claim(title=script.key, source="", statement="")
                yield Result(script, claim, error=PROCESS_DIED, quick=quick)


def _in_pool(
    scripts: Sequence[Script], out: Path, *, quick: bool, jobs: int
) -> Iterator[Result]:
    with worker_pool(min(jobs, len(scripts))) as pool:
        futures = [pool.submit(run_script, s, out, quick=quick) for s in scripts]
        for future in as_completed(futures):
            yield future.result()


@contextlib.contextmanager
def worker_pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    """Processes of one thread each; they are ended where the block raises."""
    context = multiprocessing.get_context("spawn")
    with (
        patch.dict(os.environ, dict.fromkeys(THREAD_SETTINGS, "1")),
        ProcessPoolExecutor(
            processes, mp_context=context, initializer=_ignore_interruptions
        ) as pool,
    ):
        others = set(multiprocessing.active_children())
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in set(multiprocessing.active_children()) - others:
                process.terminate()
            raise


def _ignore_interruptions() -> None:
    """Leave an interruption to the parent: ``solve`` would take it for its own end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
