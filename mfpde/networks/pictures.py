"""Networks in pictures: what a forward pass did to its tokens, and a ladder to the mean field."""

from __future__ import annotations

from itertools import cycle

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure, SubFigure

from mfpde.arrays import FloatArray, check_kind
from mfpde.networks.clusters import clusters
from mfpde.networks.ladder import Ladder
from mfpde.networks.trace import Trace
from mfpde.plotting import palette, style
from mfpde.runs.run import spread_indices

MOST_MATRICES = 4
ANGLES = np.linspace(0.0, np.pi, 181)
SMALL_STEP = 0.1
"""Above it a step is no short piece of a flow."""
SUBLAYERS = {"attention": palette.OKABE_ITO["blue"], "perceptron": palette.ATOM}
BAR, MOST_TICKS = 0.38, 12
MEASURES = {
    "angle": "mean angle to the exact tokens / rad",
    "effective_number": "effective number",
    "rand": "Rand index with the exact clusters",
}


@style.styled
def plot_trace(trace: Trace, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Draw what a network did to its tokens, layer by layer, 10 inches wide.

    Above, cosines of all pairs of tokens at up to four depths, tokens in the order of the clusters
    of the last layer (k-means, :mod:`mfpde.networks.counts`).  Below, the mass of the heaviest
    component at each angle and depth; the medians of |f| / |u| of each sublayer, with a line at
    0.1, above which no flow is near; and the tokens of all layers in the plane of the two largest
    principal directions of them all.

    Parameters
    ----------
    trace
        What :meth:`mfpde.Network.run` returns.
    figure
        Figure or subfigure to fill; by default a new one.
    """
    check_kind("trace", trace, Trace, source="what Network.run returns")
    figure = style.figure_or_new(figure, size=(10.0, 6.2))
    above, below = np.asarray(figure.subfigures(2, 1))
    found = [clusters(points) for points in trace.points]
    order = np.argsort(found[-1].silhouettes.labels, kind="stable")
    chosen = spread_indices(len(trace.points), MOST_MATRICES).tolist()
    panels = above.subplots(1, len(chosen), squeeze=False)[0]
    for ax, k in zip(panels, chosen, strict=True):
        cosines = trace.points[k][order] @ trace.points[k][order].T
        look: style.Look = {"cmap": "RdBu_r", "vmin": -1, "vmax": 1, "gid": "cosines"}
        image = ax.imshow(cosines, **look)
        ax.set(xticks=[], yticks=[])
        ax.set_title(f"layer {k}: effective number {found[k].effective_number:.3g}")
    above.colorbar(image, ax=panels, label="cosine of two tokens", shrink=0.8)
    masses, steps, plane = below.subplots(1, 3)
    _draw_masses(masses, np.stack([each.largest_masses(ANGLES) for each in found]))
    _draw_steps(steps, np.median(trace.steps.total, axis=2))
    _draw_plane(plane, trace.points)
    return style.figure_of(figure)


def _draw_masses(ax: Axes, largest: FloatArray) -> None:
    """Draw the heaviest component's mass (layers + 1, angles) as colours."""
    depths = np.arange(len(largest) + 1) - 0.5
    look: style.Look = {"cmap": palette.DENSITY_MAP, "norm": Normalize(0, 1)}
    image = ax.pcolormesh(ANGLES, depths, largest[:, 1:], rasterized=True, **look)
    ax.set(xlabel="angle at which tokens are linked", ylabel="layer")
    ax.set_xticks([0, np.pi / 4, np.pi / 2], ["0", "π/4", "π/2"])
    ax.set_xlim(0, np.pi / 2)
    ax.figure.colorbar(image, ax=ax, label="mass of the heaviest component")


def _draw_steps(ax: Axes, sizes: FloatArray) -> None:
    """Draw the size of steps (layers, 2) of both sublayers as bars."""
    layers = np.arange(1, len(sizes) + 1)
    for side, (name, colour) in enumerate(SUBLAYERS.items()):
        places = layers + (side - 0.5) * BAR
        ax.bar(places, sizes[:, side], BAR, color=colour, label=name, gid="steps")
    ax.axhline(SMALL_STEP, color=palette.MUTED, ls="--", lw=0.9, gid="small step")
    ax.set(xlabel="layer", ylabel="median of |f| / |u|", yscale="log")
    ax.set_ylim(min(SMALL_STEP, float(sizes.min())) / 2, 1.3 * float(sizes.max()))
    ax.set_xticks(layers[spread_indices(len(layers), MOST_TICKS)])
    style.add_legend_above(ax, ax.get_legend_handles_labels()[0])


def _draw_plane(ax: Axes, points: FloatArray) -> None:
    """Draw the points (layers + 1, N, d) in the plane in which they are spread most."""
    everything = points.reshape(-1, points.shape[-1])
    mean = everything.mean(axis=0)
    _, axes = np.linalg.eigh(np.cov(everything.T))
    places = (points - mean) @ axes[:, :-3:-1]
    shades = colormaps["viridis"](np.linspace(0.0, 0.95, len(points)))
    for layer, (place, colour) in enumerate(zip(places, shades, strict=True)):
        look: style.Look = {"s": 6, "linewidths": 0, "alpha": 0.7, "zorder": layer}
        ax.scatter(*place.T, color=colour, **look)
    depths = ScalarMappable(Normalize(0, len(points) - 1), colormaps["viridis"])
    ax.figure.colorbar(depths, ax=ax, label="layer")
    ax.set(xlabel="first principal direction", ylabel="second", aspect="equal")


@style.styled
def plot_ladder(ladder: Ladder, *, figure: Figure | SubFigure | None = None) -> Figure:
    """Draw what each rung of a ladder costs over depth, 10 inches wide.

    On the left the mean angle between a rung's tokens and the exact ones, in the middle the
    effective numbers of directions, on the right the agreement of clusters.  Baselines are dashed:
    a rung that lies above "moved" is no nearer than tokens that stay where they start.  The title
    is the verdict.

    Parameters
    ----------
    ladder
        What :meth:`mfpde.Network.ladder` returns.
    figure
        Figure or subfigure to fill; by default a new one.
    """
    check_kind("ladder", ladder, Ladder, source="what Network.ladder returns")
    figure = style.figure_or_new(figure, size=(10.0, 4.4))
    panels = figure.subplots(1, 3)
    greys = np.linspace(0.2, 0.7, len(ladder.baselines)).astype(str)
    kinds = (
        (ladder.rungs, "-", cycle(palette.OKABE_ITO.values())),
        (ladder.baselines, "--", iter(greys)),
    )
    for lines, dashes, colours in kinds:
        for name, measures in lines.items():
            look: style.Look = {"color": next(colours), "label": name, "gid": name}
            for ax, kind in zip(panels, MEASURES, strict=True):
                values = getattr(measures, kind)
                ax.plot(np.arange(len(values)), values, dashes, **look)
    for ax, label in zip(panels, MEASURES.values(), strict=True):
        ax.set(xlabel="layer", ylabel=label)
        ax.set_xticks(spread_indices(len(values), MOST_TICKS))
    panels[0].set_ylim(bottom=0)
    figure.suptitle(ladder.headline, wrap=True)
    style.add_legend_below(figure, panels[0].get_legend_handles_labels()[0])
    return style.figure_of(figure)
