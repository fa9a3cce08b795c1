r"""Runs on S^2: what figures 4 and 7 have in common.

Densities beside particles from the uniform measure: low moments at an early time; numbers,
masses and places of clusters late.  The clusters of the particles are found without the
density: by single linkage, at the paper's distance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

import mfpde
from mfpde.measures.measure import AnyMeasure, Atoms
from mfpde.runs.run import Run
from validation.claim import Quantity
from validation.figures.independent_particles import Cloud, equal_masses, moved
from validation.figures.paper_protocol import cluster_distance, linked_groups
from validation.figures.paper_runs import (
    LEAST_MASS,
    Setting,
    at,
    basins,
    density_run,
    spacing,
)
from validation.independent import Problem, cells_of, energy, gradient, problem_of

Array = NDArray[np.float64]

EARLY: Final = 1.0
PARTICLES: Final = (600, 2000)
"""Number of particles in the quick form, and in the full one."""
HAND_OFFS: Final = 1e-8
"""What an atom is off at rest: it takes over a tail's last cells at times of its own."""
LINKED: Final = 0.25
"""Particles nearer than this share of the paper's distance belong together."""
SECOND_DIFFERENCE: Final = 1e-3
"""Step of second differences: it leaves 1e-6 of truncation, relative, and 1e-10 of rounding."""
RINGS: Final = {5.0: (96, 64), 8.0: (96, 64), 25.0: (128, 96)}
"""Rings of both grids by beta: 23 sqrt(beta) and more carry exact atoms."""


@dataclass(frozen=True, eq=False)
class OnSphere:
    """The density on two grids, and particles by independent formulas, early and late."""

    setting: Setting
    run: Run
    coarse: Run
    particles: dict[float, Cloud]
    count: int

    @cached_property
    def atoms(self) -> Atoms:
        """The atoms of the last state."""
        return basins(self.run.final, self.setting.equation)

    @cached_property
    def cores(self) -> Atoms:
        """Their cores."""
        return cores(self.run.final, self.atoms.points, self.reach)

    @cached_property
    def coarse_cores(self) -> Atoms:
        """The cores of the atoms on the coarser grid."""
        centres = basins(self.coarse.final, self.setting.equation).points
        return cores(self.coarse.final, centres, self.reach)

    @cached_property
    def particle_cores(self) -> Atoms:
        """The cores of the clusters of the particles."""
        return cores(self.late, cluster_centres(self.late, self.reach), self.reach)

    @property
    def late(self) -> Cloud:
        """The particles at the end."""
        return self.particles[max(self.particles)]

    @property
    def key(self) -> str:
        """Short name for the texts of the claims."""
        return f"{self.setting.activation}_{self.setting.beta:g}"

    @property
    def reach(self) -> float:
        """The paper's distance: radius of a core."""
        return cluster_distance(self.setting.beta, 3)


def on_sphere(setting: Setting, *, quick: bool, t_end: float) -> OnSphere:
    """Run a setting to ``t_end`` on the sphere."""
    rings, coarse = (64, 54) if quick else RINGS[setting.beta]
    times = (EARLY, t_end)
    lattice = mfpde.quantized(mfpde.uniform(setting.grid(32)), PARTICLES[not quick])
    start = equal_masses(lattice.points)
    clouds = moved(problem_of(setting.equation), start, times)
    return OnSphere(
        setting,
        run=density_run(setting, rings, times, atoms="exact"),
        coarse=density_run(setting, coarse, times, atoms="exact"),
        particles=dict(zip(times, clouds, strict=True)),
        count=len(start.points),
    )


def cluster_centres(particles: AnyMeasure | Cloud, reach: float) -> Array:
    """Mean directions (k, d) of the particles' clusters of 1 % and more, by single linkage.

    At the paper's distance the particles of a tail are a chain from one cluster to the next:
    ``LINKED`` of it parts the tail, and leaves what has gathered.
    """
    points, masses = cells_of(particles)
    means = [
        masses[held] @ points[held]
        for held in linked_groups(points, LINKED * reach)
        if masses[held].sum() >= LEAST_MASS
    ]
    found = np.array(means).reshape(-1, points.shape[1])
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))


