"""A merge across the pole
=======================

Two clusters on the sphere merge: density against the exact time.

Two atoms of total mass 1 at angle D approach with D' = -exp(beta (cos D - 1)) sin D, wherever
they are: the pole, where the grid's rings shrink to a point, must not be felt.  The density
run starts from narrow bumps on opposite sides of it; on the grid they become atoms that still
move.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.integrate import quad

import mfpde

BETA, DISTANCE, WIDTH = 8.0, 1.2, 0.07
REACHED = 0.3


def exact_time(start: float, end: float) -> float:
    """Time in which two atoms of total mass 1 come from angle ``start`` to ``end``."""
    return float(
        quad(lambda d: np.exp(BETA * (1 - np.cos(d))) / np.sin(d), end, start)[0]
    )


def bumps(points: np.ndarray) -> np.ndarray:
    centres = [
        [side * np.sin(DISTANCE / 2), 0.0, np.cos(DISTANCE / 2)] for side in (-1, 1)
    ]
    return sum(np.exp((points @ centre - 1) / WIDTH**2) for centre in centres)


def distance(measure: mfpde.Measure) -> float:
    """Angle between the two clusters: those of the means of both halves, x > 0 and x < 0."""
    points, masses = measure.geometry.points, measure.density.masses
    means = [
        (masses[side, np.newaxis] * points[side]).sum(axis=0)
        for side in (points[..., 0] > 0, points[..., 0] < 0)
    ]
    angles = [np.arctan2(mean[0], mean[2]) for mean in means]
    return float(angles[0] - angles[1])


def main(nlat: int = 96) -> dict[str, Any]:
    sphere = mfpde.Sphere(nlat)
    equation = mfpde.MeanFieldEquation(mfpde.Attention(BETA), direction="ascent")
    expected = exact_time(DISTANCE, REACHED)
    run = mfpde.solve(
        equation,
        mfpde.Density.from_function(sphere, bumps),
        t_end=1.15 * expected,
        save_every=expected / 200,
        observe={"distance": distance},
    )
    distances = run.diagnostics["distance"]
    reached = float(np.interp(-REACHED, -distances, run.times))
    print(run)
    print(f"distance {REACHED} at t = {reached:.2f}; two atoms: {expected:.2f}")
    return {"reached": reached, "expected": expected, "figure": drawn(run, expected)}


def drawn(run: mfpde.Run, expected: float) -> Figure:
    """The distance of both clusters in time, beside that of two atoms."""
    figure = Figure(figsize=(6.0, 3.2), layout="constrained")
    ax = figure.subplots()
    ax.plot(run.times, run.diagnostics["distance"], label="density on 96 rings")
    angles = np.linspace(REACHED, DISTANCE, 60)
    times = [expected - exact_time(angle, REACHED) for angle in angles]
    ax.plot(times, angles, "--", label="two atoms, exact")
    ax.set(xlabel="time t", ylabel="distance across the pole")
    ax.legend()
    return figure


if __name__ == "__main__":
    figure = main()["figure"]
    mfpde.save_figure(figure, "results/sphere_merge_over_pole.pdf")
