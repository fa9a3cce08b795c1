"""Score of the verdict of ``mfpde.concentration`` on cases whose answers are known.

There are three corpora; every case is run on two grids, and a row is right if the verdict, the
number of atoms and, where they are given, masses, frozen mass, curves and jumps are all as
expected.

The answers were written down before the verdict was run: of ``cases`` 111 of 118 rows were right
at first, without a false atom; ``second`` was written after the changes that the others led to.

A bump in ascent contracts and becomes an atom: "forming" as long as it is wider than a cell.  A
bump in descent spreads: "resolved", or "unresolved" if it is too narrow for the grid to tell.
Mass on a line is a curve whichever way it moves.  Two narrow peaks are two atoms if they lie in
two basins of the velocity field.  Without velocity a density is frozen, whatever its shape.

The cases of ``beside_kinks`` are atoms that rest beside the kink of a neuron, with other atoms
elsewhere.  There a cluster may rest in a basin that ends a fraction of a cell, or a few cells,
from it: s F drops by less than kappa h^2 / 2 on the way out, kappa the strongest curvature, which
is what a lattice of cells may lose on any ridge.  Two kinds are exact.  In ascent of

    A[mu](x) + r (p.x)^2 / 2 + w relu(a.x)^2 / 2,    a.p = -eps,

the point p is a zero of the velocity of everything but the mass there, which contracts
with the rate r; behind the kink at the distance eps it is carried off to a, where w > r.
A cluster at p rests, one on the other side of the kink (a.p = eps) leaves.  The others are
the paper's three neurons, turned: 1500 particles have two clusters at rest from t = 50 on,
of masses 0.792 and 0.208 (beta = 15), 0.793 and 0.207 (beta = 25), 1.63 radians apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import mfpde
from mfpde.detection import ConcentrationReport
from mfpde.geometry import Geometry
from validation import verdict_shapes as shapes
from validation.circle_cases import poisson as poisson_kernel
from validation.sphere_cases import density_of_neuron
from validation.verdict_shapes import (
    Array,
    attention,
    hoop,
    level,
    neuron,
    on_circle,
    spike,
    total,
    unit,
)

MASS_TOLERANCE, LENGTH_TOLERANCE = 0.02, 0.15


@dataclass(frozen=True)
class Expected:
    """The right answer: verdict (or several that are right), and the numbers with it.

    ``atoms`` counts the regions called atom or forming, ``masses`` are theirs, heaviest
    first, to 0.02; ``frozen`` is the mass at rest to 0.02; ``jumps`` counts the places
    on S^1 and on zonal grids, and is the length on S^2, to 15 % (to 0.3 if it is 0).
    None means that nothing is said.
    """

    verdict: tuple[str, ...]
    atoms: int | None = 0
    masses: tuple[float, ...] | None = None
    frozen: float | None = None
    jumps: float | None = 0.0
    has_curve: bool | None = None

    def mistakes(self, report: ConcentrationReport) -> list[str]:
        """Return what in ``report`` differs from what is expected."""
        masses = sorted((atom.mass for atom in report.clusters), reverse=True)
        jumps, allowed = float(len(report.jumps)), 0.0
        if report.place == "sphere":
            jumps = report.jump_length
            allowed = max(0.3, LENGTH_TOLERANCE * (self.jumps or 0.0))
        rows = (
            ("atoms", len(masses), self.atoms, 0.0),
            ("masses", masses, self.masses, MASS_TOLERANCE),
            ("frozen mass", report.frozen_mass, self.frozen, MASS_TOLERANCE),
            ("a curve", bool(report.curves), self.has_curve, 0.0),
            ("jumps", jumps, self.jumps, allowed),
        )
        found = [] if report.verdict in self.verdict else [f"verdict {report.verdict}"]
        return found + [
            f"{name}: {measured}"
            for name, measured, expected, tolerance in rows
            if expected is not None
            and not (
                np.shape(measured) == np.shape(expected)
                and np.allclose(measured, expected, rtol=0, atol=tolerance)
            )
        ]


@dataclass(frozen=True)
class Case:
    """A measure and its equation by grid size, and what is true of them.

    Parameters
    ----------
    values
        Values at the cells by grid, or a density.
    equation
        It, or a function of the grid that returns it.
    time
        What is asked about is the density at this time, by the default transport.
    held
        Exact atoms over the density, which has the rest of the mass.
    is_dear
        Whether the quick form leaves it out.
    """

    place: str
    geometry: Callable[[int], Geometry]
    name: str
    values: Callable[[Geometry], Any]
    equation: Any
    expected: Expected
    time: float | None = None
    held: Callable[[Geometry], mfpde.Atoms] | None = None
    is_dear: bool = False

    def situation(self, size: int) -> tuple[Any, mfpde.MeanFieldEquation]:
        """Return the measure and the equation on the grid of this size."""
        grid = self.geometry(size)
        problem = self.equation(grid) if callable(self.equation) else self.equation
        shape = self.values(grid)
        if not isinstance(shape, mfpde.Density):
            shape = mfpde.Density(grid, shape).normalized()
        if self.time is not None:
            run = mfpde.solve(problem, shape, t_end=self.time, save_at=[self.time])
            return run.final, problem
        if self.held is None:
            return shape, problem
        atoms = self.held(grid)
        rest = mfpde.Density(grid, (1 - atoms.total_mass) * shape.values)
        return mfpde.Measure(rest, atoms), problem


circle = partial(Case, "circle", mfpde.Circle)
sphere = partial(Case, "sphere", mfpde.Sphere)


def zonal(dimension: int, *given: Any, **options: Any) -> Case:
    """Return a case on a zonal grid."""
    return Case("zonal", partial(mfpde.Zonal, dimension), *given, **options)


def atoms(*masses: float, verdict: str = "atoms", **more: Any) -> Expected:
    """The answer that there are atoms of these masses."""
    return Expected((verdict,), len(masses), masses, **more)


forming = partial(atoms, verdict="forming")
FROZEN = Expected(("frozen",), frozen=1.0)
RESOLVED, UNRESOLVED = Expected(("resolved",)), Expected(("unresolved",))
SMOOTH = Expected(("resolved", "frozen"))
CURVE = Expected(("curve",), has_curve=True)
ATOM_AND_CURVE = Expected(("atoms",), atoms=1, has_curve=True)
ATOM, PEAK = atoms(1.0), forming(1.0)
ONE_ATOM, TWO_ATOMS = Expected(("atoms",), atoms=1), Expected(("atoms",), atoms=2)


def jump(count: float) -> Expected:
    """The answer that there are so many jumps, or that they are so long."""
    return Expected(("jump",), jumps=count)


def exactly(
    points: Array, masses: Sequence[float], *, cells: float = 0.0
) -> Callable[[Geometry], mfpde.Atoms]:
    """Atoms by grid, with a covariance of ``cells`` in every tangent direction."""
    projectors = np.eye(points.shape[1]) - points[:, :, None] * points[:, None, :]
    if not cells:
        return lambda grid: mfpde.Atoms(points, masses)
    return lambda grid: mfpde.Atoms(
        points, masses, (cells * grid.spacing) ** 2 * projectors
    )


def perturbed(size: float, seed: int) -> Callable[[Geometry], mfpde.Density]:
    """A random smooth density by grid."""
    return lambda grid: mfpde.perturbed_uniform(grid, size, seed=seed)


def nothing(grid: Geometry) -> mfpde.Density:
    """No density."""
    return mfpde.Density(grid, np.zeros(grid.shape))


def waves(count: int) -> shapes.Values:
    """``count`` gentle waves around the circle."""
    return lambda grid: 1 + 0.3 * np.cos(count * grid.angles + 0.4)


def poisson(r: float, centre: float = 0.0) -> shapes.Values:
    """The Kuramoto solution by grid."""
    return lambda grid: poisson_kernel(grid.angles, r, centre)


def moved_by_neuron(axis: Array, time: float) -> shapes.Values:
    """One ReLU neuron of weight 1 in ascent from the uniform density."""
    return lambda grid: density_of_neuron(grid.points @ axis, len(axis), time)


def step(
    centre: Array | float, radius: float, *, low: float, high: float
) -> shapes.Values:
    """``high`` within ``radius`` of an angle of the circle or a point of the sphere."""

    def values(grid: Geometry) -> Array:
        return low + (high - low) * (shapes.distance(grid, centre) < radius)

    return values


# The first corpus ----------------------------------------------------------------------------

TILTED = unit([0.5, -0.7, 0.4])
POLE = np.array([0.0, 0.0, 1.0])
TETRAHEDRON = unit([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
BUMPS = list(zip((0.5, 0.3, 0.2), TETRAHEDRON[:3], strict=True))
uniform, ascent, flat = mfpde.uniform, attention, level(1.0)
descent = partial(attention, direction="descent")
softmax = partial(attention, normalized=True)
RELU, RELU_UP = neuron(on_circle(0.77), 1.0), neuron(TILTED, 1.0)
RELU_DOWN = neuron(on_circle(0.77), 1.0, "descent")
GELU = neuron(on_circle(2.1), 3.0, activation="gelu")
GELU_UP = neuron(TILTED, 3.0, activation="gelu")
PAPERS = mfpde.MeanFieldEquation(
    mfpde.Attention(5.0), mfpde.Perceptron.random(2, 2, seed=777), direction="descent"
)
EDGE = 2 * np.pi
HALF = {"frozen": 0.5, "jumps": 2}
HALF_SPHERE = {"frozen": 0.5, "jumps": EDGE}

# fmt: off
CASES = [
    circle("uniform", flat, ascent(10.0), FROZEN),
    circle("random smooth, descent", perturbed(0.3, 3), descent(10.0), RESOLVED, time=0.2),
    circle("random smooth, descent, late", perturbed(0.9, 4), descent(4.0), SMOOTH, time=40.0),
    circle("bump 0.6 h, ascent", spike(2.0, 0.6), ascent(12.0), ATOM),
    circle("bump 2 h, ascent", spike(2.0, 2.0), ascent(12.0), PEAK),
    circle("bump 8 h, ascent", spike(0.1, 8.0), ascent(12.0), PEAK),
    circle("bump 0.6 h, descent", spike(3.3, 0.6), descent(12.0), UNRESOLVED),
    circle("bump 8 h, descent", spike(3.3, 8.0), descent(12.0), RESOLVED),
    circle("top hat, descent", step(1.234, 0.4, low=0.1, high=1.1), descent(5.0), jump(2)),
    circle("half circle twice as dense, descent", step(5.0, np.pi / 2, low=1.0, high=2.0),
        descent(2.0), jump(2)),
    circle("step over 6 h, descent",
        lambda g: 1.5 + np.tanh(np.cos(g.angles - 1.0) / (6.0 * g.spacing)), descent(5.0),
        RESOLVED),
    circle("one ReLU neuron, ascent, late", uniform, RELU, atoms(0.5, **HALF), time=7.0),
    circle("one ReLU neuron, ascent, early", moved_by_neuron(on_circle(0.77)[0], 1.5),
        RELU, forming(0.5, **HALF)),
    circle("one ReLU neuron, descent", uniform, RELU_DOWN,
        forming(0.25, 0.25, frozen=0.5, jumps=None), time=3.0),
    circle("one GeLU neuron, ascent, late", uniform, GELU, atoms(0.5, 0.5), time=16.0),
    circle("three exact atoms", nothing, ascent(20.0), atoms(0.5, 0.3, 0.2),
        held=exactly(on_circle(0.3, 2.0, 4.5), [0.5, 0.3, 0.2])),
    circle("two wide exact atoms over a uniform part", flat, ascent(10.0), TWO_ATOMS,
        held=exactly(on_circle(1.0, 3.0), [0.4, 0.3], cells=0.5)),
    circle("atom over a uniform part", total(spike(4.0, 0.7), level(1 / (2 * np.pi))),
        ascent(10.0), ONE_ATOM),
    circle("close pair of atoms in two basins",
        total(spike(1.0, 0.6, 0.6), spike(1.16, 0.6, 0.4)), ascent(400.0), atoms(0.6, 0.4)),
    circle("three clusters, ascent", waves(3), ascent(8.0), atoms(*[1 / 3] * 3), time=60.0),
    circle("four clusters, softmax", waves(4), softmax(20.0), atoms(*[0.25] * 4), time=20.0),
    circle("the paper's weights, descent", uniform, PAPERS,
        Expected(("atoms",), atoms=2, jumps=None), time=80.0),
    circle("Kuramoto, r = 0.5, ascent", poisson(0.5, 1.0), ascent(0.0), PEAK),
    circle("Kuramoto, r = 0.5, descent", poisson(0.5, 1.0), descent(0.0), RESOLVED),
    circle("Kuramoto, r = 0.9999, ascent", poisson(0.9999, 1.0), ascent(0.0), ATOM),
    sphere("uniform", flat, ascent(10.0), FROZEN),
    sphere("random smooth, descent", perturbed(0.8, 5), descent(8.0), SMOOTH, time=10.0),
    sphere("bump 0.6 h, ascent", spike(TILTED, 0.6), ascent(8.0), ATOM),
    sphere("bump 0.6 h at the pole, ascent", spike(-POLE, 0.6), ascent(8.0), ATOM),
    sphere("bump 2 h, ascent", spike(TILTED, 2.0), ascent(8.0), PEAK),
    sphere("bump 6 h, ascent", spike(TILTED, 6.0), ascent(8.0), PEAK),
    sphere("bump 0.6 h, descent", spike(TILTED, 0.6), descent(8.0), UNRESOLVED),
    sphere("bump 6 h, descent", spike(TILTED, 6.0), descent(8.0), RESOLVED),
    sphere("ring, ascent", hoop(TILTED, 0.3, 0.5), ascent(8.0), CURVE),
    sphere("ring about the pole, descent", hoop(POLE, 0.6, 1.0), descent(50.0), CURVE),
    sphere("great circle, ascent", hoop(TILTED, np.pi / 2, 0.5), ascent(20.0), CURVE),
    sphere("half a ring, descent", lambda g: shapes.arc(g, TILTED, 0.8, width=0.6 * g.spacing),
        descent(10.0), CURVE),
    sphere("ellipse 1 x 6 h, ascent",
        lambda g: shapes.ellipse(g, TILTED, (6.0 * g.spacing, g.spacing)), ascent(8.0), CURVE),
    sphere("broad ring, descent", hoop(TILTED, 0.9, 5.0), descent(10.0),
        Expected(("resolved",), has_curve=False)),
    sphere("one ReLU neuron, ascent, late", uniform, RELU_UP, atoms(0.5, **HALF_SPHERE),
        time=6.0, is_dear=True),
    sphere("one ReLU neuron, ascent, early", moved_by_neuron(TILTED, 1.5),
        RELU_UP, forming(0.5, **HALF_SPHERE)),
    sphere("cap over a uniform part, descent", step(TILTED, 0.7, low=0.2, high=1.2),
        descent(5.0), jump(EDGE * np.sin(0.7))),
    sphere("cap about the pole, descent", step(POLE, 1.1, low=0.3, high=1.3), descent(3.0),
        jump(EDGE * np.sin(1.1))),
    sphere("four exact atoms", nothing, ascent(12.0), atoms(0.4, 0.3, 0.2, 0.1),
        held=exactly(TETRAHEDRON, [0.4, 0.3, 0.2, 0.1])),
    sphere("exact atom and a ring", hoop(TILTED, np.pi / 2, 0.5), ascent(20.0),
        ATOM_AND_CURVE, held=exactly(TILTED[None], [0.5])),
    sphere("two wide exact atoms over a uniform part", flat, ascent(10.0), TWO_ATOMS,
        held=exactly(TETRAHEDRON[:2], [0.4, 0.3], cells=0.5)),
    sphere("two atoms, ascent",
        total(spike(TETRAHEDRON[0], 0.7, 0.6), spike(TETRAHEDRON[1], 0.7, 0.4)), ascent(12.0),
        atoms(0.6, 0.4)),
    sphere("three bumps, ascent",
        lambda g: sum(m * shapes.bump(g, c, 0.2) for m, c in BUMPS), ascent(8.0),
        forming(0.5, 0.3, 0.2)),
    sphere("tetrahedral start, softmax",
        lambda g: 1 + 1.5 * np.sqrt(3) * g.points.prod(axis=-1), softmax(12.0),
        atoms(*[0.25] * 4), time=15.0, is_dear=True),
    sphere("one GeLU neuron, ascent, late", uniform, GELU_UP, atoms(0.5, 0.5), time=14.0,
        is_dear=True),
    sphere("atom and ring in one density",
        total(spike(TILTED, 0.7, 0.5), hoop(TILTED, 1.2, 0.6, 0.5)), ascent(15.0),
        ATOM_AND_CURVE),
    zonal(8, "uniform, d = 8", flat, ascent(5.0), FROZEN),
    zonal(4, "exact atom at the pole and exact ring, d = 4", nothing, ascent(20.0),
        atoms(0.6, has_curve=True),
        held=lambda g: mfpde.Atoms(g.points_at(np.array([0.0, 1.3])), [0.6, 0.4])),
    zonal(5, "narrow ring, d = 5, ascent", hoop(POLE, 1.0, 0.7), ascent(20.0), CURVE),
    zonal(3, "bump 0.7 h at the pole, d = 3, ascent", spike(POLE, 0.7), ascent(10.0), ATOM),
    zonal(3, "bump of width 0.15 at the pole, d = 3, ascent",
        lambda g: shapes.bump(g, POLE, 0.15), ascent(10.0), PEAK),
    zonal(4, "broad bump, d = 4, descent", lambda g: shapes.bump(g, POLE, 0.4),
        descent(10.0), RESOLVED),
    zonal(16, "one ReLU neuron, d = 16, late", uniform, neuron(np.eye(16)[15], 1.0),
        atoms(0.5, frozen=0.5, jumps=1), time=12.0),
    zonal(3, "step at 1.2, d = 3, descent", step(POLE, 1.2, low=1.0, high=2.0),
        descent(2.0), jump(1)),
]
# fmt: on

# The second corpus ---------------------------------------------------------------------------

CENTRE, OTHER = unit([0.2, 0.9, -0.3]), unit([-0.6, 0.1, 0.7])
LEAKY = neuron(on_circle(4.0), 1.0, activation="leaky_relu")

# fmt: off
SECOND = [
    circle("an atom and a broad bump, ascent",
        total(spike(0.5, 0.5, 0.4), lambda g: 0.6 * shapes.bump(g, 3.5, 0.15)),
        ascent(20.0), atoms(0.6, 0.4)),
    circle("tent, descent", lambda g: 1.2 - np.abs(shapes.offset(g, 2.5)) / np.pi, descent(6.0),
        RESOLVED),
    circle("saw-tooth, descent", lambda g: 1 + np.mod(g.angles - 0.9, 2 * np.pi), descent(3.0),
        jump(1)),
    circle("one leaky ReLU neuron, ascent, late", uniform, LEAKY,
        atoms(0.5, frozen=0.0, jumps=2), time=7.0),
    circle("exact atom over a Kuramoto density", poisson(0.6), ascent(0.0), ONE_ATOM,
        held=exactly(on_circle(1.0), [0.3])),
    sphere("Moebius bump",
        lambda g: 1 / (np.cosh(2.0) - np.sinh(2.0) * (g.points @ CENTRE)) ** 2, ascent(0.0),
        PEAK),
    sphere("two great circles, descent",
        total(hoop(CENTRE, np.pi / 2, 0.6), hoop(OTHER, np.pi / 2, 0.6)), descent(12.0), CURVE),
    sphere("ring of radius 5 h, ascent",
        lambda g: shapes.bump(g, CENTRE, 0.5 * g.spacing, 5.0 * g.spacing), ascent(10.0),
        CURVE),
    sphere("atom at the pole over a uniform part",
        total(spike(POLE, 0.8), level(1 / (4 * np.pi))), ascent(10.0), ONE_ATOM),
    sphere("cap, ascent", step(CENTRE, 0.25, low=0.05, high=1.05), ascent(10.0),
        Expected(("forming",), atoms=1, jumps=EDGE * np.sin(0.25))),
    sphere("quarter of the sphere three times as dense, descent",
        lambda g: 1 + 2.0 * ((g.points[..., 0] > 0.01) & (g.points[..., 2] > 0.01)),
        descent(3.0), jump(EDGE)),
    zonal(6, "bump 0.5 h at the pole, d = 6, ascent", spike(POLE, 0.5), ascent(8.0), ATOM),
    zonal(32, "smooth, d = 32, descent", lambda g: np.exp(3 * np.cos(g.angles)), descent(4.0),
        RESOLVED),
    zonal(3, "ring 6 h wide, d = 3, descent", hoop(POLE, 1.4, 6.0), descent(8.0), RESOLVED),
    zonal(3, "band twice as dense, d = 3, descent",
        lambda g: 1.0 + ((g.angles > 1.0) & (g.angles < 2.0)), descent(2.0), jump(2)),
]
# fmt: on

# Beside kinks --------------------------------------------------------------------------------

PULL, PUSH = 0.3, 0.6
"""The rate r of the contraction at rest, and the weight w of the neuron with the kink."""
NEAR = 0.4
"""Distance eps to the kink, in cells."""
BETA = 25.0
kinked = partial(mfpde.MeanFieldEquation, mfpde.Attention(BETA), direction="ascent")


def turned(seed: int) -> Array:
    """A rotation (3, 3)."""
    matrix = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))[0]
    return matrix * np.linalg.det(matrix)


def beside_kink(
    turn: Array, *, side: float = 1.0, share: float = 0.2
) -> tuple[shapes.Values, Callable[[Geometry], mfpde.MeanFieldEquation]]:
    """A cluster at rest (``side`` 1) or leaving (-1) beside a kink, the rest at its end.

    The well is about turn_0, the kink at the distance eps from it, towards turn_1.
    """
    place, across = turn[:2]

    def end(grid: Geometry) -> Array:
        return on_circle(side * NEAR * grid.spacing)[0] @ [across, -place]

    def values(grid: Geometry) -> Array:
        return total(spike(place, 0.5, share), spike(end(grid), 0.5, 1 - share))(grid)

    def equation(grid: Geometry) -> mfpde.MeanFieldEquation:
        well = mfpde.Perceptron(place[np.newaxis], [PULL], "linear")
        return kinked(well, mfpde.Perceptron(end(grid)[np.newaxis], [PUSH], "relu"))

    return values, equation


def sliding(turn: Array) -> tuple[shapes.Values, mfpde.MeanFieldEquation]:
    """A cluster on its way along a ridge of s F, the rest at the ridge's top turn_0."""
    top, place = turn[0], unit(turn[0] + 1.2 * turn[1])
    values = total(spike(place, 0.5, 0.3), spike(top, 0.5, 0.7))
    return values, kinked(mfpde.Perceptron(turn[:2], [1.0, 0.9], "linear"))


