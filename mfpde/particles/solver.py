"""Particle runs: checks, the start, the loop over steps, the record of the saves."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, real_number, shown
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure, Atoms
from mfpde.particles.integrators import (
    CountedVelocity,
    DormandPrince,
    Integrator,
    NotFiniteError,
    RungeKutta,
    StepTooSmallError,
)
from mfpde.particles.methods import (
    MANY,
    check_motion,
    choose_method,
    particle_system,
    particles_of,
)
from mfpde.particles.systems import ParticleSystem
from mfpde.runs import stopping
from mfpde.runs.layers import Layers, Stage, checked_dynamics, for_each_layer, stages_of
from mfpde.runs.progress import progress_bar
from mfpde.runs.run import Run
from mfpde.runs.stopping import SHORTEST_TIME
from mfpde.runs.times import end_time, save_times
from mfpde.version import __version__

SMALLEST_RTOL = 1e-13
LARGEST_NUMBER_OF_STEPS = 1_000_000_000


class Tolerances(NamedTuple):
    """Relative and absolute tolerance of an adaptive method."""

    rtol: float
    atol: float


TOLERANCES = Tolerances(1e-5, 1e-7)
"""What a witness of few particles can say: 2000 are 8e-4 from the density on S^1 (pi/2n)."""
LOOSE = 1e-5
"""From this ``rtol`` on many particles move by the method of order 5.

Kinks that some particle crosses in any step leave order 8 little to win: with ReLU to
t = 20, at 1e-4, it takes 1.8 times the evaluations for half the error.
"""
DIAGNOSTICS = ("mass", "energy", "dissipation")


def solve_particles(
    equation: MeanFieldEquation | Layers,
    start: AnyMeasure,
    *,
    t_end: float | None = None,
    save_every: float | None = None,
    save_at: ArrayLike | None = None,
    method: str = "auto",
    count: int | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    time_step: float | None = None,
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
        labels.
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
        Number of particles or labels of a density: by default 2000 particles, or one
        label for each cell.
    rtol, atol
        Tolerances of the adaptive method (Dormand-Prince of order 8): by default 1e-5 and
        1e-7, far below what 2000 particles differ from the density.  Each kink of ReLU that a
        particle crosses costs steps, 10 times as many at ``rtol=1e-8``; ask for that where
        particles are compared with particles.  From 300 particles on whose sums on S^2 are
        spectral, order 5 is used where ``rtol`` is 1e-5 or more.
    time_step
        Use classical Runge-Kutta of order 4 with this step instead, on a sphere in the
        tangent spaces (a particle must move by less than pi in a step).
    progress
        Show a progress bar.

    Returns
    -------
    Run
        States are :class:`Atoms`; diagnostics are ``mass``, ``energy`` (NaN if there is
        none) and ``dissipation`` = sum m |v|^2.

    Raises
    ------
    ValueError
        For an equation with diffusion, an argument out of its range, an unknown method,
        a method for S^1 and S^2 elsewhere, or terms of another dimension than the start.
    """
    dynamics = checked_dynamics(equation)
    for_each_layer(dynamics, lambda layer: check_motion(layer, start))
    t_end = end_time(dynamics, t_end)
    if not isinstance(progress, bool):
        raise ValueError(f"progress = {shown(progress)} must be True or False")
    method = choose_method(start, method, count)
    saves = save_times(t_end, save_every=save_every, save_at=save_at)
    atoms = particles_of(start, method, count)
    is_many = atoms.dimension == 3 and method == "spectral" and len(atoms) >= MANY
    integrator = _integrator(rtol, atol, time_step, is_many=is_many)
    if time_step is not None and t_end / time_step > LARGEST_NUMBER_OF_STEPS:
        raise ValueError(
            f"time_step = {time_step:g} up to t_end = {t_end:g} makes more than "
            f"{LARGEST_NUMBER_OF_STEPS:g} steps"
        )
    began_at = time.perf_counter()
    layers = dynamics if isinstance(dynamics, Layers) else None
    stages = stages_of(dynamics, 0.0, t_end, saves)
    system = particle_system(stages[0].equation, atoms, method)
    record = _Record(system, frozenset(saves.tolist()), system.start)
    motion = _Motion(stages, atoms, method, record)
    steps = motion.trajectory(integrator, np.union1d(saves, [0.0, t_end]))
    with np.errstate(over="ignore", invalid="ignore"), _bar(t_end, progress) as show:
        stop = _followed(steps, record, show)
    return Run(
        equation=motion.equation,
        times=np.array(record.times),
        states=list(record.states),
        diagnostics={
            name: np.array([row[name] for row in record.rows]) for name in DIAGNOSTICS
        },
        stop=stop,
        final=record.system.atoms(record.state),
        final_time=record.time,
        statistics={
            "method": method,
            "integrator": repr(integrator),
            "particles": len(atoms),
            "steps": record.steps,
            "evaluations": motion.evaluations,
            "wall_seconds": time.perf_counter() - began_at,
            "version": __version__,
            **({"layers": len(layers)} if layers is not None else {}),
        },
        layers=layers,
    )


