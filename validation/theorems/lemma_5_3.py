"""Lemma 5.3: how concave the kernel is near 0, and how convex at most."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq

from mfpde import theory
from validation.circle_cases import curvature, kernel_on_circle
from validation.claim import Claim, Quantity
from validation.drawing import COLOURS, panels

CLAIM = Claim(
    title="Concavity constants of the kernel",
    source="Lemma 5.3, eqs. (5.5) to (5.9)",
    statement=(
        "K'' = beta K (beta sin^2 t - cos t) vanishes first at theta_beta = arccos((sqrt(1 + "
        "4 beta^2) - 1)/(2 beta)); K'' <= -(1/2)(1-eps^2) e^(-eps^2/2) beta within eps "
        "theta_beta and K'' <= 2 e^(-3/2) beta everywhere, for beta >= beta_eps (units of the "
        "kernel's peak). At eps = 1/2, beta >= 0.6 is enough; the factor 1/2 is not needed at "
        "large beta."
    ),
)
OUTWARD = 2 * np.exp(-1.5)


def inward(eps: float) -> float:
    """C_1 of eq. (5.5)."""
    return float(0.5 * (1 - eps**2) * np.exp(-(eps**2) / 2))


def largest_within(beta: float, eps: float) -> float:
    """Largest K''/beta within eps theta_beta, on a fine grid."""
    root = brentq(lambda t: beta * np.sin(t) ** 2 - np.cos(t), 0, np.pi / 2)
    return float(curvature(beta, np.linspace(0, eps * root, 4001)).max())


def main(quick: bool = False) -> dict[str, Any]:
    quantities = []
    betas = (0.6, 1.0, 5.0, 50.0, 1000.0)
    t = np.linspace(0, np.pi, 200_001)
    for beta in betas:
        root = brentq(
            lambda x, b=beta: b * np.sin(x) ** 2 - np.cos(x), 0, np.pi / 2, xtol=1e-15
        )
        formula = float(np.arccos((np.sqrt(1 + 4 * beta**2) - 1) / (2 * beta)))
        quantities += [
            Quantity(
                f"beta = {beta:g}: theta_beta of the package",
                theory.concavity_angle(beta),
                root,
                1e-12,
                subject="formula",
            ),
            Quantity(
                f"beta = {beta:g}: theta_beta by eq. (5.8)",
                formula,
                root,
                1e-9,
                subject="formula",
            ),
            Quantity(
                f"beta = {beta:g}: K''/beta within theta_beta/2",
                largest_within(beta, 0.5),
                -inward(0.5),
                0.0,
                "at most",
                subject="formula",
            ),
            Quantity(
                f"beta = {beta:g}: K''/beta anywhere",
                float(curvature(beta, t).max()),
                OUTWARD,
                1e-12,
                "at most",
                subject="formula",
            ),
        ]
    beta, step = 7.0, 1e-4
    at = np.linspace(0.1, 3.0, 30)
    by_differences = (
        kernel_on_circle(beta, at + step)
        - 2 * kernel_on_circle(beta, at)
        + kernel_on_circle(beta, at - step)
    ) / step**2
    error = float(np.abs(by_differences / beta - curvature(beta, at)).max())
    quantities.append(
        Quantity(
            "eq. (5.7) against second differences", error, 0.0, 1e-5, subject="formula"
        )
    )
    for eps in (0.25, 0.5, 0.75):
        limit = -(1 - eps**2) * np.exp(-(eps**2) / 2)
        name = f"eps = {eps:g}, beta = 1000: largest K''/beta within, without the 1/2"
        # The next term is of order 1/beta.
        quantities.append(
            Quantity(name, largest_within(1000.0, eps), limit, 3e-3, subject="formula")
        )
    figure, (ax,) = panels(1, width=5)
    for colour, beta in zip(COLOURS, (1.0, 5.0, 50.0), strict=False):
        angle = theory.concavity_angle(beta)
        ax.plot(t / angle, curvature(beta, t), color=colour, label=f"β = {beta:g}")
    ax.plot([0, 0.5], [-inward(0.5)] * 2, "k--", lw=1, label="(5.5), ε = 1/2; (5.6)")
    ax.axhline(OUTWARD, color="k", ls="--", lw=1)
    ax.set(xlim=(0, 4), xlabel="t/θβ", ylabel="K''/β")
    ax.legend(fontsize=7)
    return {"quantities": quantities, "figures": {"curvature": figure}}
