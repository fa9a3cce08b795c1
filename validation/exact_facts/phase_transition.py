"""Noisy ascent: where uniform loses stability, and whether it does so by a jump."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import iv, ive, spherical_in

import mfpde
from mfpde import theory
from validation.claim import Claim, Quantity
from validation.drawing import COLOURS, panels
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
    orders = np.linspace(0.5, 0.95, 6)
    excesses = [ordered_state(beta, dimension, m).excess for m in orders]
    first = int(np.flatnonzero(np.diff(np.sign(excesses)) < 0)[0])
    order = brentq(
        lambda m: ordered_state(beta, dimension, m).excess,
        orders[first],
        orders[first + 1],
        xtol=1e-9,
    )
    return ordered_state(beta, dimension, float(order))


def long_run(
    geometry: Any, beta: float, *, kappa: float, begin: float
) -> tuple[float, float]:
    """End a run from 1 + begin * z: its mean of z, and its free energy above uniform's."""
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(beta), direction="ascent", diffusion=kappa
    )
    z, area = harmonic_along_axis(geometry, 1), geometry.areas.sum()
    tilt = np.exp(begin * z)
    start = mfpde.Density(geometry, tilt).normalized()
    time = 40 / kappa
    run = mfpde.solve(
        equation, start, t_end=time, save_at=[time], stop=(mfpde.SteadyState(),)
    )
    final = run.final.density
    relative = np.maximum(final.values * area, 1e-300)
    entropy = float((final.masses * np.log(relative)).sum())
    flat = equation.energy(mfpde.uniform(geometry))
    return float((final.masses * z).sum()), kappa * entropy - equation.energy(
        final
    ) + flat


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
        quantities.append(Quantity(name, zero, exact, 2e-3, relative=True))
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
            ),
            Quantity(
                f"beta_* on S^{dimension - 1}, where weakly ordered states pass kappa_#",
                turn,
                exact,
                10 * WEAK**2,
            ),
        ]
    figure, (ax,) = panels(1, width=5)
    quantities += hysteresis(ax, quick)
    return {"quantities": quantities, "figures": {"branch": figure}}


def hysteresis(ax: Any, quick: bool) -> list[Quantity]:
    """Coexistence at beta = 5 on S^1: two ends from two starts, equal free energies."""
    beta, circle = 5.0, mfpde.Circle(96 if quick else 256)
    critical = critical_by_bessel(beta, 2)
    state = coexistence(beta, 2)
    order, excess = long_run(circle, beta, kappa=state.kappa, begin=4.0)
    back, _ = long_run(circle, beta, kappa=state.kappa, begin=0.02)
    ordered = [
        ordered_state(beta, 2, m) for m in np.linspace(0.05, 0.95, 12 if quick else 40)
    ]
    kappas = np.array([s.kappa for s in ordered]) / critical
    ax.plot(
        kappas,
        [s.moments[1] for s in ordered],
        color=COLOURS[0],
        label="ordered states",
    )
    ax.axvline(1, color=COLOURS[6], ls=":", lw=0.8, label="κ#")
    ax.axvline(state.kappa / critical, color=COLOURS[2], ls="--", lw=0.8, label="κc")
    at = state.kappa / critical
    ax.plot([at, at], [order, back], "o", color=COLOURS[1], label="ends of two runs")
    ax.set(title="S$^1$, β = 5", xlabel="κ/κ#", ylabel="mean of z")
    ax.legend()
    spacing = circle.spacing
    return [
        Quantity("S^1, beta = 5: kappa_c/kappa_#", at, 1.0, 0.0, "at least"),
        Quantity(
            "S^1, beta = 5, kappa_c: mean of z of the run from an ordered start",
            order,
            state.moments[1],
            2 * spacing**2,
        ),
        Quantity(
            "S^1, beta = 5, kappa_c: mean of z of the run from nearly uniform",
            back,
            0.0,
            1e-3,
        ),
        Quantity(
            "S^1, beta = 5, kappa_c: the two ends have the same free energy",
            excess,
            0.0,
            spacing**2 * state.kappa,
        ),
    ]
