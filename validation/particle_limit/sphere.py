r"""Particles on S^2: random ones and Fibonacci lattices, in W1 and in a mollified distance.

In the L2 distance after the heat flow of duration t, D, random points of the uniform density
have exactly

    n E D^2 = sum_(l >= 1) (2 l + 1) e^(-2 l (l + 1) t),
    Var(n D^2) -> 2 sum_(l >= 1) (2 l + 1) e^(-4 l (l + 1) t),

so that D falls as n^(-1/2).  W1 of random points in two dimensions falls as (log n / n)^(1/2)
(Ajtai, Komlos & Tusnady 1984): with ((log n + c) / n)^(1/2), c >= 0, its slope between n_0 and
n_1 lies between -1/2 and -1/2 + 1 / (2 log n_0).  A lattice has no logarithm; n points of equal
mass are never closer to the uniform density than discs of its area, W1 >= (4/3) n^(-1/2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mfpde
from mfpde.measures.measure import AnyMeasure, as_measure, atoms_of
from validation.claim import Claim, Findings, at_least, equal
from validation.drawing import log_log, panels, rate_line, show_legend
from validation.rates import mean_slope, slope, slope_deviation

Array = NDArray[np.float64]
Sizes = tuple[int, ...]
Distance = Callable[[Any, mfpde.Atoms], float]

CLAIM = Claim(
    "Random particles and lattices tend to the density (S²)",
    "mean-field limit, eq. (2.5); Ajtai, Komlós & Tusnády (1984) for W1",
    "In a mollified distance random particles tend to the density as n^(-1/2) with the "
    "exact constant of the heat kernel, at the start and after the flow. In W1 random "
    "points fall as (log n / n)^(1/2), Fibonacci points as n^(-1/2).",
)
T_END, TIME_STEP, HEAT = 1.0, 0.1, 1 / 40
DEVIATIONS = 3.0
EQUATION = mfpde.MeanFieldEquation(
    mfpde.Attention(4.0), mfpde.Perceptron.random(3, 3, seed=111), direction="descent"
)
TIMES = ("start", f"t = {T_END:g}")


def find_ends(nlat: int) -> tuple[mfpde.Density, mfpde.Measure]:
    """The uniform density and the density solver's state at the end."""
    start = mfpde.uniform(mfpde.Sphere(nlat))
    return start, mfpde.solve(EQUATION, start, t_end=T_END, save_at=[T_END]).final


def mollified_distance(a: AnyMeasure, b: mfpde.Atoms) -> float:
    """L2 distance of a density, and atoms, from ``b`` after the heat flow of duration HEAT."""
    measure, degree = as_measure(a), 40
    grid, atoms = measure.geometry, atoms_of(a)
    moments = grid.moments(measure.density.masses, degree)
    moments = moments + grid.atom_moments(atoms.points, atoms.masses, degree)
    moments = moments - grid.atom_moments(b.points, b.masses, degree)
    l = grid.degrees(degree)
    damped = np.exp(-2 * HEAT * l * (l + 1.0)) * moments
    return float(np.sqrt(max(grid.pairing(damped, moments), 0.0)))


def measure_errors(
    distance: Distance, ends: tuple[Any, Any], clouds: Iterable[mfpde.Atoms]
) -> Array:
    """Distances of particles from the density at the start and at the end (2, clouds)."""
    found = []
    for atoms in clouds:
        run = mfpde.solve_particles(EQUATION, atoms, t_end=T_END, time_step=TIME_STEP)
        found.append([distance(ends[0], atoms), distance(ends[1], run.final)])
    return np.array(found).T


def random_errors(distance: Distance, sizes: Sizes, *, nlat: int, seeds: int) -> Array:
    """Distances of random particles at the start and at the end (2, seeds, sizes)."""
    ends, found = find_ends(nlat), []
    for seed in range(seeds):
        clouds = (mfpde.sampled(ends[0], n, 10**5 * seed + n) for n in sizes)
        found.append(measure_errors(distance, ends, clouds))
    return np.array(found).transpose(1, 0, 2)


@CLAIM
def main(quick: bool = False) -> Findings:
    smooth = tuple(2**k for k in (range(4, 7) if quick else range(6, 11)))
    rough = tuple(2**k for k in (range(4, 7) if quick else range(5, 10)))
    seeds = 3 if quick else 12
    blurred = random_errors(mollified_distance, smooth, nlat=48, seeds=2 * seeds)
    plain = random_errors(mfpde.wasserstein, rough, nlat=32, seeds=seeds)
    # The mean of n D^2, its variance, and a slope's deviation: log D = log(n D^2) / 2 + ...
    degree = np.arange(1, 60)
    damping = np.exp(-2 * degree * (degree + 1) * HEAT)
    mean = float((2 * degree + 1) @ damping)
    variance = float(2 * (2 * degree + 1) @ damping**2)
    spread = slope_deviation(smooth, np.sqrt(variance) / mean / 2) / np.sqrt(2 * seeds)
    allowed = DEVIATIONS * np.sqrt(variance / blurred[0].size)
    name = "start, mollified: n D² against the heat kernel's sum"
    yield equal(name, (blurred[0] ** 2 * smooth).mean(), mean, allowed)
    for time, rows in zip(TIMES, blurred, strict=True):
        name = f"{time}, mollified: slope over n, {2 * seeds} seeds"
        yield equal(name, mean_slope(smooth, rows)[0], -0.5, DEVIATIONS * spread)
    for time, rows in zip(TIMES, plain, strict=True):
        # Between -1/2 and -1/2 + 1/(2 log n_0): half way, by half of that.
        (mean, error), half = mean_slope(rough, rows), 1 / (4 * np.log(rough[0]))
        name = f"{time}, W1 of random points: slope over n, {seeds} seeds"
        allowed = half + DEVIATIONS * error
        yield equal(name, mean, half - 0.5, allowed)
    ends = find_ends(32 if quick else 48)
    lattices = (mfpde.quantized(ends[0], n) for n in rough)
    regular = measure_errors(mfpde.wasserstein, ends, lattices)
    for time, row in zip(TIMES, regular, strict=True):
        text = f"{time}, W1 of Fibonacci points: slope"
        yield equal(text, slope(rough, row), -0.5, 0.05)
    least, name = np.sqrt(rough) * regular[0], "start, Fibonacci: smallest sqrt(n) W1"
    # On the sphere a disc of area 4 pi / n has a radius smaller by a share of order 1/n.
    yield at_least(name, least.min(), 4 / 3, 1 / rough[0], relative=True)
    figure, (ax,) = panels(1, width=5)
    curves = {f"{TIMES[k]}, random": (rough, plain[k].mean(axis=0)) for k in (0, 1)}
    curves |= {f"{TIMES[k]}, Fibonacci": (rough, regular[k]) for k in (0, 1)}
    log_log(ax, curves, xlabel="particles n", ylabel="W1 to the density [rad]")
    start = 4 / 3 / np.sqrt(rough[0])
    rate_line(ax, rough, start=start, rate=-0.5, label="(4/3) n^(−1/2): least")
    show_legend(ax)
    yield "sphere", figure
