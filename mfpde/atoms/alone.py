r"""Atoms alone: a stiff differential equation once the density's mass is negligible.

Clusters approach each other at rates down to e^{-2 beta}: an implicit method crosses ten
decades of time in some hundred steps.  Forces are sums over pairs in which nothing
cancels: with D = x_j - x_i,

    x_j.x_i - 1 = -|D|^2 / 2,    P_i x_j = D + |D|^2 x_i / 2,

and an atom's force on itself, which is zero, is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from mfpde.arrays import FloatArray
from mfpde.compiled import compiled
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.arcs import smallest_distance
from mfpde.measures.clouds import joined
from mfpde.measures.events import Event

RELATIVE_TOLERANCE = 1e-10
ABSOLUTE_TOLERANCE = 1e-13


@dataclass(frozen=True)
class AtomMotion:
    """The motion of atoms alone under an equation, from one time to another."""

    equation: MeanFieldEquation
    meeting_distance: float

    def advanced(
        self, points: FloatArray, masses: FloatArray, times: tuple[float, float]
    ) -> tuple[FloatArray, FloatArray, tuple[Event, ...]]:
        """Return points (n, d), masses (n,) and merges at the end of the interval ``times``.

        Raises
        ------
        FloatingPointError
            If the integrator fails.
        """
        start, end = times
        events: list[Event] = []
        while start < end and len(masses) > 0:
            points, start, met = self._until_meeting(points, masses, (start, end))
            while met is not None:
                events.append(
                    Event("merge", start, points[list(met)], masses[list(met)])
                )
                points, masses = _merged(points, masses, met)
                met = _nearest_pair(points, self.meeting_distance)
        return points, masses, tuple(events)

    def _until_meeting(
        self, points: FloatArray, masses: FloatArray, times: tuple[float, float]
    ) -> tuple[FloatArray, float, tuple[int, int] | None]:
        start, end = times
        shape = points.shape

        def meeting(_: float, flat: FloatArray) -> float:
            return smallest_distance(_unit(flat.reshape(shape))) - self.meeting_distance

        meeting.terminal = True  # type: ignore[attr-defined]
        rate = self._rate(masses, shape)
        # Time counts from the start: late in a long run its digits are few.
        found = solve_ivp(
            rate,
            (0.0, end - start),
            points.ravel(),
            method="LSODA",
            events=meeting if len(masses) > 1 else None,
            rtol=RELATIVE_TOLERANCE,
            atol=ABSOLUTE_TOLERANCE,
        )
        if found.status < 0:
            raise FloatingPointError(f"the motion of the atoms failed: {found.message}")
        last = _unit(found.y[:, -1].reshape(shape))
        if found.status == 0:
            return last, end, None
        at = start + float(found.t[-1])
        return last, at, _nearest_pair(last, np.inf)

    def _rate(
        self, masses: FloatArray, shape: tuple[int, ...]
    ) -> Callable[[float, FloatArray], FloatArray]:
        equation = self.equation
        attentions = [
            (attention.beta, attention.needs_values, attention.amplitude)
            for attention in equation.attentions
        ]

        def rate(_: float, flat: FloatArray) -> FloatArray:
            points = _unit(flat.reshape(shape))
            speeds = np.zeros(shape)
            for beta, softmax, amplitude in attentions:
                speeds += amplitude * _pair_velocities((points, masses), beta, softmax)
            for term in equation.externals:
                speeds += term.drift(points)
            return equation.sign * speeds.ravel()

        return rate


@compiled
def _pair_velocities(
    atoms: tuple[FloatArray, FloatArray], beta: float, softmax: bool
) -> FloatArray:
    """Gradient (n, d) of A[mu] at each of the atoms, their own masses included.

    The amplitude of an unshifted kernel is left out.
    """
    points, masses = atoms
    count, dimension = points.shape
    speeds = np.zeros((count, dimension))
    for i in range(count):
        total = masses[i]
        for j in range(count):
            if i == j:
                continue
            squared = 0.0
            for k in range(dimension):
                squared += (points[j, k] - points[i, k]) ** 2
            kernel = masses[j] * np.exp(-0.5 * beta * squared)
            total += kernel
            for k in range(dimension):
                rise = points[j, k] - points[i, k] + 0.5 * squared * points[i, k]
                speeds[i, k] += kernel * rise
        if softmax:
            speeds[i] /= total
    return speeds


def _unit(points: FloatArray) -> FloatArray:
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


def _nearest_pair(points: FloatArray, reach: float) -> tuple[int, int] | None:
    """Indices of the closest two atoms if they are closer than ``reach``, else None."""
    if len(points) < 2:
        return None
    apart = np.linalg.norm(points[:, np.newaxis] - points, axis=2)
    apart[np.tril_indices(len(points))] = np.inf
    first, second = np.unravel_index(np.argmin(apart), apart.shape)
    return (int(first), int(second)) if apart[first, second] < reach else None


def _merged(
    points: FloatArray, masses: FloatArray, pair: tuple[int, int]
) -> tuple[FloatArray, FloatArray]:
    first, second = pair
    nothing = np.zeros((points.shape[1], points.shape[1]))
    mass, position, _ = joined(
        (masses[first], points[first], nothing),
        (masses[second], points[second], nothing),
    )
    kept = np.arange(len(masses)) != second
    new_points, new_masses = points.copy(), masses.copy()
    new_points[first], new_masses[first] = position, mass
    return new_points[kept], new_masses[kept]
