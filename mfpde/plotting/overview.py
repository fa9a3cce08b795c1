"""A run on one page: snapshots, the map over time and angle, energy, peak."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure

from mfpde.equation import MeanFieldEquation
from mfpde.plotting.domain import domain_of_run
from mfpde.plotting.energy import plot_energy
from mfpde.plotting.scales import set_decades, set_time_axis
from mfpde.plotting.snapshots import draw_snapshots, snapshot_indices
from mfpde.plotting.space_time import plot_space_time
from mfpde.plotting.style import DENSITY, MUTED, styled
from mfpde.run import Run
from mfpde.terms import Attention, Perceptron
from mfpde.terms.base import ExternalTerm


@styled
def plot_run(run: Run) -> Figure:
    """Compose the pictures of a run on a page of 10 x 7 inches.

    On the left five saved densities over the landscape, on the right the map over time
    and angle, the energy and the largest density against the same time; above, the
    equation with its direction and kernel convention; below, why the run stopped and
    how far the total mass drifted.

    Raises
    ------
    ValueError
        If nothing was saved, or there is no picture for the geometry.
    """
    domain_of_run(run, picture="plot_run")
    figure = Figure(figsize=(10.0, 7.0), layout="constrained")
    figure.suptitle(describe_equation(run.equation))
    halves = figure.subfigures(1, 2, width_ratios=(1.0, 1.4), wspace=0.02)
    left, right = np.asarray(halves)
    draw_snapshots(left, run, snapshot_indices(run))
    _draw_time_panels(right, run)
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
    """Why the run stopped (without the remedy) and its mass drift, in one line."""
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


def _draw_time_panels(figure: SubFigure, run: Run) -> None:
    panels = [("map", 2.2)]
    if "energy" in run.diagnostics:
        panels.append(("energy", 1.0))
    if np.isfinite(run.diagnostics.get("largest_density", np.nan)).any():
        panels.append(("largest density", 1.0))
    column = figure.subplots(
        len(panels),
        1,
        sharex=True,
        squeeze=False,
        height_ratios=[height for _, height in panels],
    )[:, 0]
    for (name, _), ax in zip(panels, column, strict=True):
        _TIME_PAINTERS[name](run, ax)
        ax.label_outer()
    figure.align_ylabels(column)


def _draw_largest_density(run: Run, ax: Axes) -> None:
    largest = run.diagnostics["largest_density"]
    ax.plot(run.times, largest, color=DENSITY, gid="largest density")
    positive = largest[largest > 0]
    if len(positive) and positive.max() > 10 * positive.min():
        set_decades(ax, float(positive.min()), float(positive.max()))
    else:
        ax.set_ylim(bottom=0.0)
    ax.set_ylabel("largest density")
    ax.spines["right"].set_visible(False)
    set_time_axis(ax, run.times)


_TIME_PAINTERS = {
    "map": lambda run, ax: plot_space_time(run, ax=ax),
    "energy": lambda run, ax: plot_energy(run, ax=ax),
    "largest density": _draw_largest_density,
}
