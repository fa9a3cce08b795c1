"""Theorem 3.5: how much mass a cluster of a stable state can hold; where the bound is empty."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq

import mfpde
from mfpde import theory
from mfpde.plotting.palette import ATOM, MUTED
from validation.circle_cases import atomic_hessian, curvature
from validation.claim import Claim, Quantity
from validation.drawing import COLOURS, panels
from validation.stable_states import descent, weak_neurons
from validation.theorems.heavy_pairs import (
    WIDEST,
    pair_by_newton,
    shifted_pair,
    shifted_pair_rows,
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


def printed_bound(constant: float) -> float:
    """Eq. (3.3) with C."""
    return float((4 + 2 * np.exp(1.5) * constant) / (4 + 0.75 * np.exp(11 / 8)))


def formulas() -> list[Quantity]:
    """The package's bound against eq. (3.3), in both conventions."""
    quantities = []
    for kernel in ("shifted", "unshifted"):
        bound = theory.anti_concentration_bound(descent(25.0, kernel=kernel))
        name = f"bound without perceptron, {kernel} kernel"
        is_key = kernel == "shifted"
        quantities.append(
            Quantity(
                name,
                bound.published,
                LIMIT,
                1e-12,
                key="limit" if is_key else "",
                subject="formula",
                shows="condition" if is_key else "claim",
            )
        )
    weights, beta = np.array([0.04, -0.02]), 5.0
    constant = 2 * float(np.abs(weights).sum())
    for kernel, factor in (("shifted", 1.0), ("unshifted", np.exp(beta))):
        neurons = mfpde.Perceptron(np.eye(2), factor * weights)
        bound = theory.anti_concentration_bound(descent(beta, neurons, kernel=kernel))
        name = f"bound at C = {constant:.2g}, {kernel} kernel"
        exact = printed_bound(constant)
        quantities.append(
            Quantity(name, bound.published, exact, 1e-12, subject="formula")
        )

    def has_bound(constant: float) -> bool:
        neuron = mfpde.Perceptron([[1.0, 0.0]], [constant / 2])
        bound = theory.anti_concentration_bound(descent(beta, neuron))
        return bound.published is not None

    low, high = 0.0, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if has_bound(middle) else (low, middle)
    simulated = mfpde.Perceptron.random(2, 2, seed=777)
    return [
        *quantities,
        Quantity(
            "largest C with a bound: (3/8) e^(-1/8)",
            low,
            INWARD,
            2e-9,
            key="threshold",
            subject="formula",
            shows="condition",
        ),
        Quantity(
            "C_theta of the simulations on S^1 (shifted kernel)",
            2 * float(np.abs(simulated.weights).sum()),
            INWARD,
            0.0,
            "at least",
            key="simulated",
            subject="formula",
            shows="condition",
        ),
    ]


def least_curvature(beta: float, samples: int) -> tuple[float, int]:
    """Largest of the smallest Hessian eigenvalues of clusters just above the sharper bound.

    With it the number of those for which there is a bound.  Half of them are pairs as far apart
    as they may be, with all else where K'' is largest.
    """
    generator = np.random.default_rng(0)
    worst, tries, steepest = -np.inf, 0, steepest_angle(beta)
    for k in range(samples):
        neurons = weak_neurons(0.05 * generator.standard_normal(3) * (k > 0))
        bound = theory.anti_concentration_bound(descent(beta, neurons))
        if bound.derived is None:
            continue
        tries += 1
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
        hessian = atomic_hessian(
            beta, (np.concatenate([inside, outside]), masses), neurons
        )
        worst = max(worst, float(np.linalg.eigvalsh(hessian)[0]))
    return worst, tries


def steepest_angle(beta: float) -> float:
    """Where K'' is largest."""
    angles = np.linspace(0, np.pi, 200_001)
    return float(angles[np.argmax(curvature(beta, angles))])


def marginal_pair(beta: float) -> float:
    """Largest mass of a pair theta_beta/2 apart whose distance is a stable direction.

    All else is where K'' at the pair is largest: Hess along u = (1, -1) is
    M K''(d) + (1 - M) mean K'' of the others.
    """
    distance = theory.concavity_angle(beta) / 2
    angles = np.linspace(0, np.pi, 200_001)
    one, other = angles - distance / 2, angles + distance / 2
    around = (curvature(beta, one) + curvature(beta, other)).max() / 2
    inside = float(curvature(beta, distance))
    return float(brentq(lambda m: m * inside + (1 - m) * around, 0.0, 1.0))


