r"""An atom that opens into a ring on the sphere, and the ring's angle in closed form.

Descent, shifted kernel without softmax, one ReLU neuron a of weight w < 0: it pulls the
active half towards a, V = w cos^2(theta) / 2 at the angle theta from a, while mass repels
mass.  A ring of mass m at the angle t has, with z = beta sin(theta) sin(t),

    A(theta) = (m / beta) e^{beta (cos theta cos t - 1)} I_0(z)

(integral of the kernel over the azimuth).  With I_ne(z) = e^{-z} I_n(z), at its own angle
A' = -m sin t cos t (I_0e - I_1e)(beta sin^2 t), and V' = -w sin t cos t, so that it
rests (t < pi/2) where

    m (I_0e - I_1e)(beta sin^2 t) = |w|.

I_0e - I_1e falls from 1 at 0: there is exactly one such ring if |w| < m and t < pi/2, and else
an atom at a.  Near a an atom's width grows at the rate m - |w|.

A start that is symmetric around a stays so: rings, moved by ``validation.characteristics``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import i0e, i1e

from validation.characteristics import Rings, moved_rings
from validation.independent import Problem

Array = NDArray[np.float64]

BETA, WEIGHT = 20.0, -0.3
WIDTH = 0.5 * np.pi / 64
TIMES = (2.0, 4.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 40.0, 60.0)


def ring_angle(beta: float, weight: float, mass: float = 1.0) -> float:
    """Angle of the resting ring of ``mass`` from the axis of a neuron of ``weight`` < 0.

    It is 0 if an atom rests there; other mass must be too far away to be felt.
    """
    if -weight >= mass:
        return 0.0
    z = brentq(lambda x: mass * (i0e(x) - i1e(x)) + weight, 0.0, beta, xtol=1e-15)
    return float(np.arcsin(np.sqrt(z / beta)))


def rings_of_bump() -> Rings:
    """Rings of a von Mises-Fisher bump of mass 1 and rms extent ``WIDTH`` around the axis.

    The mass is e^{-u} du, u = (1 - cos theta) / WIDTH^2; six Gauss-Legendre nodes stand in
    each of several panels, which shrink towards the axis: what lies there leaves last.
    """
    outer = [1.0, 2.0, 4.0, 7.0, 11.0, 18.0, 40.0]
    edges = np.concatenate([[0.0], 4.0 ** np.arange(-18, 0), outer])
    points, weights = np.polynomial.legendre.leggauss(6)
    lengths = np.diff(edges)[:, np.newaxis]
    u = (edges[:-1, np.newaxis] + lengths * (points + 1) / 2).ravel()
    masses = np.exp(-u) * (lengths * weights / 2).ravel()
    return Rings(3, 2 * np.arcsin(WIDTH * np.sqrt(u / 2)), masses)


def opening_radii() -> Array:
    """Root mean square angles from the axis at ``TIMES`` of the bump."""
    problem = Problem(BETA, -1, np.eye(3)[-1:], np.array([WEIGHT]), np.zeros(1))
    rings = rings_of_bump()
    path = moved_rings(problem, rings, TIMES, rtol=1e-11)
    squares = np.array([one.angles**2 @ rings.masses for one in path])
    return np.asarray(np.sqrt(squares / rings.masses.sum()))
