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

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

import mfpde
from mfpde.measures.measure import AnyMeasure, as_measure, atoms_of
from validation.charts import log_log, panels, rate_line, show_legend
from validation.claim import Claim, Quantity
from validation.rates import mean_slope, slope, slope_deviation

Array = NDArray[np.float64]

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

Distance = Callable[[mfpde.Measure, mfpde.Atoms], float]


def moved(atoms: mfpde.Atoms) -> mfpde.Atoms:
    """Particles at the end, by Runge-Kutta steps of order 4."""
    run = mfpde.solve_particles(EQUATION, atoms, t_end=T_END, time_step=TIME_STEP)
    return run.final


def measures(nlat: int) -> tuple[mfpde.Density, mfpde.Measure]:
    """The uniform density and the density solver's state at the end."""
    start = mfpde.uniform(mfpde.Sphere(nlat))
    run = mfpde.solve(EQUATION, start, t_end=T_END, save_at=[T_END])
    return start, run.final


def errors_of(
    distance: Distance, sizes: tuple[int, ...], *, nlat: int, seeds: int
) -> tuple[Array, Array]:
    """Distances of random particles at the start and at the end (seeds, sizes)."""
    start, end = measures(nlat)
    found = np.empty((2, seeds, len(sizes)))
    for seed in range(seeds):
        for place, n in enumerate(sizes):
            atoms = mfpde.sampled(start, n, 10**5 * seed + n)
            found[:, seed, place] = distance(start, atoms), distance(end, moved(atoms))
    return found[0], found[1]


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


def heat_sums() -> tuple[float, float]:
    """Mean and variance of n D^2 for random points of the uniform density."""
    degree = np.arange(1, 60)
    damping = np.exp(-2 * degree * (degree + 1) * HEAT)
    counts = 2 * degree + 1
    return float(counts @ damping), float(2 * counts @ damping**2)


def mollified(errors: tuple[Array, Array], sizes: tuple[int, ...]) -> list[Quantity]:
    """The exact constant at the start, and the slopes."""
    mean, variance = heat_sums()
    count = errors[0].size
    measured = float((errors[0] ** 2 * sizes).mean())
    # log D = log(n D^2) / 2 + ..., so that its deviation is half a coefficient of variation.
    spread = slope_deviation(sizes, np.sqrt(variance) / mean / 2)
    allowed = DEVIATIONS * spread / np.sqrt(len(errors[0]))
    found = [
        Quantity(
            "start, mollified: n D² against the heat kernel's sum",
            measured,
            mean,
            float(DEVIATIONS * np.sqrt(variance / count)),
        )
    ]
    for name, rows in zip(("start", f"t = {T_END:g}"), errors, strict=True):
        estimate = mean_slope(sizes, rows)
        label = f"{name}, mollified: slope over n, {estimate.count} seeds"
        found += [
            Quantity(label, estimate.mean, -0.5, allowed),
            # The deviation of a deviation over n seeds is (2 (n - 1))^(-1/2) of it.
            Quantity(
                f"{name}, mollified: half of the slope's 95 % interval",
                estimate.half_width(),
                allowed / DEVIATIONS * float(student.ppf(0.975, estimate.count - 1)),
                float(DEVIATIONS / np.sqrt(2 * (estimate.count - 1))),
                relative=True,
            ),
        ]
    return found


def random_w1(errors: tuple[Array, Array], sizes: tuple[int, ...]) -> list[Quantity]:
    """Slopes between -1/2 and -1/2 + 1/(2 log n_0): half way, by half of that."""
    found = []
    for name, rows in zip(("start", f"t = {T_END:g}"), errors, strict=True):
        estimate = mean_slope(sizes, rows)
        label = f"{name}, W1 of random points: slope over n, {estimate.count} seeds"
        half = 1 / (4 * np.log(sizes[0]))
        allowed = half + DEVIATIONS * estimate.standard_error
        found.append(Quantity(label, estimate.mean, float(half - 0.5), float(allowed)))
    return found


def lattice(sizes: tuple[int, ...], nlat: int) -> tuple[list[Quantity], Array]:
    """W1 of Fibonacci points at the start and at the end (2, sizes)."""
    start, end = measures(nlat)
    errors = np.empty((2, len(sizes)))
    for place, n in enumerate(sizes):
        atoms = mfpde.quantized(start, n)
        errors[:, place] = (
            mfpde.wasserstein(start, atoms),
            mfpde.wasserstein(end, moved(atoms)),
        )
    least = float((np.sqrt(sizes) * errors[0]).min())
    found = [
        Quantity(
            f"{name}, W1 of Fibonacci points: slope", slope(sizes, row), -0.5, 0.05
        )
        for name, row in zip(("start", f"t = {T_END:g}"), errors, strict=True)
    ]
    # On the sphere a disc of area 4 pi / n has a radius smaller by a share of order 1/n.
    bound = Quantity(
        "start, Fibonacci: smallest sqrt(n) W1",
        least,
        4 / 3,
        1 / sizes[0],
        "at least",
        relative=True,
    )
    return [*found, bound], errors


def main(quick: bool = False) -> dict[str, object]:
    """Slopes, the heat kernel's constant, and lattices beside random points."""
    smooth = tuple(2**k for k in (range(4, 7) if quick else range(6, 11)))
    rough = tuple(2**k for k in (range(4, 7) if quick else range(5, 10)))
    seeds = 3 if quick else 12
    blurred = errors_of(
        mollified_distance,
        smooth,
        nlat=48,
        seeds=2 * seeds,
    )
    plain = errors_of(mfpde.wasserstein, rough, nlat=32, seeds=seeds)
    quantities, regular = lattice(rough, 32 if quick else 48)
    quantities = [*mollified(blurred, smooth), *random_w1(plain, rough), *quantities]
    drawn, (left, right) = panels(2)
    names = ("start", f"t = {T_END:g}")
    means = {
        name: (smooth, np.sqrt((rows**2).mean(axis=0)))
        for name, rows in zip(names, blurred, strict=True)
    }
    log_log(left, means, xlabel="particles n", ylabel="mollified L2 distance, rms")
    line = np.sqrt(heat_sums()[0] / smooth[0])
    rate_line(left, smooth, start=line, rate=-0.5, label="exact at the start")
    show_legend(left)
    curves = {}
    for name, rows, row in zip(names, plain, regular, strict=True):
        curves[f"{name}, random"] = (rough, rows.mean(axis=0))
        curves[f"{name}, Fibonacci"] = (rough, row)
    log_log(right, curves, xlabel="particles n", ylabel="W1 to the density [rad]")
    least = 4 / 3 / np.sqrt(rough[0])
    rate_line(right, rough, start=least, rate=-0.5, label="(4/3) n^(−1/2): least")
    show_legend(right)
    return {"quantities": quantities, "figures": {"sphere": drawn}}