def cores(measure: AnyMeasure | Cloud, centres: Array, reach: float) -> Atoms:
    """What lies within ``reach`` of each centre, as an atom at its mean, heaviest first."""
    points, masses = cells_of(measure)
    near = points @ centres.T > np.cos(reach)
    held = masses @ near
    means = (near * masses[:, np.newaxis]).T @ points
    order = np.argsort(-held)
    if not len(order):
        return Atoms.none(points.shape[1])
    directions = means / np.linalg.norm(means, axis=1, keepdims=True)
    return Atoms(directions[order], held[order])


def sphere_quantities(found: OnSphere, *, birthplace: float = 0.0) -> list[Quantity]:
    """Moments and E early; counts, masses and places late.

    ``birthplace`` is the share of a cell to which a place is known where F is so flat along a
    kink that an atom stays where it was born.
    """
    name = str(found.setting)
    end, particles = float(found.run.times[-1]), found.particles[EARLY]
    count = found.count
    # A lattice of N points leaves 1/N in integrals, and N^(-3/4) in the mass of a cap;
    # grids of width h leave h^2 in the mass that an atom takes over.
    early, cap = at(found.run, EARLY), count**-0.75
    problem = problem_of(found.setting.equation)
    distances = _nearest(found.particle_cores.points, found.cores.points)
    quantities = [
        Quantity(
            f"{name}: moments of degrees 1 and 2 at t = {EARLY:g}, largest difference to "
            f"{count} particles",
            float(np.abs(low_moments(early) - low_moments(particles)).max()),
            0.0,
            1 / count,
        ),
        Quantity(
            f"{name}: E at t = {EARLY:g}, against {count} particles",
            float(found.run.energies[int(np.argmin(np.abs(found.run.times - EARLY)))]),
            energy(problem, *cells_of(particles)),
            1 / count,
        ),
        Quantity(
            f"{name}: atoms at t = {end:g}, against clusters of {count} particles",
            float(len(found.atoms)),
            float(len(found.particle_cores)),
            0.0,
            key=f"count_{found.key}",
        ),
        Quantity(
            f"{name}: places of the particles' clusters, largest distance to the nearest "
            "core of the density",
            float(distances.max()),
            0.0,
            _known_places(found, cap) + birthplace * spacing(found.run),
        ),
    ]
    grids = (
        ("", found.run, found.cores),
        (", coarser grid", found.coarse, found.coarse_cores),
    )
    for which, run, of_density in grids:
        quantities.append(
            Quantity(
                f"{name}: masses of the cores{which}, largest difference to {count} particles",
                _mass_difference(of_density, found.particle_cores),
                0.0,
                cap + spacing(run) ** 2,
            )
        )
    return quantities


def _known_places(found: OnSphere, cap: float) -> float:
    """How well the particles know the places, from the masses that they know to ``cap``.

    In descent a place is that of a minimum of F, moved by the tail within reach.  In ascent
    clusters pull each other, as strongly as they are heavy, over paths of up to a radian.
    """
    if found.setting.direction == "descent":
        return cap * found.reach
    return cap / float(found.particle_cores.masses.min())


def low_moments(measure: AnyMeasure | Cloud) -> Array:
    """Integrals of x_i and x_i x_j."""
    points, masses = cells_of(measure)
    products = (points * masses[:, np.newaxis]).T @ points
    upper = np.triu_indices(points.shape[1])
    return np.concatenate([masses @ points, products[upper]])


def _mass_difference(first: Atoms, second: Atoms) -> float:
    """Largest difference of masses, heaviest first; an atom more stands beside a 0."""
    masses = np.zeros((2, max(len(first), len(second))))
    masses[0, : len(first)] = first.masses
    masses[1, : len(second)] = second.masses
    return float(np.abs(masses[0] - masses[1]).max(initial=0.0))


def _nearest(points: Array, others: Array) -> Array:
    """Angle from each of the points to the nearest of the others."""
    if not len(others):
        return np.full(len(points), np.pi)
    chords = np.linalg.norm(points[:, np.newaxis] - others, axis=-1).min(axis=1)
    return np.asarray(2 * np.arcsin(np.minimum(chords / 2, 1.0)))


