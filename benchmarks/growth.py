"""How the time of a step grows with cells, beta, neurons, and particles.

Each row is the time of a complete step (of a velocity, for particles) in that of the smallest
problem of its series, beside the ratio of the sizes: below it growth is slower than linear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from results_table import Row, in_turns

from mfpde import (
    Atoms,
    Attention,
    Circle,
    Density,
    MeanFieldEquation,
    Perceptron,
    Sphere,
    solve_particles,
)
from mfpde.geometry import Geometry
from mfpde.transport import State, scheme_for

PART = "Growth"
CIRCLES = tuple(2**k for k in range(9, 18))
SPHERES = (32, 64, 128, 256, 512, 1024)
BETAS = (1.0, 10.0, 100.0, 1000.0)
NEURONS = (1, 4, 16, 64, 256)
PARTICLES = {2: (10**3, 10**4, 10**5, 10**6), 3: (10**3, 10**4, 10**5)}
"""Numbers of particles on S^(d-1), by d."""


class Series(NamedTuple):
    """A quantity that grows, its sizes, and what is timed at each."""

    name: str
    sizes: tuple[float, ...]
    work: Callable[[float], Callable[[], object]]
    repetitions: int = 9


def step_on(
    geometry: Geometry, beta: float = 5.0, neurons: int = 2
) -> Callable[[], object]:
    """Return a complete step of donor blending from a smooth density."""
    drawn = Perceptron.random(neurons, geometry.dimension, seed=7)
    small = Perceptron(drawn.directions, drawn.weights / neurons)
    equation = MeanFieldEquation(Attention(beta), small, direction="descent")
    scheme = scheme_for("donor_blended", geometry)
    transport = scheme.transport(equation.on(geometry))
    density = Density.from_function(geometry, lambda x: np.exp(x[..., 0])).normalized()
    none = np.empty((0, geometry.dimension)), np.empty(0)
    state = State(transport.represent_masses(density.masses), *none)
    length = transport.largest_step(state)
    return lambda: transport.step(state, length)


def particles(dimension: int, count: int) -> Callable[[], object]:
    """Return a run of two fixed steps of particles that act through their moments."""
    generator = np.random.default_rng(0)
    points = generator.standard_normal((count, dimension))
    points[:, 0] += 0.5
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    equation = MeanFieldEquation(Attention(5.0), direction="ascent")
    settings = {"t_end": 0.02, "save_at": [0.02], "time_step": 0.01}
    start = Atoms(points, np.full(count, 1.0 / count))
    return lambda: solve_particles(equation, start, method="spectral", **settings)


def series(*, quick: bool) -> Iterator[Series]:
    """All series; the smallest sizes of the first alone if ``quick``."""
    if quick:
        yield Series("S^1 cells", CIRCLES[:2], lambda n: step_on(Circle(int(n))), 3)
        return
    yield Series("S^1 cells", CIRCLES, lambda n: step_on(Circle(int(n))))
    yield Series("S^2 rings", SPHERES, lambda n: step_on(Sphere(int(n))), 3)
    yield Series("S^1, 4096 cells: beta", BETAS, lambda b: step_on(Circle(4096), b))
    yield Series("S^2, 128 rings: beta", BETAS[:3], lambda b: step_on(Sphere(128), b))
    yield Series(
        "S^1, 4096 cells: neurons",
        NEURONS,
        lambda m: step_on(Circle(4096), neurons=int(m)),
    )
    yield Series(
        "S^2, 128 rings: neurons",
        NEURONS,
        lambda m: step_on(Sphere(128), neurons=int(m)),
    )
    for dimension, counts in PARTICLES.items():
        yield Series(
            f"particles on S^{dimension - 1}",
            counts,
            lambda n, d=dimension: particles(d, int(n)),
            3,
        )


def rows(*, quick: bool = False) -> Iterator[Row]:
    """Times in those of the smallest problem."""
    for one in series(quick=quick):
        smallest = one.work(one.sizes[0])
        for size in one.sizes:
            # Beside the smallest one each time: so much memory is needed at once.
            base, own = in_turns([smallest, one.work(size)], one.repetitions)
            power = 2 if one.name == "S^2 rings" else 1
            remark = (
                f"{1e3 * own.median:.3g} ms; sizes: {(size / one.sizes[0]) ** power:g}"
            )
            ratio, spread = own.median / base.median, own.spread / base.median
            yield Row(PART, f"{one.name} {size:g}", ratio, spread=spread, remark=remark)
