"""Theorem 3.5: how much mass a cluster of a stable state can hold; where the bound is empty."""

from __future__ import annotations

from typing import Any

import numpy as np

import mfpde
from mfpde import theory
from validation.circle_cases import atomic_hessian, curvature, points_at
from validation.claim import Claim, Quantity
from validation.drawing import COLOURS, panels
from validation.stable_states import (
    descent,
    heaviest_cluster,
    weak_neurons,
)

CLAIM = Claim(
    title="Anti-concentration of stable states in descent",
    source="Theorem 3.5, eq. (3.3)",
    statement=(
        "d = 2, mu atomic and second-order, S a cluster of two or more atoms pairwise within "
        "theta_beta/2: mu(S) <= (4 + 2 e^(3/2) C)/(4 + (3/4) e^(11/8)), C = C_theta e^-beta "
        "for the kernel exp(beta x.y); 16/(16 + 3 e^(11/8)) = 0.574 as C -> 0."
    ),
    condition=(
        "C < (3/8) e^(-1/8) = 0.331. With the shifted kernel, which the simulations use, "
        "C = C_theta without e^-beta: at the weights of the simulations there is no bound, and "
        "the line at 0.574 does not hold"
    ),
)
LIMIT = 16 / (16 + 3 * np.exp(11 / 8))
INWARD = 0.375 * np.exp(-0.125)


def printed_bound(constant: float) -> float:
    """Eq. (3.3) with C."""
    return float((4 + 2 * np.exp(1.5) * constant) / (4 + 0.75 * np.exp(11 / 8)))


def least_curvature(beta: float, samples: int) -> float:
    """Largest of the smallest Hessian eigenvalues of clusters heavier than the bound."""
    generator = np.random.default_rng(0)
    worst = -np.inf
    for _ in range(samples):
        neurons = weak_neurons(0.05 * generator.standard_normal(3))
        bound = theory.anti_concentration_bound(descent(beta, neurons))
        if bound.published is None:
            continue
        mass = min(bound.published + generator.uniform(1e-3, 0.2), 0.999)
        count = int(generator.integers(2, 6))
        masses = np.concatenate(
            [
                mass * generator.dirichlet(3 * np.ones(count)),
                (1 - mass) * generator.dirichlet(3 * np.ones(4)),
            ]
        )
        angles = np.concatenate(
            [
                generator.uniform(0, bound.diameter, count),
                generator.uniform(0, 2 * np.pi, 4),
            ]
        )
        hessian = atomic_hessian(beta, (angles, masses), neurons)
        worst = max(worst, float(np.linalg.eigvalsh(hessian)[0]))
    return worst


def paper_constant() -> float:
    """C_theta of the simulations on S^1, d neurons of seed 777, ReLU."""
    neurons = mfpde.Perceptron.random(2, 2, seed=777)
    return 2 * float(np.abs(neurons.weights).sum())


def heavy_pair(beta: float, weight: float) -> tuple[mfpde.PolishedAtoms, float]:
    """The two atoms of one ReLU neuron, shifted kernel: one cluster of mass 1."""
    equation = descent(beta, mfpde.Perceptron([[1.0, 0.0]], [-weight]))
    half = float(np.arccos(1 + np.log(weight) / beta) / 2)
    found = mfpde.polish(equation, mfpde.Atoms(points_at(np.array([-half, half]))))
    return found, heaviest_cluster(found.atoms, theory.concavity_angle(beta) / 2)


def marginal_atom(beta: float) -> Quantity:
    """One atom at the derived bound, the others where K'' is largest: F'' = 0 at it."""
    bound = theory.anti_concentration_bound(descent(beta)).derived_single_atom
    angles = np.linspace(0, np.pi, 200_001)
    steepest = curvature(beta, angles).max()
    bend = bound * curvature(beta, 0.0) + (1 - bound) * steepest
    name = f"sharper bound on one atom (derived here), beta = {beta:g}: F'' there"
    return Quantity(name, float(bend), 0.0, 1e-9)


def sharper_limits() -> list[Quantity]:
    """The sharper bounds as beta -> inf: C_1 = (3/4) e^(-1/8), and 1 for one atom."""
    beta, outward = 1000.0, 2 * np.exp(-1.5)
    bound = theory.anti_concentration_bound(descent(beta))
    return [
        # Both constants come within 1/beta of their limits.
        Quantity(
            "sharper bound on a cluster (derived here), beta = 1000",
            bound.derived,
            outward / (2 * INWARD + outward),
            1 / beta,
        ),
        Quantity(
            "sharper bound on one atom (derived here), beta = 1000",
            bound.derived_single_atom,
            outward / (1 + outward),
            1 / beta,
        ),
    ]


def main(quick: bool = False) -> dict[str, Any]:
    quantities = []
    for kernel in ("shifted", "unshifted"):
        bound = theory.anti_concentration_bound(descent(25.0, kernel=kernel))
        name = f"bound without perceptron, {kernel} kernel"
        quantities.append(Quantity(name, bound.published, LIMIT, 1e-12))
    weights, beta = np.array([0.04, -0.02]), 5.0
    scale = np.exp(beta)
    for kernel, factor in (("shifted", 1.0), ("unshifted", scale)):
        neurons = mfpde.Perceptron(np.eye(2), factor * weights)
        bound = theory.anti_concentration_bound(descent(beta, neurons, kernel=kernel))
        exact = printed_bound(2 * np.abs(weights).sum())
        name = f"bound at C = {2 * np.abs(weights).sum():.2g}, {kernel} kernel"
        quantities.append(Quantity(name, bound.published, exact, 1e-12))
    for beta in (3.0, 30.0):
        name = f"clusters above the bound, beta = {beta:g}: largest of their least Hess"
        worst = least_curvature(beta, 60 if quick else 2000)
        quantities.append(Quantity(name, worst, 0.0, 1e-6, "at most"))
    quantities += [marginal_atom(12.0), *sharper_limits()]
    pair, mass = heavy_pair(25.0, 0.9)
    quantities += [
        Quantity(
            "C_theta of the simulations on S^1 (shifted kernel)",
            paper_constant(),
            INWARD,
            0.0,
            "at least",
        ),
        Quantity(
            "shifted, |w| = 0.9, beta = 25: pair is strict", int(pair.is_strict), 1, 0
        ),
        Quantity("its mass within theta_beta/2", mass, LIMIT, 0.0, "at least"),
    ]
    figure, (ax,) = panels(1, width=5)
    draw(ax, mass)
    return {"quantities": quantities, "figures": {"bound": figure}}


STATES = tuple(
    (beta, size, seed)
    for size in (0.0, 0.06, 0.12)
    for beta in (3.0, 12.0, 40.0)
    for seed in (1, 2)
)


def draw(ax: Any, mass: float) -> None:
    """The bounds over C, and the pair beyond."""
    constants = np.linspace(0, INWARD, 100)
    ax.plot(
        constants,
        [printed_bound(c) for c in constants],
        color=COLOURS[1],
        label="(3.3)",
    )
    ax.axvspan(INWARD, 2.0, color="#eeeeee", label="no bound")
    ax.axhline(LIMIT, color=COLOURS[6], ls=":", lw=0.8, label="0.574")
    ax.plot([1.8], [mass], "s", color=COLOURS[2], label="pair, |w| = 0.9, shifted")
    ax.set(xlabel="C", ylabel="mass of a cluster", xlim=(-0.05, 2), ylim=(-0.04, 1.05))
    ax.legend(fontsize=7)
