r"""Five clusters on the circle that merge: t = 1e6 and 4e12 from a smooth start.

Ascent, attention without softmax, shifted kernel, beta = 25, from

    rho_0 = (1 + 0.3 cos(5 x + 0.3) + 0.1 sin 2 x) / (2 pi).

Five clusters form within t ~ 40 and meet one by one, at rates e^{-beta (1 - cos D)}.  A merge
time is the time at which the distance of two clusters falls below ``MERGED``.  (From distance 0.1
to 0.001 takes a time of 10 to 20, that is 1e-5 of the first merge time: quote the angle.)

1. Labels: mu_t = sum_i m_i delta(phi_t(x_i)) where x_i, m_i / rho_0(x_i) are the nodes and
   weights of Gauss-Legendre rules on panels.  The flow map phi_t steepens at separatrices,
   from which mass parts to two clusters, so that panels halve towards them, down to 1e-13.
   Where the separatrices start is found by following the unstable zeros of the final velocity
   backwards (where they attract), first in a run with evenly spread labels.
2. What is left between clusters decays at a rate of about 0.025; at t = 1200 every
   cluster is a point to rounding.
3. The clusters go on as atoms (``circle_atoms``).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import OdeSolution, solve_ivp
from scipy.special import ive

from mfpde.geometry.circle import field_at_points, moments_of_atoms, points_at

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

BETA = 25.0
COLLAPSED = 1200.0
SMALLEST_PANEL = 1e-13
LARGEST_PANEL = 0.1


def start_density(angles: Array) -> Array:
    """Density rho_0 per angle."""
    waves = 1 + 0.3 * np.cos(5 * angles + 0.3) + 0.1 * np.sin(2 * angles)
    return np.asarray(waves / (2 * np.pi))


# --- labels -----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LabelField:
    """Velocity of weighted points on S^1 from their moments."""

    masses: Array
    beta: float = BETA

    @property
    def slopes(self) -> Complex:
        """Factors i k ive(k, beta) / beta of the moments, down to rounding."""
        k = np.arange(int(12 + 9 * np.sqrt(self.beta)))
        return np.asarray(1j * k * ive(k, self.beta) / self.beta)

    def series(self, angles: Array) -> Complex:
        """Fourier coefficients of the velocity that points at ``angles`` make."""
        slopes = self.slopes
        moments = moments_of_atoms(points_at(angles), self.masses, len(slopes) - 1)
        return np.asarray(slopes * moments)

    def velocity(self, angles: Array) -> Array:
        """Velocity of the points themselves."""
        return series_at(self.series(angles), angles)


def series_at(series: Complex, angles: Array) -> Array:
    """Real Fourier series at ``angles``."""
    return field_at_points(series, points_at(angles))[0]


def graded_labels(separatrices: Array, nodes: int) -> tuple[Array, Array]:
    """Labels and masses on panels that halve towards the separatrices.

    Parameters
    ----------
    separatrices
        Increasing angles within one turn, (k,).
    nodes
        Gauss-Legendre nodes in each panel.
    """
    ends = np.append(separatrices, separatrices[0] + 2 * np.pi)
    panels = [_panels(a, b) for a, b in pairwise(ends)]
    lower, width = np.concatenate(panels, axis=1)
    points, weights = np.polynomial.legendre.leggauss(nodes)
    angles = (lower[:, None] + width[:, None] * (points + 1) / 2).ravel()
    return angles, start_density(angles) * (width[:, None] * weights / 2).ravel()


def _panels(begin: float, end: float) -> Array:
    """Lower ends and widths of panels, graded towards both ends of an interval."""
    half = (end - begin) / 2
    # Widths are formed before anything is added: differences of angles lose digits.
    levels = int(np.ceil(np.log2(half / SMALLEST_PANEL)))
    edges = np.append(half * 0.5 ** np.arange(levels), 0.0)
    parts = []
    for outer, inner in pairwise(edges):
        count = int(np.ceil((outer - inner) / LARGEST_PANEL))
        width = (outer - inner) / count
        low = inner + width * np.arange(count)
        parts.append(np.stack([begin + low, np.full(count, width)]))
        parts.append(np.stack([end - low - width, np.full(count, width)]))
    return np.concatenate(parts, axis=1)


@dataclass(frozen=True, eq=False)
class LabelRun:
    """Labels followed to the collapse."""

    field: LabelField
    path: OdeSolution
    end: float

    @property
    def final(self) -> Array:
        """Angles at the end."""
        return self.path(self.end)

    def unstable_zeros(self, count: int = 4096) -> Array:
        """Angles where the final velocity passes from - to +, (k,)."""
        series = self.field.series(self.final)
        grid = 2 * np.pi * (np.arange(count) + 0.5) / count
        values = series_at(series, grid)
        before = np.nonzero((values < 0) & (np.roll(values, -1) >= 0))[0]
        low, high = grid[before], grid[before] + 2 * np.pi / count
        for _ in range(60):
            middle = (low + high) / 2
            negative = series_at(series, middle) < 0
            low, high = (
                np.where(negative, middle, low),
                np.where(negative, high, middle),
            )
        return np.asarray(low)

    def separatrices(self) -> Array:
        """Where the unstable zeros come from: followed backwards they attract."""
        back = solve_ivp(
            lambda t, x: series_at(self.field.series(self.path(t)), x),
            (self.end, 0.0),
            self.unstable_zeros(),
            method="DOP853",
            rtol=1e-12,
            atol=1e-13,
        )
        return np.sort(np.mod(back.y[:, -1], 2 * np.pi))

    def clusters(self, at: float | None = None) -> tuple[Array, Array]:
        """Centres and masses of what lies between neighbouring unstable zeros."""
        angles = self.final if at is None else self.path(at)
        zeros = np.sort(self.unstable_zeros())
        owner = np.searchsorted(zeros, np.mod(self.final, 2 * np.pi)) % len(zeros)
        masses = np.bincount(owner, self.field.masses)
        # Means of offsets from one member: angles may lie on either side of a turn.
        first = np.array([angles[owner == k][0] for k in range(len(zeros))])
        offsets = np.angle(np.exp(1j * (angles - first[owner])))
        means = np.bincount(owner, self.field.masses * offsets) / masses
        order = np.argsort(np.mod(first + means, 2 * np.pi))
        return np.mod(first + means, 2 * np.pi)[order], masses[order]


def follow(
    labels: tuple[Array, Array], end: float = COLLAPSED, *, rtol: float = 1e-11
) -> LabelRun:
    """Move labels (angles, masses) by Dormand-Prince of order 8 up to ``end``."""
    angles, masses = labels
    field = LabelField(masses / masses.sum())
    result = solve_ivp(
        lambda _, x: field.velocity(x),
        (0.0, end),
        angles,
        method="DOP853",
        rtol=rtol,
        atol=rtol / 10,
        dense_output=True,
    )
    return LabelRun(field, result.sol, end)


def even_labels(count: int) -> tuple[Array, Array]:
    """Evenly spread labels and their masses."""
    angles = 2 * np.pi * (np.arange(count) + 0.5) / count
    return angles, start_density(angles) * (2 * np.pi / count)


def collapse(
    nodes: int = 12, *, end: float = COLLAPSED, rtol: float = 1e-11
) -> LabelRun:
    """Follow labels graded by a coarser graded run, itself graded by even labels."""
    run = follow(even_labels(1000), end, rtol=rtol)
    for each in (min(nodes, 6), nodes):
        run = follow(graded_labels(run.separatrices(), each), end, rtol=rtol)
    return run
