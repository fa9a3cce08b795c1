"""Small pictures of results, for notebooks: drawn when one is shown, and never by pyplot.

A result of another kind brings its own: ``picture_of.register(Sweep, draw_sweep)``.
"""

from __future__ import annotations

import io
from functools import singledispatch

import numpy as np
from matplotlib.figure import Figure

from mfpde.branches import Continuation
from mfpde.detection.report import ConcentrationReport
from mfpde.measures.measure import AnyMeasure, Atoms, Density, Measure, as_measure
from mfpde.plotting.angle_view import domain_of, domain_of_geometry
from mfpde.plotting.atoms import NONE_FOUND, atoms_of_report
from mfpde.plotting.branch import plot_continuation
from mfpde.plotting.composition import Frame, Panel, compose
from mfpde.plotting.curve_panels import CurvePanels
from mfpde.plotting.overview import plot_energy
from mfpde.plotting.phases import plot_phase_diagram
from mfpde.plotting.sphere_panels import SpherePanels
from mfpde.plotting.stationary import plot_certificate
from mfpde.plotting.style import Picture, styled
from mfpde.runs.run import Run
from mfpde.stationary import Minimum, PolishedAtoms, StationaryDensity
from mfpde.theory import PhaseDiagram

DOTS_PER_INCH = 80
WIDTH, HEIGHT = 3.6, 2.3


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
def _of_measure(
    measure: AnyMeasure, report: ConcentrationReport | None = None
) -> Figure | None:
    if not _has_picture(measure):
        return None
    figure = new_picture()
    compose(figure, [_panel(measure, report)], beside=None)
    return figure


@picture_of.register
def _(run: Run) -> Figure | None:
    panels = []
    if _has_picture(run.final):
        panels.append(_panel(run.final, title=f"t = {run.final_time:.4g}"))
    if len(run.times) > 1 and np.isfinite(run.energies).any():
        panels.append(Panel(lambda ax: plot_energy(run, ax=ax)))
    if not panels:
        return None
    figure = new_picture(columns=len(panels))
    compose(figure, panels, columns=len(panels), beside=None)
    return figure


@picture_of.register
def _(minimum: Minimum) -> Figure | None:
    if minimum.measure.dimension > 3:
        return None
    figure = plot_certificate(minimum)
    # The table says it.
    figure.suptitle("")
    return _resized(figure, 1.3)


@picture_of.register
def _(branch: Continuation) -> Figure | None:
    return _resized(plot_continuation(branch), 1.5) if branch.states else None


def _resized(figure: Figure, heights: float) -> Figure:
    figure.set_size_inches(1.3 * WIDTH, heights * HEIGHT)
    return figure


picture_of.register(
    ConcentrationReport, lambda found: _of_measure(found.measure, found)
)
picture_of.register(PolishedAtoms, lambda polished: _of_measure(polished.atoms))
picture_of.register(StationaryDensity, lambda state: _of_measure(state.density))
picture_of.register(PhaseDiagram, lambda d: _resized(plot_phase_diagram(d), 1.2))


def _has_picture(measure: AnyMeasure) -> bool:
    if isinstance(measure, Atoms):
        return measure.dimension in (2, 3) and len(measure) > 0
    return domain_of_geometry(as_measure(measure).geometry) is not None


def _panel(
    measure: AnyMeasure, report: ConcentrationReport | None = None, *, title: str = ""
) -> Panel:
    """Return a measure without its landscape, and the atoms that a report has found."""
    found = NONE_FOUND if report is None else atoms_of_report(report)
    frame = Frame(measure, found=found)
    if domain_of(measure, picture="a notebook") == "sphere":
        return SpherePanels([frame], is_small=True).panels(frame, title=title)[0]
    return CurvePanels([frame]).density(frame, title=title)
