"""Theorem 3.2: strictly stable states on the circle are atoms for analytic activations."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.special import ive

import mfpde
from validation.circle_cases import curvature, points_at
from validation.claim import Claim, Quantity
from validation.drawing import COLOURS, panels
from validation.stable_states import descent, random_descent

CLAIM = Claim(
    title="Analytic activations on S^1: strictly stable states are atoms",
    source="Theorem 3.2",
    statement=(
        "d = 2, sigma real-analytic: a strict second-order point (Hess >= c > 0) is a finite "
        "sum of atoms. On infinite support F' = 0 identically, and Hess (5.16) is "
        "sum n^2 kappa_n |(psi mu)_n|^2, which is not coercive: shown on the density that a "
        "linear activation has. GeLU minimisers are atoms with a positive margin."
    ),
)
BETA = 5.0


def coercivity(degree: int) -> tuple[float, float]:
    """Smallest Hess(psi, psi)/|psi|^2 over psi rho of degrees up to ``degree``, and a bound.

    At rho = 1 - w_2/kappa_2, by direct summation of (5.16) over 512 points.  The bound is
    N^2 kappa_N |cos(N theta)/2|^2 of psi = cos(N theta)/rho.
    """
    angles = 2 * np.pi * np.arange(512) / 512
    rho = 1 + 0.4 * np.cos(2 * angles)
    weights = rho / rho.sum()
    waves = np.arange(1, degree + 1)[:, np.newaxis] * angles
    basis = np.concatenate([np.cos(waves), np.sin(waves)]) / rho
    bend = curvature(BETA, angles[:, np.newaxis] - angles) * np.outer(weights, weights)
    hessian = -basis @ bend @ basis.T
    gram = (basis * weights) @ basis.T
    smallest = float(eigh(hessian, gram, eigvals_only=True)[0])
    wave = np.cos(degree * angles) / rho
    kappa = ive(degree, BETA) / BETA
    # psi mu = cos(N theta)/512 exactly; psi itself has higher degrees.
    return smallest, float(degree**2 * kappa / 2 / (weights @ wave**2))


def gelu_ratios() -> np.ndarray:
    """|v_n|/kappa_n of one GeLU neuron at even n, which eq. (5.1) would have to bound."""
    angles = 2 * np.pi * np.arange(256) / 256
    neuron = mfpde.Perceptron([[1.0, 0.0]], [1.0], "gelu")
    values = neuron.value(points_at(angles))
    degrees = np.arange(4, 13, 2)
    return np.abs(np.fft.rfft(values)[degrees]) / 256 / (ive(degrees, 1.0))


def main(quick: bool = False) -> dict[str, Any]:
    betas = (5.0, 25.0) if quick else (1.0, 5.0, 10.0, 25.0, 50.0)
    margins, others = [], 0
    for beta in betas:
        for seed in range(2 if quick else 5):
            equation = random_descent(beta, 2, 1.0, seed=seed, activation="gelu")
            found = mfpde.minimize(equation, mfpde.Circle(256))
            others += found.kind != "atoms"
            polished = mfpde.polish(equation, found.measure)
            margins.append(polished.strict_margin)
    count = len(margins)
    quantities = [
        Quantity(f"GeLU minimisers that are no atoms, of {count}", others, 0, 0),
        Quantity("their smallest strict margin", min(margins), 1e-6, 0.0, "at least"),
    ]
    linear = mfpde.Perceptron([[1.0, 0.0]], [-0.4 * 4 * ive(2, BETA) / BETA], "linear")
    best = mfpde.minimize(descent(BETA, linear), mfpde.Circle(512)).measure
    exact = 1 + 0.4 * np.cos(2 * mfpde.Circle(512).angles)
    error = float(np.abs(best.values * 2 * np.pi - exact).max())
    quantities.append(
        Quantity(
            "linear: the minimiser is the density 1 - w_2/kappa_2", error, 0.0, 1e-10
        )
    )
    degrees = np.array([2, 4, 8, 12, 16])
    found_pairs = np.array([coercivity(int(n)) for n in degrees])
    quantities += [
        Quantity(
            f"its coercivity over degrees up to {n}", small, bound, 1e-13, "at most"
        )
        for n, (small, bound) in zip(degrees[2:], found_pairs[2:], strict=True)
    ]
    ratios = gelu_ratios()
    quantities.append(
        Quantity(
            "GeLU, beta = 1: smallest growth of |v_n|/kappa_n from n to n + 2",
            float((ratios[1:] / ratios[:-1]).min()),
            1.0,
            0.0,
            "at least",
        )
    )
    figure, (left, right) = panels(2)
    left.semilogy(
        degrees, found_pairs[:, 0], "o-", color=COLOURS[0], label="smallest Hess"
    )
    left.semilogy(degrees, found_pairs[:, 1], "--", color=COLOURS[1], label="bound")
    left.set(title="A density: not coercive", xlabel="degrees up to")
    left.legend()
    right.semilogy(sorted(margins), "o", color=COLOURS[0])
    right.set(title="GeLU minimisers: strict margin", xlabel="case, sorted")
    return {"quantities": quantities, "figures": {"coercivity": figure}}
