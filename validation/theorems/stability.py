"""Theorem 3.2 and Remark 5.6: strictly stable states; a density is none, atoms are."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from scipy.special import ive

import mfpde
from mfpde import theory
from mfpde.plotting.palette import MUTED
from validation.circle_cases import angles_of, atomic_hessian, curvature, points_at
from validation.claim import Claim, Findings, at_least, equal, vanishes
from validation.drawing import COLOURS, panels
from validation.stable_states import descent, weak_neurons
from validation.theorems import searches
from validation.theorems.witness import residual

BETA, SWING = 5.0, 0.4
"""The density is 1 + SWING cos 2t."""
DEGREES = (2, 4, 8, 12, 16)


@Claim(
    title="Analytic activations on S^1: strictly stable states are atoms",
    source="Theorem 3.2",
    statement=(
        "d = 2, sigma real-analytic: a strict second-order point (Hess >= c > 0) is a finite "
        "sum of atoms. On infinite support F' = 0 identically, and Hess (5.16) is "
        "sum n^2 kappa_n |(psi mu)_n|^2, which is not coercive: shown on the density that a "
        "linear activation has. GeLU and tanh minimisers are atoms, and strictly stable."
    ),
)
def theorem_3_2(quick: bool = False) -> Findings:
    for activation in ("gelu", "tanh"):
        yield from minimisers(quick, activation)
    found = [coercivity(degree) for degree in DEGREES]
    # What Hess (5.16) has for psi mu = cos(n theta).
    each = np.arange(1, DEGREES[-1] + 1)
    sizes = each**2 * ive(each, BETA) / BETA
    flat = [sizes[:degree].min() for degree in DEGREES]
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


@Claim(
    title="A sufficient condition for strict stability",
    source="Remark 5.6, eq. (5.27)",
    statement=(
        "Hess_x K(x.y) >= -e^beta (shifted: -1) in every dimension, so that a critical mu is "
        "strictly stable in descent if lambda_min(Hess v/2) >= e^beta + c (1 + c) on supp mu."
    ),
)
def remark_5_6(quick: bool = False) -> Findings:
    # Along a great circle through x in the direction u, at x.y and u.y: on S^1 the squares of
    # these add up to 1, on other spheres to 1 at most.
    along, shares = np.cos(np.linspace(0, np.pi, 2001)), np.linspace(0, 1, 51)
    across = np.multiply.outer(shares, 1 - along**2)
    for beta in (0.5, 5.0, 50.0):
        kernel = mfpde.Exponential(beta)
        bends = kernel.bend(along) * across - kernel.slope(along) * along
        name = f"beta = {beta:g}: least bend of the kernel, all spheres"
        yield equal(name, bends.min(), -1.0, 1e-12, subject="formula")
    for dimension in (2, 3, 5):
        axis = np.eye(1, dimension)
        equation = descent(3.0, mfpde.Perceptron(axis, [-4.0]))
        # Of one atom it is that of Hess V, -w: its own mass is not felt.
        bends = mfpde.polish(equation, mfpde.Atoms(axis)).hessian_eigenvalues
        name = (
            f"S^{dimension - 1}, one neuron, w = -4: least eigenvalue of Hess E, c + 1"
        )
        yield equal(name, bends.min(), 4.0, 1e-12)
    generator, slack = np.random.default_rng(0), []
    for _ in range(20 if quick else 300):
        neurons = weak_neurons(generator.normal(0, 2, 3))
        angles = generator.uniform(0, 2 * np.pi, 6)
        masses = generator.dirichlet(3 * np.ones(6))
        equation = descent(beta := float(generator.uniform(0.1, 20)), neurons)
        margin = theory.strict_stability(equation, points_at(angles)).margin
        hessian = atomic_hessian(beta, (angles, masses), neurons)
        slack.append(np.linalg.eigvalsh(hessian)[0] - margin)
    name = f"least Hess E less the margin, {len(slack)} random states"
    # V'' is taken by differences of step 1e-5.
    search = {"subject": "formula", "tries": len(slack)}
    yield at_least(name, min(slack), 0.0, 1e-6, **search)
