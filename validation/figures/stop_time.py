r"""When a run comes to rest, against perceptron scale and normalisation (section 4, aim (iii)).

The paper's runs stop at max |v| <= 1e-4 over all particles.  For a density there is no such
time: a thin tail always leaves the unstable zeros of v.  Here a run rests when all but a
twentieth of the mass is at the atoms of the end, a time that density and particles share; the
paper's rule stands beside it, against the number of particles.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

import mfpde
from mfpde.measures.measure import AnyMeasure
from mfpde.runs.run import Run
from validation.claim import Claim, Quantity
from validation.figures.beta_sweeps import Slope, heaviest_window
from validation.figures.independent_particles import Cloud, equal_masses, moved
from validation.figures.paper_runs import (
    Setting,
    angles,
    at,
    basins,
    density_run,
    largest_speed,
    particle_run,
)
from validation.figures.stop_curves import stop_figure
from validation.independent import cells_of, gradient, potential, problem_of

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
        "infinite for a density. In descent a weak perceptron gathers slowly (at scale = 0.3 "
        "the largest mass in a narrow arc is {slow_100:.2g} at t = 100 and {slow_1000:.2g} at "
        "t = 1000), or not at all: at scale = 0.1 the certified minimiser is a density, "
        "{least:.2g} of the uniform one where it is least. With softmax in descent nothing "
        "gathers at scale = 1: the mean of x is {spread:.2g} long. All this with GeLU neurons."
    ),
)
STOP: Final = 1e-4
TAIL: Final = 0.05
NEAR: Final = 0.05
FAR: Final = 0.15
"""Mass within the first distance of an atom of the end has arrived, beyond the other not."""
NUMBER_SCALE: Final = 3.0
BASE: Final = {
    "ascent": Setting(5.0, "ascent", "gelu"),
    "descent": Setting(5.0, "descent", "gelu"),
    "softmax, ascent": Setting(5.0, "ascent", "gelu", normalized=True),
    "softmax, descent": Setting(5.0, "descent", "gelu", normalized=True),
}
SCALES = (1.0, 3.0, 10.0, 30.0)
SLOW_SCALE, WEAK_SCALE = 0.3, 0.1
SLOW_TIMES = (100.0, 1000.0)
INSIDE = 0.5
"""Density, in mass per radian, at the ends of an arc: it may be half a cell longer."""
SPREAD, GATHERS = "softmax, descent", 10.0
"""Softmax repels more strongly: below this scale nothing gathers."""
STRONG, STRONG_COUNT = 1000.0, 400
ROUNDING = 1e-9
NUMBERS = (25, 50, 100, 200, 400, 800, 1600, 3200, 6400)


def main(quick: bool = False) -> dict[str, Any]:
    scales = SCALES[2:] if quick else SCALES
    names = ("descent", "softmax, ascent") if quick else tuple(BASE)
    sizes = (256, 400, 30) if quick else (1024, 800, 120)
    found: dict[str, Array] = {}
    quantities = []
    for name in names:
        rows = []
        for scale in scales:
            if name == SPREAD and scale < GATHERS:
                rows.append((np.nan, np.nan))
                continue
            arrived = _arrivals(replace(BASE[name], scale=scale), sizes)
            rows.append(arrived.times)
            quantities += _agree(f"{name}, scale {scale:g}", arrived, sizes[1])
        found[name] = np.array(rows)
        quantities += _law(name, scales, found[name])
    if not quick:
        quantities += [*_slow(sizes), _spread(sizes)]
    numbers = NUMBERS[:4] if quick else NUMBERS
    maxima = [_paper_stop(n, 60 if quick else 120) for n in numbers]
    quantities += [_growth(numbers, maxima), _weak()]
    figure = stop_figure(scales, found, (numbers, maxima))
    return {"quantities": quantities, "figures": {"stop_time": figure}}


def _latest(scale: float) -> float:
    return 1200.0 / scale if scale < 2 else 150.0 / scale


class _Arrivals(NamedTuple):
    """Density and particles: when they arrive, and the masses (n,) at each atom at last."""

    times: tuple[float, float]
    masses: tuple[Array, Array]


def _arrivals(setting: Setting, sizes: tuple[int, int, int]) -> _Arrivals:
    """Arrivals of density and particles at the atoms that the particles end at."""
    cells, count, saves = sizes
    stiff = max(setting.scale, 1.0)
    times = np.geomspace(0.3 / stiff, _latest(setting.scale), saves)
    density = density_run(setting, cells, times)
    particles = particle_run(setting, count, times, time_step=0.5 / stiff)
    ends = basins(particles.final, setting.equation).points
    return _Arrivals(
        (_arrival(density, ends), _arrival(particles, ends)),
        (_held(density.final, ends), _held(particles.final, ends)),
    )


def _arrival(run: Run, ends: Array) -> float:
    """Last time at which the share that is not yet at the ``ends`` is above ``TAIL``."""
    if not len(ends):
        return float("nan")
    away = np.array([_away(state, ends) for state in run.states])
    return _crossing(run.times[1:], away[1:] / TAIL)


def _away(state: AnyMeasure | Cloud, ends: Array) -> float:
    """Mass that is not at an end: all beyond ``FAR``, none within ``NEAR``, a ramp between.

    Continuous, so that it does not matter in which cell a boundary lies.
    """
    points, masses = cells_of(state)
    distances = np.arccos(np.clip((points @ ends.T).max(axis=1), -1, 1))
    return float(masses @ np.clip((distances - NEAR) / (FAR - NEAR), 0.0, 1.0))


def _held(state: AnyMeasure | Cloud, ends: Array) -> Array:
    """Mass (n,) at each of the ends: all within ``NEAR``, none beyond ``FAR``."""
    points, masses = cells_of(state)
    distances = np.arccos(np.clip(points @ ends.T, -1, 1))
    return np.asarray(masses @ np.clip((FAR - distances) / (FAR - NEAR), 0.0, 1.0))


def _crossing(times: Array, values: Array) -> float:
    """Last time at which the values fall below 1, interpolated in logarithms."""
    above = np.flatnonzero(values > 1)
    if len(above) == 0 or above[-1] == len(times) - 1:
        return float("nan")
    k = above[-1]
    logs = np.log(np.maximum(values[k : k + 2], 1e-9))
    share = logs[0] / (logs[0] - logs[1])
    return float(times[k] ** (1 - share) * times[k + 1] ** share)


def _agree(name: str, arrived: _Arrivals, count: int) -> list[Quantity]:
    """Particles know the tail, ``TAIL`` of all, to one of them; a basin has two edges."""
    density, particles = arrived.masses
    return [
        Quantity(
            f"{name}: time to rest, density against {count} particles",
            *arrived.times,
            1 / (TAIL * count),
            relative=True,
        ),
        Quantity(
            f"{name}: masses at the atoms at last, largest difference to {count} particles",
            float(np.abs(density - particles).max()),
            0.0,
            2 / count,
        ),
    ]


def _law(name: str, scales: tuple[float, ...], times: Array) -> list[Quantity]:
    """Each scale sooner than the one before; at large scale as the flow of V alone.

    scale T = T_V (1 + b/scale + ...), and the next term is of the order of (b/scale)^2.
    ``times`` (scales, 2) are those of the density and of particles.
    """
    stops, theirs = times.T
    first, second = (
        scale * stop for scale, stop in zip(scales[-2:], stops[-2:], strict=True)
    )
    weight = scales[-1] / (scales[-1] - scales[-2])
    limit = first + weight * (second - first)
    rows = [
        Quantity(
            f"{name}: scale times the time to rest, extrapolated from scales {scales[-2]:g} "
            f"and {scales[-1]:g}, against scale {STRONG:g} by independent formulas",
            limit,
            _strong(BASE[name]),
            (first / second - 1) ** 2 + 1 / (TAIL * STRONG_COUNT),
            relative=True,
        )
    ]
    # The density's times are the particles', say the rows above.
    exponents = np.diff(np.log(theirs)) / np.diff(np.log(scales))
    exponents = exponents[np.isfinite(exponents)]
    if len(exponents) > 1:
        rows.append(
            Quantity(
                f"{name}: largest exponent of the particles' times between neighbouring scales",
                float(exponents.max()),
                0.0,
                0.0,
                "at most",
                subject="formula",
            )
        )
    return rows


def _strong(setting: Setting) -> float:
    """Scale times the time to rest where attention is a thousandth of the perceptron."""
    setting = replace(setting, scale=STRONG)
    start = mfpde.quantized(mfpde.uniform(mfpde.Circle(64)), STRONG_COUNT)
    times = np.geomspace(0.3, _latest(STRONG) * STRONG, 120) / STRONG
    problem = problem_of(setting.equation)
    states = moved(problem, equal_masses(start.points), times, time_step=0.3 / STRONG)
    ends = basins(
        mfpde.Atoms(states[-1].points, states[-1].masses), setting.equation
    ).points
    away = np.array([_away(state, ends) for state in states])
    return STRONG * _crossing(times, away / TAIL)


def _slow(sizes: tuple[int, int, int]) -> list[Quantity]:
    """A weak perceptron in descent: how far it has gathered at two times."""
    setting = replace(BASE["descent"], scale=SLOW_SCALE)
    cells, count, _ = sizes
    density = density_run(setting, cells, SLOW_TIMES)
    particles = particle_run(setting, count, SLOW_TIMES, time_step=0.5)
    return [
        Quantity(
            f"descent, scale {SLOW_SCALE:g}: largest mass in an arc of length {2 * NEAR:g} at "
            f"t = {time:g}, against {count} particles",
            heaviest_window(at(density, time), 2 * NEAR),
            heaviest_window(at(particles, time), 2 * NEAR),
            2 / count + 2 * np.pi / cells * INSIDE,
            key=f"slow_{time:g}",
            shows="condition",
        )
        for time in SLOW_TIMES
    ]


def _spread(sizes: tuple[int, int, int]) -> Quantity:
    """Softmax in descent, a perceptron of the paper's scale: nothing gathers."""
    setting = BASE[SPREAD]
    cells, count, _ = sizes
    time = _latest(1.0)
    density = density_run(setting, cells, (time,)).final
    particles = particle_run(setting, count, (time,), time_step=0.5).final
    points, masses = cells_of(density)
    theirs, _ = cells_of(particles)
    return Quantity(
        f"{SPREAD}, scale 1: |mean of x| at t = {time:g}, against {count} particles",
        float(np.linalg.norm(masses @ points)),
        float(np.linalg.norm(theirs.mean(axis=0))),
        1 / count,
        key="spread",
        shows="condition",
    )


