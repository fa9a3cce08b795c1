r"""All stages of a semi-Lagrangian step on a small circle in one compiled call.

On a few hundred cells a step costs microseconds of arithmetic, and calls stage by stage cost
several times as much.  On so few cells the moments and the velocity at the faces follow from
the cell masses m by small dense matrices:

    moments = P m  (real and imaginary parts in turn),   velocity = Q moments + V'
    + sum over softmax attentions of (Q_a moments) / max(R_a moments, a 1e-13 of the mass).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray, read_only
from mfpde.compiled import compiled
from mfpde.geometry.circle import Circle, points_at, tangents_at
from mfpde.geometry.remap import edge_densities, remapped
from mfpde.grid_equation import WATCHED_DEGREE, GridEquation
from mfpde.terms.softmax_sums import EMPTY
from mfpde.transport.base import StepFarTooLongError
from mfpde.transport.feet import feet
from mfpde.transport.line import wrapped
from mfpde.transport.semi_lagrangian import (
    FLOWS,
    blended_mass,
    net_rate,
)
from mfpde.transport.semi_lagrangian import (
    is_hopeless as moves_too_far,
)

LARGEST_TABLE = 2**15
"""Cells times degrees up to which dense matrices are faster than calls of the FFT."""


class Maps(NamedTuple):
    """Matrices P, Q, and of the softmax attentions Q_a and R_a; the external velocity V'.

    Q is empty if nothing attracts without softmax.
    """

    moments: FloatArray
    linear: FloatArray
    over: FloatArray
    under: FloatArray
    external: FloatArray


class Motion(NamedTuple):
    """What moves a density: moments (real and imaginary parts in turn) and face velocity.

    ``unresolved`` is its mass in structures of a cell or two.
    """

    moments: FloatArray
    velocity: FloatArray
    unresolved: float


class TableStep(NamedTuple):
    """The end of a step: masses, their motion, and the velocity (n + 1,) of the last stage.

    ``lag`` holds the rates of change of the moments that the difference of this velocity
    from that at the end would make.  If a stage ``is_hopeless``, masses are those of the start.
    """

    masses: FloatArray
    last: FloatArray
    motion: Motion
    lag: FloatArray
    is_hopeless: bool


class CircleTables:
    """Dense maps from cell masses to moments, and from moments to the face velocity."""

    def __init__(
        self, grid: GridEquation, circle: Circle, external: FloatArray
    ) -> None:
        degree = grid.degree
        values = value_map(circle, degree)
        slopes = slope_map(circle, degree)
        softmaxes = [k for k in grid.kernels if k.term.needs_values]
        over = np.empty((len(softmaxes), *slopes.shape))
        under = np.empty((len(softmaxes), *slopes.shape))
        for a, kernel in enumerate(softmaxes):
            symbol = np.repeat(kernel.spectrum, 2)
            over[a] = (grid.sign / circle.spacing) * symbol * slopes
            under[a] = kernel.term.sharpness * symbol * values
        linear = np.empty((0, slopes.shape[1]))
        sums = [k for k in grid.kernels if not k.term.needs_values]
        if sums:
            spectrum = sum(k.term.amplitude * k.spectrum for k in sums)
            linear = np.repeat(grid.sign * spectrum, 2) / circle.spacing * slopes
        self.maps = Maps(moment_map(circle, degree), linear, over, under, external)

    def motion(self, masses: FloatArray) -> Motion:
        """What moves the density whose cells have these masses."""
        return _motion(masses, self.maps)

    def moments(self, masses: FloatArray) -> ComplexArray:
        """Moments of the density whose cells have these masses."""
        return _moments(masses, self.maps.moments).view(np.complex128)

    def velocity(self, moments: ComplexArray) -> FloatArray:
        """Velocity at the faces 0..n in cells per unit time, (1, n + 1)."""
        flat = np.ascontiguousarray(moments).view(np.float64)
        return _face_velocity(flat, self.maps)[np.newaxis]

    def advanced(
        self, masses: FloatArray, velocity: FloatArray, step: float
    ) -> TableStep:
        """The end of a step, from masses with this face velocity (1, n + 1).

        Raises
        ------
        StepFarTooLongError
            If a stage is so fast that no step of this length can be accurate.
        """
        found = _advanced(masses, velocity[0], step, self.maps)
        if found.is_hopeless:
            raise StepFarTooLongError
        return found


def fits(grid: GridEquation, circle: Circle) -> bool:
    """Whether the tables of this equation on this circle are small enough to be used."""
    is_small = circle.num_cells * (grid.degree + 1) <= LARGEST_TABLE
    return is_small and not grid.heads


class FaceFrame(NamedTuple):
    """Points and unit tangents at the faces 0..n of a circle, (n + 1, 2)."""

    points: FloatArray
    tangents: FloatArray


def face_frame(circle: Circle) -> FaceFrame:
    """The faces of a circle; of a small one they are kept for the next equation."""
    small = circle.num_cells <= LARGEST_TABLE // WATCHED_DEGREE
    return _kept_face_frame(circle) if small else _face_frame(circle)


def _face_frame(circle: Circle) -> FaceFrame:
    angles = np.concatenate([[0.0], circle.face_angles])
    # Face n is face 0, to the last digit.
    angles[-1] = 0.0
    return FaceFrame(read_only(points_at(angles)), read_only(tangents_at(angles)))


@lru_cache(maxsize=8)
def _kept_face_frame(circle: Circle) -> FaceFrame:
    return _face_frame(circle)


@lru_cache(maxsize=8)
def _waves(circle: Circle, degree: int) -> ComplexArray:
    """Waves e^{ik theta} at the faces 0..n, (n + 1, degree + 1)."""
    faces = circle.spacing * np.arange(circle.num_cells + 1)
    waves: ComplexArray = np.exp(1j * np.outer(faces, np.arange(degree + 1)))
    # Face n is face 0, to the last digit.
    waves[-1] = waves[0]
    return read_only(waves)


@lru_cache(maxsize=8)
def moment_map(circle: Circle, degree: int) -> FloatArray:
    """Matrix (2 degree + 2, n) from the masses of cells to moments.

    The moments are sums over the centres divided by sin(kh/2)/(kh/2), the factor by which
    averaging over cells multiplies wave k.
    """
    waves = _waves(circle, degree)
    k = np.arange(degree + 1)
    centres = (waves[:-1] * np.exp(0.5j * circle.spacing * k)).conj()
    centres /= np.sinc(k / circle.num_cells)
    rows = np.stack([centres.real.T, centres.imag.T], axis=1)
    return read_only(np.ascontiguousarray(rows.reshape(-1, circle.num_cells)))


@lru_cache(maxsize=8)
def value_map(circle: Circle, degree: int) -> FloatArray:
    """Matrix (n + 1, 2 degree + 2) from coefficients to a field's values at the faces."""
    return _interleaved(_waves(circle, degree))


