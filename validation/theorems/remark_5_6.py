"""Remark 5.6: the kernel's Hessian is at least -K(1), and what follows for stability."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import mfpde
from mfpde import theory
from validation.circle_cases import atomic_hessian, points_at
from validation.claim import Claim, Findings, at_least, equal, vanishes
from validation.stable_states import descent, weak_neurons

CLAIM = Claim(
    title="A sufficient condition for strict stability",
    source="Remark 5.6, eq. (5.27)",
    statement=(
        "Hess_x K(x.y) >= -e^beta (shifted: -1) in every dimension, so that a critical mu is "
        "strictly stable in descent if lambda_min(Hess v/2) >= e^beta + c (1 + c) on supp mu."
    ),
)


def kernel_bends(beta: float, dimension: int, count: int) -> NDArray[np.float64]:
    """Second derivatives of K along random great circles through random x, (count,)."""
    generator = np.random.default_rng(dimension)
    x, y, u = generator.standard_normal((3, count, dimension))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    # Half of the pairs are close to each other, where the bend is largest.
    # The first pair is one point twice, where it is least.
    y[: count // 2] = x[: count // 2] + 0.3 * y[: count // 2] / np.sqrt(1 + beta)
    y[0] = x[0]
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    u -= (u * x).sum(axis=1, keepdims=True) * x
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    along, across = (x * y).sum(axis=1), (u * y).sum(axis=1)
    # d^2/ds^2 of exp(beta (cos s along + sin s across - 1)) / beta at s = 0.
    return np.asarray(np.exp(beta * (along - 1)) * (beta * across**2 - along))


@CLAIM
def main(quick: bool = False) -> Findings:
    for dimension in (2, 3, 8):
        least = [kernel_bends(b, dimension, 20_000).min() for b in (0.5, 5.0, 50.0)]
        name = f"S^{dimension - 1}, three beta: least bend of the kernel, from -1"
        yield vanishes(name, np.array(least) + 1, 1e-12, subject="formula")
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
