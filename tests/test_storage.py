"""Stores: exact round trips, and nothing lost when a run is killed."""

import contextlib
import json
import re
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr
from drawn import run_of
from equations import ascent, descent
from random_points import random_points
from stored import KilledError, assert_same, has_journal

import mfpde
from mfpde.storage import PARTICLES, RunWriter, StoreError, load, save
from mfpde.storage.journal import Journal
from mfpde.storage.records import CONVERTER

CIRCLE = mfpde.Circle(64)
GRIDS = {
    "circle": CIRCLE,
    "sphere": mfpde.Sphere(32),
    "stretched sphere": mfpde.Sphere(32, 40),
    "zonal": mfpde.Zonal(8, 64),
    "high-dimensional zonal": mfpde.Zonal(256, 352),
}
EQUATION = descent(2.0, mfpde.Perceptron([[1.0, 0.0]], [0.3]))
START = mfpde.perturbed_uniform(CIRCLE, 0.3)
ARGUMENTS = {
    "t_end": 1.0,
    "save_every": 0.25,
    "observe": {"first_cell": lambda measure: measure.density.masses[0]},
}


def solved(geometry=CIRCLE, *terms, **options):
    """Return a short density run."""
    direction = np.eye(1, geometry.dimension, geometry.dimension - 1)
    equation = descent(*(terms or (1.0, mfpde.Perceptron(direction, [0.3]))))
    start = mfpde.perturbed_uniform(geometry, 0.3)
    return mfpde.solve(equation, start, **{"t_end": 0.2, "save_every": 0.1, **options})


def run_with_atoms(geometry=CIRCLE, widths=()):
    """Return a run whose number of atoms changes from save to save, some with covariances."""

    def half_in_atoms(count, seed):
        generator = np.random.default_rng(seed)
        points = random_points(count, geometry.dimension, generator)
        masses = 0.5 * generator.dirichlet(np.ones(count)) if count else ()
        values = mfpde.perturbed_uniform(geometry, 0.5, seed).values / 2
        covariances = generator.random((count, *(points.shape[1:] * 2)))
        given = [covariances] if seed in widths else []
        atoms = mfpde.Atoms(points, masses, *given) if count else None
        return mfpde.Measure(mfpde.Density(geometry, values), atoms)

    states = [half_in_atoms(n, seed) for seed, n in enumerate([0, 3, 5, 0, 1])]
    equation = EQUATION if geometry is CIRCLE else None
    run = run_of(states, equation, times=np.arange(5) / 3)
    return replace(run, statistics={"steps": 4})


def tracked_run():
    """Return a run with births and a merge."""
    bumps = {"angles": [0.3, 0.8, 3.0], "widths": [0.03] * 3, "masses": [0.3, 0.3, 0.4]}
    return mfpde.solve(
        ascent(25.0),
        mfpde.bumps(mfpde.Circle(256), **bumps),
        t_end=30.0,
        save_every=3.0,
        track=mfpde.Concentration(),
    )


def run_without_gradient():
    """Return a run whose energy is NaN, and a diagnostic zero, at all saves."""
    head = mfpde.Attention(2.0, bilinear=np.diag([1.0, -0.5]), value=[[0, 1], [-1, 0]])
    run = solved(CIRCLE, head, observe={"nothing": lambda measure: 0.0})
    assert np.isnan(run.energies).all()
    return run


def run_with_last_state(**saves):
    """Return a run that ends between two saves, or before its first."""
    stop = mfpde.StepLimit(1)
    run = solved(t_end=3.0, stop=stop, transport="donor_blended", **saves)
    assert not len(run.times) or run.final_time > run.times[-1]
    return run


def particles(dimension):
    start = mfpde.Atoms(random_points(21, dimension, 1))
    return mfpde.solve_particles(ascent(2.0), start, t_end=0.5, save_every=0.25)


TERMS = (
    mfpde.Attention(2.0, True, bilinear=[[0.1, 0.7], [1 / 3, 0.2]]),
    mfpde.Interaction(mfpde.Polynomial((0.3, -0.5, 1.0, 0.2))),
    mfpde.Interaction(mfpde.Exponential(4.0)),
    mfpde.Perceptron([[1.0, 0.0]], [0.5], "silu", output_bias=[0.0, 2.0]),
)
RUNS = {
    "observed": lambda: mfpde.solve(EQUATION, START, **ARGUMENTS),
    **{name: partial(solved, geometry) for name, geometry in GRIDS.items()},
    **{f"particles, d = {d}": partial(particles, d) for d in (2, 3, 8)},
    "atoms": run_with_atoms,
    "atoms on a sphere": partial(run_with_atoms, GRIDS["sphere"]),
    "atoms on a zonal grid": partial(run_with_atoms, GRIDS["zonal"]),
    "covariances": partial(run_with_atoms, GRIDS["sphere"], widths=(1, 2, 4)),
    "covariances of some": partial(run_with_atoms, GRIDS["sphere"], widths=(2,)),
    "a track": tracked_run,
    "a last state": partial(run_with_last_state, save_every=2.9),
    "no save": partial(run_with_last_state, save_every=None, save_at=[3.0]),
    "NaN and zero": run_without_gradient,
    "terms of all kinds": partial(solved, CIRCLE, *TERMS),
}


