"""The paths of a run's atoms on the globe."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure, SubFigure

from mfpde.plotting.domain import domain_of_run
from mfpde.plotting.globe import Side, add_globe_bar, draw_globes, sides_towards
from mfpde.plotting.junctions import drawn_nodes, track_of
from mfpde.plotting.sphere_field import colours_for, density_of
from mfpde.plotting.style import Picture, styled
from mfpde.runs.run import Run
from mfpde.tracking import Track


@styled
def plot_atom_paths(
    run: Run, *, figure: Figure | SubFigure | None = None
) -> Figure | SubFigure:
    """Draw the paths of a run's atoms on the globe, over the last saved state.

    Seen from two sides, first from where most of the paths are.  Lines are as wide as
    atoms are heavy; births, merges, fissions and deaths are marked.

    Parameters
    ----------
    run
        A run on the sphere with a track.
    figure
        Figure or subfigure to fill; by default a new one.

    Raises
    ------
    ValueError
        If the run has no track, or is not on the sphere S^2.
    """
    track = track_of(run, picture="plot_atom_paths")
    if domain_of_run(run, picture="plot_atom_paths") != "sphere":
        raise ValueError(
            "plot_atom_paths draws on the sphere S^2, where this run is not: "
            "plot_space_time draws the paths of angles against time"
        )
    if figure is None:
        figure = Picture(figsize=(7.0, 4.0), layout="constrained")
    last = run.states[-1]
    density = density_of(last)
    norm = colours_for([density] if density is not None else [])
    pair = draw_globes(
        figure, last, run.equation, norm=norm, track=track, sides=sides_of(track)
    )
    if density is not None and norm is not None:
        add_globe_bar(figure, density, norm=norm, pair=pair)
    return figure


def sides_of(track: Track) -> tuple[Side, Side]:
    """Two opposite views, the first onto the middle of the paths where they have one."""
    nodes = [drawn_nodes(path)[1] for path in track.paths.values()]
    mean = np.concatenate(nodes).mean(axis=0) if nodes else np.zeros(3)
    return sides_towards(mean)
