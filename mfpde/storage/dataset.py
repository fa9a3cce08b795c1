"""A run as an xarray Dataset: the variables, meanings and units of its store, in memory."""

from __future__ import annotations

import tempfile
from pathlib import Path

import xarray as xr
import zarr

from mfpde.runs.run import Run
from mfpde.storage.record_reader import read_dataset
from mfpde.storage.run_writer import save


def dataset_of(run: Run) -> xr.Dataset:
    """Return the saved states and diagnostics of a run as ``run.to_xarray()`` does.

    The way is by a store that is thrown away: what is in one is in the other.

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
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "run.zarr"
        save(run, store)
        dataset = read_dataset(zarr.open_group(str(store), mode="r")).load()
    dynamics = run.dynamics
    dataset.attrs = {
        "equation": "user's own terms" if dynamics is None else str(dynamics),
        "convention": dataset.attrs["convention"],
        "state": repr(run.final).strip("<>"),
        "stop": run.reason,
        "final_time": float(run.final_time),
        **{name: value for name, value in run.statistics.items() if value is not None},
    }
    return dataset
