"""Two atoms that attract: the time of their approach by exponential integrals."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import mfpde
from mfpde import theory
from validation.circle_cases import points_at
from validation.claim import Claim, Quantity
from validation.drawing import COLOURS, panels
from validation.references.two_atoms import merge_time, merge_time_by_quadrature

CLAIM = Claim(
    title="Two atoms meet when the exponential integrals say",
    source="Eq. (2.5) for two atoms (derived here)",
    statement=(
        "In ascent the angle D of two atoms of total mass M obeys D' = -M e^(beta (cos D - 1)) "
        "sin D, so that 2 M T = Ei(beta(1-c_0)) - Ei(beta(1-c_1)) + e^(2 beta) "
        "[E_1(beta(1+c_0)) - E_1(beta(1+c_1))], c = cos D. Softmax, equal masses: "
        "(T(M=1) + log(tan(D_0/2)/tan(D_1/2)))/2."
    ),
)
CASES = ((8.0, 1.2), (25.0, 0.8), (25.0, 1.0))


def event_error(beta: float, begin: float, *, softmax: bool, dimension: int) -> Any:
    """Relative error of the run's merge time, and the run."""
    masses = [0.5, 0.5] if softmax else [0.7, 0.3]
    points = points_at(np.array([2.0, 2.0 + begin]))
    grid: Any = mfpde.Circle(512)
    if dimension == 3:
        turn = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
        points = np.pad(points, ((0, 0), (0, 1))) @ turn.T
        grid = mfpde.Sphere(48)
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(beta, normalized=softmax), direction="ascent"
    )
    empty = mfpde.Density(grid, np.zeros(grid.shape))
    start = mfpde.Measure(empty, mfpde.Atoms(points, masses))
    near = merge_time(beta, start_angle=begin, end_angle=1e-6, softmax=softmax)
    run = mfpde.solve(equation, start, t_end=2 * near, atoms="exact")
    (event,) = run.events
    chord = float(np.linalg.norm(event.points[0] - event.points[1]))
    met = 2 * np.arcsin(chord / 2)
    exact = merge_time(beta, start_angle=begin, end_angle=met, softmax=softmax)
    return event.time / exact - 1, run


def particle_time(beta: float, share: float) -> float:
    """Time of softmax atoms of unequal shares from 0.9 to 0.2, integrated."""
    equation = mfpde.MeanFieldEquation(mfpde.Attention(beta, True), direction="ascent")

    def velocity(_: float, angles: np.ndarray) -> np.ndarray:
        tangents = np.stack([-np.sin(angles), np.cos(angles)], axis=-1)
        atoms = mfpde.Atoms(points_at(angles), [share, 1 - share])
        return (equation.velocity(atoms) * tangents).sum(axis=1)

    def merged(_: float, angles: np.ndarray) -> float:
        return float(angles[1] - angles[0] - 0.2)

    merged.terminal = True  # type: ignore[attr-defined]
    path = solve_ivp(
        velocity, (0, 1e6), [0.0, 0.9], events=merged, rtol=1e-10, atol=1e-12
    )
    return float(path.t_events[0][0])


def main(quick: bool = False) -> dict[str, Any]:
    quantities = []
    cases = CASES[:2] if quick else CASES
    for beta, begin in cases:
        for softmax in (False, True):
            exact = merge_time(beta, start_angle=begin, end_angle=0.1, softmax=softmax)
            found = theory.merge_time(
                beta, start_angle=begin, end_angle=0.1, normalized=softmax
            )
            kind = "softmax" if softmax else "unnormalised"
            name = f"theory.merge_time, beta = {beta:g}, {begin:g} -> 0.1, {kind}"
            quantities.append(Quantity(name, found, exact, 1e-9, relative=True))
            for dimension in (2,) if quick else (2, 3):
                error, _ = event_error(
                    beta, begin, softmax=softmax, dimension=dimension
                )
                name = f"run on S^{dimension - 1}, beta = {beta:g}, from {begin:g}, {kind}: "
                quantities.append(
                    Quantity(
                        f"{name}relative error of the merge time", error, 0.0, 1e-5
                    )
                )
    time = merge_time_by_quadrature(4.0, (0.2, 0.8), angles=(0.9, 0.2))
    name = "softmax, shares 0.2 and 0.8, beta = 4: integrated against quadrature"
    quantities.append(
        Quantity(name, particle_time(4.0, 0.2), time, 1e-7, relative=True)
    )
    figure, (ax,) = panels(1, width=5)
    draw(ax)
    return {"quantities": quantities, "figures": {"approach": figure}}


def draw(ax: Any) -> None:
    """The angle over time of one run, and the formula's time for each angle."""
    beta, begin = 8.0, 1.2
    _, run = event_error(beta, begin, softmax=False, dimension=2)
    states = [state for state in run.states if len(state.atoms) == 2]
    cosines = [state.atoms.points[0] @ state.atoms.points[1] for state in states]
    ax.plot(
        run.times[: len(states)], np.arccos(cosines), color=COLOURS[0], label="solver"
    )
    angles = np.linspace(0.02, begin, 25)
    times = [merge_time(beta, start_angle=begin, end_angle=a) for a in angles]
    ax.plot(times, angles, "o", color=COLOURS[1], ms=3, label="formula")
    ax.set(title="S$^1$, β = 8, M = 1", xlabel="t", ylabel="angle between the atoms")
    ax.legend()
