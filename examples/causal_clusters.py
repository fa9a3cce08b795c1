r"""Causal clusters, as rows and as tokens
======================================

Four clusters in one context, each drawn to all before it, and the one token that is not.

A quarter of the context each starts about an angle of its own.  Behind a causal mask the first
cluster stays and the others come to it, one after the other.  A density for each position (rows)
is what many tokens tend to.  But token i sees i tokens: the first one, that sees nobody, never
moves and draws its block to itself, so that N tokens follow the mean field until log(N) / c, c
the rate at which a cluster contracts.  Where it starts in a tail, the clusters end elsewhere
(units of time as in arXiv 2605.09213, e times shorter than those of the shifted kernel).
"""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from scipy.stats import qmc

import mfpde

CENTRES = np.array([1.0, 2.3, 3.4, 4.8])
TIMES, SHOWN = np.linspace(0.0, 4.0, 17), (0, 4, 16)
COLOURS = ("tab:blue", "tab:orange", "tab:green", "tab:red")


def draw_tokens(blocks: list[mfpde.Density], each: int, first: float) -> mfpde.Atoms:
    """Tokens at quantiles of their block, in van der Corput's order from ``first`` on."""
    levels = (qmc.Halton(1, scramble=False).random(each)[:, 0] + first) % 1
    order = (each * levels).astype(int)
    points = [mfpde.quantized(block, each).points[order] for block in blocks]
    return mfpde.Atoms(np.concatenate(points))


def main(num_cells: int = 128, each: int = 64) -> dict[str, Any]:
    circle, n = mfpde.Circle(num_cells), 4 * each
    blocks = [mfpde.bumps(circle, widths=[0.5], angles=[angle]) for angle in CENTRES]
    start = mfpde.PositionedDensity.from_blocks(blocks, positions=32)
    times, s = np.e * TIMES, (np.arange(n) + 1) / n
    equation, strict = (
        mfpde.MeanFieldEquation(
            mfpde.Attention(1.0, positions=mfpde.Causal(sees_itself=sees)),
            direction="ascent",
        )
        for sees in (True, False)
    )
    rows = mfpde.solve(equation, start, t_end=times[-1], save_at=times)
    runs, quarters = {}, np.linspace(0, 1, 5)
    for name, first in (("at the median", 0.5), ("in a tail", 0.0)):
        tokens = draw_tokens(blocks, each, first)
        runs[name] = mfpde.solve_particles(
            strict, tokens, positions=s, t_end=times[-1], save_at=times
        )
    firsts = np.array([state.moments(1)[:, 1].conj() for state in rows.states])
    means = {"rows": firsts.reshape(len(TIMES), 4, -1).mean(axis=2)}
    for name, run in runs.items():
        means[name] = np.array([one.means(quarters) @ [1, 1j] for one in run.states])
    errors = {name: np.abs(means[name] - means["rows"]).max(axis=1) for name in runs}
    for name, error in errors.items():
        print(
            f"{n} tokens, the first {name}: {error[[4, 8, 16]].round(3)} at t = 1, 2, 4"
        )
    return {"rows": rows, "runs": runs, "means": means, "errors": errors}


def draw(result: dict[str, Any]) -> Figure:
    """Rows with tokens on them at three times, and the mean angle of each quarter."""
    figure, axes = plt.subplots(1, 4, figsize=(12, 3.2), layout="constrained")
    rows, tokens = result["rows"], result["runs"]["at the median"]
    faces = np.append(0.0, rows.final.geometry.face_angles)
    for ax, k in zip(axes, SHOWN, strict=False):
        state, seen = rows.states[k], tokens.states[k]
        colours = np.log10(np.maximum(state.values.T, 1e-3))
        ax.pcolormesh(state.edges, faces, colours, cmap="magma_r", rasterized=True)
        angles = np.angle(seen.points @ [1, 1j]) % (2 * np.pi)
        ax.plot(seen.positions, angles, ".", markersize=2.5, color="tab:cyan")
        ax.set(title=f"t = {TIMES[k]:g}", xlabel="position", ylim=(0, 2 * np.pi))
    axes[0].set_ylabel("angle")
    for (name, means), look in zip(
        result["means"].items(), ("-", "o", "--"), strict=True
    ):
        angles = np.unwrap(np.angle(means), axis=0) % (2 * np.pi)
        lines = axes[3].plot(TIMES, angles, look, markersize=3)
        for line, colour in zip(lines, COLOURS, strict=True):
            line.set_color(colour)
        lines[0].set_label(name if name == "rows" else f"tokens, first {name}")
    axes[3].set(title="mean angles of the quarters", xlabel="t", ylim=(0, 8.4))
    axes[3].legend(fontsize=8)
    return figure


if __name__ == "__main__":
    mfpde.save_figure(draw(main()), "results/causal_clusters.pdf")
