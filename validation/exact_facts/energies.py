"""Energies and distances of uniform and one atom; the two conventions of the kernel."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.integrate import quad, simpson
from scipy.special import ive

import mfpde
from validation import independent
from validation.circle_cases import l1_distance, points_at
from validation.claim import Claim, Findings, Quantity, equal, mark, vanishes
from validation.exact_facts.runs import Array, ascent, descent, integrate, solve_to

DIRECTIONS, WEIGHTS = np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([0.5, -0.3])
BETA = 3.0
CASES: dict[str, tuple[str, float, bool]] = {
    "shifted": ("shifted", 1.0, False),
    "unshifted, rescaled": ("unshifted", np.exp(BETA), False),
    "unshifted at equal weights": ("unshifted", 1.0, False),
    "softmax, shifted": ("shifted", 1.0, True),
    "softmax, unshifted": ("unshifted", 1.0, True),
}
"""Kernel, scale of weights and diffusion, and whether attention is softmax."""


# Energies and distances ----------------------------------------------------------------------


def distance_to_atom(dimension: int, order: int) -> float:
    """W_p of uniform on S^(d-1) to an atom by quadrature over the angle."""
    power = dimension - 2
    total = quad(lambda t: np.sin(t) ** power, 0, np.pi)[0]
    moment = quad(lambda t: t**order * np.sin(t) ** power, 0, np.pi, epsabs=1e-13)[0]
    return float((moment / total) ** (1 / order))


def compare_formulas() -> Iterator[Quantity]:
    """Energies and distances."""
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
    for d, grid in grids.items():
        uniform, atom = mfpde.uniform(grid), mfpde.Atoms(np.eye(1, d))
        for order in (1, 2):
            distance = mfpde.wasserstein(uniform, atom, order=order)
            # Cells at their centres: the midpoint rule, and exact arcs on the circle.
            allowed = 1e-5 if d == 2 else grid.spacing**2 / 24
            name = f"W{order} of uniform to an atom on S^{d - 1}"
            yield equal(name, distance, distance_to_atom(d, order), allowed)


@Claim(
    title="Energies and distances of the uniform measure and one atom",
    source="Definition of E (section 2), shifted kernel; transport to one point",
    statement=(
        "E(uniform) = e^-beta I_0(beta)/(2 beta) on S^1, (1 - e^(-2 beta))/(4 beta^2) on "
        "S^2, E(atom) = 1/(2 beta). All mass goes to the atom: W_p^p = int d(x, a)^p. "
        "Along a run in descent E is that of the state, and falls at the rate int |v|^2 dmu."
    ),
)
def energies_distances(_quick: bool = False) -> Findings:
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


# Conventions ---------------------------------------------------------------------------------


def equation_of(
    kernel: str, scale: float, softmax: bool, *, diffusion: float = 0.0
) -> mfpde.MeanFieldEquation:
    """Weights and diffusion times ``scale``."""
    neurons = mfpde.Perceptron(DIRECTIONS, scale * WEIGHTS, "gelu")
    attention = mfpde.Attention(BETA, softmax, kernel)
    return descent(attention, neurons, diffusion=diffusion * scale)


def moments_of(points: Array, masses: Array) -> Array:
    """Moments 1 to 4."""
    return (points @ [1, 1j]) ** np.arange(1, 5)[:, np.newaxis] @ masses


def moments_by_labels(equation: mfpde.MeanFieldEquation, time: float) -> Array:
    """Moments at ``time`` of 256 labels, moved by ``validation.independent``.

    GeLU neurons keep the flow map smooth, so that equal weights are exact to rounding.
    """
    problem, masses = independent.problem_of(equation), np.full(256, 1 / 256)

    def velocity(angles: Array) -> Array:
        at, along = points_at(angles), points_at(angles + np.pi / 2)
        pull = independent.gradient(problem, at, masses, at=at)
        return np.asarray(problem.sign * (pull * along).sum(axis=1))

    angles = integrate(velocity, 2 * np.pi * np.arange(256) / 256, time)
    return moments_of(points_at(angles), masses)


@Claim(
    title="The two conventions of the kernel",
    source=(
        "Section 2 (unshifted) and the simulations of section 4 (shifted, in the authors' code: "
        "repository antonioalvarezl/2026-MLP-Attention-Energy by Antonio Álvarez-López, Borjan "
        "Geshkovski and Domènec Ruiz-Balet)"
    ),
    statement=(
        "shifted(beta, w, kappa, t) = unshifted(beta, w e^beta, kappa e^beta, t e^-beta), so "
        "that at equal weights they are different equations once there is a perceptron; "
        "softmax is the same under both."
    ),
)
def conventions(_quick: bool = False) -> Findings:
    circle = mfpde.Circle(1024)
    uniform = mfpde.uniform(circle)
    for name, case in CASES.items():
        equation, time = equation_of(*case), 2.0 / case[1]
        end = solve_to(time, equation, uniform, rtol=1e-6)
        found = moments_of(circle.points, end.masses)
        text = f"{name}: moments 1 to 4 against labels moved by independent formulas"
        # Fourth order where the density is smooth: 0.2 h^4 on both grids.
        allowed = 2 * circle.spacing**4
        yield vanishes(text, found - moments_by_labels(equation, time), allowed)
    shifted, rescaled = (
        solve_to(2.0 / case[1], equation_of(*case, diffusion=0.01), uniform, rtol=1e-6)
        for case in (CASES["shifted"], CASES["unshifted, rescaled"])
    )
    text = "with diffusion: L1 difference of shifted and rescaled unshifted"
    yield vanishes(text, l1_distance(shifted, rescaled.values), 1e-10)
