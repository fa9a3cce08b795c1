"""A head of a network
===================

On S^2, queries, keys and values in place of D and V.

A trained layer holds matrices Q, K (rank by d) and V (d by d); its logits are
beta (Qx).(Ky) = beta x.Dy with D = Q^T K.  Here they have rank 2 and are drawn at random; with
weights of your own, read them by ``np.load`` or ``safetensors`` and change nothing else.  The
density is compared with particles, and the atoms at the end are looked at.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import mfpde


def main(nlat: int = 48, count: int = 4000) -> dict[str, Any]:
    generator = np.random.default_rng(5)
    queries, keys = generator.standard_normal((2, 2, 3))
    values = generator.standard_normal((3, 3))
    bilinear = queries.T @ keys
    head = mfpde.Attention(
        4.0 / np.linalg.norm(bilinear, 2),
        normalized=True,
        bilinear=bilinear,
        value=values,
    )
    equation = mfpde.MeanFieldEquation(head, direction="ascent")
    sphere = mfpde.Sphere(nlat)
    start = mfpde.Density.from_function(sphere, lambda x: np.exp(x[..., 0] - x[..., 2]))
    run = mfpde.solve(equation, start, t_end=2.0, save_at=[0, 1, 2])
    particles = mfpde.solve_particles(
        equation, mfpde.quantized(start, count), t_end=2.0
    )
    means = [
        measure.density.masses.ravel() @ sphere.points.reshape(-1, 3)
        if isinstance(measure, mfpde.Measure)
        else measure.masses @ measure.points
        for measure in (run.final, particles.final)
    ]
    print(run)
    print(f"mean token: density {means[0].round(4)}, particles {means[1].round(4)}")
    difference = float(np.abs(means[0] - means[1]).max())
    return {"difference": difference, "figure": mfpde.plot_snapshots(run)}


if __name__ == "__main__":
    figure = main()["figure"]
    mfpde.save_figure(figure, "results/head_of_a_network.pdf")
