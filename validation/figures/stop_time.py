r"""When a run comes to rest, against perceptron scale and normalisation (section 4, aim (iii)).

The paper's runs stop at max |v| <= 1e-4 over all particles.  For a density there is no such
time: a thin tail always leaves the unstable zeros of v.  Here a run rests when all but a
twentieth of the mass is at the atoms of the end, a time that density and particles share; the
paper's rule stands beside it, against the number of particles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import mfpde
from validation.characteristics import equal_masses, moved
from validation.claim import Claim, Findings, Quantity, at_most, equal, mark, vanishes
from validation.figures import atoms, drawing, settings
from validation.figures.settings import TURN, Setting, basins, particle_run
from validation.figures.sweeps import fit_slope
from validation.independent import cells_of, problem_of

Array = NDArray[np.float64]

CLAIM = Claim(
    title="Time to rest against perceptron scale and normalisation",
    source="section 4, aim (iii)",
    statement=(
        "The stronger the perceptron, the sooner a run comes to rest, with softmax as "
        "without; where it dominates, the time falls as 1/scale."
    ),
    condition=(
        "If 'at rest' allows for a twentieth of the mass: the paper's maximum over particles "
        "is a time that grows with their number, by {growth:.2g} for each factor of e, and is "
        "infinite for a density. And a weak perceptron need not gather at all: with softmax in "
        "descent nothing does at scale = 1, the mean of x is {spread:.2g} long. All this with "
        "GeLU neurons."
    ),
)
STOP: Final = 1e-4
TAIL: Final = 0.05
NEAR, FAR = 0.05, 0.15
"""Mass within the first distance of an atom of the end has arrived, beyond the other not."""
NUMBER_SCALE: Final = 3.0
SETTINGS: Final = {
    "ascent": Setting(5.0, "ascent", "gelu"),
    "descent": Setting(5.0, "descent", "gelu"),
    "softmax, ascent": Setting(5.0, "ascent", "gelu", normalized=True),
    "softmax, descent": Setting(5.0, "descent", "gelu", normalized=True),
}
SCALES = (1.0, 3.0, 10.0, 30.0)
SPREAD, GATHERS = "softmax, descent", 10.0
"""Softmax repels more strongly: below this scale nothing gathers."""
STRONG, STRONG_COUNT = 1000.0, 400
ROUNDING = 1e-9
NUMBERS = (25, 50, 100, 200, 400, 800, 1600, 3200, 6400)
SHOWN = {"shows": "condition"}


class Sizes(NamedTuple):
    """Cells of the density, particles beside it, and saves."""

    cells: int
    count: int
    saves: int


@CLAIM
def main(quick: bool = False) -> Findings:
    names, scales, numbers = tuple(SETTINGS), SCALES, NUMBERS
    sizes = Sizes(1024, 800, 120)
    if quick:
        names, scales, numbers = ("descent", "softmax, ascent"), SCALES[2:], NUMBERS[:4]
        sizes = Sizes(256, 400, 30)
    found: dict[str, Array] = {}
    for name in names:
        times = np.full((2, len(scales)), np.nan)
        for k, scale in enumerate(scales):
            if name != SPREAD or scale >= GATHERS:
                times[:, k], apart = _arrivals(_scaled(name, scale), sizes)
                rows = _agree(times[:, k], apart, sizes.count)
                yield from mark(rows, under=f"{name}, scale {scale:g}: ")
        found[name] = times
        yield from mark(_law(name, scales, times), under=f"{name}: ")
    if not quick:
        yield _spread(sizes)
    stops = [_paper_stop(n, 60 if quick else 120) for n in numbers]
    yield _growth(numbers, stops)
    yield "stop_time", _figure(scales, found, numbers, stops)


def _scaled(name: str, scale: float) -> Setting:
    return replace(SETTINGS[name], scale=scale)


def _latest(scale: float) -> float:
    return 1200.0 / scale if scale < 2 else 150.0 / scale


def _both(setting: Setting, sizes: Sizes, times: Any) -> tuple[Any, Any]:
    """A density and particles, saved at the same times."""
    step = 0.5 / max(setting.scale, 1.0)
    density = settings.density_run(setting, sizes.cells, times, atoms="grid")
    return density, particle_run(setting, sizes.count, times, time_step=step)


def _arrivals(setting: Setting, sizes: Sizes) -> tuple[list[float], Array]:
    """When density and particles arrive at the atoms that the particles end at.

    Beside the times stands how far apart the masses (n,) at each atom are at last.
    """
    start = 0.3 / max(setting.scale, 1.0)
    times = np.geomspace(start, _latest(setting.scale), sizes.saves)
    both = _both(setting, sizes, times)
    ends = basins(both[1].final, setting.equation).points
    held = [_share(run.final, ends, (FAR, NEAR)).sum(axis=0) for run in both]
    arrivals = [_arrival(times, run.states[1:], ends) for run in both]
    return arrivals, held[0] - held[1]


def _share(state: Any, ends: Array, ramp: tuple[float, float]) -> Array:
    """Masses of points by their distances (points, ends): none up to ramp[0], all at ramp[1].

    Continuous, so that it does not matter in which cell a boundary lies.
    """
    points, masses = cells_of(state)
    distances = np.arccos(np.clip(points @ ends.T, -1, 1))
    part = np.clip((distances - ramp[0]) / (ramp[1] - ramp[0]), 0.0, 1.0)
    return np.asarray(masses[:, np.newaxis] * part)


def _arrival(times: Array, states: Sequence[Any], ends: Array) -> float:
    """Last time at which the share that is not yet at the ``ends`` is above ``TAIL``."""
    if not len(ends):
        return float("nan")
    away = [_share(state, ends, (NEAR, FAR)).min(axis=1).sum() for state in states]
    return _crossing(times, np.array(away) / TAIL)


def _crossing(times: Array, values: Array) -> float:
    """Last time at which the values fall below 1, interpolated in logarithms."""
    above = np.flatnonzero(values > 1)
    if len(above) == 0 or above[-1] == len(times) - 1:
        return float("nan")
    ends = slice(above[-1], above[-1] + 2)
    logs = np.log(np.maximum(values[ends], ROUNDING))[::-1]
    return float(np.exp(np.interp(0.0, logs, np.log(times[ends])[::-1])))


# Rows ----------------------------------------------------------------------------------------


def _agree(times: Array, apart: Array, count: int) -> Iterator[Quantity]:
    """Particles know the tail, ``TAIL`` of all, to one of them; a basin has two edges."""
    row, known = f"time to rest, density against {count} particles", 1 / (TAIL * count)
    yield equal(row, *times, known, relative=True)
    row = f"masses at the atoms at last, largest difference to {count} particles"
    yield vanishes(row, apart, 2 / count)


def _law(name: str, scales: tuple[float, ...], times: Array) -> Iterator[Quantity]:
    """Each scale sooner than the one before; at large scale as the flow of V alone.

    scale T = T_V (1 + b/scale + ...), and the next term is of the order of (b/scale)^2.
    ``times`` (2, scales) are those of the density and of particles.
    """
    first, second = times[0, -2:] * scales[-2:]
    weight = scales[-1] / (scales[-1] - scales[-2])
    known = (first / second - 1) ** 2 + 1 / (TAIL * STRONG_COUNT)
    row = (
        f"scale times the time to rest, extrapolated from scales {scales[-2]:g} and "
        f"{scales[-1]:g}, against scale {STRONG:g} by independent formulas"
    )
    limit = first + weight * (second - first)
    yield equal(row, limit, _strong(name), known, relative=True)
    # The density's times are the particles', say the rows above.
    exponents = np.diff(np.log(times[1])) / np.diff(np.log(scales))
    exponents = exponents[np.isfinite(exponents)]
    if len(exponents) > 1:
        row = "largest exponent of the particles' times between neighbouring scales"
        yield at_most(row, exponents.max(), 0.0, subject="formula")


def _strong(name: str) -> float:
    """Scale times the time to rest where attention is a thousandth of the perceptron."""
    equation = _scaled(name, STRONG).equation
    start = mfpde.quantized(mfpde.uniform(mfpde.Circle(64)), STRONG_COUNT)
    times = np.geomspace(0.3, _latest(STRONG) * STRONG, 120) / STRONG
    given = problem_of(equation), equal_masses(start.points), times
    states = moved(*given, time_step=0.3 / STRONG)
    final = mfpde.Atoms(states[-1].points, states[-1].masses)
    return STRONG * _arrival(times, states, basins(final, equation).points)


def _spread(sizes: Sizes) -> Quantity:
    """Softmax in descent, a perceptron of the paper's scale: nothing gathers."""
    both = _both(SETTINGS[SPREAD], sizes, (_latest(1.0),))
    ends = (cells_of(run.final) for run in both)
    means = [np.linalg.norm(masses @ points) for points, masses in ends]
    about = f"t = {_latest(1.0):g}, against {sizes.count} particles"
    row = f"{SPREAD}, scale 1: |mean of x| at {about}"
    return equal(row, *means, 1 / sizes.count, key="spread", **SHOWN)


