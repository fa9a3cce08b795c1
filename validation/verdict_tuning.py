"""The cases on which the thresholds of the verdict were set; not those that score it.

Shapes, equations and numbers are others than in validation/verdict_cases.py.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np

import mfpde
from validation import verdict_shapes as shapes
from validation.verdict_cases import score, tetrahedral
from validation.verdict_shapes import Case, Expected, attention, neuron, on_circle, unit

SIZES = {"circle": (256, 1024), "sphere": (64, 120), "zonal": (128, 300)}
AXIS = unit([-0.3, 0.2, 0.9])
EQUATOR = unit([1.0, 0.4, 0.02])

on_s1 = partial(shapes.still, mfpde.Circle)
on_s2 = partial(shapes.still, mfpde.Sphere)


def circle_bumps():
    kinds = {
        (0.4, "ascent"): "atoms",
        (0.9, "ascent"): "atoms",
        (1.7, "ascent"): "forming",
        (3.0, "ascent"): "forming",
        (12.0, "ascent"): "forming",
        (0.4, "descent"): "unresolved",
        (3.0, "descent"): "resolved",
        (12.0, "descent"): "resolved",
    }
    for (cells, direction), verdict in kinds.items():
        count = 1 if direction == "ascent" else 0
        yield Case(
            f"bump {cells} h, {direction}",
            "circle",
            on_s1(
                lambda g, c=cells: shapes.gaussian(g, 0.01, c * g.spacing),
                attention(6.0, direction),
            ),
            Expected((verdict,), atoms=count),
        )


def neurons():
    for time, verdict in ((0.8, "forming"), (2.0, "forming"), (3.0, "forming")):
        yield Case(
            f"one ReLU neuron, t = {time}",
            "circle",
            on_s1(
                lambda g, t=time: shapes.neuron_on_circle(g, 2.0, t),
                neuron(on_circle(2.0), 1.0),
            ),
            Expected((verdict,), atoms=1, masses=(0.5,), frozen=0.5, jumps=2),
        )
        yield Case(
            f"one ReLU neuron, t = {time}",
            "sphere",
            on_s2(
                lambda g, t=time: shapes.neuron_on_sphere(g, AXIS, t),
                neuron(AXIS, 1.0),
            ),
            Expected((verdict,), atoms=1, masses=(0.5,), frozen=0.5, jumps=2 * np.pi),
        )
    yield Case(
        "ReLU neuron at an angle to another, descent, t = 1",
        "circle",
        shapes.solved(
            mfpde.Circle,
            mfpde.uniform,
            mfpde.MeanFieldEquation(
                mfpde.Attention(4.0),
                mfpde.Perceptron(on_circle(0.3, 1.9), [0.3, -0.2]),
                direction="descent",
            ),
            time=1.0,
        ),
        Expected(("resolved", "jump"), jumps=None),
    )


def steps():
    for ratio in (1.5, 3.0, 20.0):
        yield Case(
            f"step {ratio}",
            "circle",
            on_s1(
                lambda g, r=ratio: 1 + (r - 1) * (np.cos(g.angles - 0.7) > 0.2),
                attention(3.0, "descent"),
            ),
            Expected(("jump",), jumps=2),
        )
        yield Case(
            f"cap {ratio}",
            "sphere",
            on_s2(
                lambda g, r=ratio: 1 + (r - 1) * (g.points @ AXIS > 0.3),
                attention(3.0, "descent"),
            ),
            Expected(("jump",), jumps=2 * np.pi * np.sqrt(1 - 0.09)),
        )
        yield Case(
            f"step {ratio}",
            "zonal",
            shapes.still(
                partial(mfpde.Zonal, 4),
                lambda g, r=ratio: 1 + (r - 1) * (g.angles > 1.6),
                attention(3.0, "descent"),
            ),
            Expected(("jump",), jumps=1),
        )


def sphere_bumps():
    kinds = {
        (0.4, "ascent"): "atoms",
        (0.9, "ascent"): "atoms",
        (1.8, "ascent"): "forming",
        (3.0, "ascent"): "forming",
        (8.0, "ascent"): "forming",
        (0.5, "descent"): "unresolved",
        (4.0, "descent"): "resolved",
        (8.0, "descent"): "resolved",
    }
    for (cells, direction), verdict in kinds.items():
        count = 1 if direction == "ascent" else 0
        for axis in (AXIS, EQUATOR, np.array([0.0, 0.0, 1.0])):
            yield Case(
                f"bump {cells} h, {direction}",
                "sphere",
                on_s2(
                    lambda g, c=cells, a=axis: shapes.bump(g, a, c * g.spacing),
                    attention(6.0, direction),
                ),
                Expected((verdict,), atoms=count),
            )


def rings():
    for angle in (0.2, 0.35, 0.5, 1.2):
        for cells in (0.4, 1.0):
            for direction in ("ascent", "descent"):
                for axis in (AXIS, np.array([0.0, 0.0, 1.0])):
                    yield Case(
                        f"ring at {angle}, {cells} h, {direction}",
                        "sphere",
                        on_s2(
                            lambda g, x=axis, a=angle, c=cells: shapes.ring(
                                g, x, a, width=c * g.spacing
                            ),
                            attention(12.0, direction),
                        ),
                        Expected(("curve",), has_curve=True),
                    )


def others():
    yield Case(
        "two atoms, softmax",
        "circle",
        on_s1(
            lambda g: (
                0.7 * shapes.gaussian(g, 1.0, 0.5 * g.spacing)
                + 0.3 * shapes.gaussian(g, 3.0, 0.8 * g.spacing)
            ),
            attention(15.0, normalized=True),
        ),
        Expected(("atoms",), atoms=2, masses=(0.7, 0.3)),
    )
    yield Case(
        "Kuramoto, r = 0.8",
        "circle",
        on_s1(lambda g: shapes.poisson(g, 0.8), attention(0.0)),
        Expected(("forming",), atoms=1),
    )
    yield Case(
        "tetrahedral start, ascent",
        "sphere",
        shapes.solved(mfpde.Sphere, tetrahedral, attention(7.0), time=30.0),
        Expected(("forming", "atoms"), atoms=4, masses=(0.25,) * 4),
        is_dear=True,
    )
    yield Case(
        "smooth, descent",
        "sphere",
        on_s2(lambda g: 1.3 + g.points @ AXIS, attention(7.0, "descent")),
        Expected(("resolved",)),
    )
    yield Case(
        "ring, d = 3",
        "zonal",
        shapes.still(
            partial(mfpde.Zonal, 3),
            lambda g: np.exp(-(((g.angles - 0.6) / (0.8 * g.spacing)) ** 2) / 2),
            attention(9.0, "descent"),
        ),
        Expected(("curve",), has_curve=True),
    )
    yield Case(
        "bump 3 h at the pole, d = 4, ascent",
        "zonal",
        shapes.still(
            partial(mfpde.Zonal, 4),
            lambda g: np.exp(-((g.angles / (3 * g.spacing)) ** 2) / 2),
            attention(9.0),
        ),
        Expected(("forming",), atoms=1),
    )


def main(quick: bool = False) -> dict[str, float]:
    groups = (circle_bumps, neurons, steps, sphere_bumps, rings, others)
    cases = [case for group in groups for case in group()]
    return score(cases, SIZES, quick=quick)


if __name__ == "__main__":
    print(main("quick" in sys.argv))
