"""Lemma 5.1: the interaction is injective; its inverse; which potentials have a density."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import eval_gegenbauer

import mfpde
from mfpde import theory
from validation.claim import Claim, Quantity
from validation.drawing import COLOURS, panels
from validation.stable_states import descent

CLAIM = Claim(
    title="The interaction is injective, and its inverse",
    source="Lemma 5.1, eq. (5.1)",
    statement=(
        "T mu = int exp(beta x.y) dmu is injective: all lambda_n > 0. T mu = f has an L^2 "
        "density iff sum lambda_n^-2 |f_n|^2 < inf, dmu/dsigma = sum lambda_n^-1 f_n. T mu is "
        "even iff mu is symmetric under x -> -x."
    ),
)


def smooth_values(points: np.ndarray) -> np.ndarray:
    """A positive density of degrees 0 to 3."""
    x, y, z = points[..., 0], points[..., 1], points[..., -1]
    return 2 + x + 0.5 * x * y + 0.3 * z**3


def direct_potential(
    density: mfpde.Density, points: np.ndarray, beta: float
) -> np.ndarray:
    """A[rho] by summation over all cells (their quadrature is exact for these degrees)."""
    sources = density.geometry.points.reshape(-1, density.geometry.dimension)
    kernel = np.exp(beta * (points.reshape(-1, sources.shape[1]) @ sources.T - 1))
    return (kernel @ density.masses.ravel() / beta).reshape(points.shape[:-1])


def by_quadrature(beta: float, dimension: int, count: int) -> np.ndarray:
    """lambda_n = int K P_n sin^(d-2) dt over that of 1, P_n(1) = 1 (Funk and Hecke)."""
    nodes, weights = np.polynomial.legendre.leggauss(200)
    t = np.pi * (nodes + 1) / 2
    weights = weights * np.sin(t) ** (dimension - 2)
    order = dimension / 2 - 1
    harmonics = [
        np.cos(n * t)
        if dimension == 2
        else eval_gegenbauer(n, order, np.cos(t)) / eval_gegenbauer(n, order, 1.0)
        for n in range(count)
    ]
    kernel = np.exp(beta * (np.cos(t) - 1))
    return np.asarray(np.array(harmonics) @ (weights * kernel) / weights.sum())


def main(quick: bool = False) -> dict[str, Any]:
    quantities = []
    figure, (ax,) = panels(1, width=5)
    beta = 3.0
    for geometry in (mfpde.Circle(128), mfpde.Sphere(32)):
        d = geometry.dimension
        density = mfpde.Density.from_function(geometry, smooth_values).normalized()
        area = geometry.areas.sum()
        potential = direct_potential(density, geometry.points, beta)
        # Beyond degree 8 there is only rounding, which the eigenvalues would amplify.
        moments = geometry.moments(potential * geometry.areas / area, 8)
        spectrum = theory.eigenvalues(beta, d, np.arange(9))[geometry.degrees(8)]
        found = geometry.synthesis(beta / spectrum * moments) / area
        error = np.abs(found - density.values).max() / density.values.max()
        quantities += [
            Quantity(
                f"S^{d - 1}: relative error of the density",
                float(error),
                0.0,
                1e-6,
                subject="formula",
            ),
            Quantity(
                f"S^{d - 1}: its mass",
                float((found * geometry.areas).sum()),
                1.0,
                1e-9,
                subject="formula",
            ),
        ]
    for d in (2, 3, 8):
        found = theory.eigenvalues(beta, d, np.arange(8))
        ratios = found / by_quadrature(beta, d, 8)
        text = f"S^{d - 1}: lambda_n, n < 8, beside Funk and Hecke's integral"
        # Rounding of the integral of 200 nodes, some 1e-16 of lambda_0 each.
        rounding = 200 * 1e-16 * float(found[0] / found[-1])
        off = float(np.abs(ratios - 1).max())
        quantities.append(Quantity(text, off, 0.0, rounding, subject="formula"))
    circle = mfpde.Circle(512)
    for name, term in {
        "relu": mfpde.Perceptron([[0.6, 0.8]], [0.001]),
        "linear": mfpde.Perceptron([[0.6, 0.8]], [0.001], "linear"),
    }.items():
        text = f"f = c - V, {name}: coefficients of eq. (5.1) decay"
        quantities.append(
            Quantity(
                text,
                int(decays(term, circle, beta)),
                int(name == "linear"),
                0,
                subject="formula",
            )
        )
        draw(ax, term, name=name, beta=beta)
    quantities += evenness(beta)
    ax.set(title="Lemma 5.1, β = 3", xlabel="degree n", ylabel="|V_n| / λ_n")
    ax.legend()
    return {"quantities": quantities, "figures": {"coefficients": figure}}


def decays(term: mfpde.Perceptron, circle: mfpde.Circle, beta: float) -> bool:
    """Whether the coefficients of eq. (5.1) for f = c - V are largest at the lowest degrees."""
    degrees = np.arange(1, 16)
    sizes = np.abs(np.fft.rfft(term.value(circle.points)))[degrees] / circle.num_cells
    largest = np.argmax(sizes / theory.eigenvalues(beta, 2, degrees))
    return bool(degrees[largest] <= 2)


def draw(ax: Any, term: mfpde.Perceptron, *, name: str, beta: float) -> None:
    """|V_n|/lambda_n of a neuron."""
    circle = mfpde.Circle(512)
    degrees = np.arange(1, 13)
    sizes = np.abs(np.fft.rfft(term.value(circle.points)))[degrees] / 512
    kept = sizes > 1e-17
    ratios = sizes[kept] / theory.eigenvalues(beta, 2, degrees[kept])
    ax.semilogy(
        degrees[kept], ratios, "o-", ms=4, color=COLOURS[name == "relu"], label=name
    )


def evenness(beta: float) -> list[Quantity]:
    """Odd part of T mu for a symmetric and an unsymmetric measure."""
    generator = np.random.default_rng(2)
    points = generator.standard_normal((5, 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    targets = generator.standard_normal((50, 3))
    targets /= np.linalg.norm(targets, axis=1, keepdims=True)
    field = descent(beta).first_variation
    symmetric = mfpde.Atoms(np.concatenate([points, -points]))
    odd = field(symmetric, targets) - field(symmetric, -targets)
    unsymmetric = mfpde.Atoms(points)
    other = field(unsymmetric, targets) - field(unsymmetric, -targets)
    return [
        Quantity(
            "odd part of T mu, mu symmetric",
            float(np.abs(odd).max()),
            0.0,
            1e-14,
            subject="formula",
        ),
        Quantity(
            "odd part of T mu, mu not symmetric",
            float(np.abs(other).max()),
            1e-3,
            0.0,
            "at least",
            subject="formula",
        ),
    ]
