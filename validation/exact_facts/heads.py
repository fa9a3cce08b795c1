"""Heads of attention with matrices: velocities in closed form, and what turns for ever."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.special import ive

import mfpde
from validation.claim import Claim, Quantity

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
TURN = np.array([[0.0, -1.0], [1.0, 0.0]])


def tangential(points: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    """Vectors (n, d) less their parts along ``points``."""
    return vectors - (vectors * points).sum(axis=1, keepdims=True) * points


def from_uniform(geometry: Any, seed: int, *, normalized: bool) -> Quantity:
    """The largest error of the velocity at random points, over the largest velocity."""
    generator, d = np.random.default_rng(seed), geometry.dimension
    bilinear, value = generator.standard_normal((2, d, d))
    beta = 4.0 / np.linalg.norm(bilinear, 2)
    x = generator.standard_normal((200, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    z = beta * x @ bilinear
    r = np.linalg.norm(z, axis=1)
    if d == 2:
        total, along = np.exp(r) * ive(0, r), np.exp(r) * ive(1, r)
    else:
        total, along = np.sinh(r) / r, np.cosh(r) / r - np.sinh(r) / r**2
    exact = tangential(x, (z / r[:, np.newaxis]) @ value.T) * along[:, np.newaxis]
    exact /= total[:, np.newaxis] if normalized else np.exp(4.0)
    head = mfpde.Attention(beta, normalized, bilinear=bilinear, value=value)
    equation = mfpde.MeanFieldEquation(head, direction="ascent")
    found = equation.velocity(mfpde.uniform(geometry), x)
    kind = "softmax" if normalized else "unnormalised"
    return Quantity(
        f"S^{d - 1}, random D and V no. {seed}, {kind}: error of v",
        float(np.abs(found - exact).max() / np.abs(exact).max()),
        0.0,
        1e-10,
    )


def growth(size: float, angle: float, l: int) -> list[Quantity]:
    """Real and imaginary part of the rate of mode l, from two short runs."""
    beta, small, time = 4.0, 1e-6, 0.1
    circle = mfpde.Circle(256)
    rotation = np.cos(angle) * np.eye(2) + np.sin(angle) * TURN
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(beta, bilinear=size * rotation), direction="ascent"
    )
    start = mfpde.Density(circle, (1 + small * np.cos(l * circle.angles)) / (2 * np.pi))
    run = mfpde.solve(
        equation, start, t_end=time, transport="semi_lagrangian", rtol=1e-8
    )
    moments = [
        m.density.masses @ np.exp(-1j * l * circle.angles)
        for m in (mfpde.Measure(start, mfpde.Atoms.none(2)), run.final)
    ]
    rate = np.log(moments[1] / moments[0]) / time
    exact = l**2 * ive(l, beta * size) * np.exp(-1j * l * angle) / beta
    name = f"D = {size:g} R({angle:g}), mode {l}: "
    return [
        Quantity(f"{name}rate of growth", float(rate.real), exact.real, 1e-5),
        Quantity(f"{name}rate of turning", float(rate.imag), exact.imag, 1e-5),
    ]


def triangle() -> list[Quantity]:
    """Three atoms under V = I + omega J: Newton's method, and an ODE of their angles."""
    beta, omega = 4.0, 0.3
    value = np.eye(2) + omega * TURN
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(beta, bilinear=np.eye(2), value=value), direction="descent"
    )
    angles = np.array([0.0, 2.0, 4.3])
    start = mfpde.Atoms(np.stack([np.cos(angles), np.sin(angles)], axis=1), [1 / 3] * 3)
    found = mfpde.polish(equation, start, max_move=1.0)

    def rate(_: float, theta: np.ndarray) -> np.ndarray:
        apart = theta - theta[:, np.newaxis]
        kernel = np.exp(beta * (np.cos(apart) - 1)) / 3
        pull = np.sin(apart) + omega * np.cos(apart)
        return np.asarray(-(kernel * pull).sum(axis=1))

    late = solve_ivp(rate, (0, 2000.0), angles, rtol=1e-11, atol=1e-12)
    speed = rate(0.0, late.y[:, -1])
    third = np.exp(-1.5 * beta)
    formula = -omega * (1 - third) / 3
    return [
        Quantity(
            "triangle: v of its atoms, by an ODE",
            float(speed[0]),
            formula,
            1e-10,
            subject="formula",
        ),
        Quantity(
            "triangle: angular velocity, polished",
            float(found.angular_velocity[1, 0]) if found.converged else np.nan,
            formula,
            1e-12,
        ),
    ]


def main(quick: bool = False) -> dict[str, Any]:
    grids = (mfpde.Circle(256), mfpde.Sphere(64))
    quantities = [
        from_uniform(grid, seed, normalized=normalized)
        for grid in grids
        for normalized in (False, True)
        for seed in range(1 if quick else 3)
    ]
    for size, angle, l in ((1.0, 0.7, 2), (0.8, np.pi, 3)):
        quantities += growth(size, angle, l)
    return {"quantities": [*quantities, *triangle()], "figures": {}}
