"""The phase diagram of noisy attention in beta and kappa."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mfpde.arrays import check_kind
from mfpde.plotting.style import MUTED, NEURONS, axes_or_new, figure_of, styled
from mfpde.theory import PhaseDiagram

ORDERED, BISTABLE = "#dbe7f3", "#f6e3cf"


@styled
def plot_phase_diagram(diagram: PhaseDiagram, *, ax: Axes | None = None) -> Figure:
    """Draw threshold, coexistence and fold against beta, with the cusp.

    Below the threshold only ordered states are stable; between threshold and fold both the
    ordered and the uniform state are (shaded), and of these the ordered one has less free
    energy below the coexistence line; above the fold all order is lost.

    Parameters
    ----------
    diagram
        What :func:`mfpde.phase_diagram` returns, for two or more values of beta.
    ax
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    The figure, of given axes theirs.

    Raises
    ------
    ValueError
        For a diagram of one value of beta.
    """
    check_kind("diagram", diagram, PhaseDiagram, source="what phase_diagram returns")
    if len(diagram.betas) < 2:
        raise ValueError(
            f"diagram has one value of beta, {diagram.betas[0]:g}: a line needs two or more"
        )
    ax = axes_or_new(ax, size=(5.2, 3.8))
    order = np.argsort(diagram.betas)
    betas, threshold = diagram.betas[order], diagram.threshold[order]
    fold, met = diagram.fold[order], diagram.coexistence[order]
    ax.fill_between(betas, 0.0, threshold, color=ORDERED, linewidth=0)
    ax.fill_between(betas, threshold, fold, color=BISTABLE, linewidth=0)
    ax.plot(betas, threshold, color=NEURONS[0], label=r"threshold $\kappa_\#$")
    ax.plot(betas, met, "--", color=NEURONS[1], label=r"coexistence $\kappa_c$")
    ax.plot(betas, fold, color=NEURONS[2], label="fold")
    if betas[0] <= diagram.cusp <= betas[-1]:
        height = np.exp(np.interp(diagram.cusp, betas, np.log(threshold)))
        ax.plot(diagram.cusp, height, "o", color="black", markersize=4)
        ax.annotate(
            rf"$\beta_* = {diagram.cusp:.4f}$",
            (diagram.cusp, height),
            xytext=(6, 6),
            textcoords="offset points",
        )
    ax.set_yscale("log")
    bottom = max(threshold.min(), 1e-4 * fold.max())
    ax.set_ylim(bottom, 1.3 * fold.max())
    ax.set_xlim(betas[0], betas[-1])
    ax.set_xlabel(r"inverse temperature $\beta$")
    ax.set_ylabel(r"diffusion $\kappa$")
    kernel = (
        r"$e^{\beta(x\cdot y-1)}$"
        if diagram.kernel == "shifted"
        else (r"$e^{\beta x\cdot y}$")
    )
    mode = f", mode {diagram.degree}" if diagram.degree > 1 else ""
    ax.set_title(f"S$^{{{diagram.dimension - 1}}}$, ascent, K = {kernel}{mode}")
    ax.annotate("ordered", (0.04, 0.06), xycoords="axes fraction", color=MUTED)
    ax.annotate(
        "uniform", (0.96, 0.92), xycoords="axes fraction", color=MUTED, ha="right"
    )
    ax.legend(loc="best")
    return figure_of(ax)
