"""Cases of atoms that rest beside the kink of a neuron, with other atoms elsewhere.

There a cluster may rest in a basin that ends a fraction of a cell, or a few cells, from
it: s F drops by less than kappa h^2 / 2 on the way out, kappa the strongest curvature,
which is what a lattice of cells may lose on any ridge.  No case of the other sets had such
a pass.  The answers below were written down before the verdict was run on any of them.

Two are exact.  In ascent of

    A[mu](x) + r (p.x)^2 / 2 + w relu(a.x)^2 / 2,    a.p = -eps,

the point p is a zero of the velocity of everything but the mass there, which contracts
with the rate r; behind the kink at the distance eps it is carried off to a, where w > r.
A cluster at p rests, one on the other side of the kink (a.p = eps) leaves.  The others are
the paper's three neurons, turned: 1500 particles have two clusters at rest from t = 50 on,
of masses 0.792 and 0.208 (beta = 15), 0.793 and 0.207 (beta = 25), 1.63 radians apart.
"""

from __future__ import annotations

import sys

import numpy as np

import mfpde
from validation import verdict_shapes as shapes
from validation.verdict_cases import narrow, on_s2, score
from validation.verdict_shapes import Case, Expected, on_circle, unit

SIZES = {"circle": (300, 1000), "sphere": (64, 96), "zonal": (150, 400)}
PULL, PUSH = 0.3, 0.6
"""The rate r of the contraction at rest, and the weight w of the neuron with the kink."""
NEAR = 0.4
"""Distance eps to the kink, in cells."""


def turned(seed: int):
    """A rotation (3, 3)."""
    matrix = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))[0]
    return matrix * np.linalg.det(matrix)


def potential(place, across, *, distance: float) -> mfpde.MeanFieldEquation:
    """Ascent with a well about ``place`` and a kink at ``distance`` towards ``across``."""
    towards = np.cos(distance) * across - np.sin(distance) * place
    return mfpde.MeanFieldEquation(
        mfpde.Attention(25.0),
        mfpde.Perceptron(place[np.newaxis], [PULL], "linear"),
        mfpde.Perceptron(towards[np.newaxis], [PUSH], "relu"),
        direction="ascent",
    )


def beside_kink(geometry, dot, turn, *, side: float = 1.0, share: float = 0.2):
    """A cluster at rest (``side`` 1) or leaving (-1) beside a kink, the rest at its end."""

    def situation(size: int):
        grid = geometry(size)
        equation = potential(turn[0], turn[1], distance=side * narrow(grid, NEAR))
        end = equation.externals[1].directions[0]
        values = share * dot(grid, turn[0]) + (1 - share) * dot(grid, end)
        return mfpde.Density(grid, values).normalized(), equation

    return situation


def dot_on_sphere(grid, centre):
    return shapes.bump(grid, centre, narrow(grid, 0.5))


def dot_on_circle(grid, centre):
    angle = np.arctan2(centre[1], centre[0])
    return shapes.gaussian(grid, angle, narrow(grid, 0.5))


def the_papers(beta: float, turn):
    """The paper's three ReLU neurons in ascent from the uniform density, turned."""
    drawn = mfpde.Perceptron.random(3, 3, seed=111, activation="relu")
    neurons = mfpde.Perceptron(drawn.directions @ turn.T, drawn.weights, "relu")
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(beta), neurons, direction="ascent"
    )
    return shapes.solved(mfpde.Sphere, mfpde.uniform, equation, time=100.0)


def sliding(turn):
    """A cluster on its way along a ridge of s F, the rest at the ridge's top turn_0."""
    neurons = mfpde.Perceptron(turn[:2], [1.0, 0.9], "linear")
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(25.0), neurons, direction="ascent"
    )
    place = unit(turn[0] + 1.2 * turn[1])
    return on_s2(
        lambda g: 0.3 * dot_on_sphere(g, place) + 0.7 * dot_on_sphere(g, turn[0]),
        equation,
    )


