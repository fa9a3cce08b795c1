r"""Follow a stationary state as a parameter of the equation changes.

Steps are of arclength, so that folds are passed (``arclength.py``); they are as long as the
branch is straight.  Rates, own-mass split rates and the direction of the branch are watched,
and each change of sign is located by root finding along the branch (``segment.py``); atoms
that meet go on as one (``junctions.py``), and a branch that meets one of more symmetry goes
on as that one (``pitchfork.py``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, choice, read_only, real_array
from mfpde.branches.arclength import (
    PARAMETERS,
    Direction,
    Place,
    check_parameter,
    equation_at,
    tangent,
)
from mfpde.branches.atomic import AtomicProblem
from mfpde.branches.result import Continuation
from mfpde.branches.segment import AnyProblem
from mfpde.branches.smooth_start import (
    Range,
    checked_density,
    smooth_problem,
    smooth_start,
)
from mfpde.branches.walk import Walk
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import Atoms, Density, Measure
from mfpde.stationary import polish

Start = Atoms | Density | Measure


def continuation(
    equation: MeanFieldEquation,
    atoms: Start,
    parameter: str,
    values: ArrayLike,
    *,
    switch: bool = False,
) -> Continuation:
    """Follow a stationary state in a parameter, through folds, and locate what happens.

    Without diffusion the state is of atoms with fixed masses.  It is polished at the first
    value, and followed to the last; each time that the branch passes one of the values it is
    recorded, polished.  With diffusion it is a smooth density on a grid, to be given for
    ``atoms``.  Events are located to 1e-8 of the parameter, mostly to rounding: see
    :class:`mfpde.BranchEvent`; those of a density have no points.  Rotations that leave
    the equation as it is are taken out.

    Where a branch of broken symmetry meets one of more symmetry (event ``"pitchfork"``; with
    attention alone the uniform state, at the critical diffusion) it would only come back as
    its own reflected or rotated copy.  The branch of more symmetry is followed from there,
    towards the last of ``values``.

    Parameters
    ----------
    equation
        The equation.
    atoms
        The start: atoms beside a stationary state at ``values[0]``; with diffusion a density
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
    wanted = _checked_values(parameter, values)
    first = equation_at(equation, parameter, float(wanted[0]))
    problem: AnyProblem
    if parameter == "diffusion" or first.diffusion > 0:
        density = checked_density(first, atoms)
        problem = smooth_problem(equation, density, Range(parameter, wanted))
        place = smooth_start(problem, density, float(wanted[0]))
    else:
        problem, place = _atomic_start(equation, atoms, Range(parameter, wanted))
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


def _checked_values(parameter: str, values: ArrayLike) -> FloatArray:
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
    return wanted


def _atomic_start(
    equation: MeanFieldEquation, start: object, where: Range
) -> tuple[AtomicProblem, Place]:
    parameter, wanted = where
    value = float(wanted[0])
    if not isinstance(start, Atoms):
        raise ValueError(
            f"atoms = {start!r} must be Atoms: without diffusion the stationary states are "
            "atoms; a Density is followed with diffusion above 0"
        )
    # Both ends of the range must be allowed.
    equation_at(equation, parameter, float(wanted[-1]))
    polished = polish(equation_at(equation, parameter, value), start)
    if not polished.converged:
        raise ValueError(
            f"atoms: no stationary state beside them at {parameter} = {value:g}; "
            f"{polished.message}"
        )
    atoms = polished.atoms
    problem = AtomicProblem(
        equation,
        parameter,
        np.array(atoms.masses),
        atoms.dimension,
        float(np.abs(wanted[-1] - value)),
    )
    return problem, Place(np.array(atoms.points).ravel(), value)
