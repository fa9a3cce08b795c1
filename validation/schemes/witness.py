r"""A filtered pseudo-spectral code as a second witness while the density is smooth.

:mod:`validation.filtered_spectral` shares nothing with the package: n Fourier modes, RK4, the
exponential filter exp(-36 (2 k / n)^8).  Labels agree with it up to dt^4, and every
transport scheme as far as it promises: 10 times its tolerance in time (higher order) or h^2
over the width of the density (second order).  Once the density is narrower than its modes can
show it is negative; the schemes' densities never are.
"""

from __future__ import annotations

import numpy as np

from validation.charts import describe, panels, show_legend
from validation.claim import Claim, Quantity
from validation.schemes.scheme_styles import STYLES, WITNESS
from validation.schemes.smooth_problems import (
    SCHEMES,
    SMOOTH,
    UNRESOLVED,
    Outcome,
    Reference,
    SmoothProblem,
    density_run,
    moved_labels,
    promised_error,
    spectral_run,
    spectral_step,
)

CLAIM = Claim(
    "A filtered pseudo-spectral code agrees while the density is smooth (S¹)",
    "eq. (2.5), a second discretisation (RK4, exponential filter of order 8)",
    "Moments up to 8 of the filtered spectral code, of labels and of every transport scheme "
    "agree within what each method promises (the spectral code: its step to the power 4).",
    condition="While the spectral code resolves the density: later its density is negative, "
    "that of the schemes never.",
)


def compared(problem: SmoothProblem, cells: int) -> list[Quantity]:
    """Moments of labels and of each scheme against the spectral code's."""
    spectral = spectral_run(problem, cells)
    labels = Reference(moved_labels(problem, cells))
    largest = float(spectral.masses.max() * cells / (2 * np.pi))
    found = [
        Quantity(
            f"{problem.name}: moments of {cells} labels and of {cells} modes",
            labels.errors(spectral)[0],
            0.0,
            spectral_step(problem, cells) ** 4,
        )
    ]
    for scheme in SCHEMES:
        run = density_run(problem, cells, scheme)
        off = float(np.abs(run.moments() - spectral.moments()).max())
        allowed = promised_error(scheme, cells, largest)
        name = f"{problem.name}: moments of {scheme} on {cells} cells"
        found.append(Quantity(name, off, 0.0, allowed))
    return found


def unresolved(cells: int) -> tuple[list[Quantity], dict[str, Outcome]]:
    """Least densities once the density is narrower than the grid."""
    runs = {"filtered spectral": spectral_run(UNRESOLVED, cells)}
    runs |= {scheme: density_run(UNRESOLVED, cells, scheme) for scheme in SCHEMES}
    found = []
    for name, run in runs.items():
        rule = "at most" if name == "filtered spectral" else "at least"
        label = f"{UNRESOLVED.name}: least density, {name}, {cells} cells"
        found.append(Quantity(label, run.least, 0.0, 0.0, rule, shows="condition"))
    return found, runs


def main(quick: bool = False) -> dict[str, object]:
    """Smooth problems, then one that becomes an atom."""
    cells = 128 if quick else 512
    quantities = [q for problem in SMOOTH for q in compared(problem, cells)]
    late, runs = unresolved(cells)
    drawn, (left, right) = panels(2)
    for name, scale, ax in (
        ("all", "symlog", left),
        ("near the atom", "linear", right),
    ):
        for method, run in runs.items():
            density = run.masses * cells / (2 * np.pi)
            ax.plot(run.points, density, **STYLES.get(method, WITNESS), label=method)
        ax.set_yscale(scale, **({"linthresh": 0.1} if scale == "symlog" else {}))
        describe(
            ax,
            xlabel="angle",
            ylabel="density",
            title=f"{UNRESOLVED.name}: {name}",
        )
    left.set_xticks(np.pi * np.arange(5) / 2, labels=["0", "π/2", "π", "3π/2", "2π"])
    right.set_xlabel("angle [rad]")
    peak = runs["semi_lagrangian"].points[runs["semi_lagrangian"].masses.argmax()]
    right.set_xlim(peak - 20 * np.pi / cells, peak + 20 * np.pi / cells)
    left.axhline(0.0, color="black", lw=0.6)
    show_legend(right)
    return {"quantities": [*quantities, *late], "figures": {"witness": drawn}}
