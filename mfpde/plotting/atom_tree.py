"""Masses and number of the atoms against time, for any geometry.

The paths of a run's atoms on the globe.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from mfpde.arrays import FloatArray
from mfpde.plotting.angle_view import domain_of_run
from mfpde.plotting.atoms import mass_text
from mfpde.plotting.globe import Side, add_globe_bar, draw_globes, sides_towards
from mfpde.plotting.paths import draw_mark, drawn_nodes, mark_handles, track_of
from mfpde.plotting.sphere_field import colours_for, density_of
from mfpde.plotting.style import (
    ATOM,
    LANDSCAPE,
    MUTED,
    NEURONS,
    axes_or_new,
    figure_of,
    figure_or_new,
    set_time_axis,
    styled,
)
from mfpde.runs.run import Run
from mfpde.tracking import Path, Track

LEAST_LABELLED_MASS = 0.04
DARK, PALE = 0.45, 0.25
"""Strengths of what has arrived, over that of the whole band."""


@styled
def plot_atom_tree(run: Run, *, ax: Axes | None = None) -> Figure:
    """Draw the atoms as bands, as high as their basins, that join where atoms merge.

    Atoms that are one in the end have one colour.  The dark part of a band has arrived, the
    pale one is on its way; the numbers at the right say how much of each.  At every time
    bands stand on one another: what is missing to the whole mass, at which the axis ends, is in
    no basin of an atom.  Time is logarithmic if the saves are spaced so.

    Parameters
    ----------
    run
        A run with a track, of any geometry.
    ax
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    The figure, of given axes theirs.

    Raises
    ------
    ValueError
        If the run has no track.
    """
    track = track_of(run, picture="plot_atom_tree")
    ax = axes_or_new(ax, size=(6.5, 3.2))
    bands = _bands(track)
    for number, band in enumerate(bands):
        colour = NEURONS[band.family % len(NEURONS)]
        for top, strength, gid in (
            (band.high, PALE, f"atom {band.path.identity}"),
            (band.arrived, DARK, f"arrived at {band.path.identity}"),
        ):
            ax.fill_between(
                band.times,
                band.low,
                top,
                facecolor=colour,
                alpha=strength,
                edgecolor="white",
                linewidth=0.6,
                gid=gid,
                zorder=2 + 0.001 * number,
            )
    _mark_junctions(ax, bands)
    _label_masses(ax, track, bands)
    whole = max([run.final.total_mass, *(band.high.max() for band in bands)])
    ax.set_ylim(0.0, whole)
    ax.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 5, 10]))
    ax.set_ylabel("mass of atoms\n(pale, +: on its way)")
    ax.spines["right"].set_visible(False)
    set_time_axis(ax, track.times)
    _add_legend(ax, track)
    return figure_of(ax)


@styled
def plot_cluster_counts(run: Run, *, ax: Axes | None = None) -> Figure:
    """Draw the number of atoms against time, in steps.

    A bar at a step is the interval in which it happened, where that is known only as
    between two saves.

    Parameters
    ----------
    run
        A run with a track, of any geometry.
    ax
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    The figure, of given axes theirs.

    Raises
    ------
    ValueError
        If the run has no track.
    """
    track = track_of(run, picture="plot_cluster_counts")
    ax = axes_or_new(ax, size=(6.0, 2.4))
    times, counts = _steps(track)
    ax.step(times, counts, where="post", color=ATOM, gid="counts")
    for junction in track.junctions:
        where = int(np.searchsorted(times, junction.event.time))
        if junction.is_exact or where == 0:
            continue
        middle = (counts[where - 1] + counts[where]) / 2
        ax.hlines(
            middle,
            junction.earliest,
            junction.latest,
            color=MUTED,
            linewidth=1.0,
            gid="interval",
        )
    ax.set_ylim(0.0, max(int(counts.max()), 1) + 0.5)
    ax.yaxis.set_major_locator(MaxNLocator(5, integer=True))
    ax.set_ylabel("number of atoms")
    ax.spines["right"].set_visible(False)
    set_time_axis(ax, track.times)
    return figure_of(ax)


@dataclass(frozen=True, eq=False)
class _Band:
    """One atom's band: between ``low`` and ``high`` (n,) at ``times`` (n,).

    What has arrived reaches up to ``arrived``.
    """

    path: Path
    family: int
    times: FloatArray
    low: FloatArray
    high: FloatArray
    arrived: FloatArray

    def middle_at(self, time: float) -> float:
        """Height of the band's middle."""
        return float(np.interp(time, self.times, (self.low + self.high) / 2))


def _steps(track: Track) -> tuple[FloatArray, FloatArray]:
    """Times at which the number of atoms changes, with both ends, and the number after each."""
    lives = [time for path in track.paths.values() for time in (path.begins, path.ends)]
    times = np.unique(np.concatenate([track.times[[0, -1]], lives]))
    return times, np.asarray(track.counts_at(times), dtype=np.float64)


