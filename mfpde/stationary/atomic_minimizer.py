r"""The minimiser of E among atoms: best masses, Newton on all, merge, insert, repeat.

1. Points of a scan where F is lowest come in, a few at a time; the best masses on all points
   so far are found (``mass_program.py``); points without mass go out.
2. Neighbours are united; positions and masses move together (``joint_newton.py``).
3. Atoms whose union does not raise the energy are united.
4. Local minima of F below its mean come in as new atoms; back to 2 until there is none and
   the certificate is as small as wanted.

This is the sliding Frank-Wolfe method (Denoyelle, Duval, Peyre & Soubies, 2019) with a
Newton method inside and a certificate at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.stationary.bounded_fields import AtomicField, kernel, kernel_width
from mfpde.stationary.certificate import Certificate, bounded_gap, energy_scale
from mfpde.stationary.derivatives import field_derivatives
from mfpde.stationary.exchange import LEAST_MASS, exchanged, with_inserted
from mfpde.stationary.joint_newton import Derivatives, JointEnd, State, joint_newton
from mfpde.stationary.local_minima import (
    LONGEST_MOVE,
    clipped,
    lowest_apart,
    polished,
)
from mfpde.stationary.sphere_cells import SphereCells
from mfpde.stationary.tangent_frames import geodesic_moves, tangent_frames

SCAN_ROUNDS = 25
SCAN_TOLERANCE = 1e-4
MOST_ROUNDS = 40
SCAN_SPACING = 0.2
APART = 0.35
STALLED_ROUNDS = 3
FAILURES = 2
UNITED = 0.1
EXCHANGE_ROUNDS = 3
MOST_EXCHANGES = 30
SETTLED = 1e-9


@dataclass(frozen=True, eq=False)
class AtomicPieces:
    """Atoms on S^(d-1) as pieces of the joint Newton method."""

    equation: MeanFieldEquation
    scale: float

    @cached_property
    def width(self) -> float:
        """Width of the kernel."""
        return kernel_width(self.equation)

    def kernel(self, points: FloatArray, others: FloatArray) -> FloatArray:
        """Sum of K / beta between two sets of points."""
        chords = points[:, np.newaxis, :] - others
        deficits = -np.einsum("ijd,ijd->ij", chords, chords) / 2
        parts = [kernel(a, deficits) for a in self.equation.attentions]
        return np.asarray(np.sum(parts, axis=0))

    def potential(self, points: FloatArray) -> FloatArray:
        """V at points."""
        total = np.zeros(len(points))
        for term in self.equation.externals:
            total += term.value(points)
        return total

    def energy(self, state: State) -> float:
        """E of atoms."""
        points, masses = state
        field = self.kernel(points, points) @ masses / 2 + self.potential(points)
        return float(masses @ field)

    def derivatives(self, state: State) -> Derivatives:
        """Energy with its derivatives in (y, q)."""
        points, masses = state
        frames = tangent_frames(points)
        count, size, _ = frames.shape
        roots = np.sqrt(masses)
        field = field_derivatives(self.equation, points, masses)
        matrix = self.kernel(points, points)
        potential = self.potential(points)
        total = matrix @ masses + potential
        wide = np.repeat(roots, size)
        moves = field.jacobian.reshape(count * size, count * size)
        moves = wide[:, np.newaxis] * moves / wide
        cross = self._cross(points, frames) * wide[:, np.newaxis] * roots
        hessian = np.block(
            [
                [(moves + moves.T) / 2, cross],
                [cross.T, roots[:, np.newaxis] * matrix * roots],
            ]
        )
        gradient = np.concatenate([(wide * field.gradient.ravel()), roots * total])
        energy = float(masses @ (matrix @ masses / 2 + potential))
        return Derivatives(energy, gradient, hessian)

    def _cross(self, points: FloatArray, frames: FloatArray) -> FloatArray:
        """Gradient at each atom of the kernel around each other one, (n (d - 1), n)."""
        chords = points[np.newaxis, :, :] - points[:, np.newaxis, :]
        offsets = np.einsum("iad,ijd->iaj", frames, chords, optimize=True)
        deficits = -np.einsum("ijd,ijd->ij", chords, chords) / 2
        pull = np.zeros(deficits.shape)
        for attention in self.equation.attentions:
            pull += attention.amplitude * np.exp(attention.beta * deficits)
        shape = (len(points) * frames.shape[1], len(points))
        return np.asarray((pull[:, np.newaxis, :] * offsets).reshape(shape))

    def moved(self, state: State, displacements: FloatArray) -> FloatArray:
        """Points after tangent displacements, each at most a share of the kernel's width."""
        points, _ = state
        steps = displacements.reshape(len(points), -1)
        return geodesic_moves(
            points, tangent_frames(points), clipped(steps, LONGEST_MOVE * self.width)
        )


@dataclass(frozen=True, eq=False)
class AtomicMinimum:
    """The best atoms found, with their certificate and the condition of their system."""

    points: FloatArray
    masses: FloatArray
    certificate: Certificate
    condition: float
    rounds: int


