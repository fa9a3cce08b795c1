"""The measure that a transport evolves, and what is known about its motion."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.geometry.arcs import normalize


class State(NamedTuple):
    """The evolving state, which is stored as it is.

    Attributes
    ----------
    masses
        Masses of the cells, ``geometry.shape``.
    points, atom_masses
        Points (n, d) of atoms or labels, and their constant masses (n,).
    cloud_size
        So many consecutive points are one atom: 1 for atoms without width.
    phase
        1 in the first phase of a transport that has two (:mod:`mfpde.transport.phases`), else 0.
    """

    masses: FloatArray
    points: FloatArray
    atom_masses: FloatArray
    cloud_size: int = 1
    phase: int = 0

    def moved(self, masses: FloatArray, points: FloatArray) -> State:
        """Return a state of the same atoms at other ``points``, with other cell masses."""
        # Twice as fast as _replace, and asked for in each stage.
        return State(masses, points, *self[2:])

    def on_sphere(self) -> State:
        """Return the state with its points scaled to unit length."""
        if len(self.atom_masses) == 0:
            return self
        return self.moved(self.masses, normalize(self.points))

    @property
    def total_mass(self) -> float:
        """Mass of cells and atoms."""
        return float(self.masses.sum() + self.atom_masses.sum())

    def motion_to(self, after: State) -> float:
        """Mass that changed cells until ``after``, and masses of atoms times their ways."""
        moved = 0.5 * float(np.abs(after.masses - self.masses).sum())
        if len(self.atom_masses):
            ways = np.linalg.norm(after.points - self.points, axis=1)
            moved += float(self.atom_masses @ ways)
        return moved


NOTHING = np.zeros(1)


class Flow(NamedTuple):
    """The motion of a state, computed once for all that ask.

    Attributes
    ----------
    density_moments, moments
        Moments of the cells, and of cells and atoms.
    velocity
        Velocity at the centres, in semi-Lagrangian schemes at the faces.
    atom_velocities
        Velocities (n, d) of the points.
    outflows, unresolved_mass
        Mass per unit time that cells send, (sides, *shape), and the mass in structures of a
        cell or two, in schemes of fluxes.
    """

    density_moments: ComplexArray
    moments: ComplexArray
    velocity: FloatArray
    atom_velocities: FloatArray
    outflows: FloatArray = NOTHING
    unresolved_mass: float = 0.0
