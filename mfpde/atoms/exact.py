r"""Exact atoms as the time loop uses them: the hand-off, and their motion alone.

Checks that exact atoms can be followed on a geometry, and that its grid is fine enough.

Atoms alone: a stiff differential equation once the density's mass is negligible.

Clusters approach each other at rates down to e^{-2 beta}: an implicit method crosses ten
decades of time in some hundred steps.  Forces are sums over pairs in which nothing cancels
(:meth:`mfpde.terms.kernels.Kernel.pull_between`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from mfpde.arrays import FloatArray, choice
from mfpde.atoms.clusters import atoms_of_state, state_of
from mfpde.atoms.hand_off import MEETING_DISTANCE, HandOff
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.geometry.arcs import logarithms, moved_to, smallest_distance
from mfpde.measures.clouds import joined
from mfpde.measures.events import Event
from mfpde.measures.measure import Atoms
from mfpde.terms import PointMasses
from mfpde.transport import Flow, State, Transport

MODES = ("grid", "exact")
# Largest h sqrt(beta) at which exact atoms form where they should: 100 sqrt(beta) cells on
# the circle, 64 rings at beta = 32 on the sphere.
COARSEST_CIRCLE = 2 * np.pi / 100
COARSEST_SPHERE = np.pi / 64 * np.sqrt(32)


def check_atoms(atoms: str, equation: MeanFieldEquation, geometry: Geometry) -> None:
    """Refuse ``atoms="exact"`` where atoms cannot be followed.

    Raises
    ------
    ValueError
        For an unknown mode; for exact atoms on a zonal grid, or with diffusion.
    """
    if choice("atoms", atoms, MODES) == "grid":
        return
    if geometry.axis is not None:
        raise ValueError(
            f"atoms = 'exact' works on a Circle or a Sphere, not on {geometry!r}: mass "
            "away from the poles of a zonal grid lies on rings, not in points"
        )
    if equation.diffusion > 0:
        raise ValueError(
            f"atoms = 'exact' with diffusion = {equation.diffusion:g}: diffusion dissolves "
            "atoms at once; use atoms='grid'"
        )


def least_cells(equation: MeanFieldEquation, geometry: Geometry) -> float:
    """Return how many cells of a circle, or rings of a sphere, exact atoms need."""
    root = np.sqrt(equation.sharpness)
    if geometry.dimension == 2:
        return float(2 * np.pi * root / COARSEST_CIRCLE)
    return float(np.pi * root / COARSEST_SPHERE)


def coarseness(equation: MeanFieldEquation, geometry: Geometry) -> str | None:
    """Say, for a warning, that the grid is too coarse for exact atoms; None if it is not."""
    least, beta = least_cells(equation, geometry), equation.sharpness
    if geometry.shape[0] * (1 + 1e-9) >= least:
        return None
    return (
        f"the grid is coarse for exact atoms at beta = {beta:g}: {geometry!r} has cells of "
        f"{geometry.spacing:.3g} against a kernel of width {beta**-0.5:.3g}; atoms may form "
        f"at the wrong place or not at all; use at least {int(np.ceil(least))} "
        f"{'cells' if geometry.dimension == 2 else 'rings'}"
    )


RELATIVE_TOLERANCE = 1e-10
ABSOLUTE_TOLERANCE = 1e-13
MOST_EVALUATIONS = 30_000
"""Evaluations of the atoms' velocities between two meetings; long runs take some thousands."""


class AtomsTooFastError(FloatingPointError):
    """Atoms that would never reach the end of their motion, in steps of length ``step``."""

    def __init__(self, step: float) -> None:
        super().__init__(f"atoms alone move in steps of {step:.1e}")
        self.step = step


@dataclass(frozen=True)
class AtomMotion:
    """The motion of atoms alone under an equation, from one time to another."""

    equation: MeanFieldEquation
    meeting_distance: float

    def advanced(
        self, points: FloatArray, masses: FloatArray, *, start: float, end: float
    ) -> tuple[FloatArray, FloatArray, tuple[Event, ...]]:
        """Return points (n, d) and masses (n,) at the time ``end``, and merges since ``start``.

        Raises
        ------
        AtomsTooFastError
            If the integrator fails, or takes steps that would never reach the end.
        """
        events: list[Event] = []
        while start < end and len(masses) > 0:
            points, start, met = self._until_meeting(
                points, masses, start=start, end=end
            )
            while met is not None:
                events.append(
                    Event("merge", start, points[list(met)], masses[list(met)])
                )
                points, masses = _merged(points, masses, *met)
                met = _nearest_pair(points, self.meeting_distance)
        return points, masses, tuple(events)

    def _until_meeting(
        self, points: FloatArray, masses: FloatArray, *, start: float, end: float
    ) -> tuple[FloatArray, float, tuple[int, int] | None]:
        shape = points.shape

        def meeting(_: float, flat: FloatArray) -> float:
            return smallest_distance(_unit(flat.reshape(shape))) - self.meeting_distance

        meeting.terminal = True  # type: ignore[attr-defined]
        rate = self._rate(masses, shape)
        found = _integrated(
            rate, points.ravel(), end - start, meeting if len(masses) > 1 else None
        )
        last = _unit(found.y[:, -1].reshape(shape))
        if found.status == 0:
            return last, end, None
        at = start + float(found.t[-1])
        return last, at, _nearest_pair(last, np.inf)

    def _rate(
        self, masses: FloatArray, shape: tuple[int, ...]
    ) -> Callable[[float, FloatArray], FloatArray]:
        equation = self.equation

        def rate(_: float, flat: FloatArray) -> FloatArray:
            points = _unit(flat.reshape(shape))
            atoms = PointMasses(points, masses)
            speeds = np.zeros(shape)
            for interaction in equation.interactions:
                speeds += interaction.pull_between_atoms(atoms)
            for term in equation.externals:
                speeds += term.drift(points)
            return equation.sign * speeds.ravel()

        return rate


