"""One measure on the sphere as an equal-area (Mollweide) map."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure, Atoms
from mfpde.plotting.atoms import (
    Marked,
    draw_atoms,
    draw_particles,
    is_crowd,
    marked_atoms,
)
from mfpde.plotting.landscape import (
    HATCH,
    Neuron,
    direction_handles,
    draw_directions,
    draw_neurons,
    has_dead_zone,
    sphere_neurons,
)
from mfpde.plotting.projections import (
    Mollweide,
    Projection,
    draw_graticule,
    label_graticule,
    prepare_axes,
)
from mfpde.plotting.sphere_field import (
    add_colour_bar,
    colours_for,
    density_of,
    draw_bare_globe,
    draw_field,
)
from mfpde.plotting.style import ATOM, MUTED, Limits

AREA_PER_MASS = 260.0


def draw_density_map(
    ax: Axes,
    measure: AnyMeasure,
    equation: MeanFieldEquation | None,
    *,
    limits: Limits | None = None,
) -> None:
    """Draw the map with its graticule, neurons, atoms, legend and colour bar."""
    projection = Mollweide()
    density = density_of(measure)
    norm = colours_for([density] if density is not None else [], limits)
    marked = marked_atoms(measure, equation)
    neurons = sphere_neurons(equation)
    prepare_axes(ax, projection)
    draw_ground(ax, projection, measure, norm=norm)
    draw_neurons(ax, projection, neurons)
    draw_directions(ax, projection, neurons)
    draw_atoms(ax, projection, marked, area_per_mass=AREA_PER_MASS, labels=True)
    label_graticule(ax)
    if density is not None and norm is not None:
        bar = ax.inset_axes((1.03, 0.08, 0.025, 0.84))
        add_colour_bar(ax.figure, norm, [density], cax=bar)
    _add_legend(ax, legend_handles([neurons], [marked]))


def draw_ground(
    ax: Axes, projection: Projection, measure: AnyMeasure, *, norm: Normalize | None
) -> None:
    """Draw the density (or the particles) and the graticule over it."""
    density = density_of(measure)
    if density is not None and norm is not None:
        draw_field(ax, projection, density, norm=norm)
    else:
        draw_bare_globe(ax, projection)
    draw_graticule(ax, projection)
    if isinstance(measure, Atoms) and is_crowd(measure):
        draw_particles(ax, projection, measure)


def _add_legend(ax: Axes, handles: list[Artist]) -> None:
    """Explain the marks in a row below the axes, those alone that are there."""
    if handles:
        ax.legend(
            handles=handles,
            loc="upper center",
            bbox_to_anchor=(0.5, -0.07),
            ncols=min(len(handles), 5),
            handletextpad=0.4,
            columnspacing=1.1,
            handlelength=1.4,
        )


def legend_handles(
    layers: Sequence[list[Neuron]],
    marked: Sequence[Marked],
    *,
    with_directions: bool = True,
) -> list[Artist]:
    """Marks of the neurons of each layer and of the atoms, with their meanings."""
    handles: list[Artist] = []
    neurons = [neuron for layer in layers for neuron in layer]
    if neurons:
        handles.append(
            Line2D([], [], color=MUTED, linewidth=1.2, label="$a_j·x + b_j = 0$")
        )
        handles += direction_handles(neurons) if with_directions else []
    everywhere = Mollweide().points_of(Mollweide().pixels(200))
    if any(has_dead_zone(layer, everywhere) for layer in layers):
        handles.append(
            Patch(facecolor="none", edgecolor=MUTED, hatch=HATCH, label="none active")
        )
    has_arrived = any((found.arrived > 0).any() for _, found in marked)
    for is_there, face, name in (
        (any(len(own) for own, _ in marked), ATOM, "atom (area ∝ mass)"),
        (has_arrived, "none", "atom found (area ∝ mass)"),
    ):
        if is_there:
            handles.append(
                Line2D(
                    [],
                    [],
                    linestyle="",
                    marker="o",
                    markerfacecolor=face,
                    markeredgecolor=ATOM,
                    label=name,
                )
            )
    if any(found.are_on_their_way.any() for _, found in marked):
        # Labels write it so: 0.3 (+0.2).
        dotted = Patch(
            facecolor="none",
            edgecolor=ATOM,
            linestyle=":",
            label=f"{'and' if has_arrived else 'basin:'} on its way (+)",
        )
        handles.append(dotted)
    return handles
