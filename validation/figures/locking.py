"""Ascent and the landscape: locking at maxima of V, the maximiser, attention alone.

In ascent the neurons pull to where V is large, attention to where mass is: late clusters that
neurons act on rest near a strict local maximum of V, the nearer the larger beta, and the
measure of largest energy is one atom where V is largest (Proposition 3.7).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import mfpde
from mfpde.runs.run import Run
from validation.claim import Quantity
from validation.figures.at_rest import FINE, points_at
from validation.figures.paper_runs import (
    TIME_STEP,
    TURN,
    Setting,
    angles,
    basins,
    spacing,
)
from validation.figures.trajectories import SPIKE, Trajectories, quantisation_error
from validation.independent import gradient, potential, potential_gradient, problem_of

Array = NDArray[np.float64]

ALONE_BETA, ALONE_END = 1.0, 100.0
EXACT_PLACE = 1e-6
"""An exact atom's place is no cell's: a share 2/n of the masses is on the wrong side of each
edge, and they pull the atom by 1e-4 at most."""
NEAR = 0.5
SOLE_MASS = 1e-6
"""What may be left outside of the single atom: mass leaves its antipode like e^{-2 beta} t."""


def strict_maxima(setting: Setting) -> Array:
    """Angles of the strict local maxima of V: of a fine grid, then zeros of V'."""
    problem = problem_of(setting.equation)
    fine, step = TURN * np.arange(FINE) / FINE, TURN / FINE
    value = potential(problem, points_at(fine))
    higher = (value > np.roll(value, 1)) & (value > np.roll(value, -1))

    def slope(angle: float) -> float:
        at = np.array([angle])
        across = np.stack([-np.sin(at), np.cos(at)], axis=1)
        return float((potential_gradient(problem, points_at(at)) * across).sum())

    return np.array([_falling_zero(slope, t - step, t + step) for t in fine[higher]])


def _falling_zero(slope: Callable[[float], float], low: float, high: float) -> float:
    """Where a slope goes from positive to negative, by bisection."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) > 0 else (low, middle)
    return (low + high) / 2


def unique_maximum(setting: Setting) -> list[Quantity]:
    """One local maximum of V, and so one maximiser: its place and its energy."""
    problem = problem_of(setting.equation)
    tops = strict_maxima(setting)
    found = mfpde.maximize(setting.equation)
    highest = potential(problem, points_at(tops)).max()
    return [
        Quantity(
            "strict local maxima of V on the circle (seed 777, ReLU)",
            float(len(tops)),
            1.0,
            0.0,
            subject="formula",
        ),
        Quantity(
            "angle of the maximiser, beside that of the maximum of V",
            float(angles(found.points)[0]),
            float(tops[0]),
            1e-9,
        ),
        Quantity(
            f"β = {setting.beta:g}: largest energy, beside 1/(2 beta) + max V",
            found.energy,
            float(1 / (2 * setting.beta) + highest),
            1e-12,
        ),
    ]


def locked(found: Trajectories) -> Quantity:
    """The heaviest cluster's distance to the maximum of V, where pulls of others leave it.

    Other clusters, at rest or nearly, pull it away from the maximum by their force over -V''.
    The expected distance is that of the point near the maximum at which forces of all other
    clusters of the particles balance that of the neurons.
    """
    setting = found.setting
    (top,) = strict_maxima(setting)
    atom = basins(found.run.final, setting.equation)
    there = points_at(np.array([top]))[0]
    order = np.argsort(-(atom.points @ there))
    place = float(angles(atom.points[order[:1]])[0]) if len(order) else np.inf
    end = float(found.run.times[-1])
    return Quantity(
        f"{_kind(setting)}β = {setting.beta:g}, t = {end:g}: distance of the nearest atom to "
        "the maximum of V, beside where the particles' pulls leave it",
        abs(place - top),
        abs(_balance(found, top) - top),
        EXACT_PLACE,
        key=f"locked_{setting.beta:g}",
    )


def _balance(found: Trajectories, top: float) -> float:
    """The zero of the particles' velocity field near the maximum."""
    problem = problem_of(found.setting.equation)
    particles = found.few.final

    def slope(angle: float) -> float:
        at = np.array([angle])
        across = np.stack([-np.sin(at), np.cos(at)], axis=1)
        pull = gradient(problem, particles.points, particles.masses, at=points_at(at))
        return float((pull * across).sum())

    return _falling_zero(slope, top - NEAR, top + NEAR)


def attention_alone(quick: bool) -> list[Quantity]:
    """From a density without symmetry attention alone ends in one atom."""
    setting = Setting(ALONE_BETA, "ascent", None)
    cells, count = (256, 400) if quick else (1024, 2000)
    grid = mfpde.Circle(cells)
    where = angles(grid.points)
    values = 1 + 0.3 * np.cos(where - 0.4) + 0.4 * np.cos(2 * where - 2.1)
    start = mfpde.Density(grid, values / (values @ grid.areas))
    run = mfpde.solve(setting.equation, start, t_end=ALONE_END, atoms="exact")
    particles = mfpde.solve_particles(
        setting.equation,
        mfpde.quantized(start, count),
        t_end=ALONE_END,
        time_step=2 * TIME_STEP,
    )
    width = spacing(run)
    atoms = basins(run.final, setting.equation)
    name = f"attention alone, β = {ALONE_BETA:g}, t = {ALONE_END:g}"
    return [
        Quantity(
            f"{name}: mass of the heaviest atom",
            float(atoms.masses.max(initial=0.0)),
            1.0,
            SOLE_MASS,
        ),
        Quantity(
            f"{name}: W1 to {count} particles, in cells",
            mfpde.wasserstein(run.final, particles.final) / width,
            quantisation_error(count) / width,
            SPIKE,
            "at most",
        ),
        _energy_of_one(name, run),
    ]


def _energy_of_one(name: str, run: Run) -> Quantity:
    return Quantity(
        f"{name}: E, beside 1/(2 beta)",
        float(run.energies[-1]),
        1 / (2 * ALONE_BETA),
        SOLE_MASS,
    )


def _kind(setting: Setting) -> str:
    return "softmax, " if setting.normalized else ""
