r"""Semi-Lagrangian transport against the filtered pseudo-spectral code, at equal mode error.

Problems on the circle, to t = 3 and t = 5.  How smooth the density is at the end is shown by
the size of its mode 64: clusters of GeLU in ascent are sharp points at t = 5, whose low modes
a spectral code still knows when its density is long negative.  For each method the cheapest
setting (cells and tolerance, points and step) with max_(k <= 8) |mu_k - reference| <= 1e-4 is
found, then both are timed in turn.  Absolute times depend on the machine; the ratios do much
less.

Two times are given for the semi-Lagrangian run: its steps alone, and the whole call of
``mfpde.solve`` with checks, diagnostics and two saved states.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

import mfpde
from mfpde.runs.layers import Stage
from mfpde.solver.recorder import Recorder
from mfpde.solver.time_loop import Method, TimeLoop
from mfpde.transport import scheme_for
from validation.filtered_spectral import (
    SpectralProblem,
    angles,
    filtered_spectral,
    modes,
)

Array = NDArray[np.float64]

ENDS = (3.0, 5.0)
TARGET = 1e-4
POINTS = (32, 48, 64, 96, 128, 192, 256)
STEPS = (1.25, 1.0, 0.7, 0.5, 0.35, 0.25, 0.18, 0.125, 0.09, 0.0625)
CELLS = (48, 64, 96, 128, 192, 256, 384)
TOLERANCES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5)
NEURONS = ([[np.cos(a), np.sin(a)] for a in (0.3, 2.1)], [0.4, -0.25])


@dataclass(frozen=True)
class Case:
    """One problem, in the words of both codes."""

    beta: float
    direction: str
    neurons: bool
    t_end: float

    @property
    def equation(self) -> mfpde.MeanFieldEquation:
        """For mfpde."""
        terms: list[mfpde.Perceptron] = []
        if self.neurons:
            terms = [mfpde.Perceptron(*NEURONS, activation="gelu")]
        attention = mfpde.Attention(self.beta)
        return mfpde.MeanFieldEquation(attention, *terms, direction=self.direction)

    @property
    def problem(self) -> SpectralProblem:
        """For the pseudo-spectral code."""
        sign = 1 if self.direction == "ascent" else -1
        slope = gelu_slope if self.neurons else None
        return SpectralProblem(self.beta, sign, slope)

    def __str__(self) -> str:
        neurons = "GeLU" if self.neurons else "-"
        return f"t {self.t_end:g} beta {self.beta:<4g} {self.direction:7s} {neurons:5s}"


def gelu_slope(theta: Array) -> Array:
    """Slope of V = sum_j w_j Phi(a_j.x) by the angle."""
    total = np.zeros(theta.shape)
    for (cosine, sine), weight in zip(*NEURONS, strict=True):
        z = cosine * np.cos(theta) + sine * np.sin(theta)
        total += weight * z * ndtr(z) * (sine * np.cos(theta) - cosine * np.sin(theta))
    return total


def start(theta: Array) -> Array:
    """A density with modes 1 and 2."""
    return (1 + 0.4 * np.cos(theta - 1) + 0.3 * np.sin(2 * theta)) / (2 * np.pi)


def steps_alone(case: Case, num_cells: int, rtol: float) -> Callable[[], Array]:
    """A run without diagnostics, from a density to a density."""
    circle = mfpde.Circle(num_cells)
    density = mfpde.Density(circle, start(circle.angles))
    method = Method(scheme_for("semi_lagrangian", circle), rtol)
    stages = (Stage(case.equation, case.t_end),)

    def run() -> Array:
        recorder = Recorder(case.equation, circle)
        loop = TimeLoop(method, stages, recorder, np.array([case.t_end]), ())
        loop.start(mfpde.Measure(density), 0.0)
        loop.run()
        return loop.final.density.values

    return run


def whole_call(case: Case, num_cells: int, rtol: float) -> Callable[[], Array]:
    circle = mfpde.Circle(num_cells)
    density = mfpde.Density(circle, start(circle.angles))
    equation = case.equation

    def run() -> Array:
        result = mfpde.solve(
            equation,
            density,
            t_end=case.t_end,
            save_at=[case.t_end],
            transport="semi_lagrangian",
            rtol=rtol,
        )
        return result.final.density.values

    return run


def spectral(case: Case, count: int, step: float) -> Callable[[], Array]:
    problem = case.problem
    values = start(angles(count))
    return lambda: filtered_spectral(problem, values, t_end=case.t_end, step=step)


def seconds(function: Callable[[], object], repeats: int = 5) -> float:
    """Smallest time of a call."""
    rounds = []
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        rounds.append(time.perf_counter() - begin)
    return min(rounds)


def fine(case: Case) -> Array:
    """The density at the end, 1024 values."""
    return filtered_spectral(
        case.problem, start(angles(1024)), t_end=case.t_end, step=0.01
    )


Setting = tuple[float, float]


def cheapest(
    make: Callable[[Case, int, float], Callable[[], Array]],
    case: Case,
    grid: tuple[tuple[int, ...], tuple[float, ...]],
) -> tuple[int, float]:
    """The setting that reaches the target soonest."""
    reference = modes(fine(case))
    found: list[tuple[float, int, float]] = []
    for count in grid[0]:
        for setting in grid[1]:
            try:
                run = make(case, count, setting)
                with np.errstate(all="ignore"):
                    error = np.abs(modes(run()) - reference).max()
            except ValueError:  # too coarse for beta
                continue
            if error <= TARGET:
                found.append((seconds(run, 3), count, setting))
    _, count, setting = min(found)
    return count, setting


def main() -> None:
    print(
        "problem                     mode 64  semi-Lagrangian     steps      call      "
        "spectral             time   steps/spectral  call/spectral"
    )
    for t_end, beta, direction, neurons in product(
        ENDS, (5.0, 10.0), ("ascent", "descent"), (False, True)
    ):
        case = Case(beta, direction, neurons, t_end)
        ours = cheapest(steps_alone, case, (CELLS, TOLERANCES))
        theirs = cheapest(spectral, case, (POINTS, STEPS))
        runs = (
            steps_alone(case, *ours),
            whole_call(case, *ours),
            spectral(case, *theirs),
        )
        times = [min(seconds(run) for _ in range(5)) for run in runs]
        tail = abs(modes(fine(case), 64)[-1])
        print(
            f"{case}  {tail:7.0e} {ours[0]:4d} cells {ours[1]:7.0e} "
            f"{1e3 * times[0]:6.2f} ms {1e3 * times[1]:6.2f} ms   "
            f"{theirs[0]:4d} points {theirs[1]:6.3g} {1e3 * times[2]:6.2f} ms "
            f"{times[0] / times[2]:8.2f} {times[1] / times[2]:12.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
