"""A network of 24 layers
======================

On the circle: density against particles, and the energy at breakpoints.

Every layer has its own perceptron and its own beta.  Within a layer the energy of ascent never
falls; at a breakpoint it jumps, since another layer has another energy: a save there tells both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

import mfpde

LAYERS, DURATION, SEED = 24, 0.25, 7


def sampled_layer(rng: np.random.Generator, index: int) -> mfpde.MeanFieldEquation:
    """Attention whose beta grows with the depth, and four neurons."""
    beta = 2.0 + 4.0 * index / (LAYERS - 1)
    directions = rng.standard_normal((4, 2))
    weights = 0.5 * rng.standard_normal(4)
    return mfpde.MeanFieldEquation(
        mfpde.Attention(beta),
        mfpde.Perceptron(directions, weights, "gelu"),
        direction="ascent",
    )


def main(num_cells: int = 512) -> dict[str, Any]:
    layers = mfpde.Layers.random(
        sampled_layer, count=LAYERS, duration=DURATION, seed=SEED
    )
    start = mfpde.perturbed_uniform(mfpde.Circle(num_cells), 0.1)
    run = mfpde.solve(layers, start, save_at=layers.breakpoints)
    particles = mfpde.solve_particles(
        layers, start, save_at=layers.breakpoints, method="labels"
    )
    rises = run.energies[1:] - energies_after(run)[:-1]
    distances = [
        mfpde.wasserstein(one, other)
        for one, other in zip(run.states, particles.states, strict=True)
    ]
    print(run)
    print(f"least rise of the energy within a layer: {rises.min():.3g}")
    print(f"largest distance from the particles: {max(distances):.1e}")
    return {
        "least_rise": float(rises.min()),
        "distance": max(distances),
        "figure": drawn(run),
    }


def energies_after(run: mfpde.Run) -> np.ndarray:
    """Energies by the layer that begins at each save; run.energies has those of the one before."""
    saves = zip(run.times, run.states, strict=True)
    return np.array([run.layers.equation_after(t).energy(state) for t, state in saves])


def drawn(run: mfpde.Run) -> Figure:
    """The density over angle and depth, and the energy, which jumps between layers."""
    figure = Figure(figsize=(8.0, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    mfpde.plot_space_time(run, ax=left)
    after = energies_after(run)
    for index in range(LAYERS):
        depths = run.times[index : index + 2]
        right.plot(depths, [after[index], run.energies[index + 1]], "C0o-", ms=2)
    right.set(xlabel="depth", ylabel="energy E of the layer's own equation")
    return figure


if __name__ == "__main__":
    figure = main()["figure"]
    mfpde.save_figure(figure, "results/network_of_24_layers.pdf")
