"""Calls of everything public, and wrong ones with the words of their errors."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import mfpde
from mfpde import theory  # noqa: F401

CIRCLE, SPHERE, ZONAL = mfpde.Circle(32), mfpde.Sphere(32), mfpde.Zonal(4, 16)
START = mfpde.perturbed_uniform(CIRCLE, 0.3)
UNIFORM = mfpde.uniform(mfpde.Circle(64))
ATTENTION = mfpde.Attention(1.0)
ASCENT = mfpde.MeanFieldEquation(ATTENTION, direction="ascent")
NEURON = mfpde.Perceptron([[1.0, 0.0]], [0.4], "gelu")
DESCENT = mfpde.MeanFieldEquation(ATTENTION, NEURON, direction="descent")
SOFTMAX = mfpde.MeanFieldEquation(
    mfpde.Attention(1.0, normalized=True),
    mfpde.Perceptron([[1.0, 0.0]], [0.4]),
    direction="ascent",
)
EYE, ONE = np.eye(2), [[1.0, 0.0]]
ATOM = mfpde.Atoms(ONE)
PAIR = mfpde.Atoms([[1.0, 0.0], [0.6, 0.8]], [0.4, 0.6])
FEW = mfpde.StepLimit(3)
RUN = mfpde.solve(ASCENT, START, t_end=0.2, save_every=0.1)
NOISY = mfpde.MeanFieldEquation(ATTENTION, direction="ascent", diffusion=0.1)
IN_64 = mfpde.MeanFieldEquation(
    ATTENTION,
    mfpde.Perceptron(np.random.default_rng(0).normal(size=(3, 64)), np.ones(3)),
    direction="ascent",
)
HALF = mfpde.Measure(mfpde.Density(CIRCLE, START.values / 2), mfpde.Atoms(ONE, [0.5]))
NEGATIVE = np.where(np.arange(32) == 5, -1.0, 1.0)


def first(x: np.ndarray) -> np.ndarray:
    return x[..., 0]


def to_the_right(x: np.ndarray) -> np.ndarray:
    return np.array([1.0, 0.0]) + 0 * x


def wave(x: np.ndarray) -> np.ndarray:
    return 1 + 0.3 * x[..., 0]


def small(x: np.ndarray) -> np.ndarray:
    return 0.01 * x[..., 0]


def constant(value: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: value * np.ones(len(x))


def square_of_angle(x: np.ndarray) -> np.ndarray:
    return np.arctan2(x[..., 1], x[..., 0]) ** 2


def slope_on_circle(x: np.ndarray) -> np.ndarray:
    """Return the slope of ``square_of_angle``, which off the circle is another one."""
    across = np.stack([-x[..., 1], x[..., 0], *np.zeros_like(x.T[2:])], axis=-1)
    return 2 * np.arctan2(x[..., 1], x[..., 0])[..., None] * across


def drawn_layers(generator: np.random.Generator) -> mfpde.Layers:
    scale = float(generator.random())
    neuron = mfpde.Perceptron(ONE, [scale], "gelu")
    return mfpde.Layers([(equation(ATTENTION, neuron), 0.1)])


def drawn_equation(generator: np.random.Generator, _: int) -> mfpde.MeanFieldEquation:
    return drawn_layers(generator).equations[0]


def two_layers(duration: Any, seed: Any = None) -> mfpde.Layers:
    return mfpde.Layers([(ASCENT, 0.1), (ASCENT, duration)], seed=seed)


def density_of_labels(at_centers: Any) -> mfpde.Density:
    labels = mfpde.solve_particles(ASCENT, START, t_end=0.1, method="labels", count=32)
    return mfpde.label_density(labels.final, CIRCLE, at_centers=at_centers)


def equation(*terms: Any, **options: Any) -> mfpde.MeanFieldEquation:
    return mfpde.MeanFieldEquation(*terms, **{"direction": "ascent", **options})


def run(start: Any = UNIFORM, by: Any = ASCENT, **options: Any) -> mfpde.Run:
    return mfpde.solve(by, start, **{"t_end": 1.0, **options})


def recording(value: Any) -> mfpde.Diagnostic:
    return mfpde.Diagnostic("own", "mine", "1", lambda _: value)


RIGHT = """
Circle(num_cells=16)
Sphere(nlat=32, nlon=64)
Zonal(dimension=4, num_cells=16)
Atoms(points=EYE, masses=[0.5, 0.5], covariances=np.zeros((2, 2, 2)))
Atoms.none(dimension=3)
Density(CIRCLE, values=START.values)
Density.from_function(CIRCLE, wave)
Density.from_samples(CIRCLE, points=PAIR.points, masses=[0.5, 0.5], bandwidth=0.9)
Measure(START)
uniform(CIRCLE)
perturbed_uniform(CIRCLE, amplitude=0.1, seed=3)
bumps(CIRCLE, widths=[0.5, 0.6], angles=[0.5, 3.0], masses=[1.0, 2.0], background=0.1)
bumps(SPHERE, widths=[0.5, 0.6], centres=[[0.6, 0.0, 0.8], [0.0, 0.0, 1.0]])
bumps(ZONAL, widths=[0.3, 0.3], angles=[1.5, 1.0])
quantized(START, n=5)
sampled(START, n=5, seed=1)
wasserstein(START, PAIR, order=1, support=8)
wasserstein_report(START, PAIR, order=2, support=8)
Attention(beta=1.0, bilinear=[[1.0, 0.2], [0.0, 1.0]], value=[[1.0, 0.0], [0.3, 1.0]])
Exponential(beta=1.0)
Interaction(Polynomial((0.0, 1.0)))
Polynomial(coefficients=[0.0, 1.0, 0.5])
ZonalKernel(np.square, lambda u: 2 * u)
Perceptron(directions=[[1.0, 0.0], [0.0, 1.0]], weights=[0.4, -0.3], activation="gelu")
Perceptron([[1.0, 0.0], [0.0, 1.0]], [0.4, -0.3], biases=[0.1, 0.2], output_bias=[0.3, -0.1])
Perceptron.random(units=2, dimension=3, seed=1, scale=0.5)
Potential(first, to_the_right, dimension=2)
MeanFieldEquation(ATTENTION, direction="ascent", diffusion=0.1)
two_layers(duration=0.2, seed=1)
Layers.random(sampler=drawn_equation, count=2, duration=0.1, seed=1)
SteadyState(tolerance=1e-8)
StepLimit(steps=3)
WallTimeLimit(seconds=1.0)
Concentration(smallest_mass=0.001, longest_gap=5)
Diagnostic("zero", "nothing", "1", lambda snapshot: 0.0)
solve(ASCENT, START, stop=FEW, t_end=0.2, rtol=1e-3, max_step=0.1, start_time=0.0)
solve(ASCENT, START, stop=FEW, t_end=0.2, save_every=0.1, max_step=0.1)
solve(ASCENT, START, stop=FEW, t_end=0.2, save_at=[0.1, 0.2])
solve_particles(ASCENT, START, t_end=0.1, count=4, rtol=1e-3, atol=1e-4)
solve_particles(ASCENT, PAIR, t_end=0.1, time_step=0.05)
solve_particles(ASCENT, PAIR, t_end=0.1, merge_below=1e-6)
solve_particles(ASCENT, PAIR, t_end=0.1, save_at=[0.05, 0.1])
solve_particles(ASCENT, PAIR, t_end=0.1, save_every=0.05)
density_of_labels(at_centers=False)
clusters(PAIR.points, masses=[0.5, 0.5], angle=0.5)
concentration(START, ASCENT)
polish(ASCENT, PAIR, max_move=2.0, merge_within=1e-8)
certificate(DESCENT, START, tolerance=1e-6)
minimize(DESCENT, CIRCLE, tolerance=1e-6) -> condition
maximize(DESCENT, tolerance=1e-6)
continuation(ASCENT, ATOM, "beta", values=[1.0, 1.1]) -> path
follow_minimizer(DESCENT, CIRCLE, "beta", values=[1.0, 1.1]) -> condition, path
convergence_to_atoms(ASCENT, wave, cells=[32, 48, 64], t_end=0.1, particles=8, \
    smallest_mass=0.1, rtol=1e-2, stop=[FEW]) -> quantities
