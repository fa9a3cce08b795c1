"""Theorem 3.1, Remarks 3.4 (i) and 5.4: with a kink on the circle stationary measures are atoms.

What forbids a density is the jump of a derivative of F at each kink, which no measure can take
away.  Where it is missing there is one.
"""

from __future__ import annotations

import numpy as np

import mfpde
from mfpde.terms.activations import Activation
from validation.circle_cases import angles_of, atomic_hessian, points_at
from validation.claim import Claim, Findings, equal, vanishes
from validation.stable_states import descent
from validation.theorems import searches
from validation.theorems.searches import AXIS, BETA, TURNS, row_of_jump
from validation.theorems.witness import residual

DIRECTION = points_at(np.array(AXIS))
WEIGHT, PAIR = 0.3, 0.01
"""Of a neuron, and of neurons a, -a: the latter small enough for the density to be positive."""
HAT = 0.5
"""Half the support of the hat activation max(1 - |z|/HAT, 0) HAT."""
SQUARED = Activation(
    "squared_relu",
    lambda z: np.maximum(z, 0.0) ** 2,
    lambda z: np.maximum(z, 0.0) ** 3 / 3,
)


def end_equations(betas: tuple[float, ...], weights: object, *kind: object) -> dict:
    """Three neurons that leave no part of S^1 at rest, by direction: they attract in both."""
    return {
        direction: [
            mfpde.MeanFieldEquation(
                mfpde.Attention(beta),
                mfpde.Perceptron(TURNS, sign * np.array(weights), *kind),
                direction=direction,
            )
            for beta in betas
        ]
        for direction, sign in (("descent", -1.0), ("ascent", 1.0))
    }


@Claim(
    title="ReLU on S^1: stationary measures are atoms",
    source="Theorem 3.1 and its footnote 2",
    statement=(
        "d = 2, ReLU, v_theta not real-analytic: every mu with grad F = 0 on supp mu is a "
        "finite sum of atoms. Looked for among minimisers, ends of densities in descent and "
        "in ascent, and saddles of growing numbers of particles. What forbids a density: the "
        "jump w_j |a_j|^2 of F'' at each kink, which no measure can take away. Two neurons "
        "a, -a of equal weights have no such jump (v is that of one linear neuron), and "
        "then there is a density."
    ),
)
def theorem_3_1(quick: bool = False) -> Findings:
    betas, scales = (1.0, 5.0, 10.0, 25.0, 50.0), (0.1, 1.0, 10.0)
    cases = ((1.0, 10.0), 2, (1.0,), (0,)) if quick else (betas, 2, scales, range(4))
    equations = searches.random_descents(*cases)
    found, rows = searches.minimisers(equations, mfpde.Circle(256), "minimisers")
    yield from rows
    polished = [mfpde.polish(m.equation, m.measure) for m in found if m.kind == "atoms"]
    pulls = [residual(end.equation, end.atoms) for end in polished]
    yield vanishes("minimisers: largest |grad F| at the atoms", pulls, 1e-14)
    ends = end_equations((5.0,) if quick else (2.0, 5.0, 10.0), [0.5, 0.4, 0.3])
    circle = mfpde.Circle(256 if quick else 512)
    for direction, equations in ends.items():
        yield from searches.rows_of_ends(equations, circle, direction)
    yield from resting_saddles(quick)
    atoms = mfpde.Atoms(points_at(np.array([0.1, 2.0, 4.5])))
    for name, measure in (("uniform", searches.UNIFORM), ("atoms", atoms)):
        for kind, count, exact in (("a", 1, WEIGHT), ("a, -a", 2, 0.0)):
            rows = [DIRECTION, -DIRECTION][:count]
            neurons = mfpde.Perceptron(rows, [WEIGHT] * count)
            yield row_of_jump(
                f"neurons {kind}, {name}", neurons, exact, measure=measure
            )
    # V = w (a.x)^2/2 = w/4 + (w/4) cos 2(t - AXIS).
    pair = mfpde.Perceptron([DIRECTION, -DIRECTION], [PAIR, PAIR])
    name = "a, -a of equal weights, 1 - w_2/kappa_2 cos 2t"
    yield from searches.rows_of_density(descent(BETA, pair), {2: PAIR / 4}, name)
    figure, ax = searches.draw_minimiser(found[1 if quick else 37])
    ax.legend(loc="upper center", ncols=3)
    yield "minimiser", figure


def resting_saddles(quick: bool) -> Findings:
    """Particles at rest with Hess E of both signs."""
    neurons = mfpde.Perceptron(TURNS, [-0.5, 0.4, -0.3])
    sizes, repeats = ((8, 16), 5) if quick else ((8, 16, 32, 64), 20)
    rows, states = searches.saddles(descent(BETA, neurons), sizes, repeats)
    yield from rows
    atoms = [(angles_of(state.points), state.masses) for state in states]
    hessians = [atomic_hessian(BETA, one, neurons) for one in atoms]
    bends = [np.linalg.eigvalsh(hessian) for hessian in hessians]
    share = np.mean([bend[0] < -1e-3 and bend[-1] > 1e-3 for bend in bends])
    yield equal("share of these with Hess E of both signs", share, 1.0, 0.0)