def _paper_stop(count: int, saves: int) -> float:
    """The paper's stop time, max |v| <= 1e-4, in descent."""
    setting = _scaled("descent", NUMBER_SCALE)
    times = np.geomspace(1.0, 2 * _latest(NUMBER_SCALE), saves)
    run = particle_run(setting, count, times, time_step=0.25)
    speeds = [setting.equation.velocity(s, s.points) for s in run.states[1:]]
    fastest = np.linalg.norm(speeds, axis=-1).max(axis=1)
    return _crossing(times, fastest / STOP)


def _growth(numbers: tuple[int, ...], stops: list[float]) -> Quantity:
    """Slope of the paper's stop time in log N: 1 over the rate at which a zero of v repels.

    The nearest of N particles is of the order of 1/N from it, and leaves as exp(rate t).  The
    slowest zero is that with the least v' > 0 at the state that particles rest at.
    """
    setting = _scaled("descent", NUMBER_SCALE)
    fit = fit_slope(np.log(numbers) ** 2, stops)
    final = particle_run(setting, 400, (100.0,), time_step=0.25).final
    fine = np.linspace(0, TURN, 20_001)
    speed = atoms.velocity(problem_of(setting.equation), final, fine)
    rising = (speed[:-1] < 0) & (speed[1:] >= 0)
    slowest = float((np.diff(speed)[rising] / np.diff(fine)[rising]).min())
    row = (
        "descent: growth of the paper's stop time with log N, against 1/rate at the slowest "
        "unstable zero of v"
    )
    about = {"key": "growth", "subject": "formula", **SHOWN}
    return equal(row, fit.value, 1 / slowest, fit.half, **about)


