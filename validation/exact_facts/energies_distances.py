"""Energies and Wasserstein distances of uniform and one atom; rotations change neither."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import quad
from scipy.special import ive

import mfpde
from validation.claim import Claim, Quantity

CLAIM = Claim(
    title="Energies and distances of the uniform measure and one atom",
    source="Definition of E (section 2), shifted kernel; transport to one point",
    statement=(
        "E(uniform) = e^-beta I_0(beta)/(2 beta) on S^1, (1 - e^(-2 beta))/(4 beta^2) on "
        "S^2, E(atom) = 1/(2 beta). All mass goes to the atom: W_p^p = int d(x, a)^p; W is "
        "invariant under rotation of both measures."
    ),
)


def distance_to_atom(dimension: int, order: int) -> float:
    """W_p of uniform on S^(d-1) to an atom by quadrature over the angle."""
    power = dimension - 2
    total = quad(lambda t: np.sin(t) ** power, 0, np.pi)[0]
    moment = quad(lambda t: t**order * np.sin(t) ** power, 0, np.pi, epsabs=1e-13)[0]
    return float((moment / total) ** (1 / order))


def rotated(measure: mfpde.Atoms, turn: np.ndarray) -> mfpde.Atoms:
    """Atoms with their points turned."""
    return mfpde.Atoms(measure.points @ turn.T, measure.masses)


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
            # A cell's mass stands at its centre on S^2: half a cell's diagonal at most.
            allowed = 1e-5 if dimension == 2 else grid.spacing
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
    return {"quantities": quantities, "figures": {}}
