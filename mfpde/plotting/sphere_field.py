"""A density on the sphere as the pixels of a picture, and its colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure, SubFigure
from scipy.interpolate import RegularGridInterpolator

from mfpde.arrays import FloatArray
from mfpde.geometry import Sphere
from mfpde.measures.measure import AnyMeasure, Atoms, Density, as_measure
from mfpde.plotting.palette import DENSITY_MAP
from mfpde.plotting.projections import GlobeAxes, draw_pixels, pixels_of, places_of
from mfpde.plotting.style import MAP_DEPTH, Limits, Look, density_scale

DENSITY_LABEL = "density ρ (per unit area)"
BARE = "0.94"
LIGHT = np.array([-0.45, 0.5, 0.74]) / np.linalg.norm([-0.45, 0.5, 0.74])
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
    # Coordinates of the table.  A tiny negative angle modulo 2 pi is 2 pi itself, which it holds.
    longitudes, latitudes = np.moveaxis(places_of(points), -1, 0)
    at = np.stack([np.pi / 2 - latitudes, longitudes % (2 * np.pi)], axis=-1)
    found = np.asarray(interpolator(at))
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
    ``log`` says itself whether it is.  None without densities, or where all are zero.

    Raises
    ------
    ValueError
        If the limits are negative or do not increase.
    """
    if not any(density.values.any() for density in densities):
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


def draw_field(ax: Axes, density: Density | None, colours: Colours | None) -> None:
    """Draw the density; on a globe under a gentle light from above left.

    Without a density the globe is grey, and the map white as paper.
    """
    is_globe = isinstance(ax, GlobeAxes)
    finest = 0 if density is None else 4 * cast("Sphere", density.geometry).nlon
    points = pixels_of(ax, int(np.clip(finest // (1 + is_globe), *PIXELS)) // 2 * 2)
    if density is not None and colours is not None:
        norm = colours.norm
        floor = norm.vmin if isinstance(norm, LogNorm) else None
        values = np.maximum(values_at(density, points, floor=floor), norm.vmin or 0.0)
        look: Look = {"norm": norm, "cmap": DENSITY_MAP, "zorder": 0}
        draw_pixels(ax, values, gid="density", **look)
    elif is_globe:
        ax.set_facecolor(BARE)
    if is_globe:
        # Lambert's law, with much light from everywhere.
        direct = points @ cast("Any", ax).transProjection.frame.T @ LIGHT
        shade = np.zeros((*direct.shape, 4))
        shade[..., 3] = (1 - AMBIENT) * (1 - np.maximum(direct, 0.0))
        draw_pixels(ax, shade, zorder=0.25)


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
