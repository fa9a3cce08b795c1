"""Theorem 3.1: with ReLU on the circle every stationary measure is a finite sum of atoms."""

from __future__ import annotations

from typing import Any

import numpy as np

import mfpde
from mfpde import theory
from validation.circle_cases import points_at
from validation.claim import Claim, Quantity
from validation.stable_states import descent, random_descent

CLAIM = Claim(
    title="ReLU on S^1: stationary measures are atoms",
    source="Theorem 3.1",
    statement=(
        "d = 2, ReLU, v_theta not real-analytic: every mu with grad F = 0 on supp mu is a "
        "finite sum of atoms. Shown on minimisers in descent, whose gap is certified; by the "
        "jump w_j |a_j|^2 of F'' at each kink, which no measure can take away; and by eq. "
        "(5.1), which gives no density with F constant, while it does for a linear "
        "activation, where v is real-analytic."
    ),
)
STEP = 1e-3


def curvature_jump(
    equation: mfpde.MeanFieldEquation, measure: Any, kink: float
) -> float:
    """Jump of F'' across the angle ``kink``: second differences on both sides."""

    def bend(side: int) -> float:
        at = kink + side * STEP * np.arange(4)
        f = equation.first_variation(measure, points_at(at))
        # Second order one-sided difference.
        return float(2 * f[0] - 5 * f[1] + 4 * f[2] - f[3]) / STEP**2

    return bend(1) - bend(-1)


def minimisers(quick: bool) -> tuple[list[Any], list[Any]]:
    """Equations and their minimisers."""
    betas = (1.0, 10.0) if quick else (1.0, 5.0, 10.0, 25.0, 50.0)
    cases = [
        random_descent(beta, 2, scale, seed=seed)
        for beta in betas
        for scale in ((1.0,) if quick else (0.1, 1.0, 10.0))
        for seed in range(1 if quick else 4)
    ]
    return cases, [mfpde.minimize(case, mfpde.Circle(256)) for case in cases]


def main(quick: bool = False) -> dict[str, Any]:
    equations, found = minimisers(quick)
    others = [m.kind for m in found if m.kind != "atoms"]
    gaps = [m.gap for m in found]
    polished = [
        mfpde.polish(equation, m.measure)
        for equation, m in zip(equations, found, strict=True)
    ]
    quantities = [
        Quantity(f"minimisers that are no atoms, of {len(found)}", len(others), 0, 0),
        Quantity("their largest certified gap", max(gaps), 0.0, 1e-10),
        Quantity(
            "largest |grad F| at their atoms, of the forces' size",
            max(p.relative_residual for p in polished),
            0.0,
            1e-13,
        ),
    ]
    equation, axis, weight = *one_neuron(), 0.3
    kink = axis + np.pi / 2
    circle = mfpde.Circle(256)
    for name, measure in {
        "uniform": mfpde.uniform(circle),
        "atoms": mfpde.Atoms(points_at(np.array([0.1, 2.0, 4.5]))),
    }.items():
        jump = -curvature_jump(equation, measure, kink)
        text = f"jump of F'' at the kink, {name}"
        quantities.append(Quantity(text, jump, weight, 1e-3, relative=True))
    quantities += inverses() + runs(quick)
    figure = mfpde.plot_certificate(found[-1])
    return {"quantities": quantities, "figures": {"minimiser": figure}}


def one_neuron() -> tuple[mfpde.MeanFieldEquation, float]:
    """One neuron of weight 0.3 and its direction's angle."""
    axis = 0.4
    return descent(5.0, mfpde.Perceptron([points_at(np.array(axis))], [0.3])), axis


def runs(quick: bool) -> list[Quantity]:
    """Densities in descent with three neurons that leave no part of S^1 at rest."""
    quantities = []
    neurons = mfpde.Perceptron(
        points_at(0.2 + 2 * np.pi * np.arange(3) / 3), [-0.5, -0.4, -0.3]
    )
    for beta in (5.0,) if quick else (2.0, 5.0, 10.0, 25.0):
        equation = descent(beta, neurons)
        start = mfpde.uniform(mfpde.Circle(256 if quick else 512))
        run = mfpde.solve(
            equation, start, t_end=2000.0, save_at=[2000.0], atoms="exact"
        )
        rest = mfpde.polish(equation, run.final.atoms)
        name = f"run from uniform, three neurons, beta = {beta:g}, t = 2000: "
        quantities += [
            # Atoms go on alone once the density holds less than 1e-7.
            Quantity(
                f"{name}mass of the density", run.final.density.total_mass, 0, 1e-7
            ),
            Quantity(f"{name}distance to a stationary state", rest.moved, 0.0, 1e-5),
        ]
    return quantities


def inverses() -> list[Quantity]:
    """Whether eq. (5.1) gives a density with constant F, for ReLU and for linear."""
    circle, rows = mfpde.Circle(512), points_at(np.array([0.4, 2.0]))
    quantities = []
    for name, expected in (("relu", 0), ("linear", 1)):
        neurons = mfpde.Perceptron(rows, [0.01, -0.007], name)
        inverse = theory.density_with_potential(
            circle, 5.0, lambda x, n=neurons: -n.value(x), total_mass=1.0
        )
        text = f"densities with constant F, {name}"
        quantities.append(Quantity(text, int(inverse.density is not None), expected, 0))
    return quantities