def atomic_minimum(
    equation: MeanFieldEquation, dimension: int, tolerance: float
) -> AtomicMinimum:
    """Minimise E over atoms on S^(dimension-1) to a gap of ``tolerance``, if possible."""
    empty = AtomicField(equation, np.empty((0, dimension)), np.empty(0))
    scale = energy_scale(equation) * max(1.0, empty.external.curvature)
    pieces = AtomicPieces(equation, scale)
    spacing = SCAN_SPACING * min(pieces.width, empty.external.width)
    scan = SphereCells.covering(dimension, spacing / 2).balls()[0]
    state = _thinned(pieces, _on_scan(pieces, scan), 1.6 * spacing)
    best: AtomicMinimum | None = None
    stalled = failures = 0
    for number in range(MOST_ROUNDS):
        end = _settled(pieces, state)
        failures += not np.isfinite(end.condition)
        if failures >= FAILURES:
            end = _spread(pieces, end.state, (scan, tolerance / 4))
        state = end.state
        field = AtomicField(equation, *state)
        level = float(state[1] @ field.values(state[0]))
        new = _below(field, scan, level - tolerance / 4)
        if not len(new):
            found = bounded_gap(field, (end.energy, level), tolerance)
            if best is None or found.gap < best.certificate.gap:
                best = AtomicMinimum(*state, found, end.condition, number + 1)
                stalled = 0
            else:
                stalled += 1
            if found.gap <= tolerance or stalled == STALLED_ROUNDS:
                return best
            new = polished(field, found.point[np.newaxis])
        state = with_inserted(pieces, state, new)
    final = bounded_gap(field, (end.energy, level), tolerance)
    if best is None or final.gap < best.certificate.gap:
        best = AtomicMinimum(*end.state, final, end.condition, MOST_ROUNDS)
    return best


def _on_scan(pieces: AtomicPieces, scan: FloatArray) -> State:
    """Atoms on scan points, roughly the best."""
    masses = np.empty(0)
    points = np.empty((0, scan.shape[1]))
    for _ in range(SCAN_ROUNDS):
        field = AtomicField(pieces.equation, points, masses)
        values = field.values(scan)
        level = float(masses @ field.values(points)) if len(masses) else np.inf
        if values.min() > level - SCAN_TOLERANCE * pieces.scale / 10:
            break
        chosen = lowest_apart(scan, values, (level, APART * pieces.width))
        points, masses = with_inserted(pieces, (points, masses), scan[chosen])
    return points, masses


def _spread(
    pieces: AtomicPieces, state: State, search: tuple[FloatArray, float]
) -> JointEnd:
    """End of the exchange method, or of Newton's on its united points once that succeeds."""
    for _ in range(MOST_EXCHANGES):
        state, is_done = exchanged(pieces, state, search, rounds=EXCHANGE_ROUNDS)
        atoms = joint_newton(pieces, _thinned(pieces, state, UNITED * pieces.width))
        energy = pieces.energy(state)
        is_settled = atoms.residual <= SETTLED * pieces.scale
        is_settled |= is_done and bool(np.isfinite(atoms.condition))
        if is_settled and atoms.energy <= energy + search[1]:
            return atoms
        if is_done:
            break
        if atoms.energy < energy:
            state = atoms.state
    return JointEnd(state, energy, np.inf, np.inf)


def _settled(pieces: AtomicPieces, state: State) -> JointEnd:
    """Newton's method and unions until neither changes the number of atoms."""
    while True:
        end = joint_newton(pieces, state)
        kept = end.state[1] > LEAST_MASS
        state = (end.state[0][kept], end.state[1][kept] / end.state[1][kept].sum())
        state = with_inserted(pieces, state, state[0][:0])
        state = _united(pieces, state)
        if len(state[1]) == len(end.state[1]):
            return end


def _united(pieces: AtomicPieces, state: State) -> State:
    """Unite close atoms, closest first, while the energy does not rise."""
    points, masses = state
    energy = pieces.energy(state)
    pairs = cKDTree(points).query_pairs(0.5 * pieces.width, output_type="ndarray")
    lengths = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
    gone = np.zeros(len(masses), dtype=bool)
    points, masses = points.copy(), masses.copy()
    for i, j in pairs[np.argsort(lengths)]:
        if gone[i] or gone[j]:
            continue
        trial_points, trial_masses = points.copy(), masses.copy()
        mean = masses[i] * points[i] + masses[j] * points[j]
        trial_points[i] = mean / np.linalg.norm(mean)
        trial_masses[i] += masses[j]
        others = ~gone
        others[j] = False
        raised = pieces.energy((trial_points[others], trial_masses[others])) - energy
        if raised <= 1e-16 * pieces.scale:
            points, masses, gone[j] = trial_points, trial_masses, True
            energy += raised
    return points[~gone], masses[~gone]


def _thinned(pieces: AtomicPieces, state: State, within: float) -> State:
    """Unite what lies within ``within`` of heavier atoms."""
    points, masses = state
    owner = np.full(len(masses), -1)
    for index in np.argsort(-masses, kind="stable"):
        if owner[index] < 0:
            near = np.linalg.norm(points - points[index], axis=1) <= within
            owner[near & (owner < 0)] = index
    heads = np.unique(owner)
    united = []
    for head in heads:
        united.append(masses[owner == head] @ points[owner == head])
    means = np.array(united)
    totals = np.array([masses[owner == head].sum() for head in heads])
    return means / np.linalg.norm(means, axis=1, keepdims=True), totals


def _below(field: AtomicField, scan: FloatArray, level: float) -> FloatArray:
    """Local minima of F below ``level``, from the lowest points of the scan."""
    width = kernel_width(field.equation)
    values = field.values(scan)
    # A minimum between scan points lies a little below the lowest of them.
    margin = min(1.0, field.curvature) * (SCAN_SPACING * width) ** 2
    chosen = lowest_apart(scan, values, (level + margin, APART * width))
    if not len(chosen):
        return scan[:0]
    points = polished(field, scan[chosen])
    lowest = lowest_apart(points, field.values(points), (level, 1e-3 * width))
    return np.asarray(points[lowest])
