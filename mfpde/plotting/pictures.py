"""Small pictures of results, for notebooks: drawn when one is shown, and never by pyplot.

A result of another kind brings its own: ``picture_of.register(Result, draw_result)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mfpde.branches import Continuation
from mfpde.detection.report import ConcentrationReport
from mfpde.measures.measure import AnyMeasure, Atoms, Density, Measure
from mfpde.plotting import stationary
from mfpde.plotting.angle_view import view_of
from mfpde.plotting.atoms import NONE_FOUND, FoundAtoms, Frame, atoms_of_report
from mfpde.plotting.overview import plot_energy
from mfpde.plotting.rows import plot_retrieval, plot_rows
from mfpde.plotting.scenes import CurveScene, SphereScene
from mfpde.plotting.style import Picture, png_of, styled
from mfpde.positions.profile import RetrievalProfile
from mfpde.positions.rows import PositionedDensity
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
    return None if figure is None else png_of(figure, DOTS_PER_INCH)


@singledispatch
def picture_of(result: object) -> Figure | None:
    """Return the small figure of a result, registered by its class; None without one."""
    return None


def _draw_state(
    measure: AnyMeasure, found: FoundAtoms = NONE_FOUND, *, columns: int = 1
) -> tuple[Figure, Sequence[Axes]]:
    """Draw a measure without its landscape, and atoms found in it, beside empty axes."""
    figure = Picture(figsize=(columns * WIDTH, HEIGHT), layout="constrained")
    axes = figure.subplots(1, columns, squeeze=False)[0]
    frame = Frame(measure, found=found)
    if view_of(measure, picture="a notebook") is None:
        SphereScene([frame], is_small=True).draw(axes[0], frame)
    else:
        CurveScene([frame]).draw(axes[0], frame)
    return figure, axes


def _resize(figure: Figure, heights: float) -> Figure:
    figure.set_size_inches(1.3 * WIDTH, heights * HEIGHT)
    return figure


for kind in (Density, Atoms, Measure):
    picture_of.register(kind, lambda measure: _draw_state(measure)[0])
picture_of.register(PolishedAtoms, lambda state: _draw_state(state.atoms)[0])
picture_of.register(StationaryDensity, lambda state: _draw_state(state.density)[0])
picture_of.register(PositionedDensity, lambda rows: _resize(plot_rows(rows), 1.4))
picture_of.register(RetrievalProfile, lambda p: _resize(plot_retrieval(p), 1.3))
picture_of.register(
    PhaseDiagram, lambda d: _resize(stationary.plot_phase_diagram(d), 1.2)
)
picture_of.register(
    Continuation, lambda b: _resize(stationary.plot_continuation(b), 1.5)
)


@picture_of.register
def _(report: ConcentrationReport) -> Figure | None:
    return _draw_state(report.measure, atoms_of_report(report))[0]


@picture_of.register
def _(run: Run) -> Figure | None:
    if isinstance(run.final, PositionedDensity):
        return picture_of(run.final)
    has_energy = len(run.times) > 1 and bool(np.isfinite(run.energies).any())
    if isinstance(run.final, Atoms) and run.final.dimension > 3:
        return plot_energy(run) if has_energy else None
    figure, axes = _draw_state(run.final, columns=1 + has_energy)
    axes[0].set_title(f"t = {run.final_time:.4g}")
    if has_energy:
        plot_energy(run, ax=axes[1])
    return figure


@picture_of.register
def _(minimum: Minimum) -> Figure | None:
    if minimum.measure.dimension > 3:
        return None
    figure = stationary.plot_certificate(minimum)
    # The table says it.
    figure.suptitle("")
    return _resize(figure, 1.3)
