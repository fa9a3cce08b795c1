"""Some saved states next to one another, on the same scales.

Some saved states of a run on the sphere: maps side by side with one colour bar.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure, SubFigure
from numpy.typing import ArrayLike

from mfpde.arrays import IntArray, real_array
from mfpde.measures.measure import AnyMeasure
from mfpde.plotting.angle_view import AngleView, domain_of_run, view_of
from mfpde.plotting.atoms import draw_atoms, marked_atoms
from mfpde.plotting.curve import draw_stems, mass_axis, stem_atoms, stem_handles
from mfpde.plotting.landscape import (
    curve_handles,
    draw_active_regions,
    draw_landscape,
    draw_neurons,
    has_landscape,
    neurons_of,
    sphere_neurons,
)
from mfpde.plotting.projections import Mollweide, prepare_axes
from mfpde.plotting.sphere_field import add_colour_bar, colours_for, density_of
from mfpde.plotting.sphere_map import draw_ground, legend_handles
from mfpde.plotting.style import (
    DENSITY,
    LANDSCAPE,
    add_legend_below,
    evenly_spread,
    figure_of,
    figure_or_new,
    set_angle_axis,
    set_density_axis,
    styled,
)
from mfpde.runs.run import Run

MAPS_IN_A_ROW = 5
AREA_PER_MASS = 90.0


def strip_size(count: int) -> tuple[float, float]:
    """Width and height in inches of a figure for ``count`` maps."""
    return 10.0, 0.75 + 1.15 * _rows(count)


class Strip(NamedTuple):
    """The scale of colours of a strip of maps (None for particles), and its legend."""

    norm: Normalize | None
    handles: list[Artist]


def draw_strip(figure: Figure | SubFigure, run: Run, indices: IntArray) -> Strip:
    """Fill ``figure`` with one map for each save of ``indices`` and a colour bar."""
    projection = Mollweide()
    states = [run.states[index] for index in indices]
    densities = [d for d in map(density_of, states) if d is not None]
    norm = colours_for(densities)
    columns = min(len(states), MAPS_IN_A_ROW)
    grid = figure.subplots(_rows(len(states)), columns, squeeze=False)
    layers, marks = [], []
    for ax, index in zip_longest(grid.flat, indices):
        if index is None:
            ax.set_axis_off()
            continue
        state = run.states[index]
        prepare_axes(ax, projection)
        draw_ground(ax, projection, state, norm=norm)
        equation = run.equation_at(run.times[index])
        layers.append(sphere_neurons(equation))
        marks.append(marked_atoms(state, equation))
        draw_neurons(ax, projection, layers[-1], width=0.7)
        draw_atoms(ax, projection, marks[-1], area_per_mass=AREA_PER_MASS)
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
    return Strip(norm, legend_handles(layers, marks, with_directions=False))


def _rows(count: int) -> int:
    return -(-count // MAPS_IN_A_ROW)


DEFAULT_SNAPSHOTS = 5


@styled
def plot_snapshots(
    run: Run,
    *,
    times: ArrayLike | None = None,
    figure: Figure | SubFigure | None = None,
) -> Figure:
    """Draw saved densities on common scales (logarithmic if one exceeds 50 means).

    On the circle and on Zonal grids they are curves under one another, with the landscape
    below them; on a Sphere a strip of maps with one colour bar, on which every neuron's
    circle is drawn and the atoms are marked.  Of a run of layers each state stands with the
    neurons of the layer that acts at its time, and the landscape is that of the last of them.

    Parameters
    ----------
    run
        A run on the circle, a Zonal grid or the sphere.
    times
        Times to show, of each the nearest save; by default five saves evenly spread
        over their list, the first and the last among them.
    figure
        Figure or subfigure to fill; by default a new one.

    Returns
    -------
    The figure, of a subfigure the whole one.

    Raises
    ------
    ValueError
        If nothing was saved, ``times`` is empty or outside the run, or there is no
        picture for the geometry.
    """
    domain = domain_of_run(run, picture="plot_snapshots")
    indices = snapshot_indices(run, times)
    if domain == "sphere":
        figure = figure_or_new(figure, size=strip_size(len(indices)))
        add_legend_below(figure, draw_strip(figure, run, indices).handles)
    else:
        figure = figure_or_new(figure, size=(5.0, 7.0))
        draw_snapshots(figure, run, indices)
    return figure_of(figure)


def snapshot_indices(run: Run, times: ArrayLike | None = None) -> IntArray:
    """Return the saves nearest to ``times``, without repetitions, in increasing order.

    Raises
    ------
    ValueError
        If ``times`` is empty or a time lies outside the saved ones.
    """
    if times is None:
        return evenly_spread(len(run.times), DEFAULT_SNAPSHOTS)
    wanted = np.atleast_1d(real_array("times", times))
    first, last = float(run.times[0]), float(run.times[-1])
    slack = 1e-9 * max(abs(first), abs(last))
    outside = (wanted < first - slack) | (wanted > last + slack)
    if not len(wanted) or outside.any():
        raise ValueError(
            f"times = {wanted.tolist()} must be one or more times between "
            f"{first:g} and {last:g}, the first and the last save"
        )
    return np.unique(np.abs(run.times[:, np.newaxis] - wanted).argmin(axis=0))


def draw_snapshots(figure: Figure | SubFigure, run: Run, indices: IntArray) -> None:
    """Fill ``figure`` with one curve for each save of ``indices`` and the landscape."""
    states = [run.states[index] for index in indices]
    view = view_of(states[0])
    equations = [run.equation_at(run.times[index]) for index in indices]
    last = equations[-1]
    with_landscape = has_landscape(last)
    heights = [1.0] * len(states) + [0.8] * with_landscape
    column = figure.subplots(
        len(heights), 1, sharex=True, squeeze=False, height_ratios=heights
    )[:, 0]
    panels = list(column[: len(states)])
    _draw_states(panels, states, view)
    for ax, index, equation in zip(panels, indices, equations, strict=True):
        ax.set_title(f"t = {run.times[index]:.4g}", loc="left", pad=2)
        if equation is not None:
            draw_active_regions(ax, equation, view)
    if with_landscape and last is not None:
        draw_landscape(column[-1], last, view)
        if len(set(equations)) > 1:
            name = f"landscape at t = {run.times[indices[-1]]:.4g}"
            column[-1].set_title(name, loc="left", pad=6)
    for ax in column:
        ax.spines["right"].set_visible(False)
        set_angle_axis(ax, "x", view, label=ax is column[-1])
    acting = [equation for equation in equations if equation is not None]
    neurons = [n for equation in acting for n in neurons_of(equation, view.dimension)]
    has_stems = any(len(stem_atoms(state)) for state in states)
    handles = [*stem_handles(own=has_stems, found=False), *curve_handles(neurons)]
    add_legend_below(figure, handles)


def _draw_states(
    panels: Sequence[Axes], states: Sequence[AnyMeasure], view: AngleView
) -> None:
    curves = [view.curve(state) for state in states]
    atoms = [stem_atoms(state) for state in states]
    shown = [curve[1] for curve in curves if curve is not None]
    middle = panels[(len(panels) - 1) // 2]
    heaviest = max((float(a.masses.max()) for a in atoms if len(a)), default=0.0)
    for ax, curve, atom in zip(panels, curves, atoms, strict=True):
        if curve is not None:
            ax.plot(*view.continued(curve), color=DENSITY, gid="density")
            set_density_axis(ax, shown)
        if heaviest:
            stems = mass_axis(ax, view) if shown else ax
            stems.set_ylabel(view.atom_label if ax is middle else "")
            draw_stems(stems, view, atom, top=heaviest, labels=False)
    if shown:
        middle.set_ylabel(view.density_label)