@pytest.fixture(scope="module")
def run():
    """Return a short density run with an observer of the user's own."""
    return RUNS["observed"]()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.zarr"


def opened(path):
    """Return a store as xarray alone reads it."""
    return xr.open_zarr(path, consolidated=False, chunks=None)


@pytest.mark.parametrize("name", RUNS)
def test_a_run_comes_back_to_the_bit(name, path):
    run = RUNS[name]()
    save(run, path)
    loaded = load(path)
    assert_same(run, loaded)
    assert len(run.times) == 0 or loaded.to_xarray().identical(run.to_xarray())


def test_what_is_written_as_the_run_goes_is_what_is_saved_at_its_end(run, path):
    """Also of an equation with functions, which is not rebuilt."""
    writer = RunWriter(path, EQUATION, CIRCLE)
    again = mfpde.solve(EQUATION, run.states[0], observer=writer, **ARGUMENTS)
    assert_same(again, load(path))
    assert_same(run.states, again.states)
    potential = mfpde.Potential(lambda x: x[..., 0], lambda x: np.eye(2)[0] + 0 * x)
    pair = (lambda z: z, lambda z: z**2 / 2)
    neurons = mfpde.Perceptron([[1.0, 0.0]], [1.0], pair)
    for term in (potential, neurons):
        other = solved(CIRCLE, mfpde.Attention(1.0), term)
        save(other, path, overwrite=True)
        assert load(path).equation is None
        assert opened(path).attrs["convention"] == other.equation.convention


def test_a_kind_that_is_not_known_is_named():
    with pytest.raises(ValueError, match=r"geometry of kind 'circles'.*did you mean"):
        CONVERTER.structure({"kind": "circles"}, mfpde.geometry.Geometry)


AXES = {
    "circle": ("1/rad", "angle"),
    "sphere": ("1/sr", "colatitude", "longitude"),
    "zonal": ("1/area", "polar_angle"),
    "high-dimensional zonal": ("1", "polar_angle"),
}


@pytest.mark.parametrize("name", AXES)
def test_xarray_alone_reads_names_units_and_places_of_cells(name, path):
    geometry, (units, *axes) = GRIDS[name], AXES[name]
    run = solved(geometry)
    save(run, path)
    with opened(path) as data:
        assert data.density.dims == ("time", *axes)
        assert data.density.attrs["units"] == units
        assert all(data[axis].attrs["units"] == "rad" for axis in axes)
        assert np.array_equal(data.time, run.times)
        assert np.array_equal(data.density[0], run.states[0].density.values)
        assert set(run.quantities) == set(run.diagnostics) > {"mass", "energy"}
        for diagnostic, told in run.quantities.items():
            words = {"long_name": told.meaning, "units": told.unit}
            assert data[diagnostic].attrs == words
        assert json.loads(data.attrs["stop"])["kind"] == "t_end"
        assert json.loads(data.attrs["geometry"])["kind"] == name.rpartition(" ")[2]
        assert json.loads(data.attrs["equation"])["direction"] == "descent"
        assert data.attrs["convention"] == "K = exp(beta (x.y - 1))"
        assert "mfpde_version" in data.attrs
        first, last = data[axes[0]].values, geometry.points[..., -1]
        heights = np.sin(first) if name == "circle" else np.cos(first)
        np.testing.assert_allclose(last.T, heights + 0 * last.T, atol=1e-15)
        if name == "sphere":
            expected = np.outer(np.sin(first), np.sin(data.longitude))
            np.testing.assert_allclose(geometry.points[..., 1], expected, atol=1e-15)


def test_particles_live_beside_the_density(run, path):
    save(run, path)
    beside = particles(3)
    save(beside, path / PARTICLES)
    assert_same(run, load(path))
    assert_same(beside, load(path / PARTICLES))
    dataset = load(path / PARTICLES).to_xarray()
    assert dataset.atom_points.dims == ("time", "atom", "axis")
    with pytest.raises(FileExistsError, match="particles exists"):
        save(beside, path / PARTICLES)
    save(beside, path / PARTICLES, overwrite=True)
    save(run, path, overwrite=True)
    with pytest.raises(FileNotFoundError):
        load(path / PARTICLES)


