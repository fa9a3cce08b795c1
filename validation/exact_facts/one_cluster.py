"""One cluster: deviations decay at exactly 1 per unit mass, its peak grows as e^((d-1)t)."""

from __future__ import annotations

from typing import Any

import numpy as np

import mfpde
from validation.circle_cases import wrapped
from validation.claim import Claim, Findings, equal
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


def contracting_run(geometry: Any) -> mfpde.Run:
    """A Gaussian about the first axis, until t = 1."""

    def bump(points: np.ndarray) -> np.ndarray:
        away = np.arccos(np.clip(points[..., 0], -1, 1))
        return np.exp(-((away / WIDTH) ** 2) / 2)

    start, times = mfpde.Density.from_function(geometry, bump), np.linspace(0, 1, 11)
    return mfpde.solve(ascent(mfpde.Attention(BETA)), start, t_end=1.0, save_at=times)


@CLAIM
def main(_quick: bool = False) -> Findings:
    for beta, d, mass in ((0.0, 2, 1.0), (5.0, 3, 1.0), (50.0, 7, 0.4)):
        name = f"pull beside an atom of mass {mass:g}, beta = {beta:g}, S^{d - 1}"
        # The kernel's next term is of relative size (1 + 3 beta) STEP^2 / 6.
        allowed = (1 + 3 * beta) * STEP**2 + 1e-11
        yield equal(name, pull_rate(beta, d, mass), mass, allowed, subject="formula")
    # The mean of w(t)^2 until t = 1 for w = WIDTH e^(-t), and the first correction's square.
    square = WIDTH**2 * (1 - np.exp(-2)) / 2
    relative = ((1 + 3 * BETA) * WIDTH**2) ** 2 / 4
    below = {2: (1 + 3 * BETA) * square / 2, 3: 2 * (1 + 2 * BETA) * square}
    for d, grid in ((2, mfpde.Circle(4096)), (3, mfpde.Sphere(256))):
        run, resolved = contracting_run(grid), (grid.spacing / WIDTH) ** 2
        if d == 2:
            squares = wrapped(grid.angles) ** 2
            first, last = (squares @ run.states[k].density.masses for k in (0, -1))
            found, exact = np.log(first / last) / 2, 1 - 2 * below[d]
            allowed = relative + resolved / 4
            yield equal("S^1: decay of the width", found, exact, allowed)
        peaks = np.array([state.density.values.max() for state in run.states])
        name = f"S^{d - 1}, beta = {BETA:g}: growth of the peak"
        found, allowed = np.log(peaks[-1] / peaks[0]), (d - 1) * (relative + resolved)
        yield equal(name, found, d - 1 - below[d], allowed)
