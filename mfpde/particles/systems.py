r"""Particles as an ordinary differential equation: a state, its velocity, its energy.

On S^1 the state is the angles, elsewhere the points themselves.

Geodesics of S^(d-1) as coordinates around a point: the exponential map's derivative.

With u tangent at x, r = |u|, e = u / r and Exp_x(u) = cos r x + sin r e,

    (d Exp_x)_u^{-1} v = (v.e_r) e + (r / sin r) (v - (v.e_r) e_r),   e_r = cos r e - sin r x

for v tangent at Exp_x(u) and r < pi: lengths along the geodesic are kept, lengths across it
shrink by sin r / r (do Carmo, 1992, chapter 5).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Protocol, Self

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.arcs import exponential_map, inverse_differential
from mfpde.geometry.circle import points_at, tangents_at
from mfpde.measures.measure import Atoms


class ParticleSystem(ABC):
    """The equation of motion of particles with fixed ``masses`` (n,) from ``start``."""

    masses: FloatArray
    start: FloatArray

    @abstractmethod
    def velocity(self, state: FloatArray) -> FloatArray:
        """Time derivative of ``state``, of the same shape."""

    @abstractmethod
    def normalized(self, state: FloatArray) -> FloatArray:
        """Return ``state`` put back on the sphere."""

    @abstractmethod
    def moved(self, state: FloatArray, step: FloatArray) -> FloatArray:
        """The exponential map: the ends of the geodesics that start along ``step``."""

    @abstractmethod
    def pulled_back(
        self, state: FloatArray, step: FloatArray, velocity: FloatArray
    ) -> FloatArray:
        """Rate of change of ``step`` at which ``moved(state, step)`` has ``velocity``."""

    @abstractmethod
    def points(self, state: FloatArray) -> FloatArray:
        """Points (n, d) of the particles."""

    @abstractmethod
    def energy(self, state: FloatArray) -> float:
        """Energy, or NaN where there is none."""

    @abstractmethod
    def started_at(self, state: FloatArray) -> Self:
        """Return the system with another start."""

    def atoms(self, state: FloatArray) -> Atoms:
        """Return the particles as a measure."""
        return Atoms(self.points(state), self.masses)

    def dissipation(self, state: FloatArray) -> float:
        """Rate sum_i m_i |v_i|^2 at which s E grows along a gradient flow."""
        speeds = self.velocity(state).reshape(len(self.masses), -1)
        return float(self.masses @ (speeds**2).sum(axis=1))


class AngularField(Protocol):
    """The interface of a field that moves particles on S^1."""

    def velocity(self, angles: FloatArray) -> FloatArray:
        """Angular velocity of each particle, shape (n,)."""

    def energy(self, angles: FloatArray) -> float:
        """Energy, or NaN where there is none."""


@dataclass(frozen=True, eq=False)
class DirectField:
    """Angular velocity and energy of particles on S^1 by direct O(N^2) sums."""

    equation: MeanFieldEquation
    masses: FloatArray

    def velocity(self, angles: FloatArray) -> FloatArray:
        """The angular velocity s dF/dtheta at the particles, shape (n,)."""
        vectors = self.equation.velocity(Atoms(points_at(angles), self.masses))
        return np.asarray(np.einsum("ni,ni->n", vectors, tangents_at(angles)))

    def energy(self, angles: FloatArray) -> float:
        """Energy by the double sum over particles."""
        return _energy(self.equation, Atoms(points_at(angles), self.masses))


@dataclass(frozen=True, eq=False)
class AngularSystem(ParticleSystem):
    """Particles on S^1; the state is their angles (n,), which may wind."""

    field: AngularField
    start: FloatArray
    masses: FloatArray

    def velocity(self, state: FloatArray) -> FloatArray:
        """Angular velocities of the particles, shape (n,)."""
        return self.field.velocity(state)

    def started_at(self, state: FloatArray) -> Self:
        """Return the system with other angles to start from."""
        return replace(self, start=state)

    def normalized(self, state: FloatArray) -> FloatArray:
        """Return the angles as they are."""
        return state

    def moved(self, state: FloatArray, step: FloatArray) -> FloatArray:
        """Angles after the step: the sum of ``state`` and ``step``."""
        return state + step

    def pulled_back(
        self, state: FloatArray, step: FloatArray, velocity: FloatArray
    ) -> FloatArray:
        """Return the velocity itself: angles are flat."""
        return velocity

    def points(self, state: FloatArray) -> FloatArray:
        """Points (n, 2) at the angles."""
        return points_at(state)

    def energy(self, state: FloatArray) -> float:
        """Energy of the particles, or NaN where there is none."""
        return self.field.energy(state)


@dataclass(frozen=True, eq=False)
class AmbientSystem(ParticleSystem):
    """Particles on S^(d-1) by direct sums; the state is their points (n, d).

    The velocity is evaluated at the normalised points.
    """

    equation: MeanFieldEquation
    start: FloatArray
    masses: FloatArray

    def velocity(self, state: FloatArray) -> FloatArray:
        """The velocity s grad F at the normalised points, tangent vectors (n, d)."""
        return self.equation.velocity(self.atoms(state))

    def started_at(self, state: FloatArray) -> Self:
        """Return the system with other points to start from."""
        return replace(self, start=state)

    def normalized(self, state: FloatArray) -> FloatArray:
        """Return the points scaled to unit length."""
        return np.asarray(state / np.linalg.norm(state, axis=1, keepdims=True))

    def moved(self, state: FloatArray, step: FloatArray) -> FloatArray:
        """The exponential map Exp_x(u) = cos|u| x + sin|u| u / |u|, of unit length."""
        return exponential_map(state, step)

    def pulled_back(
        self, state: FloatArray, step: FloatArray, velocity: FloatArray
    ) -> FloatArray:
        """The vectors (d Exp_x)_u^{-1} v, tangent (n, d) at ``state`` x; u is ``step``."""
        return inverse_differential(state, step, velocity)

    def points(self, state: FloatArray) -> FloatArray:
        """Points (n, d) on the sphere."""
        return self.normalized(state)

    def energy(self, state: FloatArray) -> float:
        """Energy by the double sum over particles."""
        return _energy(self.equation, self.atoms(state))


def _energy(equation: MeanFieldEquation, atoms: Atoms) -> float:
    energy = equation.energy(atoms)
    return np.nan if energy is None else energy
