"""Two atoms that attract: the time of their approach by exponential integrals."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

import mfpde
from mfpde import theory
from validation.circle_cases import points_at
from validation.claim import Claim, Findings, equal, vanishes
from validation.exact_facts.runs import ascent, atoms_alone
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
KINDS = {"unnormalised": (False, (0.7, 0.3)), "softmax": (True, (0.5, 0.5))}
NEAR = 1e-6


def run_to_merge(
    dimension: int,
    beta: float,
    begin: float,
    softmax: bool,
    masses: tuple[float, float],
) -> mfpde.Run:
    """Two exact atoms from the angle ``begin``, for twice their time."""
    points, grid = points_at(np.array([2.0, 2.0 + begin])), mfpde.Circle(512)
    if dimension == 3:
        turn = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
        points, grid = np.pad(points, ((0, 0), (0, 1))) @ turn.T, mfpde.Sphere(48)
    time = 2 * merge_time(beta, start_angle=begin, end_angle=NEAR, softmax=softmax)
    equation = ascent(mfpde.Attention(beta, softmax))
    start = atoms_alone(grid, points, masses)
    return mfpde.solve(equation, start, t_end=time, atoms="exact")


def time_error(run: mfpde.Run, time_to: Callable[..., float]) -> float:
    """Relative error of the one merge's time; NaN where there is not one merge."""
    if len(run.events) != 1:
        return np.nan
    (event,) = run.events
    chord = float(np.linalg.norm(event.points[0] - event.points[1]))
    return float(event.time / time_to(end_angle=2 * np.arcsin(chord / 2)) - 1)


@CLAIM
def main(_quick: bool = False) -> Findings:
    for beta, begin in CASES:
        for kind, (softmax, masses) in KINDS.items():
            time_to = partial(merge_time, beta, start_angle=begin, softmax=softmax)
            found = theory.merge_time(
                beta, start_angle=begin, end_angle=0.1, normalized=softmax
            )
            name = f"theory.merge_time, beta = {beta:g}, {begin:g} -> 0.1, {kind}"
            exact = time_to(end_angle=0.1)
            yield equal(name, found, exact, 1e-9, relative=True, subject="formula")
            for d in (2, 3):
                run = run_to_merge(d, beta, begin, softmax, masses)
                name = f"run on S^{d - 1}, beta = {beta:g}, from {begin:g}, {kind}: "
                error = time_error(run, time_to)
                yield vanishes(f"{name}relative error of the merge time", error, 1e-5)
    shares = (0.2, 0.8)
    error = time_error(
        run_to_merge(2, 4.0, 0.9, True, shares),
        lambda end_angle: merge_time_by_quadrature(
            4.0, shares, angles=(0.9, end_angle)
        ),
    )
    name = "run on S^1, beta = 4, from 0.9, softmax, shares 0.2 and 0.8: "
    yield vanishes(f"{name}relative error of the merge time", error, 1e-5)
