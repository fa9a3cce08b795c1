"""Density runs beside the short code that a user would write instead.

The other is a filtered pseudo-spectral method with Runge-Kutta steps of order 4, of 35 lines: the
density on the grid, signed, or projected to be positive after each step.  For each problem both
run on grids of growing size; the errors are those of the moments of degrees up to 8 against
labels at the nodes of a fine grid, whose sums are spectrally accurate as long as the flow is
resolved.  On each grid the other takes the longest of three steps, in units of the limit of
Runge-Kutta's stability, with which it comes below the error named; the filter often carries it
beyond 1, and where none does it takes the least, .9.  A row has the least wall time, median
of several runs in turns, at which each is below that error, and their ratio (above 1: the package
is faster).
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
import shtns
from results_table import Row

from mfpde import (
    Attention,
    Circle,
    Density,
    MeanFieldEquation,
    Perceptron,
    Sphere,
    solve,
    solve_particles,
)

DEGREE = 8
REPETITIONS = 5
LIMIT = 2.8
"""Of Runge-Kutta's method of order 4: |z| of the eigenvalues +-i|z| that it damps."""
FACTORS = (1.5, 1.2, 0.9)
"""Steps of the peer over the stability limit, the longest first; the last is stable."""
SPHERE_GRIDS = (32, 48, 64, 96, 128)
CIRCLE_GRIDS = (64, 128, 256, 512, 1024, 2048, 4096)


class Problem(NamedTuple):
    """A problem, its end time, and the error that is allowed."""

    sphere: bool
    activation: str
    softmax: bool
    time: float
    error: float

    @property
    def equation(self) -> MeanFieldEquation:
        """Ascent with beta = 5 and the paper's neurons."""
        d, seed = (3, 111) if self.sphere else (2, 777)
        drawn = Perceptron.random(d, d, seed=seed)
        neurons = Perceptron(drawn.directions, drawn.weights, self.activation)
        attention = Attention(5.0, normalized=self.softmax)
        return MeanFieldEquation(attention, neurons, direction="ascent")

    def start(self, cells: int) -> Density:
        """A smooth start on a grid with ``cells`` rings, or cells around a circle."""
        if self.sphere:
            return Density.from_function(
                Sphere(cells),
                lambda x: 1 + 0.3 * x[..., 2] + 0.2 * x[..., 0] * x[..., 1],
            ).normalized()
        return Density.from_function(
            Circle(cells), lambda x: 1 + 0.3 * x[..., 1] + 0.2 * x[..., 0] * x[..., 1]
        ).normalized()

    def __str__(self) -> str:
        place = "S2" if self.sphere else "S1"
        kind = "softmax" if self.softmax else "attention"
        return f"{place} {kind} {self.activation} t = {self.time:g}, {self.error:g}"


PROBLEMS = [
    Problem(False, activation, softmax, end, 1e-4 if end < 5 or not softmax else 5e-4)
    for end in (2.0, 5.0)
    for activation, softmax in (("relu", False), ("gelu", False), ("gelu", True))
] + [
    Problem(True, activation, softmax, end, 1e-3 if end < 5 else 4e-3)
    for end in (2.0, 5.0)
    for activation, softmax in (("relu", False), ("gelu", False), ("gelu", True))
]


def moments_of_package(problem: Problem, cells: int, **options: object) -> np.ndarray:
    """Moments of a run of the package."""
    start = problem.start(cells)
    end = problem.time
    run = solve(problem.equation, start, t_end=end, save_at=[end], **options)
    return run.final.density.geometry.moments(run.final.density.masses, DEGREE)


def positive(density: np.ndarray, areas: np.ndarray) -> np.ndarray:
    """max(density - c, 0), with the c that keeps the mass."""
    total, lowered = (density * areas).sum(), 0.0
    for _ in range(30):
        kept = density > lowered
        excess = ((density - lowered) * areas)[kept].sum() - total
        if abs(excess) < 1e-14:
            break
        lowered += excess / areas[kept].sum()
    return np.maximum(density - lowered, 0.0)


class Peer(NamedTuple):
    """The peer on a grid: d rho / dt with the largest speed, the filter, the highest mode."""

    rates: Callable[[np.ndarray], tuple[np.ndarray, float]]
    filtered: Callable[[np.ndarray, float], np.ndarray]
    top: int


