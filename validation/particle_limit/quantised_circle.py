r"""Quantised particles on the circle: n W1 tends to pi / 2, at every time.

A particle starts at the median of the 1/n of the mass that it stands for.  The flow keeps
the order of points on a circle, so that it stays the median of its piece, and with pieces
of lengths w_i, over which the density varies little,

    W1 = sum_i w_i / (4 n) (1 + O(1/n^2)) = (2 pi) / (4 n),

for every density without a hole.
"""

from __future__ import annotations

import numpy as np

import mfpde
from validation.charts import level_line, log_log, panels, rate_line, show_legend
from validation.claim import Claim, Findings, equal
from validation.particle_limit.problems import problems
from validation.rates import slope

CLAIM = Claim(
    "Quantised particles tend to the density as n^(-1) (S¹)",
    "mean-field limit, eq. (2.5); the constant is derived in the script",
    "W1 between the density and n particles that start at the quantiles (i + 1/2)/n falls "
    "as 1/n, and n W1 tends to π/2 at every time, for smooth and for kinked densities.",
)
TIME_STEP = 0.1
VARIATION = 100.0


@CLAIM
def main(quick: bool = False) -> Findings:
    sizes = tuple(2**k for k in (range(4, 8) if quick else range(5, 15)))
    cells, finer = 256 if quick else 4096, slice(len(sizes) // 2, None)
    figure, axes = panels(3)
    for ax, problem in zip(axes, problems(), strict=True):
        density, start = problem.density(cells), problem.start(4 * sizes[-1])
        floor = mfpde.wasserstein(density, problem.label_density(cells, cells))
        starts = [mfpde.quantized(start, n) for n in sizes]
        moved = [problem.move(atoms, time_step=TIME_STEP) for atoms in starts]
        errors = [mfpde.wasserstein(density, atoms) for atoms in moved]
        ends = np.array(sizes[finer])[[0, -1]]
        # The density's own error, and the change of the density over one piece.
        shares = ends * floor / (np.pi / 2) + VARIATION / ends**2
        name, found = f"{problem.name}: ", slope(sizes[finer], errors[finer])
        allowed = 2 * shares.max() / np.log(ends[1] / ends[0])
        yield equal(f"{name}slope over the finer half", found, -1.0, allowed)
        name, found = f"{name}n W1 at n = {sizes[-1]}", sizes[-1] * errors[-1]
        yield equal(name, found, np.pi / 2, shares[-1], relative=True)
        curve, labels = {"solver": (sizes, errors)}, ("particles n", "W1 [rad]")
        log_log(ax, curve, title=problem.name, xlabel=labels[0], ylabel=labels[1])
        rate_line(ax, sizes, start=np.pi / 2 / sizes[0], rate=-1.0, label="π/(2n)")
        level_line(ax, floor, label="the density's own error")
        show_legend(ax)
    yield "quantised_circle", figure
