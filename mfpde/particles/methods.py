"""Methods by which particles move: the system of each, and what it moves."""

from __future__ import annotations

from mfpde.arrays import LARGEST_COUNT, choice, whole_number
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.circle import angles_of
from mfpde.measures.measure import AnyMeasure, Atoms
from mfpde.measures.sampling import quantized
from mfpde.particles.labels import labels_of
from mfpde.particles.spectral import SpectralSystem
from mfpde.particles.systems import AngularSystem, ParticleSystem
from mfpde.terms import ZonalTerm

METHODS = ("auto", "direct", "spectral", "labels")
DEFAULT_COUNT = 2000
# On S^2 sums through the moments are as fast as direct ones at so many particles up to
# beta = 100, and 5 times faster at beta = 5 (1000 particles: 4 and 30 times).
MANY = 300
_SPECTRAL_DIMENSIONS = (2, 3)


def resolved_method(method: str, dimension: int, count: int) -> str:
    """Return the method that ``method`` names for so many particles in a dimension.

    Raises
    ------
    ValueError
        For an unknown method, or moments beyond S^2.
    """
    method = choice("method", method, METHODS)
    if method == "auto":
        is_spectral = dimension == 2 or (dimension == 3 and count >= MANY)
        return "spectral" if is_spectral else "direct"
    if method != "direct" and dimension not in _SPECTRAL_DIMENSIONS:
        raise ValueError(
            f"method = {method!r} works on S^1 and S^2 (d = 2, 3), but start lies on "
            f"S^{dimension - 1} (d = {dimension}); use method='direct'"
        )
    return method


def particles_of(start: AnyMeasure, method: str, count: int | None) -> Atoms:
    """Return what ``method`` moves: atoms as they are, else ``count`` particles or labels."""
    if isinstance(start, Atoms):
        if count is not None:
            raise ValueError(
                f"count = {count!r} cannot change the {len(start)} atoms of start; "
                "leave it out, or start from mfpde.quantized(start, count)"
            )
        return start
    if method == "labels":
        return labels_of(start, count)
    if count is None:
        count = DEFAULT_COUNT
    count = whole_number("count", count, at_least=1, at_most=LARGEST_COUNT)
    return quantized(start, count)


def particle_system(
    equation: MeanFieldEquation, atoms: Atoms, method: str
) -> ParticleSystem:
    """Return the system for ``method`` ``"direct"``, ``"spectral"`` or ``"labels"``.

    Heads with matrices are always summed directly.
    """
    has_matrices = any(not isinstance(t, ZonalTerm) for t in equation.interactions)
    is_direct = method == "direct" or has_matrices
    kind = ParticleSystem if is_direct else SpectralSystem
    system = kind(equation, atoms.points, atoms.masses)
    if atoms.dimension != 2:
        return system
    return AngularSystem(equation, angles_of(atoms.points), atoms.masses, system)
