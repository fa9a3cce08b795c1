r"""Two pictures of the unit sphere in a plane.

Mollweide (equal area: the ellipse has the area 4 pi of the sphere), with longitude phi and
latitude alpha of a point and 2 t + sin 2t = pi sin alpha:

    X = (2 sqrt 2 / pi) phi cos t,   Y = sqrt 2 sin t.

Orthographic (a globe from far away), with c the point in front and (e, n) its east and north:

    X = x.e,   Y = x.n,   visible where x.c >= 0.

Source: J. P. Snyder, Map projections - a working manual (1987), sections 31 and 20.

Axes, border and graticule of a picture of the sphere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patches import Ellipse
from matplotlib.patheffects import AbstractPathEffect, Normal, Stroke, withStroke
from matplotlib.text import Annotation

from mfpde.arrays import FloatArray
from mfpde.geometry.sphere import points_at
from mfpde.plotting.style import LANDSCAPE, MUTED

_ROOT2 = float(np.sqrt(2.0))
_NEWTON_STEPS = 12


class Projection(ABC):
    """A map of the sphere (or of what one sees of it) onto the inside of an ellipse."""

    half_width: float
    half_height: float

    @abstractmethod
    def project(self, points: FloatArray) -> FloatArray:
        """Places (..., 2) of points (..., 3); NaN where they are hidden."""

    @abstractmethod
    def points_of(self, places: FloatArray) -> FloatArray:
        """Points (..., 3) at places (..., 2); those outside are moved to the outline."""

    @property
    def extent(self) -> tuple[float, float, float, float]:
        """Left, right, bottom and top of the picture."""
        return (-self.half_width, self.half_width, -self.half_height, self.half_height)

    def outline(self) -> Ellipse:
        """Border of the picture."""
        return Ellipse((0.0, 0.0), 2 * self.half_width, 2 * self.half_height)

    def pixels(self, columns: int) -> FloatArray:
        """Places (rows, columns, 2) of the centres of square pixels, from the bottom."""
        rows = round(columns * self.half_height / self.half_width)
        x = ((np.arange(columns) + 0.5) * 2 / columns - 1) * self.half_width
        y = ((np.arange(rows) + 0.5) * 2 / rows - 1) * self.half_height
        return np.stack(np.meshgrid(x, y), axis=-1)

    def line(self, points: FloatArray) -> FloatArray:
        """Places (n, 2) of a curve, NaN where it is hidden or leaves on the other side."""
        places = self.project(points)
        jumps = np.abs(np.diff(places[:, 0])) > self.half_width / 2
        return np.insert(places, np.nonzero(jumps)[0] + 1, np.nan, axis=0)


@dataclass(frozen=True)
class Mollweide(Projection):
    """The whole sphere on an ellipse, areas as they are; phi = 0 in the middle."""

    half_width = 2 * _ROOT2
    half_height = _ROOT2

    def project(self, points: FloatArray) -> FloatArray:
        """Places (..., 2) of points (..., 3)."""
        longitudes = np.arctan2(points[..., 1], points[..., 0])
        t = _auxiliary_angle(points[..., 2])
        x = 2 * _ROOT2 / np.pi * longitudes * np.cos(t)
        return np.stack([x, _ROOT2 * np.sin(t)], axis=-1)

    def points_of(self, places: FloatArray) -> FloatArray:
        """Points (..., 3) at places (..., 2); those outside are moved to the outline."""
        t = np.arcsin(np.clip(places[..., 1] / _ROOT2, -1.0, 1.0))
        widths = np.maximum(np.cos(t), 1e-12)
        longitudes = np.clip(
            np.pi * places[..., 0] / (2 * _ROOT2 * widths), -np.pi, np.pi
        )
        height = np.clip((2 * t + np.sin(2 * t)) / np.pi, -1.0, 1.0)
        across = np.sqrt(1 - height**2)
        return np.stack(
            [across * np.cos(longitudes), across * np.sin(longitudes), height], axis=-1
        )


@dataclass(frozen=True)
class Orthographic(Projection):
    """The half of the sphere that faces a viewer far out at (longitude, latitude)."""

    longitude: float
    latitude: float

    half_width = 1.0
    half_height = 1.0

    @cached_property
    def frame(self) -> FloatArray:
        """East, north and the point in front, as the rows of a rotation (3, 3)."""
        cos_phi, sin_phi = np.cos(self.longitude), np.sin(self.longitude)
        cos_a, sin_a = np.cos(self.latitude), np.sin(self.latitude)
        return np.array(
            [
                [-sin_phi, cos_phi, 0.0],
                [-sin_a * cos_phi, -sin_a * sin_phi, cos_a],
                [cos_a * cos_phi, cos_a * sin_phi, sin_a],
            ]
        )

    def project(self, points: FloatArray) -> FloatArray:
        """Places (..., 2) of points (..., 3); NaN on the far side."""
        turned = points @ self.frame.T
        is_visible = turned[..., 2:] >= 0
        return np.where(is_visible, turned[..., :2], np.nan)

    def points_of(self, places: FloatArray) -> FloatArray:
        """Points (..., 3) at places (..., 2); those outside are moved to the outline."""
        distance = np.linalg.norm(places, axis=-1, keepdims=True)
        inside = places / np.maximum(distance, 1.0)
        depth = np.sqrt(np.maximum(1 - (inside**2).sum(axis=-1, keepdims=True), 0.0))
        return np.asarray(np.concatenate([inside, depth], axis=-1) @ self.frame)


def _auxiliary_angle(heights: FloatArray) -> FloatArray:
    """Solve 2 t + sin 2t = pi z for z in [-1, 1], to rounding also at the poles.

    With u = pi - 2 |t| it reads u - sin u = pi (1 - |z|): Newton from (6 pi (1 - |z|))^(1/3),
    which lies below the solution, of a convex function.
    """
    rest = np.pi * np.maximum(1 - np.abs(heights), 0.0)
    u = np.cbrt(6 * rest)
    for _ in range(_NEWTON_STEPS):
        slope = np.maximum(1 - np.cos(u), 1e-300)
        u = np.clip(u - (u - np.sin(u) - rest) / slope, 0.0, np.pi)
    return np.asarray(np.sign(heights) * (np.pi - u) / 2)


PARALLELS = ((np.pi / 4, "π/4"), (np.pi / 2, "θ = π/2"), (3 * np.pi / 4, "3π/4"))
MERIDIANS = ((-np.pi / 2, "−π/2"), (0.0, "φ = 0"), (np.pi / 2, "π/2"))
LINE_POINTS = 361
MARGIN = 1.02

Offset = tuple[float, float]


def prepare_axes(ax: Axes, projection: Projection) -> None:
    """Make room for the picture: equal scales, no frame, the border of the sphere."""
    ax.set_axis_off()
    ax.set_aspect("equal")
    ax.set_xlim(-MARGIN * projection.half_width, MARGIN * projection.half_width)
    ax.set_ylim(-MARGIN * projection.half_height, MARGIN * projection.half_height)
    border = projection.outline()
    border.set(facecolor="none", edgecolor=LANDSCAPE, linewidth=0.8, zorder=4)
    border.set_clip_on(False)
    border.set_gid("outline")
    ax.add_patch(border)


def draw_graticule(ax: Axes, projection: Projection) -> None:
    """Draw parallels every pi/4 and meridians every pi/2."""
    along = np.linspace(-np.pi, np.pi, LINE_POINTS)
    lines = [points_at(np.array(theta), along) for theta, _ in PARALLELS]
    # The border of the whole map is the meridian pi itself.
    meridians = [phi for phi, _ in MERIDIANS]
    if not isinstance(projection, Mollweide):
        meridians.append(np.pi)
    lines += [points_at((along + np.pi) / 2, np.array(phi)) for phi in meridians]
    for points in lines:
        ax.plot(
            *projection.line(points).T,
            color="white",
            linewidth=0.5,
            alpha=0.75,
            zorder=1,
            gid="graticule",
            path_effects=[
                Stroke(linewidth=0.9, foreground=MUTED, alpha=0.35),
                Normal(),
            ],
        )


CROWDED = (0.9, 0.35)
"""How near to the label of an atom or a neuron no longitude is written, on a Mollweide map."""


def label_graticule(ax: Axes) -> None:
    """Write polar angles on the left of a Mollweide map, longitudes at its equator."""
    projection = Mollweide()
    for theta, label in PARALLELS:
        place = projection.project(points_at(np.array(theta), np.array(np.pi)))
        left = place * (-1.0, 1.0)
        _write(ax, left, label, ha="right", va="center", away=(-3, 0))
    written = np.array([text.xy for text in ax.texts if isinstance(text, Annotation)])
    for phi, label in MERIDIANS:
        place = projection.project(points_at(np.array(np.pi / 2), np.array(phi)))
        if (np.abs(written.reshape(-1, 2) - place) < CROWDED).all(axis=1).any():
            continue
        text = _write(ax, place, label, ha="left", va="top", away=(2, -1))
        text.set_path_effects(outlined("white"))
    top = np.array([0.0, projection.half_height])
    _write(ax, top, "θ = 0", ha="center", va="bottom", away=(0, 2))
    _write(ax, -top, "θ = π", ha="center", va="top", away=(0, -2))


def clip_to_outline(artist: Artist, ax: Axes, projection: Projection) -> None:
    """Cut off what leaves the picture of the sphere."""
    border = projection.outline()
    border.set_transform(ax.transData)
    artist.set_clip_path(border)


def outlined(colour: str) -> list[AbstractPathEffect]:
    """Outline that keeps writing and lines legible on any colour."""
    return [withStroke(linewidth=1.6, foreground=colour)]


def _write(
    ax: Axes, place: FloatArray, label: str, *, ha: str, va: str, away: Offset
) -> Annotation:
    return ax.annotate(
        label,
        tuple(place),
        xytext=away,
        textcoords="offset points",
        ha=ha,
        va=va,
        fontsize=7.5,
        color=LANDSCAPE,
        zorder=5,
        annotation_clip=False,
    )
