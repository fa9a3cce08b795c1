"""A run on one page: snapshots, a map, energy, largest density."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from mfpde.equation import MeanFieldEquation
from mfpde.plotting.domain import domain_of_run
from mfpde.plotting.globe import draw_globes
from mfpde.plotting.snapshots import draw_snapshots, snapshot_indices
from mfpde.plotting.sphere_strip import draw_strip
from mfpde.plotting.style import MUTED, Picture, styled
from mfpde.plotting.time_panels import available_panels, draw_time_panels
from mfpde.runs.run import Run
from mfpde.terms import Attention, Perceptron
from mfpde.terms.base import ExternalTerm


@styled
def plot_run(run: Run) -> Figure:
    """Compose the pictures of a run on a page of 10 x 7 inches.

    On the circle and on Zonal grids: on the left five saved densities over the landscape,
    on the right the map over time and angle, the energy and the largest density against
    the same time, and the tree of the atoms where the run has a track.  On a Sphere: five
    maps in a strip with one colour bar, below them the
    last saved state in the same colours on a globe from two sides, the energy and the
    largest density.  Above, the equation with its direction and kernel convention;
    below, why the run stopped and how far the total mass drifted.

    Raises
    ------
    ValueError
        If nothing was saved, or there is no picture for the geometry.
    """
    domain = domain_of_run(run, picture="plot_run")
    figure = Picture(figsize=(10.0, 7.0), layout="constrained")
    figure.suptitle(describe_equation(run.equation))
    _COMPOSERS[domain](figure, run)
    figure.supxlabel(describe_outcome(run), fontsize=8, color=MUTED)
    return figure


def describe_equation(equation: MeanFieldEquation | None) -> str:
    """Terms, direction, diffusion and kernel convention in two lines."""
    if equation is None:
        return "stored run without its equation (it has the user's own functions)"
    terms = " + ".join(_describe_term(term) for term in equation.terms)
    diffusion = f", diffusion κ = {equation.diffusion:g}" if equation.diffusion else ""
    arrow = "s = +1" if equation.sign > 0 else "s = −1"
    direction = f"{equation.direction.capitalize()} ({arrow})"
    return f"{direction}: {terms}{diffusion}\n{_describe_kernel(equation)}"


def describe_outcome(run: Run) -> str:
    """Reason why the run stopped (without the remedy) and its mass drift, in one line."""
    parts = [run.reason.split(";")[0]]
    if "mass" in run.diagnostics:
        parts.append(f"mass drift {run.mass_drift:.1e}")
    return "   ·   ".join(parts)


def _describe_kernel(equation: MeanFieldEquation) -> str:
    if equation.attentions and all(a.beta == 0 for a in equation.attentions):
        return "A[μ](x) = x · ∫ y dμ(y), the limit β → 0"
    words = equation.convention
    for plain, fine in (("beta", "β"), ("x.y", "x·y"), (" - ", " − ")):
        words = words.replace(plain, fine)
    return words


def _describe_term(term: Attention | ExternalTerm) -> str:
    if isinstance(term, Attention):
        kind = "softmax attention" if term.normalized else "attention"
        return f"{kind} (β = {term.beta:g})"
    if isinstance(term, Perceptron):
        units = len(term.directions)
        plural = "s" if units > 1 else ""
        return f"perceptron ({units} {term.activation_name} neuron{plural})"
    return "external potential"


def _compose_curves(figure: Figure, run: Run) -> None:
    halves = figure.subfigures(1, 2, width_ratios=(1.0, 1.4), wspace=0.02)
    left, right = np.asarray(halves)
    draw_snapshots(left, run, snapshot_indices(run))
    draw_time_panels(right, run, [("map", 2.2), *available_panels(run)])


def _compose_globes(figure: Figure, run: Run) -> None:
    rows = figure.subfigures(2, 1, height_ratios=(1.0, 2.6), hspace=0.02)
    strip, lower = np.asarray(rows)
    norm = draw_strip(strip, run, snapshot_indices(run))
    panels = available_panels(run)
    if panels:
        halves = lower.subfigures(1, 2, width_ratios=(1.75, 1.0), wspace=0.02)
        globes, time = np.asarray(halves)
        draw_time_panels(time, run, panels)
    else:
        globes = lower
    draw_globes(globes, run.states[-1], run.equation, norm=norm, track=run.track)


_COMPOSERS = {
    "circle": _compose_curves,
    "zonal": _compose_curves,
    "sphere": _compose_globes,
}
