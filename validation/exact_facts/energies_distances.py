"""Energies and Wasserstein distances of uniform and one atom; rotations change neither."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.integrate import quad, simpson
from scipy.special import ive

import mfpde
import mfpde.runs.run
from validation import independent
from validation.claim import Claim, Quantity

CLAIM = Claim(
    title="Energies and distances of the uniform measure and one atom",
    source="Definition of E (section 2), shifted kernel; transport to one point",
    statement=(
        "E(uniform) = e^-beta I_0(beta)/(2 beta) on S^1, (1 - e^(-2 beta))/(4 beta^2) on "
        "S^2, E(atom) = 1/(2 beta). All mass goes to the atom: W_p^p = int d(x, a)^p; W is "
        "invariant under rotation of both measures. Along a run in descent E is that of "
        "the state, and falls at the rate int |v|^2 dmu."
    ),
)
DIRECTIONS, WEIGHTS = np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([0.5, -0.3])


def distance_to_atom(dimension: int, order: int) -> float:
    """W_p of uniform on S^(d-1) to an atom by quadrature over the angle."""
    power = dimension - 2
    total = quad(lambda t: np.sin(t) ** power, 0, np.pi)[0]
    moment = quad(lambda t: t**order * np.sin(t) ** power, 0, np.pi, epsabs=1e-13)[0]
    return float((moment / total) ** (1 / order))


def rotated(measure: mfpde.Atoms, turn: np.ndarray) -> mfpde.Atoms:
    """Atoms with their points turned."""
    return mfpde.Atoms(measure.points @ turn.T, measure.masses)


def run_in_descent(cells: int) -> mfpde.runs.run.Run:
    """GeLU neurons on the circle from uniform until t = 2, 33 saves."""
    neurons = mfpde.Perceptron(DIRECTIONS, WEIGHTS, "gelu")
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(3.0), neurons, direction="descent"
    )
    start = mfpde.uniform(mfpde.Circle(cells))
    times = np.linspace(0.0, 2.0, 33)
    return mfpde.solve(equation, start, t_end=2.0, save_at=times, rtol=1e-7)


def along_a_run(quick: bool) -> list[Quantity]:
    """Energies of a run beside those of its states, and beside what it dissipates."""
    run = run_in_descent(256 if quick else 512)
    problem = independent.problem_of(run.equation)
    energies, dissipated = [], []
    for state in run.states:
        points, masses = independent.cells_of(state)
        energies.append(independent.energy(problem, points, masses))
        pull = independent.gradient(problem, points, masses, at=points)
        dissipated.append(float(masses @ (pull**2).sum(axis=1)))
    found = np.asarray(run.energies)
    lost = simpson(dissipated, x=run.times)
    name = "S^1, GeLU, beta = 3, descent until t = 2: "
    return [
        # A density that is smooth on its cells: midpoint sums are exact to rounding.
        Quantity(
            f"{name}largest difference of E from that of the state",
            float(np.abs(found - energies).max()),
            0.0,
            1e-12,
        ),
        # Simpson's rule over 32 pieces: relative error of order (1/16)^4 / 180.
        Quantity(
            f"{name}fall of E over what is dissipated",
            float((found[0] - found[-1]) / lost),
            1.0,
            1e-6,
        ),
    ]


def main(quick: bool = False) -> dict[str, Any]:
    quantities = []
    circle, sphere = mfpde.Circle(1024), mfpde.Sphere(64)
    for beta in (0.5, 5.0, 50.0):
        equation = mfpde.MeanFieldEquation(mfpde.Attention(beta), direction="ascent")
        exact = {
            "S^1": ive(0, beta) / (2 * beta),
            "S^2": (1 - np.exp(-2 * beta)) / (4 * beta**2),
        }
        for (name, value), grid in zip(exact.items(), (circle, sphere), strict=True):
            energy = equation.energy(mfpde.uniform(grid))
            text = f"E(uniform) on {name}, beta = {beta:g}"
            quantities.append(Quantity(text, energy, value, 1e-12, relative=True))
        atom = mfpde.Atoms([[0.0, 0.6, 0.8]])
        text = f"E(atom), beta = {beta:g}"
        energy = equation.energy(atom)
        quantities.append(Quantity(text, energy, 1 / (2 * beta), 1e-14, relative=True))
    for dimension, grid in ((2, circle), (3, sphere)):
        atom = mfpde.Atoms(np.eye(1, dimension))
        for order in (1, 2):
            report = mfpde.wasserstein_report(mfpde.uniform(grid), atom, order=order)
            exact_distance = distance_to_atom(dimension, order)
            name = f"W{order} of uniform to an atom on S^{dimension - 1}"
            # Cells at their centres: the midpoint rule, and exact arcs on the circle.
            allowed = 1e-5 if dimension == 2 else grid.spacing**2 / 24
            quantities.append(Quantity(name, report.value, exact_distance, allowed))
    generator = np.random.default_rng(7)
    for dimension in (2, 3):
        points = generator.standard_normal((2, 40, dimension))
        points /= np.linalg.norm(points, axis=-1, keepdims=True)
        one, other = mfpde.Atoms(points[0]), mfpde.Atoms(points[1])
        turn = np.linalg.qr(generator.standard_normal((dimension, dimension)))[0]
        for order in (1, 2):
            here = mfpde.wasserstein(one, other, order=order)
            there = mfpde.wasserstein(
                rotated(one, turn), rotated(other, turn), order=order
            )
            name = f"W{order} on S^{dimension - 1} after a rotation of both"
            quantities.append(Quantity(name, there, here, 1e-9, relative=True))
    quantities = [replace(quantity, subject="formula") for quantity in quantities]
    return {"quantities": [*quantities, *along_a_run(quick)], "figures": {}}