def peer_on_sphere(velocity: Callable[[np.ndarray], np.ndarray], cells: int) -> Peer:
    """Return the peer on ``cells`` rings, by shtns."""
    top = Sphere(cells).max_degree
    plan = shtns.sht(top, top, norm=shtns.sht_fourpi, nthreads=1)
    plan.set_grid(cells, 2 * cells, flags=shtns.sht_quick_init, polar_opt=0.0)
    l = plan.l

    def rates(density: np.ndarray) -> tuple[np.ndarray, float]:
        now = velocity(density)
        flux = density * now
        part, rest = plan.spec_array(), plan.spec_array()
        plan.spat_to_SHsphtor(flux[0].copy(), flux[1].copy(), part, rest)
        return plan.synth(l * (l + 1) * part), float(np.abs(now).max())

    def filtered(density: np.ndarray, step: float) -> np.ndarray:
        return plan.synth(plan.analys(density) * np.exp(-72 * step * (l / cells) ** 8))

    return Peer(rates, filtered, top)


def peer_on_circle(velocity: Callable[[np.ndarray], np.ndarray], cells: int) -> Peer:
    """Return the peer on ``cells`` cells, by numpy's FFT."""
    top = cells // 2
    waves = np.arange(top + 1)

    def rates(density: np.ndarray) -> tuple[np.ndarray, float]:
        now = velocity(density)[0]
        flux = np.fft.rfft(density * now)
        return np.fft.irfft(-1j * waves * flux, cells), float(np.abs(now).max())

    def filtered(density: np.ndarray, step: float) -> np.ndarray:
        damped = np.fft.rfft(density) * np.exp(-72 * step * (waves / top) ** 8)
        return np.fft.irfft(damped, cells)

    return Peer(rates, filtered, top)


def moments_of_peer(
    problem: Problem, cells: int, *, project: bool, factor: float
) -> np.ndarray:
    """Moments of the pseudo-spectral code, on the sphere or the circle.

    ``factor`` is its step over the limit of stability; nan once it has blown up.
    """
    start = problem.start(cells)
    geometry = start.geometry
    grid = problem.equation.on(geometry)
    areas, values, now = geometry.areas, start.values.copy(), 0.0
    place = peer_on_sphere if problem.sphere else peer_on_circle
    peer = place(
        lambda density: grid.velocity(geometry.moments(density * areas, grid.degree)),
        cells,
    )
    while now < problem.time - 1e-12:
        first, fastest = peer.rates(values)
        if not np.isfinite(fastest):
            return np.nan * geometry.moments(areas, DEGREE)
        step = min(0.2, factor * LIMIT / (fastest * peer.top), problem.time - now)
        second, _ = peer.rates(values + 0.5 * step * first)
        third, _ = peer.rates(values + 0.5 * step * second)
        fourth, _ = peer.rates(values + step * third)
        values = values + step / 6 * (first + 2 * (second + third) + fourth)
        values = peer.filtered(values, step)
        if project:
            values = positive(values, areas)
        now += step
    return geometry.moments(values * areas, DEGREE)


def reference(problem: Problem) -> np.ndarray:
    """Moments of labels, which carry the mass of the nodes of a fine grid."""
    if not problem.sphere:
        start, end = problem.start(8192), problem.time
        labels = solve_particles(
            problem.equation,
            start,
            t_end=end,
            save_at=[end],
            method="labels",
            rtol=1e-10,
        )
        last = labels.states[-1]
        return start.geometry.atom_moments(last.points, last.masses, DEGREE)
    start = problem.start(128)
    grid = problem.equation.on(Sphere(64))
    points, masses = start.geometry.points.reshape(-1, 3), start.masses.ravel()

    def velocity(places: np.ndarray) -> np.ndarray:
        unit = places / np.linalg.norm(places, axis=1, keepdims=True)
        moments = grid.geometry.atom_moments(unit, masses, grid.degree)
        return grid.velocity_at(moments, unit)

    steps = round(10 * problem.time)
    step = problem.time / steps
    for _ in range(steps):
        first = velocity(points)
        second = velocity(points + 0.5 * step * first)
        third = velocity(points + 0.5 * step * second)
        fourth = velocity(points + step * third)
        points = points + step / 6 * (first + 2 * (second + third) + fourth)
    points = points / np.linalg.norm(points, axis=1, keepdims=True)
    return grid.geometry.atom_moments(points, masses, DEGREE)


