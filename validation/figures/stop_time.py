r"""When a run stops, against the scale of the perceptron: an aim that the paper announces.

The paper's runs stop at max |v| <= 1e-4 over all particles.  For a density there is no such
time: a thin tail always leaves the unstable zeros of v.  Here a run has stopped when all but
5 % of the mass is within 0.1 of the atoms of the end, a time that density and particles
share; the paper's rule stands beside it, against the number of particles.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import mfpde
from mfpde.measure import AnyMeasure, as_measure
from mfpde.run import Run
from validation.claim import Claim, Quantity
from validation.figures.panels import SETTING_COLOURS, new_figure, styled
from validation.figures.paper_runs import (
    Setting,
    basins,
    density_run,
    largest_speed,
    particle_run,
)

Array = NDArray[np.float64]

CLAIM = Claim(
    title="Stop time against the scale of the perceptron",
    source="section 2, aims (final time against perceptron scale)",
    statement=(
        "The stronger the perceptron, the sooner a run comes to rest; where it dominates, "
        "the time falls as 1/scale."
    ),
    condition=(
        "If 'at rest' allows for 5 % of the mass: the paper's maximum over particles is a "
        "time that grows with their number, like log N, and is infinite for a density. "
        "In descent a weak perceptron gathers slowly (scale 0.3) or not at all: at scale 0.1 "
        "the certified minimiser is a density. All this with GeLU neurons: ReLU neurons leave "
        "dead zones, whose mass keeps a run from "
        "rest for times that their scale does not shorten (Figure 1)."
    ),
)
STOP = 1e-4
TAIL = 0.05
ARRIVED = 0.1
"""Mass within this angle of an atom of the end has arrived."""
NUMBER_SCALE = 3.0
BASE = {
    "ascent, GeLU": Setting(5.0, "ascent", "gelu"),
    "descent, GeLU": Setting(5.0, "descent", "gelu"),
}


def main(quick: bool = False) -> dict[str, Any]:
    scales = (10.0, 30.0) if quick else (1.0, 3.0, 10.0, 30.0)
    cells, count, saves = (256, 200, 24) if quick else (512, 400, 60)
    found = {}
    quantities = []
    for name, setting in BASE.items():
        rows = []
        for scale in scales:
            times = np.geomspace(0.3 / max(scale, 1.0), _latest(scale), saves)
            scaled = replace(setting, scale=scale)
            density = density_run(scaled, cells, times)
            ends = basins(density.final, scaled.equation).points
            particles = particle_run(
                scaled, count, times, time_step=0.5 / max(scale, 1.0)
            )
            rows.append((_arrival(density, ends), _arrival(particles, ends)))
            quantities.append(_agree(f"{name}, scale {scale:g}", rows[-1], times))
        found[name] = np.array(rows)
        quantities.append(_law(name, scales, found[name][:, 0]))
    numbers = (20, 80) if quick else (25, 100, 400, 1600)
    maxima = [_paper_stop(n, saves) for n in numbers]
    # Twice the particles come closer to the unstable zero by half: log 2 over its rate.
    quantities.append(
        Quantity(
            f"descent, GeLU: the paper's stop time at N = {numbers[-1]} over that at "
            f"N = {numbers[0]}",
            maxima[-1] / maxima[0],
            1.0,
            0.0,
            "at least",
        )
    )
    weak = replace(BASE["descent, GeLU"], scale=0.1)
    kind = mfpde.minimize(weak.equation, mfpde.Circle(256)).kind
    quantities.append(
        Quantity(
            "descent, GeLU, scale 0.1: the minimiser is a density (1: yes)",
            float(kind == "density"),
            1.0,
            0.0,
        )
    )
    figure = _figure(scales, found, (numbers, maxima))
    return {"quantities": quantities, "figures": {"stop_time": figure}}


def _latest(scale: float) -> float:
    return 1200.0 / scale if scale < 2 else 150.0 / scale


def _arrival(run: Run, ends: Array) -> float:
    """Last time at which more than ``TAIL`` of the mass is not near the ``ends``."""
    away = np.array([_away(state, ends) for state in run.states])
    return _crossing(run.times[1:], away[1:] / TAIL)


def _away(state: AnyMeasure, ends: Array) -> float:
    if isinstance(state, mfpde.Atoms):
        points, masses = state.points, state.masses
    else:
        density = as_measure(state).density
        points, masses = density.geometry.points, density.masses
    return float(masses[(points @ ends.T).max(axis=1) < np.cos(ARRIVED)].sum())


def _crossing(times: Array, values: Array) -> float:
    """Last time at which the values fall below 1, interpolated in logarithms."""
    above = np.flatnonzero(values > 1)
    if len(above) == 0 or above[-1] == len(times) - 1:
        return float("nan")
    k = above[-1]
    logs = np.log(np.maximum(values[k : k + 2], 1e-9))
    share = logs[0] / (logs[0] - logs[1])
    return float(times[k] ** (1 - share) * times[k + 1] ** share)


def _paper_stop(count: int, saves: int) -> float:
    """The paper's stop time, max |v| <= 1e-4, in descent."""
    setting = replace(BASE["descent, GeLU"], scale=NUMBER_SCALE)
    times = np.geomspace(1.0, 2 * _latest(NUMBER_SCALE), 2 * saves)
    run = particle_run(setting, count, times, time_step=0.25)
    largest = [largest_speed(state, setting.equation) for state in run.states[1:]]
    return _crossing(run.times[1:], np.array(largest) / STOP)


def _agree(name: str, both: tuple[float, float], times: Array) -> Quantity:
    """The crossing lies between two saves: so far apart may the two be."""
    return Quantity(
        f"{name}: log of the arrival time, density against particles",
        float(np.log(both[0])),
        float(np.log(both[1])),
        float(np.log(times[-1] / times[-2])),
    )


def _law(name: str, scales: tuple[float, ...], stops: Array) -> Quantity:
    """Between the two largest scales: the exponent -1 of a flow of the perceptron alone."""
    slope = np.log(stops[-1] / stops[-2]) / np.log(scales[-1] / scales[-2])
    return Quantity(
        f"{name}: exponent of the arrival time between scales {scales[-2]:g} and {scales[-1]:g}",
        float(slope),
        -1.0,
        0.25,
    )


@styled
def _figure(
    scales: tuple[float, ...],
    found: dict[str, Array],
    by_number: tuple[tuple[int, ...], list[float]],
) -> Figure:
    figure = new_figure(7.6, 3.4)
    ax, other = figure.subplots(1, 2, width_ratios=[1.5, 1])
    other.semilogx(*by_number, "o-", ms=4, color=SETTING_COLOURS[1])
    other.set_xlabel("particles N")
    other.set_title("the paper's rule, max |v| < 1e-4\n(descent, scale 3)")
    other.set_ylabel("stop time")
    for k, (name, rows) in enumerate(found.items()):
        colour = SETTING_COLOURS[k]
        ax.loglog(
            scales, rows[:, 0], "o-", ms=5, color=colour, label=f"{name}: density"
        )
        ax.loglog(scales, rows[:, 1], "x", ms=7, color=colour, label="particles")
    guide = np.nanmax([rows[-1, 0] for rows in found.values()]) * 1.6
    ax.loglog(
        scales, guide * scales[-1] / np.array(scales), "k--", lw=0.8, label="1/scale"
    )
    ax.set_xlabel("scale of the weights")
    ax.set_ylabel("time until 95 % have arrived")
    ax.legend()
    figure.suptitle("S¹, β = 5, shifted kernel: stop time")
    return figure


if __name__ == "__main__":
    from validation.figures.shown import show

    show(main)
