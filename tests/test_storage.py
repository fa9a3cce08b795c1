"""Stores: exact round trips, and nothing lost when a run is killed."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
import zarr

from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Sphere, Zonal
from mfpde.measures.measure import Atoms, Density, Measure
from mfpde.measures.starts import perturbed_uniform
from mfpde.particles import solve_particles
from mfpde.runs.run import Run
from mfpde.runs.stopping import StepLimit, StopReason
from mfpde.solver.diagnostics import DIAGNOSTICS
from mfpde.solver.solve import solve
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
from mfpde.terms import Attention, Perceptron, Potential

CIRCLE = Circle(64)
EQUATION = MeanFieldEquation(
    Attention(2.0), Perceptron([[1.0, 0.0]], [0.3]), direction="descent"
)
ARGUMENTS = {
    "t_end": 1.0,
    "save_every": 0.25,
    "observe": {"first_cell": lambda measure: measure.density.masses[0]},
}
OTHERS = {
    "sphere": Sphere(32),
    "stretched sphere": Sphere(32, 40),
    "zonal": Zonal(8, 64),
    "high-dimensional zonal": Zonal(256, 352),
}


def solved(geometry=CIRCLE, *terms, start=None, **options):
    """Return a short density run."""
    neuron = Perceptron(np.eye(1, geometry.dimension, geometry.dimension - 1), [0.3])
    equation = MeanFieldEquation(
        *(terms or (Attention(1.0), neuron)), direction="descent"
    )
    start = perturbed_uniform(geometry, 0.3) if start is None else start
    return solve(equation, start, **{"t_end": 0.2, "save_every": 0.1, **options})


@pytest.fixture(scope="module")
def run():
    """Return a short density run with an observer of the user's own."""
    start = perturbed_uniform(CIRCLE, 0.3)
    return solve(EQUATION, start, **ARGUMENTS)


def opened(path):
    """Return a store as xarray alone reads it."""
    return xr.open_zarr(path, consolidated=False, chunks=None)


def assert_same_states(one, other):
    """Require two lists of measures to be equal to the bit."""
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        if not isinstance(a, Atoms):
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


def with_atoms(count, seed, geometry=CIRCLE):
    """Return a measure of half density, half ``count`` atoms in random places."""
    generator = np.random.default_rng(seed)
    points = generator.standard_normal((count, geometry.dimension))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    masses = generator.random(count) + 0.1
    half = Density(geometry, perturbed_uniform(geometry, 0.5, seed).values / 2)
    return Measure(half, Atoms(points, 0.5 * masses / masses.sum()) if count else None)