def the_papers(beta: float, seed: int | None) -> mfpde.MeanFieldEquation:
    """The paper's three ReLU neurons in ascent, turned."""
    turn = np.eye(3) if seed is None else turned(seed)
    drawn = mfpde.Perceptron.random(3, 3, seed=111, activation="relu")
    neurons = mfpde.Perceptron(drawn.directions @ turn.T, drawn.weights, "relu")
    return mfpde.MeanFieldEquation(mfpde.Attention(beta), neurons, direction="ascent")


def zonal_kink(grid: Geometry) -> mfpde.MeanFieldEquation:
    """The equation of the ring, which moves with the grid."""
    axis, bias = grid.axis[np.newaxis], [-NEAR * grid.spacing]
    return kinked(
        mfpde.Perceptron(axis, [-PULL], "linear"),
        mfpde.Perceptron(axis, [PUSH], "relu", biases=bias),
    )


RESTING = "atom at rest beside a kink, another elsewhere"
LEAVING = "peak that leaves a kink for another"
TWO, ONE = atoms(0.8, 0.2, jumps=None), forming(1.0, jumps=None)
# fmt: off
BESIDE_KINKS = [
    *(sphere(f"{RESTING}, turn {k}", *beside_kink(turned(k)), TWO) for k in range(6)),
    sphere("light atom at rest beside a kink", *beside_kink(turned(6), share=0.05),
        atoms(0.95, 0.05, jumps=None)),
    sphere("heavy atom at rest beside a kink, at a pole",
        *beside_kink(np.eye(3)[[2, 0, 1]], share=0.6), atoms(0.6, 0.4, jumps=None)),
    *(sphere(f"{LEAVING}, turn {k}", *beside_kink(turned(k), side=-1.0, share=0.3), ONE)
        for k in (10, 11, 12)),
    *(sphere(f"peak that slides down a ridge to another, turn {k}", *sliding(turned(k)), ONE)
        for k in (20, 21)),
    *(sphere(f"the paper's neurons, beta = {beta:g}, turn {k}", uniform,
        the_papers(beta, k), atoms(0.79, 0.21, jumps=None), time=100.0,
        is_dear=k is not None) for beta in (15.0, 25.0) for k in (None, 30)),
    *(circle(f"{RESTING}, at {a}", *beside_kink(on_circle(a, a + np.pi / 2)), TWO)
        for a in (0.3, 2.1, 4.4)),
    circle(LEAVING, *beside_kink(on_circle(1.1, 1.1 + np.pi / 2), side=-1.0, share=0.3), ONE),
    zonal(3, "ring at rest beside a kink, an atom at the pole",
        total(hoop(POLE, np.pi / 2, 0.5, 0.2), spike(POLE, 0.5, 0.8)), zonal_kink,
        atoms(0.8, jumps=None, has_curve=True)),
]
# fmt: on

# The score -----------------------------------------------------------------------------------


# fmt: off
CORPORA = {
    "cases": (CASES, {"circle": (480, 1440), "sphere": (90, 144), "zonal": (200, 400)}),
    "second": (SECOND, {"circle": (360, 1200), "sphere": (80, 160), "zonal": (160, 500)}),
    "beside_kinks": (
        BESIDE_KINKS, {"circle": (300, 1000), "sphere": (64, 96), "zonal": (150, 400)}
    ),
}
# fmt: on
"""The cases of each corpus, and the sizes of both grids by place."""


def mistakes(corpus: str, *, quick: bool) -> list[str]:
    """Rows of a corpus that are wrong, with what is; the quick form has one grid."""
    found = []
    cases, sizes = CORPORA[corpus]
    for one in cases:
        if quick and one.is_dear:
            continue
        for size in sizes[one.place][: 1 if quick else 2]:
            report = mfpde.concentration(*one.situation(size))
            name = f"{one.place} {size}, {one.name}"
            found += [f"{name}: {what}" for what in one.expected.mistakes(report)]
    return found
