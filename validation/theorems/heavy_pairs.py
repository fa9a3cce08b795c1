r"""Stable states of descent on the circle with a heavy pair of atoms, for Theorem 3.5.

Four atoms, at +-d/2 (masses M/2) and at +-y (masses (1 - M)/2), and one ReLU neuron of
weight -w at the angle 0, V = -w max(cos t, 0)^2/2.  At rest

    \sum_j m_j K'(t_i - t_j)/beta + V'(t_i) = 0,     i = d/2, y,

which is solved by Newton's method of the package and by scipy's from these formulas; the
Hessian is ``validation.circle_cases.atomic_hessian``.  And two atoms of mass 1/2 alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import fsolve

import mfpde
from mfpde import theory
from validation.circle_cases import (
    angles_of,
    atomic_hessian,
    kernel_on_circle,
    points_at,
)
from validation.claim import Quantity
from validation.stable_states import descent
from validation.theorems.witness import residual

Array = NDArray[np.float64]

WIDEST = 0.999
START = (0.3, 2.05)
"""M and y near which states are found."""
AT_REST, ROUNDING = 1e-13, 1e-12


def angles_and_masses(unknown: Array, mass: float) -> tuple[Array, Array]:
    """Of the four atoms, from d and y."""
    distance, away = unknown
    angles = np.array([-distance / 2, distance / 2, -away, away])
    return angles, np.array([mass, mass, 1 - mass, 1 - mass]) / 2


def slopes(unknown: Array, mass: float, *, beta: float, weight: float) -> list[float]:
    """F' at d/2 and at y."""
    angles, masses = angles_and_masses(unknown, mass)
    apart = angles[:, np.newaxis] - angles
    pull = -(kernel_on_circle(beta, apart) * np.sin(apart)) @ masses
    own = weight * np.maximum(np.cos(angles), 0) * np.sin(angles)
    return [float(pull[k] + own[k]) for k in (1, 3)]


def heaviest_by_formulas(beta: float, weight: float) -> tuple[float, float]:
    """Mass M and angle y of the state whose pair is ``WIDEST`` times theta_beta/2 apart.

    As M grows a pair opens out of one atom, and the distance grows with it: of those that
    are clusters this is the heaviest.
    """
    distance = WIDEST * theory.concavity_angle(beta) / 2

    def both(unknown: Array) -> list[float]:
        mass, away = unknown
        return slopes(np.array([distance, away]), mass, beta=beta, weight=weight)

    mass, away = fsolve(both, START, xtol=1e-13)
    return float(mass), float(away)


def pair_by_newton(beta: float, weight: float) -> tuple[float, float]:
    """The pair's distance over theta_beta/2 by the package, and its mass.

    The mass is nan if the state is not at rest and stable, and the pair a cluster, by the
    independent formulas.
    """
    mass, away = heaviest_by_formulas(beta, weight)
    widest = theory.concavity_angle(beta) / 2
    angles, masses = angles_and_masses(np.array([0.97 * widest, away + 0.02]), mass)
    neuron = mfpde.Perceptron([[1.0, 0.0]], [-weight])
    equation = descent(beta, neuron)
    end = mfpde.polish(equation, mfpde.Atoms(points_at(angles), masses), max_move=0.3)
    at = angles_of(end.atoms.points)
    distance = float(at[1] - at[0])
    least = np.linalg.eigvalsh(atomic_hessian(beta, (at, masses), neuron))[0]
    # Without the neuron all may turn at no cost: an eigenvalue 0.
    is_stable = residual(equation, end.atoms) <= AT_REST and least >= -1e-9
    held = float(end.atoms.masses[:2].sum())
    return distance / widest, held if is_stable and distance <= widest else np.nan


class ShiftedPair(NamedTuple):
    """Two atoms of mass 1/2 beside one neuron, their distance and least eigenvalue."""

    half: float
    least: float
    mass: float


def shifted_pair(beta: float, weight: float) -> ShiftedPair:
    """Newton's method from 1 % beside the closed form; mass 0 if it is no stable cluster."""
    equation = descent(beta, mfpde.Perceptron([[1.0, 0.0]], [-weight]))
    near = 1.01 * resting_half(beta, weight)
    end = mfpde.polish(equation, mfpde.Atoms(points_at(np.array([-near, near]))))
    half = float(np.abs(np.diff(angles_of(end.atoms.points)))[0]) / 2
    least = float(end.hessian_eigenvalues.min())
    at_rest = residual(equation, end.atoms) <= AT_REST
    is_cluster = at_rest and least > 0 and 2 * half <= theory.concavity_angle(beta) / 2
    return ShiftedPair(
        half, least, float(end.atoms.masses.sum()) if is_cluster else 0.0
    )


def resting_half(beta: float, weight: float) -> float:
    """Half of the pair's distance: e^{beta (cos 2t - 1)} = w."""
    return float(np.arccos(1 + np.log(weight) / beta) / 2)


def shifted_pair_rows(limit: float) -> list[Quantity]:
    """The two atoms of one ReLU neuron, shifted kernel: a stable cluster of mass 1."""
    beta, weight = 25.0, 0.9
    pair, half = shifted_pair(beta, weight), resting_half(beta, weight)
    # Common and relative mode: V'' = w cos 2t, and V'' + K''(2t)/beta.
    common = weight * np.cos(2 * half)
    bend = weight * (beta * np.sin(2 * half) ** 2 - np.cos(2 * half))
    name = "shifted kernel, |w| = 0.9, beta = 25: "
    return [
        Quantity(f"{name}half of the pair's distance", pair.half, half, ROUNDING),
        Quantity(
            f"{name}least eigenvalue of Hess E",
            pair.least,
            min(common, common + bend),
            1e-10,
        ),
        Quantity(
            f"{name}mass of the stable pair within theta_beta/2",
            pair.mass,
            limit,
            0.0,
            "at least",
            key="heavy",
            shows="condition",
        ),
    ]
