"""Pictures of layers: each save stands with the layer that acts at its time."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from drawn import run_of
from matplotlib.collections import Collection
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon, Rectangle

import mfpde
from mfpde.plotting.animation import film_of

TIMES = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
FIRST_UNTIL = 2
"""The save at the breakpoint, t = 2, is the last of the first layer."""
GRIDS = [mfpde.Circle(128), mfpde.Sphere(32), mfpde.Zonal(5, 64)]


def equations(geometry) -> tuple[mfpde.MeanFieldEquation, mfpde.MeanFieldEquation]:
    """Two layers with other neurons, of which the first gathers mass and the second spreads it."""
    first, second = np.eye(geometry.dimension)[:2]
    if geometry.axis is not None:
        first = geometry.axis
        second = -first
    attention = mfpde.Attention(4.0)
    return (
        mfpde.MeanFieldEquation(
            attention, mfpde.Perceptron([first], [0.8]), direction="ascent"
        ),
        mfpde.MeanFieldEquation(
            attention, mfpde.Perceptron([second], [0.8]), direction="descent"
        ),
    )


def layered_run(geometry) -> mfpde.Run:
    """A run that holds one narrow bump at all times, over a layer each of two units of time."""
    first, second = equations(geometry)
    centre = geometry.axis
    if centre is None:
        centre = np.eye(geometry.dimension)[0]
    bump = mfpde.Density.from_function(
        geometry, lambda x: 0.02 + np.exp(25 * (x @ centre - 1))
    )
    state = mfpde.Measure(bump.normalized())
    run = run_of([state] * len(TIMES), second, times=TIMES)
    return replace(run, layers=mfpde.Layers([(first, 2.0), (second, 2.0)]))


def single(run: mfpde.Run, layer: int) -> mfpde.Run:
    """The same states under one of the layers alone."""
    return replace(run, layers=None, equation=run.layers.equations[layer])


def numbers(artist) -> list[list[float]]:
    if isinstance(artist, Line2D):
        drawn = [artist.get_xydata()]
    elif isinstance(artist, Collection):
        drawn = [np.asarray(artist.get_offsets())]
        drawn += [path.vertices for path in artist.get_paths()]
    elif isinstance(artist, Rectangle):
        drawn = [np.array(artist.get_bbox().bounds)]
    elif isinstance(artist, Polygon):
        drawn = [artist.get_xy()]
    else:
        drawn = []
    return [np.nan_to_num(np.ravel(one), nan=9.0).round(9).tolist() for one in drawn]


def marks(ax) -> list[tuple[str, list[list[float]]]]:
    """What is drawn over the density, by name."""
    named = [a for a in ax.get_children() if a.get_gid() not in (None, "density")]
    return sorted((str(a.get_gid()), numbers(a)) for a in named)


@pytest.mark.parametrize("geometry", GRIDS, ids=str)
def test_snapshots_have_the_neurons_and_atoms_of_the_layer_of_their_time(geometry):
    run = layered_run(geometry)
    panels = [marks(ax) for ax in mfpde.plot_snapshots(run).axes[: len(TIMES)]]
    alone = [
        [marks(ax) for ax in mfpde.plot_snapshots(single(run, layer)).axes[:5]]
        for layer in (0, 1)
    ]
    for save in range(len(TIMES)):
        layer = int(save > FIRST_UNTIL)
        assert panels[save] == alone[layer][save]
        assert panels[save] != alone[1 - layer][save]


def test_atoms_of_snapshots_are_those_of_the_velocity_of_their_time():
    run = layered_run(mfpde.Sphere(32))
    found = [
        any(name in ("found atoms", "on its way") for name, _ in marks(ax))
        for ax in mfpde.plot_snapshots(run).axes[: len(TIMES)]
    ]
    assert found == [True, True, True, False, False]


@pytest.mark.parametrize("geometry", [GRIDS[0], GRIDS[2]], ids=str)
def test_paths_over_time_are_of_the_atoms_of_the_layer_of_their_time(geometry):
    def alive_until(run) -> float:
        paths = [
            line
            for line in mfpde.plot_space_time(run).axes[0].lines
            if str(line.get_gid()).startswith("path")
        ]
        return max((line.get_xdata()[-1] for line in paths), default=0.0)

    run = layered_run(geometry)
    ends = [alive_until(one) for one in (single(run, 0), run, single(run, 1))]
    assert ends[0] == 4
    assert 2 <= ends[1] <= 3
    assert ends[2] == 0


def test_the_landscape_of_snapshots_says_whose_it_is():
    run = layered_run(mfpde.Circle(128))
    *_, land = mfpde.plot_snapshots(run).axes
    assert land.get_title(loc="left") == "landscape at t = 4"
    (line,) = (one for one in land.lines if one.get_gid() == "landscape")
    angles, values = line.get_data()
    (neuron,) = run.layers.equations[1].externals
    points = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    np.testing.assert_allclose(values, neuron.value(points))
    *_, land = mfpde.plot_snapshots(single(run, 0)).axes
    assert land.get_title(loc="left") == ""


@pytest.mark.parametrize(
    ("geometry", "view"),
    [(GRIDS[0], "curve"), (GRIDS[1], "globe"), (GRIDS[1], "map"), (GRIDS[2], "curve")],
    ids=str,
)
def test_frames_of_a_film_change_with_the_layer(geometry, view):
    run = layered_run(geometry)
    shown = []
    figure, draw = film_of(run, view, [1, 2, 3, 4])
    for save in (1, 2, 3, 4):
        draw(save)
        shown.append([marks(ax) for ax in figure.axes])
    same, other, again = (before == after for before, after in pairwise(shown))
    assert same
    assert again
    assert not other


def test_stored_layers_of_unknown_functions_are_drawn_without_marks(tmp_path):
    run = layered_run(mfpde.Circle(128))
    first, second = run.layers.equations
    unknown = mfpde.MeanFieldEquation(
        *first.terms,
        mfpde.Potential(lambda x: 0 * x[..., 0], lambda x: 0 * x, dimension=2),
        direction="ascent",
    )
    given = mfpde.Layers([(unknown, 2.0), (second, 2.0)])
    mfpde.save(replace(run, layers=given), tmp_path / "run.zarr")
    there = mfpde.load(tmp_path / "run.zarr")
    # Layers of which one is not stored are unknown as a whole.
    assert there.equation is None
    assert not any(marks(ax) for ax in mfpde.plot_snapshots(there).axes[:5])