def run_with_atoms(geometry=CIRCLE):
    """Return a run whose number of atoms changes from save to save."""
    counts = enumerate([0, 3, 5, 0, 1])
    states = [with_atoms(count, seed, geometry) for seed, count in counts]
    times = np.arange(5) / 3
    return Run(
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
    head = Attention(2.0, bilinear=np.diag([1.0, -0.5]), value=[[0, 1], [-1, 0]])
    run = solved(CIRCLE, head, observe={"nothing": lambda measure: 0.0})
    assert np.isnan(run.energies).all()
    return run


def run_with_last_state(**saves):
    """Return a run that ends between two saves, or before its first."""
    run = solved(t_end=3.0, stop=StepLimit(1), transport="donor_blended", **saves)
    assert not len(run.times) or run.final_time > run.times[-1]
    return run


RUNS = {
    "circle": lambda: solve(EQUATION, perturbed_uniform(CIRCLE, 0.3), **ARGUMENTS),
    **{name: partial(solved, geometry) for name, geometry in OTHERS.items()},
    "particles": lambda: solve_particles(
        EQUATION, perturbed_uniform(CIRCLE, 0.3), t_end=1.0, save_every=0.5, count=37
    ),
    "atoms": lambda: run_with_atoms(CIRCLE),
    "atoms on a sphere": lambda: run_with_atoms(OTHERS["sphere"]),
    "atoms on a zonal grid": lambda: run_with_atoms(OTHERS["zonal"]),
    "a last state": lambda: run_with_last_state(save_every=2.9),
    "no save": lambda: run_with_last_state(save_every=None, save_at=[3.0]),
    "NaN and zero": run_without_gradient,
}


@pytest.mark.parametrize("name", RUNS)
def test_a_run_comes_back_to_the_bit(name, tmp_path):
    run = RUNS[name]()
    save(run, tmp_path / "run.zarr")
    loaded = load(tmp_path / "run.zarr")
    assert_same(run, loaded)
    assert to_json(loaded.equation) == to_json(run.equation)
    if not isinstance(run.final, Atoms):
        assert loaded.final.geometry == run.final.geometry


@pytest.mark.parametrize("dimension", [3, 8])
def test_particles_in_any_dimension_come_back_to_the_bit(dimension, tmp_path, *, run):
    points = np.random.default_rng(1).standard_normal((21, dimension))
    start = Atoms(points / np.linalg.norm(points, axis=1, keepdims=True))
    equation = MeanFieldEquation(Attention(2.0), direction="ascent")
    particles = solve_particles(equation, start, t_end=0.5, save_every=0.25)
    save(run, tmp_path / "run.zarr")
    save(particles, tmp_path / "run.zarr/particles")
    assert_same(particles, load(tmp_path / "run.zarr/particles"))
    assert_same(run, load(tmp_path / "run.zarr"))
    beside = load(tmp_path / "run.zarr/particles").to_xarray()
    assert beside.atom_points.shape == (3, 21, dimension)


def test_writing_as_the_run_goes_gives_the_same_store(run, tmp_path):
    writer = RunWriter(tmp_path / "run.zarr", EQUATION, CIRCLE)
    again = solve(EQUATION, run.states[0], observer=writer, **ARGUMENTS)
    assert_same(again, load(tmp_path / "run.zarr"))
    assert_same_states(run.states, again.states)


def test_an_equation_with_functions_is_not_rebuilt(run, tmp_path):
    potential = Potential(lambda x: x[..., 0], lambda x: np.eye(x.shape[-1])[0] + 0 * x)
    equation = MeanFieldEquation(Attention(1.0), potential, direction="ascent")
    save(solve(equation, run.states[0], t_end=0.1), tmp_path / "run.zarr")
    assert load(tmp_path / "run.zarr").equation is None
    assert opened(tmp_path / "run.zarr").attrs["convention"] == equation.convention


def test_xarray_reads_names_units_and_attributes(run, tmp_path):
    save(run, tmp_path / "run.zarr")
    with opened(tmp_path / "run.zarr") as data:
        assert data.density.dims == ("time", "angle")
        assert data.density.attrs["units"] == "1/rad"
        assert data.angle.attrs["units"] == "rad"
        assert np.array_equal(data.time, run.times)
        assert np.array_equal(data.angle, CIRCLE.angles)
        for name, diagnostic in DIAGNOSTICS.items():
            assert data[name].attrs["long_name"] == diagnostic.meaning
            assert data[name].attrs["units"] == diagnostic.unit
        assert data.attrs["convention"] == "K = exp(beta (x.y - 1))"
        assert json.loads(data.attrs["stop"])["kind"] == "t_end"
        assert json.loads(data.attrs["geometry"]) == {"kind": "circle", "num_cells": 64}
        assert json.loads(data.attrs["equation"])["direction"] == "descent"
        assert json.loads(data.attrs["statistics"]) == run.statistics
        assert "mfpde_version" in data.attrs


@pytest.mark.parametrize(
    ("name", "dimensions", "units", "record"),
    [
        (
            "sphere",
            ("colatitude", "longitude"),
            "1/sr",
            {"kind": "sphere", "nlat": 32, "nlon": 64},
        ),
        (
            "zonal",
            ("polar_angle",),
            "1/area",
            {"kind": "zonal", "dimension": 8, "num_cells": 64},
        ),
        (
            "high-dimensional zonal",
            ("polar_angle",),
            "1",
            {"kind": "zonal", "dimension": 256, "num_cells": 352},
        ),
    ],
)
def test_xarray_reads_names_and_units_of_every_geometry(
    name, dimensions, *, units, record, tmp_path
):
    geometry = OTHERS[name]
    writer = RunWriter(tmp_path / "run.zarr", None, geometry)
    start = perturbed_uniform(geometry, 0.3)
    writer.save(0.0, start, {})
    with load(tmp_path / "run.zarr").to_xarray() as data:
        assert data.density.dims == ("time", *dimensions)
        assert data.density.attrs["units"] == units
        assert all(data[axis].attrs["units"] == "rad" for axis in dimensions)
        assert np.array_equal(data.density[0], start.values)
        assert json.loads(data.attrs["geometry"]) == record
        # The coordinates say where the cells are.
        last = np.cos(data[dimensions[0]].values)
        heights = geometry.points[..., -1].reshape(len(last), -1)
        np.testing.assert_allclose(heights, np.tile(last, (heights.shape[1], 1)).T)
        if name == "sphere":
            x = np.outer(np.sin(data.colatitude), np.cos(data.longitude))
            np.testing.assert_allclose(geometry.points[..., 0], x, atol=1e-15)


TAKEN = ("density", "angle", "colatitude", "longitude", "polar_angle")


@pytest.mark.parametrize("name", TAKEN)
def test_a_diagnostic_with_a_taken_name_is_refused(name, tmp_path):
    writer = RunWriter(tmp_path / "run.zarr", EQUATION, CIRCLE)
    with pytest.raises(ValueError, match=f"'{name}' cannot be stored: rename it"):
        writer.save(0.0, perturbed_uniform(CIRCLE), {name: 1.0})


def test_particles_live_beside_the_density(run, tmp_path):
    save(run, tmp_path / "run.zarr")
    particles = solve_particles(EQUATION, run.states[0], t_end=1.0, count=20)
    save(particles, tmp_path / "run.zarr/particles")
    assert_same(run, load(tmp_path / "run.zarr"))
    assert_same(particles, load(tmp_path / "run.zarr/particles"))
    beside = load(tmp_path / "run.zarr/particles").to_xarray()
    assert beside.atom_points.dims == ("time", "atom", "axis")
    with pytest.raises(FileExistsError, match="particles exists"):
        save(particles, tmp_path / "run.zarr/particles")
    save(particles, tmp_path / "run.zarr/particles", overwrite=True)
    save(run, tmp_path / "run.zarr", overwrite=True)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "run.zarr/particles")


