"""Where descent on the circle ends: atoms that rest beside particles, and the minimum of E.

Figures 1 and 6 have these rows in common, one of them for each beta.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

import mfpde
from validation.claim import Quantity
from validation.figures.at_rest import (
    duality_gap,
    independent_energy,
    largest_speed,
    least_shift_rate,
    least_split_rate,
)
from validation.figures.paper_runs import (
    Setting,
    density_run,
    particle_run,
    share_near,
    spacing,
)
from validation.figures.trajectories import EARLY, SPIKE, Array, Trajectories


@dataclass(frozen=True, eq=False)
class FinalState:
    """The end of a run, its atoms polished, and the certified minimum beside it."""

    found: Trajectories
    minimum: mfpde.Minimum

    @property
    def equation(self) -> mfpde.MeanFieldEquation:
        """The equation of the setting."""
        return self.found.setting.equation

    @property
    def count(self) -> int:
        """Number of particles beside the density."""
        return len(self.found.few.final.points)

    @cached_property
    def polished(self) -> mfpde.PolishedAtoms:
        """The atoms of the last state after Newton's method."""
        report = mfpde.concentration(self.found.run.final, self.equation)
        return mfpde.polish(self.equation, report.clusters)

    @cached_property
    def particles_as_atoms(self) -> mfpde.Atoms:
        """The particles of each basin at their centre of mass."""
        particles = self.found.few.final
        places = self.polished.atoms.points
        near = np.argmax(particles.points @ places.T, axis=1)
        masses = np.bincount(near, particles.masses, minlength=len(places))
        sums = [particles.points[near == k].sum(axis=0) for k in range(len(places))]
        return mfpde.Atoms(np.stack([s / np.linalg.norm(s) for s in sums]), masses)


def solve_to_the_end(setting: Setting, times: Array, *, quick: bool) -> FinalState:
    """Run the density on two grids, particles early and to the end, and the minimisation."""
    many, few, step = (2000, 2000, 0.5) if quick else (10_000, 2000, 0.25)
    found = Trajectories(
        setting,
        run=density_run(setting, 1024, times, atoms="exact"),
        coarse=density_run(setting, 512, times, atoms="exact"),
        many=particle_run(setting, many, EARLY),
        few=particle_run(setting, few, times, time_step=step),
        times=np.concatenate([[0.0], times]),
    )
    return FinalState(found, mfpde.minimize(setting.equation, mfpde.Circle(256)))


def resting_quantities(
    final: FinalState, prefix: str = "", *, order: str = "strict", **about: str
) -> list[Quantity]:
    """The atoms of the end: at rest, stable, and with the particles' masses."""
    found, polished, equation = final.found, final.polished, final.equation
    atoms, count, end = polished.atoms, final.count, float(found.run.times[-1])
    sampled = share_near(found.few.final, atoms.points)
    return [
        Quantity(
            f"{prefix}atoms that rest, beside basins of {count} particles at t = {end:g}",
            float(len(atoms)),
            float(found.particle_counts[-1]),
            0.0,
            **about,  # type: ignore[arg-type]
        ),
        Quantity(
            f"{prefix}largest |grad F| at the polished atoms, independent formulas",
            largest_speed(equation, atoms),
            0.0,
            1e-14,
        ),
        Quantity(
            f"{prefix}way to the polished atoms, in cells",
            polished.moved / spacing(found.run),
            0.0,
            SPIKE,
        ),
        Quantity(
            f"{prefix}{order}: smallest eigenvalue of Hess E, independent formulas, beside "
            "the package's",
            least_shift_rate(equation, atoms),
            -float(polished.shift_rates.real.max()),
            1e-6,
        ),
        Quantity(
            f"{prefix}split-stable: smallest F'' at the atoms, independent formulas",
            least_split_rate(equation, atoms),
            0.0,
            0.0,
            "at least",
        ),
        Quantity(
            f"{prefix}masses at the end, largest difference from {count} particles",
            float(np.abs(sampled - atoms.masses).max()),
            0.0,
            2 / count,
        ),
    ]


def minimum_quantities(
    final: FinalState, prefix: str = "", *, key: str
) -> list[Quantity]:
    """The minimum by independent formulas, and how far above it the flow ends.

    Levels of F differ by less than 1, and two edges of each basin cut a particle's share.
    """
    found, measure = final.found, final.minimum.measure
    expected = independent_energy(final.equation, found.few.final)
    expected -= independent_energy(final.equation, measure)
    return [
        Quantity(
            f"{prefix}duality gap of the minimum, independent formulas",
            duality_gap(final.equation, measure),
            0.0,
            1e-12,
        ),
        Quantity(
            f"{prefix}E at the end above the minimum, beside that of {final.count} particles",
            float(found.run.energies[-1]) - final.minimum.energy,
            expected,
            2 / final.count,
            key=key,
            shows="condition",
        ),
    ]
