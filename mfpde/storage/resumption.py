"""A run of settings into its store: from its start, or on from where it was interrupted."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from mfpde.runs.checkpoint import Checkpoint
from mfpde.runs.run import Run
from mfpde.runs.stopping import StoppingCondition
from mfpde.settings.settings import Settings
from mfpde.solver.solve import solve
from mfpde.storage.run_writer import RunWriter


def solve_anew(path: str | Path, settings: Settings) -> Run:
    """Solve what ``settings`` describe into the store at ``path``, in place of one there."""
    dynamics, grid = settings.dynamics, settings.geometry
    writer = RunWriter(path, dynamics, grid, settings=settings, overwrite=True)
    arguments = settings.solve_arguments()
    return solve(dynamics, settings.start, **arguments, observer=writer)


def resume_run(
    path: str | Path,
    settings: Settings,
    checkpoint: Checkpoint | None,
    *,
    stop: Sequence[StoppingCondition] = (),
    progress: bool = False,
) -> Run:
    """Go on from a checkpoint, or from the start if the run was killed before the first.

    The run in the store at ``path`` ends to the bit as if it had never stopped, but for more
    conditions to ``stop``.
    """
    arguments = settings.solve_arguments()
    arguments["stop"] = [*arguments["stop"], *stop]
    return solve(
        settings.dynamics,
        settings.start,
        **arguments,
        resume_from=checkpoint,
        progress=progress,
        observer=RunWriter.resume(path, checkpoint),
    )
