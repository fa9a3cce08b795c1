"""Noisy ascent: where uniform loses stability, and whether it does so by a jump."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import iv, ive, spherical_in

import mfpde
from mfpde import theory
from mfpde.runs.run import Run
from validation import independent
from validation.claim import Claim, Quantity
from validation.drawing import panels
from validation.exact_facts.drawn import FORMULA_LINE, OTHERS, SOLVER, legend_below
from validation.exact_facts.growth_rates import tolerance_of
from validation.growth import harmonic_along_axis, measured_growth
from validation.ordered_states import OrderedState, ordered_state

CLAIM = Claim(
    title="The noisy phase transition is continuous up to beta_*, and a jump above",
    source="Mun & Rosenzweig, arXiv 2606.05140 and 2604.16288; coexistence derived here",
    statement=(
        "Uniform loses stability at kappa_# = lambda_1/beta. The transition is continuous iff "
        "beta <= beta_*, I_(d/2+1)(beta_*)/I_(d/2)(beta_*) = 1/d. Above beta_* ordered states "
        "exist beyond kappa_#, are the better ones up to kappa_c > kappa_#, and start and "
        "noise decide (hysteresis)."
    ),
)


WEAK = 0.02  # the mean of z of a weakly ordered state


def critical_by_bessel(beta: float, dimension: int) -> float:
    """kappa_#, shifted kernel."""
    if dimension == 2:
        return float(ive(1, beta) / beta)
    return float(spherical_in(1, beta) * np.exp(-beta) / beta)


def limit_by_bessel(dimension: int) -> float:
    """beta_*."""
    half = dimension / 2
    return float(
        brentq(lambda b: iv(half + 1, b) / iv(half, b) - 1 / dimension, 0.1, 50)
    )


def turning_beta(dimension: int, near: float) -> float:
    """Beta at which weakly ordered states pass from below kappa_# to above it."""

    def beyond(beta: float) -> float:
        critical = theory.critical_diffusion(beta, dimension)
        return ordered_state(beta, dimension, WEAK).kappa / critical - 1

    return float(brentq(beyond, 0.9 * near, 1.1 * near, xtol=1e-4))


def coexistence(beta: float, dimension: int) -> OrderedState:
    """The ordered state as good as uniform (of larger order than the unstable branch)."""
    orders = np.linspace(0.4, 0.95, 6)
    excesses = [ordered_state(beta, dimension, m).excess for m in orders]
    first = int(np.flatnonzero(np.diff(np.sign(excesses)) < 0)[0])
    order = brentq(
        lambda m: ordered_state(beta, dimension, m).excess,
        orders[first],
        orders[first + 1],
        xtol=1e-9,
    )
    return ordered_state(beta, dimension, float(order))


def long_run(geometry: Any, state: OrderedState, begin: float) -> Any:
    """Run from e^(begin z) at the diffusion of ``state`` for a time 40/kappa."""
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(state.beta), direction="ascent", diffusion=state.kappa
    )
    z = harmonic_along_axis(geometry, 1)
    start = mfpde.Density(geometry, np.exp(begin * z)).normalized()
    time = 40 / state.kappa
    return mfpde.solve(equation, start, t_end=time, save_at=[0.0, time])


def means_of_z(run: Any) -> np.ndarray:
    """Means of z at the start and at the end."""
    z = harmonic_along_axis(run.final.geometry, 1)
    return np.array([float((s.density.masses * z).sum()) for s in run.states])


def excess_of(run: Any, kappa: float) -> float:
    """Free energy of a run's end less that of uniform."""
    final = run.final.density
    relative = np.maximum(final.values * final.geometry.areas.sum(), 1e-300)
    entropy = float((final.masses * np.log(relative)).sum())
    flat = run.equation.energy(mfpde.uniform(final.geometry))
    return kappa * entropy - run.equation.energy(final) + flat


def steepness(state: OrderedState) -> float:
    """Largest |F'|/kappa of an ordered state on S^1: F' = -2 sum_l kappa_l m_l l sin(l t)."""
    degrees, angles = np.arange(1, len(state.moments)), np.linspace(0, np.pi, 400)
    sizes = 2 * ive(degrees, state.beta) / state.beta * state.moments[1:] * degrees
    return float(np.abs(np.sin(np.outer(angles, degrees)) @ sizes).max() / state.kappa)


def imbalance(run: Run, kappa: float) -> float:
    """Largest less smallest value of log rho - F/kappa at the end of a run on the circle.

    It is constant at rest; F by ``validation.independent``.
    """
    attention = mfpde.MeanFieldEquation(*run.equation.terms, direction="ascent")
    points, masses = independent.cells_of(run.final)
    problem = independent.problem_of(attention)
    field = independent.first_variation(problem, points, masses, at=points)
    return float(np.ptp(np.log(masses) - field / kappa))


