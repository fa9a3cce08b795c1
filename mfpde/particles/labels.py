r"""Weighted labels: a density followed along its characteristics.

Label i starts at theta_i with the mass m_i = rho_0(theta_i) 2 pi / n, uniformly in
angle. Sums over labels are trapezoidal sums along the label index s, hence spectrally
accurate as long as the flow map phi(s) is smooth; the density at a later time is the
derivative of

    M(phi(s)) = int_0^s m ds'

read at the faces of any circle.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline, PchipInterpolator

from mfpde.arrays import LARGEST_COUNT, FloatArray, check_kind, whole_number
from mfpde.geometry.base import Geometry
from mfpde.geometry.circle import Circle, angles_of
from mfpde.geometry.sphere import Sphere
from mfpde.measures.measure import AnyMeasure, Atoms, Density, as_measure

FEWEST_LABELS = 8
SMALLEST_MASS = 1e-300
LARGEST_SWAP = 1e-3
SMALLEST_GAP = 1e-13
RESOLVED = 1e-8
KNOTS = 16384
ROUNDING = 1e-12
RESOLVED_SHARE = 1e-3
FULL_TURN = 2 * np.pi


def labels_of(start: AnyMeasure, count: int | None = None) -> Atoms:
    """Return ``count`` labels with the masses of a density: the centres of a grid's cells.

    On S^1 they are uniform in angle, on S^2 Gauss nodes, whose weighted sums are spectrally
    accurate as long as the flow map is smooth.  Where the density is zero a label weighs
    1e-300: it marks its place and moves nothing.

    Parameters
    ----------
    start
        A density on a :class:`Circle` or a :class:`Sphere`, without atoms.
    count
        Number of labels, by default the number of cells, and at least that number (for a
        larger one the density is interpolated); on a sphere 2 n^2, for n rings of 2 n.

    Raises
    ------
    ValueError
        If the start has atoms or lies on another geometry, or ``count`` is too small, or
        is that of no grid.
    """
    measure = as_measure(start)
    if len(measure.atoms):
        raise ValueError(
            f"method='labels' needs a density, but start has also "
            f"{len(measure.atoms)} atoms; use method='spectral'"
        )
    grid = grid_of_labels(measure.geometry, count)
    density = measure.density
    if grid.shape != measure.geometry.shape:
        density = density.interpolated(grid)
    masses = np.maximum(density.masses, SMALLEST_MASS).ravel()
    return Atoms(density.geometry.points.reshape(-1, grid.dimension), masses)


def grid_of_labels(grid: Geometry, count: int | None = None) -> Geometry:
    """The grid whose cells are ``count`` labels of a density on ``grid``, by default ``grid``.

    Raises
    ------
    ValueError
        As for :func:`labels_of`.
    """
    if grid.axis is not None or grid.dimension > 3:
        raise ValueError(
            f"method='labels' needs a density on a Circle or a Sphere, but start lies on "
            f"{grid!r}"
        )
    cells = math.prod(grid.shape)
    if (
        count is None
        or whole_number("count", count, at_least=cells, at_most=LARGEST_COUNT) == cells
    ):
        return grid
    return Circle(count) if grid.dimension == 2 else _sphere_of(count)


def _sphere_of(count: int) -> Sphere:
    rings = math.isqrt(count // 2)
    if rings % 2 or 2 * rings**2 != count:
        raise ValueError(
            f"count = {count} labels are no grid on a sphere, which has 2 n^2 with n even, "
            f"such as {2 * (rings + 2 - rings % 2) ** 2}"
        )
    return Sphere(rings)


def label_density(
    labels: Atoms, circle: Circle, *, at_centers: bool = False
) -> Density:
    """Push-forward density of labels on ``circle``.

    The cumulated mass M at each label is the spectral antiderivative of the masses along
    the label index.  While the labels resolve it, it is interpolated trigonometrically to
    many knots, and by a cubic spline between these; else by a monotone cubic through the
    labels (Fritsch & Carlson 1980, PCHIP).

    Parameters
    ----------
    labels
        The states of ``solve_particles(..., method="labels")``: in the order of the
        labels.
    circle
        Circle on which the density is wanted, with any number of cells.
    at_centers
        False: values are the means over the cells, differences of M between faces,
        whatever the circle resolves.  True: values are those of M' at the centres, the
        form that a density run on a :class:`Circle` evolves; the two differ by
        h^2 rho'' / 24.

    Returns
    -------
    Density, nowhere negative, of the labels' total mass.

    Raises
    ------
    ValueError
        For points off S^1, fewer than 8 labels, labels that are not in cyclic order, or
        values at centres that miss more than 0.1 % of the mass.
    """
    source = 'a state of solve_particles(..., method="labels")'
    check_kind("labels", labels, Atoms, source=source)
    if labels.dimension != 2 or len(labels) < FEWEST_LABELS:
        raise ValueError(
            f"{len(labels)} labels in dimension {labels.dimension} give no density: at "
            f"least {FEWEST_LABELS} labels on S^1 (dimension 2) are needed"
        )
    if not isinstance(circle, Circle):
        raise ValueError(f"circle = {circle!r} must be a Circle")
    knots = _refine(_unroll(angles_of(labels.points)), _cumulate(labels.masses))
    if at_centers:
        masses = circle.areas * _interpolate(circle.angles, knots, derivative=1)
    else:
        faces = np.concatenate([[0.0], circle.face_angles])
        masses = np.diff(_interpolate(faces, knots))
    masses = np.maximum(masses, 0.0)
    share = masses.sum() / labels.total_mass
    if abs(share - 1) > RESOLVED_SHARE:
        raise ValueError(
            f"the values at the centres of {circle!r} sum to {share:.6g} of the mass: "
            "the density is narrower than its cells; use more cells or at_centers=False"
        )
    return Density(circle, masses / share / circle.areas)


def _unroll(angles: FloatArray) -> FloatArray:
    """Angles (n + 1,) of labels, increasing; the last is the first, a turn later."""
    gaps = np.mod(np.diff(angles, append=angles[:1]), FULL_TURN)
    # Labels that have met may have swapped places, by what their integrator errs.
    gaps = np.where(gaps > FULL_TURN - LARGEST_SWAP, gaps - FULL_TURN, gaps)
    turns = round(float(gaps.sum()) / FULL_TURN)
    if turns == 0:  # all labels have met: the one retreat is the rest of the circle
        gaps[np.argmin(gaps)] += FULL_TURN
    elif turns != 1:
        raise ValueError(
            f"the labels wind {turns} times around the circle: they must be in cyclic "
            "order, as solve_particles(..., method='labels') returns them"
        )
    gaps = np.maximum(gaps, SMALLEST_GAP)
    gaps *= FULL_TURN / gaps.sum()
    unrolled: FloatArray = angles[0] + np.concatenate([[0.0], np.cumsum(gaps)])
    return unrolled


def _cumulate(masses: FloatArray) -> FloatArray:
    """Mass from the first label to each label, (n + 1,): spectral, or else trapezoidal."""
    count = len(masses)
    coefficients = np.fft.rfft(masses)
    frequencies = FULL_TURN * np.fft.rfftfreq(count)
    antiderivative = np.zeros_like(coefficients)
    antiderivative[1:] = coefficients[1:] / (1j * frequencies[1:])
    if count % 2 == 0:
        antiderivative[-1] = 0.0
    total = masses.sum()
    periodic = np.fft.irfft(antiderivative, count)
    spectral = periodic - periodic[0] + total / count * np.arange(count)
    cumulated = np.append(spectral, total)
    if np.diff(cumulated).min() >= -ROUNDING * total:
        return np.maximum.accumulate(np.minimum(cumulated, total))
    sums = np.cumsum((masses + np.roll(masses, -1)) / 2)
    return np.concatenate([[0.0], sums])


class _Knots(NamedTuple):
    """Angles (k,) that increase by a turn, and the mass cumulated at each, (k,)."""

    angles: FloatArray
    cumulated: FloatArray
    is_smooth: bool


def _refine(angles: FloatArray, cumulated: FloatArray) -> _Knots:
    """Both sequences at 16384 knots or more, if the labels resolve them."""
    factor = -(-KNOTS // (len(angles) - 1))
    fine_angles = _oversample(angles, factor)
    fine_cumulated = _oversample(cumulated, factor)
    if fine_angles is None or fine_cumulated is None:
        return _Knots(angles, cumulated, False)
    falls = np.diff(fine_cumulated).min() < -ROUNDING * cumulated[-1]
    if falls or np.diff(fine_angles).min() <= 0:
        return _Knots(angles, cumulated, False)
    return _Knots(fine_angles, np.maximum.accumulate(fine_cumulated), True)


def _oversample(sequence: FloatArray, factor: int) -> FloatArray | None:
    """Trigonometric interpolant of a steadily growing sequence, None if unresolved."""
    count = len(sequence) - 1
    growth = sequence[-1] - sequence[0]
    steady = growth / count * np.arange(count)
    coefficients = np.fft.rfft(sequence[:-1] - steady) / count
    if np.abs(coefficients[-(len(coefficients) // 8) :]).max() > RESOLVED * growth:
        return None
    size = count * factor
    if count % 2 == 0 and factor > 1:
        coefficients[-1] /= 2
    periodic = np.fft.irfft(coefficients, size) * size
    fine = periodic + growth / size * np.arange(size)
    return np.append(fine, fine[0] + growth)


def _interpolate(
    positions: FloatArray, knots: _Knots, *, derivative: int = 0
) -> FloatArray:
    """Cumulated mass M, which is 0 at the first knot, or M', at ``positions`` on any turn."""
    angles, cumulated, is_smooth = knots
    total = cumulated[-1] - cumulated[0]
    turns = np.floor((positions - angles[0]) / FULL_TURN)
    places = positions - FULL_TURN * turns
    if is_smooth:
        slope = total / FULL_TURN
        fluctuation = cumulated - slope * (angles - angles[0])
        fluctuation[-1] = fluctuation[0]
        spline = CubicSpline(angles, fluctuation, bc_type="periodic")
        steady = slope if derivative else slope * (places - angles[0])
        values = spline(places, derivative) + steady
    else:
        around = [angles[-4:-1] - FULL_TURN, angles, angles[1:4] + FULL_TURN]
        masses = [cumulated[-4:-1] - total, cumulated, cumulated[1:4] + total]
        monotone = PchipInterpolator(np.concatenate(around), np.concatenate(masses))
        values = monotone(places, derivative)
    return np.asarray(values if derivative else values + total * turns)