@lru_cache(maxsize=8)
def slope_map(circle: Circle, degree: int) -> FloatArray:
    """Matrix (n + 1, 2 degree + 2) from coefficients to a field's slopes at the faces."""
    return _interleaved(1j * np.arange(degree + 1) * _waves(circle, degree))


def _interleaved(symbols: ComplexArray) -> FloatArray:
    """Real matrix of c -> c_0 + 2 Re sum_k symbol_k c_k."""
    pairs = np.stack([2 * symbols.real, -2 * symbols.imag], axis=2)
    pairs[:, 0] /= 2
    return read_only(np.ascontiguousarray(pairs.reshape(len(symbols), -1)))


@compiled
def _moments(masses: FloatArray, table: FloatArray) -> FloatArray:
    moments: FloatArray = np.dot(table, masses)
    return moments


@compiled
def _face_velocity(moments: FloatArray, maps: Maps) -> FloatArray:
    velocity = maps.external.copy()
    if len(maps.linear):
        slopes = np.dot(maps.linear, moments)
        for j in range(len(velocity)):
            velocity[j] += slopes[j]
    least = max(EMPTY * moments[0], 1e-300)
    for a in range(len(maps.over)):
        slopes = np.dot(maps.over[a], moments)
        values = np.dot(maps.under[a], moments)
        for j in range(len(velocity)):
            velocity[j] += slopes[j] / max(values[j], least)
    return velocity


@compiled
def _motion(masses: FloatArray, maps: Maps) -> Motion:
    moments = _moments(masses, maps.moments)
    velocity = _face_velocity(moments, maps)
    return Motion(moments, velocity, blended_mass(wrapped(masses)))


@compiled
def _advanced(
    masses: FloatArray, first: FloatArray, step: float, maps: Maps
) -> TableStep:
    edges = edge_densities(wrapped(masses))
    total = masses.sum()
    velocities = np.zeros((4, len(first)))
    for j in range(len(first)):
        velocities[0, j] = first[j]
    weights = step * FLOWS
    moved = masses
    is_hopeless = False
    for stage in range(4):
        # For a plain True another kernel would be compiled than where lines may end.
        positions = feet(velocities, weights[stage], stage < 4)
        moved = remapped(masses, edges, positions)
        scale = total / moved.sum()
        for i in range(len(moved)):
            moved[i] *= scale
        if stage < 3:
            velocity = _face_velocity(_moments(moved, maps.moments), maps)
            for j in range(len(velocity)):
                velocities[stage + 1, j] = velocity[j]
            if moves_too_far(step * velocities[stage + 1]):
                is_hopeless = True
                moved = masses
                break
    last = velocities[3].copy()
    motion = _motion(moved, maps)
    late = last - motion.velocity
    lag = _moments(net_rate(wrapped(moved), late), maps.moments)
    return TableStep(moved, last, motion, lag, is_hopeless)
