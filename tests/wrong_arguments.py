"""Calls of everything public, and wrong ones with the words of their errors."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from equations import ascent, descent

import mfpde
from mfpde import theory

CIRCLE, SPHERE, ZONAL = mfpde.Circle(32), mfpde.Sphere(32), mfpde.Zonal(4, 16)
START = mfpde.perturbed_uniform(CIRCLE, 0.3)
UNIFORM = mfpde.uniform(mfpde.Circle(64))
ATTENTION = mfpde.Attention(1.0)
ASCENT = ascent(ATTENTION)
NEURON = mfpde.Perceptron([[1.0, 0.0]], [0.4], "gelu")
DESCENT = descent(ATTENTION, NEURON)
SOFTMAX = ascent(1.0, mfpde.Perceptron([[1.0, 0.0]], [0.4]), normalized=True)
EYE, ONE = np.eye(2), [[1.0, 0.0]]
ATOM = mfpde.Atoms(ONE)
PAIR = mfpde.Atoms([[1.0, 0.0], [0.6, 0.8]], [0.4, 0.6])
FEW = mfpde.StepLimit(3)
RUN = mfpde.solve(ASCENT, START, t_end=0.2, save_every=0.1)
NOISY = ascent(ATTENTION, diffusion=0.1)
TILTED = np.diag([1.0, 0.5])
INDEFINITE = mfpde.Attention(2.0, bilinear=np.diag([1.0, -0.5]))
SIDEWAYS = ascent(ATTENTION, mfpde.Perceptron(np.eye(1, 4), [0.5]))
IN_64 = ascent(ATTENTION, mfpde.Perceptron.random(3, 64, seed=0))
IN_3 = ascent(ATTENTION, mfpde.Perceptron(np.eye(3), np.ones(3)), diffusion=0.1)
LOUDER = mfpde.Layers([(ASCENT, 1.0), (ascent(900.0), 1)])
BLOCK = mfpde.Block(ATTENTION, step=0.1)
TWICE = mfpde.DiscreteLayers.repeated(BLOCK, count=2)
NOISIER = mfpde.Layers([(ASCENT, 0.5), (NOISY, 0.5)])
WEIGHTS = np.ones((6, 4, 4))
TRAINED = mfpde.NetworkBlock(*WEIGHTS, heads=2)
NETWORK = mfpde.Network([TRAINED], "pre", embedding=[[1.0, 2.0, 3.0, 4.0]])
EMPTY = mfpde.Density(CIRCLE, np.zeros(32))
UNIFORM_ON_CIRCLE = mfpde.uniform(CIRCLE).values
HALF = mfpde.Measure(mfpde.Density(CIRCLE, START.values / 2), mfpde.Atoms(ONE, [0.5]))
NO_SAVE = replace(RUN, states=[], times=np.zeros(0))
FAR = mfpde.Atoms([[0.0, 0.0, 0.0, 1.0]])
FAR_RUN = mfpde.solve_particles(ASCENT, FAR, t_end=0.1)


def first(x: np.ndarray) -> np.ndarray:
    return x[..., 0]


def to_the_right(x: np.ndarray) -> np.ndarray:
    return np.array([1.0, 0.0]) + 0 * x


def wave(x: np.ndarray) -> np.ndarray:
    return 1 + 0.3 * x[..., 0]


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


def two_layers(duration: Any, seed: Any = None) -> mfpde.Layers:
    return mfpde.Layers([(ASCENT, 0.1), (ASCENT, duration)], seed=seed)


def density_of_labels(at_centers: Any) -> mfpde.Density:
    labels = mfpde.solve_particles(ASCENT, START, t_end=0.1, method="labels", count=32)
    return mfpde.label_density(labels.final, CIRCLE, at_centers=at_centers)


def equation(*terms: Any, **options: Any) -> mfpde.MeanFieldEquation:
    return mfpde.MeanFieldEquation(*terms, **{"direction": "ascent", **options})


def scaled(radius: Any = 1.0) -> mfpde.MeanFieldEquation:
    pre = mfpde.Normalization("pre", radius=radius)
    return equation(ATTENTION, normalization=pre)


def run(start: Any = UNIFORM, by: Any = ASCENT, **options: Any) -> mfpde.Run:
    return mfpde.solve(by, start, **{"t_end": 1.0, **options})


def particles(by: Any = ASCENT, start: Any = PAIR, **options: Any) -> mfpde.ParticleRun:
    return mfpde.solve_particles(by, start, **{"t_end": 1.0, **options})


def zonal(*terms: Any) -> mfpde.Run:
    return run(mfpde.uniform(ZONAL), equation(*terms))


def bound(*terms: Any, direction: str = "descent", **options: Any) -> Any:
    problem = equation(ATTENTION, *terms, direction=direction, **options)
    return theory.anti_concentration_bound(problem)


def network_block(**given: Any) -> mfpde.NetworkBlock:
    squares = dict(zip(("q", "k", "v", "o", "w1", "w2"), WEIGHTS, strict=True))
    return mfpde.NetworkBlock(**{**squares, "heads": 2, **given})


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
PositionedAtoms(PAIR.points, masses=[0.4, 0.6], positions=[0.4, 1.0], edges=[0, 0.5, 1])
PositionedDensity(CIRCLE, values=[UNIFORM_ON_CIRCLE, UNIFORM_ON_CIRCLE], edges=[0, 0.4, 1])
PositionedDensity.from_function(CIRCLE, lambda x, s: 1 + 0.3 * s * x[..., 0], positions=2)
PositionedDensity.from_blocks([START, START], positions=2)
PositionedDensity.repeated(START, positions=2)
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
Attention(beta=1.0, bilinear=[[1.0, 0.2], [0.0, 1.0]], source=[1.0, 0.2])
Causal(alibi=1.0)
Full()
Weights(matrix=[[1.0, 0.0], [0.5, 0.5]])
Exponential(beta=1.0)
Interaction(Polynomial((0.0, 1.0)))
Polynomial(coefficients=[0.0, 1.0, 0.5])
ZonalKernel(np.square, lambda u: 2 * u)
Perceptron(directions=[[1.0, 0.0], [0.0, 1.0]], weights=[0.4, -0.3], activation="gelu")
Perceptron([[1.0, 0.0], [0.0, 1.0]], [0.4, -0.3], biases=[0.1, 0.2], output_bias=[0.3, -0.1])
Perceptron.random(units=2, dimension=3, seed=1, scale=0.5)
Perceptron.constant(vector=[0.3, -0.5])
Perceptron.quadratic(matrix=[[1.0, 0.5], [0.5, 1.0]])
Potential(first, to_the_right, dimension=2)
MeanFieldEquation(ATTENTION, direction="ascent", diffusion=0.1)
Normalization("pre", radius=0.5)
Normalization("ngpt", alpha=0.5)
two_layers(duration=0.2, seed=1)
Block(ATTENTION, step=0.1, direction="descent")
DiscreteLayers([BLOCK, [BLOCK, BLOCK]])
DiscreteLayers.repeated(BLOCK, count=2)
solve(TWICE, START, save_at=[0.0, 2.0])
Layers.random(lambda g, _: drawn_layers(g).equations[0], count=2, duration=0.1, seed=1)
network_block(heads=4, kv_heads=2, k=WEIGHTS[0, 2:], v=WEIGHTS[0, 2:], bq=[1.0, 0.0, 0.0, 0.0], \
    gain2=[1.0] * 4, gate=WEIGHTS[0], eps=1e-5)
network_block(heads=2, q=WEIGHTS[0], w1=WEIGHTS[0], w2=WEIGHTS[0], rope=1e4)
Network([TRAINED], "pre", final_norm=[[1.0] * 4, [0.0] * 4], embedding=WEIGHTS[0], step=0.5)
SteadyState(tolerance=1e-8)
StepLimit(steps=3)
WallTimeLimit(seconds=1.0)
Concentration(smallest_mass=0.001, longest_gap=5)
Diagnostic("zero", "nothing", "1", lambda snapshot: 0.0)
solve(ASCENT, START, stop=FEW, t_end=0.2, save_at=[0.1, 0.2], rtol=1e-3, start_time=0.0)
solve(ASCENT, START, stop=FEW, t_end=0.2, save_every=0.1, max_step=0.1)
solve_particles(ASCENT, START, t_end=0.1, count=4, rtol=1e-3, atol=1e-4)
solve_particles(ASCENT, PAIR, t_end=0.1, save_every=0.05, time_step=0.05)
solve_particles(ASCENT, PAIR, t_end=0.1, save_at=[0.05, 0.1], merge_below=1e-6)
density_of_labels(at_centers=False)
retrieval_profile(ASCENT, UNIFORM, sources=[0.5, 1.0], times=[0.1], reader=1.0, weights=[1.0])
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
theory.retrieval_profile(beta=1.0, sources=[0.5, 1.0], times=[0.5], direction="ascent", modes=2)
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
Attention(1.0, source=[1.0, 0.0]) -> source without bilinear
Attention(1.0, bilinear=EYE, source=[1.0]) -> source has shape (1,) | the same d
Attention(0.0, bilinear=EYE, source=[1.0, 0.0]) -> at beta = 0 | beta at least 1e-100
Attention(1.0, bilinear=(EYE, np.ones((2, 3)))) -> bilinear has factors of shape (2, 2) and (2, 3)
Attention(900.0, bilinear=EYE, source=[200.0, 0.0]) -> |source| = 1100 | at most 1000
Attention(1.0, kernel="shiftd") -> kernel = 'shiftd' (did you mean 'shifted'?)
Attention(1.0, normalized="yes") -> normalized = 'yes' must be True or False
Attention(1.0, mask=None) -> 'mask' | each token attends to all
Attention(1.0, heads=4) -> 'heads' | MeanFieldEquation(Attention(...), Attention(...))
Attention(1.0, d=64) -> 'd' | is that of the geometry
Attention(1.0, betta=2) -> 'betta' | did you mean 'beta'?
ZonalKernel(np.sin, np.sin) -> derivative at u = -0.93 is -0.80 | slope there is 0.59

Normalization("layer") -> name = 'layer' must be one of 'post'
Normalization("ngpt", radius=2.0) -> radius = 2.0 is none of 'ngpt'
Normalization("pre", alpha=2.0) -> alpha = 2.0 is none of 'pre'
equation(ATTENTION, normalization="pre") -> normalization = 'pre' must be a Normalization
run(by=scaled(lambda x: -x[..., 0])) -> radius[0] = -0.99 | must be above 0
run(uniform(ZONAL), scaled()) -> with Zonal
run(by=scaled(), atoms="exact") -> atoms = 'exact' must be one of 'grid'
run(PositionedDensity.repeated(UNIFORM), scaled()) -> with rows of positions
run(by=scaled(), transport="labels") -> transport = 'labels' | 'donor_blended'
particles(scaled(), merge_below=0.1) -> not known with Normalization
continuation(scaled(), ATOM, "beta", values=[1.0, 1.1]) -> not known with Normalization
concentration(START, scaled()) -> not known with Normalization | solve_particles

run(save_at=[2.0]) -> save_at
run(save_every=0.1, save_at=[0.5]) -> save_every
run(transport="donor_blend") -> 'donor_blend' (did you mean 'donor_blended'
<solve; solve_particles>(ASCENT, START, t_end=1.0, progress="a") -> progress = 'a' | True or False
run(observe={"mass": lambda m: 0.0}) -> 'mass' is recorded anyway | 'my_mass'
run(observe={"mean": 3}) -> observe['mean'] = 3 must be a function
run(rtol=<0.0; 1.5>) -> rtol = | above 0 and at most 1
run(observe=[len]) -> observe = [<built-in function len>] | must name each function
run(observer=print) -> must be an Observer
run(diagnostics=recording(<None; np.ones(3)>)) -> 'own' is | must return one number
run(diagnostics=[recording(1.0)] * 2) -> 'own' is recorded anyway
run(diagnostics=[first]) -> diagnostics holds <function first> | Diagnostic
run(diagnostics=3.0) -> diagnostics holds 3
run(stop=[SteadyState(1e-3), None]) -> stop holds None | SteadyState, StepLimit
run(resume_from=3) -> resume_from = 3 | must be a Checkpoint
run(ATOM) -> atoms alone have no grid
run(np.ones(64)) -> must be a Density, Atoms or a Measure
<solve; solve_particles>(ASCENT, RUN, t_end=1.0) -> = <Run of
run(Density(CIRCLE, 2 * uniform(CIRCLE).values)) -> total mass 2
run(HALF, NOISY) -> dissolves atoms at once
run(by=equation(Perceptron([[1.0, 0.0, 0.0]], [1.0]))) -> have 3 entries | S^1
run(uniform(SPHERE), IN_64) -> have 64 entries | in dimension 64 particles need no grid
run(uniform(Zonal(64, 64)), IN_64) -> is not symmetric about the axis | solve_particles

Circle(15) -> num_cells = 15 | at least 16
UNIFORM.interpolated(CIRCLE) -> finer geometry = Circle

perturbed_uniform(CIRCLE, 1.0) -> amplitude = 1
Density(CIRCLE, np.ones(3)) -> values of shape (3,) do not fit Circle
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
Perceptron.constant([0.0, 0.0]) -> [0.0, 0.0] is zero
Perceptron.quadratic([1.0, 0.0]) -> shape (2,) must be square and symmetric
Perceptron.quadratic([[1.0, 2.0], [0.0, 1.0]]) -> square and symmetric | Perceptron(identity, M.T
Perceptron(ONE, [1.0], "rellu") -> activation = 'rellu' (did you mean 'relu'?)
Perceptron(ONE, [1.0], (np.tanh, np.tanh)) -> needs Phi' = sigma
Perceptron(ONE, [1.0], (np.sin, lambda z: -np.cos(z))) -> Phi(0) = -1 must be 0
Potential(first, lambda x: 2 + 0 * x, dimension=2) -> gradient | at x = | the slope there is
Potential(square_of_angle, slope_on_circle).check_dimension(3) -> along a great circle at x = [

equation() -> at least one term
equation(5) -> term 0 = 5 must be an Attention
equation(ATTENTION, direction="up") -> direction = 'up' must be one of 'ascent', 'd
equation(NEURON, Perceptron([[1.0, 0.0, 0.0]], [1.0])) -> different dimensions: [2, 3]

Block("attention", 0.1) -> equation = 'attention' must be a term
Block(ASCENT, 0.1, direction="ascent") -> direction = 'ascent' | its own
Block(NOISY, 0.1) -> diffusion = 0.1 | without noise
run(START, DiscreteLayers([Block(Attention(1.0, positions=Causal()), 0.1)])) -> is for rows
DiscreteLayers([]) -> layers is empty
DiscreteLayers(5) -> layers = 5 must be a list of blocks
DiscreteLayers([[]]) -> layers[0]: layer = [] must be a Block
DiscreteLayers([BLOCK, ASCENT]) -> layers[1]: layer = | must be a Block
DiscreteLayers.repeated(TWICE, count=2) -> layer = | must be a Block
run(START, TWICE, t_end=1.5) -> t = 1.5 is within a layer | whole numbers
run(START, TWICE, t_end=3.0) -> t_end = 3 must be at most | 2 layers
run(START, TWICE, max_step=0.5) -> max_step = 0.5 is for flows
run(START, TWICE, transport="labels") -> transport = 'labels' must be one of 'discrete_layers'
run(START, TWICE, atoms="exact") -> atoms = 'exact'
run(EMPTY, TWICE) -> start has total mass 0
run(uniform(SPHERE), DiscreteLayers([Block(NEURON, 0.1)])) -> 2 entries | S^2
run(Measure(uniform(SPHERE), Atoms([[1.0, 0.0, 0.0]], [1e-9])), TWICE) -> 1 atoms | solve_particles
run(uniform(ZONAL), TWICE) -> start on Zonal | solve_particles
run(PositionedDensity.repeated(START), TWICE) -> start is rows of positions
particles(TWICE, time_step=0.1) -> time_step = 0.1 is for flows
particles(TWICE, save_every=0.5) -> t = 0.5 is within a layer

network_block(heads=3) -> q has 4 rows for heads = 3 | equally many
network_block(heads=4, rope=1e4) -> an even number with rope
network_block(w1=np.ones((5, 4)), w2=np.ones((5, 4))) -> w2 | y @ W.T
network_block(activation="gelu_new") -> activation = 'gelu_new'
network_block(w2=None) -> w2 = None
network_block(causal="no") -> causal = 'no' must be a bool, True or False
Network([], "pre") -> blocks = [] must be a nonempty list of NetworkBlock
Network([TRAINED, NetworkBlock(*WEIGHTS[:, 1:, 1:], heads=1)], "pre") -> [(3, False), (4, False)]
Network([TRAINED], "peri") -> norm = 'peri' must be one of 'post', 'pre'
Network([TRAINED], "post", final_norm=np.ones((2, 4))) -> final_norm is for norm = 'pre' only
Network([TRAINED], "pre", final_norm=np.ones(4)) -> final_norm of shape (4,) must be (2, 4)
Network([TRAINED], "pre").run([0, 1]) -> (2,) must be (N, 4), or ids with | embedding=
Network([network_block(causal=True)], "post").layers() -> blocks[0] has causal | refined(m)
Network([network_block(rope=1e4)], "pre").layers() -> blocks[0] has rope
Network([TRAINED, network_block(gate=WEIGHTS[0])], "pre").layers() -> blocks[1] has gate
Network([network_block(gain1=[1.0, -3.0, 1.0, 1.0])], "post").layers() -> the mean 0 | above 0
Network([TRAINED], "pre").layers(time="unit") -> norm = 'post' | 'free radius'
Network([TRAINED], "pre").layers(order="both") -> 'parallel', 'serial'
Network([TRAINED], "pre").layers(drop="gains") -> 'gain', 'drift constants', 'inner constants'
Network([TRAINED], "pre").ladder(np.eye(4), ["flow"]) -> rungs = 'flow' must be one of 'exact'
Network([NetworkBlock(*np.ones((6, 5, 5)), heads=1)], "pre").ladder(np.eye(5), ["density"]) \
    -> S^3 | leave 'density' out
NETWORK.run([0, 1]) -> ids_or_tokens | index 1 is out of bounds | size 1
NETWORK.run([-1]) -> ids_or_tokens[0] = -1 must be a whole number, at least 0
NETWORK.run([0.5]) -> ids_or_tokens[0] = 0.5 must be a whole number
NETWORK.run(np.ones((3, 5))) -> ids_or_tokens of shape (3, 5) must be (N, 4), or ids (N,)
NETWORK.run([[1.0, 2, 3, 4], [2, 2, 2, 2]]) -> token 1 has no direction
NETWORK.refined(0) -> m = 0
NETWORK.scaled(0) -> eps = 0

load(None) -> path = None | must be the path of a store
save(RUN, 3) -> path = 3 | must be the path of a store
save(RUN.final, "x.zarr") -> run = <Measure | a Run, what solve
concentration(RUN, ASCENT) -> measure = <Run of | run.final
wasserstein(RUN, UNIFORM) -> a = <Run of | is run.final
<plot_run; plot_atom_tree>(RUN.final) -> run = < | must be a Run
<plot_diagnostic; animate>(RUN.final, "x.gif") -> run = < | must be a Run
plot_density(RUN) -> measure = <Run of | is run.final
plot_certificate(RUN) -> result = <Run | what minimize returns
plot_continuation(RUN) -> result = <Run | a Continuation
plot_convergence(RUN) -> study = <Run | an AtomConvergence
plot_phase_diagram(RUN) -> diagram = <Run | a PhaseDiagram
save_figure(RUN, "x.pdf") -> figure = <Run | a figure, or axes

plot_snapshots(RUN, times=<[]; [-1.0]; [11.0]>) -> times
<plot_snapshots; plot_space_time; plot_run>(NO_SAVE) -> save_every
<plot_snapshots; plot_space_time; plot_run>(FAR_RUN) -> IT has no picture
plot_atom_tree(RUN) -> track=Concentration()
plot_density(FAR) -> plot_density has no picture | S^3
plot_globe(<UNIFORM; uniform(ZONAL)>) -> no picture
plot_globe(uniform(SPHERE), limits=<(1, 1); (-1, 2); (1, 2, 3); 3.0>) -> two densities
animate(RUN, "film.avi") -> film.avi | .mp4 or .gif
animate(RUN, "x.gif", view="globe") -> view = 'globe'
animate(RUN, "x.gif", <frames_per_second; frames; duration>=0) -> IT = 0
animate(RUN, "x.gif", frames_per_second=1000) -> frames_per_second | 1000
animate(RUN, "x.gif", duration=1e9) -> duration = | at most
animate(RUN, "x.gif", limits=(2.0, 1.0)) -> limits
view(RUN, path="x.html", names=["a", "b"]) -> names = | for each of the 1 runs
view(RUN, path=".") -> is a folder
view(RUN, 3, path="x.html") -> run 2 = 3 must be a Run
view(NO_SAVE, path="x.html") -> run.states is empty
view(FAR_RUN, path="x.html") -> no picture for atoms on S

Layers([]) -> layers is empty
Layers(3) -> layers = 3 must be a list of pairs
Layers([ASCENT]) -> layers[0]: layer = | must be a pair
Layers([(ASCENT, 1.0), (ATTENTION, 1.0)]) -> layers[1]: equation = Attention
Layers([(ASCENT, 1.0), (ASCENT, 1e-13)]) -> layers[1]: duration = 1e-13
Layers([(DESCENT, 1.0), (IN_64, 1.0)]) -> layers[1] lives in dimension 64, but layers[0] in
Layers.random(5, count=1, duration=1.0, seed=0) -> sampler = 5 must be a function
Layers.random(lambda *_: None, count=1, duration=1.0, seed=0) -> layers[0]: equation = None
<solve; solve_particles>(two_layers(0.1), START, t_end=0.3) -> total depth of the 2 layers, 0.2
<solve; solve_particles>([ASCENT], START) -> must be a MeanFieldEquation, Layers or DiscreteLayers
run(by=LOUDER) -> layers[1]: | cells
run(by=NOISIER, atoms="exact") -> layers[1]: atoms = 'exact' with diffusion
<solve; solve_particles>(ASCENT, START) -> t_end = None must be the end time
solve_particles(NOISIER, PAIR) -> layers[1]: | diffusion = 0.1
ensemble(None, PAIR, runs=1, seed=0) -> make_layers = None must be a function
ensemble(lambda _: 3, PAIR, runs=1, seed=0) -> make_layers returned 3

particles(NOISY) -> diffusion = 0.1 | mfpde.solve
particles(start=Atoms.none(2)) -> no atoms
particles(start=ONE) -> must be Atoms, a Density or a Measure
particles(DESCENT, Atoms(np.eye(3))) -> have 2 entries
particles(start=Atoms(np.eye(4)), method=<"spectral"; "labels">) -> d = 4 | use method='direct'
particles(start=HALF, method="labels") -> 1 atom | use method='spectral'
particles(start=START, method="labels", count=16) -> count = 16 must be | of at least 32
particles(start=uniform(SPHERE), method="labels", count=4000) -> count = 4000 labels | such as 4232
particles(count=5) -> count = 5 cannot change the 2 atoms
particles(method="spectrall") -> did you mean 'spectral'
particles(save_every=1.0, save_at=[1.0]) -> give one
particles(merge_below=1.0) -> merge_below = 1.0 | at most 0.1
particles(merge_below=1e-6, time_step=0.1) -> time_step = 0.1: particles that merge | their own
label_density(PAIR, CIRCLE) -> 2 labels
label_density(Atoms([[0.0, 0.0, 1.0]] * 12), CIRCLE) -> dimension 3
label_density(Atoms(CIRCLE.points[::-1]), CIRCLE) -> cyclic order
label_density(Atoms(ONE * 40), CIRCLE, at_centers=True) -> narrower than its cells
label_density(Atoms(CIRCLE.points), 32) -> circle = 32

run(save_at=[]) -> nonempty
run(save_at=[[0.5]]) -> nonempty list
run(save_at=[0.5, 0.5]) -> save_at[1] = 0.5 must increase
run(save_at=[0.5, 1.5]) -> save_at[1] = 1.5 | raise t_end
run(save_every=1e-9) -> 1e+09 saves; | raise save_every
run(track=True) -> track = True must be a Concentration
run(atoms="exakt") -> did you mean 'exact'
run(uniform(ZONAL), atoms="exact") -> 'exact' works on a Circle or a Sphere
run(transport="labels") -> transport = 'labels'
run(uniform(ZONAL), transport="semilagrangian") -> did you mean 'semi_lagrangian'
run(uniform(SPHERE), equation(Attention(400.0))) -> too coarse | nlat of at least
run(by=equation(Interaction(ZonalKernel(np.abs, np.sign)))) -> not smooth enough

Zonal(2, 64) -> use Circle
Zonal(4096, 4096) -> at most 2048
Zonal(64, 8) -> num_cells = 8 must be
Zonal(2048, 100) -> at least 182 cells, better 996
uniform(ZONAL).interpolated(Zonal(5, 64)) -> must be a Zonal of dimension 4
zonal(Perceptron(np.eye(4)[[3, 0]], [1.0, 1.0])) -> is not symmetric about the axis | Use
zonal(Perceptron([ZONAL.axis], [np.eye(4)[0]])) -> is not symmetric about the axis
zonal(Perceptron([ZONAL.axis], [0.5], output_bias=np.eye(4)[0])) -> is not symmetric
zonal(Potential(first, lambda x: np.eye(1, x.shape[-1])[0])) -> not symmetric about the axis
zonal(Attention(1.0, bilinear=np.diag([1.0, 1, 1, 2]))) -> takes no matrices | Circle and Sphere do
run(uniform(Zonal(8, 64)), equation(Attention(1.0, bilinear=np.eye(8)))) -> particles need no grid
Sphere(30) -> nlat = 30 must be a whole number of at least 32
Sphere(33) -> nlat = 33 must be even
Sphere(62) -> nlon = 124 = 2 nlat must be a multiple of 4
Sphere(64, 50) -> nlon = 50 must be a whole number of at least 64
Sphere(64, 130) -> nlon = 130 must be a multiple of 4 | such as 144

bumps(CIRCLE, angles=[], widths=0.4) -> must be a nonempty list of angles
bumps(CIRCLE, angles=[1.0], widths=[0.4, 0.3]) -> widths of shape (2,) do not match the 1
bumps(CIRCLE, angles=[1.0], widths=0.1) -> use at least 63 cells
bumps(CIRCLE, centres=ONE, widths=0.4) -> take angles, not centres
bumps(SPHERE, angles=[1.0], widths=0.4) -> take centres, not angles
bumps(SPHERE, widths=0.4) -> bumps on Sphere(nlat=32, nlon=64) take centres
bumps(SPHERE, centres=[], widths=0.4) -> must be a nonempty list of unit vectors
bumps(SPHERE, centres=[[1, 1, 1]], widths=0.4) -> centres[0] has length 1.73205
bumps(SPHERE, centres=[[4.0, 0.0]], widths=0.4) -> the first must lie between 0 and pi
bumps(SPHERE, centres=[[0, 0, 1]], widths=0.05) -> use at least 63 rings
bumps(ZONAL, angles=[4.0], widths=0.4) -> must lie between 0 and pi
bumps(Zonal(64, 256), angles=[1.0], widths=0.2) -> must be at most 0.09
bumps(Zonal(64, 256), angles=[1.0], widths=0.01) -> use at least 315 cells
Density.from_samples(CIRCLE, ONE, None, 1e-3) -> cells, or a bandwidth of at least
Density.from_samples(CIRCLE, [[1.0, 0.0, 0.0]]) -> must be (n, 2)
Density.from_samples(CIRCLE, ONE, [1.0, 2.0]) -> masses of shape
Density.from_samples(CIRCLE, [[3.0, 0.0]]) -> length 3
EMPTY.normalized() -> total mass 0
quantized(<EMPTY; Atoms.none(5)>, 4) -> total mass = 0 must be above 0
sampled(Density(SPHERE, np.zeros((32, 64))), 4) -> total mass = 0 must be above 0
sampled([1.0, 2.0], 4) -> must be a Density, Atoms or a Measure
wasserstein(START, PAIR, order=3) -> order = 3 must be 1 or 2
wasserstein(START, Atoms(np.eye(3))) -> a lives in dimension d = 2 and b in d = 3
wasserstein(START, Atoms(ONE, [0.5])) -> a has total mass 1 and b 0.5 | normalise
wasserstein(START, Atoms.none(2)) -> b has total mass 0
wasserstein(START, [1.0]) -> b = [1.0] must be a Density, Atoms
wasserstein(uniform(SPHERE), uniform(Zonal(3, 32))) -> a is no zonal measure | quantized
wasserstein(uniform(Zonal(3, 32)), Atoms([[0.6, 0, 0.8]])) -> b is no zonal measure | quantized
wasserstein(*[Atoms(np.tile(np.eye(5), (401, 1)))] * 2) -> 2005 x 2005 atoms | d = 5 | support

Attention(5.0, value=EYE) -> value without bilinear
Attention(5.0, bilinear=np.ones((2, 3))) -> shape (2, 3)
Attention(5.0, bilinear=EYE, value=np.eye(3)) -> same d
Attention(5.0, bilinear=np.zeros((2, 2))) -> bilinear is zero
Attention(5.0, bilinear=300 * EYE) -> at most 1000
Attention(5.0, bilinear=90 * EYE, kernel="unshifted") -> at most 350
run(by=equation(Attention(200.0, bilinear=EYE))) -> for beta |bilinear| = 200
run(by=equation(Attention(1.0, bilinear=np.eye(3)))) -> bilinear have 3 entries | must have 2
Perceptron(EYE, [1.0, 1.0], output_bias=[1.0]) -> output_bias of shape (1,) must have shape (2,)
Perceptron(np.ones((5, 3)), np.ones((3, 5))) -> torch's Linear | give weights.T
Perceptron(EYE, [1.0, 1.0], np.tanh) -> or a pair (sigma, Phi)

clusters(np.ones((3, 2))) -> has length 1.41421
clusters(np.ones((3, 1))) -> d must be at least 2
clusters(np.empty((0, 3))) -> add up to 0
clusters(EMPTY) -> add up to 0
clusters(EYE, [1.0]) -> masses of shape (1,) do not match
clusters(UNIFORM, angle=0.01) -> angle = 0.01 is below what tells clusters apart here, 0.147
clusters(UNIFORM, masses=[1.0]) -> a measure has its own
clusters(RUN) -> its last state is run.final
concentration(Atoms(np.eye(4)), ASCENT) -> use d = 2 or 3, or a Measure on a Zonal grid
concentration(Atoms.none(3), ASCENT) -> total mass 0
concentration(np.ones(8), ASCENT) -> must be a Density, Atoms or a Measure
convergence_to_atoms(ASCENT, wave, cells=[64], t_end=1.0) -> two grids
convergence_to_atoms(ASCENT, wave, cells=[128, 64], t_end=1.0) -> increase
convergence_to_atoms(ASCENT, wave, cells=[CIRCLE, SPHERE], t_end=1.0) -> mixes
convergence_to_atoms(ASCENT, wave, cells=[ZONAL, Zonal(4, 32)], t_end=1.0) -> Circle or a Sphere
convergence_to_atoms(ASCENT, wave, cells=[64, 128], t_end=1.0, atoms="all") -> atoms
convergence_to_atoms(NOISY, wave, cells=[64, 128], t_end=1.0) -> diffusion = 0.1

bound(direction="ascent") -> is about | descent
bound(diffusion=0.1) -> is about | diffusion
bound(Perceptron(np.eye(3)[:1], [0.01])) -> is about | the circle
bound(Perceptron(ONE, [[0.01, 0.0]])) -> is about | gradient
bound(Perceptron(ONE, [0.01], (np.sin, lambda z: 1 - np.cos(z)))) -> is about | bounds
bound(Potential(first, to_the_right)) -> is about | other potentials
theory.cluster_count_bound(SOFTMAX, 0.1) -> is about
theory.eigenvalues(400.0, 2, 1, kernel="unshifted") -> at most 350
theory.early_clusters(1.0, Atoms([[0, 0, 1.0]])) -> circle
theory.early_clusters(5.0, UNIFORM) -> moment
theory.strict_stability(SOFTMAX, ONE) -> Remark 5.6
theory.non_degeneracy(DESCENT) -> softmax
theory.non_degeneracy(equation(Attention(1.0, True))) -> ReLU
theory.merge_time(1, start_angle=1, end_angle=1, share=0.7) -> share

continuation(ASCENT, PAIR, "diffusion", [1.0, 0.5]) -> atoms dissolve
continuation(NOISY, PAIR, "beta", [1.0, 2.0]) -> atoms dissolve
continuation(NOISY, UNIFORM, "diffusion", [1.0, 0.0]) -> must be above 0; without
continuation(ASCENT, UNIFORM, "beta", [1.0, 2.0]) -> must be Atoms
continuation(ASCENT, PAIR, "temperature", [1.0, 2.0]) -> must be one of
continuation(ASCENT, PAIR, "weight_scale", [1.0, 2.0]) -> no perceptron
continuation(ASCENT, PAIR, "beta", [1.0, 2.0, 1.5]) -> increasing or decreasing
continuation(ASCENT, PAIR, "beta", [1.0]) -> at least two
continuation(ASCENT, PAIR, "beta", [1.0, -2.0]) -> beta = -2
continuation(ASCENT, PAIR, "beta", [1.0, 2.0]) -> no stationary state
continuation(ASCENT, UNIFORM, "diffusion", [0.5, 0.0]) -> must be above 0
continuation(equation(ATTENTION, Attention(2.0)), PAIR, "beta", [1.0, 2.0]) -> 2 attention terms
continuation(equation(Attention(1.0, True)), UNIFORM, "diffusion", [0.5, 0.4]) -> unnormalised
continuation(SIDEWAYS, uniform(ZONAL), "diffusion", [1.0, 0.5]) -> axis
follow_minimizer(DESCENT, CIRCLE, "diffusion", [1.0, 2.0]) -> parameter
follow_minimizer(DESCENT, CIRCLE, "beta", [1.0]) -> at least two
polish(ASCENT, <Atoms.none(2); ()>) -> there are none
polish(ASCENT, UNIFORM) -> must be Atoms | concentration
polish(ASCENT, Atoms(Circle(4100).points)) -> 4100 coordinates | merge_with
polish(equation(ATTENTION, Perceptron(np.eye(3), np.ones(3))), PAIR) -> 3 entries | must have 2
polish(NOISY, PAIR) -> diffusion = 0.1 | dissolve
stationary_density(ASCENT, UNIFORM) -> diffusion = 0 | polish
stationary_density(NOISY, ATOM) -> atoms dissolve
stationary_density(equation(Attention(1.0, True), diffusion=0.1), UNIFORM) -> unnormalised
stationary_density(equation(Attention(400.0), diffusion=0.1), UNIFORM) -> too coarse
stationary_density(IN_3, UNIFORM) -> have 3 entries
stationary_density(descent(INDEFINITE, diffusion=0.3), UNIFORM) -> eigenvalue -0.5, below 0
maximize(ASCENT) -> every single atom
maximize(SOFTMAX) -> softmax
maximize(equation(Attention(2.0, bilinear=TILTED), NEURON)) -> head with matrices
maximize(equation(ATTENTION, Perceptron(EYE, EYE))) -> vector weights
maximize(equation(ATTENTION, Perceptron(np.eye(6), np.ones(6), "gelu"))) -> 6 dimensions
phase_diagram(65, 3.0) -> dimension = 65
phase_diagram(3, [2.0, 0.0]) -> betas[1] = 0
phase_diagram(3, <[]; [[2.0]]>) -> betas has shape
phase_diagram(3, [101.0]) -> betas[0] = 101
phase_diagram(3, [4.0], degree=2) -> degree = 2: modes above 1 | circle only
theory.has_continuous_transition(Polynomial((0, -1.4, 0, 2.5)), 3) -> degree 3; nothing is known
theory.<has_continuous_transition; fastest_mode>(Polynomial((0, -1.0)), 3) -> no degree grows
theory.growth_rates(Exponential(3.0), 2, 1, direction="ascent", normalized=True) -> about attention
plot_phase_diagram(phase_diagram(3, 2.0)) -> one value of beta
"""
"""A call -> what its error says, in the order of its text; of ``<a; b>`` each, in words ``IT``."""
WITHOUT_CERTIFICATE = """
scaled() -> not known with Normalization(name='pre'
ASCENT -> ascent
descent(Attention(1.0, True)) -> softmax
descent(ATTENTION, diffusion=0.1) -> diffusion = 0.1
descent(ATTENTION, Potential(first, to_the_right)) -> Potential
descent(ATTENTION, Perceptron(ONE, [1.0], (np.sin, lambda z: 1 - np.cos(z)))) -> 'custom'
descent(ATTENTION, Perceptron(EYE, EYE)) -> vector weights
descent(INDEFINITE) -> eigenvalue -0.5, below 0
descent(Attention(2.0, bilinear=TILTED, value=-2 * TILTED)) -> -2 times bilinear
descent(Attention(2.0, bilinear=[[1.0, 0.4], [0.0, 1.0]])) -> needs an energy | is not symmetric
descent(Attention(2.0, bilinear=EYE, value=TILTED)) -> no multiple of bilinear
descent(Interaction(ZonalKernel(np.sin, np.cos)), NEURON) -> the kernel's third derivative
"""
"""An equation -> why neither its minimum nor a bound of it is known."""
CHOICES = re.compile("<(.*; .*)>")
WRAPPED = {
    "two_layers": "Layers",
    "density_of_labels": "label_density",
    "network_block": "NetworkBlock",
}
NEEDED = ("angles", "centres", "bilinear", "t_end", "kv_heads")
"""Arguments that None may not stand for although it is their default."""
MEANT_BY_NONE = ("radius",)
"""Arguments that may be None although another value is their default."""
MAY_BE_INFINITE = ("theory.merge_time",)
"""What says that a number above the largest is given as infinity."""
MADE_AS_GIVEN = ("Density", "Atoms", "Atoms.none", "Measure", "PositionedAtoms")
"""What has the mass that it is given."""
RESULTS = """
AtomConvergence BranchEvent Certificate Clustering Continuation Ensemble Maximum Minimum
PhaseDiagram PolishedAtoms RetrievalProfile Run StationaryDensity WassersteinReport
theory.AntiConcentrationBound
theory.KernelCurvature theory.NonDegeneracy theory.PhaseDiagram theory.StrictStability
"""
NAMES = {**{name: getattr(mfpde, name) for name in mfpde.__all__}, **globals()}


class Call(NamedTuple):
    """A call of the table of those that work, in parts."""

    text: str
    name: str
    function: Callable[..., Any]
    arguments: Mapping[str, Any]
    unbounded: list[str]


def wrong_calls() -> Iterator[tuple[str, str]]:
    """Yield each call that is wrong, with the words of its error."""
    certified = "<minimize({0}, CIRCLE); certificate({0}, UNIFORM)>"
    for table, form in ((WRONG, "{}"), (WITHOUT_CERTIFICATE, certified)):
        for row in filter(None, table.splitlines()):
            given, _, words = row.partition(" -> ")
            call = form.format(given)
            choices = CHOICES.search(call) or [call, call]
            for one in choices[1].split("; "):
                yield call.replace(choices[0], one), words.replace("IT", one)


def right_calls() -> list[Call]:
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
