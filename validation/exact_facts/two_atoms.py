"""Two atoms that attract: the time of their approach by exponential integrals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import mfpde
from mfpde import theory
from mfpde.runs.run import Run
from validation.circle_cases import points_at
from validation.claim import Claim, Quantity
from validation.drawing import panels
from validation.exact_facts.drawn import FORMULA_DOTS, SOLVER
from validation.references.two_atoms import merge_time, merge_time_by_quadrature

CLAIM = Claim(
    title="Two atoms approach as the exponential integrals say",
    source="Eq. (2.5) for two atoms (derived here)",
    statement=(
        "In ascent the angle D of two atoms of total mass M obeys D' = -M e^(beta (cos D - 1)) "
        "sin D, so that 2 M T = Ei(beta(1-c_0)) - Ei(beta(1-c_1)) + e^(2 beta) "
        "[E_1(beta(1+c_0)) - E_1(beta(1+c_1))], c = cos D. Softmax, equal masses: "
        "(T(M=1) + log(tan(D_0/2)/tan(D_1/2)))/2. They never meet: a run's merge is D_1 = 1e-6, "
        "log(h/1e-6)/M later than D_1 = h, a cell."
    ),
)
CASES = ((8.0, 1.2), (25.0, 0.8), (25.0, 1.0))


def merging_run(beta: float, begin: float, **kind: Any) -> Run:
    """Two exact atoms of ``masses`` from the angle ``begin``, for twice their time."""
    masses, dimension = kind["masses"], kind.get("dimension", 2)
    points = points_at(np.array([2.0, 2.0 + begin]))
    grid: Any = mfpde.Circle(512)
    if dimension == 3:
        turn = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
        points = np.pad(points, ((0, 0), (0, 1))) @ turn.T
        grid = mfpde.Sphere(48)
    softmax = kind.get("softmax", False)
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(beta, normalized=softmax), direction="ascent"
    )
    empty = mfpde.Density(grid, np.zeros(grid.shape))
    start = mfpde.Measure(empty, mfpde.Atoms(points, masses))
    near = merge_time(beta, start_angle=begin, end_angle=1e-6, softmax=softmax)
    return mfpde.solve(equation, start, t_end=2 * near, atoms="exact")


def time_error(run: Run, time_to: Callable[[float], float]) -> float:
    """Relative error of the one merge's time; NaN where there is not one merge."""
    if len(run.events) != 1:
        return np.nan
    (event,) = run.events
    chord = float(np.linalg.norm(event.points[0] - event.points[1]))
    return float(event.time / time_to(2 * np.arcsin(chord / 2)) - 1)


def _time_from(beta: float, begin: float, end: float, *, softmax: bool) -> float:
    return merge_time(beta, start_angle=begin, end_angle=end, softmax=softmax)


def main(quick: bool = False) -> dict[str, Any]:
    quantities = []
    cases = CASES[:2] if quick else CASES
    for beta, begin in cases:
        for softmax in (False, True):
            exact = merge_time(beta, start_angle=begin, end_angle=0.1, softmax=softmax)
            found = theory.merge_time(
                beta, start_angle=begin, end_angle=0.1, normalized=softmax
            )
            kind = "softmax" if softmax else "unnormalised"
            name = f"theory.merge_time, beta = {beta:g}, {begin:g} -> 0.1, {kind}"
            quantities.append(
                Quantity(name, found, exact, 1e-9, relative=True, subject="formula")
            )
            for dimension in (2,) if quick else (2, 3):
                masses = [0.5, 0.5] if softmax else [0.7, 0.3]
                kind_of_run = {"softmax": softmax, "dimension": dimension}
                run = merging_run(beta, begin, masses=masses, **kind_of_run)
                time_to = partial(_time_from, beta, begin, softmax=softmax)
                error = time_error(run, time_to)
                name = f"run on S^{dimension - 1}, beta = {beta:g}, from {begin:g}, {kind}: "
                quantities.append(
                    Quantity(
                        f"{name}relative error of the merge time", error, 0.0, 1e-5
                    )
                )
    shares = (0.2, 0.8)
    run = merging_run(4.0, 0.9, masses=shares, softmax=True)
    error = time_error(
        run, lambda end: merge_time_by_quadrature(4.0, shares, angles=(0.9, end))
    )
    name = "run on S^1, beta = 4, from 0.9, softmax, shares 0.2 and 0.8: "
    quantities.append(
        Quantity(f"{name}relative error of the merge time", error, 0.0, 1e-5)
    )
    figure, (ax,) = panels(1, width=5)
    draw(ax)
    return {"quantities": quantities, "figures": {"approach": figure}}


def draw(ax: Any) -> None:
    """The angle over time of one run, and the formula's time for each angle."""
    beta, begin = 8.0, 1.2
    run = merging_run(beta, begin, masses=[0.7, 0.3])
    states = [state for state in run.states if len(state.atoms) == 2]
    cosines = [state.atoms.points[0] @ state.atoms.points[1] for state in states]
    ax.plot(run.times[: len(states)], np.arccos(cosines), color=SOLVER, label="solver")
    angles = np.linspace(0.02, begin, 25)
    times = [merge_time(beta, start_angle=begin, end_angle=a) for a in angles]
    ax.plot(times, angles, **FORMULA_DOTS, label="formula")
    ax.set(title="S$^1$, β = 8, M = 1", xlabel="t", ylabel="angle between the atoms")
    ax.set_yticks(
        np.pi * np.array([0, 1, 2, 3, 4]) / 10, ["0", "π/10", "π/5", "3π/10", "2π/5"]
    )
    ax.legend()
