r"""Five clusters on the circle that merge: t = 1e6 and 4e12 from a smooth start.

Ascent, attention without softmax, shifted kernel, beta = 25, from

    rho_0 = (1 + 0.3 cos(5 x + 0.3) + 0.1 sin 2 x) / (2 pi).

Five clusters form within t ~ 40 and meet one by one, at rates e^{-beta (1 - cos D)}.  A merge
time is the time at which the distance of two clusters falls below ``circle_atoms.MERGED``.  (From
distance 0.1 to 0.001 takes a time of 10 to 20, 1e-5 of the first merge time: quote the angle.)

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
from scipy.optimize import brentq
from scipy.special import ive

from mfpde.geometry.circle import field_at_points, moments_of_atoms, points_at

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

BETA = 25.0
COLLAPSED = 1200.0
SMALLEST_PANEL = 1e-13
LARGEST_PANEL = 0.1
EVEN = 1000


def start_density(angles: Array) -> Array:
    """Density rho_0 per angle."""
    waves = 1 + 0.3 * np.cos(5 * angles + 0.3) + 0.1 * np.sin(2 * angles)
    return np.asarray(waves / (2 * np.pi))


def velocity_series(angles: Array, masses: Array) -> Complex:
    """Fourier coefficients of the velocity, i k ive(k, beta) / beta times the moments."""
    k = np.arange(int(12 + 9 * np.sqrt(BETA)))
    moments = moments_of_atoms(points_at(angles), masses, len(k) - 1)
    return np.asarray(1j * k * ive(k, BETA) / BETA * moments)


def series_at(series: Complex, angles: Array) -> Array:
    """Real Fourier series at ``angles``."""
    return field_at_points(series, points_at(angles))[0]


@dataclass(frozen=True, eq=False)
class LabelRun:
    """Labels of ``masses`` (n,) followed to the collapse; their angles (n,) by time."""

    masses: Array
    path: OdeSolution

    def unstable_zeros(self, count: int = 4096) -> Array:
        """Angles where the final velocity passes from - to +, (k,)."""
        series = velocity_series(self.path(COLLAPSED), self.masses)
        edges = 2 * np.pi * (np.arange(count + 1) + 0.5) / count
        values = series_at(series, edges)

        def velocity(angle: float) -> float:
            return float(series_at(series, np.array([angle]))[0])

        upward = np.nonzero((values[:-1] < 0) & (values[1:] >= 0))[0]
        return np.array([brentq(velocity, *edges[k : k + 2]) for k in upward])

    def separatrices(self) -> Array:
        """Where the unstable zeros come from: followed backwards they attract."""
        back = solve_ivp(
            lambda t, x: series_at(velocity_series(self.path(t), self.masses), x),
            (COLLAPSED, 0.0),
            self.unstable_zeros(),
            method="DOP853",
            rtol=1e-12,
            atol=1e-13,
        )
        return np.sort(np.mod(back.y[:, -1], 2 * np.pi))

    def clusters(self) -> tuple[Array, Array]:
        """Centres and masses of what lies between neighbouring unstable zeros."""
        angles, zeros = self.path(COLLAPSED), np.sort(self.unstable_zeros())
        owner = np.searchsorted(zeros, np.mod(angles, 2 * np.pi)) % len(zeros)
        masses = np.bincount(owner, self.masses)
        # Means of offsets from one member: angles may lie on either side of a turn.
        first = np.array([angles[owner == k][0] for k in range(len(zeros))])
        offsets = np.angle(np.exp(1j * (angles - first[owner])))
        means = np.bincount(owner, self.masses * offsets) / masses
        centres = np.mod(first + means, 2 * np.pi)
        order = np.argsort(centres)
        return centres[order], masses[order]


def collapse(nodes: int) -> LabelRun:
    """Follow labels graded by a coarser graded run, itself graded by even labels."""
    angles = 2 * np.pi * (np.arange(EVEN) + 0.5) / EVEN
    run = follow(angles, start_density(angles) * (2 * np.pi / EVEN))
    for each in (min(nodes, 6), nodes):
        run = follow(*graded_labels(run.separatrices(), each))
    return run


def follow(angles: Array, masses: Array) -> LabelRun:
    """Move labels by Dormand-Prince of order 8 up to the collapse."""
    masses = masses / masses.sum()
    result = solve_ivp(
        lambda _, x: series_at(velocity_series(x, masses), x),
        (0.0, COLLAPSED),
        angles,
        method="DOP853",
        rtol=1e-11,
        atol=1e-12,
        dense_output=True,
    )
    return LabelRun(masses, result.sol)


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
