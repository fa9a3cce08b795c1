"""Atoms that attract: two, n with equal angles, and n equally spaced on the circle."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

import mfpde
from mfpde import theory
from validation.circle_cases import curvature, points_at
from validation.claim import Claim, Findings, equal, vanishes
from validation.exact_facts.runs import Array, ascent, atoms_alone, integrate
from validation.references.two_atoms import merge_time
from validation.sphere_cases import equiangular_points, unit

CLAIM = Claim(
    title="Two atoms approach as exponential integrals say; equiangular and equispaced atoms",
    source="Eq. (2.5) for n atoms (derived here); Geshkovski et al., arXiv 2312.10794",
    statement=(
        "In ascent the angle D of two atoms of total mass M obeys D' = -M e^(beta (cos D - 1)) "
        "sin D, so that 2 M T = Ei(beta(1-c_0)) - Ei(beta(1-c_1)) + e^(2 beta) "
        "[E_1(beta(1+c_0)) - E_1(beta(1+c_1))], c = cos D. Softmax, equal masses: "
        "(T(M=1) + log(tan(D_0/2)/tan(D_1/2)))/2. They never meet: a run's merge is D_1 = 1e-6, "
        "log(h/1e-6)/M later than D_1 = h, a cell. n equal atoms with the same cosine g between "
        "any two keep it so: g' = (2/n) e^(beta (g-1)) (1-g)(1+(n-1)g), under softmax "
        "2 e^(beta g)(1-g)(1+(n-1)g)/(e^beta + (n-1)e^(beta g)). n equispaced atoms on S^1 "
        "rest; their linear rates in ascent are (1/n) sum_j (K''/beta)(2 pi j/n)"
        "(1 - cos(2 pi j q/n)), q = 0..n-1."
    ),
)
CASES = ((8.0, 1.2), (25.0, 0.8), (25.0, 1.0))
KINDS = {"unnormalised": (False, (0.7, 0.3)), "softmax": (True, (0.5, 0.5))}
NEAR = 1e-6
THREE_BETA = 4.0
THREE_KINDS = {"unnormalised": (False, 20.0), "softmax": (True, 5.0)}
RINGS = ((10.0, 3), (10.0, 5), (25.0, 7))


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


def cosine_path(softmax: bool, times: Array) -> Array:
    """The cosine g of three atoms at ``times`` from 0 by its differential equation."""

    def rate(g: Array) -> Array:
        pull = np.exp(THREE_BETA * (g - 1))
        scale = 1 + 2 * pull if softmax else 3
        return 2 * pull * (1 - g) * (1 + 2 * g) / scale

    return integrate(rate, 0.0, times)


def path_of_three(softmax: bool, times: Array) -> tuple[Array, Array]:
    """Points of three atoms of a run on S^2 (times, 3, 3), and their exact places.

    Places of cosine g: sqrt((1+2g)/3) n + sqrt(2(1-g)/3) e_i, n the axis of symmetry and
    e_i the directions in which the atoms stand around it.
    """
    turn = np.linalg.qr(np.random.default_rng(3).standard_normal((3, 3)))[0]
    begin = equiangular_points(3, np.pi / 2) @ turn.T
    start = atoms_alone(mfpde.Sphere(48), begin)
    equation = ascent(mfpde.Attention(THREE_BETA, softmax))
    run = mfpde.solve(
        equation, start, t_end=times[-1], save_at=times, atoms="exact", rtol=1e-7
    )
    axis = unit(*begin.sum(axis=0))
    around = begin - np.outer(begin @ axis, axis)
    around /= np.linalg.norm(around, axis=1, keepdims=True)
    g = cosine_path(softmax, times)[:, np.newaxis, np.newaxis]
    places = np.sqrt((1 + 2 * g) / 3) * axis + np.sqrt(2 * (1 - g) / 3) * around
    return np.array([state.atoms.points for state in run.states]), places


def rates_by_formula(beta: float, count: int) -> Array:
    """The formula of the claim for q = 0..n-1, in increasing order."""
    gaps = 2 * np.pi * np.arange(count) / count
    waves = 1 - np.cos(np.outer(np.arange(count), gaps))
    return np.sort((curvature(beta, gaps) * waves).sum(axis=1) / count)


@CLAIM
def main(_quick: bool = False) -> Findings:
    for beta, begin in CASES:
        for kind, (softmax, masses) in KINDS.items():
            time_to = partial(merge_time, beta, start_angle=begin, softmax=softmax)
            ends = {"start_angle": begin, "end_angle": 0.1}
            found = theory.merge_time(beta, **ends, normalized=softmax)
            name = f"theory.merge_time, beta = {beta:g}, {begin:g} -> 0.1, {kind}"
            exact = time_to(end_angle=0.1)
            yield equal(name, found, exact, 1e-9, relative=True, subject="formula")
            for d in (2, 3):
                run = run_to_merge(d, beta, begin, softmax, masses)
                name = f"run on S^{d - 1}, beta = {beta:g}, from {begin:g}, {kind}: "
                error = time_error(run, time_to)
                yield vanishes(f"{name}relative error of the merge time", error, 1e-5)
    kind = {"start_angle": 0.9, "softmax": True, "shares": (0.2, 0.8)}
    run = run_to_merge(2, 4.0, 0.9, True, kind["shares"])
    error = time_error(run, partial(merge_time, 4.0, **kind))
    name = "run on S^1, beta = 4, from 0.9, softmax, shares 0.2 and 0.8: "
    yield vanishes(f"{name}relative error of the merge time", error, 1e-5)
    for kind, (softmax, end) in THREE_KINDS.items():
        points, places = path_of_three(softmax, np.linspace(0.0, end, 41))
        name = f"three atoms on S^2, {kind}: largest distance of an atom from its place"
        yield vanishes(name, np.linalg.norm(points - places, axis=-1), 1e-7)
    for beta, count in RINGS:
        exact = rates_by_formula(beta, count)
        found = np.sort(theory.equispaced_rates(beta, count, direction="ascent"))
        name = f"{count} equispaced atoms, beta = {beta:g}: rates of theory"
        yield vanishes(name, found - exact, 1e-13, subject="formula")
