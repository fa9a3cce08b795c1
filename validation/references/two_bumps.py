r"""Two bumps on the sphere that attract each other and merge.

Attention in ascent, shifted kernel, from a density of two von Mises-Fisher bumps,

    f(x) = sum_b p_b kappa / (2 pi (1 - e^{-2 kappa})) e^{kappa (x.c_b - 1)},

kappa = 1 / sigma^2, with centres at the angle D from each other.  Each bump becomes
a point long before they meet.  The reference time is that at which the angle between the centres
of mass (mean vectors, normalised) of the two bumps falls below a threshold.

Quadrature: around c_b the measure is e^{-u} du dphi / 2 pi with u = kappa (1 - x.c_b), so
that Gauss-Laguerre nodes in u times equally spaced phi integrate all low polynomials
exactly.  The nodes then move as weighted points, by the direct sums of
``validation.independent``.  The times do not depend on a rotation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from validation.circle_cases import points_at
from validation.independent import Problem, gradient
from validation.sphere_cases import von_mises

Array = NDArray[np.float64]


class TwoBumps(NamedTuple):
    """Inverse temperature, masses of sum 1, angle D between the centres, width sigma."""

    beta: float
    shares: tuple[float, float]
    distance: float
    width: float
    softmax: bool = False


CASES = {
    "equal": TwoBumps(8.0, (0.5, 0.5), 1.2, 0.1),
    "tidal softmax": TwoBumps(8.0, (0.7, 0.3), 1.2, 0.1, softmax=True),
    "sharp": TwoBumps(32.0, (0.6, 0.4), 0.7, 0.07),
    "sharp softmax": TwoBumps(32.0, (0.6, 0.4), 0.7, 0.07, softmax=True),
}
THRESHOLDS = (0.5, 0.3, 0.1)


def start_density(case: TwoBumps, rotation: Array) -> Callable[[Array], Array]:
    """Density per area of unit vectors (..., 3); ``rotation`` turns the centres."""
    angles = case.distance / 2 * np.array([-1.0, 1.0])
    centres = np.pad(points_at(angles), ((0, 0), (0, 1))) @ np.asarray(rotation).T

    def density(points: Array) -> Array:
        bumps = [von_mises(points, centre, case.width**-2) for centre in centres]
        return np.tensordot(case.shares, bumps, axes=1)

    return density


def labels(case: TwoBumps, *, rings: int, around: int) -> tuple[Array, Array]:
    """Quadrature points (2 rings around, 3), first bump first, and their masses."""
    u, weights = np.polynomial.laguerre.laggauss(rings)
    closed = u * case.width**2
    sine = np.sqrt(closed * (2 - closed))
    phi = 2 * np.pi * (np.arange(around) + 0.5) / around
    across = sine[:, None, None] * np.stack([np.cos(phi), np.sin(phi)], axis=1)
    along = np.broadcast_to(1 - closed[:, None, None], (rings, around, 1))
    local = np.concatenate([along, across], axis=2).reshape(-1, 3)
    half = case.distance / 2
    turns = Rotation.from_rotvec([[0.0, 0.0, -half], [0.0, 0.0, half]])
    points = np.concatenate([turn.apply(local) for turn in turns])
    return points, np.kron(case.shares, np.repeat(weights, around) / around)


def angle_between(one: Array, other: Array) -> float:
    """Angle between two vectors, accurate for all angles."""
    return float(np.arctan2(np.linalg.norm(np.cross(one, other)), one @ other))


def separation_times(
    case: TwoBumps, *, rings: int = 10, around: int = 16, rtol: float = 1e-10
) -> Array:
    """Times at which the separation falls below each of ``THRESHOLDS``.

    Each bump has ``rings`` quadrature nodes away from its centre, ``around`` around it.
    """
    points, masses = labels(case, rings=rings, around=around)
    problem, half = Problem(case.beta, normalized=case.softmax), len(masses) // 2

    def velocity(_time: float, flat: Array) -> Array:
        moving = flat.reshape(-1, 3)
        units = moving / np.linalg.norm(moving, axis=1, keepdims=True)
        return gradient(problem, units, masses, at=units).ravel()

    def passing(threshold: float) -> Callable[[float, Array], float]:
        def event(_time: float, flat: Array) -> float:
            one, other = (masses.reshape(2, 1, half) @ flat.reshape(2, half, 3))[:, 0]
            return float(np.log(angle_between(one, other) / threshold))

        return event

    events = [passing(threshold) for threshold in THRESHOLDS]
    events[-1].terminal = True  # type: ignore[attr-defined]
    result = solve_ivp(
        velocity,
        (0.0, np.inf),
        points.ravel(),
        method="DOP853",
        events=events,
        rtol=rtol,
        atol=rtol / 10,
    )
    return np.array([times[0] for times in result.t_events])
