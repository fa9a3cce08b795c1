"""Theorem 3.5, Corollary 3.6, Lemma 5.3: how much mass a cluster of a stable state can hold."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

import mfpde
from mfpde import theory
from mfpde.plotting.palette import ATOM, MUTED
from validation.circle_cases import angles_of, atomic_hessian, curvature, points_at
from validation.claim import (
    Claim,
    Findings,
    Quantity,
    at_least,
    at_most,
    equal,
    mark,
    vanishes,
)
from validation.drawing import COLOURS, panels
from validation.stable_states import descent, weak_neurons
from validation.theorems.witness import residual

LIMIT = 16 / (16 + 3 * np.exp(11 / 8))
INWARD = 0.375 * np.exp(-0.125)
OUTWARD = 2 * np.exp(-1.5)
"""Of K''/beta in units of the kernel's peak, eqs. (5.5) at eps = 1/2 and (5.6)."""
BETAS, COUNTED_BETAS = (1.0, 5.0, 40.0), (1.0, 9.0, 40.0)
PAIR_BETA, PAIRS = 0.8, {0.0: 0.27, 0.08: 0.33, 0.16: 0.39}
"""Where a circle holds a heavy pair and two more atoms, which keep each other at rest.

Weights -w of one neuron, and masses of the pair: with some hundredths more it is too wide.
"""


@Claim(
    title="Anti-concentration of stable states in descent",
    source="Theorem 3.5, eqs. (3.2) and (3.3); Corollary 3.6; Lemma 5.3",
    statement=(
        "d = 2, mu atomic and second-order, S a cluster of two or more atoms pairwise within "
        "theta_beta/2, theta_beta the first zero of K'': mu(S) <= M = (4 + 2 e^(3/2) C)/(4 + "
        "(3/4) e^(11/8)), C = C_theta e^-beta for the kernel exp(beta x.y); 16/(16 + 3 e^(11/8)) "
        "= 0.574 as C -> 0. Hence N_m <= max(1, M/m) sum_k ceil(l_k/(theta_beta/2)) atoms of mass "
        "m on arcs of lengths l_k. (The printed (3.2), (3.3) and threshold are not in the text "
        "known to us: these constants follow from its argument and from the authors' code, "
        "repository antonioalvarezl/2026-MLP-Attention-Energy. Sharper ones are derived here.)"
    ),
    condition=(
        "C < {threshold:.3f}. With the shifted kernel, which the authors' simulations use, "
        "C = C_theta without e^-beta: {simulated:.2g} at the weights of seed 777, where there "
        "is no bound; at weights of that size there is a stable pair of mass {heavy:.2g} "
        "within half of theta_beta, above the line at {limit:.3f}. Nor does the corollary say "
        "more than N_m <= 1/m, which holds for any probability, where the support needs more "
        "than one arc of length half of theta_beta: it is then at least {least.expected:.3g}/m"
    ),
)
def theorem_3_5(quick: bool = False) -> Findings:
    yield from mark(formulas(), subject="formula")
    yield from mark([derived_bounds(quick)], subject="formula")
    yield from heavy_pairs()
    heavy = shifted_pair()
    yield heavy
    figure, (ax,) = panels(1, width=5)
    draw(ax, heavy.measured)
    yield "bound", figure


