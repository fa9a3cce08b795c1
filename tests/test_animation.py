"""Films of runs: frames, times, one scale for all, and what is refused before any drawing."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from drawn import by_gid, legend_of, run_of
from matplotlib.animation import FFMpegWriter
from matplotlib.colors import LogNorm
from PIL import Image, ImageSequence

import mfpde
from mfpde.plotting.animation import film_of

EQUATION = mfpde.MeanFieldEquation(
    mfpde.Attention(3.0), mfpde.Perceptron([[1.0, 0.0]], [-0.5]), direction="descent"
)
needs_ffmpeg = pytest.mark.skipif(
    not FFMpegWriter.isAvailable(), reason="there is no ffmpeg"
)


def bump(grid, width, **where):
    return mfpde.bumps(grid, widths=[width], masses=[1.0], **where)


CIRCLE = mfpde.Circle(128)
SPHERE = mfpde.Sphere(32)


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


def test_fewer_frames_are_spread_over_the_run(run, tmp_path) -> None:
    seen: list[int] = []

    def watched(numbers):
        for number in numbers:
            seen.append(number)
            yield number

    path = mfpde.animate(run, tmp_path / "film.gif", frames=3, progress=watched)
    assert seen == [0, 2, 4]
    assert len(frames_of(path)) == 3


def test_a_film_lasts_as_long_as_asked_and_moves_between_saves(run, tmp_path) -> None:
    path = mfpde.animate(run, tmp_path / "film.gif", duration=1.2, frames_per_second=10)
    frames = [frame.astype(int) for frame in frames_of(path)]
    assert len(frames) == 12 > len(run.times)
    # Each frame differs from the one before: the density moves between two saves too.
    assert all(np.abs(a - b).max() > 30 for a, b in pairwise(frames))


@needs_ffmpeg
def test_an_mp4_is_written(run, tmp_path) -> None:
    film = mfpde.animate(run, tmp_path / "film.mp4", frames=2)
    assert film.read_bytes()[4:8] == b"ftyp"


def test_without_ffmpeg_a_gif_is_named_as_the_way_out(
    run, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(FFMpegWriter, "isAvailable", classmethod(lambda _: False))
    with pytest.raises(ValueError, match=r"ffmpeg.*film\.gif"):
        mfpde.animate(run, tmp_path / "film.mp4")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"path": "film.avi"}, r"film\.avi.*\.mp4 or \.gif"),
        ({"view": "globe"}, "view = 'globe'"),
        ({"frames_per_second": 0}, "frames_per_second = 0"),
        ({"frames_per_second": 1000}, "frames_per_second.* 1000"),
        ({"frames": 0}, "frames = 0"),
        ({"duration": 0}, "duration = 0"),
        ({"duration": 1e9}, "duration = .*at most"),
        ({"limits": (2.0, 1.0)}, "limits"),
    ],
)
def test_what_makes_no_film_is_refused(run, tmp_path, arguments, named) -> None:
    path = tmp_path / arguments.pop("path", "film.gif")
    with pytest.raises(ValueError, match=named):
        mfpde.animate(run, path, **arguments)
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


def test_the_axis_of_densities_stays_from_frame_to_frame() -> None:
    states = [bump(CIRCLE, width, angles=[1.0]) for width in (0.9, 0.3)]
    figure, draw = film_of(run_of(states, times=[0.0, 1.0]), "curve", [0, 0.5, 1])
    (ax,) = figure.axes
    limits, place, shown = set(), set(), []
    for position in (0, 0.5, 1):
        draw(position)
        (line,) = by_gid(figure, "density")
        limits.add(ax.get_ylim())
        place.add(str(ax.get_position()))
        shown.append(line.get_ydata()[1:-1])
        assert figure.get_suptitle() == f"t = {position:g}"
    assert len(limits) == len(place) == 1
    assert ax.get_ylim()[1] > shown[2].max() > 2 * shown[0].max()
    np.testing.assert_allclose(shown[1], (shown[0] + shown[2]) / 2)


@pytest.mark.parametrize("log", [True, False])
def test_the_scale_is_as_asked_for(log) -> None:
    run = run_of([bump(CIRCLE, 0.5, angles=[1.0])], times=[0.0])
    figure, _ = film_of(run, "curve", [0], log=log)
    assert (figure.axes[0].get_yscale() == "log") == log
    run = run_of([bump(SPHERE, 0.5, centres=[[0.5, 1.0]])], times=[0.0])
    figure, _ = film_of(run, "map", [0], log=log)
    (cells,) = by_gid(figure, "density")
    assert isinstance(cells.norm, LogNorm) == log


def half_with(*atoms) -> mfpde.Measure:
    """Half of the mass even, half in atoms on the sphere."""
    density = mfpde.Density(SPHERE, mfpde.uniform(SPHERE).values / 2)
    return mfpde.Measure(
        density, mfpde.Atoms(atoms, np.full(len(atoms), 0.5 / len(atoms)))
    )


def test_atoms_are_drawn_and_go_with_their_frame() -> None:
    run = run_of([half_with([1.0, 0.0, 0.0]), mfpde.uniform(SPHERE)], times=[0.0, 1.0])
    figure, draw = film_of(run, "map", [0, 1])
    draw(0)
    assert len(by_gid(figure, "atoms")) == 1
    draw(1)
    assert not by_gid(figure, "atoms")
    assert len(by_gid(figure, "density")) == 1


def test_atoms_move_along_great_circles() -> None:
    east, west, north = [1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]
    ends = half_with([0.6, 0.0, 0.8], [0.6, -0.8, 0.0])
    states = [half_with(east, west), ends, half_with(north)]
    run = run_of(states, times=[0.0, 1.0, 2.0])
    figure, draw = film_of(run, "map", [0, 0.5, 1.5])
    draw(0.5)
    (discs,) = by_gid(figure, "atoms")
    latitudes = sorted(discs.get_offsets()[:, 1])
    np.testing.assert_allclose(latitudes, [0.0, np.arccos(0.6) / 2], atol=1e-12)
    draw(1.5)
    # Two atoms and one: of both there is half, and the mass is what it was.
    (discs,) = by_gid(figure, "atoms")
    np.testing.assert_allclose(sorted(discs.get_sizes() / 260), [0.125, 0.125, 0.25])


def test_particles_move_in_their_order() -> None:
    turns = np.array([0.0, 2.0])
    angles = 2 * np.pi * np.arange(40) / 40
    around = [np.stack([np.cos(angles + t), np.sin(angles + t)], -1) for t in turns]
    run = run_of([mfpde.Atoms(points) for points in around], times=[0.0, 1.0])
    figure, draw = film_of(run, "curve", [0, 0.5, 1])
    draw(0.5)
    (heads,) = by_gid(figure, "atoms")
    np.testing.assert_allclose(heads.get_xdata(), (angles + 1) % (2 * np.pi))


def test_particles_and_both_views_of_a_sphere_are_drawn(tmp_path) -> None:
    start = bump(SPHERE, 0.5, centres=[[0.5, 1.0]])
    crowd = mfpde.quantized(start, 50)
    for states, view in (([start], "map"), ([crowd], "globe")):
        run = run_of(states, times=[0.0])
        (frame,) = frames_of(mfpde.animate(run, tmp_path / f"{view}.gif", view=view))
        assert len(np.unique(frame.reshape(-1, 3), axis=0)) > 50


def test_the_legend_of_a_film_explains_the_marks_of_all_frames(run) -> None:
    without = run_of(
        [half_with([1.0, 0.0, 0.0]), mfpde.uniform(SPHERE)], times=[0.0, 1.0]
    )
    neuron = mfpde.Perceptron([[0.0, 0.0, 1.0]], [0.5])
    equation = mfpde.MeanFieldEquation(neuron, direction="ascent")
    own = {"atom (area ∝ mass)"}
    neurons = {"$a_j·x + b_j = 0$", "none active", "$a_j$, $w_j > 0$"}
    figure, _ = film_of(without, "map", [0, 1])
    assert legend_of(figure) == own
    figure, _ = film_of(replace(without, equation=equation), "map", [0, 1])
    assert own | neurons <= legend_of(figure)
    figure, _ = film_of(run, "curve", [0])
    assert legend_of(figure) == {"neuron active", "$a_j$, $w_j < 0$"}
    bumps = mfpde.bumps(CIRCLE, angles=[1.0, 3.0], widths=[0.1, 0.1], masses=[0.5, 0.5])
    ascent = mfpde.MeanFieldEquation(mfpde.Attention(6.0), direction="ascent")
    followed = replace(run_of([bumps], times=[0.0]), equation=ascent).tracked()
    figure, draw = film_of(followed, "curve", [0])
    assert legend_of(figure) == {"atom found (height: mass of its basin)"}
    draw(0)
    (circles,) = by_gid(figure, "found atoms")
    np.testing.assert_allclose(sorted(circles.get_xdata()), [1.0, 3.0], atol=0.05)
