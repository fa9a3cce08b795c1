r"""Atoms on the circle that attract each other and merge, through decades of time.

Ascent, attention without softmax, shifted kernel: with D = x_j - x_i

    x_i' = sum_j m_j e^{-2 beta sin^2(D/2)} sin D,

a stiff ordinary differential equation (Radau, analytic Jacobian).  The exponent is not formed as
beta (cos D - 1), so that forces keep their digits near D = 0.  A merge time is the time at which
the distance of two neighbours falls below a given angle; the two are then one atom, at their
centre of mass.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import solve_ivp

Array = NDArray[np.float64]

MERGED, UNTIL = 1e-3, 1e14
"""Angle below which two atoms become one at their centre of mass, and the last time."""


@dataclass(frozen=True, eq=False)
class Merge:
    """Two neighbouring clusters, numbered as they started, become one."""

    time: float
    members: tuple[tuple[int, ...], tuple[int, ...]]
    position: float
    mass: float


def merges(
    positions: Array, masses: Array, *, beta: float, start: float = 0.0
) -> list[Merge]:
    """Every merge of atoms on S^1 in ascent up to the time ``UNTIL``.

    Parameters
    ----------
    positions, masses
        Of the atoms, in the order of their angles within one turn, (n,).
    start
        Time of the positions.
    """
    found: list[Merge] = []
    names: list[tuple[int, ...]] = [(k,) for k in range(len(masses))]
    now = start
    while len(masses) > 1 and now < UNTIL:
        result = solve_ivp(
            lambda _, x, m=masses: atom_velocity(x, m, beta),
            (now, UNTIL),
            positions,
            method="Radau",
            jac=lambda _, x, m=masses: atom_jacobian(x, m, beta),
            events=_closest_pair,
            rtol=1e-12,
            atol=1e-15,
        )
        if not len(result.t_events[0]):
            break
        now, positions = float(result.t_events[0][0]), result.y_events[0][0]
        one = int(np.argmin(_gaps(positions)))
        other = (one + 1) % len(masses)
        mass = masses[one] + masses[other]
        positions[one] += masses[other] / mass * _gaps(positions)[one]
        found.append(Merge(now, (names[one], names[other]), positions[one], mass))
        names[one] += names[other]
        masses = np.delete(np.where(np.arange(len(masses)) == one, mass, masses), other)
        positions = np.delete(positions, other)
        del names[other]
    return found


def atom_velocity(positions: Array, masses: Array, beta: float) -> Array:
    """Velocity sum_j m_j e^{-2 beta sin^2(D/2)} sin D, D = x_j - x_i."""
    between = positions[None, :] - positions[:, None]
    kernel = np.exp(-2 * beta * np.sin(between / 2) ** 2)
    return np.asarray((kernel * np.sin(between)) @ masses)


def atom_jacobian(positions: Array, masses: Array, beta: float) -> Array:
    """Matrix of derivatives of :func:`atom_velocity`."""
    between = positions[None, :] - positions[:, None]
    kernel = np.exp(-2 * beta * np.sin(between / 2) ** 2)
    matrix = kernel * (np.cos(between) - beta * np.sin(between) ** 2) * masses
    np.fill_diagonal(matrix, 0.0)
    np.fill_diagonal(matrix, -matrix.sum(axis=1))
    return np.asarray(matrix)


def _gaps(positions: Array) -> Array:
    """Angle from each atom to the next one around the circle."""
    return np.append(np.diff(positions), positions[0] + 2 * np.pi - positions[-1])


def _closest_pair(_time: float, positions: Array) -> float:
    """Zero where two atoms become one."""
    return float(np.log(np.abs(_gaps(positions)).min() / MERGED))


_closest_pair.terminal = True  # type: ignore[attr-defined]
