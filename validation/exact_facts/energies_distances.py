"""Energies and Wasserstein distances of uniform and one atom; rotations change neither."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.integrate import quad, simpson
from scipy.special import ive

import mfpde
from validation import independent
from validation.claim import Claim, Findings, Quantity, equal, mark, vanishes
from validation.exact_facts.runs import ascent, descent

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


def compare_formulas() -> Iterator[Quantity]:
    """Energies, distances, and distances after a rotation."""
    grids = {2: mfpde.Circle(1024), 3: mfpde.Sphere(64)}
    for beta in (0.5, 5.0, 50.0):
        equation = ascent(mfpde.Attention(beta))
        on_sphere = (1 - np.exp(-2 * beta)) / (4 * beta**2)
        for d, exact in ((2, ive(0, beta) / (2 * beta)), (3, on_sphere)):
            energy, name = equation.energy(mfpde.uniform(grids[d])), f"S^{d - 1}"
            text = f"E(uniform) on {name}, beta = {beta:g}"
            yield equal(text, energy, exact, 1e-12, relative=True)
        energy = equation.energy(mfpde.Atoms([[0.0, 0.6, 0.8]]))
        text = f"E(atom), beta = {beta:g}"
        yield equal(text, energy, 1 / (2 * beta), 1e-14, relative=True)
    generator = np.random.default_rng(7)
    for d, grid in grids.items():
        uniform, atom = mfpde.uniform(grid), mfpde.Atoms(np.eye(1, d))
        points = generator.standard_normal((2, 40, d))
        points /= np.linalg.norm(points, axis=-1, keepdims=True)
        turn = np.linalg.qr(generator.standard_normal((d, d)))[0]
        for order in (1, 2):
            distance = mfpde.wasserstein(uniform, atom, order=order)
            # Cells at their centres: the midpoint rule, and exact arcs on the circle.
            allowed = 1e-5 if d == 2 else grid.spacing**2 / 24
            name = f"W{order} of uniform to an atom on S^{d - 1}"
            yield equal(name, distance, distance_to_atom(d, order), allowed)
            here, there = (
                mfpde.wasserstein(*map(mfpde.Atoms, pair), order=order)
                for pair in (points, points @ turn.T)
            )
            name = f"W{order} on S^{d - 1} after a rotation of both"
            yield equal(name, there, here, 1e-9, relative=True)


@CLAIM
def main(_quick: bool = False) -> Findings:
    yield from mark(compare_formulas(), subject="formula")
    neurons = mfpde.Perceptron(DIRECTIONS, WEIGHTS, "gelu")
    equation = descent(mfpde.Attention(3.0), neurons)
    start, times = mfpde.uniform(mfpde.Circle(512)), np.linspace(0, 2, 33)
    run = mfpde.solve(equation, start, t_end=2.0, save_at=times, rtol=1e-7)
    problem = independent.problem_of(equation)
    states = [independent.cells_of(state) for state in run.states]
    energies = [independent.energy(problem, *state) for state in states]
    pulls = [independent.gradient(problem, *state, at=state[0]) for state in states]
    lost = simpson(
        [m @ (v**2).sum(axis=1) for (_, m), v in zip(states, pulls, strict=True)],
        x=run.times,
    )
    found = np.asarray(run.energies)
    name = "S^1, GeLU, beta = 3, descent until t = 2: "
    # A density that is smooth on its cells: midpoint sums are exact to rounding.
    text = f"{name}largest difference of E from that of the state"
    yield vanishes(text, found - energies, 1e-12)
    # Simpson's rule over 32 pieces: relative error of order (1/16)^4 / 180.
    text = f"{name}fall of E over what is dissipated"
    yield equal(text, (found[0] - found[-1]) / lost, 1.0, 1e-6)