def ring_beside_kink(grid):
    """A ring on the equator beside a kink, and the rest at the pole behind it."""
    ring = np.exp(-(((grid.angles - np.pi / 2) / narrow(grid, 0.5)) ** 2) / 2)
    pole = np.exp(-((grid.angles / narrow(grid, 0.5)) ** 2) / 2)
    masses = [
        values * grid.areas / (values * grid.areas).sum() for values in (ring, pole)
    ]
    return (0.2 * masses[0] + 0.8 * masses[1]) / grid.areas


def on_zonal(size: int):
    grid = mfpde.Zonal(3, size)
    axis = grid.axis[np.newaxis]
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(25.0),
        mfpde.Perceptron(axis, [-PULL], "linear"),
        mfpde.Perceptron(axis, [PUSH], "relu", biases=[-narrow(grid, NEAR)]),
        direction="ascent",
    )
    return mfpde.Density(grid, ring_beside_kink(grid)).normalized(), equation


TWO = Expected(("atoms",), atoms=2, masses=(0.8, 0.2), jumps=None)
ONE = Expected(("forming",), atoms=1, masses=(1.0,), jumps=None)

CASES = [
    *(
        Case(
            f"atom at rest beside a kink, another elsewhere, turn {seed}",
            "sphere",
            beside_kink(mfpde.Sphere, dot_on_sphere, turned(seed)),
            TWO,
        )
        for seed in range(6)
    ),
    Case(
        "light atom at rest beside a kink",
        "sphere",
        beside_kink(mfpde.Sphere, dot_on_sphere, turned(6), share=0.05),
        Expected(("atoms",), atoms=2, masses=(0.95, 0.05), jumps=None),
    ),
    Case(
        "heavy atom at rest beside a kink, at a pole",
        "sphere",
        beside_kink(mfpde.Sphere, dot_on_sphere, np.eye(3)[[2, 0, 1]], share=0.6),
        Expected(("atoms",), atoms=2, masses=(0.6, 0.4), jumps=None),
    ),
    *(
        Case(
            f"peak that leaves a kink for another, turn {seed}",
            "sphere",
            beside_kink(
                mfpde.Sphere, dot_on_sphere, turned(seed), side=-1.0, share=0.3
            ),
            ONE,
        )
        for seed in (10, 11, 12)
    ),
    *(
        Case(
            f"peak that slides down a ridge to another, turn {seed}",
            "sphere",
            sliding(turned(seed)),
            ONE,
        )
        for seed in (20, 21)
    ),
    *(
        Case(
            f"the paper's neurons, beta = {beta:g}, turn {seed}",
            "sphere",
            the_papers(beta, np.eye(3) if seed is None else turned(seed)),
            Expected(("atoms",), atoms=2, masses=(0.79, 0.21), jumps=None),
            is_dear=seed is not None,
        )
        for beta in (15.0, 25.0)
        for seed in (None, 30)
    ),
    *(
        Case(
            f"atom at rest beside a kink, another elsewhere, at {angle}",
            "circle",
            beside_kink(
                mfpde.Circle, dot_on_circle, on_circle(angle, angle + np.pi / 2)
            ),
            TWO,
        )
        for angle in (0.3, 2.1, 4.4)
    ),
    Case(
        "peak that leaves a kink for another",
        "circle",
        beside_kink(
            mfpde.Circle,
            dot_on_circle,
            on_circle(1.1, 1.1 + np.pi / 2),
            side=-1.0,
            share=0.3,
        ),
        ONE,
    ),
    Case(
        "ring at rest beside a kink, an atom at the pole",
        "zonal",
        on_zonal,
        Expected(("atoms",), atoms=1, masses=(0.8,), jumps=None, has_curve=True),
    ),
]


def main(quick: bool = False) -> dict[str, float]:
    return score(CASES, SIZES, quick=quick)


if __name__ == "__main__":
    print(main("quick" in sys.argv))
