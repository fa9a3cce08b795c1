"""A density on the sphere as the pixels of a picture, and its colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure, SubFigure
from matplotlib.image import AxesImage
from scipy.interpolate import RegularGridInterpolator

from mfpde.arrays import FloatArray
from mfpde.geometry import Sphere
from mfpde.measures.measure import AnyMeasure, Atoms, Density, as_measure
from mfpde.plotting.projections import Orthographic, Projection, clip_to_outline
from mfpde.plotting.style import (
    DENSITY_MAP,
    LOGARITHMIC_ABOVE,
    MAP_DEPTH,
    MEAN_DEPTH,
    Limits,
    checked_limits,
)

DENSITY_LABEL = "density ρ (per unit area)"
BARE = (0.94, 0.94, 0.94)
LIGHT = np.array([-0.45, 0.5, 0.74])
AMBIENT = 0.82
NEARLY_CONSTANT = 1e-6


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
    if floor is not None:
        logarithms = np.log(np.maximum(density.values, floor))
        return np.exp(_interpolated(density, logarithms, points))
    return _interpolated(density, density.values, points)


def _interpolated(
    density: Density, values: FloatArray, points: FloatArray
) -> FloatArray:
    sphere = cast("Sphere", density.geometry)
    theta = sphere.colatitudes
    over_north = np.roll(values[:1], sphere.nlon // 2, axis=1)
    over_south = np.roll(values[-1:], sphere.nlon // 2, axis=1)
    rows = np.concatenate([over_north, values, over_south])
    interpolator = RegularGridInterpolator(
        (
            np.concatenate([[-theta[0]], theta, [2 * np.pi - theta[-1]]]),
            np.append(sphere.longitudes, 2 * np.pi),
        ),
        np.concatenate([rows, rows[:, :1]], axis=1),
    )
    colatitudes = np.arctan2(np.hypot(points[..., 0], points[..., 1]), points[..., 2])
    # A tiny negative angle modulo 2 pi is 2 pi itself, which the table holds.
    longitudes = np.mod(np.arctan2(points[..., 1], points[..., 0]), 2 * np.pi)
    return np.asarray(interpolator(np.stack([colatitudes, longitudes], axis=-1)))


def colours_for(
    densities: Sequence[Density], limits: Limits | None = None
) -> Normalize | None:
    """Return one scale of colours for all: logarithmic if one exceeds 50 times its mean.

    A linear one spans the values (from 0 if they come near it), a logarithmic one four
    decades below the largest, or down to 1e-2 of the mean if that is lower.
    With ``limits`` its ends are these, and it is logarithmic if they are 50 times apart.
    None without densities.

    Raises
    ------
    ValueError
        If the limits are negative or do not increase.
    """
    if not densities:
        return None
    if limits is not None:
        low, high = checked_limits(limits)
        is_wide = low > 0 and high / low > LOGARITHMIC_ABOVE
        return LogNorm(low, high) if is_wide else Normalize(low, high)
    values = [density.values for density in densities]
    means = [d.total_mass / float(d.geometry.areas.sum()) for d in densities]
    peaks = [v.max() / mean for v, mean in zip(values, means, strict=True) if mean > 0]
    if max(peaks, default=0.0) > LOGARITHMIC_ABOVE:
        top = max(float(v.max()) for v in values)
        return LogNorm(min(MAP_DEPTH * top, MEAN_DEPTH * max(means)), top)
    low, high = min(float(v.min()) for v in values), max(float(v.max()) for v in values)
    if low < 0.1 * high:
        low = 0.0
    elif high - low <= NEARLY_CONSTANT * high:
        low, high = 0.9 * low, 1.1 * high
    return Normalize(low, high or 1.0)


def draw_field(
    ax: Axes, projection: Projection, density: Density, *, norm: Normalize
) -> AxesImage:
    """Draw the density as pixels, on a globe with a gentle light from above left."""
    sphere = cast("Sphere", density.geometry)
    places = projection.pixels(_columns(sphere, projection))
    floor = norm.vmin if isinstance(norm, LogNorm) else None
    values = values_at(density, projection.points_of(places), floor=floor)
    if not isinstance(projection, Orthographic):
        return _draw_image(ax, projection, values, norm=norm, cmap=DENSITY_MAP)
    clipped = np.maximum(values, norm.vmin or 0.0)
    colours = colormaps[DENSITY_MAP](norm(clipped))[..., :3]
    return _draw_image(ax, projection, colours * _light(projection, places))


def draw_bare_globe(ax: Axes, projection: Projection) -> None:
    """Draw a grey globe (of a map nothing: paper is white)."""
    if isinstance(projection, Orthographic):
        light = _light(projection, projection.pixels(400))
        _draw_image(ax, projection, np.array(BARE) * light)


def add_colour_bar(
    figure: Figure | SubFigure,
    norm: Normalize,
    densities: Sequence[Density],
    **place: Any,
) -> None:
    """Add the bar of the common scale; an arrow if some values lie below it.

    Parameters
    ----------
    figure
        Where the bar goes.
    norm
        The scale.
    densities
        What is drawn in it.
    place
        ``cax`` or ``ax`` of matplotlib's ``Figure.colorbar``, and its other options.
    """
    smallest = min(float(d.values.min()) for d in densities)
    is_cut = smallest < (norm.vmin or 0.0)
    figure.colorbar(
        ScalarMappable(norm, DENSITY_MAP),
        label=DENSITY_LABEL,
        extend="min" if is_cut else "neither",
        **place,
    )


def _columns(sphere: Sphere, projection: Projection) -> int:
    """Pixels across: a few for each cell in the middle of the picture."""
    share = 0.5 if isinstance(projection, Orthographic) else 1.0
    return int(share * np.clip(4 * sphere.nlon, 800, 2400))


def _light(projection: Orthographic, places: FloatArray) -> FloatArray:
    """Brightness (rows, columns, 1) by Lambert's law, with much light from everywhere."""
    normals = projection.points_of(places) @ projection.frame.T
    direct = np.maximum(normals @ (LIGHT / np.linalg.norm(LIGHT)), 0.0)
    return np.asarray(AMBIENT + (1 - AMBIENT) * direct)[..., np.newaxis]


def _draw_image(
    ax: Axes, projection: Projection, pixels: FloatArray, **colours: Any
) -> AxesImage:
    image = ax.imshow(
        pixels,
        origin="lower",
        extent=projection.extent,
        gid="density",
        zorder=0,
        **colours,
    )
    clip_to_outline(image, ax, projection)
    return image
