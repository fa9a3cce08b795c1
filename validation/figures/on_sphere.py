r"""Panels on S^2 (figures 4 and 7, and five neurons): the density beside particles, and rows.

Densities beside particles from the uniform measure: low moments at an early time; numbers,
masses and places of clusters late.  The clusters of the particles are found without the
density: by single linkage, at the paper's distance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import mfpde
from mfpde.measures.measure import Atoms
from mfpde.runs.run import Run
from validation.characteristics import Cloud, equal_masses, moved
from validation.claim import Quantity
from validation.figures import drawing
from validation.figures.settings import TURN, Setting, at, basins, density_run, spacing
from validation.figures.sphere_atoms import (
    cores,
    low_moments,
    nearest_angles,
    particle_cores,
    stationary_rates,
)
from validation.independent import cells_of, energy, gradient, problem_of

Array = NDArray[np.float64]

EARLY: Final = 1.0
T_END: Final = 40.0
PARTICLES: Final = (600, 2000)
"""Number of particles in the quick form, and in the full one."""
HAND_OFFS: Final = 1e-8
"""What an atom is off at rest: it takes over a tail's last cells at times of its own."""
RINGS: Final = {5.0: (96, 64), 8.0: (96, 64), 25.0: (128, 96)}
"""Rings of both grids by beta: 23 sqrt(beta) and more carry exact atoms."""


@dataclass(frozen=True, eq=False)
class SpherePanel:
    """The density on two grids, and particles by independent formulas, early and late."""

    setting: Setting
    run: Run
    coarse: Run
    early: Cloud
    late: Cloud
    count: int

    @cached_property
    def atoms(self) -> Atoms:
        """The atoms of the last state."""
        return basins(self.run.final, self.setting.equation)

    @cached_property
    def particle_cores(self) -> Atoms:
        """The cores of the clusters of the particles."""
        return particle_cores(self.late, self.setting.reach)

    def cores(self, run: Run) -> Atoms:
        """The cores of the atoms of a run's last state."""
        centres = basins(run.final, self.setting.equation).points
        return cores(run.final, centres, self.setting.reach)

    @property
    def key(self) -> str:
        """Short name for the texts of the claims."""
        return f"{self.setting.activation}_{self.setting.beta:g}"

    @property
    def cap(self) -> float:
        """N^(-3/4): what a lattice of N points leaves open in the mass of a cap."""
        return float(self.count**-0.75)


def solve_on_sphere(setting: Setting, *, quick: bool) -> SpherePanel:
    """Run a setting to ``T_END`` on the sphere."""
    rings, coarse = (64, 54) if quick else RINGS[setting.beta]
    times, count = (EARLY, T_END), PARTICLES[not quick]
    start = equal_masses(mfpde.quantized(mfpde.uniform(mfpde.Sphere(32)), count).points)
    return SpherePanel(
        setting,
        density_run(setting, rings, times),
        density_run(setting, coarse, times),
        *moved(problem_of(setting.equation), start, times),
        count,
    )


def sphere_rows(panel: SpherePanel, *, birthplace: float = 0.0) -> Iterator[Quantity]:
    """Moments and E early; counts, masses and places late.

    A lattice of N points leaves 1/N in integrals; grids of width h leave h^2 in the mass that an
    atom takes over.  ``birthplace`` is the share of a cell to which a place is known where F is so
    flat along a kink that an atom stays where it was born.
    """
    name, run, count = str(panel.setting), panel.run, panel.count
    early = at(run, EARLY)
    yield Quantity(
        f"{name}: moments of degrees 1 and 2 at t = {EARLY:g}, largest difference to "
        f"{count} particles",
        np.abs(low_moments(early) - low_moments(panel.early)).max(),
        0.0,
        1 / count,
    )
    yield Quantity(
        f"{name}: E at t = {EARLY:g}, against {count} particles",
        run.energies[np.argmin(np.abs(run.times - EARLY))],
        energy(problem_of(panel.setting.equation), *cells_of(panel.early)),
        1 / count,
    )
    row = f"{name}: atoms at t = {T_END:g}, against clusters of {count} particles"
    yield Quantity(
        row, len(panel.atoms), len(panel.particle_cores), 0.0, key=f"count_{panel.key}"
    )
    theirs = panel.particle_cores
    yield Quantity(
        f"{name}: places of the particles' clusters, largest distance to the nearest core of "
        "the density",
        nearest_angles(theirs.points, panel.cores(run).points).max(),
        0.0,
        _known_places(panel) + birthplace * spacing(run),
    )
    for which, one in (("", run), (", coarser grid", panel.coarse)):
        yield Quantity(
            f"{name}: masses of the cores{which}, largest difference to {count} particles",
            _mass_difference(panel.cores(one), theirs),
            0.0,
            panel.cap + spacing(one) ** 2,
        )


def _known_places(panel: SpherePanel) -> float:
    """How well the particles know the places, from the masses that they know to N^(-3/4).

    In descent a place is that of a minimum of F, moved by the tail within reach.  In ascent
    clusters pull each other, as strongly as they are heavy, over paths of up to a radian.
    """
    if panel.setting.direction == "descent":
        return panel.cap * panel.setting.reach
    return panel.cap / float(panel.particle_cores.masses.min())


