"""A network of four layers on the sphere, and its mean field
=========================================================

Exact tokens, the network with its layers refined, the flow of its tokens, and a density: a film.

Under LayerNorm of d = 4 tokens lie on S^2, where a network has a density.  Weights are made on the
spot.  A layer is a step of finite length: in m layers, each of 1/m of the step, tokens come to the
flow at order 1 in 1/m, and many of them are the density that the PDE moves.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

import mfpde

D, HEADS, UNITS, LAYERS = 4, 2, 16, 4
COPIES = (1, 2, 4, 8, 16)


def make_network(seed: int = 5, scale: float = 0.7) -> mfpde.Network:
    """Random weights, with biases and gains."""
    rng = np.random.default_rng(seed)

    def draw(*shape: int) -> np.ndarray:
        return scale * rng.standard_normal(shape) / np.sqrt(shape[-1])

    blocks = [
        mfpde.NetworkBlock(
            *(draw(2 * HEADS, D) for _ in range(3)),
            draw(D, 2 * HEADS),
            draw(UNITS, D),
            draw(D, UNITS),
            heads=HEADS,
            bq=draw(2 * HEADS),
            b1=draw(UNITS),
            gain1=1 + 0.2 * draw(D),
        )
        for _ in range(LAYERS)
    ]
    return mfpde.Network(blocks, norm="post")


def main(count: int = 600, num_rings: int = 32) -> dict[str, Any]:
    network, sphere = make_network(), mfpde.Sphere(num_rings)
    centres = [[0.6, 1.0], [2.0, 4.0]]
    start = mfpde.bumps(sphere, centres=centres, widths=0.5, background=0.4)
    atoms = mfpde.quantized(start, count)
    tokens = np.sqrt(D) * atoms.points @ network.basis.T
    layers = network.layers(time="unit")
    frames = np.linspace(0, LAYERS, 12 * LAYERS + 1)
    density = mfpde.solve(layers, start, save_at=frames)
    flow = mfpde.solve_particles(layers, atoms, save_at=layers.breakpoints)
    flown = np.stack([state.points for state in flow.states])
    angles = {}
    for m in COPIES:
        points = network.refined(m).run(tokens).points[::m] @ network.basis
        cosines = np.einsum("lni,lni->ln", points, flown)
        angles[m] = np.arccos(cosines.clip(-1, 1)).mean(axis=1)
    apart = mfpde.wasserstein(density.final, flow.final, support=500)
    ladder = network.ladder(
        tokens[:: count // 60], ["parallel flow", "half of the keys"]
    )
    print(ladder)
    print(f"density and flow of {count} tokens at the end: W1 {apart:.3f}")
    figure = draw_angles(angles, density)
    found = {"angles": angles, "apart": apart, "ladder": ladder}
    return found | {"density": density, "figure": figure}


def draw_angles(angles: dict[int, np.ndarray], run: mfpde.Run) -> Figure:
    """The angle to the flow for each m over the layers, above the density at the end."""
    figure = Figure(figsize=(9.0, 7.0), layout="constrained")
    above, below = figure.subfigures(2, 1)
    axes = above.subplots()
    for m, row in angles.items():
        axes.plot(row, marker="o", label=f"m = {m}")
    axes.set(xlabel="layer", ylabel="mean angle to the flow")
    axes.legend()
    mfpde.plot_globe(run.final, figure=below)
    return figure


if __name__ == "__main__":
    found = main()
    mfpde.save_figure(found["figure"], "results/network_on_the_sphere.pdf")
    mfpde.animate(found["density"], "results/network_on_the_sphere.gif")