def test_a_path_that_exists_is_refused_before_the_run(run, tmp_path):
    save(run, tmp_path / "run.zarr")
    with pytest.raises(FileExistsError, match=r"run.zarr exists.*overwrite=True"):
        RunWriter(tmp_path / "run.zarr", EQUATION, CIRCLE)
    assert_same(run, load(tmp_path / "run.zarr"))


def test_overwrite_replaces_a_store(run, tmp_path):
    save(run_with_atoms(), tmp_path / "run.zarr")
    save(run, tmp_path / "run.zarr", overwrite=True)
    assert_same(run, load(tmp_path / "run.zarr"))


def test_overwrite_never_replaces_anything_else(run, tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("dear")
    zarr.open_group(str(tmp_path / "other.zarr"), mode="w")
    for name in ("letters", "other.zarr"):
        with pytest.raises(FileExistsError, match="is no store of a run"):
            save(run, tmp_path / name, overwrite=True)
    assert (tmp_path / "letters" / "dear.txt").read_text() == "dear"


def test_a_store_half_removed_can_be_overwritten(run, tmp_path, monkeypatch):
    """A process that is killed while it replaces a store leaves what is known as one."""
    path = tmp_path / "run.zarr"
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
    for name in foreign:
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text("dear")
    (tmp_path / "elsewhere.txt").write_text("dear")
    (path / "link").symlink_to(tmp_path)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "zarr.json").write_text("dear")
    (path / "store").symlink_to(tmp_path / "other")
    save(run_with_atoms(), path, overwrite=True)
    assert_same(run_with_atoms(), load(path))
    save(run, path, overwrite=True)
    for name in [*foreign, "link/elsewhere.txt", "store/zarr.json"]:
        assert (path / name).read_text() == "dear"
    assert_same(run, load(path))


@pytest.mark.parametrize(
    ("made", "part", "error"),
    [
        (lambda path: None, "", "no store of a run at"),
        (partial(zarr.open_group, mode="w"), "", "not of a run of mfpde"),
        (lambda path: RunWriter(path, EQUATION, CIRCLE), "", "no saved state"),
        (lambda path: save(run_with_atoms(), path), PARTICLES, "no store of a run at"),
    ],
)
def test_loading_what_is_no_run_says_so(tmp_path, *, made, part, error):
    made(tmp_path / "run.zarr")
    with pytest.raises((FileNotFoundError, StoreError), match=error):
        load(tmp_path / "run.zarr" / part)


def test_time_must_go_forward(run, tmp_path):
    writer = RunWriter(tmp_path / "run.zarr", EQUATION, CIRCLE)
    writer.save(1.0, run.states[0], {})
    with pytest.raises(ValueError, match=r"time = 1.0 must be after"):
        writer.save(1.0, run.states[0], {})


# --- killed runs ----------------------------------------------------------------------


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


