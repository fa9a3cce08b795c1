"""One ReLU neuron in descent: one atom, two, three; and when two dissolve."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq

import mfpde
from validation.circle_cases import angles_of, points_at, wrapped
from validation.claim import Claim, Quantity
from validation.drawing import COLOURS, panels

CLAIM = Claim(
    title="One ReLU neuron in descent: one atom, two, three",
    source="Theorem 3.1 made explicit for one neuron, shifted kernel (derived here)",
    statement=(
        "V = w relu(a.x)^2/2, w < 0. |w| >= 1: one atom at a. Below: two at +-t from a, "
        "cos 2t = 1 + log|w|/beta. They are the minimiser until F(a) comes down to F(+-t), "
        "and dissolve when a part of an atom leaves it: s Hess F >= 0, at |w| = e^(-beta u), "
        "e^(-beta u)(beta (2u - u^2) + 1 - u) = 1."
    ),
)
AXIS = np.pi / 4


def equation_of(weight: float, beta: float) -> mfpde.MeanFieldEquation:
    """One neuron of weight -|w| in descent."""
    neuron = mfpde.Perceptron([points_at(np.array(AXIS))], [-weight])
    return mfpde.MeanFieldEquation(mfpde.Attention(beta), neuron, direction="descent")


def half_angle(weight: float, beta: float) -> float:
    """The angle t of the claim."""
    return 0.0 if weight >= 1 else float(np.arccos(1 + np.log(weight) / beta) / 2)


def third_atom_weight(beta: float) -> float:
    """|w| = e^(-beta u) at which F(a) = F(+-t)."""

    def excess(u: float) -> float:
        weight = np.exp(-beta * u)
        middle = np.exp(beta * (np.sqrt(1 - u / 2) - 1)) / beta - weight / 2
        return middle - ((1 + weight) / (2 * beta) - weight * (1 - u / 2) / 2)

    return float(np.exp(-beta * brentq(excess, 0.3 / beta, 3 / beta, xtol=1e-15)))


def split_weight(beta: float) -> float:
    """|w| at which s Hess F vanishes at the two atoms."""

    def bend(u: float) -> float:
        return np.exp(-beta * u) * (beta * (2 * u - u**2) + 1 - u) - 1

    return float(np.exp(-beta * brentq(bend, 1e-3, 1.0, xtol=1e-15)))


def measured_split(beta: float, near: float) -> float:
    """The same from the split rates of polished pairs."""

    def rate(weight: float) -> float:
        angles = AXIS + 1.001 * half_angle(weight, beta) * np.array([-1.0, 1.0])
        found = mfpde.polish(equation_of(weight, beta), mfpde.Atoms(points_at(angles)))
        return float(found.split_rates[0, 0])

    return float(brentq(rate, near - 0.02, near + 0.02, xtol=1e-12))


def atoms_of(weight: float, beta: float) -> tuple[np.ndarray, float]:
    """Angles from a of the minimiser's atoms, and the certified gap."""
    found = mfpde.minimize(equation_of(weight, beta), mfpde.Circle(256))
    return np.sort(wrapped(angles_of(found.measure.points) - AXIS)), found.gap


def main(quick: bool = False) -> dict[str, Any]:
    quantities, largest_gap = [], 0.0
    betas = (10.0,) if quick else (10.0, 30.0)
    for beta in betas:
        third = third_atom_weight(beta)
        for weight in (1.3, 0.8, 0.5 * (third + 0.8)):
            angles, gap = atoms_of(weight, beta)
            largest_gap = max(largest_gap, gap)
            half = half_angle(weight, beta)
            exact = np.array([0.0] if half == 0 else [-half, half])
            name = f"beta = {beta:g}, |w| = {weight:.3g}: "
            quantities.append(
                Quantity(f"{name}number of atoms", len(angles), len(exact), 0)
            )
            if len(angles) == len(exact):
                error = float(np.abs(angles - exact).max())
                quantities.append(
                    Quantity(f"{name}largest error of their angles", error, 0.0, 1e-9)
                )
        above, below = (len(atoms_of(third + d, beta)[0]) for d in (1e-3, -1e-3))
        split = split_weight(beta)
        quantities += [
            Quantity(
                f"beta = {beta:g}: atoms just above |w| = {third:.6f}", above, 2, 0
            ),
            Quantity(f"beta = {beta:g}: atoms just below it", below, 3, 0),
            Quantity(
                f"beta = {beta:g}: |w| at which a pair dissolves, by polish",
                measured_split(beta, split),
                split,
                1e-8,
            ),
            Quantity(
                f"beta = {beta:g}: a pair that dissolves is no minimiser",
                split,
                third,
                0.0,
                "at most",
            ),
        ]
    quantities.append(Quantity("largest certified gap", largest_gap, 0.0, 1e-12))
    figure, (ax,) = panels(1, width=5)
    draw(ax, 10.0, 8 if quick else 40)
    return {"quantities": quantities, "figures": {"ladder": figure}}


def draw(ax: Any, beta: float, count: int) -> None:
    """Angles of the minimiser's atoms over |w|, and the formula of two."""
    for weight in np.linspace(0.1, 1.2, count):
        angles, _ = atoms_of(weight, beta)
        ax.plot(np.full(len(angles), weight), angles, ".", color=COLOURS[0])
    weights = np.linspace(split_weight(beta), 1.2, 200)
    halves = np.array([half_angle(w, beta) for w in weights])
    ax.plot(weights, halves, color=COLOURS[1], label="±t of the formula")
    ax.plot(weights, -halves, color=COLOURS[1])
    ax.axvline(third_atom_weight(beta), color=COLOURS[2], ls=":", label="F(a) = F(±t)")
    ax.set(title=f"Minimisers, β = {beta:g}", xlabel="|w|", ylabel="angle from a")
    ax.legend()
