"""A density on the sphere as the pixels of a picture, and its colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure, SubFigure
from scipy.interpolate import RegularGridInterpolator

from mfpde.arrays import FloatArray
from mfpde.geometry import Sphere
from mfpde.measures.measure import AnyMeasure, Atoms, Density, as_measure
from mfpde.plotting.palette import DENSITY_MAP
from mfpde.plotting.projections import Orthographic, Projection, clip_to_outline
from mfpde.plotting.style import MAP_DEPTH, Limits, density_scale

DENSITY_LABEL = "density ρ (per unit area)"
BARE = 0.94
LIGHT = np.array([-0.45, 0.5, 0.74])
AMBIENT = 0.82
NEARLY_CONSTANT = 1e-6
PIXELS = (400, 1200)
"""Fewest and most across a picture."""


class Colours(NamedTuple):
    """A scale of colours for densities, and whether some values lie below it."""

    norm: Normalize
    is_cut: bool


def density_of(measure: AnyMeasure) -> Density | None:
    """Density part of a measure on the sphere; None for bare atoms."""
    return None if isinstance(measure, Atoms) else as_measure(measure).density


def values_at(
    density: Density, points: FloatArray, *, floor: float | None = None
) -> FloatArray:
    """Density at ``points`` (..., 3), linear in colatitude and longitude between centres.

    Beyond the first and the last ring it runs over the pole into the opposite meridian.
    With a ``floor`` the logarithm of what is above it is linear: a peak of one cell then
    looks round, not square, in logarithmic colours.
    """
    sphere = cast("Sphere", density.geometry)
    values = density.values
    if floor is not None:
        values = np.log(np.maximum(values, floor))
    half, theta = sphere.nlon // 2, sphere.colatitudes
    north, south = (np.roll(values[[row]], half, axis=1) for row in (0, -1))
    table = np.pad(np.concatenate([north, values, south]), ((0, 0), (0, 1)), "wrap")
    rings = np.concatenate([[-theta[0]], theta, [2 * np.pi - theta[-1]]])
    interpolator = RegularGridInterpolator(
        (rings, np.append(sphere.longitudes, 2 * np.pi)), table
    )
    x, y, z = np.moveaxis(points, -1, 0)
    # A tiny negative angle modulo 2 pi is 2 pi itself, which the table holds.
    places = [np.arctan2(np.hypot(x, y), z), np.mod(np.arctan2(y, x), 2 * np.pi)]
    found = np.asarray(interpolator(np.stack(places, axis=-1)))
    return found if floor is None else np.exp(found)


def colours_for(
    densities: Sequence[Density],
    limits: Limits | None = None,
    log: bool | None = None,
) -> Colours | None:
    """Return one scale of colours for all: logarithmic if one exceeds 50 times its mean.

    A linear one spans the values (from 0 if they come near it), a logarithmic one four
    decades below the largest, or down to 1e-2 of the mean if that is lower.
    With ``limits`` its ends are these, and it is logarithmic if they are 50 times apart;
    ``log`` says itself whether it is.  None without densities.

    Raises
    ------
    ValueError
        If the limits are negative or do not increase.
    """
    if not densities:
        return None
    values = [density.values for density in densities]
    means = [d.total_mass / float(d.geometry.areas.sum()) for d in densities]
    low, high, is_logarithmic = density_scale(
        values, means, depth=MAP_DEPTH, limits=limits, log=log
    )
    smallest = min(float(v.min()) for v in values)
    if is_logarithmic:
        return Colours(LogNorm(low, high), smallest < low)
    if limits is None and smallest >= 0.1 * high:
        is_even = high - smallest <= NEARLY_CONSTANT * high
        low, high = (0.9 * smallest, 1.1 * high) if is_even else (smallest, high)
    return Colours(Normalize(low, high or 1.0), smallest < low)


def draw_field(
    ax: Axes, projection: Projection, density: Density | None, colours: Colours | None
) -> None:
    """Draw the density: as a map, or on a globe with a gentle light from above left.

    Without a density the globe is grey, and the map white as paper.
    """
    is_globe, finest = isinstance(projection, Orthographic), 0
    if density is not None:
        finest = 4 * cast("Sphere", density.geometry).nlon
    columns = int(np.clip(finest // (1 + is_globe), *PIXELS)) // 2 * 2
    places = projection.pixels(columns)
    points = projection.points_of(places)
    if density is None or colours is None:
        if isinstance(projection, Orthographic):
            _draw_globe(ax, projection, points, np.full((1, 1, 3), BARE))
        return
    norm = colours.norm
    floor = norm.vmin if isinstance(norm, LogNorm) else None
    values = np.maximum(values_at(density, points, floor=floor), norm.vmin or 0.0)
    if isinstance(projection, Orthographic):
        shades = colormaps[DENSITY_MAP](norm(values))[..., :3]
        _draw_globe(ax, projection, points, shades)
    else:
        draw_map(ax, places, values, norm, DENSITY_MAP).set_gid("density")


def draw_map(
    ax: Axes, places: FloatArray, values: FloatArray, norm: Normalize, colours: str
) -> Any:
    """Draw values (rows, columns) at places (rows, columns, 2) of a map as pixels."""
    x, y = np.moveaxis(places, -1, 0)
    look: dict[str, Any] = {
        "norm": norm,
        "cmap": colours,
        "rasterized": True,
        "zorder": 0,
    }
    return ax.pcolormesh(x, y, values, **look)


def _draw_globe(
    ax: Axes, projection: Orthographic, points: FloatArray, shades: FloatArray
) -> None:
    """Draw colours, brighter or darker by Lambert's law, with much light from everywhere."""
    direct = points @ projection.frame.T @ (LIGHT / np.linalg.norm(LIGHT))
    light = AMBIENT + (1 - AMBIENT) * np.maximum(direct, 0.0)
    place: dict[str, Any] = {"origin": "lower", "extent": (-1, 1, -1, 1), "zorder": 0}
    image = ax.imshow(shades * light[..., np.newaxis], gid="density", **place)
    clip_to_outline(image, ax, projection)


def add_colour_bar(figure: Figure | SubFigure, colours: Colours, **place: Any) -> None:
    """Add the bar of a scale, with an arrow if some values lie below it.

    ``place`` is ``cax`` or ``ax`` of matplotlib's ``Figure.colorbar``, with its options.
    """
    figure.colorbar(
        ScalarMappable(colours.norm, DENSITY_MAP),
        label=DENSITY_LABEL,
        extend="min" if colours.is_cut else "neither",
        **place,
    )
