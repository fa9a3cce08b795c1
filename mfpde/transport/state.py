"""What transport evolves, what is known about its motion, and Runge-Kutta methods for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.compiled import compiled
from mfpde.geometry.arcs import normalise


class EulerStages(NamedTuple):
    """A Runge-Kutta method of Euler stages E, each of the length ``length`` times the step.

    After u = E(u_0) it takes u <- (1 - share) u_0 + share E(u) for each of ``shares``.
    """

    length: float
    shares: tuple[float, ...]


HEUN = EulerStages(1.0, (0.5,))
"""Heun's method SSPRK(2,2): u1 = E(u), u <- (u + E(u1)) / 2; Shu & Osher (1988)."""
SSPRK3 = EulerStages(1.0, (0.25, 2.0 / 3.0))
"""SSPRK(3,3): u1 = E(u), u2 = (3u + E(u1))/4, u <- (u + 2 E(u2))/3; Shu & Osher (1988)."""
SSPRK42 = EulerStages(1.0 / 3.0, (1.0, 1.0, 0.75))
"""SSPRK(4,2): three stages of a third of the step, u <- (u_0 + 3 E(u3))/4; Spiteri & Ruuth
(2002).  Its steps are three times those of Heun's method, for twice the stages."""


@dataclass(frozen=True, eq=False)
class State:
    """The evolving state: cell masses, and points (n, d) with constant masses (n,).

    Each ``cloud_size`` consecutive points are one atom: 1 for atoms without width.
    """

    masses: FloatArray
    points: FloatArray
    atom_masses: FloatArray
    cloud_size: int = 1

    def moved(self, masses: FloatArray, points: FloatArray) -> State:
        """Return a state of the same atoms at other ``points``, with other cell masses."""
        return State(masses, points, self.atom_masses, self.cloud_size)

    def on_sphere(self) -> State:
        """Return the state with its points scaled to unit length."""
        if len(self.atom_masses) == 0:
            return self
        return self.moved(self.masses, normalised(self.points))

    @property
    def total_mass(self) -> float:
        """Mass of cells and atoms."""
        return float(self.masses.sum() + self.atom_masses.sum())


@dataclass(frozen=True, eq=False)
class Flow:
    """Everything known about a state's motion, computed once a stage.

    ``density_moments`` and ``moments`` (atoms included) feed velocity, energy and the
    error estimate; ``velocity`` is taken at the centres, in semi-Lagrangian schemes at the
    faces; ``outflows`` is (sides, *shape); ``unresolved_mass`` is the mass in structures of
    a cell or two; ``atom_velocities`` is (n, d).
    """

    density_moments: ComplexArray
    moments: ComplexArray
    velocity: FloatArray
    outflows: FloatArray
    unresolved_mass: float
    atom_velocities: FloatArray


class Advance(NamedTuple):
    """A state after a step, its points not yet normalised, and what its error is measured from.

    ``last`` is the flow of the method's last stage, if that stands at the end of the step as the
    new state does, else None.  The error of the step is then a sixth of the step times the
    difference of both flows' velocities.
    """

    state: State
    last: Flow | None


@compiled
def normalised(points: FloatArray) -> FloatArray:
    """Scale ``points`` (n, d) to unit length."""
    result = points.copy()
    for point in result:
        normalise(point)
    return result
