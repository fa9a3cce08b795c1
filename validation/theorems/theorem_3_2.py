"""Theorem 3.2: strictly stable states on the circle are atoms for analytic activations."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from scipy.special import ive

import mfpde
from mfpde.plotting.palette import MUTED
from validation.circle_cases import angles_of, atomic_hessian, curvature
from validation.claim import Claim, Findings, equal, vanishes
from validation.drawing import COLOURS, panels
from validation.stable_states import descent
from validation.theorems import searches
from validation.theorems.witness import residual

CLAIM = Claim(
    title="Analytic activations on S^1: strictly stable states are atoms",
    source="Theorem 3.2",
    statement=(
        "d = 2, sigma real-analytic: a strict second-order point (Hess >= c > 0) is a finite "
        "sum of atoms. On infinite support F' = 0 identically, and Hess (5.16) is "
        "sum n^2 kappa_n |(psi mu)_n|^2, which is not coercive: shown on the density that a "
        "linear activation has. GeLU and tanh minimisers are atoms, and strictly stable."
    ),
)
BETA, SWING = 5.0, 0.4
"""The density is 1 + SWING cos 2t."""
DEGREES = (2, 4, 8, 12, 16)


@CLAIM
def main(quick: bool = False) -> Findings:
    for activation in ("gelu", "tanh"):
        yield from minimisers(quick, activation)
    weight = -SWING * 4 * ive(2, BETA) / BETA
    linear = mfpde.Perceptron([[1.0, 0.0]], [weight], "linear")
    circle = mfpde.Circle(512)
    best = mfpde.minimize(descent(BETA, linear), circle)
    error = best.measure.values * 2 * np.pi - 1 - SWING * np.cos(2 * circle.angles)
    yield vanishes("linear: the minimiser beside 1 - w_2/kappa_2", error, 1e-13)
    name = "linear: largest |F'| of the minimiser, of the forces"
    yield vanishes(name, residual(best.equation, best.measure), 1e-14)
    found = [coercivity(degree) for degree in DEGREES]
    flat = [least_eigenvalue(degree) for degree in DEGREES]
    # The density mixes degrees by factors 1 - SWING to 1 + SWING.
    name = (
        "a density's least Hess over least n^2 kappa_n, up to degrees 2 to 16, less 1"
    )
    ratios = np.array(found) / flat
    yield vanishes(name, ratios - 1, SWING, subject="formula")
    figure, (ax,) = panels(1, width=5)
    ax.semilogy(DEGREES, found, "o-", color=COLOURS[0], label="least Hess")
    ax.semilogy(DEGREES, flat, "--", color=MUTED, label="least n² κₙ")
    ax.set(title="A density is not coercive, β = 5", xlabel="degrees n up to")
    ax.set_ylabel("least Hess(ψ, ψ)/|ψ|²")
    ax.legend()
    yield "coercivity", figure


def minimisers(quick: bool, activation: str) -> Findings:
    """Minimisers of random weights, and the least eigenvalues of Hess E there."""
    betas = (5.0, 25.0) if quick else (1.0, 5.0, 10.0, 25.0, 50.0)
    cases = (betas, 2, (1.0,), range(2 if quick else 5), activation)
    name = f"{activation} minimisers"
    equations = searches.random_descents(*cases)
    found, rows = searches.minimisers(equations, mfpde.Circle(256), name)
    yield from rows
    errors, strict = [], 0
    for best in found:
        if best.kind == "atoms":
            end = mfpde.polish(best.equation, best.measure)
            (neurons,), (attention,) = end.equation.externals, end.equation.attentions
            atoms = (angles_of(end.atoms.points), end.atoms.masses)
            hessian = atomic_hessian(attention.beta, atoms, neurons)
            least = np.linalg.eigvalsh(hessian)[0]
            errors.append(abs(end.hessian_eigenvalues.min() - least))
            strict += least > 0 and residual(end.equation, end.atoms) <= 1e-14
    # V'' of the independent Hessian by differences of step 1e-5.
    text = f"{name}: error of the least eigenvalue of Hess E"
    yield vanishes(text, max(errors, default=np.inf), 1e-8)
    yield equal(f"{name}: share at rest and strictly stable", strict / len(found), 1, 0)


def coercivity(degree: int) -> float:
    """Smallest Hess(psi, psi)/|psi|^2 over psi rho of degrees up to ``degree``.

    At rho = 1 - w_2/kappa_2, by direct summation of (5.16) over 512 points.
    """
    angles = 2 * np.pi * np.arange(512) / 512
    rho = 1 + SWING * np.cos(2 * angles)
    weights = rho / rho.sum()
    waves = np.arange(1, degree + 1)[:, np.newaxis] * angles
    basis = np.concatenate([np.cos(waves), np.sin(waves)]) / rho
    bend = curvature(BETA, angles[:, np.newaxis] - angles) * np.outer(weights, weights)
    hessian, gram = -basis @ bend @ basis.T, (basis * weights) @ basis.T
    return float(eigh(hessian, gram, eigvals_only=True)[0])


def least_eigenvalue(degree: int) -> float:
    """Least n^2 kappa_n, n <= ``degree``: what Hess (5.16) has for psi mu = cos(n theta)."""
    degrees = np.arange(1, degree + 1)
    return float((degrees**2 * ive(degrees, BETA) / BETA).min())
