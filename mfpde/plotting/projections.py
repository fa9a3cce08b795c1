"""Axes of the unit sphere in longitude and latitude: a map, and a globe seen from far away.

The map is matplotlib's own "mollweide"; the globe is the orthographic projection.  With c the
point in front of the viewer, and (e, n) its east and north,

    X = x.e,   Y = x.n,   visible where x.c >= 0.

Source: J. P. Snyder, Map projections - a working manual (1987), section 20.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure, SubFigure
from matplotlib.image import AxesImage
from matplotlib.path import Path
from matplotlib.projections.geo import GeoAxes
from matplotlib.text import Annotation
from matplotlib.transforms import Affine2D, Transform

from mfpde.arrays import FloatArray
from mfpde.geometry import Sphere
from mfpde.geometry.sphere import points_at
from mfpde.measures.measure import Density
from mfpde.plotting.palette import DENSITY_MAP, LANDSCAPE
from mfpde.plotting.style import MAP_DEPTH, Limits, Look, density_scale, white_outline

MOLLWEIDE = "mollweide"
GRATICULE: Look = {"color": "0.75", "linewidth": 0.6, "alpha": 0.8}
MERIDIANS = np.array([-np.pi / 2, 0.0, np.pi / 2])
PARALLELS = np.array([np.pi / 2, np.pi / 4, 0.0, -np.pi / 4, -np.pi / 2])
LINE_STEPS = 360
"""Pieces of a line of the graticule, of which matplotlib gives the ends alone."""
ROUNDING = 1e-12
CROWDED = (1.0, 0.4)
"""How near to the label of an atom or a neuron no longitude is written."""
BELOW: Look = {"orientation": "horizontal", "fraction": 0.06, "pad": 0.03}
BELOW |= {"aspect": 45, "shrink": 0.6}
"""Place of a bar of colours below axes."""
DENSITY_LABEL = "density ρ (per unit area)"
BARE = "0.94"
LIGHT = np.array([-0.45, 0.5, 0.74]) / np.linalg.norm([-0.45, 0.5, 0.74])
AMBIENT = 0.82
PIXELS = (400, 1200)
"""Fewest and most across a picture."""


class Camera(NamedTuple):
    """The point of the sphere in front of the viewer of a globe.

    It is a projection of matplotlib: ``figure.add_subplot(projection=Camera(0.0, 0.3))``.
    """

    longitude: float
    latitude: float

    @property
    def opposite(self) -> Camera:
        """The camera on the other side."""
        return Camera(self.longitude + np.pi, -self.latitude)

    @property
    def frame(self) -> FloatArray:
        """East, north and the point in front, as the rows of a rotation (3, 3)."""
        longitude, latitude = self
        polar = np.pi / 2 - np.array([0.0, np.pi / 2 + latitude, latitude])
        return points_at(polar, longitude + np.array([np.pi / 2, 0.0, 0.0]))

    def _as_mpl_axes(self) -> tuple[type[Axes], Look]:
        return GlobeAxes, {"camera": self}


class Orthographic(Transform):
    """Longitude and latitude to the unit disc of a globe; NaN on the far side."""

    input_dims = output_dims = 2

    def __init__(self, camera: Camera) -> None:
        super().__init__()
        self.camera = camera

    def transform_non_affine(self, values: Any) -> FloatArray:
        """Coordinates (n, 2) on the disc of longitudes and latitudes (n, 2)."""
        turned = points_of(np.asarray(values)) @ self.camera.frame.T
        return np.where(turned[:, 2:] >= -ROUNDING, turned[:, :2], np.nan)

    def transform_path_non_affine(self, path: Path) -> Path:
        """Project a path; a straight line between two places becomes a curve."""
        whole = path.interpolated(LINE_STEPS) if len(path) == 2 else path
        return Path(self.transform_non_affine(whole.vertices), whole.codes)


class GlobeAxes(GeoAxes):
    """Axes in longitude and latitude that show the half of the sphere before a camera."""

    name = "mfpde globe"

    def __init__(self, *places: Any, camera: Camera, **options: Any) -> None:
        self.camera = camera
        self._longitude_cap = np.pi / 2
        super().__init__(*places, **options)
        self.set_aspect("equal", adjustable="box", anchor="C")

    def _get_core_transform(self, _: int) -> Transform:
        return Orthographic(self.camera)

    def _get_affine_transform(self) -> Affine2D:
        return Affine2D().scale(0.5).translate(0.5, 0.5)


def places_of(points: FloatArray) -> FloatArray:
    """Longitudes and latitudes (..., 2) of points (..., 3)."""
    x, y, z = np.moveaxis(points, -1, 0)
    return np.stack([np.arctan2(y, x), np.arctan2(z, np.hypot(x, y))], axis=-1)


def points_of(places: FloatArray) -> FloatArray:
    """Points (..., 3) at longitudes and latitudes (..., 2)."""
    return points_at(np.pi / 2 - places[..., 1], places[..., 0])


def line_through(points: FloatArray) -> FloatArray:
    """Places (n, 2) of a curve through points (n, 3), with a gap where it leaves the map."""
    places = places_of(points)
    leaves = np.abs(np.diff(places[:, 0])) > np.pi
    places[1:][leaves] = np.nan
    return places


def prepare_axes(ax: Axes) -> Axes:
    """Return axes with border and graticule: ``ax``, or those of a map inside of it."""
    if not isinstance(ax, GeoAxes):
        # The box is a little higher than the map, so that a title stands clear of it.
        ax.set_axis_off()
        ax.set_box_aspect(0.6)
        ax = ax.inset_axes((0.0, 0.0, 1.0, 1.0), projection=MOLLWEIDE)
    is_globe = isinstance(ax, GlobeAxes)
    ax.set_xticks([*MERIDIANS, np.pi] if is_globe else MERIDIANS, labels=[])
    ax.set_yticks(PARALLELS[1:-1], labels=[])
    cast("GeoAxes", ax).set_longitude_grid_ends(90)
    ax.tick_params(length=0)
    ax.grid(True, **GRATICULE)
    ax.spines["geo"].set(edgecolor=LANDSCAPE, linewidth=0.8, zorder=4)
    return ax


def label_graticule(ax: Axes) -> None:
    """Write polar angles on the left of a map, longitudes at its equator where there is room."""
    if isinstance(ax, GlobeAxes):
        return
    written = np.array([text.xy for text in ax.texts if isinstance(text, Annotation)])
    away = np.abs(written.reshape(-1, 1, 2) - np.stack([MERIDIANS, 0 * MERIDIANS], -1))
    is_free = ~(away < CROWDED).all(axis=-1).any(axis=0)
    names = np.where(is_free, ["−π/2", "φ = 0", "π/2"], "")
    ax.set_xticks(MERIDIANS, labels=names.tolist())
    ax.set_yticks(PARALLELS, labels=["θ = 0", "π/4", "θ = π/2", "3π/4", "θ = π"])
    ax.tick_params(labelsize=7.5, labelcolor=LANDSCAPE)
    for label in ax.get_xticklabels():
        label.set_path_effects(white_outline())


def pixels_of(ax: Axes, columns: int) -> FloatArray:
    """Points (rows, columns, 3) at the centres of the pixels of axes, from the lowest row.

    Pixels beside the disc of a globe have the points at its border.
    """
    rows = columns if isinstance(ax, GlobeAxes) else columns // 2
    x, y = ((np.arange(count) + 0.5) / count for count in (columns, rows))
    pixels = np.stack(np.meshgrid(x, y), axis=-1)
    if isinstance(ax, GlobeAxes):
        flat = 2 * pixels - 1
        flat = flat / np.maximum(np.linalg.norm(flat, axis=-1, keepdims=True), 1.0)
        depth = np.sqrt(np.maximum(1 - (flat**2).sum(axis=-1, keepdims=True), 0.0))
        return np.concatenate([flat, depth], axis=-1) @ ax.camera.frame
    geo = cast("Any", ax)
    inverse = (geo.transProjection + geo.transAffine).inverted()
    places = inverse.transform(pixels.reshape(-1, 2))
    return points_of(places).reshape(rows, columns, 3)


def draw_pixels(ax: Axes, values: FloatArray, **look: Any) -> AxesImage:
    """Draw values at all pixels of axes, as :func:`pixels_of` has them."""
    image = AxesImage(ax, origin="lower", extent=(0, 1, 0, 1), **look)
    image.set_transform(ax.transAxes)
    image.set_data(values)
    image.set_clip_path(ax.patch)
    ax.add_image(image)
    return image


def values_at(
    density: Density, points: FloatArray, *, floor: float | None = None
) -> FloatArray:
    """Density at ``points`` (..., 3), linear in colatitude and longitude between centres.

    With a ``floor`` the logarithm of what is above it is linear: a peak of one cell then
    looks round, not square, in logarithmic colours.
    """
    sphere, values = cast("Sphere", density.geometry), density.values
    if floor is None:
        return sphere.interpolate_at(values, points)
    return np.exp(sphere.interpolate_at(np.log(np.maximum(values, floor)), points))


def colours_for(
    densities: Sequence[Density],
    limits: Limits | None = None,
    log: bool | None = None,
) -> Normalize | None:
    """Return one scale of colours for all (:func:`density_scale`); None where all are zero.

    A logarithmic one spans four decades, or goes down to 1e-2 of the mean if that is lower; a
    linear one begins near the smallest density where that is above a tenth of the largest.
    """
    if not any(density.values.any() for density in densities):
        return None
    values = [density.values for density in densities]
    means = [d.total_mass / float(d.geometry.areas.sum()) for d in densities]
    norm = density_scale(values, means, depth=MAP_DEPTH, limits=limits, log=log)
    smallest, largest = min(map(np.min, values)), max(map(np.max, values))
    if not isinstance(norm, LogNorm) and limits is None and smallest >= 0.1 * largest:
        return Normalize(0.9 * smallest, 1.1 * largest)
    return norm


def draw_field(ax: Axes, density: Density | None, norm: Normalize | None) -> None:
    """Draw the density; on a globe under a gentle light from above left.

    Without a density the globe is grey, and the map white as paper.
    """
    is_globe = isinstance(ax, GlobeAxes)
    finest = 0 if density is None else 4 * cast("Sphere", density.geometry).nlon
    points = pixels_of(ax, int(np.clip(finest // (1 + is_globe), *PIXELS)) // 2 * 2)
    if density is not None and norm is not None:
        floor = norm.vmin if isinstance(norm, LogNorm) else None
        values = np.maximum(values_at(density, points, floor=floor), norm.vmin or 0.0)
        look: Look = {"norm": norm, "cmap": DENSITY_MAP, "zorder": 0}
        draw_pixels(ax, values, gid="density", **look)
    elif is_globe:
        ax.set_facecolor(BARE)
    if isinstance(ax, GlobeAxes):
        # Lambert's law, with much light from everywhere.
        direct = points @ ax.camera.frame.T @ LIGHT
        shade = np.zeros((*direct.shape, 4))
        shade[..., 3] = (1 - AMBIENT) * (1 - np.maximum(direct, 0.0))
        draw_pixels(ax, shade, zorder=0.25)


def add_colour_bar(
    figure: Figure | SubFigure,
    norm: Normalize | None,
    label: str = DENSITY_LABEL,
    **place: Any,
) -> None:
    """Add the bar of a scale, where there is one; below a logarithmic one is an arrow.

    ``place`` is ``cax`` or ``ax`` of matplotlib's ``Figure.colorbar``, with its options.
    """
    if norm is not None:
        extend = "min" if isinstance(norm, LogNorm) else "neither"
        colours = ScalarMappable(norm, DENSITY_MAP)
        figure.colorbar(colours, label=label, extend=extend, **place)
