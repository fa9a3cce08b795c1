r"""Stable states of descent on the circle with a heavy pair of atoms, for Theorem 3.5.

Four atoms, at +-d/2 (masses M/2) and at +-y (masses (1 - M)/2), and one ReLU neuron of
weight -w at the angle 0, V = -w max(cos t, 0)^2/2.  At rest

    \sum_j m_j K'(t_i - t_j)/beta + V'(t_i) = 0,     i = d/2, y,

which is solved by Newton's method of the package and by scipy's from these formulas; the
Hessian is ``validation.circle_cases.atomic_hessian``.  And two atoms of mass 1/2 alone.
"""

from __future__ import annotations

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
from validation.claim import Quantity, at_least, equal
from validation.stable_states import descent
from validation.theorems.witness import residual

Array = NDArray[np.float64]

WIDEST = 0.999
START = (0.3, 2.05)
"""M and y near which states are found."""
AT_REST, ROUNDING = 1e-13, 1e-12


def angles_and_masses(distance: float, away: float, mass: float) -> tuple[Array, Array]:
    """Of the four atoms, from d, y and M."""
    angles = np.array([-distance / 2, distance / 2, -away, away])
    return angles, np.array([mass, mass, 1 - mass, 1 - mass]) / 2


def pulled_by(weight: float) -> mfpde.Perceptron:
    """One ReLU neuron of weight -w at the angle 0."""
    return mfpde.Perceptron([[1.0, 0.0]], [-weight])


def heaviest_by_formulas(beta: float, weight: float) -> tuple[float, float]:
    """Mass M and angle y of the state whose pair is ``WIDEST`` times theta_beta/2 apart.

    As M grows a pair opens out of one atom, and the distance grows with it: of those that
    are clusters this is the heaviest.
    """
    distance = WIDEST * theory.concavity_angle(beta) / 2

    def slopes(unknown: Array) -> Array:
        """F' at d/2 and at y."""
        mass, away = unknown
        angles, masses = angles_and_masses(distance, away, mass)
        apart = angles[:, np.newaxis] - angles
        pull = -(kernel_on_circle(beta, apart) * np.sin(apart)) @ masses
        return (pull + weight * np.maximum(np.cos(angles), 0) * np.sin(angles))[[1, 3]]

    mass, away = fsolve(slopes, START, xtol=1e-13)
    return float(mass), float(away)


def pair_by_newton(beta: float, weight: float) -> tuple[float, float]:
    """The pair's distance over theta_beta/2 by the package, and its mass.

    The mass is nan if the state is not at rest and stable, and the pair a cluster, by the
    independent formulas.
    """
    mass, away = heaviest_by_formulas(beta, weight)
    widest = theory.concavity_angle(beta) / 2
    angles, masses = angles_and_masses(0.97 * widest, away + 0.02, mass)
    neuron = pulled_by(weight)
    equation = descent(beta, neuron)
    end = mfpde.polish(equation, mfpde.Atoms(points_at(angles), masses), max_move=0.3)
    at = angles_of(end.atoms.points)
    distance = float(at[1] - at[0])
    least = np.linalg.eigvalsh(atomic_hessian(beta, (at, masses), neuron))[0]
    # Without the neuron all may turn at no cost: an eigenvalue 0.
    is_stable = residual(equation, end.atoms) <= AT_REST and least >= -1e-9
    held = float(end.atoms.masses[:2].sum())
    return distance / widest, held if is_stable and distance <= widest else np.nan


def rows_of_shifted_pair(limit: float) -> list[Quantity]:
    """Two atoms of mass 1/2 beside one ReLU neuron: a stable cluster of mass 1.

    Half of their distance is t with e^{beta (cos 2t - 1)} = w; Newton's method starts from
    1 % beside it.  The mass is 0 if they are no stable cluster.
    """
    beta, weight = 25.0, 0.9
    exact = float(np.arccos(1 + np.log(weight) / beta) / 2)
    equation = descent(beta, pulled_by(weight))
    near = points_at(1.01 * exact * np.array([-1, 1]))
    end = mfpde.polish(equation, mfpde.Atoms(near))
    half = float(np.abs(np.diff(angles_of(end.atoms.points)))[0]) / 2
    least = end.hessian_eigenvalues.min()
    is_stable = residual(equation, end.atoms) <= AT_REST and least > 0
    is_cluster = is_stable and 2 * half <= theory.concavity_angle(beta) / 2
    # Common and relative mode: V'' = w cos 2t, and V'' + K''(2t)/beta.
    common = weight * np.cos(2 * exact)
    bend = weight * (beta * np.sin(2 * exact) ** 2 - np.cos(2 * exact))
    name = "shifted kernel, |w| = 0.9, beta = 25: "
    mass = end.atoms.masses.sum() if is_cluster else 0.0
    shown = {"key": "heavy", "shows": "condition"}
    return [
        equal(f"{name}half of the pair's distance", half, exact, ROUNDING),
        equal(
            f"{name}least eigenvalue of Hess E",
            least,
            min(common, common + bend),
            1e-10,
        ),
        at_least(
            f"{name}mass of the stable pair within theta_beta/2", mass, limit, **shown
        ),
    ]
