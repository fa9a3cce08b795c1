"""A run as a film: the pictures of its states on one scale, drawn anew for each frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
from matplotlib.animation import (
    AbstractMovieWriter,
    FFMpegWriter,
    FuncAnimation,
    PillowWriter,
)
from matplotlib.figure import Figure
from scipy.optimize import linear_sum_assignment

from mfpde.arrays import IntArray, choice, real_number, whole_number
from mfpde.geometry.arcs import normalised
from mfpde.measures.measure import (
    AnyMeasure,
    Atoms,
    Density,
    Measure,
    as_measure,
    atoms_of,
)
from mfpde.plotting import palette, style
from mfpde.plotting.angle_view import view_of_run
from mfpde.plotting.atoms import NONE_FOUND, FoundAtoms
from mfpde.plotting.composition import Frame, compose, fill
from mfpde.plotting.curve_panels import CurvePanels
from mfpde.plotting.sphere_panels import SpherePanels, camera_on, is_crowd
from mfpde.runs.run import Run
from mfpde.tracking import Track

View = Literal["globe", "map", "curve"]
CURVE_VIEWS, SPHERE_VIEWS = ("curve",), ("globe", "map")
"""Views of a run, the default one first."""
SIZES = {"curve": (6.4, 4.0), "globe": (7.2, 4.4), "map": (7.2, 4.2)}
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
    mass; those that a run's track has found are drawn too, and on a sphere those that
    :func:`mfpde.concentration` finds, which takes its time where there is no track.

    Parameters
    ----------
    run
        A run on the circle, a Zonal grid or the sphere, of densities or of particles.
    path
        The file: ``.mp4`` (by ffmpeg, H.264) or ``.gif`` (by pillow).  One that is there is
        replaced once the film is complete.
    view
        ``"globe"`` (the default) or ``"map"`` on a sphere, ``"curve"`` elsewhere.
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
    views = SPHERE_VIEWS if view_of_run(run, picture="animate") is None else CURVE_VIEWS
    chosen: View = choice("view", view or views[0], views)  # type: ignore[assignment]
    rate = whole_number(
        "frames_per_second", frames_per_second, at_least=1, at_most=FASTEST
    )
    most = len(run.times)
    if frames is not None:
        most = whole_number("frames", frames, at_least=1, at_most=MOST_FRAMES)
    positions = style.evenly_spread(len(run.times), most).tolist()
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
        FuncAnimation(
            figure,
            draw,
            frames=lambda: (p for p in shown),
            init_func=list,
            save_count=len(positions),
            cache_frame_data=False,
        ).save(str(partial), writer=writer, dpi=DOTS_PER_INCH)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return path


def _writer(path: Path, rate: int) -> AbstractMovieWriter:
    """Return the writer for the ending of ``path``.

    Raises
    ------
    ValueError
        If there is none.
    """
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
    is_searched = run.track is None and view != "curve"
    track = _search(run, saves) if is_searched else run.track
    frames = [_frame_at(run, float(save), track) for save in saves]
    scene: CurvePanels | SpherePanels
    if view == "curve":
        scene = CurvePanels(frames, limits=limits, log=log)
    else:
        # The camera stands still, in front of where the mass is in the end.
        camera = camera_on(frames[-1].state) if view == "globe" else None
        scene = SpherePanels(frames, camera=camera, limits=limits, log=log)
    figure = style.Picture(figsize=SIZES[view], layout="constrained")
    panels = [scene.panels(frame) for frame in frames]
    columns = 2 if view == "globe" else 1
    axes = compose(
        figure, panels[0], columns=columns, colours=scene.colours, beside=None
    )
    style.add_legend_below(
        figure, [h for panel in chain(*panels) for h in panel.handles]
    )
    figure.suptitle(frames[0].title)
    # The axes keep the places that they have now.
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    kept = {*axes, *(ax for ax in figure.axes if ax.get_label() == "<colorbar>")}

    def draw(position: float) -> None:
        frame = _frame_at(run, position, track)
        for twin in set(figure.axes) - kept:
            twin.remove()
        for ax in axes:
            ax.clear()
        fill(axes, scene.panels(frame))
        for twin in set(figure.axes) - kept:
            twin.set_position(axes[0].get_position())
        # From the left, so that the title does not tremble with the width of its number.
        figure.suptitle(frame.title, x=0.47, ha="left", color=palette.LANDSCAPE)

    return figure, draw


def _search(run: Run, saves: IntArray) -> Track | None:
    """Follow the atoms that :func:`mfpde.concentration` finds; None of particles."""
    states, times = [run.states[save] for save in saves], run.times[saves]
    is_known = all(run.equation_at(time) is not None for time in times)
    if not is_known or any(map(is_crowd, states)):
        return None
    return replace(run, times=times, states=states).tracked().track


def _frame_at(run: Run, position: float, track: Track | None) -> Frame:
    """Return the state at a save or between two, with the atoms of a track."""
    before, after = int(np.floor(position)), int(np.ceil(position))
    state = run.states[before]
    if after > before:
        state = interpolated(state, run.states[after], position - before)
    time = float(np.interp(position, np.arange(len(run.times)), run.times))
    found = NONE_FOUND if track is None else _atoms_at(track, time, state.dimension)
    return Frame(state, run.equation_at(time), found, time)


def _atoms_at(track: Track, time: float, dimension: int) -> FoundAtoms:
    """Return the atoms of a track that are alive at a time, where their paths are then."""
    rows = []
    for path in track.paths.values():
        if path.is_alive(np.array([time]))[0]:
            kept, masses = path.arrived_masses, path.masses
            # Stores of before did not keep what has arrived.
            arrived = np.where(np.isnan(kept), masses, kept)
            columns = (arrived, masses - arrived, *path.points.T)
            rows.append([np.interp(time, path.times, column) for column in columns])
    table = np.reshape(rows, (-1, 2 + dimension))
    return FoundAtoms(normalised(table[:, 2:]), table[:, 0], table[:, 1])


def interpolated(first: AnyMeasure, second: AnyMeasure, share: float) -> AnyMeasure:
    """Return the measure at ``share`` (0 to 1) of the way from one save to the next.

    Densities are mixed.  As many atoms as before move along great circles to the nearest of
    the others, bare ones in their order; of other numbers both are there.  Mass is linear.
    """
    if isinstance(first, Atoms) or isinstance(second, Atoms):
        return _mix(atoms_of(first), atoms_of(second), share, in_order=True)
    one, other = as_measure(first), as_measure(second)
    if one.geometry != other.geometry:
        return first if share < 0.5 else second
    values = (1 - share) * one.density.values + share * other.density.values
    density = Density(one.geometry, values)
    return Measure(density, _mix(one.atoms, other.atoms, share, in_order=False))


def _mix(first: Atoms, second: Atoms, share: float, *, in_order: bool) -> Atoms:
    points, masses = second.points, share * second.masses
    if len(first) != len(second):
        there = (1 - share) * first.masses
        return Atoms(
            np.concatenate([first.points, points]), np.concatenate([there, masses])
        )
    if not in_order:
        _, order = linear_sum_assignment(-first.points @ points.T)
        points, masses = points[order], masses[order]
    between = normalised((1 - share) * first.points + share * points)
    return Atoms(between, (1 - share) * first.masses + masses)
