r"""Polish atoms to a stationary state and say whether it is stable.

    v(x_i) = s grad F(x_i) = 0    at every atom, masses fixed (paper, eq. 2.2)

by Newton's method, then the spectrum of the Wasserstein Hessian (paper, eqs. 2.3, 2.4) and
the splitting test (``rates.py``).  With D the derivative of grad F by the positions,

    D u = -grad F,   x_i <- Exp_{x_i}(t u_i),   t <= 1

1. The equations of atom i are divided by the size of the contributions to its velocity, so
   that weakly coupled atoms are placed as well as strongly coupled ones.
2. u is the least-squares solution that leaves alone the rotations of the equation, and other
   directions that change nothing at relative size 1e-12.
3. t keeps each step within half of what an atom may move in all, and is halved until the
   scaled residual falls.
4. The iteration goes on until the residual falls no further, and stops early once an atom
   has moved further than it may.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import lstsq
from scipy.spatial import cKDTree

from mfpde.arrays import FloatArray, real_number, shown
from mfpde.detection import ConcentratedRegion
from mfpde.detection.basins import connect
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.arcs import distances, geodesic_moves, tangent_frames
from mfpde.measures.measure import Atoms
from mfpde.stationary.derivatives import (
    DIFFERENCE_STEP,
    FieldDerivatives,
    count_on_kinks,
    is_differenced,
)
from mfpde.stationary.rates import has_wasserstein_hessian, linear_rates
from mfpde.stationary.result import PolishedAtoms
from mfpde.stationary.symmetry import TurningField, rotation_modes, turning_field

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
        Atoms linked by distances up to this, in radians, are united to one at their mean
        first: raise it for particles that have gathered in clusters, which lie about 1e-6
        apart at the default ``rtol`` of :func:`solve_particles`.

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
    _check(equation, given, merge_within)
    start = _merge_close_atoms(given, merge_within)
    coordinates = len(start) * (start.dimension - 1)
    if coordinates > LARGEST_SYSTEM:
        raise ValueError(
            f"atoms: {len(start)} atoms have {coordinates} coordinates, at most "
            f"{LARGEST_SYSTEM} are possible; if they have gathered in clusters, "
            f"unite these by a larger merge_within (now {merge_within:g})"
        )
    reach = _reach(equation, start, max_move)
    end = _find_zero(equation, start, reach)
    return _result(equation, start, end, reach, merged=len(given) - len(start))


def _as_atoms(atoms: Atoms | Sequence[ConcentratedRegion]) -> Atoms:
    given: object = atoms
    if isinstance(given, Atoms):
        found = given
    elif isinstance(given, Sequence) and all(
        isinstance(region, ConcentratedRegion) for region in given
    ):
        found = _of_regions(given)
    else:
        raise ValueError(
            f"atoms = {shown(given)} must be Atoms, or the clusters of a concentration report: "
            "polish(equation, concentration(measure, equation).clusters)"
        )
    if len(found) == 0:
        raise ValueError("atoms: there are none; at least one is needed")
    return found


def _of_regions(regions: Sequence[ConcentratedRegion]) -> Atoms:
    for region in regions:
        if region.kind not in ("atom", "forming"):
            raise ValueError(
                f"atoms: a region of kind {region.kind!r} is no atom; polish moves points only"
            )
    if not regions:
        return Atoms.none(2)
    return Atoms([r.position for r in regions], [r.mass for r in regions])


def _check(equation: MeanFieldEquation, atoms: Atoms, merge_within: float) -> None:
    real_number("merge_within", merge_within, at_least=0.0, at_most=1 / 2)
    if equation.diffusion > 0:
        raise ValueError(
            f"diffusion = {equation.diffusion:g}: atoms dissolve at once, none is "
            "stationary; use an equation without diffusion"
        )
    for term in equation.externals:
        term.check_dimension(atoms.dimension)


def _merge_close_atoms(atoms: Atoms, within: float) -> Atoms:
    """Atoms with those linked by chords up to ``within`` united at their mean."""
    pairs = cKDTree(atoms.points).query_pairs(within, output_type="ndarray")
    if not len(pairs):
        return atoms
    group = connect(len(atoms), pairs)
    masses = np.bincount(group, weights=atoms.masses)
    means = np.zeros((len(masses), atoms.dimension))
    np.add.at(means, group, atoms.masses[:, np.newaxis] * atoms.points)
    lengths = np.linalg.norm(means, axis=1)
    if (lengths < 0.5 * masses).any():
        raise ValueError(
            f"merge_within = {within:g} links atoms around the sphere; it must be smaller "
            "than the gaps between clusters"
        )
    return Atoms(means / lengths[:, np.newaxis], masses)


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


class _NewtonEnd(NamedTuple):
    """The end of an iteration of Newton's method.

    ``points`` (n, d) with the field ``there``, the distance that each atom ``moves``
    from its start, and the number of ``iterations``.
    """

    points: FloatArray
    there: TurningField
    moves: FloatArray
    iterations: int


def _find_zero(
    equation: MeanFieldEquation, start: Atoms, reach: FloatArray
) -> _NewtonEnd:
    """Move atoms to a zero of the velocity, each by at most ``reach`` (n,), in radians."""
    points, masses = start.points, start.masses
    here = turning_field(equation, points, masses)
    moves, iterations = np.zeros(len(masses)), 0
    while iterations < MOST_ITERATIONS and (moves <= reach).all():
        frames, scales = tangent_frames(points), here.field.positive_scales
        step = _newton_step(here.field, rotation_modes(equation, points, frames))
        before = _merit(here.field, scales)
        lengths = np.linalg.norm(step, axis=1)
        share = float(
            np.min(reach / np.maximum(2 * lengths, np.finfo(float).tiny), initial=1.0)
        )
        while share * lengths.max() > np.finfo(float).eps:
            candidate = geodesic_moves(points, frames, share * step)
            there = turning_field(equation, candidate, masses)
            if _merit(there.field, scales) < (1 - share / 4) * before:
                break
            share /= 2
        else:
            break
        points, here = candidate, there
        moves, iterations = distances(start.points, points), iterations + 1
    return _NewtonEnd(points, here, moves, iterations)


def _newton_step(field: FieldDerivatives, modes: FloatArray) -> FloatArray:
    """Least-squares solution u (n, d - 1) of D u = -grad F and ``modes``^T u = 0."""
    scales = np.repeat(field.positive_scales, field.gradient.shape[1])
    matrix = field.jacobian.reshape(len(scales), -1) / scales[:, np.newaxis]
    target = np.append(-field.gradient.ravel() / scales, np.zeros(modes.shape[1]))
    step = lstsq(
        np.vstack([matrix, modes.T]), target, NEGLIGIBLE, lapack_driver="gelsy"
    )[0]
    return np.asarray(step.reshape(field.gradient.shape))


def _merit(field: FieldDerivatives, scales: FloatArray) -> float:
    # Where forces are e^-700 a step can change them beyond what a ratio can hold.
    with np.errstate(over="ignore"):
        return float(np.linalg.norm(field.gradient / scales[:, np.newaxis]))


def _result(
    equation: MeanFieldEquation,
    start: Atoms,
    end: _NewtonEnd,
    reach: FloatArray,
    *,
    merged: int,
) -> PolishedAtoms:
    field, rotation = end.there
    speeds = np.linalg.norm(field.gradient, axis=1)
    relative = float((speeds / field.positive_scales).max())
    converged = relative <= TOLERANCE and bool((end.moves <= reach).all())
    modes = rotation_modes(equation, end.points, tangent_frames(end.points))
    found = linear_rates(equation, field, start.masses, modes=modes)
    differenced = any(is_differenced(term) for term in equation.externals)
    share = NEGLIGIBLE / DIFFERENCE_STEP if differenced else NEGLIGIBLE
    largest = float(field.scales.max())
    return PolishedAtoms(
        equation=equation,
        atoms=Atoms(end.points, start.masses),
        converged=converged,
        message=_message(end, reach, relative),
        residual=float(speeds.max()),
        relative_residual=relative,
        iterations=end.iterations,
        moved=float(end.moves.max()),
        merged=merged,
        shift_rates=found.shifts,
        split_rates=found.splits,
        symmetry_dimension=modes.shape[1],
        on_kinks=count_on_kinks(equation, end.points),
        has_hessian=has_wasserstein_hessian(equation),
        shift_rounding=share * largest,
        split_rounding=share * max(largest, float(np.abs(found.splits).max())),
        angular_velocity=equation.sign * rotation,
    )


def _message(end: _NewtonEnd, reach: FloatArray, relative: float) -> str:
    if (end.moves > reach).any():
        atom = int(np.argmax(end.moves / reach))
        return (
            f"atom {atom} moved by {end.moves[atom]:.3g}, further than it may "
            f"({reach[atom]:.3g}): Newton's method finds no stationary state beside "
            "the start; let the run go on, unite close atoms by merge_within, or allow "
            "more by max_move"
        )
    if relative > TOLERANCE:
        return (
            f"the relative residual is {relative:.1e} and falls no more: Newton's method finds "
            "no stationary state beside the start; let the run go on or use a finer grid"
        )
    speed = float(np.linalg.norm(end.there.rotation, 2))
    if speed <= NEGLIGIBLE * float(end.there.field.scales.max()):
        return "stationary to rounding"
    return f"a relative equilibrium: it turns with angular speed {speed:.9g}"
