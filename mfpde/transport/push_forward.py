r"""Push-forward of a density on S^2 by labels: images of cells, spread over what they cover.

Label (i, j) carries the mass that cell (i, j) had when all labels stood at the centres.  The image
of that cell is a parallelogram about the label.  Its edges are differences of labels along both
lines of the lattice: the central one where both one-sided ones are alike, elsewhere the smaller of
them, so that no image reaches over the gap of a separatrix whose labels part.

In the numbers of rings and columns, where edges are straight, an image is taken in pieces no
longer than a cell, and each piece is shared by the centres around by linear interpolation.  That
keeps mass, sign, and the mean place of an atom.  A cell that is still where it was is taken for a
point at its centre, so that what rests keeps its density.

Then a smooth factor 1 + f gives the masses moments of low degrees that are wanted.

With real harmonics R_k of mean square 1 and f = sum_k c_k R_k,

    sum_l G_kl c_l = what is missing of the moment of R_k,   G_kl = sum_i m_i R_k(x_i) R_l(x_i),

over the cells i.  G is singular where the masses lie in few cells: there the mean square of f has
a price.  The factor is then bounded, which costs some of the moments and no mass.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.compiled import compiled, compiled_inside
from mfpde.geometry.base import RealHarmonics
from mfpde.geometry.sphere import MINIMUM_RINGS, Sphere

# One-sided differences that differ by more than a factor 4 are not resolved.
_LARGEST_ASYMMETRY = 0.6
# Of a longer image the gaps are filled by those beside it.
_MOST_PIECES = 8
# A label whose cell has moved by a twentieth of a cell does not rest.
_PER_CELL_MOVED = 20.0

KEPT_DEGREE = 8
"""Degree up to which a density is given moments."""
# The mean of f^2 costs this much beside the squared misfit of the moments over their degree: a
# wave of a degree l that is missing is mass that is 1/l away, and so W1 counts it.
_PRICE = 2e-4
_SMALLEST_FACTOR, _LARGEST_FACTOR = 0.0, 3.0


class Deposit(NamedTuple):
    """Masses (nlat, nlon) of cells, and those of the labels that rest, which are part of them."""

    masses: FloatArray
    resting: FloatArray


def deposit_masses(labels: FloatArray, masses: FloatArray, sphere: Sphere) -> Deposit:
    """Deposit the ``masses`` (nlat, nlon) that ``labels`` (nlat, nlon, 3) carry in the cells."""
    edges = _find_edges(labels)
    moved = _lengths(labels - sphere.points)
    moved += 0.5 * _lengths(edges[:2] - _edges_at_rest(sphere)).sum(axis=0)
    moved /= sphere.spacing
    # The image has its whole size once it has moved by half a cell.
    edges *= np.minimum(2.0 * moved, 1.0)[..., np.newaxis]
    colatitudes = sphere.colatitudes
    ends = -colatitudes[:1], 2 * np.pi - colatitudes[-1:]
    around = np.concatenate([ends[0], colatitudes, ends[1]])
    result = _spread_images(masses, labels, edges, around)
    result *= masses.sum() / result.sum()
    resting = masses * np.maximum(1.0 - _PER_CELL_MOVED * moved, 0.0)
    return Deposit(result, np.minimum(resting, result))


def _find_edges(labels: FloatArray) -> FloatArray:
    """Edges (3, nlat, nlon, 3) of images: down the rings, along them, how the second changes."""
    over_poles = np.roll(labels[[0, -1]], labels.shape[1] // 2, axis=1)
    rings = np.concatenate([over_poles[:1], labels, over_poles[1:]])
    ahead = np.roll(rings, -1, axis=1) - rings
    right = _choose_difference(np.roll(ahead, 1, axis=1), ahead)
    down, turn = np.diff(rings, axis=0), np.diff(right, axis=0)
    lines = _choose_difference(down[:-1], down[1:]), right[1:-1]
    return np.stack([*lines, _choose_difference(turn[:-1], turn[1:])])


def _choose_difference(before: FloatArray, after: FloatArray) -> FloatArray:
    """The mean of both differences (..., 3) if they are alike, else the smaller one."""
    sizes = _lengths(before), _lengths(after)
    are_unlike = _lengths(after - before) > _LARGEST_ASYMMETRY * (sizes[0] + sizes[1])
    share = np.where(are_unlike, sizes[1] < sizes[0], 0.5)[..., np.newaxis]
    return np.asarray(before + share * (after - before))


def _lengths(vectors: FloatArray) -> FloatArray:
    """Lengths (...) of vectors (..., 3); a third of the time of ``np.linalg.norm``."""
    return np.asarray(np.sqrt(np.einsum("...i,...i", vectors, vectors)))


@lru_cache(maxsize=4)
def _edges_at_rest(sphere: Sphere) -> FloatArray:
    """Edges of the cells of a grid, which all layers of a run share."""
    return _find_edges(sphere.points)[:2]


@compiled
def _spread_images(
    masses: FloatArray, labels: FloatArray, edges: FloatArray, colatitudes: FloatArray
) -> FloatArray:
    """Masses (nlat, nlon) of the cells that images with these ``masses`` cover, evenly.

    ``colatitudes`` (nlat + 2,) are those of the rings and of one over each pole.
    """
    nlat, nlon = masses.shape
    result = np.zeros((nlat, nlon))
    ring_step, column_step = np.pi / nlat, 2.0 * np.pi / nlon
    least_sine = np.sin(colatitudes[1])
    for i in range(nlat):
        for j in range(nlon):
            label, down, right = labels[i, j], edges[0, i, j], edges[1, i, j]
            turn = edges[2, i, j]
            squared_sine = max(label[0] ** 2 + label[1] ** 2, least_sine**2)
            narrowest = min(ring_step, column_step * np.sqrt(squared_sine))
            # Beside a pole cells are narrow, and an image of usual size covers many.
            most = max(_MOST_PIECES, int(ring_step / narrowest) + 1)
            squared_right = _product(right, right)
            rows = min(int(np.sqrt(_product(down, down)) / narrowest) + 1, most)
            columns = min(int(np.sqrt(squared_right) / narrowest) + 1, most)
            # Pieces are boxes with the second moments of parallelograms.
            down_south, down_east = _components(label, down)
            right_south, right_east = _components(label, right)
            south = (down_south / rows) ** 2 + (right_south / columns) ** 2
            east = (down_east / rows) ** 2 + (right_east / columns) ** 2
            box = np.sqrt(south) / ring_step, np.sqrt(east) / column_step
            mass = masses[i, j] / (rows * columns)
            # Where an image narrows less mass lies.
            widening = _product(right, turn) / max(squared_right, 1e-300)
            widening = min(max(widening, -2.0), 2.0)
            for a in range(rows):
                u = (a + 0.5) / rows - 0.5
                for b in range(columns):
                    v = (b + 0.5) / columns - 0.5
                    x = label[0] + u * down[0] + v * (right[0] + u * turn[0])
                    y = label[1] + u * down[1] + v * (right[1] + u * turn[1])
                    z = label[2] + u * down[2] + v * (right[2] + u * turn[2])
                    theta = np.arctan2(np.sqrt(x * x + y * y), z)
                    ring = _ring_number(theta, colatitudes)
                    column = np.arctan2(y, x) / column_step
                    share = mass * (1.0 + u * widening)
                    _add_box(result, (ring, column), box, share)
    return result


@compiled_inside
def _product(a: FloatArray, b: FloatArray) -> float:
    return float(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])


@compiled_inside
def _components(point: FloatArray, edge: FloatArray) -> tuple[float, float]:
    """Changes of the colatitude and the longitude along an ``edge`` beside a ``point``."""
    x, y, z = point[0], point[1], point[2]
    squared_sine = max(x * x + y * y, 1e-18)
    south = z * (x * edge[0] + y * edge[1]) / np.sqrt(squared_sine)
    south -= np.sqrt(squared_sine) * edge[2]
    return south, (x * edge[1] - y * edge[0]) / squared_sine


@compiled_inside
def _ring_number(colatitude: float, colatitudes: FloatArray) -> float:
    """The number of a ring, between rings a fraction; from -1 to nlat over the poles."""
    nlat = len(colatitudes) - 2
    # The nodes are nearly (i + 3/4) pi / (nlat + 1/2).
    k = min(int(colatitude * (nlat + 0.5) / np.pi + 0.25), nlat)
    low, high = colatitudes[k], colatitudes[k + 1]
    return float(k - 1 + (colatitude - low) / (high - low))


@compiled_inside
def _add_box(
    result: FloatArray,
    middle: tuple[float, float],
    size: tuple[float, float],
    mass: float,
) -> None:
    """Add ``mass``, spread over a box of ``size`` about ``middle``, to the centres around."""
    nlat, nlon = result.shape
    i0, north, here, south = _interpolate_interval(middle[0], min(size[0], 1.0))
    j0, west, own, east = _interpolate_interval(middle[1], min(size[1], 1.0))
    shares = mass * north, mass * here, mass * south
    for k in range(3):
        i, j = i0 + k - 1, j0
        if i < 0 or i >= nlat:
            i, j = (-1 - i if i < 0 else 2 * nlat - 1 - i), j + nlon // 2
        j %= nlon
        result[i, j - 1] += shares[k] * west
        result[i, j] += shares[k] * own
        result[i, 0 if j + 1 == nlon else j + 1] += shares[k] * east


@compiled_inside
def _interpolate_interval(
    middle: float, width: float
) -> tuple[int, float, float, float]:
    """The middle one of three whole numbers, and their weights for an interval at most 1 wide.

    Linear interpolation is linear on both sides of a whole number: the middle of each part of
    the interval stands for it.
    """
    low, high = middle - 0.5 * width, middle + 0.5 * width
    whole = np.floor(high)
    before, behind = max(whole - low, 0.0), high - whole
    if before == 0.0:
        return int(whole), 0.0, 1.0 - (middle - whole), middle - whole
    to_before = 0.5 * before * before / width
    to_behind = 0.5 * behind * behind / width
    return int(whole), to_before, 1.0 - to_before - to_behind, to_behind


@cache
def _small_grid() -> tuple[Sphere, RealHarmonics, FloatArray]:
    """A grid exact for four times the degree, the harmonics, and their values (k, n) there."""
    nodes = Sphere(MINIMUM_RINGS, 36)
    harmonics = RealHarmonics.of(nodes, KEPT_DEGREE)
    coefficients = map(harmonics.pack, np.eye(len(harmonics.places)))
    values = [nodes.synthesis(c).ravel() for c in coefficients]
    return nodes, harmonics, np.stack(values)


def fit_moments(
    masses: FloatArray, wanted: ComplexArray, sphere: Sphere, kept: FloatArray
) -> FloatArray:
    """Masses (nlat, nlon) times 1 + f, of the same total, with the moments ``wanted`` if they can.

    The factor stays between 0 and 3, so that what is empty stays so, and nothing is negative.
    The moments are those up to degree 8; what is ``kept`` (nlat, nlon) of the masses is right
    where it is, and has no factor.
    """
    nodes, harmonics, values = _small_grid()
    others = masses - kept
    prices = _PRICE * masses.sum() * np.maximum(harmonics.degrees, 1) ** 2

    missing = harmonics.read(wanted - sphere.moments(masses, KEPT_DEGREE))
    # Products of two harmonics are sums of harmonics of up to twice the degree, so that masses
    # with the same moments up to that degree have the same matrix: here those on a small grid.
    density = nodes.synthesis(sphere.moments(others, 2 * KEPT_DEGREE))
    on_nodes = (density * nodes.areas / (4 * np.pi)).ravel()
    matrix = (values * on_nodes) @ values.T + np.diag(prices)
    coefficients = np.asarray(np.linalg.solve(matrix, missing), dtype=np.float64)
    factor = 1.0 + sphere.synthesis(harmonics.pack(coefficients))
    factor = np.clip(factor, _SMALLEST_FACTOR, _LARGEST_FACTOR)
    fitted = others * factor
    fitted *= others.sum() / max(fitted.sum(), 1e-300)
    return np.asarray(kept + fitted)
