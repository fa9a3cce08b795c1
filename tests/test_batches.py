"""Runs that advance together are the runs that each of them is alone."""

from __future__ import annotations

import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr

import mfpde
import mfpde.sweeps.batches as batches
import mfpde.sweeps.execution as execution
import mfpde.sweeps.keeping as keeping
from mfpde.solver.preparation import prepared
from mfpde.solver.row_steps import RowControl
from mfpde.solver.together import EndedRun, advanced_together, kind_of_run
from mfpde.storage import load
from mfpde.sweeps.record import SweepFolder

ROUNDING = 1e-12
CLOCKS = ("seconds",)


def problem(
    beta: float,
    *,
    cells: int = 64,
    softmax: bool = False,
    neurons: int = 2,
    seed: int = 1,
    direction: str = "descent",
    **arguments: object,
) -> tuple[mfpde.MeanFieldEquation, mfpde.Density, dict[str, object]]:
    """An equation with neurons of any directions and weights, a start, and arguments."""
    chosen = np.random.default_rng(seed)
    angles = chosen.uniform(0, 2 * np.pi, neurons)
    terms: list[object] = [mfpde.Attention(beta, normalized=softmax)]
    if neurons:
        directions = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        terms.append(
            mfpde.Perceptron(directions, chosen.uniform(-1, 1, neurons), "relu")
        )
    equation = mfpde.MeanFieldEquation(*terms, direction=direction)
    start = mfpde.perturbed_uniform(mfpde.Circle(cells), 0.3, seed=seed)
    return equation, start, {"t_end": 2.0, "save_every": 0.5, **arguments}


def together(problems) -> dict[int, mfpde.Run]:
    runs = [prepared(equation, start, **given) for equation, start, given in problems]
    assert len({kind_of_run(run) for run in runs}) == 1
    return {ended.place: ended.run for ended in advanced_together(runs)}


def alone(problems) -> dict[int, mfpde.Run]:
    return {
        i: mfpde.solve(e, start, **given)
        for i, (e, start, given) in enumerate(problems)
    }


def assert_same(found: mfpde.Run, expected: mfpde.Run) -> None:
    assert found.stop == expected.stop
    assert np.array_equal(found.times, expected.times)
    for name in ("steps", "rejected", "method", "rtol"):
        assert found.statistics[name] == expected.statistics[name]
    for one, other in zip(found.states, expected.states, strict=True):
        scale = other.density.values.max()
        assert (
            np.abs(one.density.values - other.density.values).max() < ROUNDING * scale
        )
    assert found.diagnostics.keys() == expected.diagnostics.keys()
    for name, values in expected.diagnostics.items():
        scale = max(np.abs(values).max(), 1.0)
        assert np.abs(found.diagnostics[name] - values).max() < ROUNDING * scale


MIXED = {
    "betas, weights, directions": [
        problem(beta, seed=seed, direction=("ascent", "descent")[seed % 2])
        for seed, beta in enumerate((0.0, 0.5, 1.0, 3.0, 7.0))
    ],
    "softmax": [
        problem(beta, softmax=True, seed=seed)
        for seed, beta in enumerate((0.5, 2.0, 5.0))
    ],
    "without a perceptron": [
        problem(beta, neurons=neurons, direction="ascent")
        for beta, neurons in ((1.0, 0), (2.0, 1), (4.0, 0))
    ],
    "ends and saves": [
        problem(2.0, t_end=t_end, save_every=every, seed=seed)
        for seed, (t_end, every) in enumerate([(1.0, 0.3), (3.0, 1.0), (2.0, 2.0)])
    ],
    "conditions to stop": [
        problem(3.0, t_end=50.0, save_every=10.0, stop=stop, seed=seed)
        for seed, stop in enumerate(
            [(), mfpde.StepLimit(17), mfpde.SteadyState(1e-3), mfpde.StepLimit(1)]
        )
    ],
    "a longest and a first step": [
        problem(3.0, max_step=0.01),
        problem(3.0, first_step=1e-4),
        problem(3.0),
    ],
    "an accuracy of their own": [
        problem(3.0, rtol=rtol) for rtol in (1e-2, 1e-5, 1e-7)
    ],
    "an odd number of cells": [problem(beta, cells=101) for beta in (1.0, 4.0)],
    "a smooth phase": [
        problem(beta, transport="semi_lagrangian_donor_blended", cells=128, t_end=20.0)
        for beta in (2.0, 6.0, 9.0)
    ],
    "one alone": [problem(2.0)],
}


