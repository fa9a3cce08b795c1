r"""Problems with a closed-form density, on the circle, on S^2 and on zonal grids.

* beta = 0 from a Poisson kernel (Ott & Antonsen 2008; S^2: Lipton, Mirollo & Strogatz 2021);
* V = a.x: a Moebius flow, tan(theta/2) = e^{-t} tan(theta_0/2) from a;
* one ReLU neuron, ascent: tan(theta) = e^{-t} tan(theta_0) on its active side, nothing moves
  on the other; the density jumps between them for all t > 0.

A case gives the exact cell values (zonal grids: cell masses over areas), so that the error is
an L1 norm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

import mfpde
from validation.circle_cases import points_at, poisson, wrapped
from validation.references.moebius import kuramoto_parameter, moved, stretch
from validation.schemes.places import Grid
from validation.sphere_cases import (
    AXES,
    density_of_neuron,
    linear_potential,
    moebius,
    poisson_family,
    poisson_rate,
    von_mises,
)
from validation.zonal_cases import (
    moved_by_linear_potential,
    moved_by_relu,
    uniform_masses,
)

Array = NDArray[np.float64]

RTOL = 1e-6
# Semi-Lagrangian steps are limited by accuracy alone: here they shrink with the cells.
STEP_IN_CELLS = 2.0
# A third of a cell from a centre, or its mirror image, on every grid of 128 * 2^k cells: jumps
# a quarter of a turn away then sit alike in their cells on all of them.
AXIS_ANGLE = 2 * np.pi * (14 + 1 / 3) / 128
DIMENSION = 5


@dataclass(frozen=True)
class ExactCase:
    """A term in ascent, its grids, and the exact cell values at the start and the end."""

    name: str
    term: mfpde.Attention | mfpde.Perceptron
    t_end: float
    grid: Callable[[int], Grid]
    start: Callable[..., Array]
    end: Callable[..., Array]
    is_smooth: bool = True

    def error(self, cells: int, transport: str) -> float:
        """L1 error at the end of a run on ``cells`` cells."""
        grid = self.grid(cells)
        by_cells = transport == "semi_lagrangian"
        run = mfpde.solve(
            mfpde.MeanFieldEquation(self.term, direction="ascent"),
            mfpde.Density(grid, self.start(grid)).normalized(),
            t_end=self.t_end,
            save_at=[self.t_end],
            transport=transport,
            rtol=1.0 if by_cells else RTOL,
            max_step=STEP_IN_CELLS * grid.spacing if by_cells else None,
        )
        exact = mfpde.Density(grid, self.end(grid)).normalized()
        return float(np.abs(run.final.density.masses - exact.masses).sum())


def uniform(grid: Grid) -> Array:
    """Cell values of the uniform density."""
    return mfpde.uniform(grid).values


def one_neuron(place: str, axis: Array, grid: Callable[[int], Grid]) -> ExactCase:
    """One ReLU neuron from the uniform density."""

    def end(points: Array) -> Array:
        return density_of_neuron(points @ axis, len(axis), 1.0)

    neuron, end_on = mfpde.Perceptron([axis], [1.0]), at_points(end)
    return ExactCase(f"{place}, ReLU", neuron, 1.0, grid, uniform, end_on, False)


def on_circle() -> tuple[ExactCase, ...]:
    """Kuramoto, a linear potential, one neuron; the axis near 0.7."""
    axis, pull = points_at(AXIS_ANGLE), float(np.tanh(0.5))

    def kuramoto(time: float) -> Callable[[mfpde.Circle], Array]:
        r = kuramoto_parameter(0.3, time)
        return lambda circle: poisson(circle.angles, r, AXIS_ANGLE)

    def wave(angles: Array) -> Array:
        return 1 + 0.5 * np.sin(angles + 1)

    def from_axis(circle: mfpde.Circle) -> Array:
        return wrapped(circle.angles - AXIS_ANGLE)

    def pushed(circle: mfpde.Circle) -> Array:
        x = from_axis(circle)
        return wave(moved(x, -pull)) * stretch(x, -pull)

    ends = kuramoto(0.0), kuramoto(3.0)
    waves, linear = (
        (lambda circle: wave(from_axis(circle)), pushed),
        linear_potential(axis),
    )
    return (
        ExactCase("S¹, β = 0", mfpde.Attention(0.0), 3.0, mfpde.Circle, *ends),
        ExactCase("S¹, linear V", linear, 1.0, mfpde.Circle, *waves),
        one_neuron("S¹", axis, mfpde.Circle),
    )


def on_sphere() -> tuple[ExactCase, ...]:
    """A linear potential over tilted axes, Kuramoto, one neuron."""
    axis, centre = AXES["generic"]
    path = solve_ivp(
        lambda _, a: poisson_rate(a), (0, 1.0), [0.4], rtol=1e-11, atol=1e-13
    )
    ends = [at_points(poisson_family(a, axis)) for a in path.y[0, [0, -1]]]
    bump, linear = partial(von_mises, centre=centre), linear_potential(axis)
    bumps = [at_points(values) for values in (bump, moebius(axis, centre, 0.6))]
    return (
        ExactCase("S², β = 0", mfpde.Attention(0.0), 1.0, mfpde.Sphere, *ends),
        ExactCase("S², linear V", linear, 0.6, mfpde.Sphere, *bumps),
        one_neuron("S²", axis, mfpde.Sphere),
    )


def at_points(function: Callable[[Array], Array]) -> Callable[[Grid], Array]:
    """A function of points as one of grids."""
    return lambda grid: function(grid.points)


def on_zonal() -> tuple[ExactCase, ...]:
    """A linear potential and one neuron along the axis, from the uniform density."""
    axis, grid = np.eye(DIMENSION)[-1], partial(mfpde.Zonal, DIMENSION)

    def pushed(came_from: Callable[..., Array], zonal: mfpde.Zonal) -> Array:
        faces = came_from(zonal.face_angles, 1.0)
        return uniform_masses(DIMENSION, faces) / zonal.areas

    linear, neuron = linear_potential(axis), mfpde.Perceptron([axis], [1.0])
    by_linear = partial(pushed, moved_by_linear_potential)
    by_relu = partial(pushed, moved_by_relu)
    name = f"zonal d = {DIMENSION}"
    return (
        ExactCase(f"{name}, linear V", linear, 1.0, grid, uniform, by_linear),
        ExactCase(f"{name}, ReLU", neuron, 1.0, grid, uniform, by_relu, False),
    )
