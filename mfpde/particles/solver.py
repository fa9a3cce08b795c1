"""Particle runs: checks, the start, the loop over steps, the record of the saves."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, real_number
from mfpde.atoms.motion import StepTooSmallError
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure, Atoms
from mfpde.particles.integrators import (
    CountedVelocity,
    DormandPrince,
    Integrator,
    Merging,
    NotFiniteError,
    RungeKutta,
)
from mfpde.particles.systems import (
    MANY,
    ParticleStart,
    ParticleSystem,
    check_motion,
    choose_method,
    particle_system,
    particles_of,
)
from mfpde.positions.blocks import LayerMaps, VanishedError, check_discrete, is_discrete
from mfpde.positions.tokens import place_tokens
from mfpde.runs.layers import Layers, Stage, checked_dynamics, for_each_layer, stages_of
from mfpde.runs.progress import LineReport, line_if
from mfpde.runs.run import Run
from mfpde.runs.stopping import SHORTEST_TIME, StopReason
from mfpde.runs.times import end_time, save_times
from mfpde.terms.normalization import MEAN_RADIUS, RADIUS, RADIUS_ZERO, split_tokens
from mfpde.version import __version__

SMALLEST_RTOL = 1e-13
LARGEST_NUMBER_OF_STEPS = 1_000_000_000
LOOSE = 1e-5
"""From this ``rtol`` on many particles move by the method of order 5.

