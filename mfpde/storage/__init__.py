"""Runs on disk: a journal while a run goes on, one zarr store that xarray reads once it has ended.

    density(time, angle)                        on a circle, per radian
    density(time, colatitude, longitude)        on a sphere, per steradian
    density(time, polar_angle)                  on a zonal grid, per surface area
    atom_points(time, atom, axis),
    atom_masses(time, atom)                     NaN beyond the atoms of that time
    atom_positions(time, atom)                  of tokens
    atom_covariances(time, atom, axis, axis2)   where atoms have a width
    mass(time), energy(time), ...               the diagnostics, by name

with equation or layers, geometry, settings, kernel convention, events, the atoms followed in
time and their tree, and the reason of the end as attributes.  The end of a run, if it was not
saved, is one more time, without diagnostics; the attribute ``saves`` does not count it.  A group
``particles`` holds a particle run beside the density run.

``journal.sqlite`` in the same folder is what a run is read from until it has ended; it holds what
the run needs to go on to the bit.  ``lock/lock.sqlite`` is held by the thread that writes.
"""

from mfpde.runs.run import PARTICLES
from mfpde.storage.files import StoreError
from mfpde.storage.stored_runs import (
    RunWriter,
    load,
    read_description,
    save,
    stored_checkpoint,
)

__all__ = [
    "PARTICLES",
    "RunWriter",
    "StoreError",
    "load",
    "read_description",
    "save",
    "stored_checkpoint",
]