@dataclass(eq=False)
class _Record:
    """The present state of a run, and its saved states with their diagnostics."""

    system: ParticleSystem
    wanted: frozenset[float]
    state: FloatArray
    time: float = 0.0
    steps: int = -1
    times: list[float] = field(default_factory=list)
    states: list[AnyMeasure] = field(default_factory=list)
    rows: list[dict[str, float]] = field(default_factory=list)

    def reach(self, time: float, state: FloatArray) -> None:
        """Take over the state at ``time``, and save it if this time is wanted."""
        self.time, self.state = time, state
        self.steps += 1
        if time in self.wanted:
            atoms = self.system.atoms(state)
            row = {
                "mass": atoms.total_mass,
                "energy": self.system.energy(state),
                "dissipation": self.system.dissipation(state),
            }
            self.times.append(time)
            self.states.append(atoms)
            self.rows.append(row)


@dataclass(eq=False)
class _Motion:
    """The motion of particles from layer to layer, each with a system of its own."""

    stages: Sequence[Stage]
    atoms: Atoms
    method: str
    record: _Record
    evaluations: int = 0

    def __post_init__(self) -> None:
        self.equation = self.stages[0].equation

    def trajectory(
        self, integrator: Integrator, times: FloatArray
    ) -> Iterator[tuple[float, FloatArray]]:
        """Yield time and state after each step, from ``times[0]`` to the last of them."""
        begin = times[0]
        for index, (equation, end) in enumerate(self.stages):
            if index:
                system = particle_system(equation, self.atoms, self.method)
                # On S^1 the angles go on where they are, not from within one turn.
                self.record.system = replace(system, start=self.record.state)
                self.equation = equation
            inside = times[(times > begin) & (times < end)]
            velocity = CountedVelocity(self.record.system)
            try:
                yield from integrator.trajectory(
                    velocity, np.array([begin, *inside, end])
                )
            finally:
                self.evaluations += velocity.evaluations
            begin = end


def _followed(
    steps: Iterator[tuple[float, FloatArray]],
    record: _Record,
    show: Callable[[float], None],
) -> stopping.StopReason:
    """Follow the trajectory to its end or to an early stop, and return the reason."""
    try:
        record.reach(0.0, record.state)
        for reached, state in steps:
            record.reach(reached, state)
            show(reached)
    except KeyboardInterrupt:
        return stopping.interrupted(record.time)
    except NotFiniteError:
        return stopping.not_finite(record.time)
    except StepTooSmallError:
        return stopping.StopReason(
            "step_too_small",
            f"the tolerances ask for a step below rounding at t = {record.time:.6g}: "
            "the velocity is too fast for this unit of time; use kernel='shifted' with "
            "the time scaled by e^beta, or raise rtol and atol",
        )
    return stopping.reached_end(record.time)


def _integrator(
    rtol: float | None,
    atol: float | None,
    time_step: float | None,
    *,
    is_many: bool,
) -> Integrator:
    given = TOLERANCES.rtol if rtol is None else rtol
    rtol = real_number("rtol", given, at_least=SMALLEST_RTOL)
    atol = real_number("atol", TOLERANCES.atol if atol is None else atol, above=0.0)
    if time_step is None:
        return DormandPrince(rtol, atol, 5 if is_many and rtol >= LOOSE else 8)
    return RungeKutta(real_number("time_step", time_step, at_least=SHORTEST_TIME))


@contextmanager
def _bar(t_end: float, wanted: bool) -> Iterator[Callable[[float], None]]:
    """Yield a function that shows the time reached: on a bar, or nowhere."""
    if not wanted:
        yield lambda reached: None
        return
    with progress_bar() as bar:
        task = bar.add_task("particles", total=t_end)
        yield lambda reached: bar.update(task, completed=reached)