def formulas() -> Findings:
    """Constants of the kernel and the bounds; where there are none, and where they are empty."""
    shown, angles = {"shows": "condition"}, np.linspace(0, np.pi, 200_001)
    inside, anywhere = [], []
    for beta in (0.6, *BETAS, 1000.0):
        within = np.linspace(0, theory.concavity_angle(beta) / 2, 4001)
        inside.append(curvature(beta, within).max())
        anywhere.append(curvature(beta, angles).max())
    yield at_most("largest K''/beta within theta_beta/2", max(inside), -INWARD)
    yield at_most("largest K''/beta anywhere", max(anywhere), OUTWARD, 1e-12)
    alone = theory.anti_concentration_bound(descent(25.0)).published
    name = "bound without perceptron, shifted kernel"
    yield equal(name, alone, LIMIT, 1e-12, key="limit", **shown)
    low, high = 0.0, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        bound = theory.anti_concentration_bound(descent(5.0, pulled_by(middle / 2)))
        low, high = (low, middle) if bound.published is None else (middle, high)
    name = "largest C with a bound: (3/8) e^(-1/8)"
    yield equal(name, low, INWARD, 2e-9, key="threshold", **shown)
    simulated = 2 * np.abs(mfpde.Perceptron.random(2, 2, seed=777).weights).sum()
    name = "C_theta of the simulations on S^1 (shifted kernel)"
    yield at_least(name, simulated, INWARD, key="simulated", **shown)
    masses, arcs = (0.01, 0.02, 0.1, 0.3, LIMIT), ([2 * np.pi], [0.7, 1.9], [0.2] * 3)
    # Rounding down takes away less than one.
    products = [
        (theory.cluster_count_bound(descent(beta), mass, arcs=lengths) + 1) * mass
        for beta, mass, lengths in product(COUNTED_BETAS, masses, arcs)
        if sum(np.ceil(2 * np.array(lengths) / theory.concavity_angle(beta))) > 1
    ]
    name = "least (N + 1) m of the package, more than one window"
    yield at_least(name, min(products), 2 * LIMIT, key="least", **shown)


def pulled_by(weight: float) -> mfpde.Perceptron:
    """One ReLU neuron of weight -w at the angle 0."""
    return mfpde.Perceptron([[1.0, 0.0]], [-weight])


def least_curvature(beta: float, samples: int) -> tuple[float, int]:
    """Largest of the smallest Hessian eigenvalues of clusters just above the sharper bound.

    With it the number of those for which there is a bound.  Half of them are pairs as far apart
    as they may be, with all else where K'' is largest.
    """
    generator, found = np.random.default_rng(0), []
    angles = np.linspace(0, np.pi, 200_001)
    steepest = angles[np.argmax(curvature(beta, angles))]
    for k in range(samples):
        neurons = weak_neurons(0.05 * generator.standard_normal(3) * (k > 0))
        bound = theory.anti_concentration_bound(descent(beta, neurons))
        if bound.derived is None:
            continue
        mass = min(bound.derived + 1e-3, 0.999)
        if k % 2:
            count = int(generator.integers(2, 6))
            inside = generator.uniform(0, bound.diameter, count)
            outside = generator.uniform(0, 2 * np.pi, 4)
            shares = generator.dirichlet(3 * np.ones(count))
        else:
            inside = bound.diameter * np.array([-0.5, 0.5])
            outside = steepest * np.array([-1.0, 1.0, -1.0, 1.0])
            shares = np.full(2, 0.5)
        masses = np.concatenate([mass * shares, np.full(4, (1 - mass) / 4)])
        atoms = np.concatenate([inside, outside]), masses
        found.append(np.linalg.eigvalsh(atomic_hessian(beta, atoms, neurons))[0])
    return float(max(found)), len(found)


def derived_bounds(quick: bool) -> Quantity:
    """The sharper bounds: nothing above them is stable."""
    samples = 60 if quick else 2000
    worst, tries = np.array([least_curvature(beta, samples) for beta in BETAS]).T
    text = "derived here, three beta: largest least Hess of clusters above the bound"
    return at_most(text, worst.max(), 0.0, tries=int(tries.sum()))


