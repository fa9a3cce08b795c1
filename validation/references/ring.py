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

from collections.abc import Sequence

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
    """Angle of the resting ring from the neuron's axis; 0 if an atom rests there.

    Parameters
    ----------
    beta
        Inverse temperature, above 0.
    weight
        Weight w < 0 of the ReLU neuron.
    mass
        Mass m of the ring; other mass must be too far away to be felt.

    Raises
    ------
    ValueError
        If ``weight`` is not negative, or so weak that no ring rests in the open half.
    """
    if not weight < 0:
        raise ValueError(
            f"weight = {weight!r} must be below 0: descent then pulls to a"
        )
    if -weight >= mass:
        return 0.0
    if mass * (i0e(beta) - i1e(beta)) >= -weight:
        raise ValueError(
            f"weight = {weight!r} is too weak to hold a ring of mass {mass!r} at beta = "
            f"{beta!r}: |w| must be above {mass * (i0e(beta) - i1e(beta)):.3g}"
        )
    z = brentq(lambda x: mass * (i0e(x) - i1e(x)) + weight, 0.0, beta, xtol=1e-15)
    return float(np.arcsin(np.sqrt(z / beta)))


def rings_of_bump(width: float, nodes: int) -> tuple[Array, Array]:
    """Rings of a von Mises-Fisher bump of mass 1 around the axis.

    Its density is that of e^{kappa cos theta}, kappa = 1/width^2: ``width`` is the rms
    extent along each of the two tangent directions, the rms radius sqrt(2) times it.
    The mass is e^{-u} du, u = kappa (1 - cos theta); ``nodes`` Gauss-Legendre nodes stand in
    each of several panels, which shrink towards the axis: what lies there leaves last.
    """
    edges = np.concatenate(
        [[0.0], 4.0 ** np.arange(-18, 1), [2.0, 4.0, 7.0, 11.0, 18.0, 40.0]]
    )
    points, weights = np.polynomial.legendre.leggauss(nodes)
    lengths = np.diff(edges)[:, None]
    u = (edges[:-1, None] + lengths * (points + 1) / 2).ravel()
    masses = np.exp(-u) * (lengths * weights / 2).ravel()
    return 2 * np.arcsin(width * np.sqrt(u / 2)), masses


def opening(times: Sequence[float] = TIMES, *, nodes: int = 6) -> tuple[Array, Array]:
    """Follow a bump of mass 1 and width ``WIDTH`` around the axis.

    Returns
    -------
    angles (len(times), n) of its rings, and their masses (n,).
    """
    problem = Problem(BETA, -1, np.eye(3)[-1:], np.array([WEIGHT]), np.zeros(1))
    rings = Rings(3, *rings_of_bump(WIDTH, nodes))
    path = moved_rings(problem, rings, times, rtol=1e-11)
    return np.array([one.angles for one in path]), rings.masses


def rms_radii(angles: Array, masses: Array) -> Array:
    """Root mean square angle from the axis, for each row of ``angles``."""
    return np.asarray(np.sqrt(angles**2 @ masses / masses.sum()))
