r"""Polish atoms to a stationary state and say whether it is stable.

    v(x_i) = s grad F(x_i) = 0    at every atom, masses fixed (paper, eq. 2.2)

by Newton's method, then the spectrum of the Wasserstein Hessian (paper, eqs. 2.3, 2.4) and
the splitting test (``result.py``).  With D the derivative of grad F by the positions,

    D u = -grad F,   x_i <- Exp_{x_i}(t u_i),   t <= 1

1. The equations of atom i are divided by the size of the contributions to its velocity, so
   that weakly coupled atoms are placed as well as strongly coupled ones.
2. u is the least-squares solution that leaves alone the rotations of the equation, and what
   changes nothing at relative size 1e-12 (1.5e-8 where second derivatives are differences).
3. t keeps each step within half of what an atom may move in all, and is halved until the
   scaled residual falls; where it falls no further, or an atom has moved too far, the end is.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import lstsq
from scipy.spatial import cKDTree

from mfpde.arrays import FloatArray, real_number, shown
from mfpde.detection import ConcentratedRegion
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.arcs import distances, geodesic_moves, tangent_frames
from mfpde.measures.measure import Atoms
from mfpde.stationary.derivatives import FieldDerivatives
from mfpde.stationary.field_minima import unite_neighbours
from mfpde.stationary.result import PolishedAtoms, linear_rates
from mfpde.stationary.symmetry import (
    INDEPENDENT,
    rotation_modes,
    turning_field,
)
from mfpde.terms import PointMasses

TOLERANCE = 1e-14
LARGEST_SYSTEM = 4000
REACH = 0.25
"""Share of the nearest distance and of 1/sqrt(beta) that an atom may move."""
MOST_ITERATIONS = 60
NEGLIGIBLE = 1e-12
"""Singular values, rates and speeds below this share of the largest are rounding."""


def polish(
    equation: MeanFieldEquation,
    atoms: Atoms | Sequence[ConcentratedRegion],
    *,
    max_move: float | None = None,
    merge_within: float = 1e-8,
) -> PolishedAtoms:
    """Move atoms to the stationary state beside them, to rounding, and test its stability.

    Newton's method on the positions on S^(d-1), any d >= 2, with fixed masses.  It finds
    the state that is near, stable or not; it does not follow the flow.  Without an energy
    (general matrices, vector weights) it may be a relative equilibrium, which turns with an
    angular velocity Omega that leaves the equation as it is: v(x_i) = Omega x_i.  Second
    derivatives are analytic, except for a :class:`Potential` and a user's activation (central
    differences).  Time grows with the cube of n (d - 1).

    Parameters
    ----------
    equation
        The equation, without diffusion.
    atoms
        The start: atoms, or what ``concentration(...).clusters`` found, atoms and those
        forming, with the masses of their basins.  Mass that is not in these atoms is left
        out of the equation.
    max_move
        How far an atom may move, in radians.  By default a quarter of the distance to its
        nearest neighbour, at most 1/(4 sqrt(max(beta, 1))).
    merge_within
        Atoms up to this distance from a heavier one are united with it first, at their mean:
        raise it for particles that have gathered in clusters, which lie about 1e-6 apart at
        the default ``rtol`` of :func:`solve_particles`.

    Returns
    -------
    PolishedAtoms
        ``print`` it for a table.  If Newton's method does not reach a relative residual of
        1e-14, or an atom moves further than it may, ``converged`` is False, ``message``
        says why, the atoms are those at its end and no stability is claimed.

    Raises
    ------
    ValueError
        For no atoms, rings, diffusion, another dimension than the equation's, bounds that
        are not positive, or more than 4000 coordinates n (d - 1).
    """
    given = _as_atoms(atoms)
    real_number("merge_within", merge_within, at_least=0.0, at_most=1 / 2)
    if equation.diffusion > 0:
        raise ValueError(
            f"diffusion = {equation.diffusion:g}: atoms dissolve at once, none is "
            "stationary; use an equation without diffusion"
        )
    for term in equation.externals:
        term.check_dimension(given.dimension)
    pieces = PointMasses(given.points, given.masses)
    start = Atoms(*unite_neighbours(pieces, merge_within))
    coordinates = len(start) * (start.dimension - 1)
    if coordinates > LARGEST_SYSTEM:
        raise ValueError(
            f"atoms: {len(start)} atoms have {coordinates} coordinates, at most "
            f"{LARGEST_SYSTEM} are possible; if they have gathered in clusters, "
            f"unite these by a larger merge_within (now {merge_within:g})"
        )
    reach = _reach(equation, start, max_move)
    layers = [term.layer for term in equation.externals]
    is_exact = all(one and one.activation.derivative for one in layers)
    negligible = NEGLIGIBLE if is_exact else INDEPENDENT
    points, field, rotation, iterations = _find_zero(equation, start, reach, negligible)
    speeds = np.linalg.norm(field.gradient, axis=1)
    relative = float((speeds / field.scales).max())
    moves = distances(start.points, points)
    modes = rotation_modes(equation, points)
    shifts, splits = linear_rates(equation, field, start.masses, modes=modes)
    largest = max(float(field.scales.max()), float(np.abs(splits).max()))
    turns = float(np.linalg.norm(rotation, 2))
    speed = turns if turns > NEGLIGIBLE * largest else 0.0
    return PolishedAtoms(
        equation=equation,
        atoms=Atoms(points, start.masses),
        converged=relative <= TOLERANCE and bool((moves <= reach).all()),
        message=_message(moves, reach, relative, speed),
        residual=float(speeds.max()),
        relative_residual=relative,
        iterations=iterations,
        moved=float(moves.max()),
        merged=len(given) - len(start),
        shift_rates=shifts,
        split_rates=splits,
        symmetry_dimension=modes.shape[1],
        rounding=negligible * largest,
        angular_velocity=equation.sign * rotation,
    )


def _as_atoms(atoms: Atoms | Sequence[ConcentratedRegion]) -> Atoms:
    given: object = atoms
    if not isinstance(given, Atoms):
        if not isinstance(given, Sequence) or not all(
            isinstance(region, ConcentratedRegion) for region in given
        ):
            raise ValueError(
                f"atoms = {shown(given)} must be Atoms, or the clusters of a concentration "
                "report: polish(equation, concentration(measure, equation).clusters)"
            )
        other = [r.kind for r in given if r.kind not in ("atom", "forming")]
        if other:
            raise ValueError(
                f"atoms: a region of kind {other[0]!r} is no atom; polish moves points only"
            )
        places = [region.position for region in given] or np.empty((0, 2))
        given = Atoms(places, [region.mass for region in given])
    if len(given) == 0:
        raise ValueError("atoms: there are none; at least one is needed")
    return given


def _reach(
    equation: MeanFieldEquation, atoms: Atoms, max_move: float | None
) -> FloatArray:
    count = len(atoms)
    if max_move is not None:
        # No two points are further apart than pi.
        return np.full(count, min(real_number("max_move", max_move, above=0.0), np.pi))
    reach = np.full(count, REACH / np.sqrt(max(equation.sharpness, 1.0)))
    if count == 1:
        return reach
    chords, _ = cKDTree(atoms.points).query(atoms.points, k=2)
    return np.asarray(np.minimum(reach, REACH * chords[:, 1]))


def _find_zero(
    equation: MeanFieldEquation, start: Atoms, reach: FloatArray, negligible: float
) -> tuple[FloatArray, FieldDerivatives, FloatArray, int]:
    """Move atoms to a zero of the velocity, each by at most ``reach`` (n,), in radians.

    Returns the points (n, d), the field there, Omega of a state that turns and the number of
    iterations; what is ``negligible`` beside the largest singular value is left alone.
    """
    points, iterations = start.points, 0
    field, rotation = turning_field(equation, points, start.masses)
    while iterations < MOST_ITERATIONS:
        frames, scales = tangent_frames(points), field.scales[:, np.newaxis]
        modes = rotation_modes(equation, points)
        step = _newton_step(field, modes, negligible)
        lengths = np.linalg.norm(step, axis=1)
        allowed = reach / np.maximum(2 * lengths, np.finfo(float).tiny)
        share = min(1.0, float(allowed.min()))
        before = np.linalg.norm(field.gradient / scales)
        while share * lengths.max() > np.finfo(float).eps:
            candidate = geodesic_moves(points, frames, share * step)
            there, turned = turning_field(equation, candidate, start.masses)
            # Where forces are e^-700 a step can change them beyond what a ratio can hold.
            with np.errstate(over="ignore"):
                merit = np.linalg.norm(there.gradient / scales)
            if merit < (1 - share / 4) * before:
                break
            share /= 2
        else:
            break
        points, field, rotation = candidate, there, turned
        iterations += 1
        if (distances(start.points, points) > reach).any():
            break
    return points, field, rotation, iterations


def _newton_step(
    field: FieldDerivatives, modes: FloatArray, negligible: float
) -> FloatArray:
    """Least-squares solution u (n, d - 1) of D u = -grad F and ``modes``^T u = 0."""
    scales = np.repeat(field.scales, field.gradient.shape[1])
    matrix = field.jacobian.reshape(len(scales), -1) / scales[:, np.newaxis]
    target = np.append(-field.gradient.ravel() / scales, np.zeros(modes.shape[1]))
    rows = np.vstack([matrix, modes.T])
    step = lstsq(rows, target, negligible, lapack_driver="gelsy")[0]
    return np.asarray(step.reshape(field.gradient.shape))


def _message(
    moves: FloatArray, reach: FloatArray, relative: float, speed: float
) -> str:
    nowhere = "Newton's method finds no stationary state beside the start"
    if (moves > reach).any():
        atom = int(np.argmax(moves / reach))
        return (
            f"atom {atom} moved by {moves[atom]:.3g}, further than it may "
            f"({reach[atom]:.3g}): {nowhere}; let the run go on, unite close atoms by "
            "merge_within, or allow more by max_move"
        )
    if relative > TOLERANCE:
        return (
            f"the relative residual is {relative:.1e} and falls no more: {nowhere}; let "
            "the run go on or use a finer grid"
        )
    if speed:
        return f"a relative equilibrium: it turns with angular speed {speed:.9g}"
    return "stationary to rounding"
