r"""The stationary density beside a given one.

Newton's method from the unknowns c_0 of the given density is in the basin of a zero that is
the only one near if its corrections shrink from the first on:

    |G_c(c_0)^-1 G(c_1)| <= |c_1 - c_0| / 4,     c_1 = c_0 - G_c(c_0)^-1 G(c_0)

(Newton & Kantorovich, in the affine-invariant form of Deuflhard, Newton Methods for
Nonlinear Problems, 2004, section 2.1: a contraction of 1/4 estimates the constant h of their
theorem, which holds up to h = 1/2, as 1/2.)

There is only one stationary density, however far, where the free energy is convex: in
descent, and in ascent for

    kappa > M sum (1 - e^{-2 beta}) / (2 beta),

as Var(b) <= max |b(x) - b(y)|^2 / 4 = (K(1) - K(-1)) / (2 beta) for b = sqrt(Lambda) B along
any unit vector, so that G_c is positive definite everywhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.branches.arclength import (
    Place,
    at_value,
    equation_at,
    least_squares,
)
from mfpde.branches.smooth import SmoothProblem
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Sphere, Zonal
from mfpde.measures.measure import Atoms, Density, Measure
from mfpde.measures.wasserstein import wasserstein
from mfpde.terms import Attention
from mfpde.terms.funk_hecke import band_limit

NEGLIGIBLE = 1e-14
LARGEST_CONTRACTION = 0.25
ROUNDING = 1e-12
FARTHEST = 0.1
SPHERE_SUPPORT = 500
MOST_ITERATIONS = 100
SHORTEST_SHARE = 1e-4


class Range(NamedTuple):
    """A parameter, and its values along the branch."""

    parameter: str
    values: FloatArray


def checked_density(equation: MeanFieldEquation, start: object) -> Density:
    """Return the density to start from; ``ValueError`` if it cannot be followed."""
    if isinstance(start, Measure) and not len(start.atoms):
        start = start.density
    if not isinstance(start, Density):
        what = "atoms" if isinstance(start, Atoms | Measure) else repr(start)
        raise ValueError(
            f"atoms: with diffusion {equation.diffusion:g} atoms dissolve at once, the "
            f"stationary states are smooth densities; give a Density for {what}, such as "
            "the end of a run, or uniform(Circle(512))"
        )
    if not isinstance(start.geometry, Circle | Sphere | Zonal):
        raise ValueError(
            f"atoms: a density on {start.geometry!r}; it must be on a Circle, a Sphere or "
            "a Zonal grid"
        )
    if equation.has_softmax:
        raise ValueError(
            "atoms: densities are followed for unnormalised attention only"
        )
    for term in equation.externals:
        term.check_dimension(start.dimension)
        if start.geometry.axis is not None:
            term.check_axis(start.geometry.axis)
        if term.layer is None or not term.is_gradient:
            raise ValueError(
                f"equation: {term!r}; densities are followed with perceptrons of scalar "
                "weights only"
            )
    return start


def smooth_problem(
    equation: MeanFieldEquation, density: Density, wanted: Range
) -> SmoothProblem:
    """Problem with enough harmonics for all values of the parameter."""
    values = wanted.values
    ends = [
        equation_at(equation, wanted.parameter, float(value))
        for value in (values[0], values[-1])
    ]
    degrees = [_needed(a, density) for end in ends for a in end.attentions]
    return SmoothProblem(
        equation=equation,
        parameter=wanted.parameter,
        geometry=density.geometry,
        mass=density.total_mass,
        degree=max(degrees, default=1),
        span=float(np.abs(values[-1] - values[0])),
    )


def _needed(attention: Attention, density: Density) -> int:
    """Degree that the interaction needs; ``ValueError`` if the grid is too coarse for it."""
    resolved = attention.band_limit(density.geometry)
    return min(resolved, band_limit(attention.beta, density.dimension, NEGLIGIBLE))


def smooth_start(problem: SmoothProblem, density: Density, value: float) -> Place:
    """Stationary density beside the given one.

    Raises
    ------
    ValueError
        If Newton's method finds none, or one that is not beside it.
    """
    start = Place(problem.coefficients(density, value), value)
    where = f"at {problem.parameter} = {value:g}"
    found = _damped(problem, start)
    if found is None:
        raise ValueError(
            "atoms: Newton's method finds no stationary density beside the one given, "
            f"{where}; let a run come to rest there first"
        )
    if _is_only_state(problem, value):
        return found
    contraction = _contraction(problem, start)
    distance = _distance(density, problem.density(found))
    if contraction > LARGEST_CONTRACTION or distance > FARTHEST:
        raise ValueError(
            f"atoms: no stationary density beside the one given, {where}: the one that "
            f"Newton's method goes to is at the distance W1 = {distance:.3g}, with "
            f"corrections that shrink by the factor {contraction:.2g} at first, and may "
            f"be another one; W1 must be at most {FARTHEST} and the factor at most "
            f"{LARGEST_CONTRACTION}; let a run come to rest there first"
        )
    return found


def _is_only_state(problem: SmoothProblem, value: float) -> bool:
    equation = problem.at(value)
    if equation.sign < 0:
        return True
    bound = sum(
        a.amplitude * (-np.expm1(-2 * a.beta) / (2 * a.beta) if a.beta else 1.0)
        for a in equation.attentions
    )
    return bool(equation.diffusion > problem.mass * bound)


def _contraction(problem: SmoothProblem, start: Place) -> float:
    """Ratio of the second simplified Newton correction to the first."""
    found = problem.linearised(start)
    first = least_squares(found.matrix, -found.residual)
    size = float(np.linalg.norm(first))
    if size <= ROUNDING:
        return 0.0
    there = problem.residual(Place(start.state + first, start.value))
    zeros = np.zeros(len(found.residual) - len(there))
    second = least_squares(found.matrix, -np.concatenate([there, zeros]))
    return float(np.linalg.norm(second)) / size


def _damped(problem: SmoothProblem, place: Place) -> Place | None:
    """Place found by Newton's method with steps cut so that |G| falls; None if there is none."""
    for _ in range(MOST_ITERATIONS):
        found = problem.linearised(place)
        size = float(np.linalg.norm(found.residual))
        if size <= ROUNDING:
            break
        step = least_squares(found.matrix, -found.residual)
        share = 1.0
        while share > SHORTEST_SHARE:
            tried = Place(place.state + share * step, place.value)
            if np.linalg.norm(problem.residual(tried)) < (1 - share / 4) * size:
                break
            share /= 2
        else:
            break
        place = tried
    return at_value(problem, place)


def _distance(given: Density, found: Density) -> float:
    """Wasserstein distance W1 (on a sphere between a few hundred points)."""
    support = SPHERE_SUPPORT if isinstance(given.geometry, Sphere) else None
    return wasserstein(given, found, order=1, support=support)
