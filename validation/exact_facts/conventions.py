"""Shifted and unshifted kernels are the same system in other units, and only so."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import mfpde
from validation import independent
from validation.circle_cases import l1_distance, points_at
from validation.claim import Claim, Quantity
from validation.drawing import panels
from validation.exact_facts.drawn import FORMULA, OTHERS, SOLVER, density_axes

Array = NDArray[Any]

CLAIM = Claim(
    title="The two conventions of the kernel",
    source=(
        "Section 2 (unshifted) and the simulations of section 4 (shifted, in the authors' code: "
        "repository antonioalvarezl/2026-MLP-Attention-Energy by Antonio Álvarez-López, Borjan "
        "Geshkovski and Domènec Ruiz-Balet)"
    ),
    statement=(
        "shifted(beta, w, kappa, t) = unshifted(beta, w e^beta, kappa e^beta, t e^-beta), so "
        "that at equal weights they are different equations once there is a perceptron; "
        "softmax is the same under both."
    ),
)
DEGREES = np.arange(1, 5)
LINES = ((SOLVER, "-"), (FORMULA, "--"), (OTHERS[0], "-"), (OTHERS[1], "-"))
BETA, WEIGHTS = 3.0, np.array([0.5, -0.3])
DIRECTIONS = np.array([[1.0, 0.0], [0.6, 0.8]])


def equation_of(
    kernel: str, *, scale: float, normalized: bool, diffusion: float
) -> mfpde.MeanFieldEquation:
    """Weights and diffusion times ``scale``."""
    return mfpde.MeanFieldEquation(
        mfpde.Attention(BETA, normalized, kernel),
        mfpde.Perceptron(DIRECTIONS, scale * WEIGHTS, "gelu"),
        direction="descent",
        diffusion=diffusion * scale,
    )


def final(
    kernel: str,
    *,
    cells: int,
    scale: float = 1.0,
    normalized: bool = False,
    **kind: Any,
) -> mfpde.Density:
    """The end from uniform at t = 2/scale."""
    diffusion = kind.get("diffusion", 0.0)
    equation = equation_of(
        kernel, scale=scale, normalized=normalized, diffusion=diffusion
    )
    time = 2.0 / scale
    start = mfpde.uniform(mfpde.Circle(cells))
    run = mfpde.solve(equation, start, t_end=time, save_at=[time], rtol=1e-6)
    return run.final.density


def moments_by_labels(kernel: str, **kind: Any) -> Array:
    """Moments 1 to 4 at the same time of 256 labels, moved by ``validation.independent``.

    GeLU neurons keep the flow map smooth, so that equal weights are exact to rounding.
    """
    scale = kind.get("scale", 1.0)
    equation = equation_of(
        kernel, scale=scale, normalized=kind.get("normalized", False), diffusion=0.0
    )
    problem, masses = independent.problem_of(equation), np.full(256, 1 / 256)

    def velocity(_: float, angles: Array) -> Array:
        at = points_at(angles)
        pull = independent.gradient(problem, at, masses, at=at)
        along = np.stack([-at[:, 1], at[:, 0]], axis=1)
        return np.asarray(problem.sign * (pull * along).sum(axis=1))

    begin = 2 * np.pi * np.arange(256) / 256
    path = solve_ivp(
        velocity, (0, 2 / scale), begin, method="DOP853", rtol=1e-10, atol=1e-11
    )
    return np.exp(1j * np.outer(DEGREES, path.y[:, -1])) @ masses


def moments(density: mfpde.Density) -> Array:
    """Moments 1 to 4."""
    return np.exp(1j * np.outer(DEGREES, density.geometry.angles)) @ density.masses


RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "shifted": ("shifted", {}),
    "unshifted, rescaled": ("unshifted", {"scale": np.exp(BETA)}),
    "unshifted at equal weights": ("unshifted", {}),
    "softmax, shifted": ("shifted", {"normalized": True}),
    "softmax, unshifted": ("unshifted", {"normalized": True}),
}


def main(quick: bool = False) -> dict[str, Any]:
    cells = 256 if quick else 1024
    ends = {n: final(k, cells=cells, **kind) for n, (k, kind) in RUNS.items()}
    quantities = []
    for name, (kernel, kind) in RUNS.items():
        away = np.abs(moments(ends[name]) - moments_by_labels(kernel, **kind)).max()
        text = f"{name}: moments 1 to 4 against labels moved by independent formulas"
        # Fourth order where the density is smooth: 0.2 h^4 on both grids.
        allowed = 2 * (2 * np.pi / cells) ** 4
        quantities.append(Quantity(text, float(away), 0.0, allowed))
    shifted, rescaled = (
        final(kernel, scale=scale, cells=cells, diffusion=0.01)
        for kernel, scale in (("shifted", 1.0), ("unshifted", np.exp(BETA)))
    )
    text = "with diffusion: L1 difference of shifted and rescaled unshifted"
    difference = l1_distance(shifted, rescaled.values)
    quantities.append(Quantity(text, difference, 0.0, 1e-10))
    figure, (ax,) = panels(1, width=5)
    for (name, density), (colour, style) in zip(ends.items(), LINES, strict=False):
        angles = density.geometry.angles
        ax.plot(angles, density.values, color=colour, ls=style, label=name)
    density_axes(ax, title="GeLU, descent, β = 3, t = 2 (rescaled: t = 2 e$^{−β}$)")
    return {"quantities": quantities, "figures": {"densities": figure}}