def saved(writer, run, indices):
    """Save some records of ``run``."""
    for index in indices:
        row = {name: values[index] for name, values in run.diagnostics.items()}
        writer.save(float(run.times[index]), run.states[index], row)


def test_a_run_killed_between_saves_is_loaded_as_far_as_it_came(run, tmp_path):
    writer = RunWriter(tmp_path / "run.zarr", EQUATION, CIRCLE)
    saved(writer, run, range(3))
    loaded = load(tmp_path / "run.zarr")
    assert np.array_equal(loaded.times, run.times[:3])
    assert_same_states(loaded.states, run.states[:3])
    assert loaded.stop.kind == "interrupted"
    assert loaded.final_time == run.times[2]
    assert load(tmp_path / "run.zarr").to_xarray().sizes["time"] == 3


def test_a_run_killed_at_any_write_keeps_all_complete_saves(tmp_path):
    run = run_with_atoms(CIRCLE)
    writes, survived = 0, False
    while not survived:
        path = tmp_path / f"{writes}.zarr"
        writer = RunWriter(path, run.equation, CIRCLE)
        saved(writer, run, range(2))
        with pytest.MonkeyPatch.context() as patch:
            left = killed_after(patch, writes)
            with contextlib.suppress(KilledError):
                saved(writer, run, range(2, 5))
                writer.finish(run)
            survived = left[0] > 0
        loaded = load(path)
        count = len(loaded.times)
        assert 2 <= count <= 5
        assert_same_states(loaded.states, run.states[:count])
        if loaded.stop.kind == "interrupted":
            assert load(path).to_xarray().sizes["time"] == count
        if has_journal(path):
            # It is made anew as if nothing had happened.
            resumed = RunWriter.resume(path, None)
            saved(resumed, run, range(5))
            resumed.finish(run)
        assert_same(run, load(path))
        writes += 1
    assert writes > 40


_CHILD = """
import sys
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Sphere, Zonal
from mfpde.measures.measure import uniform
from mfpde.storage import RunWriter
from mfpde.terms import Attention

circle = Circle(64)
equation = MeanFieldEquation(Attention(2.0), direction="descent")
writer = RunWriter(sys.argv[1], equation, circle)
for k in range(100000):
    writer.save(float(k), uniform(circle), {"mass": 1.0})
    print(k, flush=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="there is no SIGKILL here")
def test_a_process_killed_by_the_system_keeps_its_saves(tmp_path):
    path = tmp_path / "run.zarr"
    command = [sys.executable, "-c", _CHILD, str(path)]
    root = str(Path(__file__).parents[1])
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": root},
    ) as child:
        lines = [child.stdout.readline() for _ in range(5)]
        child.send_signal(signal.SIGKILL)
    assert lines[-1] == "4\n"
    loaded = load(path)
    assert len(loaded.times) >= 5
    assert np.array_equal(loaded.times, np.arange(len(loaded.times)))


def test_a_resumed_store_forgets_the_earlier_end(tmp_path):
    start, path = perturbed_uniform(CIRCLE, 0.3), tmp_path / "run.zarr"
    writer = RunWriter(path, EQUATION, CIRCLE)
    limit = [StepLimit(1)]
    run = solve(EQUATION, start, t_end=1.0, save_every=0.9, stop=limit, observer=writer)
    assert load(path).stop.kind == "step_limit"
    assert load(path).final_time == run.final_time > run.times[-1]
    RunWriter.resume(path, stored_checkpoint(path))
    loaded = load(path)
    assert loaded.stop.kind == "interrupted"
    assert loaded.final_time == run.times[-1]


def test_a_journal_is_that_of_a_run_or_none(tmp_path, monkeypatch) -> None:
    """A process that is killed while it begins leaves no journal without attributes."""
    seen = []
    connect = sqlite3.connect

    class Watched(sqlite3.Connection):
        def execute(self, statement, *values):
            found = super().execute(statement, *values)
            with contextlib.suppress(sqlite3.OperationalError):
                file = tmp_path / "run.zarr" / "journal.sqlite"
                other = connect(f"file:{file}?mode=ro", uri=True)
                seen.append(other.execute("SELECT count(*) FROM rows").fetchone()[0])
                other.close()
            return found

    monkeypatch.setattr(
        sqlite3, "connect", lambda *a, **b: connect(*a, factory=Watched, **b)
    )
    RunWriter(tmp_path / "run.zarr", EQUATION, CIRCLE)
    assert seen
    assert min(seen) > 0
