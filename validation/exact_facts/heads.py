"""Heads of attention with matrices: velocities in closed form, and what turns for ever."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import ive

import mfpde
from validation.circle_cases import points_at
from validation.claim import Claim, Findings, Quantity, equal, vanishes
from validation.exact_facts.runs import ascent, descent, solve_to

CLAIM = Claim(
    title="Heads with matrices D and V: the uniform measure, growth, and states that turn",
    source="Section 2.4 with logits beta x.Dy and values V y (formulas derived here)",
    statement=(
        "From the uniform measure Z = I_0(r) on S^1 and sinh(r)/r on S^2, r = beta |D^T x|, "
        "and m is (z/r) Z'(r) with z = beta D^T x. D = b R(alpha) multiplies mode l by "
        "s l^2 I_l(beta b) e^(-beta b - i l alpha) / beta. With D = I and V = I + omega J three "
        "equal atoms on S^1 turn as an equilateral triangle, at the rate of their equation."
    ),
)
BETA, OMEGA = 4.0, 0.3
TURN = np.array([[0.0, -1.0], [1.0, 0.0]])


def from_uniform(geometry: Any, seed: int, *, normalized: bool) -> float:
    """The largest error of the velocity at random points, over the largest velocity."""
    generator, d = np.random.default_rng(seed), geometry.dimension
    bilinear, value = generator.standard_normal((2, d, d))
    beta = BETA / np.linalg.norm(bilinear, 2)
    x = generator.standard_normal((200, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    z = beta * x @ bilinear
    r = np.linalg.norm(z, axis=1, keepdims=True)
    if d == 2:
        total, along = np.exp(r) * ive(0, r), np.exp(r) * ive(1, r)
    else:
        total, along = np.sinh(r) / r, np.cosh(r) / r - np.sinh(r) / r**2
    sent = z / r @ value.T * along / (total if normalized else np.exp(BETA))
    exact = sent - (sent * x).sum(axis=1, keepdims=True) * x
    head = mfpde.Attention(beta, normalized, bilinear=bilinear, value=value)
    found = ascent(head).velocity(mfpde.uniform(geometry), x)
    return float(np.abs(found - exact).max() / np.abs(exact).max())


def compare_growth(size: float, angle: float, l: int) -> Iterator[Quantity]:
    """Real and imaginary part of the rate of mode l in a short run."""
    circle, time = mfpde.Circle(256), 0.1
    rotation = np.cos(angle) * np.eye(2) + np.sin(angle) * TURN
    equation = ascent(mfpde.Attention(BETA, bilinear=size * rotation))
    start = mfpde.Density(circle, (1 + 1e-6 * np.cos(l * circle.angles)) / (2 * np.pi))
    end = solve_to(time, equation, start, transport="semi_lagrangian", rtol=1e-8)
    wave = np.exp(-1j * l * circle.angles)
    rate = np.log((end.masses @ wave) / (start.masses @ wave)) / time
    exact = l**2 * ive(l, BETA * size) * np.exp(-1j * l * angle) / BETA
    name = f"D = {size:g} R({angle:g}), mode {l}: "
    yield equal(f"{name}rate of growth", rate.real, exact.real, 1e-5)
    yield equal(f"{name}rate of turning", rate.imag, exact.imag, 1e-5)


def compare_triangle() -> Iterator[Quantity]:
    """Three atoms under V = I + omega J, by Newton's method."""
    value, angles = np.eye(2) + OMEGA * TURN, np.array([0.0, 2.0, 4.3])
    equation = descent(mfpde.Attention(BETA, bilinear=np.eye(2), value=value))
    found = mfpde.polish(equation, mfpde.Atoms(points_at(angles)), max_move=1.0)
    exact = -OMEGA * (1 - np.exp(-1.5 * BETA)) / 3
    polished = found.angular_velocity[1, 0] if found.converged else np.nan
    yield equal("triangle: angular velocity, polished", polished, exact, 1e-12)


@CLAIM
def main(_quick: bool = False) -> Findings:
    for grid in (mfpde.Circle(256), mfpde.Sphere(64)):
        for normalized, kind in ((False, "unnormalised"), (True, "softmax")):
            errors = [from_uniform(grid, n, normalized=normalized) for n in range(3)]
            name = f"S^{grid.dimension - 1}, random D and V, {kind}: "
            yield vanishes(f"{name}largest error of v, 3 draws", errors, 1e-10)
    for size, angle, l in ((1.0, 0.7, 2), (0.8, np.pi, 3)):
        yield from compare_growth(size, angle, l)
    yield from compare_triangle()