def _paper_stop(count: int, saves: int) -> float:
    """The paper's stop time, max |v| <= 1e-4, in descent."""
    setting = replace(BASE["descent"], scale=NUMBER_SCALE)
    times = np.geomspace(1.0, 2 * _latest(NUMBER_SCALE), saves)
    run = particle_run(setting, count, times, time_step=0.25)
    largest = [largest_speed(state, setting.equation) for state in run.states[1:]]
    return _crossing(run.times[1:], np.array(largest) / STOP)


def _growth(numbers: tuple[int, ...], stops: list[float]) -> Quantity:
    """Slope of the paper's stop time in log N: 1 over the rate at which a zero of v repels.

    The nearest of N particles is of the order of 1/N from it, and leaves as exp(rate t).
    """
    fit = Slope.of(list(np.log(numbers) ** 2), np.array(stops))
    return Quantity(
        "descent: growth of the paper's stop time with log N, against 1/rate at the slowest "
        "unstable zero of v",
        fit.value,
        1 / _slowest_repulsion(),
        fit.half,
        key="growth",
        subject="formula",
        shows="condition",
    )


def _slowest_repulsion() -> float:
    """Least v' at zeros of v where it is positive, at the state that particles rest at."""
    setting = replace(BASE["descent"], scale=NUMBER_SCALE)
    problem = problem_of(setting.equation)
    run = particle_run(setting, 400, (100.0,), time_step=0.25)
    points, masses = cells_of(run.final)
    fine = np.linspace(0, 2 * np.pi, 20_001)
    at = np.stack([np.cos(fine), np.sin(fine)], axis=1)
    across = np.stack([-np.sin(fine), np.cos(fine)], axis=1)
    force = gradient(problem, points, masses, at=at)
    speed = problem.sign * (force * across).sum(axis=1)
    rising = (speed[:-1] < 0) & (speed[1:] >= 0)
    return float((np.diff(speed)[rising] / np.diff(fine)[rising]).min())