def derived_bounds(quick: bool) -> list[Quantity]:
    """The sharper bounds: nothing above them is stable, and they are nearly reached."""
    quantities = []
    for beta in BETAS:
        bound = theory.anti_concentration_bound(descent(beta))
        steepest = curvature(beta, steepest_angle(beta))
        single = bound.derived_single_atom
        bend = single * curvature(beta, 0.0) + (1 - single) * steepest
        worst, tries = least_curvature(beta, 60 if quick else 2000)
        share = marginal_pair(beta) / bound.derived
        name = f"derived here, beta = {beta:g}: "
        quantities += [
            Quantity(
                f"{name}F'' of an atom at its bound, all else where K'' is largest",
                float(bend),
                0.0,
                1e-9,
                subject="formula",
            ),
            Quantity(
                f"{name}largest least Hess of clusters 0.001 above the bound",
                worst,
                0.0,
                0.0,
                "at most",
                subject="formula",
                tries=tries,
            ),
            Quantity(
                f"{name}marginal pair, share of the bound, above",
                share,
                0.8,
                0.0,
                "at least",
                subject="formula",
            ),
            Quantity(
                f"{name}marginal pair, share of the bound, below",
                share,
                1.0,
                0.0,
                "at most",
                subject="formula",
            ),
        ]
    return [*quantities, *sharper_limits()]


def sharper_limits() -> list[Quantity]:
    """The sharper bounds as beta -> inf: C_1 = (3/4) e^(-1/8), and 1 for one atom."""
    beta, outward = 1000.0, 2 * np.exp(-1.5)
    bound = theory.anti_concentration_bound(descent(beta))
    return [
        # Both constants come within 1/beta of their limits.
        Quantity(
            f"derived here, beta = 1000: bound on a {name}",
            value,
            outward / (inward + outward),
            1 / beta,
            subject="formula",
        )
        for name, value, inward in (
            ("cluster", bound.derived, 2 * INWARD),
            ("single atom", bound.derived_single_atom, 1.0),
        )
    ]


def heaviest_pairs(quick: bool) -> tuple[list[Quantity], list[tuple[float, float]]]:
    """Stable states of two atoms within theta_beta/2 and two more: how heavy the pair gets."""
    quantities, found = [], []
    for weight in PAIR_WEIGHTS[::2] if quick else PAIR_WEIGHTS:
        distance, mass = pair_by_newton(PAIR_BETA, weight)
        neuron = mfpde.Perceptron([[1.0, 0.0]], [-weight])
        bound = theory.anti_concentration_bound(descent(PAIR_BETA, neuron))
        found.append((2 * weight, mass))
        name = f"stable pair, beta = {PAIR_BETA:g}, C = {2 * weight:.2g}: "
        quantities += [
            # At a mass where the formulas have it so far apart.
            Quantity(f"{name}distance over theta_beta/2", distance, WIDEST, 1e-9),
            Quantity(
                f"{name}mass, at most (3.3)",
                mass,
                bound.published,
                0,
                "at most",
                tries=1,
            ),
            Quantity(
                f"{name}mass, at most the sharper bound",
                mass,
                bound.derived,
                0,
                "at most",
            ),
            Quantity(
                f"{name}mass, at least 0.7 of the sharper bound",
                mass,
                0.7 * bound.derived,
                0.0,
                "at least",
            ),
        ]
    return quantities, found


def main(quick: bool = False) -> dict[str, Any]:
    pairs, found = heaviest_pairs(quick)
    mass = shifted_pair(25.0, 0.9).mass
    quantities = [
        *formulas(),
        *derived_bounds(quick),
        *pairs,
        *shifted_pair_rows(LIMIT),
    ]
    figure, (ax,) = panels(1, width=5)
    draw(ax, found, mass)
    return {"quantities": quantities, "figures": {"bound": figure}}


def draw(ax: Any, found: list[tuple[float, float]], mass: float) -> None:
    """The bounds over C, the heaviest stable pairs, and the pair beyond."""
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
    ax.plot(*np.array(found).T, "o", color=ATOM, ms=4, label="stable pairs, β = 0.8")
    ax.plot([1.8], [mass], "s", color=ATOM, label="stable pair, |w| = 0.9, β = 25")
    ax.set(xlabel="C (shifted kernel)", ylabel="mass of a cluster", xlim=(-0.05, 2))
    ax.set_ylim(0, 1.08)
    ax.legend(fontsize=7, loc="center right", bbox_to_anchor=(1.0, 0.33))