def _figure(
    scales: Sequence[float],
    found: dict[str, Array],
    numbers: Sequence[int],
    stops: Sequence[float],
) -> Figure:
    """Left: time to rest against the scale; right: the paper's rule against N."""
    lines: dict[str, Any] = {name: (scales, times[0]) for name, times in found.items()}
    for times in found.values():
        guide = times[0, -1] * scales[-1] / np.array(scales) / 2
        lines["1/scale"] = scales, guide, drawing.DASHED
    theirs = np.concatenate([times[1] for times in found.values()])
    lines["particles"] = np.tile(scales, len(found)), theirs, drawing.CROSSES
    axes = {"xscale": "log", "yscale": "log", "xlabel": "scale of the weights"}
    left = drawing.curves("time until 95 % have arrived, GeLU", lines, **axes)
    fit = np.polyval(np.polyfit(np.log(numbers), stops, 1), np.log(numbers))
    lines = {"particles' stop": (numbers, stops, drawing.DOTS)}
    lines["fit in log N"] = numbers, fit, drawing.DASHED
    title = "stop time by the paper's rule,\nmax |v| < 1e-4 (descent, scale 3)"
    axes = {"xscale": "log", "xlabel": "particles N", "ylim": (0, 45)}
    right = drawing.curves(title, lines, **axes)
    title = "S¹, β = 5, shifted kernel: time to rest"
    return drawing.draw_page(title, [[left, right]], size=(8.6, 3.8))