class Measured(NamedTuple):
    """The errors, times and steps over the stability limit of one code on its grids.

    ``factors`` are nan for the package, which finds its steps itself.
    """

    code: str
    cells: list[int]
    errors: list[float]
    milliseconds: list[float]
    factors: list[float]

    def time_to(self, error: float) -> float:
        """Least time at which the error is below the one named, inf if it never is."""
        pairs = zip(self.errors, self.milliseconds, strict=True)
        return min((t for e, t in pairs if e <= error), default=np.inf)

    def describe(self, error: float) -> str:
        """Return this time with its grid and step, or the error that is left."""
        needed = self.time_to(error)
        if np.isinf(needed):
            return f"an error of {np.nanmin([*self.errors, np.inf]):.2g} at best"
        at = self.milliseconds.index(needed)
        step = "" if np.isnan(self.factors[at]) else f", step {self.factors[at]:g}"
        return f"{needed:.3g} ms ({self.cells[at]}{step})"


class Code(NamedTuple):
    """A code: the moments of a problem on a grid, and the ``factors`` it may be given."""

    moments: Callable[..., np.ndarray]
    factors: tuple[float, ...] = ()


CODES = {
    "package": Code(moments_of_package),
    "signed": Code(partial(moments_of_peer, project=False), FACTORS),
    "positive": Code(partial(moments_of_peer, project=True), FACTORS),
    "fluxes": Code(partial(moments_of_package, transport="donor_blended")),
    "phases": Code(
        lambda problem, cells: moments_of_package(
            problem,
            cells,
            transport="spectral_donor_blended"
            if problem.sphere
            else "semi_lagrangian_donor_blended",
        )
    ),
}
"""The package by default, the two peers, finite volumes alone, and after a smooth phase."""


def best_options(
    code: Code, problem: Problem, cells: int, wanted: np.ndarray
) -> tuple[dict[str, float], float]:
    """Return the options with which ``code`` is fastest below the error, and its error.

    The largest factor that comes below it; the least if none does.
    """
    scale = np.sqrt(4 * np.pi) if problem.sphere else 1.0
    options: dict[str, float] = {}
    error = np.inf
    for options in [{"factor": factor} for factor in code.factors] or [{}]:
        with np.errstate(all="ignore"):
            found = code.moments(problem, cells, **options)
        error = float(np.abs(found - wanted).max() / scale)
        if error <= problem.error:
            break
    return options, error


def measured(codes: dict[str, Code], problem: Problem) -> list[Measured]:
    """Errors and median times of all ``codes`` on all grids, in turns."""
    wanted = reference(problem)
    rows = [Measured(code, [], [], [], []) for code in codes]
    for cells in SPHERE_GRIDS if problem.sphere else CIRCLE_GRIDS:
        times: dict[str, list[float]] = {code: [] for code in codes}
        chosen = {}
        for row in rows:
            code = codes[row.code]
            chosen[row.code], error = best_options(code, problem, cells, wanted)
            row.cells.append(cells)
            row.errors.append(error)
            row.factors.append(chosen[row.code].get("factor", np.nan))
        for _ in range(REPETITIONS):
            for name, options in chosen.items():
                begun = time.perf_counter()
                with np.errstate(all="ignore"):
                    codes[name].moments(problem, cells, **options)
                times[name].append(time.perf_counter() - begun)
        for row in rows:
            row.milliseconds.append(1e3 * statistics.median(times[row.code]))
    return rows


def rows(*, quick: bool = False) -> Iterator[Row]:
    """The package beside filtered spectral code, signed and positive, at equal errors."""
    problems = PROBLEMS
    for problem in problems[:1] if quick else problems:
        taken = measured(CODES, problem)
        by_code = {row.code: row for row in taken}
        times = {name: row.time_to(problem.error) for name, row in by_code.items()}
        wanted = 1.0 if not problem.sphere else (0.3 if problem.time < 5 else 0.5)
        for peer, target in (("signed", wanted), ("positive", 3.0)):
            if peer == "positive" and not problem.sphere:
                continue
            told = [by_code[code].describe(problem.error) for code in ("package", peer)]
            remark = " against ".join(told)
            ratio = times[peer] / times["package"]
            part = "Beside 35 lines of filtered spectral code, speed at equal modes"
            what = f"{problem}: {peer}"
            yield Row(part, what, ratio, target=target, at_least=True, remark=remark)
