r"""Error against time: particles, labels, a filtered spectral code and every scheme (S^1).

Seconds depend on the machine and stand in the figure only.  The quantities are the W1 errors
at the finest size against what each method promises: pi / (2 n) for quantised particles,
10 times the tolerance in time for the schemes.
"""

from __future__ import annotations

import time

import numpy as np
from matplotlib.figure import Figure

from validation.charts import log_log, panels
from validation.claim import Claim, Findings, equal
from validation.schemes.smooth_problems import (
    LATER,
    METHODS,
    PARTICLES_COMPARED_AT,
    RTOLS,
    SMOOTH,
    Reference,
    SmoothProblem,
)

CLAIM = Claim(
    "Error against cost of particles, labels, spectral code and schemes (S¹)",
    "methods' own error estimates",
    "At their finest size all methods are as accurate as they promise; what each digit costs "
    "is in the figure.",
)
SIZES = {
    "random particles": (256, 1024, 4096, 16384),
    "quantised particles": (64, 256, 1024, 4096),
    "labels": (32, 48, 64, 96, 128, 192, 256),
    "filtered spectral": (96, 128, 192, 256, 512, 1024),
    **dict.fromkeys(RTOLS, (128, 256, 512, 1024, 2048)),
}
REPEATS = 2
# The reference of particles is taken at points half of whose spacing counts.
SLACK = np.pi / PARTICLES_COMPARED_AT
SPECTRAL_TOLERANCE = 1e-5

Curve = list[tuple[float, float, float]]


@CLAIM
def main(quick: bool = False) -> Findings:
    """A smooth problem, and a later time when it is 10 times as narrow."""
    problems = {"cost_smooth": SMOOTH[0], "cost_later": LATER}
    if quick:
        del problems["cost_later"]
    for figure, problem in problems.items():
        reference = Reference(problem, 512 if quick else 2048)
        found: dict[str, Curve] = {}
        for name in METHODS:
            sizes = SIZES[name][1:3] if quick else SIZES[name]
            repeats = 1 if quick else REPEATS
            found[name] = [
                cost(name, problem, n, reference, repeats=repeats) for n in sizes
            ]
            expected, allowed = 0.0, SPECTRAL_TOLERANCE
            if name in RTOLS:
                allowed = 10 * RTOLS[name]
            elif name == "quantised particles":
                expected, allowed = np.pi / 2 / sizes[-1], SLACK
            if name != "random particles":
                label = f"{problem.name}: W1 of {name}, n = {sizes[-1]}"
                yield equal(label, found[name][-1][2], expected, allowed)
        yield figure, draw(problem, found)


def cost(
    name: str, problem: SmoothProblem, size: int, reference: Reference, *, repeats: int
) -> tuple[float, float, float]:
    """Seconds, moment error and W1 of a method."""
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        outcome = METHODS[name](problem, size)
        seconds.append(time.perf_counter() - began)
    return min(seconds), *reference.errors(outcome)


def draw(problem: SmoothProblem, found: dict[str, Curve]) -> Figure:
    """Errors over seconds."""
    drawn, axes = panels(2, height=3.6)
    for ax, column, label in zip(
        axes, (1, 2), ("moments up to 8", "W1 [rad]"), strict=True
    ):
        curves = {}
        for name, curve in found.items():
            points = np.array(curve)
            curves[name] = points[:, 0], np.maximum(points[:, column], 1e-15)
        labels = {"xlabel": "seconds", "ylabel": f"error: {label}"}
        log_log(ax, curves, title=problem.name, **labels)
    # Beside the panels: inside, it would hide points.
    drawn.legend(*axes[0].get_legend_handles_labels(), loc="outside right center")
    return drawn
