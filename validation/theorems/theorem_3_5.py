"""Theorem 3.5: how much mass a cluster of a stable state can hold; where the bound is empty."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from scipy.optimize import brentq

import mfpde
from mfpde import theory
from mfpde.plotting.palette import ATOM, MUTED
from validation.circle_cases import atomic_hessian, curvature
from validation.claim import Claim, Findings, at_least, at_most, equal, mark, vanishes
from validation.drawing import COLOURS, panels
from validation.stable_states import descent, weak_neurons
from validation.theorems.heavy_pairs import (
    WIDEST,
    pair_by_newton,
    pulled_by,
    rows_of_shifted_pair,
)

CLAIM = Claim(
    title="Anti-concentration of stable states in descent",
    source="Theorem 3.5, eqs. (3.2) and (3.3)",
    statement=(
        "d = 2, mu atomic and second-order, S a cluster of two or more atoms pairwise within "
        "theta_beta/2: mu(S) <= (4 + 2 e^(3/2) C)/(4 + (3/4) e^(11/8)), C = C_theta e^-beta "
        "for the kernel exp(beta x.y); 16/(16 + 3 e^(11/8)) = 0.574 as C -> 0. (The printed "
        "(3.2), (3.3) and threshold are not in the text known to us: these constants follow "
        "from its argument and from the authors' code, repository "
        "antonioalvarezl/2026-MLP-Attention-Energy. Sharper ones are derived here.)"
    ),
    condition=(
        "C < {threshold:.3f}. With the shifted kernel, which the authors' simulations use, "
        "C = C_theta without e^-beta: {simulated:.2g} at the weights of seed 777, where there "
        "is no bound; at weights of that size there is a stable pair of mass {heavy:.2g} "
        "within half of theta_beta, above the line at {limit:.3f}"
    ),
)
LIMIT = 16 / (16 + 3 * np.exp(11 / 8))
INWARD = 0.375 * np.exp(-0.125)
BETAS = (1.0, 5.0, 40.0)
PAIR_BETA, PAIR_WEIGHTS = 0.8, (0.0, 0.08, 0.16)
"""Where a circle holds a heavy pair and two more atoms, which keep each other at rest."""
ANGLES = np.linspace(0, np.pi, 200_001)


def printed_bound(constant: float) -> float:
    """Eq. (3.3) with C."""
    return float((4 + 2 * np.exp(1.5) * constant) / (4 + 0.75 * np.exp(11 / 8)))


@CLAIM
def main(quick: bool = False) -> Findings:
    yield from mark(formulas(), subject="formula")
    yield from mark(derived_bounds(quick), subject="formula")
    weights = PAIR_WEIGHTS[::2] if quick else PAIR_WEIGHTS
    distances, masses = np.array([pair_by_newton(PAIR_BETA, w) for w in weights]).T
    bounds = [
        theory.anti_concentration_bound(descent(PAIR_BETA, pulled_by(w)))
        for w in weights
    ]
    published = np.array([bound.published for bound in bounds], dtype=float)
    derived = np.array([bound.derived for bound in bounds], dtype=float)
    name = f"stable pairs, beta = {PAIR_BETA:g}, {len(weights)} weights: "
    # At masses where the formulas have them so far apart.
    text = f"{name}distance over theta_beta/2 less {WIDEST}"
    yield vanishes(text, distances - WIDEST, 1e-9)
    shares = masses / published
    yield at_most(
        f"{name}largest mass over (3.3)", shares.max(), 1.0, tries=len(weights)
    )
    shares = masses / derived
    yield at_most(f"{name}largest mass over the sharper bound", shares.max(), 1.0)
    yield at_least(f"{name}least mass over the sharper bound", shares.min(), 0.7)
    heavy = rows_of_shifted_pair(LIMIT)
    yield from heavy
    figure, (ax,) = panels(1, width=5)
    draw(ax, 2 * np.array(weights), masses, heavy[-1].measured)
    yield "bound", figure


def formulas() -> Findings:
    """The package's bound against eq. (3.3), in both conventions, and where there is none."""
    bound_of = theory.anti_concentration_bound
    weights, beta = np.array([0.04, -0.02]), 5.0
    constant = 2 * float(np.abs(weights).sum())
    for kernel, factor in (("shifted", 1.0), ("unshifted", np.exp(beta))):
        shown = {"key": "limit", "shows": "condition"} if factor == 1 else {}
        alone = bound_of(descent(25.0, kernel=kernel)).published
        name = f"bound without perceptron, {kernel} kernel"
        yield equal(name, alone, LIMIT, 1e-12, **shown)
        neurons = mfpde.Perceptron(np.eye(2), factor * weights)
        found = bound_of(descent(beta, neurons, kernel=kernel)).published
        name = f"bound at C = {constant:.2g}, {kernel} kernel"
        yield equal(name, found, printed_bound(constant), 1e-12)
    low, high = 0.0, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        has_bound = bound_of(descent(beta, pulled_by(middle / 2))).published is not None
        low, high = (middle, high) if has_bound else (low, middle)
    name = "largest C with a bound: (3/8) e^(-1/8)"
    yield equal(name, low, INWARD, 2e-9, key="threshold", shows="condition")
    simulated = 2 * np.abs(mfpde.Perceptron.random(2, 2, seed=777).weights).sum()
    name = "C_theta of the simulations on S^1 (shifted kernel)"
    yield at_least(name, simulated, INWARD, key="simulated", shows="condition")


