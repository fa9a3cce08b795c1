"""Particles beside a run: the same equation from the same start, independently."""

from __future__ import annotations

import sys

from mfpde.measures.measure import AnyMeasure, Atoms
from mfpde.runs.run import Run
from mfpde.settings.settings import SettingsError


def particle_run(
    run: Run, *, count: int, method: str, start: AnyMeasure, quiet: bool
) -> Run:
    """Move particles from ``start`` up to the run's last time, saved when the run was.

    Raises
    ------
    SettingsError
        If there is nothing to compare with: no equation, no saves, diffusion, or the
        run is one of particles itself.
    """
    from mfpde.particles import solve_particles

    equation = run.equation
    obstacle = ""
    if equation is None:
        obstacle = "its equation has the user's own functions and was not stored"
    elif equation.diffusion > 0:
        obstacle = f"they move without noise, but diffusion = {equation.diffusion:g}"
    elif isinstance(run.final, Atoms):
        obstacle = "it is a run of particles itself"
    elif not len(run.times) or run.final_time <= 0:
        obstacle = "it has no saved state after the start"
    if equation is None or obstacle:
        raise SettingsError(f"the run cannot be compared with particles: {obstacle}")
    return solve_particles(
        equation,
        start,
        t_end=run.final_time,
        save_at=run.times,
        method=method,
        count=count,
        progress=not quiet and sys.stderr.isatty(),
    )
