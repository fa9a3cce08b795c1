"""Follow a stationary state as a parameter of the equation changes, its masses frozen.

Steps are of arclength, so that folds are passed (``arclength.py``); they are as long as the
branch is straight.  Rates, own-mass split rates and the direction of the branch are
watched, and each change of sign is located by root finding along the branch (``events.py``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, choice, read_only
from mfpde.branches.arclength import (
    PARAMETERS,
    Problem,
    StateAt,
    check_values,
    equation_at,
)
from mfpde.branches.atomic import AtomicProblem
from mfpde.branches.result import Continuation
from mfpde.branches.smooth import SmoothProblem
from mfpde.branches.walk import Walk
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import Atoms, Density, Measure
from mfpde.stationary import polish
from mfpde.stationary.gibbs import check_density, needed_degree


def continuation(
    equation: MeanFieldEquation,
    start: Atoms | Density | Measure,
    parameter: str,
    values: ArrayLike,
    *,
    switch: bool = False,
) -> Continuation:
    """Follow a stationary state of atoms, their masses frozen, or of a density in a parameter.

    Without diffusion the state is of atoms whose masses stay those of the start: a minimiser
    of E, whose masses change with the parameter, leaves the branch at once and is followed by
    :func:`mfpde.follow_minimizer`.  Atoms are polished at the first
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
        beside a stationary one, W1 at most 0.1, on a Circle, a Sphere or a Zonal grid (cells
        must resolve the stationary state; on a Zonal grid stability is that against zonal
        changes).  Where there is only one stationary density (descent; large diffusion) it may
        be anywhere.
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
    numbers = check_values(equation, parameter, values)
    problem, place = _find_start(equation, start, parameter, numbers)
    ahead = problem.along_parameter(np.sign(numbers[1] - numbers[0]))
    walk = Walk(problem, problem.tangent(place, ahead), numbers, bool(switch), place)
    walk.run()
    return Continuation(
        equation=equation,
        parameter=parameter,
        values=read_only(np.array(walk.passed)),
        states=tuple(walk.states),
        events=tuple(walk.events),
        reason=walk.reason,
        is_complete=walk.is_complete,
        path=tuple(walk.path),
    )


def _find_start(
    equation: MeanFieldEquation, start: object, parameter: str, values: FloatArray
) -> tuple[Problem, StateAt]:
    """Return the problem of atoms or of densities, and the stationary state beside the start."""
    value, span = float(values[0]), float(np.abs(values[-1] - values[0]))
    first = equation_at(equation, parameter, value)
    if first.diffusion > 0:
        density = check_density(first, start, "start")
        last = equation_at(equation, parameter, float(values[-1]))
        degree = needed_degree([first, last], density)
        geometry, mass = density.geometry, density.total_mass
        smooth = SmoothProblem(equation, parameter, span, geometry, mass, degree)
        return smooth, smooth.find_start(density, value)
    if not isinstance(start, Atoms):
        raise ValueError(
            f"start = {start!r} must be Atoms: without diffusion the stationary states "
            "are atoms; a Density is followed with diffusion above 0"
        )
    polished = polish(first, start)
    if not polished.converged:
        raise ValueError(
            f"start: no stationary state beside these atoms at {parameter} = {value:g}; "
            f"{polished.message}"
        )
    points, masses = polished.atoms.points, np.array(polished.atoms.masses)
    atomic = AtomicProblem(equation, parameter, span, masses, points.shape[1])
    return atomic, StateAt(np.array(points).ravel(), value)
