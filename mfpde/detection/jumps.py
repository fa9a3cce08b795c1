r"""Jumps of a density: steps that the grid does not resolve, between two plateaus.

Across a place, along one line, take the densities at 2.5, 3.5 and 4.5 cells to either side.
It is a jump if both triples are plateaus (they vary by at most 15 % of the step between
their means), the step is more than 15 % of the sum of the means, at least 70 % of it take
place within one cell to either side, and nothing in between sticks out by a quarter of it.
A flank of a resolved bump has no plateaus as close as that (a sine of wavelength 12 cells
has 54 %), and a peak sticks out.

On S^2 the line follows the gradient, and the length of the jumps is

    sum over cells of area |d rho / dn| / step,

since the normal derivative integrates to the step across a jump, however smeared.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import singledispatch
from typing import NamedTuple

import numpy as np
from scipy.ndimage import map_coordinates

from mfpde.arrays import BoolArray, FloatArray, IntArray
from mfpde.detection.graph import graph_of, unknown_grid
from mfpde.geometry import Circle, Geometry, Sphere, Zonal
from mfpde.geometry.arcs import exponential_map, tangent_frames
from mfpde.geometry.circle import points_at
from mfpde.measures.measure import Density, Measure

PLATEAU, LEAST_STEP = 0.15, 0.15
STEEP, OVERSHOOT = 0.7, 0.25
"""Shares of the step, as above."""
NEAR = 1.5
"""Cells to either side over which slopes are taken: a step is smeared over as many."""
BETWEEN, FAR = (0.5, NEAR), (2.5, 3.5, 4.5)
"""Distances in cells at which densities are compared, on the step and on the plateaus."""
REACH = 5
"""Number of cells that are looked at on either side of a face."""
EMPTY = 1e-2
"""A step below this share of the mean density is none."""
DUST = 1e-6
"""Share of the area: in high dimension cells are tiny but beside the equator."""


class Jumps(NamedTuple):
    """Jumps of a density: points (k, d), which cells (n,) are at one, the length on S^2."""

    points: FloatArray
    cells: BoolArray
    length: float = 0.0


def find_jumps(measure: Measure) -> Jumps:
    """Return the jumps of the density of a measure."""
    return _jumps_on(measure.geometry, measure.density)


@singledispatch
def _jumps_on(geometry: Geometry, density: Density) -> Jumps:
    del density
    raise unknown_grid(geometry)


@_jumps_on.register(Circle)
def _(circle: Circle, density: Density) -> Jumps:
    found = _find_faces(density, np.ones(circle.num_cells, dtype=bool))
    return Jumps(points_at(circle.face_angles[found]), _mark_beside(found, density))


@_jumps_on.register(Zonal)
def _(zonal: Zonal, density: Density) -> Jumps:
    cumulated = np.append(0.0, np.cumsum(zonal.area_shares))
    held = cumulated[REACH:] - cumulated[:-REACH]
    counted = np.zeros(zonal.num_cells, dtype=bool)
    counted[REACH - 1 : -REACH] = np.minimum(held[:-REACH], held[REACH:]) > DUST
    found = _find_faces(density, counted)
    points = zonal.points_at(zonal.face_angles[1:][found])
    return Jumps(points, _mark_beside(found, density))


def _mark_beside(faces: IntArray, density: Density) -> BoolArray:
    """Which cells lie beside a face, numbered as the cell below it."""
    beside = np.zeros(len(density.values), dtype=bool)
    beside[np.append(faces, faces + 1) % len(beside)] = True
    return beside


def _find_faces(density: Density, counted: BoolArray) -> IntArray:
    """Which faces of a line of cells are at jumps, of those that are ``counted`` (n,).

    Of neighbouring ones the steepest.
    """
    values, count = density.values, len(density.values)
    sampled = {
        side * cells: np.roll(values, -int(side * cells + 0.5))
        for side in (-1, 1)
        for cells in (*BETWEEN, *FAR)
    }
    floor = EMPTY * density.total_mass / float(density.geometry.areas.sum())
    places = np.nonzero(counted & (_find_steps(sampled, floor=floor) > 0))[0]
    if not len(places):
        return places
    runs = np.split(places, np.nonzero(np.diff(places) > 2)[0] + 1)
    if len(runs) > 1 and runs[0][0] + count - runs[-1][-1] <= 2:
        runs[0] = np.append(runs.pop(), runs[0])
    rises = np.abs(sampled[0.5] - sampled[-0.5])
    return np.array([run[np.argmax(rises[run])] for run in runs])


@_jumps_on.register(Sphere)
def _(sphere: Sphere, density: Density) -> Jumps:
    values, h = density.values.ravel(), sphere.spacing
    points, neighbours = sphere.points.reshape(-1, 3), graph_of(sphere).neighbours
    sample, basis = _sampler_of(sphere, density.values), tangent_frames(points)
    slopes = np.stack(
        [
            sample(exponential_map(points, NEAR * h * basis[:, a]))
            - sample(exponential_map(points, -NEAR * h * basis[:, a]))
            for a in (0, 1)
        ],
        axis=1,
    )
    floor = EMPTY * density.total_mass / (4 * np.pi)
    least = LEAST_STEP * STEEP * np.maximum(values, floor) / 2
    tried = np.nonzero(np.linalg.norm(slopes, axis=1) > least)[0]
    steps = np.zeros(len(points))
    if len(tried):
        normals = np.einsum("na,nai->ni", slopes[tried], basis[tried])
        normals *= h / np.linalg.norm(normals, axis=1, keepdims=True)
        sampled = {
            side * cells: sample(exponential_map(points[tried], side * cells * normals))
            for side in (-1, 1)
            for cells in (*BETWEEN, *FAR)
        }
        steps[tried] = _find_steps(
            sampled, floor=floor, beside=values[neighbours[:, tried]]
        )
    around = steps
    for _ in range(2):
        around = np.maximum(around, around[neighbours].max(axis=0))
    inside = np.nonzero(around)[0]
    steepness = np.linalg.norm(slopes[inside], axis=1) / (2 * NEAR * h)
    length = (sphere.areas.ravel()[inside] * steepness / around[inside]).sum()
    at_jump = steps > 0
    return Jumps(points[at_jump], at_jump, float(length))


def _sampler_of(
    sphere: Sphere, values: FloatArray
) -> Callable[[FloatArray], FloatArray]:
    """Return the density at points (n, 3), linear between the centres, over the poles too."""
    half, first = sphere.nlon // 2, sphere.colatitudes[0]
    rows = [np.roll(values[:1], half, 1), values, np.roll(values[-1:], half, 1)]
    padded = np.concatenate(rows)
    colatitudes = np.concatenate([[-first], sphere.colatitudes, [np.pi + first]])

    def sample(points: FloatArray) -> FloatArray:
        x, y, z = points.T
        polar = np.arctan2(np.hypot(x, y), z)
        row = np.interp(polar, colatitudes, np.arange(len(colatitudes)))
        column = np.arctan2(y, x) / sphere.longitude_step
        places = [row, column]
        return np.asarray(map_coordinates(padded, places, order=1, mode="grid-wrap"))

    return sample


def _find_steps(
    sampled: dict[float, FloatArray], *, floor: float, beside: FloatArray | None = None
) -> FloatArray:
    """Step at each place, 0 where there is no jump.

    ``sampled`` holds densities by distance in cells; ``beside`` others (m, n) that must
    not stick out.
    """
    sides = [np.stack([sampled[side * cells] for cells in FAR]) for side in (-1, 1)]
    low, high = (side.mean(axis=0) for side in sides)
    step = np.abs(high - low)
    varies = np.max([np.ptp(side, axis=0) for side in sides], axis=0)
    # Linear between half a cell and one and a half, on either side.
    rises = [sampled[cells] - sampled[-cells] for cells in BETWEEN]
    within = (rises[0] + rises[1]) / 2 * np.sign(high - low)
    between = np.stack([sampled[side * cells] for side in (-1, 1) for cells in BETWEEN])
    if beside is not None:
        between = np.concatenate([between, beside])
    sticks_out = np.maximum(
        between.max(axis=0) - np.maximum(low, high),
        np.minimum(low, high) - between.min(axis=0),
    )
    is_jump = (
        (varies <= PLATEAU * step)
        & (sticks_out <= OVERSHOOT * step)
        & (step > np.maximum(LEAST_STEP * (high + low), floor))
        & (within >= STEEP * step)
    )
    return np.where(is_jump, step, 0.0)
