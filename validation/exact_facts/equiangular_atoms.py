"""n equal atoms with equal angles, and n equal atoms equally spaced on the circle."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import mfpde
from mfpde import theory
from validation.circle_cases import curvature, points_at
from validation.claim import Claim, Quantity
from validation.drawing import COLOURS, panels
from validation.sphere_cases import equiangular_points

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


def cosine_path(
    beta: float, count: int, *, softmax: bool, times: np.ndarray
) -> np.ndarray:
    """The cosine at ``times`` from 0 by its ordinary differential equation."""

    def rate(_: float, g: np.ndarray) -> np.ndarray:
        pull = np.exp(beta * (g - 1))
        scale = count if not softmax else 1 + (count - 1) * pull
        return 2 * pull * (1 - g) * (1 + (count - 1) * g) / scale

    path = solve_ivp(rate, (0, times[-1]), [0.0], t_eval=times, rtol=1e-12, atol=1e-13)
    return path.y[0]


def run_of_three(
    beta: float, softmax: bool, times: np.ndarray
) -> tuple[np.ndarray, float]:
    """Mean cosine of three atoms of a run on S^2, and the largest difference of two."""
    sphere = mfpde.Sphere(48)
    turn = np.linalg.qr(np.random.default_rng(3).standard_normal((3, 3)))[0]
    atoms = mfpde.Atoms(equiangular_points(3, np.pi / 2) @ turn.T)
    start = mfpde.Measure(mfpde.Density(sphere, np.zeros(sphere.shape)), atoms)
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(beta, softmax), direction="ascent"
    )
    run = mfpde.solve(
        equation, start, t_end=times[-1], save_at=times, atoms="exact", rtol=1e-7
    )
    pairs = np.triu_indices(3, 1)
    grams = np.array([s.atoms.points @ s.atoms.points.T for s in run.states])
    cosines = grams[:, pairs[0], pairs[1]]
    return cosines.mean(axis=1), float(np.ptp(cosines, axis=1).max())


def jacobian_rates(beta: float, count: int) -> np.ndarray:
    """Rates of shifts of equispaced atoms by central differences of their velocity."""
    equation = mfpde.MeanFieldEquation(mfpde.Attention(beta), direction="ascent")
    rest, step = 0.3 + 2 * np.pi * np.arange(count) / count, 1e-5

    def speeds(angles: np.ndarray) -> np.ndarray:
        tangents = np.stack([-np.sin(angles), np.cos(angles)], axis=-1)
        velocity = equation.velocity(mfpde.Atoms(points_at(angles)))
        return (velocity * tangents).sum(axis=1)

    columns = [
        (speeds(rest + step * row) - speeds(rest - step * row)) / (2 * step)
        for row in np.eye(count)
    ]
    return np.sort(np.linalg.eigvals(np.array(columns).T).real)


def formula_rates(beta: float, count: int) -> np.ndarray:
    """The formula of the claim, sorted."""
    gaps = 2 * np.pi * np.arange(count) / count
    waves = 1 - np.cos(np.outer(np.arange(count), gaps))
    return np.sort((curvature(beta, gaps) * waves).sum(axis=1) / count)


def main(quick: bool = False) -> dict[str, Any]:
    quantities = []
    figure, (left, right) = panels(2)
    beta = 4.0
    for colour, softmax in zip(COLOURS, (False, True), strict=False):
        times = np.linspace(0.0, 20.0 if not softmax else 5.0, 41)
        exact = cosine_path(beta, 3, softmax=softmax, times=times)
        found, spread = run_of_three(beta, softmax, times)
        kind = "softmax" if softmax else "unnormalised"
        error = float(np.abs(found - exact).max())
        quantities += [
            Quantity(
                f"three atoms on S^2, {kind}: largest error of g", error, 0.0, 1e-7
            ),
            Quantity(f"three atoms on S^2, {kind}: g is one number", spread, 0.0, 1e-9),
        ]
        left.plot(times, found, color=colour, label=f"{kind}, solver")
        left.plot(times[::4], exact[::4], "o", color=colour, ms=3)
        for count in (3, 5):
            end = float(np.arccos(0.9))
            exact_time = time_to(0.9, beta, count, softmax=softmax)
            time = theory.equiangular_time(
                beta, count, start_angle=np.pi / 2, end_angle=end, normalized=softmax
            )
            name = f"theory.equiangular_time, n = {count}, {kind}"
            quantities.append(Quantity(name, time, exact_time, 1e-8, relative=True))
    for strength, count in ((10.0, 3), (10.0, 5), (25.0, 7)):
        exact = formula_rates(strength, count)
        found = jacobian_rates(strength, count)
        rates = np.sort(theory.equispaced_rates(strength, count, direction="ascent"))
        name = f"{count} equispaced atoms, beta = {strength:g}: rates "
        quantities += [
            Quantity(
                f"{name}by differences", float(np.abs(found - exact).max()), 0.0, 1e-8
            ),
            Quantity(
                f"{name}of theory", float(np.abs(rates - exact).max()), 0.0, 1e-13
            ),
        ]
        right.plot(exact, "o-", label=f"n = {count}, β = {strength:g}")
        right.plot(found, "k+")
    left.set(title="Three atoms on S$^2$, β = 4", xlabel="t", ylabel="cosine g")
    right.set(title="Equispaced atoms on S$^1$", xlabel="rate, sorted")
    left.legend()
    right.legend()
    return {"quantities": quantities, "figures": {"atoms": figure}}


def time_to(end: float, beta: float, count: int, *, softmax: bool) -> float:
    """Time at which the cosine has come from 0 to ``end``, by quadrature."""
    from scipy.integrate import quad

    def pace(g: float) -> float:
        pull = np.exp(beta * (g - 1))
        scale = count if not softmax else 1 + (count - 1) * pull
        return scale / (2 * pull * (1 - g) * (1 + (count - 1) * g))

    return float(quad(pace, 0.0, end, epsrel=1e-12)[0])
