"""One measure on the sphere as a lit globe, from two sides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure, SubFigure

from mfpde.arrays import FloatArray, real_array, shown
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure, Density, atoms_of
from mfpde.plotting.angle_view import domain_of
from mfpde.plotting.atoms import draw_atoms, marked_atoms
from mfpde.plotting.landscape import draw_directions, draw_neurons, sphere_neurons
from mfpde.plotting.paths import draw_paths, mark_handles, path_handle
from mfpde.plotting.projections import Orthographic, prepare_axes
from mfpde.plotting.sphere_field import add_colour_bar, colours_for, density_of
from mfpde.plotting.sphere_map import draw_ground, legend_handles
from mfpde.plotting.style import (
    LANDSCAPE,
    Limits,
    add_legend_below,
    figure_of,
    figure_or_new,
    styled,
)
from mfpde.tracking import Track

Side = tuple[Orthographic, str]

TILT = np.pi / 9
AREA_PER_MASS = 260.0
CLEAR_MEAN = 0.3
NEAR_A_POLE = 0.1
LARGEST_ANGLE = 1e6
FRONT = Orthographic(0.0, TILT)
BACK = Orthographic(np.pi, -TILT)
SIDES: tuple[Side, Side] = (
    (FRONT, "front: φ = 0, north pole"),
    (BACK, "back: φ = π, south pole"),
)


@styled
def plot_globe(
    measure: AnyMeasure,
    *,
    equation: MeanFieldEquation | None = None,
    limits: Limits | None = None,
    camera: tuple[float, float] | None = None,
    figure: Figure | SubFigure | None = None,
) -> Figure:
    """Draw a measure on the sphere as a globe, from the front and from the back.

    The back view looks at the antipode of the front view's middle: together they show
    everything once.  Colours are those of :func:`mfpde.plot_density`, darkened gently
    away from the light.

    Parameters
    ----------
    measure
        A density on a Sphere, atoms with d = 3, or both.
    equation
        Its neurons' circles and directions are drawn where they face the viewer, hatched
        where none is active, and the atoms that :func:`mfpde.concentration` finds.
    limits
        Densities at the ends of the colours, as in ``(1e-3, 10.0)``; by default those of
        this measure.  Give the same to all frames of a film.
    camera
        Longitude and latitude (radians) of the point that the front view looks at.  By
        default the middle of the mass, where it has one, else longitude 0 from 20 degrees
        north.
    figure
        Figure or subfigure to fill; by default a new one.

    Returns
    -------
    The figure, of a subfigure the whole one.

    Raises
    ------
    ValueError
        If the measure does not lie on the sphere S^2, the limits do not increase, or the
        camera is no pair of angles.
    """
    if domain_of(measure, picture="plot_globe") != "sphere":
        raise ValueError(
            f"plot_globe has no picture for a measure in dimension {measure.dimension} "
            "here: it draws densities on a Sphere and atoms with d = 3. Use plot_density"
        )
    figure = figure_or_new(figure, size=(7.0, 4.0))
    density = density_of(measure)
    norm = colours_for([density] if density is not None else [], limits)
    sides = None if camera is None else sides_from(*_pair("camera", camera))
    pair = draw_globes(figure, measure, equation, norm=norm, sides=sides)
    if density is not None and norm is not None:
        add_globe_bar(figure, density, norm=norm, pair=pair)
    return figure_of(figure)


def sides_towards(mean: FloatArray) -> tuple[Side, Side]:
    """Two opposite views, the first onto ``mean`` (3,) where that is clear of the centre."""
    if np.linalg.norm(mean) < CLEAR_MEAN:
        return SIDES
    polar = float(np.arctan2(np.hypot(mean[0], mean[1]), mean[2]))
    longitude = float(np.arctan2(mean[1], mean[0]))
    if min(polar, np.pi - polar) < NEAR_A_POLE:
        # There the longitude is that of rounding.
        longitude = 0.0
    return sides_from(longitude, np.pi / 2 - polar)


def sides_of(measure: AnyMeasure) -> tuple[Side, Side]:
    """Two opposite views of a measure, the first onto the middle of its mass if it has one."""
    whole = atoms_of(measure)
    mean = whole.masses @ whole.points if len(whole) else np.zeros(3)
    density = density_of(measure)
    mass = whole.total_mass
    if density is not None:
        points = density.geometry.points.reshape(-1, 3)
        mean = mean + density.masses.ravel() @ points
        mass += density.total_mass
    return sides_towards(np.asarray(mean / max(mass, 1e-300)))


def sides_from(longitude: float, latitude: float) -> tuple[Side, Side]:
    """Two opposite views, the first onto the point of this longitude and latitude."""
    polar = np.pi / 2 - latitude
    where = f"θ = {polar / np.pi:.2f} π, φ = {longitude / np.pi:.2f} π"
    if min(polar, np.pi - polar) < NEAR_A_POLE:
        where = f"the {'north' if polar < 1 else 'south'} pole"
    front = Orthographic(longitude, latitude)
    back = Orthographic(longitude + np.pi, -latitude)
    return (front, f"seen from {where}"), (back, "seen from the other side")


def _pair(name: str, values: object) -> tuple[float, float]:
    given = real_array(name, values)  # type: ignore[arg-type]
    if given.shape != (2,) or np.abs(given).max() > LARGEST_ANGLE:
        raise ValueError(
            f"{name} = {shown(values)} must be longitude and latitude, two angles of at most "
            f"{LARGEST_ANGLE:g} radians"
        )
    return float(given[0]), float(given[1])


def add_globe_bar(
    figure: Figure | SubFigure, density: Density, *, norm: Normalize, pair: list[Axes]
) -> None:
    """Add the colour bar below both views."""
    add_colour_bar(
        figure,
        norm,
        [density],
        ax=pair,
        orientation="horizontal",
        aspect=40,
        fraction=0.05,
        shrink=0.6,
        pad=0.03,
    )


def draw_globes(
    figure: Figure | SubFigure,
    measure: AnyMeasure,
    equation: MeanFieldEquation | None,
    *,
    norm: Normalize | None,
    track: Track | None = None,
    sides: tuple[Side, Side] | None = None,
    beside: Sequence[Artist] = (),
) -> list[Axes]:
    """Fill ``figure`` with both views and a legend, in the colours of ``norm``.

    With a ``track`` the paths that led to the atoms are drawn too.  Without ``sides`` the
    first looks at the middle of the mass.  The legend explains what is ``beside`` the globes too.
    """
    marked = marked_atoms(measure, equation)
    if sides is None:
        sides = sides_of(measure)
    neurons = sphere_neurons(equation)
    pair = list(figure.subplots(1, 2))
    for ax, (projection, name) in zip(pair, sides, strict=True):
        prepare_axes(ax, projection)
        draw_ground(ax, projection, measure, norm=norm)
        draw_neurons(ax, projection, neurons)
        draw_directions(ax, projection, neurons)
        if track is not None:
            draw_paths(ax, projection, track)
        draw_atoms(ax, projection, marked, area_per_mass=AREA_PER_MASS, labels=True)
        ax.set_title(name, pad=5, color=LANDSCAPE)
    handles = legend_handles([neurons], [marked])
    if track is not None and track.paths:
        handles += [path_handle("paths"), *mark_handles(track.junctions)]
    add_legend_below(figure, [*handles, *beside])
    return pair
