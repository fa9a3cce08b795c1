"""A run of settings into its store: from its start, or on from where it was interrupted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mfpde.runs.checkpoint import Checkpoint
from mfpde.runs.observer import Observer
from mfpde.runs.run import Run
from mfpde.runs.stopping import StoppingCondition
from mfpde.settings.settings import Settings
from mfpde.solver.solve import solve
from mfpde.storage.checkpoint_record import StoredCheckpoint
from mfpde.storage.run_writer import RunWriter


def solved(
    settings: Settings,
    observer: Observer,
    *,
    resume_from: Checkpoint | None = None,
    stop: Sequence[StoppingCondition] = (),
    progress: bool = False,
) -> Run:
    """Solve what ``settings`` describe, with more conditions to ``stop``."""
    wanted = settings.solve_arguments()
    wanted["stop"] = [*wanted["stop"], *stop]
    return solve(
        settings.dynamics,
        settings.start,
        **wanted,
        resume_from=resume_from,
        progress=progress,
        observer=observer,
    )


def _writer(path: str | Path, settings: Settings) -> RunWriter:
    return RunWriter(
        path,
        settings.dynamics,
        settings.geometry,
        settings=settings,
        overwrite=True,
    )


def solved_anew(path: str | Path, settings: Settings) -> Run:
    """Solve what ``settings`` describe into the store at ``path``, in place of what is there.

    Raises
    ------
    FileExistsError
        If there is something else than the store of a run.
    """
    return solved(settings, _writer(path, settings))


def resumed_exactly(
    path: str | Path,
    settings: Settings,
    stored: StoredCheckpoint | None,
    *,
    stop: Sequence[StoppingCondition] = (),
    progress: bool = False,
) -> Run:
    """Go on from a checkpoint, or from the start if the run was killed before the first.

    The run in the store at ``path`` ends to the bit as if it had never stopped.
    """
    return solved(
        settings,
        RunWriter.resumed(path, stored),
        resume_from=None if stored is None else stored.checkpoint,
        stop=stop,
        progress=progress,
    )