@pytest.mark.parametrize("name", MIXED)
def test_rows_are_the_runs_that_each_is_alone(name) -> None:
    problems = MIXED[name]
    found, expected = together(problems), alone(problems)
    assert sorted(found) == sorted(expected)
    for place, run in expected.items():
        assert_same(found[place], run)


def test_a_refused_step_leaves_the_other_rows_as_they_are() -> None:
    """The state of a row is to the bit the same whether another one repeats its steps or not."""
    by_fluxes = {"transport": "donor_blended"}
    calm, wild = problem(1.0, **by_fluxes), problem(15.0, rtol=1e-9, **by_fluxes)
    beside_wild, beside_calm = together([calm, wild]), together([calm, calm])
    refused = [beside_wild[row].statistics["rejected"] for row in (0, 1)]
    assert refused[1] > 3
    assert refused[0] == beside_calm[0].statistics["rejected"] != refused[1]
    for one, other in zip(beside_wild[0].states, beside_calm[0].states, strict=True):
        assert np.array_equal(one.density.values, other.density.values)


def test_a_row_that_cannot_go_on_ends_as_it_does_alone() -> None:
    """Weights that allow only tiny steps: the row's own loop finds out why."""
    strong = mfpde.Perceptron([[1.0, 0.0]], [1e50], "relu")
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(1.0), strong, direction="descent"
    )
    start = mfpde.uniform(mfpde.Circle(64))
    wrong = (equation, start, {"t_end": 1.0, "save_every": 0.5})
    problems = [problem(1.0), wrong, problem(2.0)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, expected = together(problems), alone(problems)
    assert expected[1].stop.kind == "step_too_small"
    for place, run in expected.items():
        assert found[place].stop == run.stop
    assert_same(found[0], expected[0])
    assert_same(found[2], expected[2])


@pytest.mark.parametrize(
    "given",
    [
        problem(1.0, refine=True),
        problem(1.0, atoms="exact", transport="semi_lagrangian"),
        problem(1.0, transport="muscl"),
        problem(1.0, stop=mfpde.WallTimeLimit(9.0)),
        problem(1.0, progress=lambda progress: None),
        (
            mfpde.MeanFieldEquation(
                mfpde.Attention(1.0), diffusion=0.1, direction="ascent"
            ),
            mfpde.uniform(mfpde.Circle(64)),
            {"t_end": 1.0},
        ),
        (
            mfpde.MeanFieldEquation(
                mfpde.Attention(1.0, bilinear=np.eye(2)), direction="ascent"
            ),
            mfpde.uniform(mfpde.Circle(64)),
            {"t_end": 1.0},
        ),
        (
            mfpde.MeanFieldEquation(mfpde.Attention(1.0), direction="ascent"),
            mfpde.uniform(mfpde.Sphere(32, 64)),
            {"t_end": 1.0},
        ),
    ],
    ids=[
        "refined",
        "exact",
        "muscl",
        "clock",
        "watched",
        "diffusion",
        "matrices",
        "S2",
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_what_has_to_go_alone_is_told(given) -> None:
    equation, start, arguments = given
    assert kind_of_run(prepared(equation, start, **arguments)) is None


def test_circles_and_softmax_are_kinds_of_their_own() -> None:
    kinds = {
        kind_of_run(prepared(equation, start, **given))
        for equation, start, given in (
            problem(1.0),
            problem(9.0),
            problem(1.0, cells=66),
            problem(1.0, softmax=True),
        )
    }
    assert len(kinds) == 3


def test_the_time_of_a_row_is_its_part_of_the_whole() -> None:
    import time

    problems = [problem(1.0, seed=seed) for seed in range(8)]
    together(problems)
    begun = time.monotonic()
    runs = together(problems).values()
    assert (
        0
        < sum(run.statistics["wall_seconds"] for run in runs)
        <= time.monotonic() - begun
    )


def source(folder: Path) -> dict[str, object]:
    """A sweep of 12 runs of two kinds."""
    return {
        "sweep": {
            "folder": str(folder),
            "product": {"attention.beta": [1.0, 2.0, 4.0], "start.seed": [1, 2]},
            "cases": [
                {"name": "shifted"},
                {"name": "softmax", "attention.normalized": True},
            ],
        },
        "geometry": {"kind": "circle", "cells": 64},
        "attention": {"beta": 1.0},
        "perceptron": {"directions": [[1.0, 0.0]], "weights": [0.5]},
        "equation": {"direction": "descent"},
        "start": {"kind": "perturbed_uniform", "amplitude": 0.3, "seed": 1},
        "solve": {"t_end": 1.0, "save_every": 0.25},
    }


@pytest.fixture(scope="module")
def separate(tmp_path_factory) -> mfpde.Sweep:
    """A sweep whose runs were computed each alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execution, "FEWEST_TOGETHER", 10**6)
        return mfpde.Sweep(source(tmp_path_factory.mktemp("separate"))).run()


def advanced_counts(monkeypatch) -> list[int]:
    """The numbers of runs that advance together, from now on."""
    counts: list[int] = []

    def counted(runs):
        counts.append(len(runs))
        return advanced_together(runs)

    monkeypatch.setattr(batches, "advanced_together", counted)
    return counts


def assert_same_sweep(found: mfpde.Sweep, expected: mfpde.Sweep) -> None:
    one, other = found.summary, expected.summary
    clocks = [n for n in other.variables if any(word in str(n) for word in CLOCKS)]
    xr.testing.assert_allclose(
        one.drop_vars(clocks), other.drop_vars(clocks), rtol=1e-9, atol=1e-12
    )
    for run in expected.runs:
        stored, alone = found.load(run.name), expected.load(run.name)
        assert_same(stored, alone)
        assert stored.diagnostics.keys() == alone.diagnostics.keys()


def test_a_sweep_is_the_same_with_and_without(separate, tmp_path, monkeypatch) -> None:
    counts = advanced_counts(monkeypatch)
    sweep = mfpde.Sweep(source(tmp_path)).run()
    assert sorted(counts) == [6, 6]
    assert_same_sweep(sweep, separate)
    for run in sweep.runs:
        folders = [
            one.folder / "runs" / f"{run.name}.zarr" for one in (sweep, separate)
        ]
        files = [{str(path.relative_to(f)) for path in f.rglob("*")} for f in folders]
        assert files[0] == files[1]
    assert not SweepFolder(tmp_path).running()
    assert mfpde.Sweep(source(tmp_path)).run().summary.identical(sweep.summary)
    assert sorted(counts) == [6, 6]


def test_what_comes_up_in_a_batch_is_recorded_alone(
    separate, tmp_path, monkeypatch
) -> None:
    def broken(runs):
        for number, ended in enumerate(advanced_together(runs)):
            if number == 2:
                raise RuntimeError("no such luck")
            yield ended

    monkeypatch.setattr(batches, "advanced_together", broken)
    sweep = mfpde.Sweep(source(tmp_path)).run()
    assert not sweep.failed
    assert_same_sweep(sweep, separate)


def test_a_batch_that_is_interrupted_keeps_what_has_ended(
    separate, tmp_path, monkeypatch
) -> None:
    def stopped(runs):
        for number, ended in enumerate(advanced_together(runs)):
            if number == 4:
                raise KeyboardInterrupt
            yield ended

    sweep = mfpde.Sweep(source(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(batches, "advanced_together", stopped)
        with pytest.raises(KeyboardInterrupt):
            sweep.run()
    assert sum(record is not None for record in sweep.records) == 4
    counts = advanced_counts(monkeypatch)
    sweep.run()
    assert sum(counts) + 4 >= 10
    assert not sweep.failed
    summary = sweep.summary.drop_vars("attempts")
    assert bool((summary["state"] == "finished").all())
    for run in separate.runs:
        assert_same(sweep.load(run.name), separate.load(run.name))


def test_settings_that_go_alone_are_split_off(tmp_path, monkeypatch) -> None:
    table = source(tmp_path)
    table["sweep"]["cases"].append({"name": "limited", "solve.transport": "muscl"})  # type: ignore[index]
    counts = advanced_counts(monkeypatch)
    sweep = mfpde.Sweep(table).run()
    assert sorted(counts) == [6, 6]
    assert not sweep.failed
    assert sweep.summary["run"].size == 18


def test_several_processes_have_several_tasks_each(tmp_path) -> None:
    runs = mfpde.Sweep(source(tmp_path)).runs * 20
    folder = SweepFolder(tmp_path)
    alone, shared = (
        execution.tasks_of(runs, folder, retry_failed=False, processes=count)
        for count in (1, 2)
    )
    assert [len(task.runs) for task in alone] == [64, 64, 64, 48]
    # The last ones are small: the processes end together.
    assert [len(task.runs) for task in shared] == [16] * 12 + [12, 9, 7, 5, 4, 4, 7]


def test_a_whole_run_is_stored_as_the_one_that_was_written_as_it_went(tmp_path) -> None:
    """A refined run with exact atoms, a track and a last state that was not saved."""
    from mfpde.storage import RunWriter

    equation = mfpde.MeanFieldEquation(mfpde.Attention(9.0), direction="ascent")
    start = mfpde.perturbed_uniform(mfpde.Circle(256), 0.3, seed=1)
    writer = RunWriter(tmp_path / "grown", equation, start.geometry)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = mfpde.solve(
            equation,
            start,
            t_end=30.0,
            save_at=[0.0, 3.0, 12.0, 20.0],
            atoms="exact",
            refine=True,
            track=mfpde.Concentration(),
            observer=writer,
        )
    assert run.events
    assert run.refinements
    mfpde.save(run, tmp_path / "whole")
    names = {
        str(path.relative_to(tmp_path / "grown"))
        for path in (tmp_path / "grown").rglob("*")
        if path.is_file()
    }
    for name in names:
        if name != "zarr.json":
            grown, whole = (tmp_path / one / name for one in ("grown", "whole"))
            assert grown.read_bytes() == whole.read_bytes(), name
    assert load(tmp_path / "whole").final_time == 30.0


def test_a_control_of_some_rows_is_a_copy() -> None:
    control = RowControl.of(3)
    control.time[:] = 1.0, 2.0, 3.0
    some = control.taken(np.array([2, 0]))
    some.time[0] = 9.0
    assert control.time.tolist() == [1.0, 2.0, 3.0]
    assert some.time.tolist() == [9.0, 1.0]


def test_a_place_belongs_to_its_run() -> None:
    problems = [problem(2.0, t_end=t_end) for t_end in (3.0, 1.0, 2.0)]
    runs = [prepared(equation, start, **given) for equation, start, given in problems]
    ended: list[EndedRun] = list(advanced_together(runs))
    assert [one.place for one in ended] == [1, 2, 0]
    assert [one.run.final_time for one in ended] == [1.0, 2.0, 3.0]


def test_a_batch_that_is_killed_goes_on_from_checkpoints(tmp_path, monkeypatch) -> None:
    """What a lost process has stored so far is resumed, and ends as it would have."""

    def stopped(runs):
        for number, ended in enumerate(advanced_together(runs)):
            if number == 1:
                raise KeyboardInterrupt
            yield ended

    table = source(tmp_path / "killed")
    # So narrow in the end that the scheme of the rows takes over.
    table["sweep"]["product"]["attention.beta"] = [12.0, 14.0, 16.0]  # type: ignore[index]
    table["equation"] = {"direction": "ascent"}
    table["solve"] = {"t_end": 6.0, "save_every": 0.5}
    sweep = mfpde.Sweep(table)
    with monkeypatch.context() as patch:
        patch.setattr(keeping, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
        patch.setattr(keeping, "LARGEST_SHARE", 1e9)
        patch.setattr(batches, "advanced_together", stopped)
        with pytest.raises(KeyboardInterrupt):
            sweep.run()
    there = {record.name for record in sweep.records if record is not None}
    assert len(there) == 1
    left = [run.name for run in sweep.runs if checkpoint_of(sweep, run.name).is_file()]
    assert len(left) == 5
    assert not there & set(left)
    sweep.run()
    with monkeypatch.context() as patch:
        patch.setattr(execution, "FEWEST_TOGETHER", 10**6)
        separate = mfpde.Sweep(table, folder=tmp_path / "separate").run()
    for record in sweep.records:
        assert record is not None
        resumed = ("begun", "resumed") if record.name in left else ("begun",)
        assert tuple(record.attempts) == resumed
        assert_same(sweep.load(record.name), separate.load(record.name))


def checkpoint_of(sweep: mfpde.Sweep, name: str) -> Path:
    return sweep.folder / "runs" / f"{name}.zarr" / "checkpoint" / "state"


def test_checkpoints_of_a_batch_take_a_small_part_of_its_time(monkeypatch) -> None:
    now = [100.0]
    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr(keeping, "time", clock)
    pace = keeping.Pace()
    rounds = []
    for _ in range(100):
        now[0] += 1.0
        rounds.append(pace.round())
        if len(rounds) > 1 and rounds[-1] > rounds[-2]:
            pace.spend(3.0)
    # At first after ten seconds, then each time after ten times three.
    assert [rounds.index(number) for number in (1, 2, 3)] == [10, 41, 72]
