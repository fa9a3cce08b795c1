r"""Mass to rounding and no negative value, by every scheme on every geometry.

A conservative step changes the total mass by rounding alone: after n steps by at most about
1e-17 n (a random walk of sums of 1 would be less, a drift of one unit in the last place a
step 1e-16 n).  Outflows that never take more than a cell has keep any start nonnegative, for
steps of any length: rough random starts with half of the cells empty, steps far beyond the
draining time.
"""

from __future__ import annotations

import warnings

import mfpde
from validation.charts import panels, show_legend
from validation.claim import Claim, Findings, at_least, vanishes
from validation.schemes.places import STYLES, Place, places

CLAIM = Claim(
    "Every scheme keeps mass to rounding and the density nonnegative",
    "conservation form of eq. (2.5)",
    "On S¹, S² and zonal grids the total mass changes by less than 1e-13 in a thousand steps, "
    "and rough starts stay nonnegative for steps of any length.",
)
DRIFT = 1e-13
STEP = 0.01


@CLAIM
def main(quick: bool = False) -> Findings:
    """Drift over a thousand steps, least values over rough starts."""
    steps, seeds = (40, range(1)) if quick else (1000, range(4))
    drawn, axes = panels(3, width=3.2)
    for place, ax in zip(places(quick), axes, strict=True):
        for scheme in place.schemes:
            runs = [smooth_run(place, scheme, steps)]
            runs += [rough_run(place, scheme, seed) for seed in seeds]
            name, mass = f"{place.name}, {scheme}", runs[0].diagnostics["mass"]
            taken = runs[0].statistics["steps"]
            yield vanishes(
                f"{name}: mass drift in {taken} steps", runs[0].mass_drift, DRIFT
            )
            minima = [run.diagnostics["minimum"].min() for run in runs]
            least = min(*minima, *(run.final.density.values.min() for run in runs))
            yield at_least(f"{name}: least density", least, 0.0)
            ax.plot(runs[0].times, mass - mass[0], **STYLES[scheme], label=scheme)
        ax.set(title=place.name, xlabel="time", ylabel="mass − mass at the start")
        ax.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
    show_legend(axes[0])
    yield "conservation", drawn


def smooth_run(place: Place, scheme: str, steps: int) -> mfpde.Run:
    """At least ``steps`` steps of ascent into atoms."""
    return mfpde.solve(
        place.equation("ascent"),
        place.smooth_start(),
        t_end=STEP * steps,
        save_every=STEP * steps / 20,
        max_step=STEP,
        transport=scheme,
    )


def rough_run(place: Place, scheme: str, seed: int) -> mfpde.Run:
    """20 steps of up to 10 from a rough start, with odd seeds in ascent."""
    with warnings.catch_warnings():
        # Where the grid decides when mass leaves matters to no sign.
        warnings.filterwarnings("ignore", "at t = .* a share", UserWarning)
        return mfpde.solve(
            place.equation("ascent" if seed % 2 else "descent"),
            place.rough_start(seed),
            t_end=10.0,
            rtol=1.0,
            stop=[mfpde.StepLimit(20)],
            transport=scheme,
        )
