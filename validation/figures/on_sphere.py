r"""Panels on S^2 (figures 4, 7 and 8, and five neurons): the density beside particles, and rows.

The particles move by independent formulas, and their clusters are found without the density: by
single linkage, at the paper's distance.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import mfpde
from mfpde.measures.measure import Atoms
from mfpde.plotting.palette import ATOM
from validation.characteristics import Cloud, equal_masses, moved
from validation.claim import Quantity, equal, vanishes
from validation.figures import atoms, drawing, settings
from validation.figures.settings import Clouds, Panel, Setting, angles, at
from validation.independent import cells_of, energy, problem_of

Array = NDArray[np.float64]

EARLY: Final = 1.0
T_END: Final = 40.0
PARTICLES: Final = (600, 2000)
"""Number of particles in the quick form, and in the full one."""
HAND_OFFS: Final = 1e-8
"""What an atom is off at rest: it takes over a tail's last cells at times of its own."""
RINGS: Final = {5.0: 96, 8.0: 96, 25.0: 128}
"""Rings by beta: 23 sqrt(beta) and more carry exact atoms."""


def lattice(count: int) -> Cloud:
    """Particles of equal mass, quantiles of the uniform measure on S^2."""
    return equal_masses(mfpde.quantized(mfpde.uniform(mfpde.Sphere(32)), count).points)


def solve_on_sphere(setting: Setting, *, quick: bool) -> Panel:
    """Run a setting to ``T_END`` on the sphere."""
    times, start = (EARLY, T_END), lattice(PARTICLES[not quick])
    run = settings.density_run(setting, 64 if quick else RINGS[setting.beta], times)
    clouds = moved(problem_of(setting.equation), start, times)
    return Panel(setting, run, Clouds(np.array(times), clouds), times)


def cap(panel: Panel) -> float:
    """N^(-3/4): what a lattice of N points leaves open in the mass of a cap."""
    return float(panel.count**-0.75)


def moments_rows(panel: Panel) -> list[Quantity]:
    """A lattice of N points leaves 1/N in integrals.

    Late a cell on the edge between two basins goes to either cluster as a whole.
    """
    late = panel.moments_row(T_END, 2 * cap(panel))
    return [panel.moments_row(EARLY, 1 / panel.count), late]


def sphere_rows(panel: Panel, *, birthplace: float = 0.0) -> Iterator[Quantity]:
    """Moments and E early; counts, masses and places late.

    Grids of width h leave h^2 in the mass that an atom takes over.  ``birthplace`` is the share of
    a cell to which a place is known where F is so flat along a kink that an atom stays where it
    was born.
    """
    count, setting, (ours, theirs) = panel.count, panel.setting, panel.cores
    yield moments_rows(panel)[0]
    energies = dict(zip(panel.run.times, panel.run.energies, strict=True))
    known = energy(panel.problem, *cells_of(at(panel.few, EARLY)))
    row = f"E at t = {EARLY:g}, against {count} particles"
    yield equal(row, energies[EARLY], known, 1 / count)
    row = f"atoms at t = {T_END:g}, against clusters of {count} particles"
    key = f"count_{setting.activation}_{setting.beta:g}"
    yield equal(row, len(panel.atoms), len(theirs), 0.0, key=key)
    # In descent a place is that of a minimum of F, moved by the tail within reach.  In ascent
    # clusters pull each other, as strongly as they are heavy, over paths of up to a radian.
    falls = setting.direction == "descent"
    known = cap(panel) * (setting.reach if falls else 1 / float(theirs.masses.min()))
    apart = atoms.nearest_angles(theirs.points, ours.points)
    row = "places of the particles' clusters, largest distance to the nearest core of the density"
    yield vanishes(row, apart, known + birthplace * panel.width)
    masses = np.zeros((2, max(len(ours), len(theirs))))
    masses[0, : len(ours)], masses[1, : len(theirs)] = ours.masses, theirs.masses
    row = f"masses of the cores, largest difference to {count} particles"
    cell = panel.width**2
    yield vanishes(row, masses[0] - masses[1], cap(panel) + cell)


