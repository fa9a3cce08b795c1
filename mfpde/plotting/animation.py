"""A run as a film: one frame for each save, on one scale, written by matplotlib's writers.

The axes are made once; from frame to frame the density, the atoms and the time change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Literal

import numpy as np
from matplotlib.animation import AbstractMovieWriter, FFMpegWriter, PillowWriter

from mfpde.arrays import choice, whole_number
from mfpde.plotting.angle_view import domain_of_run
from mfpde.plotting.atoms import FoundAtoms, is_crowd, marked_atoms
from mfpde.plotting.film_scenes import CurveScene, Frame, Scale, Scene, SphereScene
from mfpde.plotting.globe import sides_of
from mfpde.plotting.projections import Mollweide, Projection
from mfpde.plotting.style import Limits, Picture, evenly_spread, styled
from mfpde.runs.run import Run

View = Literal["globe", "map", "curve"]
VIEWS: dict[str, tuple[View, ...]] = {
    "circle": ("curve",),
    "zonal": ("curve",),
    "sphere": ("globe", "map"),
}
"""Views of a run by its domain, the default one first."""
FASTEST = 120
MOST_FRAMES = 100_000
DOTS_PER_INCH = 120


@styled
def animate(
    run: Run,
    path: str | Path,
    *,
    view: View | None = None,
    frames_per_second: int = 15,
    frames: int | None = None,
    limits: Limits | None = None,
    log: bool | None = None,
    progress: Callable[[Iterable[int]], Iterable[int]] | None = None,
) -> Path:
    """Write a run as a film, one frame for each save, all on the same scale.

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
        Wraps the numbers of the frames as they are drawn, as ``rich.progress.track`` does.

    Returns
    -------
    The path of the film.

    Raises
    ------
    ValueError
        If the file's ending is another one, ffmpeg is missing, nothing was saved, there is no
        picture for the geometry or no such view of it, or a number is out of its range.
    """
    domain = domain_of_run(run, picture="animate")
    chosen = choice("view", view or VIEWS[domain][0], VIEWS[domain])
    rate = whole_number(
        "frames_per_second", frames_per_second, at_least=1, at_most=FASTEST
    )
    most = len(run.times)
    if frames is not None:
        most = whole_number("frames", frames, at_least=1, at_most=MOST_FRAMES)
    path = Path(path)
    writer = _writer(path, rate)
    scale = Scale(limits, log)
    shown = evenly_spread(len(run.times), most)
    figure = Picture(figsize=_SIZES[chosen])
    states = [run.states[index] for index in shown]
    scene: Scene
    if chosen == "curve":
        scene = CurveScene(figure, run, states, scale)
    else:
        places: list[Projection] = [Mollweide()] if chosen == "map" else []
        # The camera stands still, in front of where the mass is in the end.
        places = places or [side for side, _ in sides_of(run.states[-1])]
        scene = SphereScene(figure, run, states, scale, projections=places)
    numbers: Iterable[int] = shown.tolist()
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.stem}.partial{path.suffix}")
    try:
        with ExitStack() as stack:
            is_open = False
            for index in numbers if progress is None else progress(numbers):
                scene.show(_frame(run, index, finds=chosen != "curve"))
                if not is_open:
                    scene.fix_layout()
                    stack.enter_context(writer.saving(figure, partial, DOTS_PER_INCH))
                    is_open = True
                writer.grab_frame()
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    return path


_SIZES = {"curve": (6.4, 4.0), "globe": (7.2, 4.4), "map": (7.2, 4.2)}


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
    return FFMpegWriter(fps=rate, codec="libx264", extra_args=_PLAYED_EVERYWHERE)


_PLAYED_EVERYWHERE = [
    *("-pix_fmt", "yuv420p", "-crf", "20", "-movflags", "+faststart"),
    # H.264 halves the colours: sides must be even.
    *("-vf", "pad=ceil(iw/2)*2:ceil(ih/2)*2:color=white"),
]


def _frame(run: Run, index: int, *, finds: bool) -> Frame:
    """Return a save as a frame; without a track its atoms are searched if ``finds``."""
    time, state = float(run.times[index]), run.states[index]
    equation = run.equation_at(time)
    own, found = marked_atoms(state, None)
    track = run.track
    if track is not None and np.array_equal(track.times, run.times):
        seen = track.atoms_at(index)
        if len(seen):
            arrived = seen.arrived_masses
            arrived = seen.masses if arrived is None else arrived
            # Stores of before did not keep what has arrived.
            arrived = np.where(np.isnan(arrived), seen.masses, arrived)
            found = FoundAtoms(seen.points, arrived, seen.masses - arrived)
    elif finds and equation is not None and not is_crowd(state):
        own, found = marked_atoms(state, equation)
    return Frame(time, state, (own, found), equation)
