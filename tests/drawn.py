"""What tests of pictures look for in figures, and runs that no solver has to compute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from matplotlib.legend import Legend

import mfpde
from mfpde.runs.stopping import StopReason
from mfpde.tracking import SeenAtoms, Track


def by_gid(where: Artist, gid: str) -> list[Any]:
    """Artists of this name in a figure, or on axes and their insets."""
    return where.findobj(lambda artist: artist.get_gid() == gid)


def legend_of(figure: Figure) -> set[str]:
    """Texts of all legends of a figure and its parts."""
    legends = figure.findobj(Legend)
    return {text.get_text() for legend in legends for text in legend.get_texts()}


def lay_out(figure: Figure) -> Figure:
    figure.draw_without_rendering()
    return figure


def is_within_page(figure: Figure) -> bool:
    """Whether nothing of a figure is cut by the edge of its page."""
    box, (width, height) = lay_out(figure).get_tightbbox(), figure.get_size_inches()
    return 0 <= box.x0 < box.x1 <= width and 0 <= box.y0 < box.y1 <= height


def run_of(
    states: Sequence[Any],
    equation: Any = None,
    *,
    times: Any = None,
    track: Track | None = None,
    **diagnostics: Any,
) -> mfpde.Run:
    """A run that holds these states, at the times 0, 1, ... by default."""
    times = np.arange(float(len(states))) if times is None else np.asarray(times)
    masses = {"mass": np.array([state.total_mass for state in states])}
    end = float(times[-1])
    return mfpde.Run(
        equation=equation,
        times=times,
        states=list(states),
        diagnostics=masses | diagnostics,
        stop=StopReason.of("t_end", time=end),
        final=states[-1],
        final_time=end,
        track=track,
    )


def empty_track(times: Any, dimension: int) -> Track:
    """A track without atoms; a run that has it is not searched for any."""
    none, count = np.empty(0), len(times)
    points = np.empty((0, dimension))
    seen = SeenAtoms(points, none, none.astype(bool), none.astype(int), none)
    return Track(np.asarray(times), (seen,) * count, ("",) * count, ())


def poisson_kernel(circle: mfpde.Circle, r: float) -> mfpde.Density:
    """The density (1 - r^2) / (1 - 2 r cos(theta - 2) + r^2), of mass 1."""
    values = (1 - r**2) / (1 - 2 * r * np.cos(circle.angles - 2.0) + r**2)
    return mfpde.Density(circle, values).normalized()


def bump(sphere: mfpde.Sphere, centre: Any, sharpness: float) -> mfpde.Density:
    centre = np.array(centre) / np.linalg.norm(centre)
    return mfpde.Density.from_function(
        sphere, lambda x: np.exp(sharpness * (x @ centre - 1))
    )
