"""A run as a film: the pictures of its states on one scale, drawn anew for each frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.animation import AbstractMovieWriter, FFMpegWriter, PillowWriter
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from mfpde.arrays import check_kind, choice, real_number, whole_number
from mfpde.geometry.arcs import normalize
from mfpde.measures.measure import Atoms, Density, Measure, as_measure, atoms_of
from mfpde.plotting import palette, scenes, style
from mfpde.plotting.angle_view import view_of_run
from mfpde.plotting.atoms import NONE_FOUND, FoundAtoms, Frame
from mfpde.plotting.rows import compose_rows
from mfpde.plotting.scenes import CurveScene, SphereScene, camera_on, compose
from mfpde.positions.rows import PositionedDensity
from mfpde.runs.run import Run, spread_indices
from mfpde.tracking import Track

View = Literal["globe", "map", "curve", "rows"]
CURVE_VIEWS, SPHERE_VIEWS, ROW_VIEWS = ("curve",), ("globe", "map"), ("rows",)
"""Views of a run, the default one first."""
SIZES = {"curve": (6.4, 4.0), "globe": (7.2, 4.4), "map": (7.2, 4.2), "rows": (8, 5)}
FASTEST = 120
MOST_FRAMES = 100_000
DOTS_PER_INCH = 120
PLAYED_EVERYWHERE = [
    *("-pix_fmt", "yuv420p", "-crf", "20", "-movflags", "+faststart"),
    # H.264 halves the colours: sides must be even.
    *("-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2:color=white"),
]


@style.styled
def animate(
    run: Run,
    path: str | Path,
    *,
    view: View | None = None,
    duration: float | None = None,
    frames_per_second: int = 15,
    frames: int | None = None,
    limits: style.Limits | None = None,
    log: bool | None = None,
    progress: Callable[[Iterable[Any]], Iterable[Any]] | None = None,
) -> Path:
    """Write a run as a film, all frames on the same scale.

    On a Circle or a Zonal grid the density is a curve against the angle, on a Sphere a globe
    from two opposite sides or a map, as :func:`mfpde.plot_density` and
    :func:`mfpde.plot_globe` draw them.  Atoms are stems, or discs of area proportional to
    mass; those that a run's track has found are drawn too (``animate(run.tracked(), ...)``).

    Parameters
    ----------
    run
        A run on the circle, a Zonal grid or the sphere, of densities or of particles.
    path
        The file: ``.mp4`` (by ffmpeg, H.264) or ``.gif`` (by pillow).  One that is there is
        replaced once the film is complete.
    view
        ``"globe"`` (the default) or ``"map"`` on a sphere, ``"curve"`` elsewhere; of rows
        ``"rows"``, as :func:`mfpde.plot_rows` draws them.
    duration
        Seconds that the film lasts.  The saves are spread over them evenly, and between two
        of them densities and masses change linearly, particles and atoms move along great
        circles.  By default there is one frame for each save.
    frames_per_second
        Frames in a second of the film, 1 to 120.
    frames
        At most so many saves, evenly spread over their list; by default all.
    limits
        Densities at the ends of the scale, as in ``(1e-3, 10.0)``; by default those of all
        frames.
    log
        Whether the scale is logarithmic; by default if a density exceeds 50 times its mean.
    progress
        Wraps the numbers of the saves as they are drawn (with fractions between two), as
        ``rich.progress.track`` does.

    Returns
    -------
    The path of the film.

    Raises
    ------
    ValueError
        If the file's ending is another one, ffmpeg is missing, nothing was saved, there is no
        picture for the geometry or no such view of it, or a number is out of its range.
    """
    check_kind("run", run, Run, source="what solve returns or load reads")
    views: tuple[str, ...] = ROW_VIEWS
    if not isinstance(run.final, PositionedDensity):
        is_sphere = view_of_run(run, picture="animate") is None
        views = SPHERE_VIEWS if is_sphere else CURVE_VIEWS
    chosen: View = choice("view", view or views[0], views)  # type: ignore[assignment]
    rate = whole_number(
        "frames_per_second", frames_per_second, at_least=1, at_most=FASTEST
    )
    most = len(run.times)
    if frames is not None:
        most = whole_number("frames", frames, at_least=1, at_most=MOST_FRAMES)
    positions = spread_indices(len(run.times), most).tolist()
    if duration is not None:
        longest = MOST_FRAMES / rate
        seconds = real_number("duration", duration, above=0, at_most=longest)
        count = max(round(seconds * rate), 1)
        shares = np.linspace(0, len(positions) - 1, count)
        positions = np.interp(shares, np.arange(len(positions)), positions).tolist()
    shown = positions if progress is None else progress(positions)
    path = Path(path)
    writer = _writer(path, rate)
    figure, draw = film_of(run, chosen, positions, limits=limits, log=log)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.stem}.partial{path.suffix}")
    try:
        with writer.saving(figure, str(partial), DOTS_PER_INCH):
            for position in shown:
                draw(position)
                writer.grab_frame()
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return path


def _writer(path: Path, rate: int) -> AbstractMovieWriter:
    """Return the writer for the ending of ``path``; ``ValueError`` if there is none."""
    kind = path.suffix.lower()
    if kind == ".gif":
        return PillowWriter(fps=rate)
    if kind != ".mp4":
        raise ValueError(f"path = {str(path)!r} must end in .mp4 or .gif")
    if not FFMpegWriter.isAvailable():
        raise ValueError(
            f"path = {str(path)!r} needs the program ffmpeg, which is not there: install it, "
            f"or write {path.with_suffix('.gif').name}, which needs no other program"
        )
    return FFMpegWriter(fps=rate, codec="libx264", extra_args=PLAYED_EVERYWHERE)


def film_of(
    run: Run,
    view: View,
    positions: Sequence[float],
    *,
    limits: style.Limits | None = None,
    log: bool | None = None,
) -> tuple[Figure, Callable[[float], None]]:
    """Return a figure, and what draws on it the state at a save or between two.

    Its scales and its legend suit all ``positions``: numbers of saves, with fractions between
    two.  The rest is as for :func:`animate`.
    """
    saves = np.unique([*np.floor(positions), *np.ceil(positions)]).astype(int)
    frames = [_frame_at(run, float(save)) for save in saves]
    figure = style.Picture(figsize=SIZES[view], layout="constrained")
    fill: Callable[[Sequence[Frame]], None]
    if view == "rows":
        fill = partial(compose_rows, figure, scaled=frames, limits=limits, log=log)
    else:
        scene: scenes.Scene
        if view == "curve":
            scene = CurveScene(frames, limits, log)
        else:
            # The camera stands still, in front of where the mass is in the end.
            camera = camera_on(frames[-1].state) if view == "globe" else None
            scene = SphereScene(frames, camera, limits=limits, log=log)
        fill = partial(compose, figure, scene, marks=scenes.marks_of(scene))
    places: list[Bbox] = []

    def draw(position: float) -> None:
        frame = _frame_at(run, position)
        figure.clear()
        fill([frame])
        # From the left, so that the title does not tremble with the width of its number.
        figure.suptitle(frame.title, x=0.47, ha="left", color=palette.LANDSCAPE)
        for ax, place in zip(figure.axes, places, strict=False):
            ax.set_position(place)

    draw(positions[0])
    if view != "rows":
        # The axes keep the places that they have now.
        figure.draw_without_rendering()
        places += [ax.get_position() for ax in figure.axes]
        figure.set_layout_engine("none")
    return figure, draw


def _frame_at(run: Run, position: float) -> Frame:
    """Return the state at a save or between two, with the atoms of the run's track."""
    before, after = int(np.floor(position)), int(np.ceil(position))
    state = run.states[before]
    if after > before:
        state = interpolate_states(state, run.states[after], position - before)
    time = float(np.interp(position, np.arange(len(run.times)), run.times))
    found = NONE_FOUND if run.track is None else _atoms_at(run.track, time)
    return Frame(state, run.equation_at(time), found, time)


