r"""Atoms alone: a differential equation once the density's mass is negligible.

Clusters approach each other at rates down to e^{-2 beta}: between two meetings nothing moves for
decades of time.  So the points x_i and the time t are integrated over a variable s in which all
that approaches does so at a rate of about 1,

    dt/ds = 1/r,   dx_i/ds = v_i/r,   r^2 = sum_{i<j} (|v_i - v_j| / |x_i - x_j|)^2,

up to the end of the motion, which is no more than 1 in s away.  Forces are sums over pairs in
which nothing cancels (:meth:`mfpde.terms.kernels.Kernel.sums_between`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.arcs import normalize
from mfpde.measures.events import Event
from mfpde.measures.measure import Atoms
from mfpde.terms import PointMasses

RELATIVE_TOLERANCE = 1e-10
ABSOLUTE_TOLERANCE = 1e-13
MOST_EVALUATIONS = 30_000
"""Evaluations of the atoms' velocities between two meetings; long runs take some thousands."""
_ENDLESS = 1e30
_MET = 1 + 1e-6
"""Factor of the distance at which atoms meet, which the integrator finds to rounding."""


class StepTooSmallError(ArithmeticError):
    """Motion in steps of length ``step``, which would never reach its end."""

    def __init__(self, step: float) -> None:
        super().__init__(f"the motion takes steps of {step:.1e}")
        self.step = step


@dataclass(frozen=True)
class AtomMotion:
    """The motion of atoms alone under an equation, from one time to another."""

    equation: MeanFieldEquation
    meeting_distance: float

    def move(
        self, atoms: Atoms, *, start: float, end: float
    ) -> tuple[Atoms, tuple[Event, ...]]:
        """Return the atoms at the time ``end``, as points, and merges since ``start``.

        It is a ``StepTooSmallError`` if the integrator fails, or takes steps that would never
        reach the end.
        """
        events: list[Event] = []
        points, masses = atoms.points.copy(), atoms.masses.copy()
        while True:
            while (near := nearest_pair(points))[0] <= self.meeting_distance * _MET:
                first, second = met = [*near[1:]]
                events.append(Event("merge", start, points[met], masses[met]))
                points[first], total = masses[met] @ points[met], masses[met].sum()
                points = normalize(np.delete(points, second, axis=0))
                masses = np.delete(masses, second)
                masses[first] = total
            if start >= end or len(masses) == 0:
                return Atoms(points, masses), tuple(events)
            points, start = self._advance_to_meeting(
                points, masses, start=start, end=end
            )

    def _advance_to_meeting(
        self, points: FloatArray, masses: FloatArray, *, start: float, end: float
    ) -> tuple[FloatArray, float]:
        shape, duration = points.shape, end - start

        def rate(_: float, state: FloatArray) -> FloatArray:
            points = normalize(state[:-1].reshape(shape))
            speeds = self._find_speeds(PointMasses(points, masses))
            per_time = find_approach_rate(points, speeds) + 1 / duration
            return np.append(speeds.ravel(), 1.0) / per_time

        def meeting(_: float, state: FloatArray) -> float:
            points = normalize(state[:-1].reshape(shape))
            return nearest_pair(points)[0] / self.meeting_distance - 1

        def ending(_: float, state: FloatArray) -> float:
            return float(state[-1] / duration - 1)

        first = np.append(points.ravel(), 0.0)
        events = [ending, meeting] if len(masses) > 1 else [ending]
        found = _integrate(rate, first, events)
        last = normalize(found.y[:-1, -1].reshape(shape))
        is_end = len(found.t_events[0]) > 0
        return last, end if is_end else start + float(found.y[-1, -1])

    def _find_speeds(self, atoms: PointMasses) -> FloatArray:
        """Velocities (n, d) of the atoms."""
        speeds = np.zeros(atoms.points.shape)
        for interaction in self.equation.interactions:
            speeds += interaction.pull_between_atoms(atoms)
        for term in self.equation.externals:
            speeds += term.drift(atoms.points)
        return self.equation.sign * speeds


def nearest_pair(points: FloatArray) -> tuple[float, int, int]:
    """Smallest distance, straight through the sphere, of two ``points`` (n, d), and which."""
    if len(points) < 2:
        return np.inf, 0, 0
    apart, pairs = scipy.spatial.distance.pdist(points), np.triu_indices(len(points), 1)
    nearest = int(apart.argmin())
    return float(apart[nearest]), int(pairs[0][nearest]), int(pairs[1][nearest])


def find_approach_rate(points: FloatArray, speeds: FloatArray) -> float:
    """Root of the sum of the squared rates |v_i - v_j| / |x_i - x_j| of all pairs; 0 at rest."""
    largest = float(np.abs(speeds).max())
    if largest == 0.0:
        return 0.0
    # Squares of the speeds themselves would be 0 where they are below 1e-154.
    pdist = scipy.spatial.distance.pdist
    return largest * float(np.linalg.norm(pdist(speeds / largest) / pdist(points)))


def _integrate(
    rate: Callable[[float, FloatArray], FloatArray],
    first: FloatArray,
    events: Sequence[Callable[[float, FloatArray], float]],
) -> Any:
    """Integrate ``rate`` by the first method that gets to one of the ``events``.

    Near rest rounding may keep LSODA from its methods for stiff equations, so that its steps stay
    as short as the fastest rate asks for; BDF is one of these methods alone.
    """
    for event in events:
        event.terminal = True  # type: ignore[attr-defined]
    tolerances = np.full(len(first), ABSOLUTE_TOLERANCE)
    # Times are as long as the slowest rate: they err by a share of the first ones.
    tolerances[-1] = RELATIVE_TOLERANCE * rate(0.0, first)[-1]
    evaluations = 0

    def bounded_rate(s: float, state: FloatArray) -> FloatArray:
        nonlocal evaluations
        evaluations += 1
        if evaluations > MOST_EVALUATIONS:
            reached = float(state[-1])  # A trial may be infinite.
            raise StepTooSmallError(reached / evaluations if reached < np.inf else 0.0)
        return rate(s, state)

    for method in ("LSODA", "BDF"):
        evaluations = 0
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                # Why LSODA gives up; the next method goes on.
                warnings.filterwarnings("ignore", message="lsoda: ")
                found = scipy.integrate.solve_ivp(
                    bounded_rate,
                    (0.0, _ENDLESS),
                    first,
                    method=method,
                    events=events,
                    rtol=RELATIVE_TOLERANCE,
                    atol=tolerances,
                )
            if found.status > 0:
                return found
            failure = StepTooSmallError(float(found.y[-1, -1]) / len(found.t))
        except StepTooSmallError as error:
            failure = error
    raise failure
