r"""Whether a run is unstable along a symmetry that its start and its equation share.

A symmetry of the start and of the equation is one of every mu(t): the run finds the symmetric
solution, and starts nearby may go elsewhere.  Whether they do, a run on a coarse grid tells, from
the start times (1 + 1e-2 g), g a random field.  With h = mu - (the mean of mu over the symmetry),
and its moments h_l of degree l, of size 1 for a unit mass at a point, it measures

    |h|_weak = max_l |h_l| sqrt((d-1) / (l (l+d-2))) <= W1,    G(t) = |h(t)|_weak / |h(0)|_L1.

Where a density is only carried along, however it is compressed, G <= pi / 2.  Starts part where G
is above ``UNSTABLE``, and |h|_weak above what a cluster narrower than a cell may slide in it.  The
rate is that of the fastest growth by a factor e beyond pi / 2.

About the uniform state of an equation without external terms a perturbation of degree l grows at

    l (l + d - 2) (s lambda_l - kappa),    lambda_l / (beta lambda_0) for softmax,

exactly, with eigenvalues lambda_l of the kernel for the uniform probability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray, IntArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.measures.measure import Density, Measure
from mfpde.measures.starts import perturbed_uniform
from mfpde.runs.layers import Stage
from mfpde.runs.run import SYMMETRIC_START
from mfpde.runs.stopping import StepRecord, StoppingCondition, StopReason
from mfpde.solver.recorder import Recorder
from mfpde.solver.shared_symmetry import (
    SAME_DENSITY,
    SharedSymmetries,
    Symmetry,
    density_on_frame,
    shared_symmetries,
    turned_equation,
)
from mfpde.solver.time_loop import Method, TimeLoop
from mfpde.terms import Head, ZonalTerm
from mfpde.terms.interaction import RESOLVED_TOLERANCE
from mfpde.transport import LARGEST_DEGREE, scheme_for

BEGINNING = "start and equation share"
"""The first words of the note."""
UNSTABLE = 10.0
"""SymmetryBreaking from which on a perturbation of 1e-2 changes the state."""
BY_TRANSPORT = np.pi / 2
MOST_STEPS = 300
MOST_LAYERS = 1000
_AMPLITUDE = 1e-2
_RTOL = 1e-2
_LEAST_DEGREES = {2: 63, 3: 31}
_WATCHED_DEGREE = 16
_SLIDE_OF_LABELS = 0.3
"""Cells that a cluster of labels may slide: it feels the grid by its moments (measured: .22)."""
_INSTANTS = 400
_TINY = 1e-300


class SymmetryBreaking(NamedTuple):
    """A rate at which perturbations grow, and a time by which one of 1e-2 is not small."""

    rate: float
    time: float


def note_symmetry(
    stages: Sequence[Stage], start: Measure, *, begun: float, ended: float
) -> dict[str, str]:
    """Return the statistic that says along which symmetry a run is unstable, if along one.

    Of the ``stages`` from ``start`` on those up to the time ``ended`` count.  It is judged for a
    density on the circle or the sphere, and for the uniform one on any grid.  What cannot be
    judged, since an equation does not fit the coarse grid or numbers overflow there, has no
    note: no run that has ended well is lost to it.
    """
    count = 1 + sum(stage.end < ended for stage in stages[:-1])
    *before, last = stages[:count]
    try:
        with np.errstate(all="ignore"):
            note = _note([*before, last._replace(end=ended)], start, begun)
    except (ValueError, ArithmeticError, MemoryError):
        note = None
    return {} if note is None else {SYMMETRIC_START: note}


def _note(stages: Sequence[Stage], start: Measure, start_time: float) -> str | None:
    equations = list(dict.fromkeys(stage.equation for stage in stages))
    density, geometry = start.density, start.geometry
    lasts = stages[-1].end > start_time
    if not lasts or len(start.atoms) or not _can_be_judged(equations):
        return None
    values = density.masses / geometry.areas
    is_uniform = np.ptp(values) <= SAME_DENSITY * values.max()
    if is_uniform and not any(e.externals or e.heads for e in equations):
        growth = _growth_about_uniform(stages, geometry, start_time)
        return None if growth is None else _told("all rotations", growth)
    if geometry.axis is not None:
        return None
    grid = _coarse_grid(equations, geometry)
    shared = shared_symmetries(equations, density, grid)
    growths = _growths(stages, density, start_time, shared, grid)
    found = zip(shared.symmetries, growths, strict=True)
    return next((_told(s.name, growth) for s, growth in found if growth), None)


def _told(name: str, growth: SymmetryBreaking) -> str:
    return (
        f"{BEGINNING} {name}, and so does every state of the run, which is unstable: what "
        f"breaks this grows at a rate of up to {growth.rate:.4g}, and a start perturbed by "
        f"1e-2 has parted from it by t = {growth.time:.3g}; perturb the start "
        "(perturbed_uniform(geometry, amplitude=1e-2)) to see where others go"
    )


def _can_be_judged(equations: Sequence[MeanFieldEquation]) -> bool:
    """Whether in each something interacts, by kernels of x.y and by matrices alone."""
    known = all(
        e.interactions and all(isinstance(t, ZonalTerm | Head) for t in e.interactions)
        for e in equations
    )
    return known and len(equations) <= MOST_LAYERS


def _growth_about_uniform(
    stages: Sequence[Stage], geometry: Geometry, start_time: float
) -> SymmetryBreaking | None:
    dimension = geometry.dimension
    degree = max(stage.equation.on(geometry).degree for stage in stages)
    l = np.arange(degree + 1)
    logarithms, fastest, before = np.zeros(degree + 1), 0.0, start_time
    for equation, end in stages:
        curvatures = np.zeros(degree + 1)
        for term in equation.zonal_terms:
            spectrum = term.interaction_spectrum(dimension, degree)
            # The mean kernel of the uniform density is lambda_0 everywhere.
            mean = np.full(degree + 1, spectrum[0])
            curvatures += term.gradient_from(spectrum[np.newaxis], mean)[0]
        signed = equation.sign * curvatures - equation.diffusion
        rates = l * (l + dimension - 2.0) * signed
        fastest = max(fastest, float(rates.max()))
        after = logarithms + rates * (end - before)
        k = int(after.argmax())
        if after[k] >= np.log(UNSTABLE):
            return SymmetryBreaking(
                fastest, end - (after[k] - np.log(UNSTABLE)) / rates[k]
            )
        logarithms, before = after, end
    return None


def _coarse_grid(
    equations: Sequence[MeanFieldEquation], geometry: Geometry
) -> Geometry:
    """A grid that resolves all kernels, no finer than ``geometry``."""
    if any(e.heads for e in equations):
        return geometry
    dimension = geometry.dimension
    limits = [
        term.zonal_kernel.band_limit(dimension, RESOLVED_TOLERANCE)
        for e in equations
        for term in e.zonal_terms
    ]
    coarse = geometry.with_degree(max(_LEAST_DEGREES[dimension], *limits))
    return coarse if coarse.max_degree < geometry.max_degree else geometry


@dataclass(eq=False)
class _Watch(StoppingCondition):
    """A look, after each step, at what breaks each of some symmetries, until starts have parted.

    ``sizes`` are their |h(0)|_L1, ``broken`` has a row of their |h|_weak for each of ``times``.
    """

    symmetries: Sequence[Symmetry]
    grid: Geometry
    loop: TimeLoop
    sizes: FloatArray
    times: list[float] = field(default_factory=list)
    broken: list[FloatArray] = field(default_factory=list)

    def check(self, record: StepRecord) -> StopReason | None:
        """Stop once starts have parted, or after many steps."""
        loop = self.loop
        masses = loop.transport.measured(loop.now.state).masses
        parts = [masses - s.mean(masses, self.grid) for s in self.symmetries]
        self.times.append(record.time)
        self.broken.append(np.array([weak_norm(self.grid, part) for part in parts]))
        if (self.broken[-1] > self.limits).any() or record.steps >= MOST_STEPS:
            return StopReason("told", f"all is known at t = {record.time:.6g}")
        return None

    @property
    def limits(self) -> FloatArray:
        """The |h|_weak from which on starts have parted."""
        moves_labels = self.loop.method.scheme.moves_labels
        share = _SLIDE_OF_LABELS if moves_labels else 1.0
        return np.maximum(UNSTABLE * self.sizes, share * self.grid.spacing)

    def growths(self) -> list[SymmetryBreaking | None]:
        """How what breaks each symmetry grew; None where starts have not parted."""
        parted = self.broken[-1] > self.limits
        grown = np.array(self.broken) / self.sizes
        return [
            self._growth_of(column) if has_parted else None
            for column, has_parted in zip(grown.T, parted, strict=True)
        ]

    def _growth_of(self, grown: FloatArray) -> SymmetryBreaking:
        first = max(int((grown > BY_TRANSPORT).argmax()) - 1, 0)
        times = np.linspace(self.times[first], self.times[-1], _INSTANTS)
        logarithms = np.interp(times, self.times, np.log(np.maximum(grown, _TINY)))
        risen = np.searchsorted(np.maximum.accumulate(logarithms), logarithms + 1)
        inside = risen < len(times)
        return SymmetryBreaking(
            float((1 / (times[risen[inside]] - times[inside])).max()), times[-1]
        )


def weak_norm(grid: Geometry, masses: FloatArray) -> float:
    """|h|_weak of signed ``masses`` h (this module's docstring), degrees up to 16."""
    degrees, weights = _weights_of_moments(grid)
    moments = grid.moments(masses, int(degrees.max()))
    squares = np.bincount(degrees, weights * np.abs(moments) ** 2)
    return float(np.sqrt(squares.max()))


@lru_cache(maxsize=8)
def _weights_of_moments(grid: Geometry) -> tuple[IntArray, FloatArray]:
    """Degree of each moment, and its weight in the square of the part of that degree."""
    degree, dimension = min(_WATCHED_DEGREE, grid.max_degree), grid.dimension
    l = grid.degrees(degree)
    units = np.eye(len(l), dtype=np.complex128)
    squares = np.array([grid.pairing(unit, unit) for unit in units])
    harmonics = 2.0 * l + 1 if dimension == 3 else 2.0
    slopes = np.where(l > 0, l * (l + dimension - 2), np.inf) / (dimension - 1)
    return l, squares / harmonics / slopes


def _growths(
    stages: Sequence[Stage],
    density: Density,
    start_time: float,
    shared: SharedSymmetries,
    grid: Geometry,
) -> Sequence[SymmetryBreaking | None]:
    """How what breaks each symmetry grows in a run of ``stages`` on ``grid``."""
    frame, symmetries = shared
    if not symmetries:
        return []
    turned = [s._replace(equation=turned_equation(s.equation, frame)) for s in stages]
    relative = np.maximum(density_on_frame(density, grid, frame), 0.0)
    values = relative * perturbed_uniform(grid, _AMPLITUDE).values
    start = Measure(Density(grid, values).normalized())
    has_labels = all(
        s.equation.diffusion == 0 and s.equation.on(grid).degree <= LARGEST_DEGREE
        for s in turned
    )
    scheme = scheme_for(None, grid, exact_atoms=False, labels=has_labels)
    masses = start.density.masses
    sizes = [np.abs(masses - s.mean(masses, grid)).sum() for s in symmetries]
    recorder = Recorder(turned[0].equation, grid)
    loop = TimeLoop(Method(scheme, _RTOL), tuple(turned), recorder, np.empty(0), ())
    watch = _Watch(symmetries, grid, loop, np.array(sizes))
    loop.conditions = (watch,)
    loop.start(start, start_time)
    loop.run()
    return watch.growths()
