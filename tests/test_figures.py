"""Every picture is a figure, and can be drawn where one wants it."""

from __future__ import annotations

import functools
import inspect

import numpy as np
import pytest
from matplotlib.figure import Figure, SubFigure

import mfpde
from mfpde.studies import AtomConvergence

EQUATION = mfpde.MeanFieldEquation(
    mfpde.Attention(3.0), mfpde.Perceptron(np.eye(1, 2), [0.5]), direction="ascent"
)
DESCENT = mfpde.MeanFieldEquation(*EQUATION.terms, direction="descent")
ON_SPHERE = mfpde.MeanFieldEquation(mfpde.Attention(3.0), direction="ascent")


@functools.cache
def circle_run() -> mfpde.Run:
    return mfpde.solve(
        EQUATION,
        mfpde.uniform(mfpde.Circle(64)),
        t_end=1.0,
        save_every=0.5,
        track=mfpde.Concentration(),
    )


@functools.cache
def sphere_run() -> mfpde.Run:
    return mfpde.solve(
        ON_SPHERE,
        mfpde.perturbed_uniform(mfpde.Sphere(32), 0.5),
        t_end=0.5,
        save_every=0.25,
        track=mfpde.Concentration(),
    )


@functools.cache
def minimum() -> mfpde.Minimum:
    return mfpde.minimize(DESCENT, mfpde.Circle(64))


@functools.cache
def branch() -> mfpde.Continuation:
    start = mfpde.Atoms(np.eye(2)[:1], [1.0])
    return mfpde.continuation(EQUATION, start, "beta", [3.0, 2.9])


@functools.cache
def study() -> AtomConvergence:
    return mfpde.convergence_to_atoms(
        EQUATION,
        lambda points: 1 + 0.5 * points[..., 0] * points[..., 1],
        cells=[64, 96, 128],
        t_end=6.0,
        particles=None,
    )


ARGUMENTS = {
    "plot_atom_tree": lambda: [circle_run()],
    "plot_certificate": lambda: [minimum()],
    "plot_concentration": lambda: [circle_run().final, EQUATION],
    "plot_continuation": lambda: [branch()],
    "plot_convergence": lambda: [study()],
    "plot_density": lambda: [circle_run().final],
    "plot_diagnostic": lambda: [circle_run(), "mass"],
    "plot_energy": lambda: [circle_run()],
    "plot_globe": lambda: [sphere_run().final],
    "plot_phase_diagram": lambda: [mfpde.phase_diagram(3, [2.0, 3.0])],
    "plot_run": lambda: [circle_run()],
    "plot_snapshots": lambda: [sphere_run()],
    "plot_space_time": lambda: [circle_run()],
}


def draw(name, **given) -> Figure:
    return getattr(mfpde, name)(*ARGUMENTS[name](), **given)


def test_every_picture_is_tried() -> None:
    assert sorted(ARGUMENTS) == [n for n in dir(mfpde) if n.startswith("plot_")]


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_a_picture_is_a_figure_drawn_where_it_is_told(name, tmp_path) -> None:
    parameters = inspect.signature(getattr(mfpde, name)).parameters
    (where,) = {"ax", "figure"} & set(parameters)
    assert parameters[where].kind is inspect.Parameter.KEYWORD_ONLY
    assert parameters[where].default is None
    figure = draw(name)
    assert isinstance(figure, Figure)
    figure.savefig(tmp_path / "new.png", dpi=20)
    page = Figure(figsize=(18.0, 8.0), layout="constrained")
    left, right = page.subfigures(1, 2)
    given = left.subplots() if where == "ax" else left
    assert draw(name, **{where: given}) is page
    assert isinstance(left, SubFigure)
    assert left.axes or left.subfigs
    assert not right.axes
    page.savefig(tmp_path / "page.png", dpi=20)
    with pytest.raises(ValueError, match=f"{where} = 3 must be a"):
        draw(name, **{where: 3})


def test_a_plain_figure_is_filled_too(tmp_path) -> None:
    for name in ("plot_run", "plot_globe", "plot_snapshots"):
        figure = Figure(figsize=(10.0, 7.0))
        assert draw(name, figure=figure) is figure
        figure.savefig(tmp_path / f"{name}.png", dpi=20)


def test_a_run_draws_and_saves_itself_and_has_states_by_time(tmp_path) -> None:
    run = circle_run()
    figure = run.plot()
    assert isinstance(figure, Figure)
    assert figure.get_suptitle() == mfpde.plot_run(run).get_suptitle()
    page = Figure(figsize=(10.0, 7.0))
    assert run.plot(figure=page) is page
    run.save(tmp_path / "run.zarr")
    with pytest.raises(FileExistsError):
        run.save(tmp_path / "run.zarr")
    run.save(tmp_path / "run.zarr", overwrite=True)
    there = mfpde.load(tmp_path / "run.zarr")
    for time, state in zip(run.times, run.states, strict=True):
        assert run.at(time) is state
        assert run.at(time * (1 + 1e-13)) is state
        np.testing.assert_array_equal(
            there.at(time).density.values, state.density.values
        )
    for time in (0.25, -1.0, 2.0, 0.5 + 1e-6, 1e-6):
        with pytest.raises(ValueError, match=rf"time = {time:.9g} .*3 from 0 to 1"):
            run.at(time)
    with pytest.raises(ValueError, match=r"nearest are at 0, 0\.5"):
        run.at(0.25)
    with pytest.raises(ValueError, match="time"):
        run.at(np.nan)
    with pytest.raises(ValueError, match="time = 'a'"):
        run.at("a")
