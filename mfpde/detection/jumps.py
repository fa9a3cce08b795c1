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

from functools import singledispatch
from typing import NamedTuple

import numpy as np

from mfpde.arrays import BoolArray, FloatArray, IntArray
from mfpde.detection.cells import cells_of_sphere, unknown_grid
from mfpde.geometry import Circle, Geometry, Sphere, Zonal
from mfpde.geometry.arcs import exponential_map, tangent_frames
from mfpde.geometry.circle import points_at
from mfpde.measures.measure import Density, Measure

PLATEAU = 0.15
LEAST_STEP = 0.15
STEEP = 0.7
OVERSHOOT = 0.25
NEAR = 1.5
BETWEEN = (0.5, NEAR)
FAR = (2.5, 3.5, 4.5)
REACH_OF_JUMPS = int(FAR[-1] + 0.5)
"""Number of cells that are looked at on either side of a face."""
EMPTY = 1e-2
"""A step below this share of the mean density is none."""
_DILATIONS = 2
_DUST = 1e-6


def jump_faces(
    values: FloatArray,
    faces: IntArray,
    *,
    mean: float,
    counted: BoolArray | None = None,
) -> IntArray:
    """Which of the ``faces`` of a line of cells are at jumps of a density.

    Parameters
    ----------
    values
        Density (n,) in the cells, which follow one another periodically.
    faces
        Numbers (m,) of the cells below consecutive faces.
    mean
        Mean density, in whose units a step is seen as one.
    counted
        Which faces (m,) can be at a jump; by default all.
    """
    count = len(values)
    sampled = {
        side * cells: values[(faces + _cell_of(side, cells)) % count]
        for side in (-1, 1)
        for cells in (*BETWEEN, *FAR)
    }
    steps = _steps(sampled, floor=EMPTY * float(mean))
    if counted is not None:
        steps = np.where(counted, steps, 0.0)
    rises = np.abs(sampled[0.5] - sampled[-0.5])
    return np.asarray(faces[_steepest(steps > 0, rises)])


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
    values = density.values
    found = jump_faces(values, np.arange(len(values)), mean=values.mean())
    beside = _cells_beside(found, len(values))
    return Jumps(points_at(circle.face_angles[found]), beside)


@_jumps_on.register(Zonal)
def _(zonal: Zonal, density: Density) -> Jumps:
    faces = np.arange(REACH_OF_JUMPS - 1, zonal.num_cells - REACH_OF_JUMPS)
    mean = density.total_mass / zonal.areas.sum()
    counted = holds_area(zonal.area_shares, faces)
    found = jump_faces(density.values, faces, mean=mean, counted=counted)
    angles = zonal.face_angles[1:][found]
    return Jumps(zonal.points_at(angles), _cells_beside(found, zonal.num_cells))


def _cells_beside(faces: IntArray, count: int) -> BoolArray:
    """Which of ``count`` cells lie beside a face, numbered as the cell below it."""
    beside = np.zeros(count, dtype=bool)
    beside[np.append(faces, faces + 1) % count] = True
    return beside


