"""Corollary 3.6: how many atoms of a given mass a stable state can have."""

from __future__ import annotations

from itertools import product

import numpy as np

from mfpde import theory
from mfpde.plotting.palette import MUTED
from validation.claim import Claim, Findings, at_least, equal, mark, vanishes
from validation.drawing import COLOURS, panels
from validation.stable_states import descent, weak_neurons
from validation.theorems.theorem_3_5 import INWARD, LIMIT, printed_bound

CLAIM = Claim(
    title="Number of atoms of mass m in a stable state",
    source="Corollary 3.6",
    statement=(
        "N_m <= max(1, M/m) sum_k ceil(l_k/(theta_beta/2)), M the bound (3.3), l_k the arcs "
        "that hold the support; about 4 pi sqrt(beta) max(1, M/m) for the whole circle. (The "
        "printed constants are not in the text known to us; these are what the argument "
        "gives. Formulas are compared: no state can have more than 1/m.)"
    ),
    condition=(
        "M exists, C < {threshold:.3f}. It says no more than N_m <= 1/m, which holds for any "
        "probability, wherever m is at most M and the support needs more than one arc of "
        "length half of theta_beta: it is then at least {least.expected:.3g}/m"
    ),
)
BETAS, MASSES = (1.0, 9.0, 40.0), (0.01, 0.02, 0.1, 0.3, LIMIT)
ARCS = ([2 * np.pi], [0.7, 1.9], [0.2, 0.2, 0.2])
WEIGHTS = np.array([0.05, -0.03, 0.02])
CONSTANT = 2 * 1.1289 * float(np.abs(WEIGHTS).sum())


def counted(beta: float, mass: float, arcs: list[float], constant: float) -> int:
    """The bound once more: windows are laid along each arc, one after the other."""
    root = (np.sqrt(1 + 4 * beta**2) - 1) / (2 * beta)
    window, count = float(np.arccos(root)) / 2, 0
    for length in arcs:
        covered = 0.0
        while covered < length:
            covered += window
            count += 1
    return int(max(1.0, printed_bound(constant) / mass) * count)


@CLAIM
def main(quick: bool = False) -> Findings:
    yield from mark(counts(), subject="formula")
    figure, (ax,) = panels(1, width=5)
    betas = np.linspace(0.6, 50, 200)
    for colour, mass in zip(COLOURS, (0.02, 0.1, 0.6), strict=False):
        bounds = [theory.cluster_count_bound(descent(float(b)), mass) for b in betas]
        ax.semilogy(np.sqrt(betas), bounds, color=colour, label=f"m = {mass:g}")
        ax.axhline(1 / mass, color=colour, ls=":", lw=0.9)
    ax.plot([], [], color=MUTED, ls=":", lw=0.9, label="1/m, any probability")
    ax.set(xlabel="√β", ylabel="atoms of mass m or more", ylim=(1, 3e4))
    ax.set_title("Bound on their number, no perceptron, whole circle")
    ax.legend(loc="upper left", ncols=2)
    yield "counts", figure


def counts() -> Findings:
    """The package's bound against windows that are counted, 1/m, and its limits."""
    products = []
    for arcs in ARCS:
        differences = []
        for beta, mass in product(BETAS, MASSES):
            equation = descent(beta, weak_neurons(WEIGHTS))
            bound = theory.cluster_count_bound(equation, mass, arcs=arcs)
            differences.append(bound - counted(beta, mass, arcs, CONSTANT))
            if counted(beta, 1.0, arcs, 0.0) > 1:
                bare = theory.cluster_count_bound(descent(beta), mass, arcs=arcs)
                # Rounding down takes away less than one.
                products.append((bare + 1) * mass)
        name = f"arcs {arcs[0]:.2g} ({len(arcs)}): bound, largest difference"
        yield vanishes(name, np.array(differences), 0)
    name, shown = (
        "least (N + 1) m of the package, more than one window",
        {"shows": "condition"},
    )
    yield at_least(name, min(products), 2 * LIMIT, key="least", **shown)
    bound = theory.cluster_count_bound(descent(1000.0), 0.1)
    about = 4 * np.pi * np.sqrt(1000.0)
    # theta_beta sqrt(beta) = 1 - 1/(12 beta), and one window more by rounding up.
    share, name = (
        1 / about + 1e-4,
        "bound for m = 0.1 at beta = 1000, beside 4 pi sqrt(beta) M/m",
    )
    yield equal(name, bound, about * LIMIT / 0.1, share, relative=True)
    reached = 0.75 * np.exp(11 / 8) / (2 * np.exp(1.5))
    shown = {"key": "threshold", "shows": "condition"}
    yield equal("C at which (3.3) reaches 1", reached, INWARD, 1e-12, **shown)
