"""Large beta: tokens see the one that their query likes best, or in descent their neighbours."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import ive

import mfpde
from validation.circle_cases import l1_distance, orders
from validation.claim import Claim, Findings, Quantity, at_least, equal, vanishes
from validation.exact_facts.runs import Array, ascent, descent, integrate, solve_to

CLAIM = Claim(
    title="Low temperature: x' = P_x V D^T x / |D^T x|; in descent heat and porous medium",
    source="Laplace's method (derived here); arXiv 2605.10931; limit of eqs. (2.5), (2.8)",
    statement=(
        "While mu has full support, m/Z tends to D^T x / |D^T x| as beta grows, with an error of "
        "order 1/beta; so the flow approaches the linear one x' = P_x V D^T x / |D^T x| that no "
        "longer depends on mu, at the same rate. Up to t = log beta arXiv 2605.10931 bounds the "
        "distance by sqrt(log(beta + 1)/beta) e^(Ct) + e^(-ct), it is of order log beta/beta "
        "where tokens turn for ever, and smaller where they gather. Without matrices softmax "
        "descent tends to d_t rho = (1/beta) rho'', unnormalised descent, shifted kernel, to "
        "d_t rho = (D rho rho')', D = 2 pi e^-beta I_0(beta)/beta; the relative difference "
        "falls as 1/beta."
    ),
)
BILINEAR = np.array([[1.0, 0.3], [-0.2, 0.7]])
BILINEAR /= np.linalg.norm(BILINEAR, 2)
TURNING = np.array([[0.4, -0.8], [0.9, 0.3]])
GATHERING = np.array([[0.9, 0.3], [-0.1, 0.2]])
BETAS = (10.0, 100.0, 1000.0)
KINDS = {"softmax, heat": (True, 0.5), "unnormalised, porous medium": (False, 3.0)}
"""Whether attention is softmax; t/beta for the heat equation, D t for porous medium."""


def limit(points: Array, value: Array) -> Array:
    """The limit P_x V D^T x / |D^T x| at points (n, 2)."""
    turned = points @ BILINEAR
    sent = turned / np.linalg.norm(turned, axis=1, keepdims=True) @ value.T
    return np.asarray(sent - (sent * points).sum(axis=1, keepdims=True) * points)


def equation_of(beta: float, value: Array) -> mfpde.MeanFieldEquation:
    """Softmax of one head, in ascent."""
    return ascent(mfpde.Attention(beta, True, bilinear=BILINEAR, value=value))


def error_at(start: mfpde.Density, beta: float, time: float, value: Array) -> float:
    """Largest difference of the moments to degree 8 from those of the limit."""

    def moments(points: Array, masses: Array) -> Array:
        return (points @ [1, -1j]) ** np.arange(9)[:, np.newaxis] @ masses

    points = start.geometry.points
    ends = integrate(lambda x: limit(x, value), points, time)
    found = solve_to(time, equation_of(beta, value), start)
    missed = moments(points, found.masses) - moments(ends, start.masses)
    return float(np.abs(missed).max())


def limit_density(start: Array, tau: float, *, softmax: bool) -> Array:
    """The limit at the rescaled time tau: exact for heat, spectral for porous medium."""
    degrees = np.arange(len(start) // 2 + 1)
    if softmax:
        return np.fft.irfft(np.fft.rfft(start) * np.exp(-(degrees**2) * tau))

    def rate(rho: Array) -> Array:
        return np.fft.irfft(-(degrees**2) * np.fft.rfft(rho**2 / 2))

    return integrate(rate, start, tau)


def compare_diffusions() -> Iterator[Quantity]:
    """Descent beside its limits, heat and porous medium."""
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
            away.append(l1_distance(end, limit) / l1_distance(start, limit))
        # The next term of the expansion is about 1/(2 beta).
        text = f"{name}: relative difference at beta = {beta:g}"
        yield vanishes(text, away[-1], 1 / beta)
        yield equal(f"{name}: order in 1/beta", orders(away).mean(), 1.0, 0.05)


@CLAIM
def main(_quick: bool = False) -> Findings:
    circle = mfpde.Circle(2048)
    start = mfpde.Density.from_function(
        circle, lambda x: 1 + 0.5 * x[..., 0] + 0.3 * x[..., 0] * x[..., 1]
    )
    exact = limit(circle.points, TURNING)
    speeds = [equation_of(beta, TURNING).velocity(start) for beta in BETAS]
    errors = {
        "v": [float(np.abs(speed - exact).max()) for speed in speeds],
        "modes to 8 at t = 0.5": [error_at(start, b, 0.5, TURNING) for b in BETAS],
    }
    for name, found in errors.items():
        # From 100 to 1000 the next term, 1/beta^2, is a tenth of the first or less.
        text = f"S^1, {name}: error at beta = 100 over that at 1000"
        yield equal(text, found[1] / found[2], 10.0, 1.0)
    yield vanishes("S^1, v at beta = 1000: error", errors["v"][-1], 5e-3)
    exact_ratio = (np.log(100) / 100) / (np.log(1000) / 1000)
    cases = (("turning", TURNING, equal), ("gathering", GATHERING, at_least))
    for name, value, row in cases:
        late = [error_at(start, beta, np.log(beta), value) for beta in BETAS[1:]]
        text = f"S^1, {name}, t = log beta: error at beta = 100 over that at 1000"
        # The next term is 1/beta of the first.
        yield row(text, late[0] / late[1], exact_ratio, 0.1)
    yield from compare_diffusions()
