"""Density runs beside the short code that a user would write instead.

    python benchmarks/against_spectral.py [--sphere] [--circle] [--json FILE]

The other is a filtered pseudo-spectral method with Runge-Kutta steps of order 4, of 35 lines: the
density on the grid, signed, or projected to be positive after each step.  For each problem both
run on grids of growing size; the errors are those of the moments of degrees up to 8 against
labels at the nodes of a fine grid, whose sums are spectrally accurate as long as the flow is
resolved.  The table has the least wall time, median of several runs in turns, at which each is
below the error named, and their ratio (above 1: the package is faster).
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import shtns

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
SPHERE_GRIDS = (32, 48, 64, 96, 128)
CIRCLE_GRIDS = (64, 128, 256, 512, 1024, 2048)


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


def moments_of_peer(problem: Problem, cells: int, *, project: bool) -> np.ndarray:
    """Moments of the pseudo-spectral code, on the sphere or the circle."""
    start = problem.start(cells)
    geometry = start.geometry
    grid = problem.equation.on(geometry)
    areas, now = geometry.areas, 0.0
    if problem.sphere:
        top = geometry.max_degree
        plan = shtns.sht(top, top, norm=shtns.sht_fourpi, nthreads=1)
        plan.set_grid(cells, 2 * cells, flags=shtns.sht_quick_init, polar_opt=0.0)
        l = plan.l
        values = start.values.copy()

        def rates(density: np.ndarray) -> tuple[np.ndarray, float]:
            velocity = grid.velocity(geometry.moments(density * areas, grid.degree))
            flux = density * velocity
            part, rest = plan.spec_array(), plan.spec_array()
            plan.spat_to_SHsphtor(flux[0].copy(), flux[1].copy(), part, rest)
            return plan.synth(l * (l + 1) * part), float(np.abs(velocity).max())

        def filtered(density: np.ndarray, step: float) -> np.ndarray:
            return plan.synth(
                plan.analys(density) * np.exp(-72 * step * (l / cells) ** 8)
            )

    else:
        top = cells // 2
        waves = np.arange(top + 1)
        values = start.values.copy()

        def rates(density: np.ndarray) -> tuple[np.ndarray, float]:
            velocity = grid.velocity(geometry.moments(density * areas, grid.degree))[0]
            flux = np.fft.rfft(density * velocity)
            return np.fft.irfft(-1j * waves * flux, cells), float(
                np.abs(velocity).max()
            )

        def filtered(density: np.ndarray, step: float) -> np.ndarray:
            damped = np.fft.rfft(density) * np.exp(-72 * step * (waves / top) ** 8)
            return np.fft.irfft(damped, cells)

    while now < problem.time - 1e-12:
        first, fastest = rates(values)
        step = min(0.2, 1.5 * 2.8 / (fastest * top), problem.time - now)
        second, _ = rates(values + 0.5 * step * first)
        third, _ = rates(values + 0.5 * step * second)
        fourth, _ = rates(values + step * third)
        values = values + step / 6 * (first + 2 * (second + third) + fourth)
        values = filtered(values, step)
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


class Row(NamedTuple):
    """The errors and times of one code on the grids that it needs."""

    code: str
    cells: list[int]
    errors: list[float]
    milliseconds: list[float]

    def time_to(self, error: float) -> float:
        """Least time at which the error is below the one named, inf if it never is."""
        pairs = zip(self.errors, self.milliseconds, strict=True)
        return min((t for e, t in pairs if e <= error), default=np.inf)


def measured(
    codes: dict[str, Callable[[Problem, int], np.ndarray]], problem: Problem
) -> list[Row]:
    """Errors and median times of all ``codes`` on all grids, in turns."""
    wanted = reference(problem)
    scale = np.sqrt(4 * np.pi) if problem.sphere else 1.0
    grids = SPHERE_GRIDS if problem.sphere else CIRCLE_GRIDS
    rows = [Row(code, [], [], []) for code in codes]
    for cells in grids:
        times: dict[str, list[float]] = {code: [] for code in codes}
        for turn in range(REPETITIONS + 1):
            for row, (name, code) in zip(rows, codes.items(), strict=True):
                begun = time.perf_counter()
                with np.errstate(all="ignore"):
                    found = code(problem, cells)
                if turn:
                    times[name].append(time.perf_counter() - begun)
                else:
                    row.cells.append(cells)
                    row.errors.append(float(np.abs(found - wanted).max() / scale))
        for row in rows:
            row.milliseconds.append(1e3 * statistics.median(times[row.code]))
    return rows


CODES: dict[str, Callable[[Problem, int], np.ndarray]] = {
    "package": moments_of_package,
    "signed": lambda problem, cells: moments_of_peer(problem, cells, project=False),
    "positive": lambda problem, cells: moments_of_peer(problem, cells, project=True),
    "fluxes": lambda problem, cells: moments_of_package(
        problem, cells, transport="donor_blended"
    ),
    "phases": lambda problem, cells: moments_of_package(
        problem,
        cells,
        transport="spectral_donor_blended"
        if problem.sphere
        else "semi_lagrangian_donor_blended",
    ),
}
"""The package by default, the two peers, finite volumes alone, and after a smooth phase."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table, and write what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sphere", action="store_true", help="problems on S2 only")
    parser.add_argument("--circle", action="store_true", help="problems on S1 only")
    parser.add_argument("--json", type=Path, help="file for all errors and times")
    given = parser.parse_args(arguments)
    everything = []
    names = " ".join(f"{code:>9s}" for code in CODES)
    print(f"{'least ms to the error':44s} {names}   signed/package  positive/package")
    for problem in PROBLEMS:
        if (given.sphere and not problem.sphere) or (given.circle and problem.sphere):
            continue
        rows = measured(CODES, problem)
        times = {row.code: row.time_to(problem.error) for row in rows}
        shown = " ".join(f"{times[code]:9.1f}" for code in CODES)
        ratios = [times[peer] / times["package"] for peer in ("signed", "positive")]
        print(
            f"{problem!s:44s} {shown} {ratios[0]:15.2f} {ratios[1]:16.2f}", flush=True
        )
        everything.append(
            {"problem": str(problem), "rows": [r._asdict() for r in rows]}
        )
    if given.json is not None:
        given.json.write_text(json.dumps(everything, indent=1))


if __name__ == "__main__":
    main()
