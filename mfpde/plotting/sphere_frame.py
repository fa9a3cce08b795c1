"""Axes, border and graticule of a picture of the sphere."""

from __future__ import annotations

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.patheffects import AbstractPathEffect, Normal, Stroke, withStroke
from matplotlib.text import Annotation

from mfpde.arrays import FloatArray
from mfpde.geometry.sphere import points_at
from mfpde.plotting.projections import Mollweide, Projection
from mfpde.plotting.style import LANDSCAPE, MUTED

PARALLELS = ((np.pi / 4, "π/4"), (np.pi / 2, "θ = π/2"), (3 * np.pi / 4, "3π/4"))
MERIDIANS = (
    (-np.pi / 2, "−π/2"),
    (0.0, "φ = 0"),
    (np.pi / 2, "π/2"),
)
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


def label_graticule(ax: Axes) -> None:
    """Write polar angles on the left of a Mollweide map, longitudes at its equator."""
    projection = Mollweide()
    for theta, label in PARALLELS:
        place = projection.project(points_at(np.array(theta), np.array(np.pi)))
        left = place * (-1.0, 1.0)
        _write(ax, left, label, side=("right", "center"), away=(-3, 0))
    for phi, label in MERIDIANS:
        place = projection.project(points_at(np.array(np.pi / 2), np.array(phi)))
        text = _write(ax, place, label, side=("left", "top"), away=(2, -1))
        text.set_path_effects(outlined("white"))
    top = np.array([0.0, projection.half_height])
    _write(ax, top, "θ = 0", side=("center", "bottom"), away=(0, 2))
    _write(ax, -top, "θ = π", side=("center", "top"), away=(0, -2))


def clip_to_outline(artist: Artist, ax: Axes, projection: Projection) -> None:
    """Cut off what leaves the picture of the sphere."""
    border = projection.outline()
    border.set_transform(ax.transData)
    artist.set_clip_path(border)


def outlined(colour: str) -> list[AbstractPathEffect]:
    """Outline that keeps writing and lines legible on any colour."""
    return [withStroke(linewidth=1.6, foreground=colour)]


def _write(
    ax: Axes, place: FloatArray, label: str, *, side: tuple[str, str], away: Offset
) -> Annotation:
    return ax.annotate(
        label,
        tuple(place),
        xytext=away,
        textcoords="offset points",
        ha=side[0],
        va=side[1],
        fontsize=7.5,
        color=LANDSCAPE,
        zorder=5,
        annotation_clip=False,
    )