def main(quick: bool = False) -> dict[str, Any]:
    quantities = []
    for dimension, grid, beta in (
        (2, mfpde.Circle(256), 3.0),
        (3, mfpde.Sphere(32), 1.5),
    ):
        if quick and dimension == 3:
            continue
        exact = critical_by_bessel(beta, dimension)
        # Growth is affine in kappa: two measured rates give its zero.
        ends = np.array([0.9, 1.1]) * exact
        rates = [
            measured_growth(grid, beta, 1, direction="ascent", diffusion=float(k))
            for k in ends
        ]
        zero = float(ends[0] - rates[0] * np.diff(ends)[0] / np.diff(rates)[0])
        name = f"kappa_# on S^{dimension - 1}, beta = {beta:g}, from growth rates"
        kind: dict[str, Any] = {"direction": "ascent", "diffusion": exact}
        symbol = dimension - 1  # rates of degree 1 are those of kappa times this
        allowed = tolerance_of(grid, beta, 1, **kind) / symbol
        quantities.append(Quantity(name, zero, exact, allowed))
    for dimension in (2, 3) if quick else (2, 3, 5):
        exact = limit_by_bessel(dimension)
        found = theory.largest_continuous_beta(dimension)
        turn = turning_beta(dimension, exact)
        quantities += [
            Quantity(
                f"beta_* on S^{dimension - 1}, theory",
                found,
                exact,
                1e-10,
                relative=True,
                subject="formula",
            ),
            Quantity(
                f"beta_* on S^{dimension - 1}, where weakly ordered states pass kappa_#",
                turn,
                exact,
                10 * WEAK**2,
                subject="formula",
            ),
        ]
    figure, axes = panels(1 if quick else 3, width=5 if quick else 3.6)
    cases = ((2, 5.0, mfpde.Circle(128)),)
    if not quick:
        cases = (
            (2, 4.0, mfpde.Circle(256)),
            (2, 5.0, mfpde.Circle(256)),
            (3, 4.0, mfpde.Zonal(3, 128)),
        )
    for ax, (dimension, beta, grid) in zip(axes, cases, strict=True):
        branch = draw_branch(ax, beta, dimension, count=12 if quick else 40)
        quantities += hysteresis(ax, grid, branch)
    legend_below(axes[len(axes) // 2])
    return {"quantities": quantities, "figures": {"branch": figure}}


def draw_branch(ax: Any, beta: float, dimension: int, *, count: int) -> OrderedState:
    """Draw the ordered states, and return the one that is as good as uniform."""
    critical = critical_by_bessel(beta, dimension)
    states = [ordered_state(beta, dimension, m) for m in np.linspace(0.05, 0.95, count)]
    kappas = np.array([state.kappa for state in states]) / critical
    means = [state.moments[1] for state in states]
    ax.plot(kappas, means, **FORMULA_LINE, label="ordered states (formula)")
    ax.axvline(1, color=OTHERS[1], ls=":", lw=0.8, label="κ#")
    title = f"S$^{dimension - 1}$, β = {beta:g}"
    ax.set(title=title, xlabel="κ/κ#", ylabel="mean of z")
    return coexistence(beta, dimension)


def hysteresis(ax: Any, grid: Any, state: OrderedState) -> list[Quantity]:
    """Two runs at kappa_c: two ends from two starts, with equal free energies."""
    dimension, beta = grid.dimension, state.beta
    at = state.kappa / critical_by_bessel(beta, dimension)
    down, up = (long_run(grid, state, begin) for begin in (4.0, 0.02))
    order = means_of_z(down)[1]
    first, back = means_of_z(up)
    # Nearly uniform, the mean decays at the linear rate of degree 1.
    gap = (dimension - 1) * (state.kappa - critical_by_bessel(beta, dimension))
    left = first * np.exp(-gap * up.times[-1])
    ax.axvline(at, color=OTHERS[0], ls=":", lw=0.8, label="κc")
    ax.plot(
        [at, at], [order, back], "o", color=SOLVER, label="ends of two runs (solver)"
    )
    # Both grids are second order; a free energy at rest is quadratic in the state's error,
    # and the circle's own is spectral, where that of zonal grids is second order too.
    square = grid.spacing**2
    quadratic = 3 * square**2 if dimension == 2 else square
    name = f"S^{dimension - 1}, beta = {beta:g}, "
    balance = [
        Quantity(
            f"{name}kappa_c: range of log rho - F/kappa of the ordered end",
            imbalance(down, state.kappa),
            0.0,
            # |F'/kappa|^3 h^2/24 on a way of length pi at most, and F's own midpoint rule.
            steepness(state) ** 3 * np.pi * square / 20,
        )
    ]
    return [
        *(balance if dimension == 2 else []),
        Quantity(f"{name}kappa_c/kappa_#", at, 1.0, 0.0, "at least", subject="formula"),
        Quantity(
            f"{name}kappa_c: mean of z of the run from an ordered start",
            order,
            state.moments[1],
            2 * square,
        ),
        Quantity(
            f"{name}kappa_c: mean of z of the run from nearly uniform",
            back,
            left,
            # The symbol of differences over the time 40/kappa: 40 h^2/12 of it, and first^2.
            5 * (dimension - 1) * square * left,
        ),
        Quantity(
            f"{name}kappa_c: the two ends have the same free energy",
            excess_of(down, state.kappa),
            0.0,
            quadratic * state.kappa,
        ),
    ]
