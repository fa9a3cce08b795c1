"""A run as an xarray Dataset: the variables, meanings and units of its store, in memory."""

from __future__ import annotations

import xarray as xr

from mfpde.runs.run import Run
from mfpde.storage.stored_run import stored_run_of


def dataset_of(run: Run) -> xr.Dataset:
    """Return the saved states and diagnostics of a run as ``run.to_xarray()`` does.

    Raises
    ------
    ValueError
        If nothing was saved, or the geometry cannot be stored.
    """
    if not len(run.times):
        raise ValueError(
            "run.to_xarray needs saved states, but run.states is empty: give save_every or "
            "save_at when solving"
        )
    stored = stored_run_of(run)
    dynamics = run.dynamics
    return stored.saves.assign_attrs(
        equation="user's own terms" if dynamics is None else str(dynamics),
        convention=stored.attributes["convention"],
        state=repr(run.final).strip("<>"),
        stop=run.reason,
        final_time=float(run.final_time),
        **{name: value for name, value in run.statistics.items() if value is not None},
    )
