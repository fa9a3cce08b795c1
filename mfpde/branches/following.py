r"""Follow a stationary state as a parameter of the equation changes.

Steps are of arclength, so that folds are passed (``arclength.py``); they are as long as the
branch is straight.  Rates, own-mass split rates and the direction of the branch are watched,
and each change of sign is located by root finding along the branch (``segment.py``); atoms
that meet go on as one (``atomic.py``), and a branch that meets one of more symmetry goes
on as that one (``walk.py``).

The start is a stationary state beside the given one.  For a density, Newton's method from its
unknowns c_0 is in the basin of a zero that is the only one near if its corrections shrink from
the first on:

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

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, choice, read_only, real_array
from mfpde.branches.arclength import (
    PARAMETERS,
    Problem,
    StateAt,
    at_value,
    check_parameter,
    equation_at,
    tangent,
)
from mfpde.branches.atomic import AtomicProblem
from mfpde.branches.linearised import Direction
from mfpde.branches.result import Continuation
from mfpde.branches.smooth import SmoothProblem
from mfpde.branches.walk import Walk
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import Atoms, Density, Measure
from mfpde.measures.wasserstein import network_simplex, wasserstein
from mfpde.stationary import polish
from mfpde.stationary.gibbs import check_density, needed_degree

BranchStart = Atoms | Density | Measure

LARGEST_CONTRACTION = 0.25
ROUNDING = 1e-12
FARTHEST = 0.1
SAME = 1e-10
"""A density this near, in W1, is the stationary one."""
SPHERE_SUPPORT = 500
MOST_ITERATIONS = 100
SHORTEST_SHARE = 1e-4


def continuation(
    equation: MeanFieldEquation,
    start: BranchStart,
    parameter: str,
    values: ArrayLike,
    *,
    switch: bool = False,
) -> Continuation:
    """Follow a stationary state of atoms, their masses frozen, or of a density in a parameter.

    Without diffusion the state is of atoms whose masses stay those of the start: a minimiser
    of E, whose masses change with the parameter, leaves the branch at once and is followed by
    one call of :func:`mfpde.minimize` for each value.  Atoms are polished at the first
    value, and followed to the last, through folds; each time that the branch passes one of the
    values it is recorded, polished.  With diffusion the state is a smooth density on a grid.
    Events are located to 1e-8 of the parameter, mostly to rounding: see
    :class:`mfpde.BranchEvent`; those of a density have no points.  Rotations that leave
    the equation as it is are taken out.

    Where a branch of broken symmetry meets one of more symmetry (event ``"pitchfork"``; with
    attention alone the uniform state, at the critical diffusion) it would only come back as
    its own reflected or rotated copy.  The branch of more symmetry is followed from there,
    towards the last of ``values``.

    Begin with
    ``continuation(equation, minimize(equation, Circle(256)).atoms, "weight_scale", [1.0, 0.95])``.

    Parameters
    ----------
    equation
        The equation.
    start
        Atoms beside a stationary state at ``values[0]``; with diffusion a density
        beside a stationary one, on a Circle, a Sphere or a Zonal grid (cells must resolve the
        stationary state; on a Zonal grid stability is that against zonal changes).  Beside
        means: W1 is at most 0.1 and Newton's method converges from the first step on, its
        second correction at most a quarter of the first.  Where there is only one
        stationary density (descent; large diffusion) it may be anywhere.
    parameter
        ``"beta"`` of the only attention; ``"weight_scale"``: the weights of all perceptrons
        are those of ``equation`` times it; ``"diffusion"``.
    values
        Where states are wanted, increasing or decreasing, at least two.
    switch
        At a loss of stability go over to the branch that begins there: where an atom splits,
        to two halves of its mass; where a motion of the state becomes unstable, to the states
        with that symmetry broken.  If several directions become unstable at once (``dimension``
        of the event), to one of the branches that begin.

    Returns
    -------
    Continuation
        ``print`` it for a table.

    Raises
    ------
    ValueError
        For atoms with diffusion, or a density without it; an unknown parameter, or one that
        the equation does not have; values that are not monotone or out of the parameter's
        range; with diffusion: softmax, vector weights, or another grid than those; no
        stationary state beside the start at the first value (the message says at what
        distance Newton's method finds one).
    """
    choice("parameter", parameter, PARAMETERS)
    check_parameter(equation, parameter)
    wanted = _checked_values(equation, parameter, values)
    value, span = float(wanted[0]), float(np.abs(wanted[-1] - wanted[0]))
    first = equation_at(equation, parameter, value)
    problem: Problem
    if parameter == "diffusion" or first.diffusion > 0:
        density = check_density(first, start, "start")
        last = equation_at(equation, parameter, float(wanted[-1]))
        problem = SmoothProblem(
            equation=equation,
            parameter=parameter,
            span=span,
            geometry=density.geometry,
            mass=density.total_mass,
            degree=needed_degree([first, last], density),
        )
        place = _smooth_start(problem, density, value)
    else:
        if not isinstance(start, Atoms):
            raise ValueError(
                f"start = {start!r} must be Atoms: without diffusion the stationary states "
                "are atoms; a Density is followed with diffusion above 0"
            )
        # Both ends of the range must be allowed.
        equation_at(equation, parameter, float(wanted[-1]))
        polished = polish(first, start)
        if not polished.converged:
            raise ValueError(
                f"start: no stationary state beside these atoms at {parameter} = {value:g}; "
                f"{polished.message}"
            )
        rest = polished.atoms
        masses = np.array(rest.masses)
        problem = AtomicProblem(equation, parameter, span, masses, rest.dimension)
        place = StateAt(np.array(rest.points).ravel(), value)
    ahead = Direction(np.zeros(len(place.state)), float(np.sign(wanted[1] - wanted[0])))
    walk = Walk(
        problem, place, tangent(problem, place, ahead), wanted, switch=bool(switch)
    )
    walk.run()
    record = walk.record
    return Continuation(
        equation=equation,
        parameter=parameter,
        values=read_only(np.array(record.values)),
        states=tuple(record.states),
        events=tuple(record.events),
        reason=walk.reason,
        is_complete=walk.is_complete,
        path=tuple(record.path),
    )


def _checked_values(
    equation: MeanFieldEquation, parameter: str, values: ArrayLike
) -> FloatArray:
    wanted = real_array("values", values)
    steps = np.diff(wanted) if wanted.ndim == 1 else np.zeros(0)
    if not (len(steps) and ((steps > 0).all() or (steps < 0).all())):
        raise ValueError(
            f"values of shape {wanted.shape} must be at least two numbers, increasing or "
            "decreasing"
        )
    if parameter == "diffusion" and wanted.min() <= 0:
        raise ValueError(
            f"values: the diffusion {wanted.min():g} must be above 0; without diffusion the "
            "stationary states are atoms, to be followed in beta or weight_scale"
        )
    for k in (0, -1):
        try:
            equation_at(equation, parameter, float(wanted[k]))
        except ValueError as error:
            raise ValueError(f"values[{k % len(wanted)}]: {error}") from error
    return wanted


def _smooth_start(problem: SmoothProblem, density: Density, value: float) -> StateAt:
    """Stationary density beside the given one.

    Raises
    ------
    ValueError
        If Newton's method finds none, or one that is not beside it.
    """
    # On a sphere W1 is that between a few hundred points.
    is_sphere = density.dimension > 2 and density.geometry.axis is None
    if is_sphere and not _is_only_state(problem, value):
        network_simplex()
    start = StateAt(problem.coefficients(density, value), value)
    where = f"at {problem.parameter} = {value:g}"
    found = _damped(problem, start)
    if found is None:
        raise ValueError(
            "start: Newton's method finds no stationary density beside the one given, "
            f"{where}; let a run come to rest there first"
        )
    if _is_only_state(problem, value):
        return found
    contraction = _contraction(problem, start)
    support = SPHERE_SUPPORT if is_sphere else None
    distance = wasserstein(density, problem.density(found), order=1, support=support)
    # Where nothing is left but rounding, its corrections do not shrink.
    is_other = contraction > LARGEST_CONTRACTION and distance > SAME
    if is_other or distance > FARTHEST:
        raise ValueError(
            f"start: no stationary density beside the one given, {where}: the one that "
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


def _contraction(problem: SmoothProblem, start: StateAt) -> float:
    """Ratio of the second simplified Newton correction to the first."""
    found = problem.linearised(start)
    first = found.solved(-found.residual)
    size = float(np.linalg.norm(first))
    if size <= ROUNDING:
        return 0.0
    there = problem.residual(StateAt(start.state + first, start.value))
    zeros = np.zeros(len(found.residual) - len(there))
    second = found.solved(-np.concatenate([there, zeros]))
    return float(np.linalg.norm(second)) / size


def _damped(problem: SmoothProblem, place: StateAt) -> StateAt | None:
    """Place found by Newton's method with steps cut so that |G| falls; None if there is none."""
    for _ in range(MOST_ITERATIONS):
        found = problem.linearised(place)
        size = float(np.linalg.norm(found.residual))
        if size <= ROUNDING:
            break
        step = found.solved(-found.residual)
        share = 1.0
        while share > SHORTEST_SHARE:
            tried = StateAt(place.state + share * step, place.value)
            if np.linalg.norm(problem.residual(tried)) < (1 - share / 4) * size:
                break
            share /= 2
        else:
            break
        place = tried
    return at_value(problem, place)
