"""The track on disk: to the bit, as the run goes, after a kill, resumed, from settings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from test_cli import interrupted_after

import mfpde
from mfpde.commands.command_line import main
from mfpde.runs.stopping import StopReason
from mfpde.storage import RunWriter, load, save
from mfpde.tracking import Concentration

BUMPS = """
[geometry]
kind = "circle"
cells = 256

[attention]
beta = 25.0

[equation]
direction = "ascent"

[start]
kind = "bumps"
angles = [0.3, 0.8, 3.0]
widths = [0.03, 0.03, 0.03]
masses = [0.32, 0.28, 0.4]

[solve]
t_end = 30.0
save_every = 3.0

[concentration]
smallest_mass = 0.01
"""


@pytest.fixture
def config(tmp_path, monkeypatch):
    """Return a settings file whose run has births and a merge."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.toml").write_text(BUMPS)
    return "run.toml"


@pytest.fixture(scope="module")
def run():
    """Return such a run with the settings' own arguments."""
    circle = mfpde.Circle(256)
    angles = circle.angles
    values = sum(
        m * np.exp(-((angles - c) ** 2) / (2 * 0.03**2))
        for c, m in ((0.3, 0.3), (0.8, 0.3), (3.0, 0.4))
    )
    return mfpde.solve(
        mfpde.MeanFieldEquation(mfpde.Attention(25.0), direction="ascent"),
        mfpde.Density(circle, values).normalized(),
        t_end=30.0,
        save_every=2.0,
        track=Concentration(),
    )


def assert_same_events(one, other):
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        assert (a.kind, a.time) == (b.kind, b.time)
        assert np.array_equal(a.points, b.points)
        assert np.array_equal(a.masses, b.masses)


def assert_same_tracks(one, other):
    """Require two tracks to be equal to the bit."""
    assert np.array_equal(one.times, other.times)
    assert one.verdicts == other.verdicts
    for a, b in zip(one.seen, other.seen, strict=True):
        assert np.array_equal(a.points, b.points)
        assert np.array_equal(a.masses, b.masses)
        assert np.array_equal(a.identities, b.identities)
        assert np.array_equal(a.is_forming, b.is_forming)
    assert_same_events(one.events, other.events)
    for a, b in zip(one.junctions, other.junctions, strict=True):
        assert (a.earliest, a.latest) == (b.earliest, b.latest)
        assert (a.parents, a.children) == (b.parents, b.children)


def test_a_track_comes_back_to_the_bit(run, tmp_path):
    save(run, tmp_path / "run.zarr")
    loaded = load(tmp_path / "run.zarr")
    assert_same_tracks(loaded.track, run.track)
    assert_same_events(loaded.events, run.events)
    assert list(loaded.diagnostics) == list(run.diagnostics)


def test_a_track_is_written_as_the_run_goes(run, tmp_path):
    """Nothing but the saves so far: the run is never finished."""
    path = tmp_path / "run.zarr"
    kept = []

    class StoppedAfter12(RunWriter):
        def save(self, time, measure, diagnostics):
            if len(kept) == 12:
                raise KeyboardInterrupt
            super().save(time, measure, diagnostics)
            kept.append(time)

        def finish(self, run):
            pass

    mfpde.solve(
        run.equation,
        run.states[0],
        t_end=30.0,
        save_every=2.0,
        track=Concentration(),
        observer=StoppedAfter12(path, run.equation, run.states[0].geometry),
    )
    loaded = load(path)
    assert loaded.stop.kind == "interrupted"
    assert loaded.track.times.tolist() == kept
    # What is not yet in a complete record is not there.
    assert all(junction.latest <= kept[-1] for junction in loaded.track.junctions)
    assert_same_events(
        loaded.track.events,
        [j.event for j in run.track.junctions if j.latest <= kept[-1]],
    )


