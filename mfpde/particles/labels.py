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

import numpy as np
import scipy
from scipy import fftpack

from mfpde.arrays import LARGEST_COUNT, FloatArray, check_kind, whole_number
from mfpde.geometry.base import Geometry, as_kind
from mfpde.geometry.circle import Circle, angles_of
from mfpde.geometry.sphere import Sphere
from mfpde.measures.distributions import TURN
from mfpde.measures.measure import AnyMeasure, Atoms, Density, as_measure

FEWEST_LABELS = 8
SMALLEST_MASS = 1e-300
LARGEST_SWAP = 1e-3
SMALLEST_GAP = 1e-13
RESOLVED = 1e-8
ROUNDING = 1e-12
KNOTS = 16384
RESOLVED_SHARE = 1e-3


def labels_of(start: AnyMeasure, count: int | None = None) -> Atoms:
    """Return ``count`` labels with the masses of a density: the centres of a grid's cells.

    On S^1 they are uniform in angle, on S^2 Gauss nodes, whose weighted sums are spectrally
    accurate as long as the flow map is smooth.  Where the density is zero a label weighs
    1e-300: it marks its place and moves nothing.  To more labels than cells the density is
    interpolated.  Atoms, another geometry, and a ``count`` below that of the cells, or of no grid
    (on a sphere 2 n^2, for n rings of 2 n), are a ``ValueError``.
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
    """The grid whose cells are ``count`` labels of a density on ``grid``, as :func:`labels_of`."""
    if grid.axis is not None or grid.dimension > 3:
        raise ValueError(
            f"method='labels' needs a density on a Circle or a Sphere, but start lies on "
            f"{grid!r}"
        )
    cells = math.prod(grid.shape)
    count = cells if count is None else count
    if whole_number("count", count, at_least=cells, at_most=LARGEST_COUNT) == cells:
        return grid
    if grid.dimension == 2:
        return Circle(count)
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
    the label index.  While the labels resolve both M and their angles, these are interpolated
    trigonometrically to many knots, through which a cubic spline goes; else a monotone cubic
    goes through the labels (Fritsch & Carlson 1980, PCHIP).

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
    as_kind("circle", circle, Circle)
    cumulated = _interpolate(
        _unroll(angles_of(labels.points)), _cumulate(labels.masses)
    )
    if at_centers:
        masses = circle.areas * cumulated.derivative()(circle.angles)
    else:
        masses = np.diff(cumulated(np.append(0.0, circle.face_angles)))
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
    gaps = np.mod(np.diff(angles, append=angles[:1]), TURN)
    # Labels that have met may have swapped places, by what their integrator errs.
    gaps = np.where(gaps > TURN - LARGEST_SWAP, gaps - TURN, gaps)
    turns = round(float(gaps.sum()) / TURN)
    if turns == 0:  # all labels have met: the one retreat is the rest of the circle
        gaps[np.argmin(gaps)] += TURN
    elif turns != 1:
        raise ValueError(
            f"the labels wind {turns} times around the circle: they must be in cyclic "
            "order, as solve_particles(..., method='labels') returns them"
        )
    gaps = np.maximum(gaps, SMALLEST_GAP)
    gaps *= TURN / gaps.sum()
    return np.asarray(angles[0] + np.concatenate([[0.0], np.cumsum(gaps)]))


def _cumulate(masses: FloatArray) -> FloatArray:
    """Mass from the first label to each label, (n + 1,): spectral, and increasing."""
    count, total = len(masses), masses.sum()
    periodic = fftpack.diff(masses, order=-1, period=count)
    spectral = periodic - periodic[0] + total / count * np.arange(count)
    # Beside a jump of the masses it oscillates, by a share of one of them.
    increasing = np.maximum.accumulate(np.clip(spectral, 0.0, total))
    return np.append(increasing, total)


def _interpolate(angles: FloatArray, cumulated: FloatArray) -> scipy.interpolate.PPoly:
    """The cumulated mass as a function of the angle, over the turns about the labels' own."""
    steadily = np.stack([angles, cumulated])
    count, growth = len(angles) - 1, steadily[:, -1:] - steadily[:, :1]
    swings = steadily[:, :-1] - growth / count * np.arange(count)
    coefficients = np.fft.rfft(swings) / (growth * count)
    last = coefficients[:, -(coefficients.shape[1] // 8) :]
    knots, kind = steadily[:, :-1], scipy.interpolate.PchipInterpolator
    if np.abs(last).max() <= RESOLVED:
        size = count * -(-KNOTS // count)
        if count % 2 == 0 and size > count:
            coefficients[:, -1] /= 2
        shares = np.fft.irfft(coefficients, size) * size + np.arange(size) / size
        steps = np.diff(shares).min(axis=1)
        if steps[0] > 0 and steps[1] > -ROUNDING:
            knots, kind = growth * shares, scipy.interpolate.CubicSpline
    return kind(*np.concatenate([knots - growth, knots, knots + growth], axis=1))
