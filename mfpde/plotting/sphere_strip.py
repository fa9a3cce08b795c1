"""Some saved states of a run on the sphere: maps side by side with one colour bar."""

from __future__ import annotations

from itertools import zip_longest

from matplotlib.colors import Normalize
from matplotlib.figure import Figure, SubFigure

from mfpde.arrays import IntArray
from mfpde.plotting.projections import Mollweide
from mfpde.plotting.sphere_atoms import draw_atoms, marked_atoms
from mfpde.plotting.sphere_field import add_colour_bar, colours_for, density_of
from mfpde.plotting.sphere_frame import prepare_axes
from mfpde.plotting.sphere_map import draw_ground
from mfpde.plotting.sphere_neurons import draw_neurons, sphere_neurons
from mfpde.plotting.style import LANDSCAPE
from mfpde.runs.run import Run

MAPS_IN_A_ROW = 5
AREA_PER_MASS = 90.0


def strip_size(count: int) -> tuple[float, float]:
    """Width and height in inches of a figure for ``count`` maps."""
    return 10.0, 0.75 + 1.15 * _rows(count)


def draw_strip(
    figure: Figure | SubFigure, run: Run, indices: IntArray
) -> Normalize | None:
    """Fill ``figure`` with one map for each save of ``indices`` and a colour bar.

    Returns
    -------
    The scale of colours; None for particles.
    """
    projection = Mollweide()
    states = [run.states[index] for index in indices]
    densities = [d for d in map(density_of, states) if d is not None]
    norm = colours_for(densities)
    neurons = sphere_neurons(run.equation)
    columns = min(len(states), MAPS_IN_A_ROW)
    grid = figure.subplots(_rows(len(states)), columns, squeeze=False)
    for ax, index in zip_longest(grid.flat, indices):
        if index is None:
            ax.set_axis_off()
            continue
        state = run.states[index]
        prepare_axes(ax, projection)
        draw_ground(ax, projection, state, norm=norm)
        draw_neurons(ax, projection, neurons, width=0.7)
        marked = marked_atoms(state, run.equation)
        draw_atoms(ax, projection, marked, area_per_mass=AREA_PER_MASS)
        ax.set_title(f"t = {run.times[index]:.4g}", pad=3, color=LANDSCAPE)
    if norm is not None:
        add_colour_bar(
            figure,
            norm,
            densities,
            ax=list(grid.flat),
            orientation="horizontal",
            aspect=45,
            fraction=0.08,
            shrink=0.5,
            pad=0.03,
        )
    return norm


def _rows(count: int) -> int:
    return -(-count // MAPS_IN_A_ROW)