@pytest.mark.parametrize("which", [[True] * 4, [False, True, False, True]])
def test_covariances_come_back_to_the_bit(which, tmp_path, rng):
    """Also where some saves have more atoms without them than others with them."""
    sphere = mfpde.Sphere(32)
    states = []
    for index, has_widths in enumerate(which):
        count = 5 - index
        points = rng.standard_normal((count, 3))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        widths = rng.random((count, 3, 3)) if has_widths else None
        atoms = mfpde.Atoms(points, np.full(count, 0.5 / count), widths)
        half = mfpde.Density(sphere, mfpde.uniform(sphere).values / 2)
        states.append(mfpde.Measure(half, atoms))
    equation = mfpde.MeanFieldEquation(mfpde.Attention(2.0), direction="ascent")
    times = np.arange(4.0)
    mass = {"mass": np.ones(4)}
    stop = StopReason.of("t_end", time=3.0)
    run = mfpde.Run(equation, times, states, mass, stop, states[-1], 3.0)
    save(run, tmp_path / "run.zarr")
    for one, other in zip(load(tmp_path / "run.zarr").states, states, strict=True):
        assert np.array_equal(one.atoms.points, other.atoms.points)
        assert np.array_equal(one.atoms.masses, other.atoms.masses)
        if other.atoms.covariances is None:
            assert one.atoms.covariances is None
        else:
            assert np.array_equal(one.atoms.covariances, other.atoms.covariances)


# --- the command line ----------------------------------------------------------------


@pytest.mark.parametrize("saves", [1, 5])
def test_a_resumed_run_has_the_tree_of_one_that_was_not(config, saves, monkeypatch):
    assert main(["run", config, "--out", "whole.zarr", "--quiet"]) == 0
    with monkeypatch.context() as patched:
        interrupted_after(patched, saves)
        assert main(["run", config, "--out", "cut.zarr", "--quiet"]) == 130
    assert len(load("cut.zarr").track.times) == saves
    assert main(["resume", "cut.zarr", "--quiet"]) == 0
    whole, resumed = load("whole.zarr"), load("cut.zarr")
    assert np.array_equal(resumed.track.times, whole.track.times)
    assert [e.kind for e in resumed.events] == [e.kind for e in whole.events]
    for one, other in zip(resumed.track.seen, whole.track.seen, strict=True):
        assert np.array_equal(one.identities, other.identities)
        np.testing.assert_allclose(one.points, other.points, atol=1e-3)
    np.testing.assert_array_equal(resumed.track.counts, whole.track.counts)


class KilledError(Exception):
    """Stands for a signal in the middle of a save: nothing more is written."""


@pytest.mark.parametrize("cuts", [(4,), (2, 4)])
def test_events_survive_a_process_that_is_killed(cuts, config, monkeypatch):
    """No track, no end: what exact atoms did before the last save is there, and no more."""
    asked = [
        "--set",
        "geometry.cells=512",
        "--set",
        "solve.atoms=exact",
        "--quiet",
    ]
    Path(config).write_text(BUMPS.partition("[concentration]")[0])
    assert main(["run", config, "--out", "whole.zarr", *asked]) == 0
    whole = load("whole.zarr")
    assert {event.kind for event in whole.events} == {"birth", "merge"}
    commands = [["run", config, "--out", "cut.zarr", *asked]]
    commands += [["resume", "cut.zarr", "--quiet"]] * len(cuts)
    for saves, command in zip(cuts, commands, strict=False):
        with monkeypatch.context() as patched:
            interrupted_after(patched, saves, error=KilledError)
            with pytest.raises(KilledError):
                main(command)
        cut = load("cut.zarr")
        told = [event for event in whole.events if event.time <= cut.final_time]
        assert [event.kind for event in cut.events] == [event.kind for event in told]
    assert main(commands[-1]) == 0
    resumed = load("cut.zarr").events
    assert [event.kind for event in resumed] == [event.kind for event in whole.events]
    for one, other in zip(resumed, whole.events, strict=True):
        assert one.time == pytest.approx(other.time, rel=0.02)
