"""Softmax at large beta: every token looks at the one that its query likes best."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import mfpde
from validation.claim import Claim, Quantity
from validation.drawing import panels

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
VALUE = np.array([[0.4, -0.8], [0.9, 0.3]])
GATHERING = np.array([[0.9, 0.3], [-0.1, 0.2]])
TIME = 0.5
WAVES = np.arange(9)


def limit(points: np.ndarray, value: np.ndarray = VALUE) -> np.ndarray:
    """The limit P_x V D^T x / |D^T x| at points (n, 2)."""
    turned = points @ BILINEAR
    turned /= np.linalg.norm(turned, axis=1, keepdims=True)
    sent = turned @ value.T
    return np.asarray(sent - (sent * points).sum(axis=1, keepdims=True) * points)


def limit_moments(start: mfpde.Density, time: float, value: np.ndarray) -> np.ndarray:
    """Moments of the start moved by the limit."""

    def speed(_: float, angles: np.ndarray) -> np.ndarray:
        points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
        tangents = np.stack([-np.sin(angles), np.cos(angles)], axis=1)
        return np.asarray((limit(points, value) * tangents).sum(axis=1))

    angles = start.geometry.angles
    end = solve_ivp(speed, (0, time), angles, rtol=1e-10, atol=1e-12).y[:, -1]
    return np.asarray(np.exp(-1j * np.outer(WAVES, end)) @ start.masses)


def equation_of(beta: float, value: np.ndarray) -> mfpde.MeanFieldEquation:
    head = mfpde.Attention(beta, True, bilinear=BILINEAR, value=value)
    return mfpde.MeanFieldEquation(head, direction="ascent")


def error_at(
    start: mfpde.Density, beta: float, *, time: float, value: np.ndarray = VALUE
) -> float:
    """Largest difference of the moments to degree 8 from those of the limit."""
    run = mfpde.solve(equation_of(beta, value), start, t_end=time, save_at=[time])
    waves = np.exp(-1j * np.outer(WAVES, start.geometry.angles))
    moments = waves @ run.final.density.masses
    return float(np.abs(moments - limit_moments(start, time, value)).max())


def main(quick: bool = False) -> dict[str, Any]:
    circle = mfpde.Circle(1024 if quick else 2048)
    start = mfpde.Density.from_function(
        circle, lambda x: 1 + 0.5 * x[..., 0] + 0.3 * x[..., 0] * x[..., 1]
    )
    betas = (10.0, 100.0, 1000.0)
    quantities, of_velocity = [], []
    for beta in betas:
        found = equation_of(beta, VALUE).velocity(start)
        of_velocity.append(float(np.abs(found - limit(circle.points)).max()))
    of_moments = [error_at(start, beta, time=TIME) for beta in betas]
    for name, errors in (("v", of_velocity), (f"modes to 8 at t = {TIME}", of_moments)):
        # From 100 to 1000 the next term, 1/beta^2, is a tenth of the first or less.
        ratio = errors[1] / errors[2]
        text = f"S^1, {name}: error at beta = 100 over that at 1000"
        quantities.append(Quantity(text, ratio, 10.0, 1.0))
    quantities.append(
        Quantity("S^1, v at beta = 1000: error", of_velocity[-1], 0.0, 5e-3)
    )
    exact = (np.log(100) / 100) / (np.log(1000) / 1000)
    for name, value, rule in (
        ("turning", VALUE, "equal"),
        ("gathering", GATHERING, "at least"),
    ):
        late = [
            error_at(start, beta, time=np.log(beta), value=value) for beta in betas[1:]
        ]
        text = f"S^1, {name}, t = log beta: error at beta = 100 over that at 1000"
        # The next term is 1/beta of the first.
        quantities.append(Quantity(text, late[0] / late[1], exact, 0.1, rule))
    figure, (ax,) = panels(1, width=5)
    ax.loglog(betas, of_velocity, "o-", label="velocity")
    ax.loglog(betas, of_moments, "s-", label=f"modes to 8 at t = {TIME}")
    ax.loglog(
        betas, [of_velocity[0] * betas[0] / b for b in betas], "k:", label=r"$1/\beta$"
    )
    ax.set(
        title="Distance to the low-temperature limit", xlabel=r"$\beta$", ylabel="error"
    )
    ax.legend()
    return {"quantities": quantities, "figures": {"errors": figure}}
