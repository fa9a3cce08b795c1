"""Descent at large beta: softmax becomes the heat equation, unnormalised porous medium."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import ive

import mfpde
from validation.circle_cases import l1_distance
from validation.claim import Claim, Quantity
from validation.drawing import panels
from validation.exact_facts.drawn import (
    FORMULA,
    FORMULA_LINE,
    OTHERS,
    SOLVER,
    density_axes,
    legend_below,
)

CLAIM = Claim(
    title="Descent at large beta: heat equation and porous medium",
    source="Formal limit of eqs. (2.5) and (2.8) (derived here)",
    statement=(
        "Softmax descent tends to d_t rho = (1/beta) rho''; unnormalised descent, shifted "
        "kernel, to d_t rho = (D rho rho')', D = 2 pi e^-beta I_0(beta)/beta. The relative "
        "difference falls as 1/beta."
    ),
)


def start_density(angles: np.ndarray) -> np.ndarray:
    """A smooth density with harmonics of degree 1 to 3."""
    waves = 0.5 * np.cos(angles) + 0.25 * np.sin(2 * angles) + 0.1 * np.cos(3 * angles)
    return (1 + waves) / (2 * np.pi)


def limit_density(angles: np.ndarray, tau: float, *, softmax: bool) -> np.ndarray:
    """The limit at the rescaled time tau: exact for heat, spectral for porous medium.

    Tau is t/beta for the heat equation, D t for porous medium: neither depends on beta.
    """
    degrees = np.arange(len(angles) // 2 + 1)
    start = start_density(angles)
    if softmax:
        return np.fft.irfft(np.fft.rfft(start) * np.exp(-(degrees**2) * tau))

    def rate(_: float, rho: np.ndarray) -> np.ndarray:
        return np.fft.irfft(-(degrees**2) * np.fft.rfft(rho**2 / 2))

    path = solve_ivp(rate, (0, tau), start, method="LSODA", rtol=1e-10, atol=1e-12)
    return path.y[:, -1]


def relative_difference(beta: float, *, softmax: bool, cells: int) -> tuple[float, Any]:
    """L1 difference at the rescaled time 0.5 (heat) or 3 (porous), over what has moved."""
    circle = mfpde.Circle(cells)
    diffusivity = 1 / beta if softmax else 2 * np.pi * float(ive(0, beta)) / beta
    tau = 0.5 if softmax else 3.0
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(beta, normalized=softmax), direction="descent"
    )
    start = mfpde.Density(circle, start_density(circle.angles))
    time = tau / diffusivity
    run = mfpde.solve(equation, start, t_end=time, save_at=[time])
    limit = limit_density(circle.angles, tau, softmax=softmax)
    moved = l1_distance(start, limit)
    final = run.final.density
    return l1_distance(final, limit) / moved, (circle.angles, final.values, limit)


def main(quick: bool = False) -> dict[str, Any]:
    betas = (50.0, 100.0) if quick else (50.0, 100.0, 200.0, 400.0)
    cells = 256 if quick else 512
    quantities = []
    figure, axes = panels(3, width=3.4)
    for ax, softmax in zip(axes, (True, False), strict=False):
        found = [relative_difference(b, softmax=softmax, cells=cells) for b in betas]
        differences = np.array([difference for difference, _ in found])
        order = float(np.log2(differences[-2] / differences[-1]))
        name = "softmax, heat" if softmax else "unnormalised, porous medium"
        quantities += [
            # The next term of the expansion is about 1/(2 beta).
            Quantity(
                f"{name}: relative difference at beta = {betas[-1]:g}",
                differences[-1],
                0.0,
                1 / betas[-1],
            ),
            Quantity(f"{name}: order in 1/beta", order, 1.0, 0.05),
        ]
        angles, values, limit = found[-1][1]
        ax.plot(angles, start_density(angles), color=OTHERS[0], ls=":", label="start")
        ax.plot(angles, values, color=SOLVER, label=f"solver, β = {betas[-1]:g}")
        ax.plot(angles, limit, **FORMULA_LINE, label="limit")
        density_axes(ax, title=name)
        style = "o-" if softmax else "s--"
        axes[2].loglog(betas, differences, style, color=SOLVER, ms=4, label=name)
    line = 0.5 / np.array(betas)
    axes[2].loglog(betas, line, color=FORMULA, ls=":", label="1/(2β)")
    axes[2].set_xticks(betas, [f"{beta:g}" for beta in betas])
    axes[2].minorticks_off()
    axes[2].set_yticks([2e-3, 5e-3, 1e-2], ["0.002", "0.005", "0.01"])
    axes[2].set(
        title="From the limit, over what has moved",
        xlabel="β",
        ylabel="relative L1 difference",
    )
    legend_below(axes[2], columns=1)
    return {"quantities": quantities, "figures": {"limits": figure}}