@_jumps_on.register(Sphere)
def _(sphere: Sphere, density: Density) -> Jumps:
    values = density.values
    points = sphere.points.reshape(-1, 3)
    neighbours = cells_of_sphere(sphere).neighbours
    sample = _Sampler(sphere, values)
    h = sphere.spacing
    basis = tangent_frames(points)
    slopes = np.stack(
        [
            sample(exponential_map(points, NEAR * h * basis[:, a]))
            - sample(exponential_map(points, -NEAR * h * basis[:, a]))
            for a in (0, 1)
        ],
        axis=1,
    )
    floor = EMPTY * density.total_mass / (4 * np.pi)
    wanted = LEAST_STEP * STEEP * np.maximum(values.ravel(), floor)
    tried = np.nonzero(np.linalg.norm(slopes, axis=1) > wanted / 2)[0]
    steps = np.zeros(len(points))
    if len(tried):
        normals = np.einsum("na,nai->ni", slopes[tried], basis[tried])
        normals /= np.linalg.norm(normals, axis=1, keepdims=True)
        sampled = {
            side * cells: sample(
                exponential_map(points[tried], side * cells * h * normals)
            )
            for side in (-1, 1)
            for cells in (*BETWEEN, *FAR)
        }
        about = values.ravel()[neighbours[:, tried]]
        beside = np.stack([about.min(axis=0), about.max(axis=0)])
        steps[tried] = _steps(sampled, floor=floor, beside=beside)
    around = steps
    for _ in range(_DILATIONS):
        around = np.maximum(around, around[neighbours].max(axis=0))
    inside = np.nonzero(around)[0]
    steepness = np.linalg.norm(slopes[inside], axis=1) / (2 * NEAR * h)
    length = (sphere.areas.ravel()[inside] * steepness / around[inside]).sum()
    at_jump = steps > 0
    return Jumps(points[at_jump], at_jump, float(length))


def _cell_of(side: int, cells: float) -> int:
    """Offset from face i (above cell i) to the cell whose centre is so far away."""
    return int(cells + 0.5) if side > 0 else int(0.5 - cells)


def _steps(
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


def holds_area(shares: FloatArray, faces: IntArray) -> BoolArray:
    """Whether cells with these ``shares`` of the area are more than dust on both sides of a face.

    In high dimension they are tiny but beside the equator.
    """
    cumulated = np.concatenate([[0.0], np.cumsum(shares)])
    above = cumulated[faces + 1 + REACH_OF_JUMPS] - cumulated[faces + 1]
    below = cumulated[faces + 1] - cumulated[faces + 1 - REACH_OF_JUMPS]
    return np.asarray(np.minimum(above, below) > _DUST)


def _steepest(found: BoolArray, rises: FloatArray) -> IntArray:
    """Of each run of neighbouring places that are found, the steepest one."""
    places = np.nonzero(found)[0]
    if len(places) == 0:
        return places
    runs = np.split(places, np.nonzero(np.diff(places) > 2)[0] + 1)
    if len(runs) > 1 and runs[0][0] + len(found) - runs[-1][-1] <= 2:
        runs[0] = np.concatenate([runs.pop(), runs[0]])
    return np.array([run[np.argmax(rises[run])] for run in runs])


class _Sampler:
    """Density at any points (n, 3), linear between the cell centres, over the poles too."""

    def __init__(self, sphere: Sphere, values: FloatArray) -> None:
        half = sphere.nlon // 2
        self.values = np.concatenate(
            [np.roll(values[:1], half, 1), values, np.roll(values[-1:], half, 1)]
        )
        middle = sphere.colatitudes
        self.colatitudes = np.concatenate([[-middle[0]], middle, [np.pi + middle[0]]])
        self.sphere = sphere

    def __call__(self, points: FloatArray) -> FloatArray:
        across = np.hypot(points[:, 0], points[:, 1])
        colatitudes = np.arctan2(across, points[:, 2])
        turns = np.arctan2(points[:, 1], points[:, 0]) / (2 * np.pi) % 1.0
        row = np.searchsorted(self.colatitudes, colatitudes, side="right") - 1
        row = np.clip(row, 0, len(self.colatitudes) - 2)
        low, high = self.colatitudes[row], self.colatitudes[row + 1]
        down = (colatitudes - low) / (high - low)
        columns = turns * self.sphere.nlon
        column = np.floor(columns).astype(np.int64)
        right = columns - column
        first, second = column % self.sphere.nlon, (column + 1) % self.sphere.nlon
        top = (1 - right) * self.values[row, first] + right * self.values[row, second]
        below = (1 - right) * self.values[row + 1, first] + right * self.values[
            row + 1, second
        ]
        return np.asarray((1 - down) * top + down * below)
