"""Films of runs: frames, times, one scale for all, and what is refused before any drawing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.animation import FFMpegWriter
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from PIL import Image, ImageSequence

import mfpde
from mfpde.commands.command_line import main
from mfpde.plotting.atoms import marked_atoms
from mfpde.plotting.film_scenes import CurveScene, Frame, Scale, SphereScene
from mfpde.plotting.projections import Mollweide

EQUATION = mfpde.MeanFieldEquation(
    mfpde.Attention(3.0), mfpde.Perceptron([[1.0, 0.0]], [-0.5]), direction="descent"
)
needs_ffmpeg = pytest.mark.skipif(
    not FFMpegWriter.isAvailable(), reason="there is no ffmpeg"
)


def made_run(states, times) -> mfpde.Run:
    """Return a run of given states, which no solver has to compute."""
    return mfpde.Run(
        equation=None,
        times=np.array(times),
        states=list(states),
        diagnostics={"mass": np.ones(len(times))},
        stop=None,
        final=states[-1],
        final_time=times[-1],
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


@needs_ffmpeg
def test_an_mp4_is_written_from_the_command_line(run, tmp_path, capsys) -> None:
    store, film = tmp_path / "run.zarr", tmp_path / "film.mp4"
    mfpde.save(run, store)
    assert main(["animate", str(store), str(film), "--frames", "2"]) == 0
    assert film.read_bytes()[4:8] == b"ftyp"
    assert str(film) in capsys.readouterr().out


def test_without_ffmpeg_a_gif_is_named_as_the_way_out(
    run, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.setattr(FFMpegWriter, "isAvailable", classmethod(lambda _: False))
    store = tmp_path / "run.zarr"
    mfpde.save(run, store)
    assert main(["animate", str(store), str(tmp_path / "film.mp4")]) == 2
    said = capsys.readouterr().err
    assert "ffmpeg" in said
    assert "film.gif" in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"path": "film.avi"}, r"film\.avi.*\.mp4 or \.gif"),
        ({"view": "globe"}, "view = 'globe'"),
        ({"frames_per_second": 0}, "frames_per_second = 0"),
        ({"frames_per_second": 1000}, "frames_per_second.* 1000"),
        ({"frames": 0}, "frames = 0"),
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


# Scenes -----------------------------------------------------------------------------------------


def frame_of(run, index) -> Frame:
    state = run.states[index]
    return Frame(float(run.times[index]), state, marked_atoms(state, None))


def test_the_axis_of_densities_stays_from_frame_to_frame() -> None:
    states = [bump(CIRCLE, width, angles=[1.0]) for width in (0.9, 0.3)]
    run = made_run(states, [0.0, 1.0])
    scene = CurveScene(Figure(), run, states, Scale(None, None))
    limits, shown = [], []
    for index in (0, 1):
        scene.show(frame_of(run, index))
        (ax,) = scene.figure.axes
        limits.append(ax.get_ylim())
        (line,) = [one for one in ax.lines if one.get_gid() == "density"]
        shown.append(line.get_ydata().max())
        assert f"t = {run.times[index]:.4g}" == scene.figure.get_suptitle()
    assert limits[0] == limits[1]
    assert limits[0][1] > shown[1] > 2 * shown[0]


@pytest.mark.parametrize("log", [True, False])
def test_the_scale_is_as_asked_for(log) -> None:
    states = [bump(CIRCLE, 0.5, angles=[1.0])]
    scene = CurveScene(Figure(), made_run(states, [0.0]), states, Scale(None, log))
    assert (scene.figure.axes[0].get_yscale() == "log") == log
    states = [bump(SPHERE, 0.5, angles=None, centres=[[0.5, 1.0]])]
    run = made_run(states, [0.0])
    film = SphereScene(
        Figure(), run, states, Scale(None, log), projections=[Mollweide()]
    )
    film.show(frame_of(run, 0))
    (image,) = film.figure.axes[0].images
    assert isinstance(image.norm, LogNorm) == log


def test_atoms_are_drawn_and_go_with_their_frame() -> None:
    density = mfpde.Density(SPHERE, np.ones(SPHERE.shape)).normalized()
    half = mfpde.Density(SPHERE, density.values / 2)
    with_atom = mfpde.Measure(half, mfpde.Atoms([[1.0, 0.0, 0.0]], [0.5]))
    states = [with_atom, density]
    run = made_run(states, [0.0, 1.0])
    scene = SphereScene(
        Figure(), run, states, Scale(None, None), projections=[Mollweide()]
    )
    scene.show(frame_of(run, 0))
    ax = scene.figure.axes[0]
    assert "atoms" in [one.get_gid() for one in ax.collections]
    scene.show(frame_of(run, 1))
    assert "atoms" not in [one.get_gid() for one in ax.collections]
    assert len(ax.images) == 1


def test_particles_and_both_views_of_a_sphere_are_drawn(tmp_path) -> None:
    start = bump(SPHERE, 0.5, centres=[[0.5, 1.0]])
    crowd = mfpde.quantized(start, 50)
    for states, view in (([start], "map"), ([crowd], "globe")):
        run = made_run(states, [0.0])
        (frame,) = frames_of(mfpde.animate(run, tmp_path / f"{view}.gif", view=view))
        assert len(np.unique(frame.reshape(-1, 3), axis=0)) > 50


def legend_of(scene) -> set[str]:
    return {text.get_text() for one in scene.figure.legends for text in one.get_texts()}


def test_the_marks_of_a_film_have_a_legend(run) -> None:
    scale = Scale(None, None)
    density = mfpde.Density(SPHERE, np.ones(SPHERE.shape)).normalized()
    half = mfpde.Density(SPHERE, density.values / 2)
    states = [mfpde.Measure(half, mfpde.Atoms([[1.0, 0.0, 0.0]], [0.5])), density]
    without = made_run(states, [0.0, 1.0])
    neuron = mfpde.Perceptron([[0.0, 0.0, 1.0]], [0.5])
    equation = mfpde.MeanFieldEquation(neuron, direction="ascent")
    own = {"atom (area ∝ mass)"}
    found = {
        "atom found (area ∝ mass)",
        "and on its way (+)",
        "$a_j·x + b_j = 0$",
        "none active",
        "$a_j$, $w_j > 0$",
    }
    for given, texts in (
        (without, own),
        (replace(without, equation=equation), own | found),
    ):
        film = SphereScene(Figure(), given, states, scale, projections=[Mollweide()])
        assert legend_of(film) == texts
    curves = CurveScene(Figure(), run, run.states, scale)
    assert legend_of(curves) == {"neuron active", "$a_j$, $w_j < 0$"}
    bumps = mfpde.bumps(CIRCLE, angles=[1.0, 3.0], widths=[0.1, 0.1], masses=[0.5, 0.5])
    ascent = mfpde.MeanFieldEquation(mfpde.Attention(6.0), direction="ascent")
    followed = replace(made_run([bumps], [0.0]), equation=ascent).tracked()
    film = CurveScene(Figure(), followed, followed.states, scale)
    assert legend_of(film) == {"atom found (height: mass of its basin)"}