def at_rest(found: OnSphere) -> list[Quantity]:
    """In descent: the stationary state beside the atoms, and E above its minimum."""
    name, equation = str(found.setting), found.setting.equation
    problem = problem_of(equation)
    if not len(found.atoms):
        return []
    polished = mfpde.polish(equation, found.atoms)
    atoms = polished.atoms
    rates = stationary_rates(problem, atoms)
    held = found.run.final.atoms  # type: ignore[union-attr]
    outside = max(1 - float(held.masses.sum()), 0.0)
    waiting = float(np.exp(-rates[0] * found.run.final_time))
    found_rates = polished.hessian_eigenvalues
    return [
        Quantity(
            f"{name}: |grad F| at the polished atoms, by independent formulas",
            float(np.abs(gradient(problem, *cells_of(atoms), at=atoms.points)).max()),
            0.0,
            1e-13,
        ),
        # A tail that arrives from afar, and what has not relaxed yet.
        Quantity(
            f"{name}: exact atoms from the polished ones, largest distance",
            float(_nearest(atoms.points, held.points).max()),
            0.0,
            outside + waiting + HAND_OFFS,
        ),
        Quantity(
            f"{name}: least eigenvalue of Hess E there, against second differences of E",
            float(found_rates[0]) if found_rates is not None else np.nan,
            float(rates[0]),
            1e-5,
            relative=True,
        ),
        _above_the_minimum(found, atoms),
    ]


def _above_the_minimum(found: OnSphere, polished: Atoms) -> Quantity:
    """E of the polished atoms above the certified minimum, beside the particles' masses.

    The particles know masses to N^(-3/4): what that makes of E is the tolerance.
    """
    name, equation = str(found.setting), found.setting.equation
    problem = problem_of(equation)
    minimum = mfpde.minimize(equation, found.coarse.final.geometry)
    count = found.count
    points, masses = found.particle_cores.points, found.particle_cores.masses
    masses = masses / masses.sum()
    shift = np.where(np.arange(len(masses)) == 0, count**-0.75, 0.0)
    shifted = [(masses + s * shift) / (1 + s * shift.sum()) for s in (-1, 1)]
    low, high = (energy(problem, points, other) for other in shifted)
    lowest = energy(problem, *cells_of(minimum.measure))
    return Quantity(
        f"{name}: E of the polished atoms above the certified minimum, against {count} "
        "particles",
        energy(problem, *cells_of(polished)) - minimum.lower_bound,
        energy(problem, points, masses) - lowest,
        abs(high - low),
        key=f"excess_{found.key}",
        shows="condition" if found.setting.beta == max(RINGS) else "claim",
    )


def stationary_rates(problem: Problem, atoms: Atoms) -> Array:
    """Eigenvalues of Hess E in L^2(mu) at atoms, by second differences of E on geodesics."""
    points, masses = cells_of(atoms)
    frames = [np.linalg.svd(point[np.newaxis])[2][1:] for point in points]
    moves = [
        (k, direction / np.sqrt(mass))
        for k, (frame, mass) in enumerate(zip(frames, masses, strict=True))
        for direction in frame
    ]

    def moved(*steps: Array) -> float:
        """E where coordinate i has gone by each of ``steps``."""
        places = points.copy()
        for (k, direction), step in zip(moves, sum(steps), strict=True):
            places[k] = places[k] + step * direction
        return energy(problem, _projected(points, places), masses)

    units = SECOND_DIFFERENCE * np.eye(len(moves))
    hessian = np.array(
        [
            [moved(a, b) - moved(a, -b) - moved(-a, b) + moved(-a, -b) for b in units]
            for a in units
        ]
    )
    return np.linalg.eigvalsh(hessian / (4 * SECOND_DIFFERENCE**2))


def _projected(points: Array, places: Array) -> Array:
    """exp of the tangent vectors ``places - points``."""
    vectors = places - points
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(np.cos(lengths) * points + np.sinc(lengths / np.pi) * vectors)
