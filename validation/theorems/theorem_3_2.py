"""Theorem 3.2: strictly stable states on the circle are atoms for analytic activations."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.special import ive

import mfpde
from mfpde.plotting.palette import LANDSCAPE, MUTED
from validation.circle_cases import angles_of, atomic_hessian, curvature, points_at
from validation.claim import Claim, Quantity
from validation.drawing import COLOURS, panels
from validation.stable_states import descent, random_descent
from validation.theorems.witness import residual, rows_of_minimisers

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
BETA = 5.0
DEGREES = np.array([2, 4, 8, 12, 16])


def coercivity(degree: int) -> float:
    """Smallest Hess(psi, psi)/|psi|^2 over psi rho of degrees up to ``degree``.

    At rho = 1 - w_2/kappa_2, by direct summation of (5.16) over 512 points.
    """
    angles = 2 * np.pi * np.arange(512) / 512
    rho = 1 + 0.4 * np.cos(2 * angles)
    weights = rho / rho.sum()
    waves = np.arange(1, degree + 1)[:, np.newaxis] * angles
    basis = np.concatenate([np.cos(waves), np.sin(waves)]) / rho
    bend = curvature(BETA, angles[:, np.newaxis] - angles) * np.outer(weights, weights)
    hessian = -basis @ bend @ basis.T
    gram = (basis * weights) @ basis.T
    return float(eigh(hessian, gram, eigvals_only=True)[0])


def least_eigenvalue(degree: int) -> float:
    """Least n^2 kappa_n, n <= ``degree``: what Hess (5.16) has for psi mu = cos(n theta)."""
    degrees = np.arange(1, degree + 1)
    return float((degrees**2 * ive(degrees, BETA) / BETA).min())


def gelu_ratios() -> np.ndarray:
    """|v_n|/kappa_n of one GeLU neuron at even n, which eq. (5.1) would have to bound."""
    angles = 2 * np.pi * np.arange(256) / 256
    neuron = mfpde.Perceptron([[1.0, 0.0]], [1.0], "gelu")
    values = neuron.value(points_at(angles))
    degrees = np.arange(4, 13, 2)
    return np.abs(np.fft.rfft(values)[degrees]) / 256 / (ive(degrees, 1.0))


def minimisers(quick: bool, activation: str) -> tuple[list[Quantity], list[float]]:
    """Minimisers of random weights, and the least eigenvalues of Hess E there."""
    equations = [
        random_descent(beta, 2, 1.0, seed=seed, activation=activation)
        for beta in ((5.0, 25.0) if quick else (1.0, 5.0, 10.0, 25.0, 50.0))
        for seed in range(2 if quick else 5)
    ]
    found = [mfpde.minimize(equation, mfpde.Circle(256)) for equation in equations]
    ends = [mfpde.polish(m.equation, m.measure) for m in found if m.kind == "atoms"]
    least, errors, strict = [], [], 0
    for end in ends:
        (neurons,) = end.equation.externals
        atoms = (angles_of(end.atoms.points), end.atoms.masses)
        beta = end.equation.attentions[0].beta
        least.append(float(np.linalg.eigvalsh(atomic_hessian(beta, atoms, neurons))[0]))
        errors.append(abs(float(end.hessian_eigenvalues.min()) - least[-1]))
        strict += least[-1] > 0 and residual(end.equation, end.atoms) <= 1e-14
    name = f"{activation} minimisers"
    return [
        *rows_of_minimisers(found, name),
        Quantity(
            f"{name}: error of the least eigenvalue of Hess E",
            max(errors, default=np.inf),
            0.0,
            # V'' of the independent Hessian by differences of step 1e-5.
            1e-8,
        ),
        Quantity(
            f"{name}: share at rest and strictly stable", strict / len(found), 1, 0
        ),
    ], least


def density_of_a_linear_neuron() -> list[Quantity]:
    """Infinite support, F' = 0 identically, and no coercivity."""
    linear = mfpde.Perceptron([[1.0, 0.0]], [-0.4 * 4 * ive(2, BETA) / BETA], "linear")
    circle = mfpde.Circle(512)
    best = mfpde.minimize(descent(BETA, linear), circle)
    relative = best.measure.values * 2 * np.pi
    error = float(np.abs(relative - 1 - 0.4 * np.cos(2 * circle.angles)).max())
    return [
        Quantity("linear: the minimiser beside 1 - w_2/kappa_2", error, 0.0, 1e-13),
        Quantity(
            "linear: largest |F'| of the minimiser, of the forces",
            residual(best.equation, best.measure),
            0.0,
            1e-14,
        ),
    ]


def decay(found: np.ndarray) -> list[Quantity]:
    """The coercivity falls as fast as n^2 kappa_n: by as many decades, and to nothing."""
    rows = []
    for k, degree in enumerate(DEGREES[1:], start=1):
        fallen = np.log10(found[k - 1] / found[k])
        exact = np.log10(
            least_eigenvalue(int(DEGREES[k - 1])) / least_eigenvalue(int(degree))
        )
        name = f"decades by which the coercivity falls, degrees {DEGREES[k - 1]} to {degree}"
        # rho = 1 +- 0.4 mixes neighbouring degrees: by a factor 1.4/0.6 at most.
        rows.append(
            Quantity(name, fallen, exact, np.log10(1.4 / 0.6), subject="formula")
        )
    return rows


def main(quick: bool = False) -> dict[str, Any]:
    of_gelu, least = minimisers(quick, "gelu")
    of_tanh, others = minimisers(quick, "tanh")
    found = np.array([coercivity(int(n)) for n in DEGREES])
    ratios = gelu_ratios()
    quantities = [
        *of_gelu,
        *of_tanh,
        *density_of_a_linear_neuron(),
        *decay(found),
        Quantity(
            "GeLU, beta = 1: smallest growth of |v_n|/kappa_n from n to n + 2",
            float((ratios[1:] / ratios[:-1]).min()),
            1.0,
            0.0,
            "at least",
            subject="formula",
        ),
    ]
    figure, (left, right) = panels(2)
    left.semilogy(DEGREES, found, "o-", color=COLOURS[0], label="least Hess")
    left.semilogy(
        DEGREES,
        [least_eigenvalue(int(n)) for n in DEGREES],
        "--",
        color=MUTED,
        label="least n² κₙ",
    )
    left.set(
        title="A density is not coercive, β = 5",
        xlabel="degrees n up to",
        ylabel="least Hess(ψ, ψ)/|ψ|²",
    )
    left.legend()
    right.semilogy(sorted(least), "o", color=LANDSCAPE, label="GeLU")
    right.semilogy(sorted(others), "^", color=MUTED, ms=4, label="tanh")
    right.set(
        title="Minimisers are strictly stable",
        xlabel="minimiser, from the least",
        ylabel="least eigenvalue of Hess E",
    )
    right.xaxis.get_major_locator().set_params(integer=True)
    right.legend()
    return {"quantities": quantities, "figures": {"coercivity": figure}}