Kinks that some particle crosses in any step leave order 8 little to win: with ReLU to
t = 20, at 1e-4, it takes 1.8 times the evaluations for half the error.
"""
MERGE_DISTANCES = 1e-9, 0.1
"""Least and largest ``merge_below``: the digits of places, and a wide cluster."""


def solve_particles(
    equation: MeanFieldEquation | Layers,
    start: ParticleStart,
    *,
    positions: ArrayLike | None = None,
    t_end: float | None = None,
    save_every: float | None = None,
    save_at: ArrayLike | None = None,
    method: str = "auto",
    count: int | None = None,
    rtol: float = 1e-5,
    atol: float = 1e-7,
    time_step: float | None = None,
    merge_below: float | None = None,
    progress: bool = False,
) -> Run:
    """Solve x_i' = v[mu](x_i), mu = sum_i m_i delta_{x_i}, without the density solver.

    Begin with
    ``solve_particles(equation, quantized(uniform(Circle(512)), 500), t_end=20.0)``.

    Parameters
    ----------
    equation
        The equation, without diffusion, or :class:`Layers` of several; the method starts
        anew at each breakpoint, and a save there has the energy of the layer that ends.
    start
        Atoms are moved as they are; a density or measure, on any geometry, is quantised
        into ``count`` particles, or with ``method="labels"`` turned into ``count``
        labels.  So is each row of a :class:`mfpde.PositionedDensity`.
    positions
        Positions (n,) of atoms that are tokens in their order, rising within (0, 1]; what each
        sees is said by the ``positions`` of :class:`Attention`.
    t_end
        End time, above 0; of layers at most their depth, which is the default.
    save_every, save_at
        Saves at 0, save_every, ... and t_end, or at exactly the given times; with
        neither at 0 and t_end.
    method
        ``"direct"``: O(N^2) sums in any dimension; ``"spectral"``: through the moments,
        O(N L_beta) on S^1 and O(N L_beta^2) on S^2; ``"labels"``: a density's weighted
        labels, moved spectrally, uniform in angle on S^1 (see :func:`label_density`), at
        the nodes of a grid on S^2; ``"auto"``: spectral on S^1, and on S^2 from 300
        particles on, else direct.
    count
        Number of particles or labels of a density: by default 2000 particles (100 of each
        row), or one label for each cell.
    rtol, atol
        Tolerances of the adaptive method (Dormand-Prince of order 8), by default far below
        what 2000 particles differ from the density: 8e-4 on S^1 (pi/2n).  Each kink of ReLU that a
        particle crosses costs steps, 10 times as many at ``rtol=1e-8``; ask for that where
        particles are compared with particles.  From 300 particles on whose sums on S^2 are
        spectral, order 5 is used where ``rtol`` is 1e-5 or more.
    time_step
        Use classical Runge-Kutta of order 4 with this step instead; it carries tokens of a
        normalization past the origin, where the adaptive method stops.
    merge_below
        Distance below which particles become one, as ``run.events`` tells: 1e-6, say, for a few
        tokens whose clusters meet after e^(c beta).  The time is then rescaled between merges
        (:mod:`mfpde.atoms.motion`), forces are summed directly, and tolerances are 1e-10: a merge
        costs some 400 evaluations, whenever it comes up to t_end = 1e300.
    progress
        Show a progress bar.

    Returns
    -------
    Run
        States are :class:`Atoms`, with positions :class:`mfpde.PositionedAtoms`; diagnostics are
        ``mass``, ``energy`` (NaN if there is none) and ``dissipation`` = sum m |v|^2.

    Raises
    ------
    ValueError
        For an equation with diffusion, an argument out of its range, an unknown method,
        a method for S^1 and S^2 elsewhere, or terms of another dimension than the start.
    """
    dynamics = checked_dynamics(equation)
    if positions is not None:
        start = place_tokens(start, positions)
    for_each_layer(dynamics, lambda layer: check_motion(layer, start))
    t_end, method = end_time(dynamics, t_end), choose_method(start, method, count)
    stages = stages_of(dynamics, 0.0, t_end)
    breaks = [stage.end for stage in stages]
    some = 1 if is_discrete(dynamics) else None
    saves = save_times(
        t_end, save_every=save_every, save_at=save_at, default_saves=some, breaks=breaks
    )
    atoms = particles_of(start, method, count)
    is_many = atoms.dimension == 3 and method == "spectral" and len(atoms) >= MANY
    integrator = _integrator(rtol, atol, time_step, is_many=is_many)
    if merge_below is not None:
        integrator = _merging(merge_below, method, time_step)
    of_flows = {"time_step": time_step, "merge_below": merge_below}
    check_discrete(dynamics, [*saves, t_end], **of_flows)
    if is_discrete(dynamics):
        integrator = LayerMaps()
    if time_step is not None and t_end / time_step > LARGEST_NUMBER_OF_STEPS:
        raise ValueError(
            f"time_step = {time_step:g} up to t_end = {t_end:g} makes more than "
            f"{LARGEST_NUMBER_OF_STEPS:g} steps"
        )
    began_at = time.perf_counter()
    with np.errstate(over="ignore", invalid="ignore"), line_if(progress) as line:
        motion = _Motion(stages[0].equation, atoms, method, saves)
        stop = motion.follow(stages, integrator, line)
    return Run(
        equation=motion.system.equation,
        times=np.array(motion.times),
        states=motion.states,
        diagnostics={name: np.array(row) for name, row in motion.diagnostics.items()},
        stop=stop,
        final=motion.system.atoms(motion.state),
        final_time=motion.time,
        statistics={
            "method": method,
            "integrator": repr(integrator),
            "particles": len(atoms),
            "steps": motion.steps,
            "evaluations": motion.velocity.evaluations,
            "wall_seconds": time.perf_counter() - began_at,
            "version": __version__,
        },
        events=integrator.events,
        layers=dynamics if isinstance(dynamics, Layers) else None,
    )


class _Motion:
    """Particles on their way: the present time and state, and what is saved of them."""

    def __init__(
        self, equation: MeanFieldEquation, atoms: Atoms, method: str, saves: FloatArray
    ) -> None:
        self.method, self.saves, self.time, self.steps = method, saves, 0.0, 0
        self.velocity = CountedVelocity(particle_system(equation, atoms, method))
        self.state = self.system.start
        self.times: list[float] = []
        self.states: list[AnyMeasure] = []
        self.diagnostics: dict[str, list[Any]] = {}

    @property
    def system(self) -> ParticleSystem:
        """The particles under the equation that acts now."""
        return self.velocity.system

    @property
    def _radii(self) -> FloatArray:
        """R of the tokens (n,), 1 without a normalization."""
        if self.system.equation.normalization is None:
            return np.ones(len(self.system.particles))
        return split_tokens(self.state)[0]

    def follow(
        self, stages: Sequence[Stage], integrator: Integrator, line: LineReport | None
    ) -> StopReason:
        """Move through all layers, or to an early stop, and return the reason to stop."""
        wanted = frozenset(self.saves.tolist())
        try:
            if 0.0 in wanted:
                self._save()
            for reached, state in self._steps(stages, integrator):
                self.time, self.state = reached, state
                self.steps += 1
                if reached in wanted:
                    self._save()
                if line is not None:
                    share = reached / stages[-1].end
                    line(share, f"particles {share:.0%}")
        except (KeyboardInterrupt, NotFiniteError) as error:
            kind = (
                "interrupted" if isinstance(error, KeyboardInterrupt) else "non_finite"
            )
            return StopReason.of(kind, time=self.time)
        except VanishedError as error:
            return StopReason("vanished", f"at t = {self.time:g}: {error}")
        except StepTooSmallError as error:
            return StopReason.of("step_too_small", time=self.time, step=error.step)
        return StopReason.of("t_end", time=self.time)

    def _steps(
        self, stages: Sequence[Stage], integrator: Integrator
    ) -> Iterator[tuple[float, FloatArray]]:
        """Yield time and state after each step; each layer has a system of its own."""
        for number, (equation, end) in enumerate(stages):
            if number:
                atoms, radii = self.system.atoms(self.state), self._radii
                self.velocity.system = particle_system(
                    equation, atoms, self.method, radii
                )
            inside = self.saves[(self.saves > self.time) & (self.saves < end)]
            times = np.array([self.time, *inside, end])
            for reached, state in integrator.trajectory(self.velocity, times):
                start, scaled = self.system.start, equation.normalization
                # A step of fixed length goes past the origin straight on, as tokens do.
                if isinstance(integrator, RungeKutta):
                    scaled = None
                if scaled and scaled.ends_between(start, self.state, state):
                    raise VanishedError(RADIUS_ZERO)
                yield reached, state

    def _save(self) -> None:
        atoms = self.system.atoms(self.state)
        self.times.append(self.time)
        self.states.append(atoms)
        numbers: dict[str, Any] = {
            "mass": atoms.total_mass,
            "energy": self.system.energy(self.state),
            "dissipation": self.system.dissipation(self.state),
        }
        if self.system.equation.normalization is not None:
            radii = self._radii
            mean = atoms.masses @ radii / atoms.total_mass
            numbers |= {MEAN_RADIUS: mean, RADIUS: radii}
        for name, value in numbers.items():
            self.diagnostics.setdefault(name, []).append(value)


def _integrator(
    rtol: float, atol: float, time_step: float | None, *, is_many: bool
) -> Integrator:
    rtol = real_number("rtol", rtol, at_least=SMALLEST_RTOL)
    atol = real_number("atol", atol, above=0.0)
    if time_step is None:
        return DormandPrince(rtol, atol, 5 if is_many and rtol >= LOOSE else 8)
    return RungeKutta(real_number("time_step", time_step, at_least=SHORTEST_TIME))


def _merging(merge_below: float, method: str, time_step: float | None) -> Merging:
    least, most = MERGE_DISTANCES
    distance = real_number("merge_below", merge_below, at_least=least, at_most=most)
    if method == "labels" or time_step is not None:
        raise ValueError(
            f"merge_below = {distance:g} with method = {method!r} and time_step = {time_step!r}: "
            "particles that merge have direct sums and steps of their own; leave these out"
        )
    return Merging(distance)
