"""Theorem 3.1: with ReLU on the circle every stationary measure is a finite sum of atoms."""

from __future__ import annotations

import numpy as np
from scipy.special import ive

import mfpde
from validation.circle_cases import angles_of, atomic_hessian, points_at
from validation.claim import Claim, Findings, equal, vanishes
from validation.drawing import panels
from validation.stable_states import descent
from validation.theorems import searches
from validation.theorems.pictures import draw_minimiser
from validation.theorems.witness import residual

CLAIM = Claim(
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
AXIS, PAIR = 0.4, 0.01
"""Angle of the neurons a, -a, and their weight: small enough for the density to be positive."""


@CLAIM
def main(quick: bool = False) -> Findings:
    betas, scales = (1.0, 5.0, 10.0, 25.0, 50.0), (0.1, 1.0, 10.0)
    cases = ((1.0, 10.0), 2, (1.0,), (0,)) if quick else (betas, 2, scales, range(4))
    equations = searches.random_descents(*cases)
    found, rows = searches.minimisers(equations, mfpde.Circle(256), "minimisers")
    yield from rows
    polished = [mfpde.polish(m.equation, m.measure) for m in found if m.kind == "atoms"]
    pulls = [residual(end.equation, end.atoms) for end in polished]
    yield vanishes("minimisers: largest |grad F| at the atoms", pulls, 1e-14)
    yield from ends(quick)
    yield from resting_saddles(quick)
    yield from jumps()
    yield from footnote()
    figure, (ax,) = panels(1, width=5)
    draw_minimiser(ax, found[1 if quick else 37])
    ax.legend(loc="upper center", ncols=3)
    yield "minimiser", figure


def ends(quick: bool) -> Findings:
    """Densities with three neurons that leave no part of S^1 at rest, both directions."""
    for direction, sign in (("descent", -1.0), ("ascent", 1.0)):
        neurons = mfpde.Perceptron(searches.TURNS, sign * np.array([0.5, 0.4, 0.3]))
        equations = [
            mfpde.MeanFieldEquation(mfpde.Attention(beta), neurons, direction=direction)
            for beta in ((5.0,) if quick else (2.0, 5.0, 10.0))
        ]
        circle = mfpde.Circle(256 if quick else 512)
        yield from searches.rows_of_ends(equations, circle, direction)


def resting_saddles(quick: bool) -> Findings:
    """Particles at rest with Hess E of both signs."""
    neurons = mfpde.Perceptron(searches.TURNS, [-0.5, 0.4, -0.3])
    sizes, repeats = ((8, 16), 5) if quick else ((8, 16, 32, 64), 20)
    rows, states = searches.saddles(descent(searches.BETA, neurons), sizes, repeats)
    yield from rows
    atoms = [(angles_of(state.points), state.masses) for state in states]
    hessians = [atomic_hessian(searches.BETA, one, neurons) for one in atoms]
    bends = [np.linalg.eigvalsh(hessian) for hessian in hessians]
    share = np.mean([bend[0] < -1e-3 and bend[-1] > 1e-3 for bend in bends])
    yield equal("share of these with Hess E of both signs", share, 1.0, 0.0)


def jumps() -> Findings:
    """Jump of F'' at a kink, whatever the measure; none for a, -a of equal weights."""
    axis, weight = points_at(np.array(AXIS)), 0.3
    atoms = mfpde.Atoms(points_at(np.array([0.1, 2.0, 4.5])))
    for name, measure in (("uniform", searches.UNIFORM), ("atoms", atoms)):
        for kind, rows, exact in (("a", [axis], weight), ("a, -a", [axis, -axis], 0.0)):
            neurons = mfpde.Perceptron(rows, [weight] * len(rows))
            jump = searches.derivative_jump(neurons, AXIS - np.pi / 2, measure)
            text = f"jump of F'' at the kink, neurons {kind}, {name}"
            yield equal(text, jump, exact, searches.JUMP_ERRORS[2], subject="formula")


def footnote() -> Findings:
    """Neurons a, -a of equal weight: V = w (a.x)^2/2, and the minimiser is a density."""
    axis = points_at(np.array(AXIS))
    equation = descent(searches.BETA, mfpde.Perceptron([axis, -axis], [PAIR, PAIR]))
    # V = w/4 + (w/4) cos 2(t - axis), so that w_2 = w/4 at each of its two modes.
    share = PAIR / 4 / (ive(2, searches.BETA) / searches.BETA)
    relative = 1 - share * np.cos(2 * (mfpde.Circle(256).angles - AXIS))
    name = "a, -a of equal weights, 1 - w_2/kappa_2 cos 2t"
    yield from searches.rows_of_density(equation, relative, name)