ensemble(drawn_layers, PAIR, runs=1, seed=1, t_end=0.1, save_every=0.1, jobs=1, time_step=0.05)
ensemble(drawn_layers, PAIR, lyapunov=False, runs=1, seed=1, save_at=[0.05, 0.1]) -> lyapunov
phase_diagram(dimension=2, betas=[1.0], degree=1) \
    -> fold, coexistence, barrier, moment_at_fold, moment_at_coexistence
plot_globe(uniform(SPHERE), camera=(0.4, 0.5))
plot_density(START, limits=(0.0, 1.0))
plot_snapshots(RUN, times=[0.0, 0.2])
theory.anti_concentration_bound(DESCENT)
theory.cluster_count_bound(DESCENT, least_mass=0.1, arcs=[0.5, 0.3])
theory.concavity_angle(beta=1.0)
theory.critical_diffusion(beta=1.0, dimension=3)
theory.early_clusters(beta=1.0, start=START)
theory.eigenvalues(beta=1.0, dimension=3, degrees=[0, 1, 2])
theory.equispaced_rates(beta=1.0, count=3, direction="ascent")
theory.fastest_mode(beta=1.0, dimension=3)
theory.growth_rates(beta=1.0, dimension=3, degrees=[1, 2], direction="ascent", diffusion=0.1)
theory.has_continuous_transition(beta=1.0, dimension=3)
theory.kernel_curvature(beta=1.0)
theory.largest_continuous_beta(dimension=2, degree=1)
theory.merge_time(beta=1.0, mass=0.5, start_angle=1.0, end_angle=0.5, share=0.5)
theory.non_degeneracy(SOFTMAX)
theory.strict_stability(DESCENT, points=PAIR.points)
"""
"""Small calls that work: what is given by name and holds numbers is replaced by wrong ones.