def _integrated(
    rate: Callable[[float, FloatArray], FloatArray],
    first: FloatArray,
    duration: float,
    event: Callable[[float, FloatArray], float] | None,
) -> Any:
    """Integrate ``rate`` by the first method that gets to the end or the ``event``.

    Near rest rounding may keep LSODA from its methods for stiff equations, so that its steps stay
    as short as the fastest rate asks for; BDF is one of these methods alone.
    """
    failure: AtomsTooFastError | None = None
    for method in ("LSODA", "BDF"):
        try:
            with warnings.catch_warnings():
                # Why LSODA gives up; the next method goes on.
                warnings.filterwarnings("ignore", message="lsoda: ")
                # Time counts from the start: late in a long run its digits are few.
                found = solve_ivp(
                    _within_reason(rate),
                    (0.0, duration),
                    first,
                    method=method,
                    events=event,
                    rtol=RELATIVE_TOLERANCE,
                    atol=ABSOLUTE_TOLERANCE,
                )
        except AtomsTooFastError as error:
            failure = error
            continue
        if found.status >= 0:
            return found
        failure = AtomsTooFastError(float(found.t[-1]) / len(found.t))
    assert failure is not None
    raise failure


def _within_reason(
    rate: Callable[[float, FloatArray], FloatArray],
) -> Callable[[float, FloatArray], FloatArray]:
    """The same rate, which may be asked for ``MOST_EVALUATIONS`` times."""
    evaluations = 0

    def counted(time: float, flat: FloatArray) -> FloatArray:
        nonlocal evaluations
        evaluations += 1
        if evaluations > MOST_EVALUATIONS:
            raise AtomsTooFastError(time / evaluations)
        return rate(time, flat)

    return counted


def _unit(points: FloatArray) -> FloatArray:
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


def _nearest_pair(points: FloatArray, reach: float) -> tuple[int, int] | None:
    """Indices of the closest two atoms if they are closer than ``reach``, else None."""
    if len(points) < 2:
        return None
    apart = np.linalg.norm(points[:, np.newaxis] - points, axis=2)
    apart[np.tril_indices(len(points))] = np.inf
    first, second = np.unravel_index(np.argmin(apart), apart.shape)
    return (int(first), int(second)) if apart[first, second] < reach else None


def _merged(
    points: FloatArray, masses: FloatArray, first: int, second: int
) -> tuple[FloatArray, FloatArray]:
    nothing = np.zeros((points.shape[1], points.shape[1]))
    mass, position, _ = joined(
        (masses[first], points[first], nothing),
        (masses[second], points[second], nothing),
    )
    kept = np.arange(len(masses)) != second
    new_points, new_masses = points.copy(), masses.copy()
    new_points[first], new_masses[first] = position, mass
    return new_points[kept], new_masses[kept]


NEGLIGIBLE_MASS = 1e-7
"""A density of less mass than this is added to the atoms, which then move alone."""
NARROW_CELLS = 1e-3
"""Width, in cells, below which an atom may go on as a point."""


class Exchange(NamedTuple):
    """A state after atoms have done something, and the events: births, merges, fissions."""

    state: State
    events: tuple[Event, ...]


class ExactAtoms:
    """Exact atoms of a run: mass exchanged between density and atoms, and atoms moved alone."""

    def __init__(self, equation: MeanFieldEquation, transport: Transport) -> None:
        self.transport = transport
        self.hand_off = HandOff(transport)
        self.motion = AtomMotion(equation, MEETING_DISTANCE)

    def exchange(self, state: State, flow: Flow, time: float) -> Exchange:
        """Let mass pass; the very same state is returned if nothing was to do."""
        return Exchange(*self.hand_off.apply(state, flow, time))

    def are_alone(self, state: State, flow: Flow) -> bool:
        """Whether the density is negligible and the atoms act as points."""
        if len(state.atom_masses) == 0:
            return False
        if state.masses.sum() > NEGLIGIBLE_MASS * state.total_mass:
            return False
        return self.hand_off.act_as_points(state, flow, NARROW_CELLS)

    def move_alone(self, state: State, *, start: float, end: float) -> Exchange:
        """Move the atoms alone; the density left over joins them first."""
        atoms = _with_remains(state, self.transport)
        points, masses, events = self.motion.advanced(
            atoms.points, atoms.masses, start=start, end=end
        )
        moved = state_of(np.zeros_like(state.masses), Atoms(points, masses))
        return Exchange(moved, events)


def _with_remains(state: State, transport: Transport) -> Atoms:
    """The atoms as points, with the mass of each cell at the nearest of them."""
    atoms = atoms_of_state(state)
    if state.masses.sum() == 0:
        return atoms
    geometry = transport.grid.geometry
    centres = geometry.points.reshape(-1, geometry.dimension)
    masses = state.masses.ravel()
    nearest = np.argmax(centres @ atoms.points.T, axis=1)
    positions, weights = atoms.points.copy(), atoms.masses.copy()
    for index in range(len(atoms)):
        own = (nearest == index) & (masses > 0)
        mass = float(masses[own].sum())
        if mass == 0:
            continue
        shift = masses[own] @ logarithms(positions[index], centres[own]) / mass
        weights[index] += mass
        positions[index] = moved_to(positions[index], mass / weights[index] * shift)
    return Atoms(positions, weights)
