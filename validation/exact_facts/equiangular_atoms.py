"""n equal atoms with equal angles, and n equal atoms equally spaced on the circle."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import mfpde
from mfpde import theory
from validation.circle_cases import angles_of, curvature, points_at, wrapped
from validation.claim import Claim, Quantity
from validation.drawing import panels
from validation.exact_facts.drawn import (
    FORMULA_DOTS,
    OTHERS,
    SOLVER,
    legend_below,
)
from validation.sphere_cases import equiangular_points, unit

Array = NDArray[np.float64]

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
RINGS = ((10.0, 3), (10.0, 5), (25.0, 7))
SHIFT = 1e-4  # rad


def cosine_path(beta: float, count: int, *, softmax: bool, times: Array) -> Array:
    """The cosine at ``times`` from 0 by its ordinary differential equation."""

    def rate(_: float, g: Array) -> Array:
        pull = np.exp(beta * (g - 1))
        scale = count if not softmax else 1 + (count - 1) * pull
        return 2 * pull * (1 - g) * (1 + (count - 1) * g) / scale

    path = solve_ivp(rate, (0, times[-1]), [0.0], t_eval=times, rtol=1e-12, atol=1e-13)
    return path.y[0]


def run_of_three(beta: float, softmax: bool, times: Array) -> tuple[Array, float]:
    """Mean cosine of three atoms of a run on S^2, and their largest distance from places.

    Places of cosine g: sqrt((1+2g)/3) n + sqrt(2(1-g)/3) e_i, n the axis of symmetry and
    e_i the directions in which the atoms stand around it.
    """
    sphere = mfpde.Sphere(48)
    turn = np.linalg.qr(np.random.default_rng(3).standard_normal((3, 3)))[0]
    begin = equiangular_points(3, np.pi / 2) @ turn.T
    start = mfpde.Measure(
        mfpde.Density(sphere, np.zeros(sphere.shape)), mfpde.Atoms(begin)
    )
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(beta, softmax), direction="ascent"
    )
    run = mfpde.solve(
        equation, start, t_end=times[-1], save_at=times, atoms="exact", rtol=1e-7
    )
    axis = unit(*begin.sum(axis=0))
    around = begin - np.outer(begin @ axis, axis)
    around /= np.linalg.norm(around, axis=1, keepdims=True)
    exact = cosine_path(beta, 3, softmax=softmax, times=times)
    places = np.sqrt((1 + 2 * exact) / 3)[:, np.newaxis, np.newaxis] * axis
    places = places + np.sqrt(2 * (1 - exact) / 3)[:, np.newaxis, np.newaxis] * around
    pairs = np.triu_indices(3, 1)
    cosines, away = np.full(len(times), np.nan), np.inf
    if all(len(state.atoms) == 3 for state in run.states) and len(run.states) == len(
        times
    ):
        points = np.array([state.atoms.points for state in run.states])
        cosines = (points @ points.transpose(0, 2, 1))[:, pairs[0], pairs[1]].mean(
            axis=1
        )
        away = float(np.linalg.norm(points - places, axis=-1).max())
    return cosines, away


def shift_rate(beta: float, count: int) -> float:
    """Rate at which exact atoms leave their equal spaces, from the fastest shift."""
    rest = 0.3 + 2 * np.pi * np.arange(count) / count
    rates = formula_rates(beta, count)
    mode = int(np.argmax(unsorted_rates(beta, count)))
    wave = np.cos(2 * np.pi * mode * np.arange(count) / count)
    circle, time = mfpde.Circle(256), float(1 / rates[-1])
    atoms = mfpde.Atoms(points_at(rest + SHIFT * wave))
    start = mfpde.Measure(mfpde.Density(circle, np.zeros(256)), atoms)
    equation = mfpde.MeanFieldEquation(mfpde.Attention(beta), direction="ascent")
    run = mfpde.solve(
        equation, start, t_end=time, save_at=[time], atoms="exact", rtol=1e-9
    )
    if len(run.final.atoms) != count:
        return np.nan
    moved = wrapped(angles_of(run.final.atoms.points) - rest)
    return float(np.log((moved @ wave) / (SHIFT * (wave @ wave))) / time)


def jacobian_rates(beta: float, count: int) -> Array:
    """Rates of shifts of equispaced atoms by central differences of their velocity."""
    equation = mfpde.MeanFieldEquation(mfpde.Attention(beta), direction="ascent")
    rest, step = 0.3 + 2 * np.pi * np.arange(count) / count, 1e-5

    def speeds(angles: Array) -> Array:
        tangents = np.stack([-np.sin(angles), np.cos(angles)], axis=-1)
        velocity = equation.velocity(mfpde.Atoms(points_at(angles)))
        return (velocity * tangents).sum(axis=1)

    columns = [
        (speeds(rest + step * row) - speeds(rest - step * row)) / (2 * step)
        for row in np.eye(count)
    ]
    return np.sort(np.linalg.eigvals(np.array(columns).T).real)


def unsorted_rates(beta: float, count: int) -> Array:
    """The formula of the claim for q = 0..n-1."""
    gaps = 2 * np.pi * np.arange(count) / count
    waves = 1 - np.cos(np.outer(np.arange(count), gaps))
    return np.asarray((curvature(beta, gaps) * waves).sum(axis=1) / count)


def formula_rates(beta: float, count: int) -> Array:
    """The same in increasing order."""
    return np.sort(unsorted_rates(beta, count))


def main(quick: bool = False) -> dict[str, Any]:
    quantities = []
    figure, (left, right) = panels(2)
    for softmax in (False, True):
        times = np.linspace(0.0, 20.0 if not softmax else 5.0, 41)
        exact = cosine_path(BETA, 3, softmax=softmax, times=times)
        found, away = run_of_three(BETA, softmax, times)
        kind = "softmax" if softmax else "unnormalised"
        error = float(np.abs(found - exact).max())
        name = f"three atoms on S^2, {kind}: largest "
        quantities += [
            Quantity(f"{name}error of g", error, 0.0, 1e-7),
            Quantity(f"{name}distance of an atom from its place", away, 0.0, 1e-7),
        ]
        left.plot(
            times,
            found,
            color=SOLVER,
            ls="-." if softmax else "-",
            label=f"{kind}, solver",
        )
        label = None if softmax else "formula"
        left.plot(times[::4], exact[::4], **FORMULA_DOTS, label=label)
    for colour, (beta, count) in zip(OTHERS, RINGS, strict=False):
        quantities += on_ring(beta, count)
        shifts = np.arange(1, count // 2 + 1)
        rates = unsorted_rates(beta, count)[shifts]
        label = f"n = {count}, β = {beta:g}"
        right.semilogy(shifts, rates, "o-", color=colour, ms=4, label=label)
        found_rate = quantities[-1].measured
        fastest = shifts[np.argmax(rates)]
        label = "fastest, solver" if count == RINGS[-1][1] else None
        right.plot(fastest, found_rate, "o", ms=9, mfc="none", mec=SOLVER, label=label)
    left.set(title="Three atoms on S$^2$, β = 4", xlabel="t", ylabel="cosine g")
    right.set(
        title="Equispaced atoms on S$^1$, formula",
        xlabel="wave number q of the shift",
        ylabel="rate",
    )
    right.set_xticks(range(1, 4))
    for ax in (left, right):
        legend_below(ax)
    return {"quantities": quantities, "figures": {"atoms": figure}}


def on_ring(beta: float, count: int) -> list[Quantity]:
    """Rates of equispaced atoms: of the package's formula, by differences, of a run."""
    exact = formula_rates(beta, count)
    rates = np.sort(theory.equispaced_rates(beta, count, direction="ascent"))
    by_differences = float(np.abs(jacobian_rates(beta, count) - exact).max())
    of_theory = float(np.abs(rates - exact).max())
    name = f"{count} equispaced atoms, beta = {beta:g}: "
    return [
        Quantity(
            f"{name}rates by differences", by_differences, 0.0, 1e-8, subject="formula"
        ),
        Quantity(f"{name}rates of theory", of_theory, 0.0, 1e-13, subject="formula"),
        # The run's error of 1e-9 over the shift, and (beta SHIFT)^2.
        Quantity(
            f"{name}rate of the fastest shift in a run",
            shift_rate(beta, count),
            float(exact[-1]),
            1e-4,
            relative=True,
        ),
    ]