After an arrow: fields of the result that hold infinities or NaN where there is no such number.
"""
WRONG = """
Attention(True) -> beta = True
Attention(1000.0, kernel="unshifted") -> beta = 1000 with kernel='unshifted' | 350
Attention(1.0, kernel="shiftd") -> kernel = 'shiftd' (did you mean 'shifted'?)
Attention(1.0, normalized="yes") -> normalized = 'yes' must be True or False
Attention(1.0, mask=None) -> 'mask' | each token attends to all
Attention(1.0, heads=4) -> 'heads' | MeanFieldEquation(Attention(...), Attention(...))
Attention(1.0, d=64) -> 'd' | is that of the geometry
Attention(1.0, betta=2) -> 'betta' | did you mean 'beta'?
ZonalKernel(np.sin, np.sin) -> derivative: at u = -0.93 it is -0.80 | of function there is 0.59

run(save_at=[2.0]) -> save_at
run(save_every=0.1, save_at=[0.5]) -> save_every
run(transport="donor_blend") -> 'donor_blend' (did you mean 'donor_blended'
run(progress="a") -> progress = 'a' | must be True or False
run(observe={"mass": lambda m: 0.0}) -> 'mass' is recorded anyway | 'my_mass'
run(observe={"mean": 3}) -> observe['mean'] = 3 must be a function
run(observe=[len]) -> observe = [<built-in function len>] | must name each function
run(observer=print) -> must be an Observer
run(diagnostics=recording(None)) -> 'own' is None | must return one number
run(diagnostics=recording(np.ones(3))) -> 'own' is | must return one number
run(diagnostics=[recording(1.0)] * 2) -> 'own' is recorded anyway
run(diagnostics=[len]) -> diagnostics holds <built-in function len> | Diagnostic
run(diagnostics=3.0) -> diagnostics holds 3
run(stop=[SteadyState(1e-3), None]) -> stop holds None | SteadyState, StepLimit
run(resume_from=3) -> resume_from = 3 | must be a Checkpoint
run(ATOM) -> atoms alone have no grid
run(np.ones(64)) -> must be a Density, Atoms or a Measure
run(RUN) -> = <Run of
run(Density(CIRCLE, 2 * uniform(CIRCLE).values)) -> total mass 2
run(HALF, NOISY) -> dissolves atoms at once
run(by=equation(Perceptron([[1.0, 0.0, 0.0]], [1.0]))) -> directions have 3 entries | S^1
run(uniform(SPHERE), IN_64) -> directions have 64 entries | in dimension 64 particles need no grid
run(uniform(Zonal(64, 64)), IN_64) -> directions[0] is not parallel to the axis | solve_particles
solve_particles(ASCENT, ATOM, t_end=1.0, progress="a") -> progress = 'a' | must be True or False
solve_particles(ASCENT, RUN, t_end=1.0) -> = <Run of

Circle(15) -> num_cells = 15 | at least 16
Circle(64.0) -> num_cells = 64.0 | at least 16
Circle(10**10) -> num_cells = 10000000000 must be at most
Zonal(4, 10**7) -> num_cells = 10000000 must be at most
Sphere(10**6) -> nlat = 1000000 must be at most
UNIFORM.interpolated(CIRCLE) -> finer geometry = Circle

perturbed_uniform(CIRCLE, 1.0) -> amplitude = 1
Density(CIRCLE, np.ones(3)) -> values of shape (3,) do not fit Circle
Density(CIRCLE, NEGATIVE) -> values[5] = -1 must not be negative
Density(CIRCLE, np.full(32, 1 + 1e-12j)) -> complex numbers | take its .real
Density.from_function(CIRCLE, constant(0.0)) -> total mass 0
Density.from_function(CIRCLE, lambda _: np.ones(3)) -> function(points): (3,) | must be (32,)
Density.from_function(CIRCLE, constant(np.nan)) -> function(points)[0] = nan must be finite
Atoms([[1.0, 0.0], [0.0, 2.0]]) -> points[1] has length 2
Atoms(ONE, [0.5, 0.5]) -> do not match
Measure(UNIFORM, Atoms([[1.0, 0.0, 0.0]])) -> dimension 3
Measure(None) -> density = None | must be a Density
Measure(UNIFORM, 3) -> atoms = 3 | must be an Atoms
label_density(RUN.final, CIRCLE) -> labels = <Measure | an Atoms, a state of solve_particles

Perceptron(EYE, [1.0] * 3) -> weights of shape (3,) | 2 directions
Perceptron(ONE, [1.0], biases=[0.0, 1.0]) -> biases of shape (2,) | 1 directions
Perceptron([[1.0, 0.0], [0.0, 0.0]], [1.0, 2.0]) -> directions[1] = [0.0, 0.0] is zero
Perceptron([1.0, 0.0], [1.0]) -> shape (2,) must have shape (units, d)
Perceptron(ONE, [1.0], "rellu") -> activation = 'rellu' (did you mean 'relu'?)
Perceptron(ONE, [1.0], (np.tanh, np.tanh)) -> needs Phi' = sigma
Perceptron(ONE, [1.0], (np.sin, lambda z: -np.cos(z))) -> Phi(0) = -1 must be 0
Potential(first, lambda x: 2 * np.ones_like(x)) -> gradient: at x = | the slope of value
Potential(square_of_angle, slope_on_circle).check_dimension(3) -> x = [ | along a great circle is

equation() -> at least one term
equation(5) -> term 0 = 5 must be an Attention
equation(ATTENTION, direction="up") -> direction = 'up' must be one of 'ascent', 'd
equation(NEURON, Perceptron([[1.0, 0.0, 0.0]], [1.0])) -> different dimensions: [2, 3]

load(None) -> path = None | must be the path of a store
save(RUN, 3) -> path = 3 | must be the path of a store
save(RUN.final, "x.zarr") -> run = <Measure | a Run, what solve
concentration(RUN, ASCENT) -> measure = <Run of | run.final
wasserstein(RUN, UNIFORM) -> a = <Run of | is run.final
plot_run(RUN.final) -> run = < | must be a Run
plot_atom_tree(RUN.final) -> run = < | must be a Run
plot_diagnostic(RUN.final, "mass") -> run = < | must be a Run
animate(RUN.final, "x.gif") -> run = < | must be a Run
plot_density(RUN) -> measure = <Run of | is run.final
plot_certificate(RUN) -> result = <Run | what minimize returns
plot_continuation(RUN) -> result = <Run | a Continuation
plot_convergence(RUN) -> study = <Run | an AtomConvergence
plot_phase_diagram(RUN) -> diagram = <Run | a PhaseDiagram
save_figure(RUN, "x.pdf") -> figure = <Run | a figure, or axes
"""
"""A call -> what its error says, in the order of its text."""
WRAPPED = {"two_layers": "Layers", "density_of_labels": "label_density"}
NEEDED = ("angles", "centres", "bilinear", "t_end")
"""Arguments that None may not stand for although it is their default."""
MAY_BE_INFINITE = ("theory.merge_time",)
"""What says that a number above the largest is given as infinity."""
MADE_AS_GIVEN = ("Density", "Atoms", "Atoms.none", "Measure")
"""What has the mass that it is given."""
RESULTS = """
AtomConvergence BranchEvent Certificate Clustering Continuation Ensemble Maximum Minimum
PhaseDiagram PolishedAtoms Run StationaryDensity WassersteinReport theory.AntiConcentrationBound
theory.KernelCurvature theory.NonDegeneracy theory.PhaseDiagram theory.StrictStability
"""
NAMES = {
    **{name: getattr(mfpde, name) for name in mfpde.__all__},
    **globals(),
}


class Call(NamedTuple):
    """A call of the table of those that work, in parts."""

    text: str
    name: str
    function: Callable[..., Any]
    arguments: Mapping[str, Any]
    unbounded: list[str]


def right_calls() -> list[Call]:
    """Return the calls of the table."""
    found = []
    for line in RIGHT.replace("\\\n", "").strip().splitlines():
        text, _, fields = line.partition(" -> ")
        node = ast.parse(text.strip(), mode="eval").body
        assert isinstance(node, ast.Call)
        called, *given = (evaluate(one) for one in (node.func, *node.args))
        arguments = {one.arg: evaluate(one.value) for one in node.keywords}
        name = ast.unparse(node.func)
        function = partial(called, *given)
        found.append(
            Call(text, WRAPPED.get(name, name), function, arguments, fields.split(", "))
        )
    return found


def evaluate(node: ast.expr) -> Any:
    return eval(ast.unparse(node), NAMES)
