r"""Ensembles of random layers: how tokens come together under weights that they share.

The **two-token statistic** (1 - |int x dmu|^2) / 2 is the mean of (1 - x.x') / 2 over two tokens
x, x' of mu: 0 where all have met, 1/2 where they are balanced.  The **largest Lyapunov exponent**
is the rate log|delta(T)| / T, per unit of time, at which a small displacement delta of the first
token grows in the field of all,

    delta' = D v[mu(t)](x(t)) delta,      |delta(0)| = 1,

integrated along with the tokens as its direction and the logarithm of its length.  Tokens that
synchronise have a negative one.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp
from threadpoolctl import threadpool_limits

from mfpde.arrays import LARGEST_COUNT, FloatArray, choice, shown, whole_number
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.arcs import normalize
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure
from mfpde.measures.sampling import as_atoms
from mfpde.notebook import Printed, format_table
from mfpde.particles import solve_particles
from mfpde.runs.layers import Layers, stages_of
from mfpde.runs.times import DEFAULT_SAVES, end_time, save_times
from mfpde.solver.solve import solve

MakeLayers = Callable[[np.random.Generator], Layers]
AVERAGED = {
    "two_token": "two-token statistic",
    "energies": "energy",
    "lyapunov": "largest Lyapunov exponent",
}
DIFFERENCE = float(np.cbrt(np.finfo(float).eps))
"""Half the distance, as a tangent, of the points whose velocities give D v."""


class Average(NamedTuple):
    """A mean over runs and its standard error; NaN for a single run."""

    mean: FloatArray
    error: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Ensemble(Printed):
    """Runs of random layers from one start.

    Attributes
    ----------
    times, two_token, energies
        Times of the saves, shape (times,), with (1 - |int x dmu|^2) / 2 and energy of each run,
        shape (runs, times); the energy is NaN where there is none, at a breakpoint that of the
        layer that ends.
    lyapunov
        Largest Lyapunov exponents up to the end, per unit of time, shape (runs,); NaN if the
        start has a density, or they were not asked for.
    seeds, seed
        The seed of each run, whose layers are ``make_layers(np.random.default_rng(seed))``, and
        the one from which these were drawn.
    """

    times: FloatArray
    two_token: FloatArray
    energies: FloatArray
    lyapunov: FloatArray
    seeds: tuple[int, ...]
    seed: int

    def average(self, name: str) -> Average:
        """Return the mean of an array over the runs; ``ValueError`` for another ``name``."""
        values = getattr(self, choice("name", name, AVERAGED))
        with np.errstate(invalid="ignore"):
            error = values.std(axis=0) / np.sqrt(len(values) - 1)
        return Average(values.mean(axis=0), error)

    def __str__(self) -> str:
        rows = []
        for name, words in AVERAGED.items():
            mean, error = map(np.asarray, self.average(name))
            start = mean.item(0) if mean.ndim else np.nan
            rows.append((words, start, mean.item(-1), error.item(-1)))
        number, end = len(self.seeds), self.times[-1]
        return (
            f"{number} runs of random layers to t = {end:g}, seed {self.seed}\n"
            f"{format_table(('mean of', 'start', 'end', 'standard error'), rows)}"
        )


def ensemble(
    make_layers: MakeLayers,
    start: AnyMeasure,
    *,
    runs: int,
    seed: int,
    t_end: float | None = None,
    save_every: float | None = None,
    save_at: ArrayLike | None = None,
    lyapunov: bool = True,
    jobs: int = 1,
    **options: Any,
) -> Ensemble:
    """Run ``runs`` draws of random layers from the same ``start``.

    Begin with
    ``ensemble(lambda rng: Layers([(equation, 1.0)]), Atoms(np.eye(2)), runs=2, seed=0)``.

    Parameters
    ----------
    make_layers
        Function of a generator that draws :class:`Layers`, all of the same depth.
    start
        Atoms are moved as tokens, in any dimension; a density or a measure with one is solved
        on its grid.
    runs
        Number of draws.
    seed
        A whole number of at least 0.  Each run has a seed of its own, drawn from it: the same
        seed gives the same numbers, whatever ``jobs`` is.
    t_end, save_every, save_at
        As for :func:`mfpde.solve`; by default the depth of the layers, and 50 equal intervals.
    lyapunov
        Whether the exponents of tokens are computed, which costs more than the runs.
    jobs
        Number of processes, to which the start and the layers are sent.
    options
        More arguments of :func:`mfpde.solve_particles`, or of :func:`mfpde.solve`.

    An argument out of its range, and layers that end before ``t_end``, are a ``ValueError``.
    """
    if not callable(make_layers):
        raise ValueError(
            f"make_layers = {shown(make_layers)} must be a function of a generator that "
            "returns Layers"
        )
    runs = whole_number("runs", runs, at_least=1, at_most=LARGEST_COUNT)
    seed = whole_number("seed", seed, at_least=0)
    jobs = whole_number("jobs", jobs, at_least=1, at_most=LARGEST_COUNT)
    drawn = np.random.SeedSequence(seed).generate_state(runs, np.uint64)
    seeds = tuple(map(int, drawn))
    t_end = end_time(_draw_layers(make_layers, seeds[0]), t_end)
    times = save_times(
        t_end, save_every=save_every, save_at=save_at, default_saves=DEFAULT_SAVES
    )
    options |= {"t_end": t_end, "save_at": times}
    follow = partial(_follow_run, start, options, lyapunov)
    draws = (_draw_layers(make_layers, one) for one in seeds)
    if jobs == 1:
        results = [*map(follow, seeds, draws)]
    else:
        # Of one thread each: those of several processes would wait for each other.
        with ProcessPoolExecutor(
            min(jobs, runs), initializer=threadpool_limits, initargs=(1,)
        ) as pool:
            results = [*pool.map(follow, seeds, draws)]
    statistics, energies, exponents = map(np.array, zip(*results, strict=True))
    return Ensemble(times, statistics, energies, exponents, seeds, seed)


def _draw_layers(make_layers: MakeLayers, seed: int) -> Layers:
    # Users hand over other things too.
    layers: object = make_layers(np.random.default_rng(seed))
    if not isinstance(layers, Layers):
        raise ValueError(f"make_layers returned {shown(layers)}: it must return Layers")
    return layers


def _follow_run(
    start: AnyMeasure,
    options: dict[str, Any],
    lyapunov: bool,
    seed: int,
    layers: Layers,
) -> tuple[FloatArray, FloatArray, float]:
    """Return the two-token statistic and energies (times,) of a run, and its exponent."""
    solver = solve_particles if isinstance(start, Atoms) else solve
    run = solver(layers, start, **options)
    if len(run.times) < len(options["save_at"]):
        raise ValueError(f"the run of seed {seed} did not reach its end: {run.reason}")
    exponent = np.nan
    if lyapunov and isinstance(start, Atoms):
        heading = np.random.default_rng([seed, 1]).standard_normal(start.dimension)
        exponent = lyapunov_exponent(layers, start, heading, t_end=run.final_time)
    means = map(find_mean, run.states)
    statistic = np.array([(1 - mean @ mean) / 2 for mean in means])
    return statistic, run.energies, exponent


def find_mean(measure: AnyMeasure) -> FloatArray:
    """Return int x dmu, shape (d,)."""
    cells = as_atoms(measure)
    mean = cells.masses @ cells.points
    axis = None if isinstance(measure, Atoms) else as_measure(measure).geometry.axis
    # A band of a zonal grid is all around the axis.
    return np.asarray(mean if axis is None else (mean @ axis) * axis)


def lyapunov_exponent(
    layers: Layers, tokens: Atoms, heading: FloatArray, *, t_end: float
) -> float:
    """Return log|delta(t_end)| / t_end for a displacement delta of the first of ``tokens``.

    It starts along the tangential part of ``heading`` (d,).
    """

    def find_rates(
        _time: float, state: FloatArray, equation: MeanFieldEquation
    ) -> FloatArray:
        """Rates of the tokens, the displacement's direction, and the logarithm of its length."""
        vectors = state[:-1].reshape(len(tokens) + 1, -1)
        points = normalize(vectors[:-1])
        # The part along x neither grows nor decays: beside a tangent that decays it would win.
        direction = _unit_tangent(vectors[-1], points[0])
        beside = points[0] + DIFFERENCE * np.array([[1.0], [-1.0]]) * direction
        field = equation.field(Atoms(points, tokens.masses))
        speeds = field.velocity(np.concatenate([points, normalize(beside)]))
        moved = (speeds[-2] - speeds[-1]) / (2 * DIFFERENCE)
        growth = moved @ direction
        turn = moved - growth * direction
        return np.concatenate([speeds[:-2].ravel(), turn, [growth]])

    direction = _unit_tangent(heading, tokens.points[0])
    state = np.concatenate([tokens.points.ravel(), direction, [0.0]])
    begin, tolerance = 0.0, np.sqrt(np.finfo(float).eps)
    options = {"method": "DOP853", "rtol": tolerance, "atol": tolerance}
    for equation, end in stages_of(layers, 0.0, t_end):
        found = solve_ivp(find_rates, (begin, end), state, args=(equation,), **options)
        if found.status < 0:
            raise ValueError(f"the tangent motion failed: {found.message}")
        state, begin = found.y[:, -1], end
    return float(state[-1] / t_end)


def _unit_tangent(vector: FloatArray, point: FloatArray) -> FloatArray:
    """The direction (d,) of the tangential part of ``vector`` (d,) at ``point`` (d,)."""
    return normalize(vector - (vector @ point) * point)
