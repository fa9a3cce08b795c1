"""The whole run as one map: log10 density over time and angle, tracks of atoms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mfpde.arrays import FloatArray
from mfpde.measures.measure import Atoms, atoms_of
from mfpde.plotting import palette, style
from mfpde.plotting.angle_view import AngleView, Curve, domain_of_run, view_of
from mfpde.plotting.atoms import FoundAtoms, atoms_found
from mfpde.plotting.marks import add_legend_above
from mfpde.plotting.paths import draw_tree
from mfpde.runs.run import Run

MOST_SEARCHED, MOST_DOTTED = 30, 200
"""Saves whose atoms are searched, and whose particles are drawn."""
AREA_PER_MASS = 60.0
AREA_OF_DOT = 5.0


@style.styled
def plot_space_time(run: Run, *, ax: Axes | None = None) -> Figure:
    """Draw log10 density as colours over time and angle, and atoms as discs over it.

    Colours span the largest density down to 1e-4 of it (or to 1e-2 of the mean if that
    is lower).  The discs are the atoms that :func:`mfpde.concentration` finds at up to
    30 of the saves, their areas proportional to the mass that has arrived; circles around
    them, and around what is forming, have the areas of the basins.  A run without an
    equation shows the atoms that its states carry.  A run with a track shows the paths of
    its atoms instead, with births, merges, fissions and deaths.  Up to 200 particles are
    drawn as dots without colours.  Time is logarithmic if the saves are spaced so.

    Parameters
    ----------
    run
        A run on the circle or on a Zonal grid (there the angle is the polar one and the
        density the mass per polar angle).
    ax
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    The figure, of given axes theirs.

    Raises
    ------
    ValueError
        If nothing was saved, the run is on a Sphere (which has no such map), or there is
        no picture for the geometry.
    """
    if domain_of_run(run, picture="plot_space_time") == "sphere":
        raise ValueError(
            "plot_space_time has no picture for a run on the sphere: two angles and the "
            "time do not fit on one map. Use plot_snapshots (maps at several times) or "
            "plot_run"
        )
    ax = style.axes_or_new(ax, size=(7.0, 3.6))
    view, times = view_of(run.states[0]), run.times
    curves = [view.curve(state) for state in run.states]
    columns = [curve for curve in curves if curve is not None]
    if len(columns) == len(curves):
        _draw_map(ax, view, columns, times=times)
    if run.track is not None:
        add_legend_above(ax, draw_tree(ax, view, run.track))
    elif not isinstance(run.states[0], Atoms):
        _draw_discs(ax, view, run)
    elif not columns:
        _draw_dots(ax, view, run)
    style.set_angle_axis(ax, "y", view)
    style.set_time_axis(ax, times)
    return style.figure_of(ax)


def _draw_map(
    ax: Axes, view: AngleView, columns: Sequence[Curve], *, times: FloatArray
) -> None:
    values = style.largest_in_rows(np.stack([curve for _, curve in columns]))
    mean = float(values.mean())
    floor, top = style.density_range([values], depth=style.MAP_DEPTH, mean=mean)
    top = top or 1.0
    floor = floor or style.MAP_DEPTH * top
    if np.log10(top / floor) < 0.2:
        floor, top = floor / 10**0.5, top * 10**0.5
    # Edges are halfway between the saves; the first and the last save are edges too.
    edges = np.array([times[0] - 0.5, times[0] + 0.5])
    if len(times) > 1:
        edges = np.hstack([times[0], (times[1:] + times[:-1]) / 2, times[-1]])
    mesh = ax.pcolormesh(
        edges,
        np.linspace(0.0, view.span, values.shape[1] + 1),
        np.log10(np.maximum(values, floor)).T,
        cmap=palette.DENSITY_MAP,
        vmin=np.log10(floor),
        vmax=np.log10(top),
        rasterized=True,
    )
    ax.figure.colorbar(
        mesh,
        cax=ax.inset_axes((1.02, 0.0, 0.025, 1.0)),
        label=view.colour_label,
        extend="min" if values.min() < floor else "neither",
    )


def _draw_discs(ax: Axes, view: AngleView, run: Run) -> None:
    """Draw atoms as discs of what has arrived, in circles of their basins."""
    saves = style.evenly_spread(len(run.times), MOST_SEARCHED)
    atoms = [_found(run, save) for save in saves]
    times = np.repeat(run.times[saves], [len(found) for found in atoms])
    angles = np.concatenate([view.angles_of(found.points) for found in atoms])
    arrived, basins, are_on_their_way = (
        np.concatenate([getattr(found, name) for found in atoms])
        for name in ("arrived", "basins", "are_on_their_way")
    )
    for which, masses, face, edge, label, gid in (
        (arrived > 0, arrived, palette.ATOM, "white", "arrived (area ∝ mass)", "atoms"),
        (
            are_on_their_way,
            basins,
            "none",
            palette.ATOM,
            "and on its way",
            "on its way",
        ),
    ):
        if which.any():
            areas = AREA_PER_MASS * masses[which]
            discs = ax.scatter(times[which], angles[which], s=areas, zorder=3)
            discs.set(fc=face, ec=edge, lw=0.6, clip_on=False, label=label, gid=gid)
    add_legend_above(ax, ax.get_legend_handles_labels()[0])


def _found(run: Run, save: int) -> FoundAtoms:
    """Atoms found in a save under its equation; without one those that it carries."""
    equation = run.equation_at(run.times[save])
    if equation is None:
        return FoundAtoms.all_arrived(atoms_of(run.states[save]))
    return atoms_found(run.states[save], equation)


def _draw_dots(ax: Axes, view: AngleView, run: Run) -> None:
    """Draw particles as dots without colours."""
    saves = style.evenly_spread(len(run.times), MOST_DOTTED)
    atoms = [atoms_of(run.states[save]) for save in saves]
    masses = np.concatenate([a.masses for a in atoms])
    times = np.repeat(run.times[saves], [len(a) for a in atoms])
    angles = np.concatenate([view.angles_of(a.points) for a in atoms])
    areas = AREA_OF_DOT * masses / masses.mean()
    dots = ax.scatter(times, angles, s=areas, color=palette.DENSITY, linewidths=0)
    dots.set(label="particles (area ∝ mass)", gid="particles")
    add_legend_above(ax, [dots])
