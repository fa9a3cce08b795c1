"""Score of the verdict of ``mfpde.concentration`` on cases whose answers are known.

The expectations below were written down before the verdict was run on any of them, and
its thresholds were set on other cases (validation/verdict_tuning.py).  The first run gave
111 of 118 rows and no false atom; what was mended after it is scored by fresh cases
(validation/verdict_second.py), so that a higher score here is no longer a test.  Every case
is run on two grids; a row is right if the verdict, the number of atoms and, where they are
given, masses, frozen mass, curves and jumps are all as expected.

A note on some expectations.  A bump in ascent contracts and becomes an atom: "forming"
as long as it is wider than a cell.  A bump in descent spreads: "resolved", or "unresolved"
if it is too narrow for the grid to tell.  Mass on a line is a curve whichever way it
moves.  Two narrow peaks are two atoms if they lie in two basins of the velocity field.
Without velocity a density is frozen, whatever its shape.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np

import mfpde
from validation import verdict_shapes as shapes
from validation.verdict_shapes import Case, Expected, attention, neuron, on_circle, unit

SIZES = {"circle": (480, 1440), "sphere": (90, 144), "zonal": (200, 400)}
SMOOTH = ("resolved", "frozen")
TILTED = unit([0.5, -0.7, 0.4])
POLE = np.array([0.0, 0.0, 1.0])
TETRAHEDRON = unit([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])

on_s1 = partial(shapes.still, mfpde.Circle)
on_s2 = partial(shapes.still, mfpde.Sphere)


def narrow(grid, cells: float):
    return cells * grid.spacing


def zonal(dimension: int):
    return partial(mfpde.Zonal, dimension)


def waves(count: int, circle):
    return mfpde.Density(
        circle, 1 + 0.3 * np.cos(count * circle.angles + 0.4)
    ).normalized()


def tetrahedral(sphere):
    x, y, z = np.moveaxis(sphere.points, -1, 0)
    return mfpde.Density(sphere, 1 + 1.5 * np.sqrt(3) * x * y * z).normalized()


def smeared_atoms(points, masses, geometry, *, cells: float = 0.5):
    """Atoms with a covariance of ``cells`` in every tangent direction."""
    projectors = np.eye(points.shape[1]) - points[:, :, None] * points[:, None, :]
    return mfpde.Atoms(points, masses, (cells * geometry.spacing) ** 2 * projectors)


CIRCLE = [
    Case(
        "uniform",
        "circle",
        on_s1(lambda g: np.ones(g.shape), attention(10.0)),
        Expected(("frozen",), frozen=1.0),
    ),
    Case(
        "random smooth, descent",
        "circle",
        shapes.solved(
            mfpde.Circle,
            lambda g: mfpde.perturbed_uniform(g, 0.3, seed=3),
            attention(10.0, "descent"),
            time=0.2,
        ),
        Expected(("resolved",)),
    ),
    Case(
        "random smooth, descent, late",
        "circle",
        shapes.solved(
            mfpde.Circle,
            lambda g: mfpde.perturbed_uniform(g, 0.9, seed=4),
            attention(4.0, "descent"),
            time=40.0,
        ),
        Expected(SMOOTH),
    ),
    Case(
        "bump 0.6 h, ascent",
        "circle",
        on_s1(lambda g: shapes.gaussian(g, 2.0, narrow(g, 0.6)), attention(12.0)),
        Expected(("atoms",), atoms=1, masses=(1.0,)),
    ),
    Case(
        "bump 2 h, ascent",
        "circle",
        on_s1(lambda g: shapes.gaussian(g, 2.0, narrow(g, 2.0)), attention(12.0)),
        Expected(("forming",), atoms=1, masses=(1.0,)),
    ),
    Case(
        "bump 8 h, ascent",
        "circle",
        on_s1(lambda g: shapes.gaussian(g, 0.1, narrow(g, 8.0)), attention(12.0)),
        Expected(("forming",), atoms=1, masses=(1.0,)),
    ),
    Case(
        "bump 0.6 h, descent",
        "circle",
        on_s1(
            lambda g: shapes.gaussian(g, 3.3, narrow(g, 0.6)),
            attention(12.0, "descent"),
        ),
        Expected(("unresolved",)),
    ),
    Case(
        "bump 8 h, descent",
        "circle",
        on_s1(
            lambda g: shapes.gaussian(g, 3.3, narrow(g, 8.0)),
            attention(12.0, "descent"),
        ),
        Expected(("resolved",)),
    ),
    Case(
        "top hat, descent",
        "circle",
        on_s1(
            lambda g: 0.1 + (np.abs(shapes.offset(g, 1.234)) < 0.4),
            attention(5.0, "descent"),
        ),
        Expected(("jump",), jumps=2),
    ),
    Case(
        "half circle twice as dense, descent",
        "circle",
        on_s1(
            lambda g: 1.0 + (np.abs(shapes.offset(g, 5.0)) < np.pi / 2),
            attention(2.0, "descent"),
        ),
        Expected(("jump",), jumps=2),
    ),
    Case(
        "step over 6 h, descent",
        "circle",
        on_s1(
            lambda g: 1.5 + np.tanh(np.cos(g.angles - 1.0) / narrow(g, 6.0)),
            attention(5.0, "descent"),
        ),
        Expected(("resolved",)),
    ),
    Case(
        "one ReLU neuron, ascent, late",
        "circle",
        shapes.solved(
            mfpde.Circle, mfpde.uniform, neuron(on_circle(0.77), 1.0), time=7.0
        ),
        Expected(("atoms",), atoms=1, masses=(0.5,), frozen=0.5, jumps=2),
    ),
    Case(
        "one ReLU neuron, ascent, early",
        "circle",
        on_s1(
            lambda g: shapes.neuron_on_circle(g, 0.77, 1.5),
            neuron(on_circle(0.77), 1.0),
        ),
        Expected(("forming",), atoms=1, masses=(0.5,), frozen=0.5, jumps=2),
    ),
    Case(
        "one ReLU neuron, descent",
        "circle",
        shapes.solved(
            mfpde.Circle,
            mfpde.uniform,
            neuron(on_circle(0.77), 1.0, "descent"),
            time=3.0,
        ),
        Expected(("forming",), atoms=2, masses=(0.25, 0.25), frozen=0.5, jumps=None),
    ),
    Case(
        "one GeLU neuron, ascent, late",
        "circle",
        shapes.solved(
            mfpde.Circle,
            mfpde.uniform,
            neuron(on_circle(2.1), 3.0, activation="gelu"),
            time=16.0,
        ),
        Expected(("atoms",), atoms=2, masses=(0.5, 0.5)),
    ),
    Case(
        "three exact atoms",
        "circle",
        shapes.with_atoms(
            mfpde.Circle,
            None,
            lambda g: mfpde.Atoms(on_circle(0.3, 2.0, 4.5), [0.5, 0.3, 0.2]),
            equation=attention(20.0),
        ),
        Expected(("atoms",), atoms=3, masses=(0.5, 0.3, 0.2)),
    ),
    Case(
        "two wide exact atoms over a uniform part",
        "circle",
        shapes.with_atoms(
            mfpde.Circle,
            lambda g: np.ones(g.shape),
            lambda g: smeared_atoms(on_circle(1.0, 3.0), [0.4, 0.3], g),
            equation=attention(10.0),
        ),
        Expected(("atoms",), atoms=2),
    ),
    Case(
        "atom over a uniform part",
        "circle",
        on_s1(
            lambda g: shapes.gaussian(g, 4.0, narrow(g, 0.7)) + 1 / (2 * np.pi),
            attention(10.0),
        ),
        Expected(("atoms",), atoms=1),
    ),
    Case(
        "close pair of atoms in two basins",
        "circle",
        on_s1(
            lambda g: (
                0.6 * shapes.gaussian(g, 1.0, narrow(g, 0.6))
                + 0.4 * shapes.gaussian(g, 1.16, narrow(g, 0.6))
            ),
            attention(400.0),
        ),
        Expected(("atoms",), atoms=2, masses=(0.6, 0.4)),
    ),
    Case(
        "three clusters, ascent",
        "circle",
        shapes.solved(mfpde.Circle, partial(waves, 3), attention(8.0), time=60.0),
        Expected(("atoms",), atoms=3, masses=(1 / 3, 1 / 3, 1 / 3)),
    ),
    Case(
        "four clusters, softmax",
        "circle",
        shapes.solved(
            mfpde.Circle, partial(waves, 4), attention(20.0, normalized=True), time=20.0
        ),
        Expected(("atoms",), atoms=4, masses=(0.25,) * 4),
    ),
    Case(
        "the paper's weights, descent",
        "circle",
        shapes.solved(
            mfpde.Circle,
            mfpde.uniform,
            mfpde.MeanFieldEquation(
                mfpde.Attention(5.0),
                mfpde.Perceptron.random(2, 2, seed=777),
                direction="descent",
            ),
            time=80.0,
        ),
        Expected(("atoms",), atoms=2, jumps=None),
    ),
    Case(
        "Kuramoto, r = 0.5, ascent",
        "circle",
        on_s1(lambda g: shapes.poisson(g, 0.5, 1.0), attention(0.0)),
        Expected(("forming",), atoms=1, masses=(1.0,)),
    ),
    Case(
        "Kuramoto, r = 0.5, descent",
        "circle",
        on_s1(lambda g: shapes.poisson(g, 0.5, 1.0), attention(0.0, "descent")),
        Expected(("resolved",)),
    ),
    Case(
        "Kuramoto, r = 0.9999, ascent",
        "circle",
        on_s1(lambda g: shapes.poisson(g, 0.9999, 1.0), attention(0.0)),
        Expected(("atoms",), atoms=1, masses=(1.0,)),
    ),
]

SPHERE = [
    Case(
        "uniform",
        "sphere",
        on_s2(lambda g: np.ones(g.shape), attention(10.0)),
        Expected(("frozen",), frozen=1.0),
    ),
    Case(
        "random smooth, descent",
        "sphere",
        shapes.solved(
            mfpde.Sphere,
            lambda g: mfpde.perturbed_uniform(g, 0.8, seed=5),
            attention(8.0, "descent"),
            time=10.0,
        ),
        Expected(SMOOTH),
    ),
    Case(
        "bump 0.6 h, ascent",
        "sphere",
        on_s2(lambda g: shapes.bump(g, TILTED, narrow(g, 0.6)), attention(8.0)),
        Expected(("atoms",), atoms=1, masses=(1.0,)),
    ),
    Case(
        "bump 0.6 h at the pole, ascent",
        "sphere",
        on_s2(lambda g: shapes.bump(g, -POLE, narrow(g, 0.6)), attention(8.0)),
        Expected(("atoms",), atoms=1, masses=(1.0,)),
    ),
    Case(
        "bump 2 h, ascent",
        "sphere",
        on_s2(lambda g: shapes.bump(g, TILTED, narrow(g, 2.0)), attention(8.0)),
        Expected(("forming",), atoms=1, masses=(1.0,)),
    ),
    Case(
        "bump 6 h, ascent",
        "sphere",
        on_s2(lambda g: shapes.bump(g, TILTED, narrow(g, 6.0)), attention(8.0)),
        Expected(("forming",), atoms=1, masses=(1.0,)),
    ),
    Case(
        "bump 0.6 h, descent",
        "sphere",
        on_s2(
            lambda g: shapes.bump(g, TILTED, narrow(g, 0.6)), attention(8.0, "descent")
        ),
        Expected(("unresolved",)),
    ),
    Case(
        "bump 6 h, descent",
        "sphere",
        on_s2(
            lambda g: shapes.bump(g, TILTED, narrow(g, 6.0)), attention(8.0, "descent")
        ),
        Expected(("resolved",)),
    ),
    Case(
        "ring, ascent",
        "sphere",
        on_s2(
            lambda g: shapes.ring(g, TILTED, 0.3, width=narrow(g, 0.5)), attention(8.0)
        ),
        Expected(("curve",), has_curve=True),
    ),
    Case(
        "ring about the pole, descent",
        "sphere",
        on_s2(
            lambda g: shapes.ring(g, POLE, 0.6, width=narrow(g, 1.0)),
            attention(50.0, "descent"),
        ),
        Expected(("curve",), has_curve=True),
    ),
    Case(
        "great circle, ascent",
        "sphere",
        on_s2(
            lambda g: shapes.ring(g, TILTED, np.pi / 2, width=narrow(g, 0.5)),
            attention(20.0),
        ),
        Expected(("curve",), has_curve=True),
    ),
    Case(
        "half a ring, descent",
        "sphere",
        on_s2(
            lambda g: shapes.arc(g, TILTED, 0.8, width=narrow(g, 0.6)),
            attention(10.0, "descent"),
        ),
        Expected(("curve",), has_curve=True),
    ),
    Case(
        "ellipse 1 x 6 h, ascent",
        "sphere",
        on_s2(
            lambda g: shapes.ellipse(g, TILTED, (narrow(g, 6.0), narrow(g, 1.0))),
            attention(8.0),
        ),
        Expected(("curve",), has_curve=True),
    ),
    Case(
        "broad ring, descent",
        "sphere",
        on_s2(
            lambda g: shapes.ring(g, TILTED, 0.9, width=narrow(g, 5.0)),
            attention(10.0, "descent"),
        ),
        Expected(("resolved",), has_curve=False),
    ),
    Case(
        "one ReLU neuron, ascent, late",
        "sphere",
        shapes.solved(mfpde.Sphere, mfpde.uniform, neuron(TILTED, 1.0), time=6.0),
        Expected(("atoms",), atoms=1, masses=(0.5,), frozen=0.5, jumps=2 * np.pi),
        is_dear=True,
    ),
    Case(
        "one ReLU neuron, ascent, early",
        "sphere",
        on_s2(lambda g: shapes.neuron_on_sphere(g, TILTED, 1.5), neuron(TILTED, 1.0)),
        Expected(("forming",), atoms=1, masses=(0.5,), frozen=0.5, jumps=2 * np.pi),
    ),
    Case(
        "cap over a uniform part, descent",
        "sphere",
        on_s2(
            lambda g: 0.2 + (shapes.distance(g.points, TILTED) < 0.7),
            attention(5.0, "descent"),
        ),
        Expected(("jump",), jumps=2 * np.pi * np.sin(0.7)),
    ),
    Case(
        "cap about the pole, descent",
        "sphere",
        on_s2(
            lambda g: 0.3 + (shapes.distance(g.points, POLE) < 1.1),
            attention(3.0, "descent"),
        ),
        Expected(("jump",), jumps=2 * np.pi * np.sin(1.1)),
    ),
    Case(
        "four exact atoms",
        "sphere",
        shapes.with_atoms(
            mfpde.Sphere,
            None,
            lambda g: mfpde.Atoms(TETRAHEDRON, [0.4, 0.3, 0.2, 0.1]),
            equation=attention(12.0),
        ),
        Expected(("atoms",), atoms=4, masses=(0.4, 0.3, 0.2, 0.1)),
    ),
    Case(
        "exact atom and a ring",
        "sphere",
        shapes.with_atoms(
            mfpde.Sphere,
            lambda g: shapes.ring(g, TILTED, np.pi / 2, width=narrow(g, 0.5)),
            lambda g: mfpde.Atoms(TILTED[None], [0.5]),
            equation=attention(20.0),
        ),
        Expected(("atoms",), atoms=1, has_curve=True),
    ),
    Case(
        "two wide exact atoms over a uniform part",
        "sphere",
        shapes.with_atoms(
            mfpde.Sphere,
            lambda g: np.ones(g.shape),
            lambda g: smeared_atoms(TETRAHEDRON[:2], [0.4, 0.3], g),
            equation=attention(10.0),
        ),
        Expected(("atoms",), atoms=2),
    ),
    Case(
        "two atoms, ascent",
        "sphere",
        on_s2(
            lambda g: (
                0.6 * shapes.bump(g, TETRAHEDRON[0], narrow(g, 0.7))
                + 0.4 * shapes.bump(g, TETRAHEDRON[1], narrow(g, 0.7))
            ),
            attention(12.0),
        ),
        Expected(("atoms",), atoms=2, masses=(0.6, 0.4)),
    ),
    Case(
        "three bumps, ascent",
        "sphere",
        on_s2(
            lambda g: sum(
                m * shapes.bump(g, c, 0.2)
                for m, c in zip((0.5, 0.3, 0.2), TETRAHEDRON[:3], strict=True)
            ),
            attention(8.0),
        ),
        Expected(("forming",), atoms=3, masses=(0.5, 0.3, 0.2)),
    ),
    Case(
        "tetrahedral start, softmax",
        "sphere",
        shapes.solved(
            mfpde.Sphere, tetrahedral, attention(12.0, normalized=True), time=15.0
        ),
        Expected(("atoms",), atoms=4, masses=(0.25,) * 4),
        is_dear=True,
    ),
    Case(
        "one GeLU neuron, ascent, late",
        "sphere",
        shapes.solved(
            mfpde.Sphere,
            mfpde.uniform,
            neuron(TILTED, 3.0, activation="gelu"),
            time=14.0,
        ),
        Expected(("atoms",), atoms=2, masses=(0.5, 0.5)),
        is_dear=True,
    ),
    Case(
        "atom and ring in one density",
        "sphere",
        on_s2(
            lambda g: (
                0.5 * shapes.bump(g, TILTED, narrow(g, 0.7))
                + 0.5 * shapes.ring(g, TILTED, 1.2, width=narrow(g, 0.6))
            ),
            attention(15.0),
        ),
        Expected(("atoms",), atoms=1, has_curve=True),
    ),
]

ZONAL = [
    Case(
        "uniform, d = 8",
        "zonal",
        shapes.still(zonal(8), lambda g: np.ones(g.shape), attention(5.0)),
        Expected(("frozen",), frozen=1.0),
    ),
    Case(
        "exact atom at the pole and exact ring, d = 4",
        "zonal",
        shapes.with_atoms(
            zonal(4),
            None,
            lambda g: mfpde.Atoms(g.points_at(np.array([0.0, 1.3])), [0.6, 0.4]),
            equation=attention(20.0),
        ),
        Expected(("atoms",), atoms=1, masses=(0.6,), has_curve=True),
    ),
    Case(
        "narrow ring, d = 5, ascent",
        "zonal",
        shapes.still(
            zonal(5),
            lambda g: np.exp(-(((g.angles - 1.0) / narrow(g, 0.7)) ** 2) / 2),
            attention(20.0),
        ),
        Expected(("curve",), has_curve=True),
    ),
    Case(
        "bump 0.7 h at the pole, d = 3, ascent",
        "zonal",
        shapes.still(
            zonal(3),
            lambda g: np.exp(-((g.angles / narrow(g, 0.7)) ** 2) / 2),
            attention(10.0),
        ),
        Expected(("atoms",), atoms=1, masses=(1.0,)),
    ),
    Case(
        "bump of width 0.15 at the pole, d = 3, ascent",
        "zonal",
        shapes.still(
            zonal(3), lambda g: np.exp(-((g.angles / 0.15) ** 2) / 2), attention(10.0)
        ),
        Expected(("forming",), atoms=1, masses=(1.0,)),
    ),
    Case(
        "broad bump, d = 4, descent",
        "zonal",
        shapes.still(
            zonal(4),
            lambda g: np.exp(-((g.angles / 0.4) ** 2) / 2),
            attention(10.0, "descent"),
        ),
        Expected(("resolved",)),
    ),
    Case(
        "one ReLU neuron, d = 16, late",
        "zonal",
        shapes.solved(zonal(16), mfpde.uniform, neuron(np.eye(16)[15], 1.0), time=12.0),
        Expected(("atoms",), atoms=1, masses=(0.5,), frozen=0.5, jumps=1),
    ),
    Case(
        "step at 1.2, d = 3, descent",
        "zonal",
        shapes.still(
            zonal(3), lambda g: 1.0 + (g.angles < 1.2), attention(2.0, "descent")
        ),
        Expected(("jump",), jumps=1),
    ),
]

CASES = CIRCLE + SPHERE + ZONAL


def score(
    cases: list[Case], sizes: dict[str, tuple[int, ...]], *, quick: bool
) -> dict[str, float]:
    """Rows that are right, with what is wrong in the others printed."""
    right, rows, forbidden = 0, 0, 0
    for case in cases:
        if quick and case.is_dear:
            continue
        for size in sizes[case.place][: 1 if quick else None]:
            measure, equation = case.situation(size)
            report = mfpde.concentration(measure, equation)
            mistakes = case.expected.mistakes(report)
            rows += 1
            right += not mistakes
            forbidden += case.expected.atoms == 0 and len(report.clusters) > 0
            if mistakes:
                print(f"{case.place:7s} {size:5d} {case.name}: {', '.join(mistakes)}")
    print(f"{right} of {rows} rows right, {forbidden} false atoms")
    return {"right": float(right), "rows": float(rows), "false_atoms": float(forbidden)}


def main(quick: bool = False) -> dict[str, float]:
    return score(CASES, SIZES, quick=quick)


if __name__ == "__main__":
    main("quick" in sys.argv)