def heavy_pairs() -> Findings:
    """Stable states of a pair of mass M, d apart, and two atoms at angles +-y.

    Whether they are at rest, stable and the pair a cluster is judged by formulas that the
    package does not share.
    """
    widest = theory.concavity_angle(PAIR_BETA) / 2
    pulls, least, distances, shares = [], [], [], []
    for weight, mass in PAIRS.items():
        neuron = pulled_by(weight)
        equation = descent(PAIR_BETA, neuron)
        start = points_at(np.array([-widest / 2, widest / 2, -2.05, 2.05]))
        masses = np.array([mass, mass, 1 - mass, 1 - mass]) / 2
        atoms = mfpde.polish(equation, mfpde.Atoms(start, masses), max_move=0.3).atoms
        pulls.append(residual(equation, atoms))
        at = angles_of(atoms.points)
        hessian = atomic_hessian(PAIR_BETA, (at, atoms.masses), neuron)
        least.append(np.linalg.eigvalsh(hessian)[0])
        distances.append((at[1] - at[0]) / widest)
        bound = theory.anti_concentration_bound(equation)
        shares.append([mass / bound.published, mass / bound.derived])
    name = f"pairs of masses {', '.join(map(str, PAIRS.values()))}, beta = 0.8: "
    yield vanishes(f"{name}largest |grad F|, of the forces", pulls, 1e-13)
    # Without the neuron all may turn at no cost: an eigenvalue 0.
    yield at_least(f"{name}least eigenvalue of Hess E", min(least), 0.0, 1e-9)
    yield at_most(f"{name}largest distance over theta_beta/2", max(distances), 1.0)
    published, derived = np.array(shares).T
    text = f"{name}largest share of (3.3)"
    yield at_most(text, published.max(), 1.0, tries=len(PAIRS))
    yield at_most(f"{name}largest share of the sharper bound", derived.max(), 1.0)
    yield at_least(f"{name}least share of the sharper bound", derived.min(), 0.7)


def shifted_pair() -> Quantity:
    """Two atoms of mass 1/2 beside one ReLU neuron: a stable cluster of mass 1.

    Half of their distance is t with e^{beta (cos 2t - 1)} = w; Newton's method starts from
    1 % beside it.  The mass is 0 if they are no stable cluster.
    """
    beta, weight = 25.0, 0.9
    exact = float(np.arccos(1 + np.log(weight) / beta) / 2)
    equation = descent(beta, pulled_by(weight))
    near = points_at(1.01 * exact * np.array([-1, 1]))
    end = mfpde.polish(equation, mfpde.Atoms(near))
    distance = float(np.abs(np.diff(angles_of(end.atoms.points)))[0])
    is_at_rest = residual(equation, end.atoms) <= 1e-13
    is_stable = is_at_rest and end.hessian_eigenvalues.min() > 0
    is_cluster = is_stable and distance <= theory.concavity_angle(beta) / 2
    mass = end.atoms.masses.sum() if is_cluster else 0.0
    text = "shifted kernel, |w| = 0.9, beta = 25: mass of the stable pair within theta_beta/2"
    return at_least(text, mass, LIMIT, key="heavy", shows="condition")


def draw(ax: Any, heavy: float) -> None:
    """The bounds over C, stable pairs at their C, and the pair beyond."""
    constants = np.linspace(0, INWARD, 100)
    printed = (4 + 2 * np.exp(1.5) * constants) / (4 + 0.75 * np.exp(11 / 8))
    ax.plot(constants, printed, color=COLOURS[0], label="(3.3)")
    at_pairs = theory.kernel_curvature(PAIR_BETA)
    # |V''| is at most half of C_theta.
    sharper = (at_pairs.outward + constants / 2) / (at_pairs.inward + at_pairs.outward)
    ax.plot(constants, sharper, "--", color=COLOURS[0], label="derived here, β = 0.8")
    ax.axvspan(INWARD, 2.0, color="0.9", zorder=0)
    ax.text((INWARD + 2) / 2, 0.1, "no bound", ha="center", color=MUTED)
    ax.axhline(LIMIT, color=MUTED, ls=":", lw=0.8, label="0.574")
    pairs = {"color": ATOM, "ms": 4, "label": "stable pairs, β = 0.8"}
    ax.plot(2 * np.array(list(PAIRS)), PAIRS.values(), "o", **pairs)
    ax.plot([1.8], [heavy], "s", color=ATOM, label="stable pair, |w| = 0.9, β = 25")
    ax.set(xlabel="C (shifted kernel)", ylabel="mass of a cluster", xlim=(-0.05, 2))
    ax.set_ylim(0, 1.08)
    ax.legend(fontsize=7, loc="center right", bbox_to_anchor=(1.0, 0.33))
