"""The phase diagram in beta and kappa, against the free energy of densities at nodes."""

from __future__ import annotations

import numpy as np

import mfpde
from validation.claim import Claim, Findings, equal, vanishes
from validation.exact_facts.phase_transition import critical_by_bessel, limit_by_bessel
from validation.exact_facts.zonal_states import ZonalStates

CLAIM = Claim(
    title="Threshold, coexistence, fold and cusp of noisy attention",
    source="Mun & Rosenzweig, arXiv 2606.05140 and 2604.16288; coexistence, fold derived here",
    statement=(
        "Above beta_* ordered states exist up to a fold kappa_f > kappa_#, and have the free "
        "energy of the uniform state at kappa_c between the two. Both are found, in dimensions 2 "
        "to 64, by minimising kappa int rho log rho - E over densities at 400 angles, with the "
        "kernel averaged over rings in place of its spectrum."
    ),
)
CASES = ((3, 4.0), (64, 3.0), (2, 4.0), (3, 8.0), (4, 3.0), (8, 2.5), (16, 5.0))


@CLAIM
def main(_quick: bool = False) -> Findings:
    for dimension in (2, 3):
        betas, name = np.array([3.0, 5.0, 8.0]), f"S^{dimension - 1}: "
        found = mfpde.phase_diagram(dimension, betas)
        exact = [critical_by_bessel(beta, dimension) for beta in betas]
        text = f"{name}kappa_# at beta = 3, 5, 8, largest error"
        yield vanishes(text, found.threshold / exact - 1, 1e-12)
        yield equal(f"{name}beta_*", found.cusp, limit_by_bessel(dimension), 1e-11)
    for dimension, beta in CASES:
        found, states = (
            mfpde.phase_diagram(dimension, beta),
            ZonalStates(dimension, beta),
        )
        name, kappa = (
            f"S^{dimension - 1}, beta = {beta:g}: ",
            states.coexistence().kappa,
        )
        share = float(found.coexistence[0]) / kappa
        yield equal(f"{name}kappa_c over that of minimisation", share, 1.0, 1e-9)
        share = float(found.fold[0]) / states.fold()
        yield equal(f"{name}fold over that of minimisation", share, 1.0, 1e-9)
    diagram = mfpde.phase_diagram(3, np.linspace(1.2, 8.0, 35))
    yield "diagram", mfpde.plot_phase_diagram(diagram)