def test_a_store_half_removed_can_be_overwritten(run, path, monkeypatch):
    """A process that is killed while it replaces a store leaves what is known as one."""
    save(run, path)
    for first in range(8):
        with monkeypatch.context() as patch:
            killed_after(patch, first)
            with pytest.raises(KilledError):
                save(run, path, overwrite=True)
        save(run, path, overwrite=True)
        assert_same(run, load(path))


def test_overwrite_deletes_no_file_that_is_not_the_stores(run, tmp_path):
    """A run was written into a folder of other work, or something was put beside it."""
    path = tmp_path / "project"
    save(run, path)
    foreign = ["src/a.py", "notes.txt", "mine/zarr.json", "c/1", "particles/of.txt"]
    for name in (*foreign, "../other/zarr.json", "../elsewhere.txt"):
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text("dear")
    (path / "link").symlink_to(tmp_path)
    (path / "store").symlink_to(tmp_path / "other")
    with pytest.raises(FileExistsError, match=r"project exists.*overwrite=True"):
        RunWriter(path, EQUATION, CIRCLE)
    # What is no store is not replaced at all.
    zarr.open_group(str(tmp_path / "other.zarr"), mode="w")
    for name in ("project/src", "other.zarr"):
        with pytest.raises(FileExistsError, match="is no store of a run"):
            save(run, tmp_path / name, overwrite=True)
    for other in (run_with_atoms(), run):
        save(other, path, overwrite=True)
        assert_same(other, load(path))
    for name in [*foreign, "link/elsewhere.txt", "store/zarr.json"]:
        assert (path / name).read_text() == "dear"


@pytest.mark.parametrize(
    ("made", "part", "error"),
    [
        (lambda path: None, "", "no store of a run at"),
        (partial(zarr.open_group, mode="w"), "", "not of a run of mfpde"),
        (lambda path: RunWriter(path, EQUATION, CIRCLE), "", "no saved state"),
        (lambda path: save(run_with_atoms(), path), PARTICLES, "no store of a run at"),
    ],
)
def test_loading_what_is_no_run_says_so(path, *, made, part, error):
    made(path)
    with pytest.raises((FileNotFoundError, StoreError), match=error):
        load(path / part)


def test_time_must_go_forward(path):
    writer = RunWriter(path, EQUATION, CIRCLE)
    writer.save(1.0, START, {})
    with pytest.raises(ValueError, match=r"time = 1.0 must be after"):
        writer.save(1.0, START, {})


def killed_after(monkeypatch, changes):
    """Let every change of what is on disk fail for ever after this many."""
    left = [changes]

    def counted(original):
        def changing(*arguments, **options):
            if left[0] == 0:
                raise KilledError
            left[0] -= 1
            return original(*arguments, **options)

        return changing

    monkeypatch.setattr(Journal, "_execute", counted(Journal._execute))
    changes = ("rename", "replace", "unlink", "mkdir", "rmdir", "write_bytes")
    for name in (*changes, "write_text"):
        monkeypatch.setattr(Path, name, counted(getattr(Path, name)))
    monkeypatch.setattr(shutil, "rmtree", counted(shutil.rmtree))
    return left


def save_states(writer, run, indices):
    """Save some records of ``run``."""
    for index in indices:
        row = {name: values[index] for name, values in run.diagnostics.items()}
        writer.save(float(run.times[index]), run.states[index], row)


def test_a_run_killed_at_any_write_keeps_all_complete_saves(tmp_path):
    run = run_with_atoms()
    writes, survived = 0, False
    while not survived:
        path, saved = tmp_path / f"{writes}.zarr", -1
        with pytest.MonkeyPatch.context() as patch:
            left = killed_after(patch, writes)
            with contextlib.suppress(KilledError):
                writer = RunWriter(path, run.equation, CIRCLE)
                for saved in range(5):
                    save_states(writer, run, [saved])
                writer.finish(run)
            survived = left[0] > 0
        writes += 1
        try:
            loaded = load(path)
        except (FileNotFoundError, StoreError) as error:
            told = str(error)
            assert saved < 1
            assert re.search("no store of a run|no saved state", told)
            save(run, path, overwrite=has_journal(path))
            continue
        count = len(loaded.times)
        assert max(saved, 1) <= count <= 5
        assert_same(loaded.states, run.states[:count])
        if loaded.stop.kind == "interrupted":
            assert loaded.final_time == run.times[count - 1]
            assert loaded.to_xarray().sizes["time"] == count
        if has_journal(path):
            # It is made anew as if nothing had happened.
            resumed = RunWriter.resume(path, None)
            save_states(resumed, run, range(5))
            resumed.finish(run)
        assert_same(run, load(path))
    assert writes > 40
