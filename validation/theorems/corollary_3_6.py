"""3.6: how many atoms of a given mass a stable state can have."""

from __future__ import annotations

from typing import Any

import numpy as np

from mfpde import theory
from validation.claim import Claim, Quantity
from validation.drawing import COLOURS, panels
from validation.stable_states import descent, stable_state
from validation.theorems.theorem_3_5 import LIMIT, STATES

CLAIM = Claim(
    title="Number of atoms of mass m in a stable state",
    source="3.6 (bound on counts)",
    statement=(
        "N_m <= max(1, M/m) sum_k ceil(l_k/(theta_beta/2)), M the bound (3.3), l_k the arcs "
        "that hold the support; about 4 pi sqrt(beta) max(1, M/m) for the whole circle. (The "
        "printed constants are not known to us; these are what the argument gives.)"
    ),
    condition=(
        "M exists (C < 0.331); for m below about M it is weaker than N_m <= 1/m, which "
        "holds for any probability"
    ),
)


def main(quick: bool = False) -> dict[str, Any]:
    quantities = []
    figure, (ax,) = panels(1, width=5)
    for beta, size, seed in STATES[::8] if quick else STATES:
        state = stable_state(beta, size, seed)
        masses = state.atoms.masses
        for least in (0.02, 0.1):
            count = int((masses >= least).sum())
            bound = theory.cluster_count_bound(state.equation, least)
            name = f"state {seed}, beta = {beta:g}, sum |w| = {size:g}: atoms of {least:g} or more"
            quantities.append(Quantity(name, count, bound, 0, "at most"))
            if least == 0.02:
                ax.plot(np.sqrt(beta), count, "o", color=COLOURS[0], ms=4)
    beta = 1000.0
    bound = theory.cluster_count_bound(descent(beta), 0.1)
    exact = 4 * np.pi * np.sqrt(beta) * LIMIT / 0.1
    quantities.append(
        Quantity(
            "bound for m = 0.1 at beta = 1000, beside 4 pi sqrt(beta) M/m",
            bound,
            exact,
            # theta_beta sqrt(beta) = 1 - 1/(12 beta), and one window more by rounding up.
            1 / (4 * np.pi * np.sqrt(beta)) + 1e-4,
            relative=True,
        )
    )
    betas = np.linspace(1, 50, 60)
    bounds = [theory.cluster_count_bound(descent(float(b)), 0.02) for b in betas]
    ax.semilogy(np.sqrt(betas), bounds, color=COLOURS[1], label="bound, no perceptron")
    ax.axhline(50, color=COLOURS[6], ls=":", lw=0.8, label="1/m")
    ax.set(xlabel="√β", ylabel="atoms", title="Atoms of 0.02 or more in stable states")
    ax.legend()
    return {"quantities": quantities, "figures": {"counts": figure}}
