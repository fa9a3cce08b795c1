"""Methods by which particles move: the system of each, and what it moves."""

from __future__ import annotations

import math

from mfpde.arrays import LARGEST_COUNT, choice, shown, whole_number
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.circle import angles_of
from mfpde.measures.measure import AnyMeasure, Atoms, Density, Measure, as_measure
from mfpde.measures.sampling import quantized
from mfpde.particles.labels import grid_of_labels, labels_of
from mfpde.particles.systems import AngularSystem, ParticleSystem, SpectralSystem

METHODS = ("auto", "direct", "spectral", "labels")
DEFAULT_COUNT = 2000
# On S^2 sums through the moments are as fast as direct ones at so many particles up to
# beta = 100, and 5 times faster at beta = 5 (1000 particles: 4 and 30 times).
MANY = 300


def check_motion(equation: MeanFieldEquation, start: AnyMeasure) -> None:
    """Raise ``ValueError`` unless the equation moves particles from ``start``."""
    if equation.diffusion > 0:
        raise ValueError(
            f"the equation has diffusion = {equation.diffusion:g}, but particles move "
            "without noise: use mfpde.solve, or an equation with diffusion=0"
        )
    if not isinstance(start, Atoms | Density | Measure):
        raise ValueError(
            f"start = {shown(start)} must be Atoms, a Density or a Measure"
        )
    for term in equation.externals:
        term.check_dimension(start.dimension)


def choose_method(start: AnyMeasure, method: str, count: int | None) -> str:
    """Return the method that ``method`` names for ``count`` particles from ``start``.

    Raises
    ------
    ValueError
        For an unknown method, moments beyond S^2, a count out of its range.
    """
    method, dimension = choice("method", method, METHODS), start.dimension
    if method not in ("auto", "direct") and dimension not in (2, 3):
        raise ValueError(
            f"method = {method!r} works on S^1 and S^2 (d = 2, 3), but start lies on "
            f"S^{dimension - 1} (d = {dimension}); use method='direct'"
        )
    size = _count_particles(start, method, count)
    if method == "auto":
        is_spectral = dimension == 2 or (dimension == 3 and size >= MANY)
        return "spectral" if is_spectral else "direct"
    return method


def _count_particles(start: AnyMeasure, method: str, count: int | None) -> int:
    """Return how many particles there are: atoms, labels of cells, or those asked for."""
    if isinstance(start, Atoms):
        if count is not None:
            raise ValueError(
                f"count = {count!r} cannot change the {len(start)} atoms of start; "
                "leave it out, or start from mfpde.quantized(start, count)"
            )
        if len(start) == 0:
            raise ValueError("start has no atoms: there is nothing to move")
        return len(start)
    if method == "labels":
        return math.prod(grid_of_labels(as_measure(start).geometry, count).shape)
    count = DEFAULT_COUNT if count is None else count
    return whole_number("count", count, at_least=1, at_most=LARGEST_COUNT)


def particles_of(start: AnyMeasure, method: str, count: int | None) -> Atoms:
    """Return what ``method`` moves: atoms as they are, else ``count`` particles or labels."""
    if isinstance(start, Atoms):
        return start
    if method == "labels":
        return labels_of(start, count)
    return quantized(start, count or DEFAULT_COUNT)


def particle_system(
    equation: MeanFieldEquation, atoms: Atoms, method: str
) -> ParticleSystem:
    """Return the system for ``method`` ``"direct"``, ``"spectral"`` or ``"labels"``.

    Heads with matrices are always summed directly.
    """
    has_matrices = any(not t.is_zonal for t in equation.interactions)
    is_direct = method == "direct" or has_matrices
    kind = ParticleSystem if is_direct else SpectralSystem
    system = kind(equation, atoms.points, atoms.masses)
    if atoms.dimension != 2:
        return system
    return AngularSystem(equation, angles_of(atoms.points), atoms.masses, system)
