"""Sweeps: what is done is not done again, lost workers lose nothing."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from stored import assert_same, toml

import mfpde
from mfpde.commands.command_line import main
from mfpde.settings import SettingsError
from mfpde.storage import StoreError
from mfpde.storage.places import lock_store
from mfpde.sweeps.execution import execute
from mfpde.sweeps.records import SweepRecords

CLOCKS = ("seconds", "wall_seconds")


def source(
    folder: Path, *, t_end: float = 0.5, cells: int = 32, betas: int = 2
) -> dict[str, Any]:
    """A sweep of 2 * betas * 3 short runs on the circle."""
    product = {
        "attention.beta": [*map(float, range(1, betas + 1))],
        "start.seed": [1, 2, 3],
    }
    ways = {"up": "ascent", "down": "descent"}
    cases = [{"name": name, "equation.direction": way} for name, way in ways.items()]
    return {
        "sweep": {"folder": str(folder), "product": product, "cases": cases},
        "geometry": {"kind": "circle", "cells": cells},
        "attention": {"beta": 1.0},
        "equation": {"direction": "ascent"},
        "start": {"kind": "perturbed_uniform", "amplitude": 0.3, "seed": 1},
        "solve": {"t_end": t_end, "save_every": t_end},
    }


def same_numbers(sweep: mfpde.Sweep, other: mfpde.Sweep) -> None:
    """Fail unless the summaries are identical, but for what a clock says."""
    pd.testing.assert_frame_equal(numbers(sweep.table), numbers(other.table))


def numbers(table: pd.DataFrame) -> pd.DataFrame:
    """The table without what a clock says."""
    clocks = [name for name in table if any(word in name for word in CLOCKS)]
    return table.drop(columns=clocks)


@pytest.fixture(scope="module")
def serial(tmp_path_factory) -> mfpde.Sweep:
    """Return a sweep whose runs were computed one after the other."""
    return mfpde.Sweep(source(tmp_path_factory.mktemp("serial"))).run()


def test_a_run_of_a_sweep_is_the_run_of_its_settings(serial) -> None:
    assert len(serial.table) == 12
    assert not serial.reasons()
    again = mfpde.solve(
        mfpde.MeanFieldEquation(mfpde.Attention(1.0), direction="ascent"),
        mfpde.perturbed_uniform(mfpde.Circle(32), 0.3, seed=1),
        t_end=0.5,
        save_every=0.5,
    )
    assert_same(serial.load(0).states, again.states)
    first = serial.table.query(
        "case == 'up' and `attention.beta` == 1 and `start.seed` == 1"
    )
    assert first["energy_last"].item() == again.energies[-1]
    with pytest.raises(FileNotFoundError, match="no store of a run"):
        serial.load("x")
    # Another beta is another run, and what is there stays.
    table = source(serial.folder)
    table["sweep"]["product"]["attention.beta"] = [2.0, 3.0]
    names = {run.name for run in mfpde.Sweep(table).runs}
    assert len(names & {run.name for run in serial.runs}) == 6


def test_one_count_in_table_file_and_loop(tmp_path, monkeypatch, capsys) -> None:
    """Clusters are atoms that have formed and those on their way."""
    monkeypatch.chdir(tmp_path)
    table = source(Path("counts"), t_end=100.0, cells=320)
    table["solve"]["atoms"] = "exact"
    product = {"attention.beta": [2.0, 9.0], "start.seed": [1, 2, 3]}
    table["sweep"] = {"folder": "counts", "product": product}
    Path("sweep.toml").write_text(toml(table))
    changed = ["--set", "start.amplitude=0.2"]
    assert main(["sweep", "sweep.toml", "--list", *changed]) == 0
    listed = capsys.readouterr().out
    names = {run.name for run in mfpde.Sweep("sweep.toml").runs}
    assert listed.count("pending") >= len(names) == 6
    assert not any(name in listed for name in names)
    assert main(["sweep", "sweep.toml", "--quiet", "--csv", "t.csv"]) == 0
    sweep, rows = mfpde.Sweep("sweep.toml"), pd.read_csv("t.csv")
    runs = [sweep.load(place) for place in range(6)]
    reports = [mfpde.concentration(run.final, run.equation) for run in runs]
    for name in ("atoms", "forming", "clusters"):
        counts = [len(getattr(report, name)) for report in reports]
        assert sweep.table[name].tolist() == rows[name].tolist() == counts
    assert len(set(counts)) > 1
    merges = [sum(one.kind == "merge" for one in run.events) for run in runs]
    assert sweep.table["merges"].tolist() == merges != [0] * 6
    assert sweep.table["atom_masses"].map(len).tolist() == counts


def test_a_second_start_does_nothing(serial) -> None:
    assert "12 runs over case, attention.beta" in serial._repr_html_()
    assert "12 finished" in str(serial)
    files = sorted(serial.folder.rglob("*"))
    assert serial.folder / "runs.sqlite" in files
    before = [(path, path.stat().st_mtime_ns) for path in files]
    mfpde.Sweep(source(serial.folder)).run()
    assert [(path, path.stat().st_mtime_ns) for path in files] == before


def test_a_run_that_fails_is_told_and_computed_again(
    serial, tmp_path, monkeypatch
) -> None:
    """And one that is interrupted; what has ended is not."""
    import mfpde.sweeps.execution as execution

    working, called = execution.solve, []

    def failing(equation, *given, **options):
        called.append(equation)
        if len(called) == 9:
            raise KeyboardInterrupt
        if equation.direction == "descent":
            raise RuntimeError("no such luck")
        return working(equation, *given, **options)

    monkeypatch.setattr(execution, "solve", failing)
    sweep = mfpde.Sweep(source(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        sweep.run()
    states = [record.state for record in sweep.records]
    assert states.count("finished") + len(sweep.reasons()) == 8
    sweep.run()
    assert len(sweep.reasons()) == 6
    assert all("no such luck" in reason for reason in sweep.reasons().values())
    assert len(called) == 9 + 12 - states.count("finished")
    monkeypatch.setattr(execution, "solve", working)
    assert not sweep.run().reasons()
    same_numbers(sweep, serial)


@pytest.mark.parametrize("limit", [{"max_steps": 3}, {"wall_time_limit": 1e-4}])
def test_a_run_that_a_limit_stops_is_not_finished_and_goes_on(tmp_path, limit) -> None:
    """Its record says which limit, when, and of how long; it ends as without the limit."""

    def table(folder: Path) -> dict[str, Any]:
        made = source(folder, t_end=9.0, cells=64)
        made["sweep"]["product"] = {"attention.beta": [8.0, 9.0]}
        return made

    limited = table(tmp_path / "limited")
    limited["solve"] = {**limited["solve"], **limit}
    (name,) = limit
    sweep = mfpde.Sweep(limited).run()
    assert len(sweep.reasons("stopped")) == 4
    assert not sweep.reasons()
    for label, reason in sweep.reasons("stopped").items():
        assert re.search(rf"^{name} at t = [\d.]+ of 9; .* goes on", reason), reason
        assert f"stopped: {label}: {reason}" in str(sweep)
    assert set(sweep.table["state"]) == {"stopped"}
    assert "atoms" not in sweep.table
    assert (sweep.table["final_time"] < 9).all()
    reached = sweep.table["final_time"].to_numpy()
    if "wall_time_limit" in limit:
        return
    for _ in range(50):
        sweep.run()
        assert (sweep.table["final_time"].to_numpy() >= reached).all()
        reached = sweep.table["final_time"].to_numpy()
        if not sweep.reasons("stopped"):
            break
    assert set(sweep.table["state"]) == {"finished"}
    whole = mfpde.Sweep(table(tmp_path / "whole")).run()
    for index in range(4):
        assert_same(sweep.load(index), whole.load(index), without=["statistics"])


def test_a_run_of_layers_that_a_limit_stops_says_where_the_last_one_ends(
    tmp_path,
) -> None:
    layered = source(tmp_path) | {"layers": [{"duration": 0.5, "count": 2}]}
    layered["solve"] = {"max_steps": 1, "max_step": 0.1}
    reasons = mfpde.Sweep(layered).run().reasons("stopped")
    assert len(reasons) == 12
    assert all(" of 1; the same" in reason for reason in reasons.values())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"product": {"attention.beta": []}}, "attention.beta"),
        ({"product": {"attention.betta": [1.0]}}, "betta"),
        ({"product": {"attention.beta": [-1.0]}}, "beta"),
        ({"products": {}}, "products"),
        ({"cases": [{"name": "a"}, {"name": "a"}]}, "is there twice"),
    ],
)
def test_a_wrong_sweep_is_refused_before_any_run(tmp_path, change, words) -> None:
    wrong = source(tmp_path / "sweep")
    wrong["sweep"] = {"folder": str(tmp_path / "sweep"), **change}
    with pytest.raises(SettingsError, match=words):
        mfpde.Sweep(wrong)
    assert not (tmp_path / "sweep").exists()


def test_a_run_that_another_process_computes_is_left_to_it(tmp_path) -> None:
    sweep = mfpde.Sweep(source(tmp_path))
    records, run = SweepRecords(sweep.folder), sweep.runs[0]
    store = records.store(run.name)
    store.mkdir(parents=True)
    with ThreadPoolExecutor(1) as elsewhere:
        held = elsewhere.submit(lock_store, store).result()
        there = set(store.rglob("*"))
        assert execute(run, records) == "elsewhere"
        assert records.find(run.name).state == "pending"
        assert set(store.rglob("*")) == there
        held.close()
    assert execute(run, records) == "finished"


def test_a_table_of_records_that_is_damaged_is_made_again_from_the_stores(
    tmp_path, monkeypatch
) -> None:
    import mfpde.sweeps.execution as execution

    sweep = mfpde.Sweep(source(tmp_path)).run()
    expected = numbers(sweep.table)
    (tmp_path / "runs.sqlite").write_bytes(b"x" * 5000)
    with pytest.raises(StoreError, match=r"runs\.sqlite .* may be removed") as refused:
        sweep.run()
    assert "\n" not in str(refused.value)
    (tmp_path / "runs.sqlite").unlink()
    # Without a step.
    monkeypatch.delattr(execution, "solve")
    pd.testing.assert_frame_equal(numbers(sweep.run().table), expected)


@pytest.mark.parametrize("folder", ["../there", "a/../../there", "link/there"])
def test_a_sweep_file_writes_nothing_outside_of_its_folder(
    folder, tmp_path, monkeypatch, capsys
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Path("link").symlink_to(tmp_path)
    Path("sweep.toml").write_text(toml(source(Path(folder))))
    assert main(["sweep", "sweep.toml"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "lies outside of the folder" in said
    assert not (tmp_path / "there").exists()
