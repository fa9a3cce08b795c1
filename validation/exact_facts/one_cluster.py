"""One cluster: deviations decay at exactly 1 per unit mass, its peak grows as e^((d-1)t)."""

from __future__ import annotations

from typing import Any

import numpy as np

import mfpde
from validation.circle_cases import wrapped
from validation.claim import Claim, Quantity
from validation.drawing import panels
from validation.exact_facts.drawn import FORMULA_LINE, SOLVER

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


def pull_rate(beta: float, dimension: int, mass: float) -> float:
    """Speed towards an atom at the distance STEP, per distance."""
    axis = np.eye(1, dimension)[0]
    beside = np.cos(STEP) * axis + np.sin(STEP) * np.eye(dimension)[1]
    equation = mfpde.MeanFieldEquation(mfpde.Attention(beta), direction="ascent")
    velocity = equation.velocity(mfpde.Atoms([axis], [mass]), beside[np.newaxis])
    return float(np.linalg.norm(velocity) / STEP)


def bump(geometry: Any, width: float) -> mfpde.Density:
    """A Gaussian of that width about the first axis."""

    def values(points: np.ndarray) -> np.ndarray:
        away = np.arccos(np.clip(points[..., 0], -1, 1))
        return np.exp(-((away / width) ** 2) / 2)

    return mfpde.Density.from_function(geometry, values)


def peak_growth(geometry: Any, beta: float, width: float) -> tuple[float, Any]:
    """Mean rate of growth of the largest density until t = 1; times and peaks."""
    equation = mfpde.MeanFieldEquation(mfpde.Attention(beta), direction="ascent")
    times = np.linspace(0, 1, 11)
    run = mfpde.solve(equation, bump(geometry, width), t_end=1.0, save_at=times)
    peaks = np.array([state.density.values.max() for state in run.states])
    return float(np.log(peaks[-1] / peaks[0])), (times, peaks)


def spread(geometry: mfpde.Circle, beta: float, width: float) -> float:
    """Rate at which the standard deviation falls until t = 1."""
    equation = mfpde.MeanFieldEquation(mfpde.Attention(beta), direction="ascent")
    run = mfpde.solve(equation, bump(geometry, width), t_end=1.0, save_at=[0.0, 1.0])
    squares = wrapped(geometry.angles) ** 2
    first, last = (squares @ state.density.masses for state in run.states)
    return float(np.log(first / last) / 2)


def mean_square(width: float) -> float:
    """Mean of w(t)^2 until t = 1 for w = width e^(-t)."""
    return width**2 * (1 - np.exp(-2)) / 2


def main(quick: bool = False) -> dict[str, Any]:
    quantities = []
    for beta, dimension, mass in ((0.0, 2, 1.0), (5.0, 3, 1.0), (50.0, 7, 0.4)):
        name = (
            f"pull beside an atom of mass {mass:g}, beta = {beta:g}, S^{dimension - 1}"
        )
        # The kernel's next term is of relative size (1 + 3 beta) STEP^2 / 6.
        accuracy = (1 + 3 * beta) * STEP**2 + 1e-11
        rate = pull_rate(beta, dimension, mass)
        quantities.append(Quantity(name, rate, mass, accuracy, subject="formula"))
    beta, width = 2.0, 0.08
    cells, nlat = (2048, 96) if quick else (4096, 256)
    circle = mfpde.Circle(cells)
    figure, (ax,) = panels(1, width=5)
    # The square of the first correction, and the grid's own width at the end.
    square = mean_square(width)
    accuracy = ((1 + 3 * beta) * width**2) ** 2 / 4 + (circle.spacing / width) ** 2 / 4
    quantities.append(
        Quantity(
            "S^1: decay of the width",
            spread(circle, beta, width),
            1.0 - (1 + 3 * beta) * square,
            accuracy,
        )
    )
    wider = 2 * width if quick else width
    cases = ((2, circle, width), (3, mfpde.Sphere(nlat), wider))
    for d, geometry, size in cases:
        rate, (times, peaks) = peak_growth(geometry, beta, size)
        square = mean_square(size)
        below = (1 + 3 * beta) * square / 2 if d == 2 else 2 * (1 + 2 * beta) * square
        relative = ((1 + 3 * beta) * size**2) ** 2 / 4
        error = (d - 1) * (relative + (geometry.spacing / size) ** 2)
        name = f"S^{d - 1}, beta = {beta:g}: growth of the peak"
        quantities.append(Quantity(name, rate, d - 1 - below, error))
        marker = "os"[d - 2]
        label = f"S$^{d - 1}$, solver"
        ax.semilogy(times, peaks / peaks[0], marker, color=SOLVER, label=label)
        label = "e$^{(d-1)t}$" if d == 2 else None
        ax.semilogy(times, np.exp((d - 1) * times), **FORMULA_LINE, label=label)
    ax.set(title="One cluster, β = 2", xlabel="t", ylabel="largest density, relative")
    ax.set_yticks([1, 2, 4, 8], ["1", "2", "4", "8"])
    ax.minorticks_off()
    ax.legend()
    return {"quantities": quantities, "figures": {"peaks": figure}}
