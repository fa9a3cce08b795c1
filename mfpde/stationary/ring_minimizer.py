r"""The minimiser of E on S^2 where V has an axis: rings and poles.

The minimiser is unique, hence symmetric about the axis e of the neurons (paper, Proposition 3.7).
Rings of angles t_i and masses m_i have, with the kernel averaged over the azimuth,

    E = sum_ij m_i m_j G(t_i, t_j) / 2 + sum_i m_i V(t_i),
    G(t, s) = (1 / beta) e^{beta (cos t cos s - 1)} I_0(beta sin t sin s),

    G_t  = X [c S I_1 - s C I_0],   X = e^{beta (cC - 1)},  c, s = cos t, sin t,  C, S of s
    G_tt = X [-beta s C (c S I_1 - s C I_0) - c C I_0 - s S I_1 + beta c S (c S I_1' - s C I_1)]
    G_ts = X [-beta c S (c S I_1 - s C I_0) + c C I_1 + s S I_0 + beta s C (c S I_1' - s C I_1)]

with I_n at z = beta sin t sin s and I_1' = I_0 - I_1 / z.  For the certificate each ring is
replaced by equally spaced atoms, more than the kernel has degrees, so that F changes by less
than rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import i0e, i1e, ive

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.arcs import tangent_frames
from mfpde.measures.measure import Atoms
from mfpde.stationary.bounded_fields import AtomicField, kernel_width
from mfpde.stationary.certification import (
    Certificate,
    Levels,
    bounded_gap,
    energy_scale,
    hasty_gap,
)
from mfpde.stationary.derivatives import external_field
from mfpde.stationary.external_bounds import external_bounds
from mfpde.stationary.meridian_field import MeridianField, ripple
from mfpde.stationary.sliding import SlidingEnd, sliding_minimum
from mfpde.stationary.sliding_newton import Arrangement, Derivatives, energy_of
from mfpde.terms import Attention, PointMasses

PARALLEL = 1e-12
SCAN_SPACING = 0.05
NEAR_POLE = 0.3
AT_POLE = 1e-14
ALIASING = 1e-18


@dataclass(frozen=True, eq=False)
class AxialRings:
    """Rings around ``axis`` (3,): polar ``angles`` (n,), 0 and pi for atoms, and ``masses``."""

    axis: FloatArray
    angles: FloatArray
    masses: FloatArray

    def atoms(self, counts: FloatArray) -> PointMasses:
        """Arrangement of equally spaced atoms, ``counts`` (n,) on each ring: points and masses."""
        across = tangent_frames(self.axis[np.newaxis])[0]
        points, masses = [], []
        for number, (angle, mass, count) in enumerate(
            zip(self.angles, self.masses, counts, strict=True)
        ):
            around = (np.arange(count) + number / len(counts)) * 2 * np.pi / count
            circle = np.cos(around)[:, np.newaxis] * across[0]
            circle += np.sin(around)[:, np.newaxis] * across[1]
            points.append(np.cos(angle) * self.axis + np.sin(angle) * circle)
            masses.append(np.full(int(count), mass / count))
        together = np.concatenate(points)
        together /= np.linalg.norm(together, axis=1, keepdims=True)
        return PointMasses(together, np.concatenate(masses))


def common_axis(equation: MeanFieldEquation) -> FloatArray | None:
    """Axis (3,) that all acting neurons are parallel to; None if there is none."""
    rows = [t.directions[t.weights != 0] for t in external_bounds(equation, 3).terms]
    directions = np.concatenate([np.empty((0, 3)), *rows])
    if not len(directions):
        return np.array([0.0, 0.0, 1.0])
    axis = directions[0] / np.linalg.norm(directions[0])
    across = directions - np.outer(directions @ axis, axis)
    lengths = np.linalg.norm(directions, axis=1)
    is_parallel = np.linalg.norm(across, axis=1) <= PARALLEL * lengths
    return axis if is_parallel.all() else None


@dataclass(frozen=True, eq=False)
class RingPieces:
    """Rings around an axis as pieces of the search for the minimiser."""

    equation: MeanFieldEquation
    axis: FloatArray

    @cached_property
    def scale(self) -> float:
        """Scale that energies are compared with."""
        return energy_scale(self.equation)

    @cached_property
    def width(self) -> float:
        """Width of the narrowest kernel, in radians."""
        return kernel_width(self.equation)

    @cached_property
    def scan(self) -> FloatArray:
        """Angles all along a meridian."""
        width = min(self.width, external_bounds(self.equation, 3).width)
        return np.linspace(0.0, np.pi, int(np.ceil(np.pi / (SCAN_SPACING * width))) + 1)

    def points(self, angles: FloatArray) -> FloatArray:
        """One point of each ring."""
        across = tangent_frames(self.axis[np.newaxis])[0, 0]
        points = np.outer(np.cos(angles), self.axis)
        points += np.outer(np.sin(angles), across)
        return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))

    def kernel(self, positions: FloatArray, others: FloatArray) -> FloatArray:
        """Matrix of the averaged kernels G, summed, between rings at two sets of angles."""
        total = np.zeros((len(positions), len(others)))
        for attention in self.equation.attentions:
            total += _averaged(attention, positions[:, np.newaxis], others)
        return total

    def potential(self, positions: FloatArray) -> FloatArray:
        """Values of V at the angles."""
        return external_bounds(self.equation, 3).values(self.points(positions))

    def derivatives(self, state: Arrangement) -> Derivatives:
        """Derivatives of the energy; rings at the poles do not move."""
        angles, masses = state
        roots = np.sqrt(masses)
        free = 1.0 - _at_pole(angles)
        matrix = self.kernel(angles, angles)
        slopes, bends, twists = self._attention(angles)
        outer, bent = self._external(angles)
        gradient = roots * (slopes @ masses + outer) * free
        diagonal = np.diag((bends @ masses + bent) * free + (1 - free))
        moves = roots[:, np.newaxis] * twists * roots * np.outer(free, free)
        cross = roots[:, np.newaxis] * slopes * roots * free[:, np.newaxis]
        scaled = roots[:, np.newaxis] * matrix * roots
        return Derivatives(gradient, diagonal + moves, cross, scaled)

    def displace(self, positions: FloatArray, steps: FloatArray) -> FloatArray:
        """Angles after ``steps``, reflected at the poles."""
        angles = positions + steps[:, 0]
        return np.asarray(np.pi - np.abs(np.pi - np.abs(angles)))

    def start(self) -> Arrangement:
        """One ring where V is lowest."""
        lowest = int(np.argmin(self.potential(self.scan)))
        return Arrangement(self.scan[lowest : lowest + 1], np.ones(1))

    def lowest(self, state: Arrangement, below: float) -> FloatArray:
        """Minima of F on the scan more than ``below`` under its mean."""
        angles, masses = state
        level = float(masses @ self._field(state, angles))
        values = self._field(state, self.scan)
        padded = np.concatenate([[np.inf], values, [np.inf]])
        is_low = (values <= padded[:-2]) & (values <= padded[2:])
        is_low &= values < level - below
        return np.asarray(self.scan[is_low])

    def unite(self, state: Arrangement, within: float) -> Arrangement:
        """Rings with neighbours united at their mean angle, or at a pole if that is no worse."""
        order = np.argsort(state.positions)
        angles, masses = state.positions[order], state.masses[order]
        groups = np.concatenate([[0], np.cumsum(np.diff(angles) > within)])
        totals = np.bincount(groups, weights=masses)
        means = np.bincount(groups, weights=masses * angles) / totals
        united = Arrangement(np.asarray(means), np.asarray(totals, dtype=np.float64))
        for index, angle in enumerate(means):
            pole = 0.0 if angle < np.pi / 2 else np.pi
            if abs(angle - pole) < NEAR_POLE * self.width:
                angles = united.positions.copy()
                angles[index] = pole
                trial = united._replace(positions=angles)
                raised = energy_of(self, trial) - energy_of(self, united)
                if raised <= 1e-16 * self.scale:
                    united = trial
        return united

    def certify(self, state: Arrangement, tolerance: float) -> Certificate:
        """Certificate of the rings' atoms from a full search."""
        return bounded_gap(*self._known(state), tolerance)

    def probe(
        self, state: Arrangement, tolerance: float
    ) -> tuple[Certificate, FloatArray]:
        """Certificate of a search that stops early, and angles where it met low values of F."""
        found, low = hasty_gap(*self._known(state), tolerance)
        return found, np.abs(np.arctan2(low[:, 1], low[:, 0]))

    def _known(self, state: Arrangement) -> tuple[MeridianField, Levels]:
        """The field F along a meridian, with the energy E and the mean of F."""
        angles, masses = state
        counts = ring_counts(self.equation, angles)
        whole = AtomicField(
            self.equation, *AxialRings(self.axis, angles, masses).atoms(counts)
        )
        level = float(whole.masses @ whole.values(whole.points))
        energy = self.equation.energy(Atoms(whole.points, whole.masses))
        assert energy is not None
        waves = ripple(whole, *state, counts)
        return MeridianField(whole, self.axis, waves), Levels(energy, level)

    def _field(self, state: Arrangement, angles: FloatArray) -> FloatArray:
        """Values of F at the angles."""
        return self.kernel(angles, state[0]) @ state[1] + self.potential(angles)

    def _attention(
        self, angles: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        parts = [_derivatives(a, angles) for a in self.equation.attentions]
        slopes, bends, twists = (
            np.sum(part, axis=0) for part in zip(*parts, strict=True)
        )
        return slopes, bends, twists

    def _external(self, angles: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Derivatives V' and V'' of V by the angle."""
        points = self.points(angles)
        across = tangent_frames(self.axis[np.newaxis])[0, 0]
        outward = np.outer(np.cos(angles), across) - np.outer(np.sin(angles), self.axis)
        frames = outward[:, np.newaxis, :]
        field = external_field(self.equation, points, frames)
        return field.drift[:, 0], field.gradients[:, 0, 0]


def ring_minimum(
    equation: MeanFieldEquation, axis: FloatArray, tolerance: float
) -> tuple[AxialRings, SlidingEnd]:
    """Minimise E over rings around ``axis`` to a gap of ``tolerance``, if possible."""
    end = sliding_minimum(RingPieces(equation, axis), tolerance)
    return AxialRings(axis, end.positions, end.masses), end


def ring_counts(equation: MeanFieldEquation, angles: FloatArray) -> FloatArray:
    """Number of atoms on each ring at which F is that of the ring to rounding.

    The azimuthal waves of the kernel around a ring are I_n(z) e^{-z}, z <= beta sin t; the
    first that n equally spaced atoms add is the n-th.
    """
    beta = equation.sharpness
    counts = []
    for angle in angles:
        on_pole = bool(_at_pole(np.asarray(angle)))
        count = 1 if on_pole else 8
        while not on_pole and ive(count, beta * np.sin(angle)) > ALIASING:
            count += 4
        counts.append(count)
    return np.array(counts)


def _averaged(attention: Attention, t: FloatArray, s: FloatArray) -> FloatArray:
    if attention.beta == 0:
        return np.asarray(np.cos(t) * np.cos(s))
    beta = attention.beta
    z = beta * np.sin(t) * np.sin(s)
    near = attention.zonal_kernel.slope(np.cos(t - s))
    return np.asarray(attention.amplitude / beta * near * i0e(z))


def _derivatives(
    attention: Attention, angles: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Derivatives G_t, G_tt and G_ts between rings, (n, n) each."""
    beta = attention.beta
    t, other = angles[:, np.newaxis], angles[np.newaxis, :]
    c, s, C, S = np.cos(t), np.sin(t), np.cos(other), np.sin(other)
    z = beta * s * S
    near = attention.zonal_kernel.slope(np.cos(t - other))
    near *= attention.amplitude
    zero, one = near * i0e(z), near * i1e(z)
    safe = np.where(z > 1e-12, z, 1.0)
    prime = zero - np.where(z > 1e-12, one / safe, zero / 2)
    slope = c * S * one - s * C * zero
    bend = -beta * s * C * slope - c * C * zero - s * S * one
    bend += beta * (c**2 * S**2 * prime - s * c * C * S * one)
    twist = -beta * c * S * slope + c * C * one + s * S * zero
    twist += beta * (c * S * s * C * prime - s**2 * C**2 * one)
    return slope, bend, twist


def _at_pole(angles: FloatArray) -> FloatArray:
    return np.asarray((np.sin(angles) < AT_POLE).astype(np.float64))
