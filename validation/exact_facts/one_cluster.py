"""One cluster: deviations decay at exactly 1 per unit mass, its peak grows as e^((d-1)t)."""

from __future__ import annotations

from typing import Any

import numpy as np

import mfpde
from validation.circle_cases import wrapped
from validation.claim import Claim, Findings, equal
from validation.exact_facts.drawn import compare_curves
from validation.exact_facts.runs import ascent

CLAIM = Claim(
    title="One cluster contracts at the rate 1 per unit mass",
    source="Eq. (2.5) linearised at an atom: Hess K(x.y) = -1 at x = y (shifted kernel)",
    statement=(
        "Beside an atom of mass m a point is drawn to it at the rate m, for every beta and d; "
        "so a narrow cluster's density grows as e^((d-1) m t). To the next order a Gaussian "
        "of width w contracts at 1 - (1 + 3 beta) w^2 on S^1 and its peak grows at "
        "1 - (1 + 3 beta) w^2/2 there, at 2 - 2 (1 + 2 beta) w^2 on S^2."
    ),
)
STEP = 1e-4
BETA, WIDTH = 2.0, 0.08


def pull_rate(beta: float, dimension: int, mass: float) -> float:
    """Speed towards an atom at the distance STEP, per distance."""
    axis, across = np.eye(2, dimension)
    beside = np.cos(STEP) * axis + np.sin(STEP) * across
    atom = mfpde.Atoms([axis], [mass])
    velocity = ascent(mfpde.Attention(beta)).velocity(atom, beside[np.newaxis])
    return float(np.linalg.norm(velocity) / STEP)


def contracting_run(geometry: Any, width: float) -> mfpde.Run:
    """A Gaussian of that width about the first axis, until t = 1."""

    def bump(points: np.ndarray) -> np.ndarray:
        away = np.arccos(np.clip(points[..., 0], -1, 1))
        return np.exp(-((away / width) ** 2) / 2)

    start, times = mfpde.Density.from_function(geometry, bump), np.linspace(0, 1, 11)
    return mfpde.solve(ascent(mfpde.Attention(BETA)), start, t_end=1.0, save_at=times)


@CLAIM
def main(quick: bool = False) -> Findings:
    for beta, dimension, mass in ((0.0, 2, 1.0), (5.0, 3, 1.0), (50.0, 7, 0.4)):
        rate = pull_rate(beta, dimension, mass)
        # The kernel's next term is of relative size (1 + 3 beta) STEP^2 / 6.
        allowed = (1 + 3 * beta) * STEP**2 + 1e-11
        name = (
            f"pull beside an atom of mass {mass:g}, beta = {beta:g}, S^{dimension - 1}"
        )
        yield equal(name, rate, mass, allowed, subject="formula")
    circle, sphere = (
        mfpde.Circle(2048 if quick else 4096),
        mfpde.Sphere(96 if quick else 256),
    )
    curves = {}
    for d, geometry, width in ((2, circle, WIDTH), (3, sphere, (1 + quick) * WIDTH)):
        run = contracting_run(geometry, width)
        # The mean of w(t)^2 until t = 1 for w = width e^(-t).
        square = width**2 * (1 - np.exp(-2)) / 2
        # The square of the first correction, and the grid's own width at the end.
        relative = ((1 + 3 * BETA) * width**2) ** 2 / 4
        resolved = (geometry.spacing / width) ** 2
        if d == 2:
            squares = wrapped(circle.angles) ** 2
            widths = [squares @ run.states[k].density.masses for k in (0, -1)]
            decay, exact = (
                np.log(widths[0] / widths[1]) / 2,
                1 - (1 + 3 * BETA) * square,
            )
            yield equal(
                "S^1: decay of the width", decay, exact, relative + resolved / 4
            )
        peaks = np.array([state.density.values.max() for state in run.states])
        below = (1 + 3 * BETA) * square / 2 if d == 2 else 2 * (1 + 2 * BETA) * square
        name = f"S^{d - 1}, beta = {BETA:g}: growth of the peak"
        allowed = (d - 1) * (relative + resolved)
        yield equal(name, np.log(peaks[-1] / peaks[0]), d - 1 - below, allowed)
        growth = np.exp((d - 1) * run.times)
        curves[f"S$^{d - 1}$"] = run.times, peaks / peaks[0], run.times, growth
    axes = {"xlabel": "t", "ylabel": "largest density, relative", "yscale": "log"}
    yield "peaks", compare_curves(curves, **axes)
