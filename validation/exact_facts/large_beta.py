"""Descent at large beta: softmax becomes the heat equation, unnormalised porous medium."""

from __future__ import annotations

import numpy as np
from scipy.special import ive

import mfpde
from validation.claim import Claim, Findings, equal, vanishes
from validation.exact_facts.runs import (
    Array,
    descent,
    integrate,
    l1_error,
    order_of,
    solve_to,
)

CLAIM = Claim(
    title="Descent at large beta: heat equation and porous medium",
    source="Formal limit of eqs. (2.5) and (2.8) (derived here)",
    statement=(
        "Softmax descent tends to d_t rho = (1/beta) rho''; unnormalised descent, shifted "
        "kernel, to d_t rho = (D rho rho')', D = 2 pi e^-beta I_0(beta)/beta. The relative "
        "difference falls as 1/beta."
    ),
)
KINDS = {"softmax, heat": (True, 0.5), "unnormalised, porous medium": (False, 3.0)}
"""Whether attention is softmax; t/beta for the heat equation, D t for porous medium."""


def limit_density(start: Array, tau: float, *, softmax: bool) -> Array:
    """The limit at the rescaled time tau: exact for heat, spectral for porous medium."""
    degrees = np.arange(len(start) // 2 + 1)
    if softmax:
        return np.fft.irfft(np.fft.rfft(start) * np.exp(-(degrees**2) * tau))

    def rate(rho: Array) -> Array:
        return np.fft.irfft(-(degrees**2) * np.fft.rfft(rho**2 / 2))

    return integrate(rate, start, tau)


@CLAIM
def main(_quick: bool = False) -> Findings:
    circle = mfpde.Circle(512)
    t = circle.angles
    waves = 0.5 * np.cos(t) + 0.25 * np.sin(2 * t) + 0.1 * np.cos(3 * t)
    start = mfpde.Density(circle, (1 + waves) / (2 * np.pi))
    for name, (softmax, tau) in KINDS.items():
        limit = limit_density(start.values, tau, softmax=softmax)
        away = []
        for beta in (200.0, 400.0):
            rate = 1 / beta if softmax else 2 * np.pi * float(ive(0, beta)) / beta
            equation = descent(mfpde.Attention(beta, normalized=softmax))
            end = solve_to(tau / rate, equation, start)
            away.append(l1_error(end, limit) / l1_error(start, limit))
        # The next term of the expansion is about 1/(2 beta).
        text = f"{name}: relative difference at beta = {beta:g}"
        yield vanishes(text, away[-1], 1 / beta)
        yield equal(f"{name}: order in 1/beta", order_of(away), 1.0, 0.05)
