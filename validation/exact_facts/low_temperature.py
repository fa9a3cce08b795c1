"""Softmax at large beta: every token looks at the one that its query likes best."""

from __future__ import annotations

import numpy as np

import mfpde
from validation.claim import Claim, Findings, at_least, equal, vanishes
from validation.exact_facts.runs import Array, ascent, integrate, solve_to

CLAIM = Claim(
    title="Low temperature: the flow of x' = P_x V D^T x / |D^T x|",
    source="Laplace's method for softmax attention (derived here); arXiv 2605.10931",
    statement=(
        "While mu has full support, m/Z tends to D^T x / |D^T x| as beta grows, with an error of "
        "order 1/beta; so the flow approaches the linear one x' = P_x V D^T x / |D^T x| that no "
        "longer depends on mu, at the same rate. Up to t = log beta arXiv 2605.10931 bounds the "
        "distance by sqrt(log(beta + 1)/beta) e^(Ct) + e^(-ct), it is of order log beta/beta "
        "where tokens turn for ever, and smaller where they gather."
    ),
)
BILINEAR = np.array([[1.0, 0.3], [-0.2, 0.7]])
BILINEAR /= np.linalg.norm(BILINEAR, 2)
TURNING = np.array([[0.4, -0.8], [0.9, 0.3]])
GATHERING = np.array([[0.9, 0.3], [-0.1, 0.2]])
BETAS = (10.0, 100.0, 1000.0)


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
