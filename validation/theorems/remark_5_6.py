"""Remark 5.6: the kernel's Hessian is at least -K(1), and what follows for stability."""

from __future__ import annotations

import numpy as np

import mfpde
from mfpde import theory
from validation.circle_cases import atomic_hessian, points_at
from validation.claim import Claim, Findings, at_least, equal
from validation.stable_states import descent, weak_neurons

CLAIM = Claim(
    title="A sufficient condition for strict stability",
    source="Remark 5.6, eq. (5.27)",
    statement=(
        "Hess_x K(x.y) >= -e^beta (shifted: -1) in every dimension, so that a critical mu is "
        "strictly stable in descent if lambda_min(Hess v/2) >= e^beta + c (1 + c) on supp mu."
    ),
)


@CLAIM
def main(quick: bool = False) -> Findings:
    # Along a great circle through x in the direction u, at x.y and u.y: on S^1 the squares of
    # these add up to 1, on other spheres to 1 at most.
    along, shares = np.cos(np.linspace(0, np.pi, 2001)), np.linspace(0, 1, 51)
    across = np.multiply.outer(shares, 1 - along**2)
    for beta in (0.5, 5.0, 50.0):
        kernel = mfpde.Exponential(beta)
        bends = kernel.bend(along) * across - kernel.slope(along) * along
        name = f"beta = {beta:g}: least bend of the kernel, "
        least = bends[-1].min(), bends.min()
        for where, value in zip(("S^1", "all spheres"), least, strict=True):
            yield equal(f"{name}{where}", value, -1.0, 1e-12, subject="formula")
    for dimension in (2, 3, 5):
        axis = np.eye(1, dimension)
        equation = descent(3.0, mfpde.Perceptron(axis, [-4.0]))
        margin = theory.strict_stability(equation, axis).margin
        name = f"S^{dimension - 1}, one neuron, w = -4: "
        yield equal(f"{name}margin c", margin, 3.0, 1e-12, subject="formula")
        # Of one atom it is that of Hess V, -w: its own mass is not felt.
        bends = mfpde.polish(equation, mfpde.Atoms(axis)).hessian_eigenvalues
        yield equal(f"{name}least eigenvalue of Hess E, c + 1", bends.min(), 4.0, 1e-12)
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
