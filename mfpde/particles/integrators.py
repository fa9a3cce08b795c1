"""Time integration of particles: Dormand-Prince of order 8 or 5, or classical Runge-Kutta.

All yield ``(time, state)`` after every accepted step, so that a run can be
interrupted, and end a step exactly at every requested time.  A few particles that meet may
become one instead: :class:`Merging` yields at the requested times only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import ClassVar, Literal

import numpy as np
import scipy

from mfpde.arrays import FloatArray
from mfpde.atoms.motion import AtomMotion, StepTooSmallError
from mfpde.measures.events import Event
from mfpde.particles.systems import ParticleSystem, particle_system
from mfpde.positions.blocks import LayerMaps
from mfpde.runge_kutta import CLASSICAL, combine, find_slopes

SMALLEST_STEP = 1e-13
"""A run of more steps than the inverse of this would never end."""
FIRST_STEPS = 100
"""Steps in which a method finds its size."""


class NotFiniteError(ArithmeticError):
    """A velocity is infinite or not a number."""


@dataclass
class CountedVelocity:
    """The velocity of a system as a function of its state; counts its evaluations."""

    system: ParticleSystem
    evaluations: int = 0

    def __call__(self, state: FloatArray) -> FloatArray:
        """Velocity at ``state``; a velocity that is not finite raises :class:`NotFiniteError`."""
        self.evaluations += 1
        velocity = self.system.velocity(state)
        if not np.isfinite(velocity).all():
            raise NotFiniteError
        return velocity


@dataclass(frozen=True)
class DormandPrince:
    """Dormand-Prince of order 8 (DOP853) or 5; Hairer, Norsett & Wanner (1993), II.5."""

    rtol: float
    atol: float
    order: Literal[8, 5] = 8
    events: ClassVar[tuple[Event, ...]] = ()

    def trajectory(
        self, velocity: CountedVelocity, times: FloatArray
    ) -> Iterator[tuple[float, FloatArray]]:
        """Yield after each accepted step; normalise the state at each of ``times``."""
        system = velocity.system
        method = scipy.integrate.DOP853 if self.order == 8 else scipy.integrate.RK45
        state = system.start
        shape, step = state.shape, None

        def slope(_time: float, flat: FloatArray) -> FloatArray:
            return velocity(flat.reshape(shape)).ravel()

        smallest, taken = SMALLEST_STEP * float(times[-1] - times[0]), 0
        for begin, end in pairwise(times.tolist()):
            solver = method(
                slope,
                begin,
                state.ravel(),
                end,
                rtol=self.rtol,
                atol=self.atol,
                first_step=None if step is None else min(step, end - begin),
            )
            while solver.status == "running":
                step = solver.h_abs
                solver.step()
                taken += 1
                is_hopeless = taken > FIRST_STEPS and solver.h_abs < smallest
                if solver.status == "failed" or is_hopeless:
                    raise StepTooSmallError(solver.h_abs)
                state = solver.y.reshape(shape)
                if solver.status == "finished":
                    state = system.normalize(state)
                yield float(solver.t), state
            # The end of the interval cut the last step: go on with what it cut.
            step = max(step or 0.0, solver.h_abs)


@dataclass(frozen=True)
class RungeKutta:
    """Classical Runge-Kutta of order 4 with a fixed step; Kutta (1901).

    The points of a step are normalised at its end: velocities are those of normalised points,
    so that the exact solution stays on the sphere, and the method of order 4 leaves it by h^5.
    """

    step: float
    events: ClassVar[tuple[Event, ...]] = ()

    def trajectory(
        self, velocity: CountedVelocity, times: FloatArray
    ) -> Iterator[tuple[float, FloatArray]]:
        """Yield after each step; the last one of each interval is shortened."""
        state = velocity.system.start
        for begin, end in pairwise(times.tolist()):
            count = max(1, int(np.ceil((end - begin) / self.step - 1e-9)))
            for index in range(count):
                is_last = index == count - 1
                time = begin + index * self.step
                step = end - time if is_last else self.step
                state = _take_step(velocity, state, step)
                yield end if is_last else time + step, state


@dataclass
class Merging:
    """Motion on a rescaled time by direct sums: particles that come within a distance are one."""

    distance: float
    events: tuple[Event, ...] = field(default=(), repr=False)

    def trajectory(
        self, velocity: CountedVelocity, times: FloatArray
    ) -> Iterator[tuple[float, FloatArray]]:
        """Yield at each of ``times``; the system of ``velocity`` becomes that of what is left."""
        equation = velocity.system.equation
        motion = AtomMotion(equation, self.distance)
        for begin, end in pairwise(times.tolist()):
            before = velocity.system.atoms(velocity.system.start)
            after, events = motion.move(before, start=begin, end=end)
            self.events += events
            velocity.system = particle_system(equation, after, "direct")
            yield end, velocity.system.start


Integrator = DormandPrince | RungeKutta | Merging | LayerMaps


def _take_step(velocity: CountedVelocity, state: FloatArray, step: float) -> FloatArray:
    def slope_at(mean: FloatArray) -> FloatArray:
        return velocity(state + step * mean)

    slopes = find_slopes(CLASSICAL, slope_at, velocity(state))
    return velocity.system.normalize(state + step * combine(CLASSICAL.weights, slopes))
