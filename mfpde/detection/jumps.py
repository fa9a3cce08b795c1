r"""Jumps of a density: steps that the grid does not resolve, between two plateaus.

Across a place, along one line, take the densities at 2.5, 3.5 and 4.5 cells to either side.
It is a jump if both triples are plateaus (they vary by at most 15 % of the step between
their means), the step is more than 15 % of the sum of the means, at least 70 % of it take
place within one cell to either side, and nothing in between sticks out by more than 15 %.
A flank of a resolved bump has no plateaus as close as that (a sine of wavelength 12 cells
has 54 %), and a peak sticks out.

On S^2 the line follows the gradient, and the length of the jumps is

    sum over cells of area |d rho / dn| / step,

since the normal derivative integrates to the step across a jump, however smeared.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mfpde.arrays import BoolArray, FloatArray
from mfpde.detection.flow import CellFlow
from mfpde.detection.region import LEAST_SHARE
from mfpde.geometry import Sphere
from mfpde.geometry.arcs import exponential_map, tangent_frames
from mfpde.geometry.base import as_kind
from mfpde.geometry.circle import angles_of, points_at
from mfpde.measures.measure import Measure, as_measure

PLATEAU = 0.15
"""Largest share of a jump's step by which the density varies on a side, or beyond both."""
NEAR = 1.5
FAR = (NEAR + 1, NEAR + 2, NEAR + 3)
"""Distances in cells: up to the one a step is smeared, from there on are the plateaus."""


class Jumps(NamedTuple):
    """Jumps of a density: points (k, d), which cells (n,) are at one, the length on S^2."""

    points: FloatArray
    cells: BoolArray
    length: float = 0.0


def find_jumps(flow: CellFlow) -> Jumps:
    """Return the jumps of the density on whose cells a flow is; none without a grid."""
    if not isinstance(flow.measure, Measure):
        nowhere = np.empty((0, flow.measure.dimension))
        return Jumps(nowhere, np.zeros(len(flow.cells), dtype=bool))
    density = flow.measure.density
    # A step below a hundredth of the mean density is none.
    floor = LEAST_SHARE * density.total_mass / float(density.geometry.areas.sum())
    find = _jumps_on_line if flow.cells.on_line else _jumps_on_sphere
    return find(flow, density.values, floor)


def _jumps_on_line(flow: CellFlow, values: FloatArray, floor: float) -> Jumps:
    """Jumps at the faces of a line of cells: of neighbouring ones at the steepest."""

    def sample(distance: float) -> FloatArray:
        return np.roll(values, -round(distance + 0.5))

    is_jump = _find_steps(sample, floor) > 0
    if flow.cells.place == "zonal":
        # Beyond the poles there is nothing.
        farthest = round(FAR[-1])
        is_jump[:farthest] = is_jump[-farthest - 1 :] = False
    rises = np.where(is_jump, np.abs(np.roll(values, -1) - values), 0.0)
    for steps in (1, 2):
        is_jump &= (rises > np.roll(rises, steps)) & (rises >= np.roll(rises, -steps))
    angles = angles_of(flow.cells.points[is_jump]) + flow.spacing / 2
    points = [flow.point_of(place) for place in points_at(angles)]
    places = np.reshape(points, (-1, flow.measure.dimension))
    return Jumps(places, is_jump | np.roll(is_jump, 1))


def _jumps_on_sphere(flow: CellFlow, values: FloatArray, floor: float) -> Jumps:
    """Cells of S^2 across which the density jumps, along its gradient."""
    cells, points, flat = flow.cells, flow.cells.points, values.ravel()
    h, frames = flow.spacing, tangent_frames(points)
    sphere = as_kind("geometry", as_measure(flow.measure).geometry, Sphere)
    sides = NEAR * h * np.concatenate([frames, -frames], axis=1)
    places = exponential_map(points[:, np.newaxis], sides)
    densities = sphere.interpolate_at(values, places)
    slopes = densities[:, :2] - densities[:, 2:]
    rises = np.linalg.norm(slopes, axis=1)
    tried = np.nonzero(rises > PLATEAU * np.maximum(flat, floor) / 2)[0]
    normals = np.einsum("na,nai->ni", slopes[tried], frames[tried])
    normals *= h / rises[tried, np.newaxis]

    def sample(distance: float) -> FloatArray:
        places = exponential_map(points[tried], distance * normals)
        return sphere.interpolate_at(values, places)

    steps = np.zeros(len(points))
    steps[tried] = _find_steps(sample, floor, flat[cells.neighbours[:, tried]])
    around = steps
    for _ in range(2):
        around = np.maximum(around, around[cells.neighbours].max(axis=0))
    inside = np.nonzero(around)[0]
    steepness = rises[inside] / (2 * NEAR * h)
    length = (cells.areas[inside] * steepness / around[inside]).sum()
    return Jumps(points[steps > 0], steps > 0, float(length))


def _find_steps(
    sample: Callable[[float], FloatArray],
    floor: float,
    beside: FloatArray | None = None,
) -> FloatArray:
    """Step at each place by densities so many cells to a side; 0 if those ``beside`` stick out."""
    sides = [np.stack([sample(side * cells) for cells in FAR]) for side in (-1, 1)]
    low, high = (side.mean(axis=0) for side in sides)
    step = np.abs(high - low)
    varies = np.max([np.ptp(side, axis=0) for side in sides], axis=0)
    between = np.stack([sample(cells) for cells in (-NEAR, -0.5, 0.5, NEAR)])
    # Linear between half a cell and one and a half, on either side.
    within = np.array([-1, -1, 1, 1]) @ between / 2 * np.sign(high - low)
    if beside is not None:
        between = np.concatenate([between, beside])
    sticks_out = np.maximum(
        between.max(axis=0) - np.maximum(low, high),
        np.minimum(low, high) - between.min(axis=0),
    )
    is_jump = (
        (np.maximum(varies, sticks_out) <= PLATEAU * step)
        & (step > np.maximum(PLATEAU * (high + low), floor))
        & (within >= (1 - 2 * PLATEAU) * step)
    )
    return np.where(is_jump, step, 0.0)
