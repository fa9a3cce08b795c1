r"""Five clusters on the circle that merge: t = 1e6 and 4e12 from a smooth start.

Ascent, attention without softmax, shifted kernel, beta = 25, from

    rho_0 = (1 + 0.3 cos(5 x + 0.3) + 0.1 sin 2 x) / (2 pi).

Five clusters form within t ~ 40 and meet one by one, at rates e^{-beta (1 - cos D)}.

1. Labels move by the Fourier series of the velocity.  The flow map steepens at separatrices,
   from which mass parts to two clusters, so that labels are nodes of the double exponential
   rule between neighbouring separatrices.  Followed backwards, these attract all that lies
   between two clusters; they are first found from evenly spread labels.
2. At t = 1200 every cluster is a point to rounding, and goes on as an atom with

       x_i' = sum_j m_j e^{-2 beta sin^2(D/2)} sin D,    D = x_j - x_i,

   by an implicit method.  Atoms nearer than ``MERGED`` become one at their centre of mass.
   (From D = 0.1 to 0.001 takes a time of 10 to 20, 1e-5 of the first merge time.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp
from scipy.special import ive

Array = NDArray[np.float64]

BETA, COLLAPSED, UNTIL, MERGED = 25.0, 1200.0, 8e12, 1e-3
EVEN, NODES, OUTERMOST = 300, 128, 2.7
"""Labels of the first run, then labels between separatrices, the last 1e-10 away from them."""
DEGREES = np.arange(57)
TURN = 2 * np.pi


def start_density(angles: Array) -> Array:
    """Density rho_0 per angle."""
    waves = 1 + 0.3 * np.cos(5 * angles + 0.3) + 0.1 * np.sin(2 * angles)
    return np.asarray(waves / TURN)


def velocity(at: Array, angles: Array, masses: Array) -> Array:
    """Velocity (n,) at ``at`` of labels, Re sum_k 2 i k e^-beta I_k(beta)/beta m_k e^{ikx}."""
    waves = np.vander(np.exp(1j * angles), len(DEGREES), increasing=True)
    series = 2j * DEGREES * ive(DEGREES, BETA) / BETA * (masses @ waves.conj())
    if at is not angles:
        waves = np.vander(np.exp(1j * at), len(DEGREES), increasing=True)
    return np.asarray((waves @ series).real)


def follow(angles: Array, masses: Array) -> Any:
    """Solution of labels up to the collapse, by Dormand-Prince of order 8."""
    return solve_ivp(
        lambda _, x: velocity(x, x, masses),
        (0.0, COLLAPSED),
        angles,
        method="DOP853",
        rtol=1e-11,
        atol=1e-12,
        dense_output=True,
    ).sol


def find_separatrices(path: Any, masses: Array) -> Array:
    """Where the middles of the gaps between clusters come from, within one turn."""
    ends = path(COLLAPSED)
    gaps = np.append(ends[1:], ends[0] + TURN) - ends
    back = solve_ivp(
        lambda t, x: velocity(x, path(t), masses),
        (COLLAPSED, 0.0),
        (ends + gaps / 2)[gaps > 0.1],
        method="DOP853",
        rtol=1e-12,
        atol=1e-13,
    )
    return np.sort(np.mod(back.y[:, -1], TURN))


def label_intervals(separatrices: Array) -> tuple[Array, Array]:
    """Labels and masses (k, ``NODES``) of the double exponential rule on k intervals."""
    t, step = np.linspace(-OUTERMOST, OUTERMOST, NODES, retstep=True)
    shares = 1 / (1 + np.exp(-np.pi * np.sinh(t)))
    lengths = np.diff(separatrices, append=separatrices[0] + TURN)[:, np.newaxis]
    angles = separatrices[:, np.newaxis] + lengths * shares
    # 1 - s of a share s is that of -t: it keeps its digits.
    weights = step * np.pi * np.cosh(t) * shares * shares[::-1]
    masses = start_density(angles) * lengths * weights
    return angles, masses / masses.sum()


def find_clusters() -> tuple[Array, Array]:
    """Centres and masses of the clusters at the collapse, in the order of angles."""
    angles = TURN * (np.arange(EVEN) + 0.5) / EVEN
    masses = start_density(angles) * TURN / EVEN
    for _ in range(2):
        path = follow(angles.ravel(), masses.ravel())
        separatrices = find_separatrices(path, masses.ravel())
        angles, masses = label_intervals(separatrices)
    ends = follow(angles.ravel(), masses.ravel())(COLLAPSED).reshape(masses.shape)
    return (ends * masses).sum(axis=1) / masses.sum(axis=1), masses.sum(axis=1)


def merges() -> list[tuple[float, float]]:
    """Time and mass of every merge up to ``UNTIL``."""
    (positions, masses), now, found = find_clusters(), COLLAPSED, []

    def gaps(x: Array) -> Array:
        return np.diff(x, append=x[0] + TURN)

    def pull(_time: float, x: Array) -> Array:
        between = x - x[:, np.newaxis]
        kernel = np.exp(-2 * BETA * np.sin(between / 2) ** 2)
        return np.asarray((kernel * np.sin(between)) @ masses)

    def closest(_time: float, x: Array) -> float:
        return float(np.log(np.abs(gaps(x)).min() / MERGED))

    closest.terminal = True  # type: ignore[attr-defined]
    kind = {"method": "Radau", "events": closest, "rtol": 1e-12, "atol": 1e-15}
    while len(masses) > 1:
        path = solve_ivp(pull, (now, UNTIL), positions, **kind)
        if not len(path.t_events[0]):
            break
        now, positions = float(path.t_events[0][0]), path.y_events[0][0]
        one = int(np.argmin(gaps(positions)))
        other = (one + 1) % len(masses)
        mass = masses[one] + masses[other]
        positions[one] += masses[other] / mass * gaps(positions)[one]
        masses[one] = mass
        found.append((now, float(mass)))
        masses, positions = np.delete(masses, other), np.delete(positions, other)
    return found
