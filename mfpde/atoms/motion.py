r"""Atoms alone: a stiff differential equation once the density's mass is negligible.

Clusters approach each other at rates down to e^{-2 beta}: an implicit method crosses ten
decades of time in some hundred steps.  Forces are sums over pairs in which nothing cancels
(:meth:`mfpde.terms.kernels.Kernel.sums_between`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from mfpde.arrays import FloatArray
from mfpde.atoms.clusters import nearest_pair
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.arcs import normalised
from mfpde.measures.events import Event
from mfpde.terms import PointMasses

RELATIVE_TOLERANCE = 1e-10
ABSOLUTE_TOLERANCE = 1e-13
MOST_EVALUATIONS = 30_000
"""Evaluations of the atoms' velocities between two meetings; long runs take some thousands."""
_MET = 1 + 1e-6
"""Factor of the distance at which atoms meet, which the integrator finds to rounding."""


class AtomsTooFastError(FloatingPointError):
    """Atoms that would never reach the end of their motion, in steps of length ``step``."""

    def __init__(self, step: float) -> None:
        super().__init__(f"atoms alone move in steps of {step:.1e}")
        self.step = step


@dataclass(frozen=True)
class AtomMotion:
    """The motion of atoms alone under an equation, from one time to another."""

    equation: MeanFieldEquation
    meeting_distance: float

    def advanced(
        self, points: FloatArray, masses: FloatArray, *, start: float, end: float
    ) -> tuple[FloatArray, FloatArray, tuple[Event, ...]]:
        """Return points (n, d) and masses (n,) at the time ``end``, and merges since ``start``.

        Raises
        ------
        AtomsTooFastError
            If the integrator fails, or takes steps that would never reach the end.
        """
        events: list[Event] = []
        while start < end and len(masses) > 0:
            points, start = self._until_meeting(points, masses, start=start, end=end)
            while (near := nearest_pair(points))[0] <= self.meeting_distance * _MET:
                first, second = met = [*near[1:]]
                events.append(Event("merge", start, points[met], masses[met]))
                points[first], total = masses[met] @ points[met], masses[met].sum()
                points = normalised(np.delete(points, second, axis=0))
                masses = np.delete(masses, second)
                masses[first] = total
        return points, masses, tuple(events)

    def _until_meeting(
        self, points: FloatArray, masses: FloatArray, *, start: float, end: float
    ) -> tuple[FloatArray, float]:
        shape = points.shape

        def meeting(_: float, flat: FloatArray) -> float:
            return (
                nearest_pair(normalised(flat.reshape(shape)))[0] - self.meeting_distance
            )

        meeting.terminal = True  # type: ignore[attr-defined]
        rate = self._rate(masses, shape)
        found = _integrated(
            rate, points.ravel(), end - start, meeting if len(masses) > 1 else None
        )
        last = normalised(found.y[:, -1].reshape(shape))
        return last, end if found.status == 0 else start + float(found.t[-1])

    def _rate(
        self, masses: FloatArray, shape: tuple[int, ...]
    ) -> Callable[[float, FloatArray], FloatArray]:
        equation = self.equation

        def rate(_: float, flat: FloatArray) -> FloatArray:
            points = normalised(flat.reshape(shape))
            atoms = PointMasses(points, masses)
            speeds = np.zeros(shape)
            for interaction in equation.interactions:
                speeds += interaction.pull_between_atoms(atoms)
            for term in equation.externals:
                speeds += term.drift(points)
            return equation.sign * speeds.ravel()

        return rate


def _integrated(
    rate: Callable[[float, FloatArray], FloatArray],
    first: FloatArray,
    duration: float,
    event: Callable[[float, FloatArray], float] | None,
) -> Any:
    """Integrate ``rate`` by the first method that gets to the end or the ``event``.

    Near rest rounding may keep LSODA from its methods for stiff equations, so that its steps stay
    as short as the fastest rate asks for; BDF is one of these methods alone.
    """
    for method in ("LSODA", "BDF"):
        try:
            with warnings.catch_warnings():
                # Why LSODA gives up; the next method goes on.
                warnings.filterwarnings("ignore", message="lsoda: ")
                # Time counts from the start: late in a long run its digits are few.
                found = solve_ivp(
                    _within_reason(rate),
                    (0.0, duration),
                    first,
                    method=method,
                    events=event,
                    rtol=RELATIVE_TOLERANCE,
                    atol=ABSOLUTE_TOLERANCE,
                )
            if found.status >= 0:
                return found
            failure = AtomsTooFastError(float(found.t[-1]) / len(found.t))
        except AtomsTooFastError as error:
            failure = error
    raise failure


def _within_reason(
    rate: Callable[[float, FloatArray], FloatArray],
) -> Callable[[float, FloatArray], FloatArray]:
    """The same rate, which may be asked for ``MOST_EVALUATIONS`` times."""
    evaluations = 0

    def counted(time: float, flat: FloatArray) -> FloatArray:
        nonlocal evaluations
        evaluations += 1
        if evaluations > MOST_EVALUATIONS:
            raise AtomsTooFastError(time / evaluations)
        return rate(time, flat)

    return counted