def _weak() -> Quantity:
    """The minimiser of a weak perceptron is the density at which F is constant.

    Where all is active, F = const means rho = 1 - sum_n w_n / kappa_n of the modes w_n of V,
    with the kernel's kappa_n = e^(-beta) I_n(beta) / beta, here by a discrete transform.
    """
    setting = replace(BASE["descent"], scale=WEAK_SCALE)
    circle = mfpde.Circle(256)
    minimum = mfpde.minimize(setting.equation, circle)
    problem = problem_of(setting.equation)
    where = angles(circle.points)
    kernel = np.exp(problem.beta * (np.cos(where - where[0]) - 1)) / problem.beta
    rates = np.fft.fft(kernel).real / len(where)
    modes = np.fft.fft(potential(problem, circle.points)) / len(where)
    known = np.abs(rates) > ROUNDING * rates[0]
    modes[0] = 0
    shares = np.divide(modes, rates, out=np.zeros_like(modes), where=known)
    density = 1 - np.fft.ifft(shares).real * len(where)
    _, masses = cells_of(minimum.measure)
    return Quantity(
        f"descent, scale {WEAK_SCALE:g}: least density of the certified minimiser, uniform "
        "1, against the solution of F = const",
        float(masses.min() * len(masses)),
        float(density.min()),
        1e-3,
        key="least",
        shows="condition",
    )


if __name__ == "__main__":
    from validation.figures.shown import show

    show(main)
