r"""Whether a run is unstable along a symmetry that its start and its equation share.

A symmetry of the start and of the equation is one of every mu(t): the run finds the symmetric
solution, and starts nearby may go elsewhere.  Kernels of x.y have every symmetry; neurons whose
vectors span less than R^d have those that leave their span in place, rotations about an axis or a
reflection, which the start may have.

About the uniform state of an equation without external terms a perturbation of degree l grows at

    l (l + d - 2) (s lambda_l - kappa),    lambda_l / (beta lambda_0) for softmax,

exactly, with eigenvalues lambda_l of the kernel for the uniform probability.  With neurons a run
on a coarse grid tells, from the start times (1 + 1e-2 g), g a random field.  Of the moments h_lm
that the symmetry changes, of size 1 for a unit mass at a point, it measures

    |h| = max_lm |h_lm| sqrt((d-1) / (l (l+d-2))) <= W1,    G = |h(t)| / |perturbation|_L1.

Where a density is only carried along, however it is compressed, G <= pi / 2.  Starts part where G
is above ``UNSTABLE``, and |h| above what a cluster narrower than a cell may slide in it.  The rate
is that of the fastest growth by a factor e beyond pi / 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.geometry.spherical_transform import degrees_and_orders
from mfpde.measures.measure import Density, Measure
from mfpde.measures.starts import perturbed_uniform
from mfpde.runs.layers import Stage
from mfpde.runs.stopping import StepRecord, StoppingCondition, StopReason
from mfpde.solver.arguments import Method
from mfpde.solver.recorder import Recorder
from mfpde.solver.time_loop import TimeLoop
from mfpde.terms import ExternalTerm, Perceptron
from mfpde.transport import LARGEST_DEGREE, scheme_for

BEGINNING = "start and equation share"
"""The first words of the note."""
UNSTABLE = 10.0
"""SymmetryBreaking from which on a perturbation of 1e-2 changes the state."""
SAME = 1e-10
"""Relative change of a density under a symmetry of its own."""
BY_TRANSPORT = np.pi / 2
MOST_STEPS = 300
AMPLITUDE = 1e-2
RTOL = 1e-2
LEAST_DEGREES = {2: 63, 3: 31}
WATCHED_DEGREE = 16
SLIDE_OF_LABELS = 0.3
"""Cells that a cluster of labels may slide: it feels the grid by its moments (measured: .22)."""


class SymmetryBreaking(NamedTuple):
    """What grows where a symmetry is broken: the rate, and the time when 1e-2 is not small."""

    symmetry: str
    rate: float
    time: float


class Symmetry(NamedTuple):
    """All rotations about the last row of an orthonormal ``frame`` (d, d), or its reflection."""

    frame: FloatArray
    is_rotation: bool

    def __str__(self) -> str:
        axis = self.frame[-1]
        # Of the two signs one, and no -0.
        shown = np.round(axis * np.sign(axis[np.abs(axis).argmax()]), 4) + 0.0
        if self.is_rotation:
            return f"all rotations about {shown.tolist()}"
        return f"the reflection that takes {shown.tolist()} to its opposite"

    def measure_breaking(self, moments: ComplexArray, geometry: Geometry) -> float:
        """Return |h| (this module's docstring) of ``moments`` along the axes of the frame."""
        if geometry.dimension == 2:
            l = np.arange(1, WATCHED_DEGREE + 1)
            return float(np.abs(moments[l].imag / l).max())
        l, m = degrees_and_orders(WATCHED_DEGREE)
        kept = geometry.degrees(int(np.sqrt(2 * len(moments))) - 1) <= WATCHED_DEGREE
        is_broken = m > 0 if self.is_rotation else (l + m) % 2 == 1
        # A moment of m > 0 stands for that of -m too.
        sizes = np.abs(moments[kept]) * np.sqrt(np.where(m > 0, 2, 1) / (2 * l + 1))
        return float((sizes * np.sqrt(2 / np.maximum(l * (l + 1), 1)))[is_broken].max())


def describe_unstable_symmetry(
    stages: Sequence[Stage], start: Measure, *, begun: float, ended: float
) -> str | None:
    """Return the note on a symmetry along which a run is unstable; None without one.

    Of the ``stages`` from ``start`` on those up to the time ``ended`` count.  Judged are densities
    under neurons on the circle or the sphere, and the uniform one on any grid.  What cannot be
    judged, since an equation does not fit the coarse grid or numbers overflow there, has no
    note: no run that has ended well is lost to it.
    """
    *before, last = stages[: 1 + sum(stage.end < ended for stage in stages[:-1])]
    acting = [*before, last._replace(end=ended)]
    terms = [term for stage in acting for term in stage.equation.interactions]
    are_even = terms and all(term.is_zonal for term in terms)
    if ended <= begun or len(start.atoms) or not are_even:
        return None
    externals = {term for stage in acting for term in stage.equation.externals}
    try:
        with np.errstate(all="ignore"):
            if externals:
                found = _find_growth(acting, externals, start.density, begun)
            else:
                found = _find_growth_about_uniform(acting, start.density, begun)
    except (ValueError, ArithmeticError, MemoryError):
        return None
    if found is None:
        return None
    return (
        f"{BEGINNING} {found.symmetry}, and so does every state of the run, which is unstable: "
        f"what breaks this grows at a rate of up to {found.rate:.4g}, and a start perturbed by "
        f"1e-2 has parted from it by t = {found.time:.3g}; perturb the start "
        "(perturbed_uniform(geometry, amplitude=1e-2)) to see where others go"
    )


def _find_growth_about_uniform(
    stages: Sequence[Stage], density: Density, begun: float
) -> SymmetryBreaking | None:
    geometry, values = density.geometry, density.values
    if np.ptp(values) > SAME * values.max():
        return None
    dimension = geometry.dimension
    degree = max(stage.equation.on(geometry).degree for stage in stages)
    l = np.arange(degree + 1)
    logarithms, fastest, before = np.zeros(degree + 1), 0.0, begun
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
        logarithms += rates * (end - before)
        k = int(logarithms.argmax())
        beyond = logarithms[k] - np.log(UNSTABLE)
        if beyond >= 0:
            return SymmetryBreaking("all rotations", fastest, end - beyond / rates[k])
        before = end
    return None


def find_symmetry(externals: Iterable[ExternalTerm]) -> Symmetry | None:
    """Return the symmetry of neurons, whose vectors span less than R^d; None without one."""
    vectors = []
    for term in externals:
        neurons = term.layer
        if neurons is None:
            return None
        vectors += [*neurons.directions, neurons.output_bias]
        vectors += [] if neurons.is_gradient else [*neurons.weights]
    _, sizes, axes = np.linalg.svd(np.array([*vectors, 0 * vectors[0]]))
    rank = int((sizes > SAME * sizes[0]).sum())
    if rank == len(axes):
        return None
    is_rotation = len(axes) - rank == 2
    # The axis of rotation is that of the vectors, a normal is the one that they do not have.
    return Symmetry(axes[::-1] if is_rotation else axes, is_rotation)


def turn_equation(equation: MeanFieldEquation, frame: FloatArray) -> MeanFieldEquation:
    """Return the equation of neurons in the coordinates along the rows of ``frame``."""
    turned = [
        Perceptron(
            layer.directions @ frame.T,
            layer.weights if layer.is_gradient else layer.weights @ frame.T,
            layer.activation,
            biases=layer.biases,
            output_bias=layer.output_bias @ frame.T,
        )
        for layer in equation.perceptrons
    ]
    return MeanFieldEquation(
        *equation.interactions,
        *turned,
        direction=equation.direction,
        diffusion=equation.diffusion,
    )


class _Watch(StoppingCondition):
    """A look, after each step, at what breaks a symmetry, until starts have parted."""

    def __init__(self, loop: TimeLoop, symmetry: Symmetry, limit: float) -> None:
        self.loop, self.symmetry, self.limit = loop, symmetry, limit
        self.times: list[float] = []
        self.broken: list[float] = []

    def check(self, record: StepRecord) -> StopReason | None:
        """Stop once |h| is above the limit, or after many steps."""
        transport = self.loop.transport
        moments = np.asarray(transport.flow(self.loop.now.state).moments)
        geometry = transport.grid.geometry
        self.times.append(record.time)
        self.broken.append(self.symmetry.measure_breaking(moments, geometry))
        if self.broken[-1] > self.limit or record.steps >= MOST_STEPS:
            return StopReason("told", f"all is known at t = {record.time:.6g}")
        return None


def _find_growth(
    stages: Sequence[Stage],
    externals: Iterable[ExternalTerm],
    density: Density,
    begun: float,
) -> SymmetryBreaking | None:
    geometry, symmetry = density.geometry, find_symmetry(externals)
    if symmetry is None or geometry.axis is not None:
        return None
    degree = max(stage.equation.on(geometry).degree for stage in stages)
    coarse = geometry.with_degree(max(LEAST_DEGREES[geometry.dimension], degree))
    grid = min(coarse, geometry, key=lambda one: one.max_degree)
    moments = geometry.moments(
        density.masses, min(grid.max_degree, geometry.max_degree)
    )
    points = np.ascontiguousarray(grid.points @ symmetry.frame)
    values = np.maximum(geometry.field_at(moments, points).values, 0.0)
    unperturbed = Density(grid, values).normalized()
    moments = grid.moments(unperturbed.masses, WATCHED_DEGREE)
    if symmetry.measure_breaking(moments, grid) > SAME:
        return None
    noise = perturbed_uniform(grid, AMPLITUDE).values
    start = Density(grid, values * noise).normalized()
    size = float(np.abs(start.masses - unperturbed.masses).sum())
    is_diffusing = any(stage.equation.diffusion for stage in stages)
    has_labels = degree <= LARGEST_DEGREE and not is_diffusing
    scheme = scheme_for(None, grid, labels=has_labels)
    turned = [
        Stage(turn_equation(stage.equation, symmetry.frame), stage.end)
        for stage in stages
    ]
    recorder = Recorder(turned[0].equation, grid)
    loop = TimeLoop(Method(scheme, RTOL), tuple(turned), recorder, np.empty(0), ())
    slide = grid.spacing * (SLIDE_OF_LABELS if scheme.moves_labels else 1.0)
    watch = _Watch(loop, symmetry, max(UNSTABLE * size, slide))
    loop.conditions = (watch,)
    loop.start(Measure(start), begun)
    loop.run()
    if watch.broken[-1] <= watch.limit:
        return None
    rate = fit_rate(np.array(watch.times), np.array(watch.broken) / size)
    return SymmetryBreaking(str(symmetry), rate, watch.times[-1])


def fit_rate(times: FloatArray, growth: FloatArray) -> float:
    """Return the rate of the fastest ``growth`` (n,) by a factor e beyond that by transport."""
    first = max(int((growth > BY_TRANSPORT).argmax()) - 1, 0)
    instants = np.linspace(times[first], times[-1], 400)
    logarithms = np.interp(instants, times, np.log(np.maximum(growth, 1e-300)))
    risen = np.searchsorted(np.maximum.accumulate(logarithms), logarithms + 1)
    inside = risen < len(instants)
    return float((1 / (instants[risen[inside]] - instants[inside])).max())
