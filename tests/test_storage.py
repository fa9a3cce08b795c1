"""Stores: exact round trips, and nothing lost when a run is killed."""

import contextlib
import json
import shutil
import sqlite3
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr

import mfpde
from mfpde.runs.stopping import StopReason
from mfpde.solver.diagnostics import DIAGNOSTICS
from mfpde.storage import (
    PARTICLES,
    RunWriter,
    StoreError,
    load,
    save,
    stored_checkpoint,
)
from mfpde.storage.files import has_journal
from mfpde.storage.journal import Journal
from mfpde.storage.records import to_json

CIRCLE = mfpde.Circle(64)
GRIDS = {
    "circle": CIRCLE,
    "sphere": mfpde.Sphere(32),
    "stretched sphere": mfpde.Sphere(32, 40),
    "zonal": mfpde.Zonal(8, 64),
    "high-dimensional zonal": mfpde.Zonal(256, 352),
}
EQUATION = mfpde.MeanFieldEquation(
    mfpde.Attention(2.0), mfpde.Perceptron([[1.0, 0.0]], [0.3]), direction="descent"
)
START = mfpde.perturbed_uniform(CIRCLE, 0.3)
ARGUMENTS = {
    "t_end": 1.0,
    "save_every": 0.25,
    "observe": {"first_cell": lambda measure: measure.density.masses[0]},
}


def solved(geometry=CIRCLE, *terms, **options):
    """Return a short density run."""
    direction = np.eye(1, geometry.dimension, geometry.dimension - 1)
    neurons = (mfpde.Attention(1.0), mfpde.Perceptron(direction, [0.3]))
    equation = mfpde.MeanFieldEquation(*(terms or neurons), direction="descent")
    start = mfpde.perturbed_uniform(geometry, 0.3)
    return mfpde.solve(equation, start, **{"t_end": 0.2, "save_every": 0.1, **options})


