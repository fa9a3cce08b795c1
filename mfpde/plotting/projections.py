"""Two pictures of the unit sphere: matplotlib's Mollweide map, and a globe from far away.

Coordinates of a map are longitude and latitude.  Those of a globe are, with c the point in front
and (e, n) its east and north,

    X = x.e,   Y = x.n,   visible where x.c >= 0.

Source: J. P. Snyder, Map projections - a working manual (1987), sections 31 and 20.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Circle
from matplotlib.patheffects import AbstractPathEffect, withStroke
from matplotlib.text import Annotation
from matplotlib.transforms import Transform

from mfpde.arrays import FloatArray
from mfpde.geometry.sphere import points_at
from mfpde.plotting.palette import LANDSCAPE

PARALLELS = (np.pi / 4, np.pi / 2, 3 * np.pi / 4)
MERIDIANS = (-np.pi / 2, 0.0, np.pi / 2, np.pi)
GRATICULE: dict[str, Any] = {"color": "0.75", "linewidth": 0.6, "alpha": 0.8}
BORDER: dict[str, Any] = {"edgecolor": LANDSCAPE, "linewidth": 0.8}
LINE_POINTS = 361
CROWDED = (1.0, 0.4)
"""How near to the label of an atom or a neuron no longitude is written."""


class Projection(ABC):
    """A picture of the sphere (or of what one sees of it) on axes of matplotlib.

    Attributes
    ----------
    axes
        Name of the projection of its axes, as ``Figure.add_subplot`` takes it.
    half_width
        Half the range of the first coordinate.
    """

    axes: ClassVar[str]
    half_width: ClassVar[float]

    @abstractmethod
    def prepare(self, ax: Axes) -> None:
        """Give the axes border and graticule."""

    @abstractmethod
    def project(self, points: FloatArray) -> FloatArray:
        """Coordinates (..., 2) of points (..., 3); NaN where they are hidden."""

    @abstractmethod
    def points_of(self, places: FloatArray) -> FloatArray:
        """Points (..., 3) at coordinates (..., 2); those outside are moved to the border."""

    @abstractmethod
    def pixels(self, columns: int) -> FloatArray:
        """Coordinates (rows, columns, 2) of the centres of equal cells, from the bottom."""

    def flatten(self, ax: Axes, places: FloatArray) -> tuple[FloatArray, Transform]:
        """Coordinates in the plane (..., 2) and their transform: for areas of many edges.

        Of a map matplotlib cuts each edge between longitudes and latitudes into 75 pieces.
        """
        return places, ax.transData

    def line(self, points: FloatArray) -> FloatArray:
        """Coordinates (n, 2) of a curve, NaN where it is hidden or leaves on the other side."""
        places = self.project(points)
        jumps = np.abs(np.diff(places[:, 0])) > self.half_width
        return np.insert(places, np.nonzero(jumps)[0] + 1, np.nan, axis=0)


@dataclass(frozen=True)
class Mollweide(Projection):
    """The whole sphere on an ellipse, areas as they are; phi = 0 in the middle."""

    axes = "mollweide"
    half_width = np.pi

    def prepare(self, ax: Axes) -> None:
        """Give the axes border and graticule."""
        ax.set_xticks(MERIDIANS[:-1], labels=[])
        ax.set_yticks([np.pi / 2 - theta for theta in PARALLELS], labels=[])
        ax.set_longitude_grid_ends(90)  # type: ignore[attr-defined]
        ax.grid(True, **GRATICULE)
        ax.spines["geo"].set(**BORDER, zorder=4)

    def project(self, points: FloatArray) -> FloatArray:
        """Longitudes and latitudes (..., 2) of points (..., 3)."""
        x, y, z = np.moveaxis(points, -1, 0)
        return np.stack([np.arctan2(y, x), np.arctan2(z, np.hypot(x, y))], axis=-1)

    def points_of(self, places: FloatArray) -> FloatArray:
        """Points (..., 3) at longitudes and latitudes (..., 2)."""
        return points_at(np.pi / 2 - places[..., 1], places[..., 0])

    def pixels(self, columns: int) -> FloatArray:
        """Longitudes and latitudes (columns / 2, columns, 2) of the centres of equal cells."""
        return _centres(columns, columns // 2) * (np.pi, np.pi / 2)

    def flatten(self, ax: Axes, places: FloatArray) -> tuple[FloatArray, Transform]:
        """Places (..., 2) on the ellipse, and what brings them onto the axes."""
        geo: Any = ax
        flat = geo.transProjection.transform(places.reshape(-1, 2))
        return flat.reshape(places.shape), geo.transAffine + geo.transAxes


@dataclass(frozen=True)
class Orthographic(Projection):
    """The half of the sphere that faces a viewer far out at (longitude, latitude)."""

    longitude: float
    latitude: float

    axes = "rectilinear"
    half_width = 1.0

    def prepare(self, ax: Axes) -> None:
        """Give the axes border and graticule, and equal scales."""
        ax.set_axis_off()
        ax.set(aspect="equal", xlim=(-1.02, 1.02), ylim=(-1.02, 1.02))
        ax.add_patch(Circle((0, 0), 1.0, facecolor="none", zorder=4, **BORDER))
        along = np.linspace(-np.pi, np.pi, LINE_POINTS)
        lines = [points_at(np.array(theta), along) for theta in PARALLELS]
        lines += [points_at((along + np.pi) / 2, np.array(phi)) for phi in MERIDIANS]
        for points in lines:
            ax.plot(*self.line(points).T, zorder=1, gid="graticule", **GRATICULE)

    @cached_property
    def frame(self) -> FloatArray:
        """East, north and the point in front, as the rows of a rotation (3, 3)."""
        polar = np.pi / 2 - np.array([0.0, np.pi / 2 + self.latitude, self.latitude])
        return points_at(polar, self.longitude + np.array([np.pi / 2, 0.0, 0.0]))

    def project(self, points: FloatArray) -> FloatArray:
        """Places (..., 2) of points (..., 3); NaN on the far side."""
        turned = points @ self.frame.T
        return np.where(turned[..., 2:] >= 0, turned[..., :2], np.nan)

    def points_of(self, places: FloatArray) -> FloatArray:
        """Points (..., 3) at places (..., 2); those outside are moved to the border."""
        distance = np.linalg.norm(places, axis=-1, keepdims=True)
        inside = places / np.maximum(distance, 1.0)
        depth = np.sqrt(np.maximum(1 - (inside**2).sum(axis=-1, keepdims=True), 0.0))
        return np.asarray(np.concatenate([inside, depth], axis=-1) @ self.frame)

    def pixels(self, columns: int) -> FloatArray:
        """Places (columns, columns, 2) of the centres of square pixels."""
        return _centres(columns, columns)


def _centres(columns: int, rows: int) -> FloatArray:
    """Centres (rows, columns, 2) of equal cells of the square from (-1, -1) to (1, 1)."""
    x, y = ((np.arange(n) + 0.5) * 2 / n - 1 for n in (columns, rows))
    return np.stack(np.meshgrid(x, y), axis=-1)


def prepare_axes(ax: Axes, projection: Projection) -> Axes:
    """Return axes with border and graticule: ``ax``, or those of the map inside of it."""
    if ax.name != projection.axes:
        # The box is a little higher than the map, so that a title stands clear of it.
        ax.set_axis_off()
        ax.set_box_aspect(0.6)
        ax = ax.inset_axes((0.0, 0.0, 1.0, 1.0), projection=projection.axes)
    projection.prepare(ax)
    return ax


def label_graticule(ax: Axes) -> None:
    """Write polar angles on the left of a Mollweide map, longitudes at its equator."""
    written = np.array([text.xy for text in ax.texts if isinstance(text, Annotation)])
    names = ["−π/2", "φ = 0", "π/2"]
    for index, phi in enumerate(MERIDIANS[:-1]):
        away = np.abs(written.reshape(-1, 2) - (phi, 0.0))
        if (away < CROWDED).all(axis=1).any():
            names[index] = ""
    heights = np.linspace(np.pi / 2, -np.pi / 2, 5)
    ax.set_xticks(MERIDIANS[:-1], labels=names)
    ax.set_yticks(heights, labels=["θ = 0", "π/4", "θ = π/2", "3π/4", "θ = π"])
    ax.tick_params(labelsize=7.5, labelcolor=LANDSCAPE)
    for label in ax.get_xticklabels():
        label.set_path_effects(outlined("white"))


def clip_to_outline(artist: Artist, ax: Axes, projection: Projection) -> None:
    """Cut off what leaves a globe; of a map the axes cut it off themselves."""
    if isinstance(projection, Orthographic):
        artist.set_clip_path(Circle((0, 0), 1.0, transform=ax.transData))


def outlined(colour: str) -> list[AbstractPathEffect]:
    """Outline that keeps writing and lines legible on any colour."""
    return [withStroke(linewidth=1.6, foreground=colour)]
