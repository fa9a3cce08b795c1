"""States of stored runs, from which another run starts: ``[start] kind = "run"``."""

from __future__ import annotations

from typing import Any

import numpy as np

from mfpde.arrays import FloatArray, real_number
from mfpde.geometry import Geometry
from mfpde.measures.measure import AnyMeasure, Atoms, Density, Measure, as_measure
from mfpde.notebook import STORED, made

SAME = 1e-9
"""Times that differ by less than this share are the same."""


def stored_state(
    geometry: Geometry, path: str, time: float | None = None
) -> Density | Measure:
    """The state of the run stored at ``path``, at ``time``, on ``geometry``.

    A state on a coarser grid is interpolated, keeping its mass; without a ``time`` it is the
    last one.

    Raises
    ------
    ValueError
        If there is no store of a run with densities, no save at that time, or its grid is
        finer than ``geometry`` or of another kind.
    """
    if "\0" in path or not path.strip():
        raise ValueError(f"path = {path!r} must be the path of a stored run")
    try:
        run = made(STORED, path)
    except (OSError, ValueError) as error:
        raise ValueError(f"path = {path!r}: {error}") from error
    state = _state_at(run, path, time)
    if isinstance(state, Atoms):
        raise ValueError(
            f"path = {path!r} holds a run of particles, not of a density: give their points "
            "by kind = 'samples'"
        )
    whole = as_measure(state)
    density = whole.density
    if density.geometry != geometry:
        try:
            density = density.interpolated(geometry)
        except ValueError as error:
            raise ValueError(
                f"path = {path!r} holds a density on {density.geometry!r}: {error}"
            ) from error
    return Measure(density, whole.atoms) if len(whole.atoms.masses) else density


def _state_at(run: Any, path: str, time: float | None) -> AnyMeasure:
    """The saved state at ``time``, or the last state."""
    if time is None:
        return run.final  # type: ignore[no-any-return]
    wanted = real_number("time", time, at_least=0.0)
    times: FloatArray = np.append(run.times, run.final_time)
    nearest = int(np.abs(times - wanted).argmin())
    if abs(times[nearest] - wanted) > SAME * max(1.0, wanted):
        raise ValueError(
            f"time = {wanted:g} is no save of the run at path = {path!r}: the nearest is "
            f"{times[nearest]:g}, of {len(run.times)} from {times.min():g} to {times.max():g}"
        )
    return [*run.states, run.final][nearest]  # type: ignore[no-any-return]
