r"""Error against time: particles, labels, a filtered spectral code and every scheme (S^1).

Seconds depend on the machine and stand in the figure only.  The quantities are the W1 errors
at the finest size against what each method promises: pi / (2 n) for quantised particles,
10 times the tolerance in time or h^2 over the width for the schemes.
"""

from __future__ import annotations

import numpy as np

from validation.charts import (
    COLOURS,
    MARKERS,
    describe,
    panels,
    spare_ticks,
)
from validation.claim import Claim, Quantity
from validation.schemes.smooth_problems import (
    LATER,
    METHODS,
    PARTICLES_COMPARED_AT,
    SCHEMES,
    SMOOTH,
    Reference,
    SmoothProblem,
    moved_labels,
    promised_error,
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
    **dict.fromkeys(SCHEMES, (128, 256, 512, 1024, 2048)),
}
REPEATS = 2
SPECTRAL_TOLERANCE = 1e-5

Curve = list[tuple[float, float, float]]


def measured(problem: SmoothProblem, quick: bool) -> tuple[dict[str, Curve], Reference]:
    """Seconds, moment error and W1 for each method and size."""
    reference = Reference(moved_labels(problem, 512 if quick else 2048))
    found: dict[str, Curve] = {}
    for name, run in METHODS.items():
        found[name] = []
        sizes = SIZES[name][1:3] if quick else SIZES[name]
        for size in sizes:
            outcomes = [run(problem, size) for _ in range(1 if quick else REPEATS)]
            seconds = min(outcome.seconds for outcome in outcomes)
            found[name].append((seconds, *reference.errors(outcomes[0])))
    return found, reference


def promises(
    problem: SmoothProblem, found: dict[str, Curve], *, largest: float, quick: bool
) -> list[Quantity]:
    """W1 at the finest size of every method that promises a bound."""
    quantities = []
    for name, curve in found.items():
        size = (SIZES[name][1:3] if quick else SIZES[name])[-1]
        error = curve[-1][2]
        label = f"{problem.name}: W1 of {name}, n = {size}"
        if name in SCHEMES:
            allowed = promised_error(name, size, largest)
            quantities.append(Quantity(label, error, 0.0, allowed))
        elif name == "quantised particles":
            # The reference is taken at points half of whose spacing counts.
            slack = np.pi / PARTICLES_COMPARED_AT
            quantities.append(Quantity(label, error, np.pi / 2 / size, slack))
        elif name in ("labels", "filtered spectral"):
            quantities.append(Quantity(label, error, 0.0, SPECTRAL_TOLERANCE))
    return quantities


def main(quick: bool = False) -> dict[str, object]:
    """A smooth problem, and a later time when it is 10 times as narrow."""
    quantities, figures = [], {}
    for problem in (SMOOTH[0],) if quick else (SMOOTH[0], LATER):
        found, reference = measured(problem, quick)
        quantities += promises(problem, found, largest=reference.largest, quick=quick)
        name = "cost_smooth" if problem is SMOOTH[0] else "cost_later"
        figures[name] = figure(problem, found)
    return {"quantities": quantities, "figures": figures}


def figure(problem: SmoothProblem, found: dict[str, Curve]) -> object:
    """Errors over seconds."""
    drawn, axes = panels(2, height=3.6)
    colours = [*COLOURS, "#666666", "#E69F00"]
    for ax, column, label in zip(
        axes, (1, 2), ("moments up to 8", "W1 [rad]"), strict=True
    ):
        for number, (name, curve) in enumerate(found.items()):
            points = np.array(curve)
            ax.loglog(
                points[:, 0],
                np.maximum(points[:, column], 1e-15),
                color=colours[number],
                marker=MARKERS[number % len(MARKERS)],
                markersize=3.5,
                lw=1.0,
                label=name,
            )
        describe(ax, xlabel="seconds", ylabel=f"error: {label}", title=problem.name)
        spare_ticks(ax)
    # Beside the panels: inside, it would hide points.
    drawn.legend(
        *axes[0].get_legend_handles_labels(),
        loc="outside right center",
        fontsize=7,
        frameon=False,
    )
    return drawn
