"""Every picture is a figure, and can be drawn where one wants it."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import numpy as np
import pytest
from drawn import known_run
from equations import ascent, descent
from matplotlib.figure import Figure
from oracles.picture_cases import SPHERE, branch

import mfpde

NEURON = mfpde.Perceptron(np.eye(1, 2), [0.5])
READ = {"sources": np.linspace(0.05, 1.0, 20), "times": [1.0, 5.0]}
ASCENT, DESCENT = ascent(3.0, NEURON), descent(3.0, NEURON)


@functools.cache
def run() -> mfpde.Run:
    times = {"t_end": 1.0, "save_every": 0.5, "track": mfpde.Concentration()}
    return mfpde.solve(ASCENT, mfpde.uniform(mfpde.Circle(64)), **times)


@functools.cache
def study() -> Any:
    def start(points):
        return 1 + 0.5 * points[..., 0] * points[..., 1]

    given = {"cells": [64, 96, 128], "t_end": 6.0, "particles": None}
    return mfpde.convergence_to_atoms(ASCENT, start, **given)


TOKENS = np.random.default_rng(1).standard_normal((20, 4))


def network() -> mfpde.Network:
    weights = np.random.default_rng(0).standard_normal((6, 4, 4))
    return mfpde.Network([mfpde.NetworkBlock(*weights, heads=2)] * 2, "post")


ARGUMENTS = {
    "plot_atom_tree": lambda: [run()],
    "plot_certificate": lambda: [mfpde.minimize(DESCENT, mfpde.Circle(64))],
    "plot_concentration": lambda: [run().final, ASCENT],
    "plot_continuation": lambda: [branch()],
    "plot_convergence": lambda: [study()],
    "plot_density": lambda: [run().final],
    "plot_diagnostic": lambda: [run(), "mass"],
    "plot_energy": lambda: [run()],
    "plot_globe": lambda: [known_run(SPHERE).final],
    "plot_ladder": lambda: [network().ladder(TOKENS, rungs=["serial flow"])],
    "plot_phase_diagram": lambda: [mfpde.phase_diagram(3, [2.0, 3.0])],
    "plot_retrieval": lambda: [mfpde.theory.retrieval_profile(1.0, **READ)],
    "plot_rows": lambda: [mfpde.PositionedDensity.repeated(run().final.density, 4)],
    "plot_run": lambda: [run()],
    "plot_snapshots": lambda: [known_run(SPHERE)],
    "plot_space_time": lambda: [run()],
    "plot_trace": lambda: [network().run(TOKENS)],
}


def test_every_picture_is_tried() -> None:
    assert sorted(ARGUMENTS) == [n for n in dir(mfpde) if n.startswith("plot_")]


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_picture_is_a_figure_drawn_where_it_is_told(name, tmp_path) -> None:
    plot = functools.partial(getattr(mfpde, name), *ARGUMENTS[name]())
    parameters = inspect.signature(getattr(mfpde, name)).parameters
    (where,) = {"ax", "figure"} & set(parameters)
    assert parameters[where].kind is inspect.Parameter.KEYWORD_ONLY
    assert parameters[where].default is None
    page = Figure(figsize=(18.0, 8.0), layout="constrained")
    left, right = page.subfigures(1, 2)
    assert plot(**{where: left.subplots() if where == "ax" else left}) is page
    assert left.axes or left.subfigs
    assert not right.axes
    plain = Figure(figsize=(10.0, 7.0))
    assert plot(**{where: plain.subplots() if where == "ax" else plain}) is plain
    for index, figure in enumerate((plot(), page, plain)):
        assert isinstance(figure, Figure)
        figure.savefig(tmp_path / f"{index}.png", dpi=20)
    with pytest.raises(ValueError, match=f"{where} = 3 must be a"):
        plot(**{where: 3})


def test_a_run_draws_and_saves_itself_and_has_states_by_time(tmp_path) -> None:
    figure, path = run().plot(), tmp_path / "run.zarr"
    assert figure.get_suptitle() == mfpde.plot_run(run()).get_suptitle()
    run().save(path)
    with pytest.raises(FileExistsError):
        run().save(path)
    run().save(path, overwrite=True)
    there = mfpde.load(path)
    for time, state in zip(run().times, run().states, strict=True):
        assert run().at(time) is state
        assert run().at(time * (1 + 1e-13)) is state
        stored = there.at(time).density.values
        np.testing.assert_array_equal(stored, state.density.values)
    for time, said in (
        *((t, rf"time = {t:.9g} .*3 from 0 to 1") for t in (-1.0, 2.0, 0.5 + 1e-6)),
        (0.25, r"nearest are at 0, 0\.5"),
        (np.nan, "time"),
        ("a", "'a'"),
    ):
        with pytest.raises(ValueError, match=said):
            run().at(time)
