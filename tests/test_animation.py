"""Films of runs, and pictures of layers: each frame and panel is the state of its time.

Frames have one scale for all; a save of layers stands with the layer that acts at its time.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from drawn import by_gid, layered_run, legend_of, run_of
from matplotlib.animation import FFMpegWriter
from matplotlib.collections import Collection
from matplotlib.lines import Line2D
from PIL import Image, ImageSequence

import mfpde
from mfpde.plotting.animation import film_of

EQUATION = mfpde.MeanFieldEquation(
    mfpde.Attention(3.0), mfpde.Perceptron([[1.0, 0.0]], [-0.5]), direction="descent"
)
CIRCLE, SPHERE, ZONAL = mfpde.Circle(128), mfpde.Sphere(32), mfpde.Zonal(5, 64)


@pytest.fixture(scope="module")
def run() -> mfpde.Run:
    return mfpde.solve(EQUATION, mfpde.uniform(CIRCLE), t_end=1.0, save_every=0.25)


def frames_of(path) -> list[np.ndarray]:
    with Image.open(path) as film:
        return [np.array(f.convert("RGB")) for f in ImageSequence.Iterator(film)]


def test_a_gif_has_one_frame_for_each_save_and_lasts_as_long_as_asked(
    run, tmp_path
) -> None:
    path = mfpde.animate(run, tmp_path / "deep" / "film.gif", frames_per_second=20)
    frames = frames_of(path)
    assert len(frames) == len(run.times) == 5
    with Image.open(path) as film:
        assert film.info["duration"] == 50
    # The density moves.
    assert np.abs(frames[0].astype(int) - frames[-1]).max() > 100
    assert [p.name for p in path.parent.iterdir()] == ["film.gif"]


def test_fewer_frames_are_spread_over_the_run_and_more_move_between_saves(
    run, tmp_path
) -> None:
    seen: list[int] = []

    def watched(numbers):
        for number in numbers:
            seen.append(number)
            yield number

    path = tmp_path / "film.gif"
    mfpde.animate(run, path, frames=3, progress=watched)
    assert seen == [0, 2, 4]
    assert len(frames_of(path)) == 3
    mfpde.animate(run, path, duration=1.2, frames_per_second=10)
    frames = [frame.astype(int) for frame in frames_of(path)]
    assert len(frames) == 12
    assert all(np.abs(a - b).max() > 30 for a, b in pairwise(frames))


@pytest.mark.skipif(not FFMpegWriter.isAvailable(), reason="there is no ffmpeg")
def test_an_mp4_is_written(run, tmp_path) -> None:
    film = mfpde.animate(run, tmp_path / "film.mp4", frames=2)
    assert film.read_bytes()[4:8] == b"ftyp"


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"path": "film.avi"}, r"film\.avi.*\.mp4 or \.gif"),
        ({"path": "film.mp4"}, r"ffmpeg.*film\.gif"),
        ({"view": "globe"}, "view = 'globe'"),
        ({"frames_per_second": 0}, "frames_per_second = 0"),
        ({"frames_per_second": 1000}, "frames_per_second.* 1000"),
        ({"frames": 0}, "frames = 0"),
        ({"duration": 0}, "duration = 0"),
        ({"duration": 1e9}, "duration = .*at most"),
        ({"limits": (2.0, 1.0)}, "limits"),
    ],
)
def test_what_makes_no_film_is_refused(
    run, tmp_path, monkeypatch, arguments, named
) -> None:
    monkeypatch.setattr(FFMpegWriter, "isAvailable", classmethod(lambda _: False))
    given = {"path": "film.gif", **arguments}
    path = tmp_path / given.pop("path")
    with pytest.raises(ValueError, match=named):
        mfpde.animate(run, path, **given)
    assert not list(tmp_path.iterdir())


def test_a_film_that_is_stopped_leaves_the_old_one(run, tmp_path) -> None:
    path = tmp_path / "film.gif"
    path.write_bytes(b"old")

    def stopped(numbers):
        yield next(iter(numbers))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mfpde.animate(run, path, progress=stopped)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["film.gif"]


# Frames -----------------------------------------------------------------------------------------


def bump(grid, width, **where):
    return mfpde.bumps(grid, widths=[width], masses=[1.0], **where)


def half_with(*atoms) -> mfpde.Measure:
    """Half of the mass even, half in atoms on the sphere."""
    density = mfpde.Density(SPHERE, mfpde.uniform(SPHERE).values / 2)
    masses = np.full(len(atoms), 0.5 / len(atoms))
    return mfpde.Measure(density, mfpde.Atoms(atoms, masses))


def test_densities_move_on_an_axis_that_stays() -> None:
    states = [bump(CIRCLE, width, angles=[1.0]) for width in (0.9, 0.3)]
    figure, draw = film_of(run_of(states), "curve", [0, 0.5, 1])
    limits, shown = set(), []
    for position in (0, 0.5, 1):
        draw(position)
        (line,) = by_gid(figure, "density")
        limits.add((line.axes.get_ylim(), str(line.axes.get_position())))
        shown.append(line.get_ydata()[1:-1])
        assert figure.get_suptitle() == f"t = {position:g}"
    (((low, high), _),) = limits
    assert low < shown[0].min() < 2 * shown[0].max() < shown[2].max() < high
    np.testing.assert_allclose(shown[1], (shown[0] + shown[2]) / 2)


def test_atoms_move_along_great_circles_and_go_with_their_frame() -> None:
    east, west, north = [1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]
    ends = half_with([0.6, 0.0, 0.8], [0.6, -0.8, 0.0])
    states = [half_with(east, west), ends, half_with(north), mfpde.uniform(SPHERE)]
    figure, draw = film_of(run_of(states), "map", [0, 0.5, 1.5, 3])
    draw(0.5)
    (discs,) = by_gid(figure, "atoms")
    latitudes = sorted(discs.get_offsets()[:, 1])
    np.testing.assert_allclose(latitudes, [0.0, np.arccos(0.6) / 2], atol=1e-12)
    draw(1.5)
    # Two atoms and one: of both there is half, and the mass is what it was.
    (discs,) = by_gid(figure, "atoms")
    np.testing.assert_allclose(sorted(discs.get_sizes() / 260), [0.125, 0.125, 0.25])
    draw(3)
    assert not by_gid(figure, "atoms")
    assert len(by_gid(figure, "density")) == 1
    assert legend_of(figure) == {"atom (area ∝ mass)"}


def test_particles_move_in_their_order() -> None:
    angles = 2 * np.pi * np.arange(40) / 40
    turned = [
        np.stack([np.cos(angles + t), np.sin(angles + t)], -1) for t in (0.0, 2.0)
    ]
    figure, draw = film_of(run_of(list(map(mfpde.Atoms, turned))), "curve", [0, 0.5, 1])
    draw(0.5)
    (heads,) = by_gid(figure, "atoms")
    np.testing.assert_allclose(heads.get_xdata(), (angles + 1) % (2 * np.pi))


def test_the_atoms_of_a_track_are_in_the_film() -> None:
    bumps = mfpde.bumps(CIRCLE, angles=[1.0, 3.0], widths=[0.1, 0.1], masses=[0.5, 0.5])
    ascent = mfpde.MeanFieldEquation(mfpde.Attention(6.0), direction="ascent")
    figure, draw = film_of(run_of([bumps], ascent).tracked(), "curve", [0])
    draw(0)
    (circles,) = by_gid(figure, "found atoms")
    np.testing.assert_allclose(sorted(circles.get_xdata()), [1.0, 3.0], atol=0.05)


# Layers -----------------------------------------------------------------------------------------


def single(run: mfpde.Run, layer: int) -> mfpde.Run:
    """The same states under one of the layers alone."""
    return replace(run, layers=None, equation=run.layers.equations[layer])


def numbers(artist) -> list[list[float]]:
    drawn = []
    if isinstance(artist, Line2D):
        drawn = [artist.get_xydata()]
    elif isinstance(artist, Collection):
        drawn = [np.asarray(artist.get_offsets())]
        drawn += [path.vertices for path in artist.get_paths()]
    return [np.nan_to_num(np.ravel(one), nan=9.0).round(9).tolist() for one in drawn]


def marks(ax) -> list[tuple[str, list[list[float]]]]:
    """What is drawn over the density, by name."""
    named = [a for a in ax.get_children() if a.get_gid() not in (None, "density")]
    return sorted((str(a.get_gid()), numbers(a)) for a in named)


def panels(run: mfpde.Run) -> list[list[tuple[str, list[list[float]]]]]:
    return [marks(ax) for ax in mfpde.plot_snapshots(run).axes[:5]]


@pytest.mark.parametrize("geometry", [CIRCLE, SPHERE, ZONAL], ids=str)
def test_snapshots_have_the_neurons_and_atoms_of_the_layer_of_their_time(geometry):
    run = layered_run(geometry)
    alone = [panels(single(run, layer)) for layer in (0, 1)]
    for save, drawn in enumerate(panels(run)):
        layer = int(save > 2)
        assert drawn == alone[layer][save]
        assert drawn != alone[1 - layer][save]
        if geometry is SPHERE:
            rings = {"found atoms", "on its way"} & {name for name, _ in drawn}
            assert bool(rings) == (save <= 2)


@pytest.mark.parametrize("geometry", [CIRCLE, ZONAL], ids=str)
def test_paths_over_time_are_of_the_atoms_of_the_layer_of_their_time(geometry):
    def alive_until(run) -> float:
        lines = mfpde.plot_space_time(run).axes[0].lines
        paths = [line for line in lines if str(line.get_gid()).startswith("path")]
        return max((line.get_xdata()[-1] for line in paths), default=0.0)

    run = layered_run(geometry)
    ends = [alive_until(one) for one in (single(run, 0), run, single(run, 1))]
    assert ends[0] == 4
    assert 2 <= ends[1] <= 3
    assert ends[2] == 0


def test_stored_layers_of_unknown_functions_are_drawn_without_marks(tmp_path):
    run = layered_run(CIRCLE)
    first, second = run.layers.equations
    nothing = mfpde.Potential(lambda x: 0 * x[..., 0], lambda x: 0 * x, dimension=2)
    unknown = mfpde.MeanFieldEquation(*first.terms, nothing, direction="ascent")
    given = mfpde.Layers([(unknown, 2.0), (second, 2.0)])
    mfpde.save(replace(run, layers=given), tmp_path / "run.zarr")
    there = mfpde.load(tmp_path / "run.zarr")
    # Layers of which one is not stored are unknown as a whole.
    assert there.equation is None
    assert not any(panels(there))
