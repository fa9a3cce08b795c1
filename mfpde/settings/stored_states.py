"""States of stored runs, from which another run starts: ``[start] kind = "run"``."""

from __future__ import annotations

from mfpde.arrays import real_number
from mfpde.geometry import Geometry
from mfpde.measures.measure import Atoms, Density, Measure, as_measure
from mfpde.notebook import STORED, call_above
from mfpde.settings.base import check_path


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
    check_path("path", path)
    try:
        run = call_above(STORED, path)
    except (OSError, ValueError) as error:
        raise ValueError(f"path = {path!r}: {error}") from error
    if time is not None:
        time = real_number("time", time, at_least=0.0)
    state = run.final if time in (None, run.final_time) else run.at(time)
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
