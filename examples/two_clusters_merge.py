"""Two clusters merge
==================

On the circle: density against the exact time.

Two atoms of total mass 1 at angle D approach with D' = -exp(beta (cos D - 1)) sin D, at a rate
that is exponentially small in beta: the metastability of clusters.  The density run starts
from narrow bumps; on the grid they become atoms that still move.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.integrate import quad

import mfpde

BETA, DISTANCE, WIDTH = 12.0, 1.0, 0.05


def exact_time(start: float, end: float) -> float:
    """Time in which two atoms of total mass 1 come from angle ``start`` to ``end``."""
    return float(
        quad(lambda d: np.exp(BETA * (1 - np.cos(d))) / np.sin(d), end, start)[0]
    )


def bumps(points: np.ndarray) -> np.ndarray:
    angles = np.arctan2(points[..., 1], points[..., 0])
    return sum(
        np.exp(-((angles - side) ** 2) / (2 * WIDTH**2))
        for side in (-DISTANCE / 2, DISTANCE / 2)
    )


def distance(measure: mfpde.Measure) -> float:
    """Twice the mean distance from the middle: the distance of the two clusters."""
    angles = np.abs(np.angle(np.exp(1j * measure.geometry.angles)))
    return float(2 * angles @ measure.density.masses)


def main(num_cells: int = 512) -> dict[str, Any]:
    circle = mfpde.Circle(num_cells)
    equation = mfpde.MeanFieldEquation(mfpde.Attention(BETA), direction="ascent")
    expected = exact_time(DISTANCE, 0.2)
    run = mfpde.solve(
        equation,
        mfpde.Density.from_function(circle, bumps),
        t_end=1.3 * expected,
        save_every=expected / 400,
        observe={"distance": distance},
    )
    distances = run.diagnostics["distance"]
    reached = float(np.interp(-0.2, -distances, run.times))
    print(run)
    print(f"distance 0.2 at t = {reached:.2f}; two atoms: {expected:.2f}")
    return {"reached": reached, "expected": expected, "figure": drawn(run, expected)}


def drawn(run: mfpde.Run, expected: float) -> Figure:
    """The density over angle and time, and the distance beside that of two atoms."""
    figure = Figure(figsize=(8.0, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    mfpde.plot_space_time(run, ax=left)
    right.plot(run.times, run.diagnostics["distance"], label="density")
    angles = np.linspace(0.2, DISTANCE, 60)
    times = [expected - exact_time(angle, 0.2) for angle in angles]
    right.plot(times, angles, "--", label="two atoms, exact")
    right.set(xlabel="time t", ylabel="distance")
    right.legend()
    return figure


if __name__ == "__main__":
    figure = main()["figure"]
    mfpde.save_figure(figure, "results/two_clusters_merge.pdf")
