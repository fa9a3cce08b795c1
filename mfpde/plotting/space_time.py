"""The whole run as one map: log10 density over time and angle, tracks of atoms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from mfpde.arrays import FloatArray, IntArray
from mfpde.geometry import Circle
from mfpde.geometry.circle import angles_of
from mfpde.measure import Atoms, atoms_of
from mfpde.plotting.density import density_curve
from mfpde.plotting.domain import domain_of_run
from mfpde.plotting.scales import (
    MAP_DEPTH,
    density_range,
    regularly_thinned,
    set_angle_axis,
    set_time_axis,
)
from mfpde.plotting.style import ATOM, DENSITY, DENSITY_MAP, axes_or_new, styled
from mfpde.run import Run

COLOUR_LABEL = "log10 density"
MOST_TRACK_MARKS = 30
MOST_DOTS = 200
AREA_PER_MASS = 60.0
AREA_OF_DOT = 5.0

Tracks = tuple[FloatArray, FloatArray, FloatArray]


@styled
def plot_space_time(run: Run, *, ax: Axes | None = None) -> Axes:
    """Draw log10 density as colours over time and angle, and atoms as discs over it.

    Colours span the largest density down to 1e-4 of it (or to 1e-2 of the mean if that
    is lower).  The discs are the atoms that :func:`mfpde.concentration` finds at up to
    30 of the saves, their areas proportional to their masses; a run without an equation
    shows the atoms that its states carry.  Up to 200 particles are drawn as dots
    without colours.  Time is logarithmic if the saves are spaced so.

    Parameters
    ----------
    run
        A run on the circle.
    ax
        Axes to draw on; by default those of a new figure.

    Raises
    ------
    ValueError
        If nothing was saved, or there is no picture for the geometry.
    """
    painter = _PAINTERS[domain_of_run(run, picture="plot_space_time")]
    ax = axes_or_new(ax, size=(7.0, 3.6))
    painter(ax, run)
    set_time_axis(ax, run.times)
    return ax


def _draw_on_circle(ax: Axes, run: Run) -> None:
    curves = [density_curve(state) for state in run.states]
    columns = [curve for curve in curves if curve is not None]
    if len(columns) == len(curves):
        _draw_map(ax, run.times, columns)
    if not isinstance(run.states[0], Atoms):
        _draw_discs(ax, _tracks(run))
    elif not columns:
        _draw_dots(ax, _own_atoms(run, regularly_thinned(len(run.times), MOST_DOTS)))
    set_angle_axis(ax, "y")


def _draw_map(
    ax: Axes, times: FloatArray, columns: Sequence[tuple[FloatArray, FloatArray]]
) -> None:
    values = _on_common_angles(columns)
    floor, top = density_range([values], depth=MAP_DEPTH)
    top = top or 1.0
    floor = floor or MAP_DEPTH * top
    if np.log10(top / floor) < 0.2:
        floor, top = floor / 10**0.5, top * 10**0.5
    logarithms = np.log10(np.maximum(values, floor))
    faces = np.linspace(0.0, 2 * np.pi, values.shape[1] + 1)
    mesh = ax.pcolormesh(
        _time_edges(times),
        faces,
        logarithms.T,
        cmap=DENSITY_MAP,
        vmin=np.log10(floor),
        vmax=np.log10(top),
        rasterized=True,
    )
    ax.figure.colorbar(
        mesh,
        cax=ax.inset_axes((1.02, 0.0, 0.025, 1.0)),
        label=COLOUR_LABEL,
        extend="min" if values.min() < floor else "neither",
    )


def _on_common_angles(
    columns: Sequence[tuple[FloatArray, FloatArray]],
) -> FloatArray:
    """Values (saves, n) on the finest of the grids (a refined run has several)."""
    finest = max(len(values) for _, values in columns)
    angles = Circle(finest).angles
    return np.stack(
        [
            values
            if len(values) == finest
            else np.interp(angles, own, values, period=2 * np.pi)
            for own, values in columns
        ]
    )


def _time_edges(times: FloatArray) -> FloatArray:
    """Edges halfway between the saves; the first and the last save are edges too."""
    if len(times) == 1:
        return np.array([times[0] - 0.5, times[0] + 0.5])
    middles = (times[1:] + times[:-1]) / 2
    return np.concatenate([times[:1], middles, times[-1:]])


def _tracks(run: Run) -> Tracks:
    """Find times, angles and masses of the atoms at up to 30 saves."""
    indices = regularly_thinned(len(run.times), MOST_TRACK_MARKS)
    if run.equation is None:
        return _own_atoms(run, indices)
    from mfpde.concentration import concentration

    found = []
    for index in indices:
        for atom in concentration(run.states[index], run.equation).atoms:
            angle = float(angles_of(np.asarray(atom.position)))
            found.append((float(run.times[index]), angle, float(atom.mass)))
    return _columns(found)


def _own_atoms(run: Run, indices: IntArray) -> Tracks:
    found = []
    for index in indices:
        atoms = atoms_of(run.states[index])
        for angle, mass in zip(angles_of(atoms.points), atoms.masses, strict=True):
            found.append((float(run.times[index]), float(angle), float(mass)))
    return _columns(found)


def _columns(found: list[tuple[float, float, float]]) -> Tracks:
    table = np.array(found, dtype=np.float64).reshape(-1, 3)
    return table[:, 0], table[:, 1], table[:, 2]


def _draw_discs(ax: Axes, tracks: Tracks) -> None:
    times, angles, masses = tracks
    if len(times):
        ax.scatter(
            times,
            angles,
            s=AREA_PER_MASS * masses,
            color=ATOM,
            edgecolors="white",
            linewidths=0.5,
            zorder=3,
            label="atoms (area ∝ mass)",
            gid="atoms",
        )
        _add_legend(ax)


def _draw_dots(ax: Axes, tracks: Tracks) -> None:
    times, angles, masses = tracks
    if len(times):
        ax.scatter(
            times,
            angles,
            s=AREA_OF_DOT * masses / masses.mean(),
            color=DENSITY,
            linewidths=0,
            label="particles (area ∝ mass)",
            gid="particles",
        )
        _add_legend(ax)


def _add_legend(ax: Axes) -> None:
    """Put the legend on the upper edge, outside of the picture."""
    ax.legend(
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        borderaxespad=0.1,
        borderpad=0.1,
        handletextpad=0.2,
    )


_PAINTERS = {"circle": _draw_on_circle}
