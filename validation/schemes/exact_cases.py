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

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.special import betainc

import mfpde
from validation.references import moebius

Array = NDArray[np.float64]
Values = Callable[[mfpde.Circle | mfpde.Sphere | mfpde.Zonal], Array]

RTOL = 1e-6
# Semi-Lagrangian steps are limited by accuracy alone: here they shrink with the cells.
STEP_IN_CELLS = 2.0


@dataclass(frozen=True)
class ExactCase:
    """An equation, its grids, and the exact cell values at the start and the end."""

    name: str
    equation: mfpde.MeanFieldEquation
    t_end: float
    grid: Callable[[int], mfpde.Circle | mfpde.Sphere | mfpde.Zonal]
    start: Values
    end: Values
    is_smooth: bool = True

    def error(self, cells: int, transport: str) -> float:
        """L1 error at the end of a run on ``cells`` cells."""
        grid = self.grid(cells)
        start = mfpde.Density(grid, self.start(grid)).normalized()
        by_cells = transport == "semi_lagrangian"
        run = mfpde.solve(
            self.equation,
            start,
            t_end=self.t_end,
            save_at=[self.t_end],
            transport=transport,
            rtol=1.0 if by_cells else RTOL,
            max_step=STEP_IN_CELLS * grid.spacing if by_cells else None,
        )
        exact = mfpde.Density(grid, self.end(grid)).normalized()
        return float(np.abs(run.final.density.masses - exact.masses).sum())


def linear_term(axis: Array) -> mfpde.Perceptron:
    """V = a.x."""
    return mfpde.Perceptron([axis], [1.0], (np.ones_like, lambda z: z))


def wrapped(angles: Array) -> Array:
    """Angles in [-pi, pi)."""
    return np.mod(angles + np.pi, 2 * np.pi) - np.pi


def uniform(grid: mfpde.Circle | mfpde.Sphere | mfpde.Zonal) -> Array:
    """Cell values of the uniform density."""
    return mfpde.uniform(grid).values


# --- The circle -----------------------------------------------------------------------

# A third of a cell from a centre, or its mirror image, on every grid of 128 * 2^k cells: jumps
# a quarter of a turn away then sit alike in their cells on all of them.
AXIS_ANGLE = 2 * np.pi * (14 + 1 / 3) / 128


def on_circle() -> tuple[ExactCase, ...]:
    """Kuramoto, a linear potential, one neuron; the axis near 0.7."""
    axis = np.array([np.cos(AXIS_ANGLE), np.sin(AXIS_ANGLE)])
    late = moebius.kuramoto_parameter(0.3, 3.0)
    pull = float(np.tanh(0.5))

    def from_axis(circle: mfpde.Circle) -> Array:
        return wrapped(circle.angles - AXIS_ANGLE)

    def pushed(circle: mfpde.Circle) -> Array:
        x = from_axis(circle)
        return (1 + 0.5 * np.sin(moebius.moved(x, -pull) + 1)) * moebius.stretch(
            x, -pull
        )

    return (
        ExactCase(
            "S¹, β = 0",
            mfpde.MeanFieldEquation(mfpde.Attention(0.0), direction="ascent"),
            3.0,
            mfpde.Circle,
            lambda circle: moebius.poisson(from_axis(circle), 0.3),
            lambda circle: moebius.poisson(from_axis(circle), late),
        ),
        ExactCase(
            "S¹, linear V",
            mfpde.MeanFieldEquation(linear_term(axis), direction="ascent"),
            1.0,
            mfpde.Circle,
            lambda circle: 1 + 0.5 * np.sin(from_axis(circle) + 1),
            pushed,
        ),
        ExactCase(
            "S¹, ReLU",
            mfpde.MeanFieldEquation(
                mfpde.Perceptron([axis], [1.0]), direction="ascent"
            ),
            1.0,
            mfpde.Circle,
            uniform,
            lambda circle: active_or_still(np.cos(from_axis(circle)), 2),
            is_smooth=False,
        ),
    )


def active_or_still(z: Array, dimension: int) -> Array:
    """Density over the uniform one of a neuron after t = 1 at z = a.x, any dimension."""
    stretch = np.e
    flat = z**2 + stretch**2 * (1 - z**2)
    return np.where(z > 0, stretch ** (dimension - 1) / flat ** (dimension / 2), 1.0)


# --- S^2 ------------------------------------------------------------------------------