def least_curvature(beta: float, samples: int) -> tuple[float, int]:
    """Largest of the smallest Hessian eigenvalues of clusters just above the sharper bound.

    With it the number of those for which there is a bound.  Half of them are pairs as far apart
    as they may be, with all else where K'' is largest.
    """
    generator, found = np.random.default_rng(0), []
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
            outside = steepest_angle(beta) * np.array([-1.0, 1.0, -1.0, 1.0])
            shares = np.full(2, 0.5)
        masses = np.concatenate([mass * shares, np.full(4, (1 - mass) / 4)])
        atoms = np.concatenate([inside, outside]), masses
        found.append(np.linalg.eigvalsh(atomic_hessian(beta, atoms, neurons))[0])
    return float(max(found)), len(found)


@cache
def steepest_angle(beta: float) -> float:
    """Where K'' is largest."""
    return float(ANGLES[np.argmax(curvature(beta, ANGLES))])


def marginal_pair(beta: float) -> float:
    """Largest mass of a pair theta_beta/2 apart whose distance is a stable direction.

    All else is where K'' at the pair is largest: Hess along u = (1, -1) is
    M K''(d) + (1 - M) mean K'' of the others.
    """
    distance = theory.concavity_angle(beta) / 2
    one, other = (curvature(beta, ANGLES + side * distance / 2) for side in (-1, 1))
    around, inside = (one + other).max() / 2, float(curvature(beta, distance))
    return float(brentq(lambda m: m * inside + (1 - m) * around, 0.0, 1.0))


def derived_bounds(quick: bool) -> Findings:
    """The sharper bounds: nothing above them is stable, and they are nearly reached."""
    bounds = [theory.anti_concentration_bound(descent(beta)) for beta in BETAS]
    bends = [
        bound.derived_single_atom * curvature(beta, 0.0)
        + (1 - bound.derived_single_atom) * curvature(beta, steepest_angle(beta))
        for beta, bound in zip(BETAS, bounds, strict=True)
    ]
    name = "derived here, three beta: "
    text = f"{name}F'' of an atom at its bound, all else where K'' is largest"
    yield vanishes(text, bends, 1e-9)
    worst, tries = zip(
        *(least_curvature(beta, 60 if quick else 2000) for beta in BETAS), strict=True
    )
    text = f"{name}largest least Hess of clusters 0.001 above the bound"
    yield at_most(text, max(worst), 0.0, tries=sum(tries))
    shares = [
        marginal_pair(beta) / bound.derived
        for beta, bound in zip(BETAS, bounds, strict=True)
    ]
    yield at_least(f"{name}marginal pair, least share of the bound", min(shares), 0.8)
    yield at_most(f"{name}marginal pair, largest share of the bound", max(shares), 1.0)
    # As beta -> inf: C_1 = (3/4) e^(-1/8), and 1 for one atom, each within 1/beta.
    beta, outward = 1000.0, 2 * np.exp(-1.5)
    bound = theory.anti_concentration_bound(descent(beta))
    for name, value, inward in (
        ("cluster", bound.derived, 2 * INWARD),
        ("single atom", bound.derived_single_atom, 1.0),
    ):
        text = f"derived here, beta = 1000: bound on a {name}"
        yield equal(text, value, outward / (inward + outward), 1 / beta)


def draw(ax: Any, of_pairs: Any, masses: Any, heavy: float) -> None:
    """The bounds over C, the heaviest stable pairs at their C, and the pair beyond."""
    constants = np.linspace(0, INWARD, 100)
    printed = [printed_bound(c) for c in constants]
    ax.plot(constants, printed, color=COLOURS[0], label="(3.3)")
    at_pairs = theory.kernel_curvature(PAIR_BETA)
    # |V''| is at most half of C_theta.
    sharper = (at_pairs.outward + constants / 2) / (at_pairs.inward + at_pairs.outward)
    ax.plot(constants, sharper, "--", color=COLOURS[0], label="derived here, β = 0.8")
    ax.axvspan(INWARD, 2.0, color="0.9", zorder=0)
    ax.text((INWARD + 2) / 2, 0.1, "no bound", ha="center", color=MUTED)
    ax.axhline(LIMIT, color=MUTED, ls=":", lw=0.8, label="0.574")
    ax.plot(of_pairs, masses, "o", color=ATOM, ms=4, label="stable pairs, β = 0.8")
    ax.plot([1.8], [heavy], "s", color=ATOM, label="stable pair, |w| = 0.9, β = 25")
    ax.set(xlabel="C (shifted kernel)", ylabel="mass of a cluster", xlim=(-0.05, 2))
    ax.set_ylim(0, 1.08)
    ax.legend(fontsize=7, loc="center right", bbox_to_anchor=(1.0, 0.33))
