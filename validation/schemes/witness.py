r"""A filtered pseudo-spectral code as a second witness while the density is smooth.

It shares nothing with the package: n Fourier modes, RK4, the exponential filter
exp(-36 (2 k / n)^8).  Labels agree with it up to dt^4, and every transport scheme as far as it
promises: 10 times its tolerance in time.  Once the density is narrower than its modes can show it
is negative; the schemes' densities never are.
"""

from __future__ import annotations

import numpy as np

from validation.charts import panels, show_legend
from validation.claim import Claim, Findings, at_least, at_most, vanishes
from validation.schemes.places import STYLES, WITNESS
from validation.schemes.smooth_problems import (
    RTOLS,
    SMOOTH,
    UNRESOLVED,
    Reference,
    density_run,
    spectral_run,
)

CLAIM = Claim(
    "A filtered pseudo-spectral code agrees while the density is smooth (S¹)",
    "eq. (2.5), a second discretisation (RK4, exponential filter of order 8)",
    "Moments up to 8 of the filtered spectral code, of labels and of every transport scheme "
    "agree within what each method promises (the spectral code: its step to the power 4).",
    condition="While the spectral code resolves the density: later its density is negative, "
    "that of the schemes never.",
)


@CLAIM
def main(quick: bool = False) -> Findings:
    """Smooth problems, then one that becomes an atom."""
    cells = 128 if quick else 512
    for problem in SMOOTH:
        spectral, name = spectral_run(problem, cells), f"{problem.name}: moments of"
        off, _ = Reference(problem, cells).errors(spectral)
        label = f"{name} {cells} labels and of {cells} modes"
        yield vanishes(label, off, problem.spectral_step(cells) ** 4)
        for scheme, rtol in RTOLS.items():
            found = density_run(scheme, problem, cells)
            off = found.moments() - spectral.moments()
            yield vanishes(f"{name} {scheme} on {cells} cells", off, 10 * rtol)
    runs = {"filtered spectral": spectral_run(UNRESOLVED, cells)}
    runs |= {scheme: density_run(scheme, UNRESOLVED, cells) for scheme in RTOLS}
    for method, run in runs.items():
        row = at_least if method in RTOLS else at_most
        name = f"{UNRESOLVED.name}: least density, {method}, {cells} cells"
        yield row(name, run.density.min(), 0.0, shows="condition")
    drawn, axes = panels(2)
    for ax, part in zip(axes, ("all", "near the atom"), strict=True):
        for method, run in runs.items():
            style = STYLES.get(method, WITNESS)
            ax.plot(run.angles, run.density, **style, label=method)
        title = f"{UNRESOLVED.name}: {part}"
        ax.set(xlabel="angle [rad]", ylabel="density", title=title)
    axes[0].set_yscale("symlog", linthresh=0.1)
    axes[0].set_xticks(np.pi * np.arange(5) / 2, ["0", "π/2", "π", "3π/2", "2π"])
    axes[0].axhline(0.0, color="black", lw=0.6)
    atom = runs["semi_lagrangian"]
    peak, near = atom.angles[atom.masses.argmax()], 20 * np.pi / cells
    axes[1].set_xlim(peak - near, peak + near)
    show_legend(axes[1])
    yield "witness", drawn