def _mass_difference(first: Atoms, second: Atoms) -> float:
    """Largest difference of masses, heaviest first; an atom more stands beside a 0."""
    masses = np.zeros((2, max(len(first), len(second))))
    masses[0, : len(first)] = first.masses
    masses[1, : len(second)] = second.masses
    return float(np.abs(masses[0] - masses[1]).max(initial=0.0))


def rest_rows(panel: SpherePanel) -> Iterator[Quantity]:
    """In descent: the stationary state beside the atoms, and E above its minimum."""
    name, equation = str(panel.setting), panel.setting.equation
    problem = problem_of(equation)
    if not len(panel.atoms):
        return
    polished = mfpde.polish(equation, panel.atoms)
    atoms, found_rates = polished.atoms, polished.hessian_eigenvalues
    rates, held = stationary_rates(problem, atoms), panel.run.final.atoms
    outside = max(1 - float(held.masses.sum()), 0.0)
    waiting = np.exp(-rates[0] * panel.run.final_time)
    yield Quantity(
        f"{name}: |grad F| at the polished atoms, by independent formulas",
        np.abs(gradient(problem, *cells_of(atoms), at=atoms.points)).max(),
        0.0,
        1e-13,
    )
    # A tail that arrives from afar, and what has not relaxed yet.
    yield Quantity(
        f"{name}: exact atoms from the polished ones, largest distance",
        nearest_angles(atoms.points, held.points).max(),
        0.0,
        outside + waiting + HAND_OFFS,
    )
    yield Quantity(
        f"{name}: least eigenvalue of Hess E there, independent formulas",
        found_rates[0] if found_rates is not None else np.nan,
        rates[0],
        1e-6,
        relative=True,
    )
    yield _above_the_minimum(panel, atoms)


def _above_the_minimum(panel: SpherePanel, polished: Atoms) -> Quantity:
    """E of the polished atoms above the certified minimum, beside the particles' masses.

    The particles know masses to N^(-3/4): what that makes of E is the tolerance.
    """
    problem = problem_of(panel.setting.equation)
    minimum = mfpde.minimize(panel.setting.equation, panel.coarse.final.geometry)
    points, masses = panel.particle_cores.points, panel.particle_cores.masses
    masses = masses / masses.sum()
    shift = np.where(np.arange(len(masses)) == 0, panel.cap, 0.0)
    shifted = [(masses + s * shift) / (1 + s * shift.sum()) for s in (-1, 1)]
    low, high = (energy(problem, points, other) for other in shifted)
    lowest = energy(problem, *cells_of(minimum.measure))
    return Quantity(
        f"{panel.setting}: E of the polished atoms above the certified minimum, against "
        f"{panel.count} particles",
        energy(problem, *cells_of(polished)) - minimum.lower_bound,
        energy(problem, points, masses) - lowest,
        abs(high - low),
        key=f"excess_{panel.key}",
        shows="condition" if panel.setting.beta == max(RINGS) else "claim",
    )


# Picture -------------------------------------------------------------------------------------


def sphere_figure(panels: Sequence[SpherePanel], title: str) -> Figure:
    """A column for each setting: early map, late map, histograms of both angles."""
    size = 2.5 * len(panels) + 1.0, 7.8
    ratios = [1.1, 1.1, 1, 1]
    figure, rows = drawing.new_page(4, len(panels), size, height_ratios=ratios)
    several = len({panel.setting.direction for panel in panels}) > 1
    for panel, column in zip(panels, rows.T, strict=True):
        setting, final = panel.setting, panel.run.final
        drawing.draw_on_sphere(column[0], at(panel.run, EARLY), panel.early)
        mesh = drawing.draw_on_sphere(column[1], final, panel.late)
        kind = f"{setting.softmax}{setting.direction}" if several else setting.neurons
        column[0].set_title(f"{kind}, β = {setting.beta:g}\nt = {EARLY:g}")
        column[1].set_title(
            f"t = {T_END:g}: atoms: {len(panel.atoms)},\n"
            f"clusters of particles: {len(panel.particle_cores)}"
        )
        both = {"particles": panel.late, "density": final}
        longitudes = {name: drawing.around(one) for name, one in both.items()}
        drawing.draw_masses(column[2], np.linspace(0, TURN, 37), longitudes)
        drawing.angle_axis(column[2])
        cells = {name: cells_of(one) for name, one in both.items()}
        heights = {name: (points[:, 2], held) for name, (points, held) in cells.items()}
        drawing.draw_masses(column[3], np.linspace(-1, 1, 37), heights)
        column[2].set(title=f"t = {T_END:g}", xlabel="longitude")
        column[3].set(title=f"t = {T_END:g}", xlabel="cos θ")
    names = ("cos θ", "cos θ", "mass per bin", "mass per bin")
    for ax, name in zip(rows[:, 0], names, strict=True):
        ax.set_ylabel(name)
    bar = "log10 density (1: uniform)"
    figure.colorbar(mesh, ax=list(rows[:2].ravel()), label=bar, aspect=40)
    return drawing.finish_page(figure, title)
