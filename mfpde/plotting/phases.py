"""The phase diagram of noisy attention in beta and kappa."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mfpde.arrays import check_kind
from mfpde.plotting import palette, style
from mfpde.plotting.style import Look, write_beside
from mfpde.theory import PhaseDiagram

ORDERED, BISTABLE = "#dbe7f3", "#f6e3cf"
KERNELS = {"shifted": r"$e^{\beta(x\cdot y-1)}$", "unshifted": r"$e^{\beta x\cdot y}$"}


@style.styled
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
    ax = style.axes_or_new(ax, size=(5.2, 3.8))
    order = np.argsort(diagram.betas)
    betas, threshold = diagram.betas[order], diagram.threshold[order]
    fold, met = diagram.fold[order], diagram.coexistence[order]
    ax.fill_between(betas, 0.0, threshold, color=ORDERED, lw=0, label="ordered")
    ax.fill_between(betas, threshold, fold, color=BISTABLE, lw=0, label="both")
    ax.plot(betas, threshold, color=palette.NEURONS[0], label=r"threshold $\kappa_\#$")
    ax.plot(betas, met, "--", color=palette.NEURONS[1], label=r"coexistence $\kappa_c$")
    ax.plot(betas, fold, color=palette.NEURONS[2], label="fold")
    if betas[0] <= diagram.cusp <= betas[-1]:
        height = np.exp(np.interp(diagram.cusp, betas, np.log(threshold)))
        ax.plot(diagram.cusp, height, "o", color="black", markersize=4)
        cusp = rf"$\beta_* = {diagram.cusp:.4f}$"
        write_beside(ax, cusp, (diagram.cusp, height), (6, 6), fontsize=9)
    look: Look = {"transform": ax.transAxes, "color": palette.MUTED}
    ax.text(0.04, 0.06, "ordered", **look)
    ax.text(0.96, 0.92, "uniform", ha="right", **look)
    bottom = max(threshold.min(), 1e-4 * fold.max())
    ax.set(yscale="log", ylim=(bottom, 1.3 * fold.max()), xlim=(betas[0], betas[-1]))
    ax.set(xlabel=r"inverse temperature $\beta$", ylabel=r"diffusion $\kappa$")
    mode = f", mode {diagram.degree}" if diagram.degree > 1 else ""
    kernel = f"K = {KERNELS[diagram.kernel]}{mode}"
    ax.set_title(f"S$^{{{diagram.dimension - 1}}}$, ascent, {kernel}")
    ax.legend(loc="best")
    return style.figure_of(ax)
