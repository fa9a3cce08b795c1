"""Lemma 5.3: how concave the kernel is near 0, and how convex at most."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from mfpde import theory
from validation.circle_cases import curvature, kernel_on_circle
from validation.claim import Claim, Findings, at_most, equal, mark, vanishes
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
BETAS = (0.6, 1.0, 5.0, 50.0, 1000.0)
OUTWARD = 2 * np.exp(-1.5)
INWARD = 0.375 * np.exp(-0.125)
"""C_1 of eq. (5.5) at eps = 1/2."""
ANGLES = np.linspace(0, np.pi, 200_001)


def first_root(beta: float) -> float:
    """Where K'' vanishes first, by bisection."""
    return float(
        brentq(lambda t: beta * np.sin(t) ** 2 - np.cos(t), 0, np.pi / 2, xtol=1e-15)
    )


def largest_within(beta: float, eps: float) -> float:
    """Largest K''/beta within eps theta_beta, on a fine grid."""
    return float(curvature(beta, np.linspace(0, eps * first_root(beta), 4001)).max())


@CLAIM
def main(quick: bool = False) -> Findings:
    yield from mark(constants(), subject="formula")
    figure, (ax,) = panels(1, width=5)
    for colour, beta in zip(COLOURS, (1.0, 5.0, 50.0), strict=False):
        angles = ANGLES / theory.concavity_angle(beta)
        ax.plot(angles, curvature(beta, ANGLES), color=colour, label=f"β = {beta:g}")
    ax.plot([0, 0.5], [-INWARD] * 2, "k--", lw=1, label="(5.5), ε = 1/2; (5.6)")
    ax.axhline(OUTWARD, color="k", ls="--", lw=1)
    ax.set(xlim=(0, 4), xlabel="t/θβ", ylabel="K''/β")
    ax.legend(fontsize=7)
    yield "curvature", figure


def constants() -> Findings:
    """Angles, differences and bounds of K'', for beta from 0.6 to 1000."""
    betas, roots = np.array(BETAS), np.array([first_root(beta) for beta in BETAS])
    found = [theory.concavity_angle(beta) for beta in BETAS]
    formula = np.arccos((np.sqrt(1 + 4 * betas**2) - 1) / (2 * betas))
    yield vanishes("theta_beta of the package, largest error", found - roots, 1e-12)
    yield vanishes("theta_beta by eq. (5.8), largest error", formula - roots, 1e-9)
    within = [largest_within(beta, 0.5) for beta in BETAS]
    anywhere = [curvature(beta, ANGLES).max() for beta in BETAS]
    yield at_most("largest K''/beta within theta_beta/2", max(within), -INWARD)
    yield at_most("largest K''/beta anywhere", max(anywhere), OUTWARD, 1e-12)
    beta, step, at = 7.0, 1e-4, np.linspace(0.1, 3.0, 30)
    values = kernel_on_circle(beta, at + step * np.array([[-1], [0], [1]]))
    error = np.diff(values, 2, axis=0)[0] / step**2 / beta - curvature(beta, at)
    yield vanishes("eq. (5.7) against second differences", error, 1e-5)
    for eps in (0.25, 0.5, 0.75):
        limit = -(1 - eps**2) * np.exp(-(eps**2) / 2)
        name = f"eps = {eps:g}, beta = 1000: largest K''/beta within, without the 1/2"
        # The next term is of order 1/beta.
        yield equal(name, largest_within(1000.0, eps), limit, 3e-3)