def on_sphere() -> tuple[ExactCase, ...]:
    """A linear potential over tilted axes, Kuramoto, one neuron."""
    axis = np.array([0.3, -0.5, 0.8]) / np.sqrt(0.98)
    centre = np.array([0.7, 0.6, 0.1]) / np.sqrt(0.86)
    late = float(_kuramoto_on_sphere(0.4, 1.0))

    def along(sphere: mfpde.Sphere) -> Array:
        return np.asarray(sphere.points @ axis)

    return (
        ExactCase(
            "S², β = 0",
            mfpde.MeanFieldEquation(mfpde.Attention(0.0), direction="ascent"),
            1.0,
            mfpde.Sphere,
            lambda sphere: sphere_kernel(along(sphere), 0.4),
            lambda sphere: sphere_kernel(along(sphere), late),
        ),
        ExactCase(
            "S², linear V",
            mfpde.MeanFieldEquation(linear_term(axis), direction="ascent"),
            0.6,
            mfpde.Sphere,
            lambda sphere: np.exp(4 * (sphere.points @ centre - 1)),
            lambda sphere: _pushed_bump(sphere.points, (axis, centre), 0.6),
        ),
        ExactCase(
            "S², ReLU",
            mfpde.MeanFieldEquation(
                mfpde.Perceptron([axis], [1.0]), direction="ascent"
            ),
            1.0,
            mfpde.Sphere,
            uniform,
            lambda sphere: active_or_still(along(sphere), 3),
            is_smooth=False,
        ),
    )


def sphere_kernel(z: Array, a: float) -> Array:
    """Moebius image of the uniform density on S^2, up to its mass."""
    return np.asarray(((1 - a * a) / (1 + a * a - 2 * a * z)) ** 2)


def _kuramoto_on_sphere(start: float, time: float) -> float:
    def rate(_: float, a: Array) -> Array:
        logarithm = np.log((1 - a) / (1 + a))
        mean = (1 + a * a) / (2 * a) + (1 - a * a) ** 2 / (4 * a * a) * logarithm
        return np.asarray((1 - a * a) * mean / 2)

    path = solve_ivp(rate, (0, time), [start], rtol=1e-11, atol=1e-13)
    return float(path.y[0, -1])


def _pushed_bump(points: Array, vectors: tuple[Array, Array], time: float) -> Array:
    """Image of exp(4 (x.c - 1)) under the flow of V = a.x, vectors = (a, c)."""
    axis, centre = vectors
    z, stretch = points @ axis, np.exp(time)
    below = 1 + z + stretch**2 * (1 - z)
    origin_z = (1 + z - stretch**2 * (1 - z)) / below
    ratio = 2 * stretch / below
    across = points - z[..., np.newaxis] * axis
    origin = origin_z[..., np.newaxis] * axis + ratio[..., np.newaxis] * across
    return np.asarray(np.exp(4 * (origin @ centre - 1)) * ratio**2)


# --- Zonal grids ----------------------------------------------------------------------


def on_zonal(dimension: int = 5) -> tuple[ExactCase, ...]:
    """A linear potential and one neuron along the axis, from the uniform density."""
    axis = np.eye(1, dimension, dimension - 1)[0]

    def grid(cells: int) -> mfpde.Zonal:
        return mfpde.Zonal(dimension, cells)

    def linear(faces: Array) -> Array:
        return 2 * np.arctan2(np.sin(faces / 2), np.exp(-1.0) * np.cos(faces / 2))

    def neuron(faces: Array) -> Array:
        active = np.arctan2(np.e * np.sin(faces), np.cos(faces))
        return np.where(faces < np.pi / 2, active, faces)

    found = []
    for name, term, origins in (
        ("linear V", linear_term(axis), linear),
        ("ReLU", mfpde.Perceptron([axis], [1.0]), neuron),
    ):
        found.append(
            ExactCase(
                f"zonal d = {dimension}, {name}",
                mfpde.MeanFieldEquation(term, direction="ascent"),
                1.0,
                grid,
                uniform,
                lambda zonal, came_from=origins: (
                    _uniform_masses(dimension, came_from(zonal.face_angles))
                    / zonal.areas
                ),
                is_smooth=name != "ReLU",
            )
        )
    return tuple(found)


def _uniform_masses(dimension: int, faces: Array) -> Array:
    """Uniform probability between consecutive polar angles, by the incomplete beta."""
    below = betainc((dimension - 1) / 2, 0.5, np.sin(faces) ** 2) / 2
    is_north = faces <= np.pi / 2
    from_north = np.where(is_north, below, 1 - below)
    from_south = np.where(is_north, 1 - below, below)
    return np.where(is_north[1:], np.diff(from_north), from_south[:-1] - from_south[1:])
