"""Particles as an ordinary differential equation: a state, its velocity, its energy.

The state is the points themselves, on S^1 their angles: any Runge-Kutta method then keeps the mean
angle where the equation does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.circle import points_at, tangents_at
from mfpde.measures.measure import Atoms


@dataclass(frozen=True, eq=False)
class ParticleSystem:
    """Particles on S^(d-1) with fixed ``masses`` (n,), from ``start`` (n, d), by direct sums."""

    equation: MeanFieldEquation
    start: FloatArray
    masses: FloatArray

    @property
    def dimension(self) -> int:
        """The dimension d of the points."""
        return int(self.start.shape[1])

    def velocity(self, state: FloatArray) -> FloatArray:
        """The velocity s grad F at the normalised points, tangent vectors (n, d)."""
        return self.equation.velocity(self.atoms(state))

    def normalize(self, state: FloatArray) -> FloatArray:
        """Return the points scaled to unit length."""
        return np.asarray(state / np.linalg.norm(state, axis=1, keepdims=True))

    def atoms(self, state: FloatArray) -> Atoms:
        """Return the particles as a measure."""
        return Atoms(self.normalize(state), self.masses)

    def energy(self, state: FloatArray) -> float:
        """Energy, or NaN where there is none."""
        energy = self.equation.energy(self.atoms(state))
        return np.nan if energy is None else energy

    def dissipation(self, state: FloatArray) -> float:
        """Rate sum_i m_i |v_i|^2 at which s E grows along a gradient flow."""
        speeds = self.velocity(state).reshape(len(self.masses), -1)
        return float(self.masses @ (speeds**2).sum(axis=1))


@dataclass(frozen=True, eq=False)
class AngularSystem(ParticleSystem):
    """Particles on S^1 by their angles (n,), which may wind; ``system`` knows their field."""

    system: ParticleSystem

    def velocity(self, state: FloatArray) -> FloatArray:
        """The angular velocity s dF/dtheta, shape (n,)."""
        vectors = self.system.velocity(points_at(state))
        return np.asarray(np.einsum("ni,ni->n", vectors, tangents_at(state)))

    def normalize(self, state: FloatArray) -> FloatArray:
        """Return the angles as they are."""
        return state

    def atoms(self, state: FloatArray) -> Atoms:
        """Return the particles as a measure."""
        return Atoms(points_at(state), self.masses)

    def energy(self, state: FloatArray) -> float:
        """Energy, or NaN where there is none."""
        return self.system.energy(points_at(state))
