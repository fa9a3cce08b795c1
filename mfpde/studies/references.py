"""References of a study: particles from the same start, and Newton's method."""

from __future__ import annotations

from dataclasses import dataclass

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle
from mfpde.measures.measure import Atoms, Density
from mfpde.particles import solve_particles
from mfpde.runs.run import Run
from mfpde.stationary import PolishedAtoms, polish
from mfpde.studies.ladder import FinalAtoms, Merges, final_atoms, merges_of
from mfpde.tracking import Concentration

LABELS_PER_CELL = 4
SPHERE_PARTICLES = 1000


@dataclass(frozen=True, eq=False)
class ParticleReference:
    """Particles from the same start, their atoms at the end, and their merges."""

    run: Run
    atoms: FinalAtoms
    merges: Merges


def particle_reference(
    equation: MeanFieldEquation,
    start: Density,
    count: int,
    *,
    saves: FloatArray,
    smallest_mass: float,
) -> ParticleReference:
    """Run of the particles: weighted labels on the circle, quantised particles on the sphere.

    Merges are looked for if there are saves between the start and the end: as on a grid,
    they are the times at which two basins become one.
    """
    on_circle = isinstance(start.geometry, Circle)
    run = solve_particles(
        equation,
        start,
        t_end=float(saves[-1]),
        save_at=saves,
        method="labels" if on_circle else "direct",
        count=count,
    )
    if len(saves) > 1:
        run = run.tracked(Concentration(smallest_mass=smallest_mass))
    atoms = final_atoms(run.final, equation, smallest_mass)
    return ParticleReference(run, atoms, merges_of(run, smallest_mass))


def default_count(finest: Density) -> int:
    """Default number of labels, four for each cell of the finest circle, or of particles."""
    if isinstance(finest.geometry, Circle):
        return LABELS_PER_CELL * finest.geometry.num_cells
    return SPHERE_PARTICLES


def polished_reference(
    equation: MeanFieldEquation, atoms: FinalAtoms
) -> tuple[PolishedAtoms | None, str | None]:
    """Return the stationary atoms beside ``atoms``, or why there are none."""
    if len(atoms) == 0:
        return None, "no atoms that Newton's method could polish"
    if equation.diffusion > 0:
        return None, "with diffusion no atom is stationary"
    scaled = Atoms(atoms.points, atoms.masses / atoms.masses.sum())
    found = polish(equation, scaled)
    if not found.converged or len(found.atoms) != len(atoms):
        return None, f"not polished: {found.message}"
    return found, None