def run_with_atoms(geometry=CIRCLE):
    """Return a run whose number of atoms changes from save to save."""

    def half_in_atoms(count, seed):
        generator = np.random.default_rng(seed)
        points = generator.standard_normal((count, geometry.dimension))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        masses = 0.5 * generator.dirichlet(np.ones(count)) if count else ()
        values = mfpde.perturbed_uniform(geometry, 0.5, seed).values / 2
        atoms = mfpde.Atoms(points, masses) if count else None
        return mfpde.Measure(mfpde.Density(geometry, values), atoms)

    states = [half_in_atoms(n, seed) for seed, n in enumerate([0, 3, 5, 0, 1])]
    times = np.arange(5) / 3
    return mfpde.Run(
        equation=EQUATION if geometry is CIRCLE else None,
        times=times,
        states=states,
        diagnostics={"mass": np.array([s.total_mass for s in states])},
        stop=StopReason.of("t_end", time=times[-1]),
        final=states[-1],
        final_time=float(times[-1]),
        statistics={"steps": 4},
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
    points = np.random.default_rng(1).standard_normal((21, dimension))
    start = mfpde.Atoms(points / np.linalg.norm(points, axis=1, keepdims=True))
    equation = mfpde.MeanFieldEquation(mfpde.Attention(2.0), direction="ascent")
    return mfpde.solve_particles(equation, start, t_end=0.5, save_every=0.25)


RUNS = {
    "observed": lambda: mfpde.solve(EQUATION, START, **ARGUMENTS),
    **{name: partial(solved, geometry) for name, geometry in GRIDS.items()},
    **{f"particles, d = {d}": partial(particles, d) for d in (2, 3, 8)},
    "atoms": run_with_atoms,
    "atoms on a sphere": partial(run_with_atoms, GRIDS["sphere"]),
    "atoms on a zonal grid": partial(run_with_atoms, GRIDS["zonal"]),
    "a last state": partial(run_with_last_state, save_every=2.9),
    "no save": partial(run_with_last_state, save_every=None, save_at=[3.0]),
    "NaN and zero": run_without_gradient,
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


def assert_same_states(one, other):
    """Require two lists of measures to be equal to the bit."""
    for a, b in zip(one, other, strict=True):
        if not isinstance(a, mfpde.Atoms):
            assert np.array_equal(a.density.values, b.density.values)
            a, b = a.atoms, b.atoms
        assert np.array_equal(a.points, b.points)
        assert np.array_equal(a.masses, b.masses)


def assert_same(one, other):
    """Require two runs to be equal to the bit."""
    assert np.array_equal(one.times, other.times)
    assert list(one.diagnostics) == list(other.diagnostics)
    for name, values in one.diagnostics.items():
        assert np.array_equal(values, other.diagnostics[name], equal_nan=True)
    assert_same_states([*one.states, one.final], [*other.states, other.final])
    assert one.stop == other.stop
    assert one.final_time == other.final_time
    assert one.statistics == other.statistics


@pytest.mark.parametrize("name", RUNS)
def test_a_run_comes_back_to_the_bit(name, path):
    run = RUNS[name]()
    save(run, path)
    loaded = load(path)
    assert_same(run, loaded)
    assert to_json(loaded.equation) == to_json(run.equation)
    if not isinstance(run.final, mfpde.Atoms):
        assert loaded.final.geometry == run.final.geometry


def test_writing_as_the_run_goes_gives_the_same_store(run, path):
    writer = RunWriter(path, EQUATION, CIRCLE)
    again = mfpde.solve(EQUATION, run.states[0], observer=writer, **ARGUMENTS)
    assert_same(again, load(path))
    assert_same_states(run.states, again.states)


def test_an_equation_with_functions_is_not_rebuilt(path):
    potential = mfpde.Potential(lambda x: x[..., 0], lambda x: np.eye(2)[0] + 0 * x)
    run = solved(CIRCLE, mfpde.Attention(1.0), potential)
    save(run, path)
    assert load(path).equation is None
    assert opened(path).attrs["convention"] == run.equation.convention


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
        for diagnostic in DIAGNOSTICS.values():
            assert data[diagnostic.name].attrs["long_name"] == diagnostic.meaning
            assert data[diagnostic.name].attrs["units"] == diagnostic.unit
        records = {key: data.attrs[key] for key in ("stop", "geometry", "equation")}
        stop, grid, equation = map(json.loads, records.values())
        assert stop["kind"] == "t_end"
        assert grid["kind"] == name.rpartition(" ")[2]
        assert equation["direction"] == "descent"
        assert data.attrs["convention"] == "K = exp(beta (x.y - 1))"
        assert json.loads(data.attrs["statistics"]) == run.statistics
        assert "mfpde_version" in data.attrs
        first = data[axes[0]].values
        if name == "circle":
            places = [np.cos(first), np.sin(first)]
        elif name == "sphere":
            places = [np.outer(np.sin(first), np.cos(data.longitude))]
        else:
            places = []
            np.testing.assert_allclose(geometry.points[..., -1], np.cos(first))
        for axis, expected in enumerate(places):
            np.testing.assert_allclose(geometry.points[..., axis], expected, atol=1e-15)


@pytest.mark.parametrize("name", ["density", "angle", "polar_angle", "longitude"])
def test_a_diagnostic_with_a_taken_name_is_refused(name, path):
    writer = RunWriter(path, EQUATION, CIRCLE)
    with pytest.raises(ValueError, match=f"'{name}' cannot be stored: rename it"):
        writer.save(0.0, START, {name: 1.0})


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


# What is overwritten --------------------------------------------------------------------------


def test_a_path_that_exists_is_refused_before_the_run(run, path):
    save(run, path)
    with pytest.raises(FileExistsError, match=r"run.zarr exists.*overwrite=True"):
        RunWriter(path, EQUATION, CIRCLE)
    assert_same(run, load(path))


def test_overwrite_never_replaces_anything_else(run, tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("dear")
    zarr.open_group(str(tmp_path / "other.zarr"), mode="w")
    for name in ("letters", "other.zarr"):
        with pytest.raises(FileExistsError, match="is no store of a run"):
            save(run, tmp_path / name, overwrite=True)
    assert (tmp_path / "letters" / "dear.txt").read_text() == "dear"


def test_a_store_half_removed_can_be_overwritten(run, path, monkeypatch):
    """A process that is killed while it replaces a store leaves what is known as one."""
    save(run, path)
    for first in range(5):
        left = iter(range(first))

        def killed_at(original, left=left):
            def removing(part, **options):
                if next(left, None) is None:
                    raise OSError("killed")
                original(part, **options)

            return removing

        with monkeypatch.context() as patch:
            patch.setattr(Path, "unlink", killed_at(Path.unlink))
            patch.setattr(shutil, "rmtree", killed_at(shutil.rmtree))
            with pytest.raises(OSError, match="killed"):
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


# Killed runs ----------------------------------------------------------------------------------


class KilledError(Exception):
    """Stands for the end of the process."""


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
    return left


def save_states(writer, run, indices):
    """Save some records of ``run``."""
    for index in indices:
        row = {name: values[index] for name, values in run.diagnostics.items()}
        writer.save(float(run.times[index]), run.states[index], row)


def test_a_run_killed_between_saves_is_loaded_as_far_as_it_came(run, path):
    save_states(RunWriter(path, EQUATION, CIRCLE), run, range(3))
    loaded = load(path)
    assert np.array_equal(loaded.times, run.times[:3])
    assert_same_states(loaded.states, run.states[:3])
    assert loaded.stop.kind == "interrupted"
    assert loaded.final_time == run.times[2]
    assert loaded.to_xarray().sizes["time"] == 3


def test_a_run_killed_at_any_write_keeps_all_complete_saves(tmp_path):
    run = run_with_atoms()
    writes, survived = 0, False
    while not survived:
        path = tmp_path / f"{writes}.zarr"
        writer = RunWriter(path, run.equation, CIRCLE)
        save_states(writer, run, range(2))
        with pytest.MonkeyPatch.context() as patch:
            left = killed_after(patch, writes)
            with contextlib.suppress(KilledError):
                save_states(writer, run, range(2, 5))
                writer.finish(run)
            survived = left[0] > 0
        loaded = load(path)
        count = len(loaded.times)
        assert 2 <= count <= 5
        assert_same_states(loaded.states, run.states[:count])
        if loaded.stop.kind == "interrupted":
            assert loaded.to_xarray().sizes["time"] == count
        if has_journal(path):
            # It is made anew as if nothing had happened.
            resumed = RunWriter.resume(path, None)
            save_states(resumed, run, range(5))
            resumed.finish(run)
        assert_same(run, load(path))
        writes += 1
    assert writes > 40


def test_a_resumed_store_forgets_the_earlier_end(path):
    writer = RunWriter(path, EQUATION, CIRCLE)
    given = {"t_end": 1.0, "save_every": 0.9, "stop": mfpde.StepLimit(1)}
    run = mfpde.solve(EQUATION, START, observer=writer, **given)
    assert load(path).stop.kind == "step_limit"
    assert load(path).final_time == run.final_time > run.times[-1]
    RunWriter.resume(path, stored_checkpoint(path))
    loaded = load(path)
    assert loaded.stop.kind == "interrupted"
    assert loaded.final_time == run.times[-1]


def test_a_journal_is_that_of_a_run_or_none(path, monkeypatch) -> None:
    """A process that is killed while it begins leaves no journal without attributes."""
    seen = []
    connect = sqlite3.connect

    class Watched(sqlite3.Connection):
        def execute(self, statement, *values):
            found = super().execute(statement, *values)
            with contextlib.suppress(sqlite3.OperationalError):
                other = connect(f"file:{path}/journal.sqlite?mode=ro", uri=True)
                seen.append(other.execute("SELECT count(*) FROM rows").fetchone()[0])
                other.close()
            return found

    monkeypatch.setattr(sqlite3, "connect", partial(connect, factory=Watched))
    RunWriter(path, EQUATION, CIRCLE)
    assert seen
    assert min(seen) > 0
