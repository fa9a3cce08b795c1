"""What stands in pictures: all texts, and two sums over the numbers of each artist."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from drawn import (
    bump,
    known_run,
    kuramoto_run,
    layered_run,
    particle_run,
    poisson_kernel,
    run_of,
    zonal_run,
)
from matplotlib.collections import Collection, QuadMesh
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

import mfpde
from mfpde.plotting.animation import film_of
from oracles.quantities import Case, Quantities
from validation.circle_cases import points_at

CIRCLE, SPHERE, ZONAL = mfpde.Circle(96), mfpde.Sphere(32), mfpde.Zonal(6, 64)
FLAT = mfpde.Perceptron([[-1.0, 0.1], [0.6, -0.8]], [0.6, -0.5], biases=[0.2, 0.0])
ROUND = mfpde.Perceptron(
    [[1.0, 0.3, 0.5], [-0.5, 0.8, 0.2], [0.1, -0.9, -0.4]],
    [0.8, -0.5, 0.6],
    biases=[-0.3, 0.0, -0.5],
)
POTENTIAL = mfpde.Potential(
    lambda x: x[..., 0], lambda x: np.eye(x.shape[-1])[0] + 0 * x
)


def equation(*terms: Any, beta: float = 5.0, direction: str = "descent") -> Any:
    return mfpde.MeanFieldEquation(mfpde.Attention(beta), *terms, direction=direction)


def sums_over(values: Any) -> list[float]:
    """Return the number of values, their sum and one with weights, so that order counts."""
    flat = np.nan_to_num(np.ravel(np.asarray(values, dtype=float)), nan=9.0, posinf=99)
    return [len(flat), flat.sum(), np.cos(np.arange(len(flat))) @ flat]


def arrays_of(artist: Any) -> Iterator[Any]:
    """Yield what an artist draws, in the units of its axes, and its colours and widths."""
    match artist:
        case Line2D():
            yield artist.get_xydata()
            yield [*to_rgba(artist.get_color()), artist.get_linewidth()]
        case QuadMesh():
            yield np.ma.filled(artist.get_array(), 9.0)
            yield artist.get_coordinates()
            yield artist.get_clim()
        case Collection():
            yield artist.get_offsets()
            yield from (path.vertices for path in artist.get_paths())
            yield getattr(artist, "get_sizes", list)()
            yield artist.get_facecolor()
        case AxesImage():
            yield np.ma.filled(artist.get_array(), 9.0)
            yield artist.get_clim()
        case Patch():
            yield artist.get_path().vertices
            yield artist.get_facecolor()
        case Text() if artist.get_text():
            yield artist.get_position()


def describe(figure: Figure) -> Quantities:
    """Return all texts of a figure, and sums over the numbers of its axes and artists."""
    axes = [inner for outer in figure.axes for inner in (outer, *outer.child_axes)]
    numbers = [
        *([*ax.get_xlim(), *ax.get_ylim(), ax.get_yscale() == "log"] for ax in axes)
    ]
    for ax in axes:
        drawn = [*ax.lines, *ax.collections, *ax.images, *ax.patches, *ax.texts]
        numbers += [sums_over(array) for one in drawn for array in arrays_of(one)]
    texts = [text.get_text() for text in figure.findobj(Text) if text.get_text()]
    return {
        "texts": np.array(ROUNDING.sub("~0", "\n".join(texts))),
        "numbers": np.concatenate([np.ravel(part) for part in numbers]),
    }


@cache
def branch() -> mfpde.Continuation:
    start = mfpde.Atoms([[0.0, 1.0]])
    problem = equation(mfpde.Perceptron([[0.0, 1.0]], [-1.0]), beta=10.0)
    values = [1.2, 0.9, 0.6]
    return mfpde.continuation(problem, start, "weight_scale", values)


@cache
def hysteresis() -> mfpde.Continuation:
    circle, values = mfpde.Circle(64), [0.02, 0.03, 0.04]
    bump = mfpde.Density.from_function(circle, lambda x: np.exp(15 * x[..., 0]))
    problem = equation(direction="ascent")
    start = mfpde.continuation(problem, bump, "diffusion", values[:2]).states[0]
    return mfpde.continuation(problem, start.density, "diffusion", values)


def with_atoms(geometry: Any, *points: Any) -> mfpde.Measure:
    """Half of the mass even, half in atoms of growing masses."""
    half = mfpde.Density(geometry, mfpde.uniform(geometry).values / 2)
    masses = np.arange(1.0, len(points) + 1)
    return mfpde.Measure(half, mfpde.Atoms(np.array(points), masses / 2 / masses.sum()))


def frame_of(run: mfpde.Run, view: str, position: float) -> Figure:
    figure, draw = film_of(run, view, [position])
    draw(position)
    return figure


def verdict_of(geometry: Any) -> Figure:
    """A narrow bump with a dead half."""
    axis = np.eye(geometry.dimension)[-1]
    density = mfpde.Density.from_function(
        geometry, lambda x: 1e-3 + (x @ axis < 0) + 500 * np.exp(150 * (x @ axis - 1))
    )
    problem = equation(mfpde.Perceptron([axis], [1.0]), direction="ascent")
    return mfpde.plot_concentration(density.normalized(), problem)


def minimum_of(geometry: Any, *neurons: Any, beta: float = 10.0) -> Figure:
    return mfpde.plot_certificate(
        mfpde.minimize(equation(*neurons, beta=beta), geometry)
    )


ROUNDING = re.compile(r"[\d.]+e-1\d")
"""Numbers that another processor has otherwise."""
PLACES = points_at(np.array([0.0, 1.7, 3.0]))
ROUND_PLACES = np.array([[0.6, 0.0, 0.8], [0.0, -1.0, 0.0]])
TILTED = mfpde.Perceptron([[0.6, 0.0, 0.8]], [-0.3])
PICTURES: dict[str, Callable[[], Figure]] = {
    "page of a circle": lambda: mfpde.plot_run(kuramoto_run(cells=64)),
    "page of a zonal run": lambda: mfpde.plot_run(zonal_run()),
    "page of particles": lambda: mfpde.plot_run(particle_run(20)),
    "page with a track": lambda: mfpde.plot_run(known_run(CIRCLE)),
    "snapshots": lambda: mfpde.plot_snapshots(kuramoto_run(cells=64), times=[0.1, 5]),
    "snapshots of layers": lambda: mfpde.plot_snapshots(layered_run(CIRCLE)),
    "snapshots of layers on a sphere": lambda: mfpde.plot_snapshots(
        layered_run(SPHERE)
    ),
    "map over time": lambda: mfpde.plot_space_time(kuramoto_run(cells=64)),
    "zonal map over time": lambda: mfpde.plot_space_time(zonal_run()),
    "particles over time": lambda: mfpde.plot_space_time(particle_run(100)),
    "paths over time": lambda: mfpde.plot_space_time(known_run(CIRCLE)),
    "tree of atoms": lambda: mfpde.plot_atom_tree(known_run(CIRCLE)),
    "energy": lambda: mfpde.plot_energy(kuramoto_run(cells=64)),
    "diagnostic": lambda: mfpde.plot_diagnostic(kuramoto_run(cells=64), "mass"),
    "density with atoms": lambda: mfpde.plot_density(
        with_atoms(CIRCLE, *PLACES), equation=equation(FLAT)
    ),
    "high density": lambda: mfpde.plot_density(poisson_kernel(CIRCLE, 0.99)),
    "density in a potential": lambda: mfpde.plot_density(
        mfpde.uniform(CIRCLE), equation=equation(POTENTIAL)
    ),
    "zonal density": lambda: mfpde.plot_density(
        with_atoms(ZONAL, ZONAL.axis), equation=equation(POTENTIAL)
    ),
    "map of a sphere": lambda: mfpde.plot_density(
        with_atoms(SPHERE, *ROUND_PLACES), equation=equation(ROUND)
    ),
    "globe": lambda: mfpde.plot_globe(
        bump(SPHERE, [1.0, 0.3, 0.5], 20.0), equation=equation(ROUND), camera=(0.3, 0.1)
    ),
    "globe with paths": lambda: mfpde.plot_globe(
        known_run(SPHERE).final, track=known_run(SPHERE).track, camera=(0.0, 0.6)
    ),
    "verdict on a circle": lambda: verdict_of(CIRCLE),
    "verdict on a sphere": lambda: verdict_of(SPHERE),
    "zonal verdict": lambda: verdict_of(ZONAL),
    "certificate on a circle": lambda: minimum_of(CIRCLE, FLAT),
    "certificate of a ring": lambda: minimum_of(SPHERE, TILTED, beta=20.0),
    "branch of atoms": lambda: mfpde.plot_continuation(branch()),
    "branch of densities": lambda: mfpde.plot_continuation(hysteresis()),
    "phase diagram": lambda: mfpde.plot_phase_diagram(
        mfpde.phase_diagram(3, [2.0, 3.0])
    ),
    "frame of a curve": lambda: frame_of(layered_run(CIRCLE), "curve", 1.5),
    "frame of a map": lambda: frame_of(
        run_of([with_atoms(SPHERE, p) for p in ROUND_PLACES]), "map", 0.5
    ),
}
CASES = [
    Case(f"picture: {name}", lambda _nudge, draw=draw: describe(draw()))
    for name, draw in PICTURES.items()
]
