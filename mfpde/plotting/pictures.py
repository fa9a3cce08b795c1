"""Small pictures of results, for notebooks: drawn when one is shown, and never by pyplot.

A result of another kind brings its own: ``picture_of.register(Sweep, draw_sweep)``.
"""

from __future__ import annotations

import io
from functools import singledispatch

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mfpde.branches import Continuation
from mfpde.detection.report import ConcentrationReport
from mfpde.measures.measure import AnyMeasure, Atoms, Density, Measure, as_measure
from mfpde.plotting.angle_view import domain_of_geometry, view_of
from mfpde.plotting.atoms import atoms_in, draw_atoms
from mfpde.plotting.branch import plot_continuation
from mfpde.plotting.curve import draw_stems, mass_axis, stem_atoms
from mfpde.plotting.overview import plot_energy
from mfpde.plotting.phases import plot_phase_diagram
from mfpde.plotting.projections import Mollweide, prepare_axes
from mfpde.plotting.sphere_field import colours_for, density_of
from mfpde.plotting.sphere_map import draw_ground
from mfpde.plotting.stationary import plot_certificate
from mfpde.plotting.style import (
    ATOM,
    DENSITY,
    Picture,
    set_angle_axis,
    set_density_axis,
    styled,
)
from mfpde.runs.run import Run
from mfpde.stationary import Minimum, PolishedAtoms, StationaryDensity
from mfpde.theory import PhaseDiagram

DOTS_PER_INCH = 80
WIDTH, HEIGHT = 3.6, 2.3
AREA_PER_MASS = 120.0


@styled
def small_png(result: object) -> bytes | None:
    """Return the small picture of a result as a PNG, or None without one."""
    try:
        figure = picture_of(result)
    except ValueError:
        # Pictures refuse what they have nothing to draw of; the table is there all the same.
        return None
    if figure is None:
        return None
    drawn = io.BytesIO()
    figure.savefig(
        drawn, format="png", dpi=DOTS_PER_INCH, metadata={"Software": "mfpde"}
    )
    return drawn.getvalue()


@singledispatch
def picture_of(result: object) -> Figure | None:
    """Return the small figure of a result, registered by its class; None without one."""
    return None


def new_picture(columns: int = 1) -> Figure:
    """Return an empty figure of the size of small pictures, for as many beside each other."""
    return Picture(figsize=(columns * WIDTH, HEIGHT), layout="constrained")


@picture_of.register(Density)
@picture_of.register(Atoms)
@picture_of.register(Measure)
def _of_measure(measure: AnyMeasure) -> Figure | None:
    if not _has_picture(measure):
        return None
    figure = new_picture()
    _draw(figure.subplots(), measure)
    return figure


@picture_of.register
def _(run: Run) -> Figure | None:
    has_energy = len(run.times) > 1 and bool(np.isfinite(run.energies).any())
    is_drawn = _has_picture(run.final)
    if not (is_drawn or has_energy):
        return None
    figure = new_picture(columns=is_drawn + has_energy)
    axes = list(figure.subplots(1, is_drawn + has_energy, squeeze=False)[0])
    if is_drawn:
        ax = axes.pop(0)
        _draw(ax, run.final)
        ax.set_title(f"t = {run.final_time:.4g}", loc="left")
    if has_energy:
        plot_energy(run, ax=axes[0])
    return figure


@picture_of.register
def _(report: ConcentrationReport) -> Figure | None:
    if not _has_picture(report.measure):
        return None
    figure = new_picture()
    _draw(figure.subplots(), report.measure, report)
    return figure


@picture_of.register
def _(minimum: Minimum) -> Figure | None:
    if minimum.measure.dimension > 3:
        return None
    figure = plot_certificate(minimum)
    # The table says it.
    figure.suptitle("")
    return _resized(figure, height=1.3 * HEIGHT)


@picture_of.register
def _(polished: PolishedAtoms) -> Figure | None:
    return _of_measure(polished.atoms)


@picture_of.register
def _(state: StationaryDensity) -> Figure | None:
    return _of_measure(state.density)


@picture_of.register
def _(branch: Continuation) -> Figure | None:
    if not branch.states:
        return None
    return _resized(plot_continuation(branch), height=1.5 * HEIGHT)


@picture_of.register
def _(diagram: PhaseDiagram) -> Figure | None:
    return _resized(plot_phase_diagram(diagram), height=1.2 * HEIGHT)


def _resized(figure: Figure, *, height: float) -> Figure:
    figure.set_size_inches(1.3 * WIDTH, height)
    return figure


def _has_picture(measure: AnyMeasure) -> bool:
    if isinstance(measure, Atoms):
        return measure.dimension in (2, 3) and len(measure) > 0
    return domain_of_geometry(as_measure(measure).geometry) is not None


def _draw(
    ax: Axes, measure: AnyMeasure, report: ConcentrationReport | None = None
) -> None:
    """Draw a measure without its landscape, and the atoms that a report has found."""
    on_sphere = measure.dimension == 3
    if not isinstance(measure, Atoms):
        geometry = as_measure(measure).geometry
        on_sphere = domain_of_geometry(geometry) == "sphere"
    if on_sphere:
        _draw_map(ax, measure, report)
    else:
        _draw_curve(ax, measure, report)


def _draw_map(
    ax: Axes, measure: AnyMeasure, report: ConcentrationReport | None
) -> None:
    projection = Mollweide()
    density = density_of(measure)
    prepare_axes(ax, projection)
    norm = colours_for([density] if density is not None else [])
    draw_ground(ax, projection, measure, norm=norm)
    marked = atoms_in(measure, report)
    draw_atoms(ax, projection, marked, area_per_mass=AREA_PER_MASS)


def _draw_curve(
    ax: Axes, measure: AnyMeasure, report: ConcentrationReport | None
) -> None:
    view = view_of(measure)
    curve, own = view.curve(measure), stem_atoms(measure)
    ax.spines["right"].set_visible(False)
    if curve is not None:
        ax.plot(*view.continued(curve), color=DENSITY)
        set_density_axis(ax, [curve[1]])
        # What a zonal curve is needs more words than there is room for.
        ax.set_ylabel(view.density_label.partition("\n")[0])
    found = atoms_in(measure, report)[1]
    heaviest = max([*own.masses, *found.basins], default=0.0)
    if heaviest > 0:
        stems = mass_axis(ax, view) if curve is not None else ax
        draw_stems(stems, view, own, top=heaviest, labels=False)
        stems.set_ylabel(view.atom_label)
        if not len(own):
            angles = view.angles_of(found.points)
            stems.plot(angles, found.basins, "o", mfc="none", color=ATOM)
    set_angle_axis(ax, "x", view)
