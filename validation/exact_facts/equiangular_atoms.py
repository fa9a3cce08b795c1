"""n equal atoms with equal angles, and n equal atoms equally spaced on the circle."""

from __future__ import annotations

import numpy as np

import mfpde
from mfpde import theory
from validation.circle_cases import curvature, points_at
from validation.claim import Claim, Findings, vanishes
from validation.exact_facts.runs import Array, ascent, atoms_alone, integrate
from validation.sphere_cases import equiangular_points, unit

CLAIM = Claim(
    title="Equiangular and equispaced atoms",
    source="Eq. (2.5) for n atoms; equiangular starts: Geshkovski et al., arXiv 2312.10794",
    statement=(
        "n equal atoms with the same cosine g between any two keep it so: "
        "g' = (2/n) e^(beta (g-1)) (1-g)(1+(n-1)g), under softmax "
        "2 e^(beta g)(1-g)(1+(n-1)g)/(e^beta + (n-1)e^(beta g)). n equispaced atoms on S^1 "
        "rest; their linear rates in ascent are (1/n) sum_j (K''/beta)(2 pi j/n)"
        "(1 - cos(2 pi j q/n)), q = 0..n-1."
    ),
)
BETA = 4.0
KINDS = {"unnormalised": (False, 20.0), "softmax": (True, 5.0)}
RINGS = ((10.0, 3), (10.0, 5), (25.0, 7))


def cosine_path(softmax: bool, times: Array) -> Array:
    """The cosine g of three atoms at ``times`` from 0 by its differential equation."""

    def rate(g: Array) -> Array:
        pull = np.exp(BETA * (g - 1))
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
    equation = ascent(mfpde.Attention(BETA, softmax))
    run = mfpde.solve(
        equation, start, t_end=times[-1], save_at=times, atoms="exact", rtol=1e-7
    )
    axis = unit(*begin.sum(axis=0))
    around = begin - np.outer(begin @ axis, axis)
    around /= np.linalg.norm(around, axis=1, keepdims=True)
    g = cosine_path(softmax, times)[:, np.newaxis, np.newaxis]
    places = np.sqrt((1 + 2 * g) / 3) * axis + np.sqrt(2 * (1 - g) / 3) * around
    return np.array([state.atoms.points for state in run.states]), places


def rates_by_differences(beta: float, count: int) -> Array:
    """Rates of shifts of equispaced atoms by central differences of their velocity."""
    rest, step = 0.3 + 2 * np.pi * np.arange(count) / count, 1e-5

    def speeds(angles: Array) -> Array:
        velocity = ascent(mfpde.Attention(beta)).velocity(
            mfpde.Atoms(points_at(angles))
        )
        return (velocity * points_at(angles + np.pi / 2)).sum(axis=1)

    columns = [
        (speeds(rest + shift) - speeds(rest - shift)) / (2 * step)
        for shift in step * np.eye(count)
    ]
    return np.sort(np.linalg.eigvals(np.array(columns).T).real)


def rates_by_formula(beta: float, count: int) -> Array:
    """The formula of the claim for q = 0..n-1, in increasing order."""
    gaps = 2 * np.pi * np.arange(count) / count
    waves = 1 - np.cos(np.outer(np.arange(count), gaps))
    return np.sort((curvature(beta, gaps) * waves).sum(axis=1) / count)


@CLAIM
def main(_quick: bool = False) -> Findings:
    for kind, (softmax, end) in KINDS.items():
        points, places = path_of_three(softmax, np.linspace(0.0, end, 41))
        name = f"three atoms on S^2, {kind}: largest distance of an atom from its place"
        yield vanishes(name, np.linalg.norm(points - places, axis=-1), 1e-7)
    for beta, count in RINGS:
        exact = rates_by_formula(beta, count)
        found = np.sort(theory.equispaced_rates(beta, count, direction="ascent"))
        name = f"{count} equispaced atoms, beta = {beta:g}: "
        away = rates_by_differences(beta, count) - exact
        yield vanishes(f"{name}rates by differences", away, 1e-8, subject="formula")
        yield vanishes(
            f"{name}rates of theory", found - exact, 1e-13, subject="formula"
        )
