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
from validation.charts import describe, level_line, log_log, panels, rate_line
from validation.claim import Claim, Quantity
from validation.particle_limit.problems import Problem, problems
from validation.rates import slope

CLAIM = Claim(
    "Quantised particles tend to the density as n^(-1) (S¹)",
    "mean-field limit, eq. (2.5); the constant is derived in the script",
    "W1 between the density and n particles that start at the quantiles (i + 1/2)/n falls "
    "as 1/n, and n W1 tends to π/2 at every time, for smooth and for kinked densities.",
)
TIME_STEP = 0.1
VARIATION = 100.0


def distances(
    problem: Problem, sizes: tuple[int, ...], density: mfpde.Measure
) -> list[float]:
    """W1 to the density at t = 3 for each number of particles."""
    start = problem.start(mfpde.Circle(4 * max(sizes)))
    return [
        mfpde.wasserstein(density, problem.moved(mfpde.quantized(start, n), TIME_STEP))
        for n in sizes
    ]


def main(quick: bool = False) -> dict[str, object]:
    """Slopes and constants; the density's own error limits both."""
    sizes = tuple(2**k for k in (range(4, 8) if quick else range(5, 15)))
    cells = 256 if quick else 4096
    quantities, curves, floors = [], {}, {}
    for problem in problems():
        density = problem.density(cells)
        floor = mfpde.wasserstein(density, problem.labels(cells, cells=cells))
        errors = distances(problem, sizes, density)
        curves[problem.name], floors[problem.name] = (sizes, errors), floor
        finer = slice(len(sizes) // 2, None)
        ends = np.array(sizes[finer])[[0, -1]]
        # The density's own error, and the change of the density over one piece.
        shares = ends * floor / (np.pi / 2) + VARIATION / ends**2
        quantities += [
            Quantity(
                f"{problem.name}: slope over the finer half",
                slope(sizes[finer], errors[finer]),
                -1.0,
                float(2 * shares.max() / np.log(ends[1] / ends[0])),
            ),
            Quantity(
                f"{problem.name}: n W1 at n = {sizes[-1]}",
                sizes[-1] * errors[-1],
                np.pi / 2,
                float(shares[-1]),
                relative=True,
            ),
        ]
    drawn, (ax,) = panels(1, width=6.0)
    log_log(ax, curves, xlabel="particles n", ylabel="W1 to the density [rad]")
    rate_line(ax, sizes, start=0.5 / sizes[0], rate=-1.0, label="1/n")
    for line, (name, floor) in zip(ax.lines, floors.items(), strict=False):
        level_line(ax, floor, label=f"_{name}", colour=line.get_color())
    for number, line in enumerate(ax.lines[: len(curves)]):
        # They lie on one another.
        line.set(markersize=9.0 - 3.0 * number, linewidth=3.5 - 1.2 * number)
    describe(ax, title="dashed: the density's own error")
    # Beside the panel: inside, it would hide points.
    drawn.legend(loc="outside right center", fontsize=8, frameon=False)
    return {"quantities": quantities, "figures": {"quantised_circle": drawn}}
