"""Shifted and unshifted kernels are the same system in other units, and only so."""

from __future__ import annotations

from typing import Any

import numpy as np

import mfpde
from validation.circle_cases import l1_distance
from validation.claim import Claim, Quantity
from validation.drawing import COLOURS, panels

CLAIM = Claim(
    title="The two conventions of the kernel",
    source="Section 2 (unshifted) and the simulations of section 7 (shifted)",
    statement=(
        "shifted(beta, w, kappa, t) = unshifted(beta, w e^beta, kappa e^beta, t e^-beta), so "
        "that at equal weights they are different equations once there is a perceptron; "
        "softmax is the same under both."
    ),
)
BETA, WEIGHTS = 3.0, np.array([0.5, -0.3])
DIRECTIONS = np.array([[1.0, 0.0], [0.6, 0.8]])


def final(kernel: str, *, scale: float, normalized: bool, cells: int) -> mfpde.Density:
    """The end from uniform at t = 2/scale, weights and diffusion times scale."""
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(BETA, normalized, kernel),
        mfpde.Perceptron(DIRECTIONS, scale * WEIGHTS, "gelu"),
        direction="descent",
        diffusion=0.01 * scale,
    )
    time = 2.0 / scale
    start = mfpde.uniform(mfpde.Circle(cells))
    run = mfpde.solve(equation, start, t_end=time, save_at=[time], rtol=1e-6)
    return run.final.density


def main(quick: bool = False) -> dict[str, Any]:
    cells = 256 if quick else 1024
    shifted = final("shifted", scale=1.0, normalized=False, cells=cells)
    rescaled = final("unshifted", scale=np.exp(BETA), normalized=False, cells=cells)
    same_weights = final("unshifted", scale=1.0, normalized=False, cells=cells)
    soft = [
        final(kernel, scale=1.0, normalized=True, cells=cells)
        for kernel in ("shifted", "unshifted")
    ]
    figure, (ax,) = panels(1, width=5)
    angles = shifted.geometry.angles
    ax.plot(angles, shifted.values, color=COLOURS[0], label="shifted")
    ax.plot(
        angles, rescaled.values, "--", color=COLOURS[1], label="unshifted, rescaled"
    )
    ax.plot(angles, same_weights.values, color=COLOURS[2], label="unshifted, as it is")
    ax.set(title="GeLU, descent, β = 3, t = 2", xlabel="angle", ylabel="density")
    ax.legend()
    moved = l1_distance(shifted, mfpde.uniform(shifted.geometry).values)
    quantities = [
        Quantity(
            "L1 difference of shifted and rescaled unshifted",
            l1_distance(shifted, rescaled.values),
            0.0,
            1e-6,
        ),
        Quantity(
            "L1 difference of softmax under both",
            l1_distance(soft[0], soft[1].values),
            0.0,
            1e-12,
        ),
        Quantity(
            "L1 difference at equal weights, as a share of what has moved",
            l1_distance(shifted, same_weights.values) / moved,
            0.1,
            0.0,
            "at least",
        ),
    ]
    return {"quantities": quantities, "figures": {"densities": figure}}