def rest_rows(panel: Panel) -> Iterator[Quantity]:
    """In descent: the stationary state beside the atoms, and E above its minimum."""
    if not len(panel.atoms):
        return
    polished = panel.polished
    yield from atoms.rest_rows(panel.problem, polished, "strict")
    held = panel.run.final.atoms
    apart = atoms.nearest_angles(polished.atoms.points, held.points)
    # A tail that arrives from afar, and what has not relaxed yet.
    outside = max(1 - float(held.masses.sum()), 0.0)
    waiting = np.exp(polished.shift_rates.real.max() * T_END)
    row = "exact atoms from the polished ones, largest distance"
    yield vanishes(row, apart, outside + waiting + HAND_OFFS)
    yield _above_the_minimum(panel, polished.atoms)


def _above_the_minimum(panel: Panel, polished: Atoms) -> Quantity:
    """E of the polished atoms above the certified minimum, beside the particles' masses.

    The particles know masses to N^(-3/4): what that makes of E is the tolerance.
    """
    setting, (_, theirs) = panel.setting, panel.cores
    shift = cap(panel) * np.eye(len(theirs))[0]
    least, energies = energy(panel.problem, *cells_of(panel.minimum.measure)), []
    for masses in (theirs.masses, theirs.masses - shift, theirs.masses + shift):
        share = masses / masses.sum()
        energies.append(energy(panel.problem, theirs.points, share))
    middle, low, high = energies
    ours = energy(panel.problem, *cells_of(polished)) - panel.minimum.lower_bound
    return equal(
        f"E of the polished atoms above the certified minimum, against {panel.count} particles",
        ours,
        middle - least,
        abs(high - low),
        key=f"excess_{setting.activation}_{setting.beta:g}",
        shows="condition" if setting.beta == 25.0 else "claim",
    )


def sphere_figure(panels: Sequence[Panel], title: str) -> Figure:
    """A column for each setting: early map, late map, histograms of both angles."""
    columns = []
    for panel in panels:
        setting, final, count = panel.setting, panel.run.final, len(panel.cores[1])
        kind = f"{setting.softmax}{setting.direction}, {setting.neurons},\nβ = {setting.beta:g}"
        atoms_held = f"t = {T_END:g}: atoms: {len(panel.atoms)},"
        told = f"{atoms_held}\nclusters of particles: {count}"
        both = {"particles": panel.few.final, "density": final}
        cells = {name: cells_of(one) for name, one in both.items()}
        heights = {name: (points[:, 2], held) for name, (points, held) in cells.items()}
        columns.append(
            (
                _map(
                    at(panel.run, EARLY), at(panel.few, EARLY), f"{kind}, t = {EARLY:g}"
                ),
                _map(final, panel.few.final, told),
                drawing.masses("", both, xlabel="longitude"),
                drawing.masses("", heights, np.linspace(-1, 1, 37), xlabel="cos θ"),
            )
        )
    size = 2.5 * len(panels) + 1.0, 7.8
    return drawing.draw_page(title, list(zip(*columns, strict=True)), size=size)


def _map(state: mfpde.Measure, particles: Cloud, title: str) -> drawing.Draw:
    """A density over longitude and cos theta (equal areas), 1 if uniform, and particles."""
    grid, held, some = state.geometry, state.atoms.points, particles.points[::3]
    longitudes = angles(grid.points[0, :, :2])
    order = np.argsort(longitudes)
    values = state.density.values[:, order] * 4 * np.pi
    dots = {"ls": "", "marker": ".", "ms": 1.2, "color": ATOM, "alpha": 0.7}
    look = {"ls": "", "marker": "D", "ms": 5, "mfc": "none", "mec": "black", "mew": 0.8}
    over = {
        "": (angles(some), some[:, 2], dots),
        "exact atom": (angles(held), held[:, 2], look),
    }
    axes = drawing.ON_ANGLES | {"xlabel": "longitude", "ylabel": "cos θ"}
    axes["ylim"] = -1, 1
    edges = longitudes[order], grid.points[:, 0, 2]
    return drawing.density_map(title, edges, values, (-2.0, 2.0), over, **axes)