def _atoms_at(track: Track, time: float) -> FoundAtoms:
    """Return the atoms of a track that are alive at a time, where their paths are then."""
    rows = []
    for path in track.paths.values():
        if path.is_alive(np.array([time]))[0]:
            arrived = np.fmin(path.arrived_masses, path.masses)
            columns = (arrived, path.masses - arrived, *path.points.T)
            rows.append([np.interp(time, path.times, column) for column in columns])
    if not rows:
        return NONE_FOUND
    table = np.array(rows)
    return FoundAtoms(normalize(table[:, 2:]), table[:, 0], table[:, 1])


def interpolate_states(first: Any, second: Any, share: float) -> Any:
    """Return the state at ``share`` (0 to 1) of the way from one save to the next.

    Densities and rows are mixed.  As many atoms as before move along great circles, in their
    order; of other numbers both are there.  Mass is linear.
    """
    if isinstance(first, PositionedDensity):
        values = (1 - share) * first.values + share * second.values
        return PositionedDensity(first.geometry, values, first.edges)
    one, other = atoms_of(first), atoms_of(second)
    before, after = (1 - share) * one.masses, share * other.masses
    if len(one) == len(other):
        between = normalize((1 - share) * one.points + share * other.points)
        atoms = Atoms(between, before + after)
    else:
        points = np.concatenate([one.points, other.points])
        atoms = Atoms(points, np.concatenate([before, after]))
    if isinstance(first, Atoms):
        return atoms
    here, there = as_measure(first).density, as_measure(second).density
    values = (1 - share) * here.values + share * there.values
    return Measure(Density(here.geometry, values), atoms)