@Claim(
    title="Biases: the same with hyperplanes that cut the sphere",
    source="Remark 3.4 (i)",
    statement=(
        "Theorems 3.1 to 3.3 hold with sigma(a_j.x + b_j) if |b_j| < |a_j| for some j: F'' "
        "then jumps by w_j (|a_j|^2 - b_j^2) where that hyperplane cuts S^1. Where none "
        "cuts, v is a polynomial and the minimiser can be a density."
    ),
    condition="shown for the kernel exp(beta x.y); that of Remark 3.4 (ii) is a claim of its own",
)
def remark_3_4(quick: bool = False) -> Findings:
    # On S^2 the theorem leaves room for curves, but for no density.
    for name, dimension, grid, kinds in (
        ("S^1, minimisers", 2, mfpde.Circle(256), ("atoms",)),
        ("S^2, minimisers", 3, mfpde.Sphere(64), ("atoms", "ring", "spread")),
    ):
        seeds = range(2 if quick else 6)
        equations = [descent(10.0, biased(dimension, seed)) for seed in seeds]
        given = (equations, grid, name, kinds)
        yield from searches.minimisers(*given, shows="condition")[1]
    # No kink: V = w (a.x + b)^2/2 = const + w b cos t + (w/4) cos 2t.
    weight, bias = 0.005, 1.5
    equation, name = (
        descent(BETA, one_neuron(weight, bias)),
        "S^1, b = 1.5 |a|, no kink",
    )
    yield from searches.rows_of_density(
        equation, {1: weight * bias, 2: weight / 4}, name
    )
    for bias in (0.0, 0.5, -0.9):
        kink, exact = AXIS - float(np.arccos(-bias)), WEIGHT * (1 - bias**2)
        neuron = one_neuron(WEIGHT, bias)
        yield row_of_jump(f"b = {bias:g}", neuron, exact, kink=kink)


def one_neuron(weight: float, bias: float) -> mfpde.Perceptron:
    """ReLU(a.x + b), |a| = 1, on the circle."""
    return mfpde.Perceptron([DIRECTION], [weight], biases=[bias])


def biased(dimension: int, seed: int, share: float = 0.8) -> mfpde.Perceptron:
    """2 d random ReLU neurons with biases up to ``share`` of the directions' lengths."""
    drawn = mfpde.Perceptron.random(2 * dimension, dimension, seed=seed)
    biases = np.random.default_rng(seed).uniform(-share, share, 2 * dimension)
    return mfpde.Perceptron(drawn.directions, drawn.weights, biases=biases)


@Claim(
    title="Other activations with kinks: atoms, as with ReLU",
    source="Remark 5.4",
    statement=(
        "Theorem 3.1 holds for leaky ReLU and piecewise polynomial activations: some "
        "derivative of F jumps where a neuron's argument crosses a kink. Looked for among "
        "minimisers (leaky ReLU; the hat, three ReLU neurons with biases) and ends of "
        "densities (max(z, 0)^2, in both directions)."
    ),
)
def remark_5_4(quick: bool = False) -> Findings:
    circle, seeds = mfpde.Circle(256), range(2 if quick else 12)
    betas = (10.0,) if quick else (1.0, 10.0, 50.0)
    leaky = searches.random_descents(betas, 2, (1.0,), seeds, "leaky_relu")
    drawn = [mfpde.Perceptron.random(4, 2, seed=seed) for seed in seeds]
    of_hats = [descent(10.0, hats(one.directions, one.weights)) for one in drawn]
    for name, equations in (("leaky ReLU", leaky), ("hat", of_hats)):
        yield from searches.minimisers(equations, circle, f"{name}, minimisers")[1]
    # So strong that an atom of a third of the mass does not open in descent.
    both = end_equations((BETA,), [1.5, 1.2, 0.9], SQUARED)
    grid, name = mfpde.Circle(256 if quick else 512), "max(z, 0)^2, descent and ascent"
    yield from searches.rows_of_ends(both["descent"] + both["ascent"], grid, name)
    axis, weight = DIRECTION[np.newaxis], np.array([WEIGHT])
    leaky_neuron = mfpde.Perceptron(axis, weight, "leaky_relu")
    yield row_of_jump("leaky ReLU", leaky_neuron, 0.99 * WEIGHT)
    yield row_of_jump("hat", hats(axis, weight), -2 * WEIGHT)
    square = mfpde.Perceptron(axis, weight, SQUARED)
    yield row_of_jump("max(z, 0)^2", square, 2 * WEIGHT, order=3)


def hats(directions: np.ndarray, weights: np.ndarray) -> mfpde.Perceptron:
    """Neurons with sigma(z) = max(HAT - |z|, 0): three ReLU neurons for each."""
    return mfpde.Perceptron(
        np.repeat(directions, 3, axis=0),
        np.outer(weights, [1.0, -2.0, 1.0]).ravel(),
        biases=np.tile([HAT, 0.0, -HAT], len(weights)),
    )
