r"""Kernels of two functions
========================

Any smooth W(x.y) is a kernel: ``ZonalKernel(W, W')`` of its two functions.

Three that models use are here, each smoothed by a width w, as a kernel with a corner has a series
that does not end:

    rods         W = -sqrt(1 - u^2 + w^2)       excluded volume, abs(sin) of angles (Onsager, 1949)
    frames       W = (u^2 + w^2)^(p/2)          abs(u)^p, the p-frame energy (Ehler, Okoudjou 2012)
    confidence   W' = 1 / (1 + e^-((u - cos r) / w))    tokens at angles below r attract

In ascent rods align: a start that is almost uniform grows at the wave number whose eigenvalue is
largest, and ends in two opposite heaps.  With bounded confidence tokens gather in heaps that are
too far apart to see each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

import mfpde
from mfpde.theory import fastest_mode


def rods(width: float) -> mfpde.ZonalKernel:
    """W = -sqrt(1 - u^2 + w^2)."""
    squares = 1 + width**2
    return mfpde.ZonalKernel(
        lambda u: -np.sqrt(squares - u**2), lambda u: u / np.sqrt(squares - u**2)
    )


def frames(exponent: float, width: float) -> mfpde.ZonalKernel:
    """W = (u^2 + w^2)^(p/2)."""
    half = exponent / 2
    return mfpde.ZonalKernel(
        lambda u: (u**2 + width**2) ** half,
        lambda u: exponent * u * (u**2 + width**2) ** (half - 1),
    )


def confidence(radius: float, width: float) -> mfpde.ZonalKernel:
    """W' = 1 / (1 + e^-((u - cos r) / w))."""
    edge = np.cos(radius)
    return mfpde.ZonalKernel(
        lambda u: width * np.logaddexp(0.0, (u - edge) / width),
        lambda u: (1 + np.tanh((u - edge) / (2 * width))) / 2,
    )


def main(num_cells: int = 512) -> dict[str, Any]:
    result: dict[str, Any] = {}
    figure = Figure(figsize=(8.0, 3.0), layout="constrained")
    circle = mfpde.Circle(num_cells)
    start = mfpde.perturbed_uniform(circle, 0.3, seed=1)
    kernels = {"rods": rods(0.2), "confidence": confidence(0.8, 0.1)}
    for ax, (name, kernel) in zip(figure.subplots(1, 2), kernels.items(), strict=True):
        equation = mfpde.MeanFieldEquation(
            mfpde.Interaction(kernel), direction="ascent"
        )
        run = mfpde.solve(equation, start, t_end=40.0, atoms="exact")
        result[name] = run.final.atoms
        result[f"mode_{name}"] = fastest_mode(kernel, 2)
        print(f"{name}: fastest wave number {result[f'mode_{name}']}, {run.final}")
        mfpde.plot_density(run.final, ax=ax)
        ax.set_title(name)
    result["figure"] = figure
    return result


if __name__ == "__main__":
    figure = main()["figure"]
    mfpde.save_figure(figure, "results/kernels_of_two_functions.pdf")
