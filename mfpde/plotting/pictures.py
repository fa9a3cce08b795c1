"""Small pictures of results, for notebooks: drawn when one is shown, and never by pyplot.

A result of another kind brings its own: ``picture_of.register(Sweep, draw_sweep)``.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import singledispatch

import numpy as np
from matplotlib.figure import Figure

from mfpde.branches import Continuation
from mfpde.detection.report import ConcentrationReport
from mfpde.measures.measure import AnyMeasure, Atoms, Density, Measure
from mfpde.plotting.angle_view import view_of
from mfpde.plotting.atoms import NONE_FOUND, FoundAtoms, atoms_of_report
from mfpde.plotting.branch import plot_continuation, plot_phase_diagram
from mfpde.plotting.composition import Frame, Panel, compose
from mfpde.plotting.curve_panels import CurvePanels
from mfpde.plotting.overview import plot_energy
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


def _compose(panels: Sequence[Panel]) -> Figure | None:
    if not panels:
        return None
    figure = new_picture(columns=len(panels))
    compose(figure, panels, columns=len(panels), beside=None)
    return figure


def _panels_of(
    measure: AnyMeasure, found: FoundAtoms = NONE_FOUND, *, title: str = ""
) -> list[Panel]:
    """Return a measure without its landscape, if it has a picture, and the atoms found in it."""
    frame = Frame(measure, found=found)
    try:
        is_sphere = view_of(measure, picture="a notebook") is None
    except ValueError:
        return []
    if is_sphere:
        return SpherePanels([frame], is_small=True).panels(frame, title=title)
    return CurvePanels([frame]).panels(frame, title=title)


def _resize(figure: Figure, heights: float) -> Figure:
    figure.set_size_inches(1.3 * WIDTH, heights * HEIGHT)
    return figure


for kind in (Density, Atoms, Measure):
    picture_of.register(kind, lambda measure: _compose(_panels_of(measure)))
picture_of.register(PolishedAtoms, lambda state: _compose(_panels_of(state.atoms)))
picture_of.register(StationaryDensity, lambda s: _compose(_panels_of(s.density)))
picture_of.register(PhaseDiagram, lambda d: _resize(plot_phase_diagram(d), 1.2))
picture_of.register(Continuation, lambda b: _resize(plot_continuation(b), 1.5))


@picture_of.register
def _(report: ConcentrationReport) -> Figure | None:
    return _compose(_panels_of(report.measure, atoms_of_report(report)))


@picture_of.register
def _(run: Run) -> Figure | None:
    panels = _panels_of(run.final, title=f"t = {run.final_time:.4g}")
    if len(run.times) > 1 and np.isfinite(run.energies).any():
        panels.append(Panel(lambda ax: plot_energy(run, ax=ax)))
    return _compose(panels)


@picture_of.register
def _(minimum: Minimum) -> Figure | None:
    if minimum.measure.dimension > 3:
        return None
    figure = plot_certificate(minimum)
    # The table says it.
    figure.suptitle("")
    return _resize(figure, 1.3)