def _bands(track: Track) -> list[_Band]:
    """A band for each atom, on those below it at the time; those that will join are neighbours."""
    roots = [path for path in track.paths.values() if not path.children]
    roots.sort(key=lambda path: -path.masses[path.last_seen])
    placed: list[tuple[Path, int]] = []
    for family, root in enumerate(roots):
        _place(track, root, placed, family=family)
    times, are_alive = _samples([path for path, _ in placed])
    bands: list[_Band] = []
    base = np.zeros(len(times))
    for (path, family), is_alive in zip(placed, are_alive, strict=True):
        # A store that did not keep what has arrived shows all of it as such.
        unknown = np.isnan(path.arrived_masses)
        known = np.where(unknown, path.masses, path.arrived_masses)
        low, high, arrived = (
            (base + np.interp(times, path.times, masses))[is_alive]
            for masses in (0 * path.masses, path.masses, known)
        )
        bands.append(_Band(path, family, times[is_alive], low, high, arrived))
        base[is_alive] = high
    return bands


def _place(
    track: Track, path: Path, placed: list[tuple[Path, int]], *, family: int
) -> None:
    """Put a path above its ancestors, whose place it takes, unless it is there already."""
    if any(path is other for other, _ in placed):
        return
    for parent in path.parents:
        _place(track, track.paths[parent], placed, family=family)
    placed.append((path, family))


def _samples(paths: list[Path]) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Times (n,) of all paths, each just before and just after; who is alive, (paths, n)."""
    if not paths:
        return np.empty(0), np.empty((0, 0), dtype=bool)
    own = [np.clip(path.times, path.begins, path.ends) for path in paths]
    begins = np.array([[path.begins] for path in paths])
    ends = np.array([[path.ends] for path in paths])
    times = np.unique(np.concatenate([*own, begins[:, 0], ends[:, 0]]))
    before = (begins < times) & (times <= ends)
    after = (begins <= times) & ((times < ends) | (begins == ends))
    are_alive = np.stack([before, after], axis=-1).reshape(len(paths), -1)
    return np.repeat(times, 2), are_alive


def _mark_junctions(ax: Axes, bands: list[_Band]) -> None:
    for band in bands:
        birth, end = band.path.birth, band.path.end
        if birth is not None and birth.event.kind != "fission":
            time = birth.event.time
            draw_mark(ax, birth.event.kind, time, band.middle_at(time))
        if end is not None and end.event.kind in ("fission", "death"):
            time = end.event.time
            draw_mark(ax, end.event.kind, time, band.middle_at(time))


def _label_masses(ax: Axes, track: Track, bands: list[_Band]) -> None:
    for band in bands:
        mass, arrived = band.path.masses[-1], band.path.arrived_masses[-1]
        if np.isnan(arrived):
            arrived = mass
        if band.times[-1] < track.times[-1] or mass < LEAST_LABELLED_MASS:
            continue
        ax.annotate(
            mass_text(arrived, mass - arrived, separator="\n"),
            (1.0, (band.low[-1] + band.high[-1]) / 2),
            xycoords=("axes fraction", "data"),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            fontsize=8,
            color=LANDSCAPE,
            annotation_clip=False,
            gid="mass",
        )


def _add_legend(ax: Axes, track: Track) -> None:
    handles = mark_handles(track.junctions)
    if handles:
        ax.legend(
            handles=handles,
            loc="lower right",
            bbox_to_anchor=(1.0, 1.0),
            ncols=len(handles),
            borderaxespad=0.1,
            borderpad=0.1,
            handletextpad=0.1,
            columnspacing=1.0,
        )


@styled
def plot_atom_paths(run: Run, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Draw the paths of a run's atoms on the globe, over the last saved state.

    Seen from two sides, first from where most of the paths are.  Lines are as wide as
    atoms are heavy; births, merges, fissions and deaths are marked.

    Parameters
    ----------
    run
        A run on the sphere with a track.
    figure
        Figure or subfigure to fill; by default a new one.

    Returns
    -------
    The figure, of a subfigure the whole one.

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
    figure = figure_or_new(figure, size=(7.0, 4.0))
    last = run.states[-1]
    density = density_of(last)
    norm = colours_for([density] if density is not None else [])
    equation = run.equation_at(run.times[-1])
    pair = draw_globes(
        figure, last, equation, norm=norm, track=track, sides=sides_of(track)
    )
    if density is not None and norm is not None:
        add_globe_bar(figure, density, norm=norm, pair=pair)
    return figure_of(figure)


def sides_of(track: Track) -> tuple[Side, Side]:
    """Two opposite views, the first onto the middle of the paths where they have one."""
    nodes = [drawn_nodes(path)[1] for path in track.paths.values()]
    mean = np.concatenate(nodes).mean(axis=0) if nodes else np.zeros(3)
    return sides_towards(mean)
