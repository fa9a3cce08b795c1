r"""The hand-off between density and atoms.

A cluster that has become a few cells wide leaves the grid and goes on as an atom with a
covariance; its tails stay density and are absorbed as they arrive.  The rules know
nothing of the direction of the flow:

- **merge** atoms that have met;
- **release** an atom as a Gaussian where the flow expands (an eigenvalue of s Hess F is
  positive, own mass included) and it has become wider than 1.5 cells;
- **absorb** what the flow contracts to an atom within 4 cells, keeping mass, mean and
  covariance;
- **create** an atom at a peak of the density if the mass in a window about it is narrow,
  all eigenvalues of s Hess F there are negative, and no atom is near.  It swallows of
  the window's middle what the flow contracts to it: swallowing all of it would turn steep
  edges into atoms, and an atom beside a kink would keep the mass that leaves over the kink.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from mfpde.arrays import FloatArray
from mfpde.atoms.held import Cells, HeldAtom, VelocityAt
from mfpde.atoms.peaks import peaks
from mfpde.atoms.rates import contraction_rates
from mfpde.clouds import (
    POINT_WIDTH,
    cloud_points,
    cloud_size,
    means_and_covariances,
    principal_axes,
)
from mfpde.events import Event, EventKind
from mfpde.measure import Atoms
from mfpde.transport import Flow, State, Transport

ABSORBED_CELLS = 4.0
WINDOW_CELLS = 6.0
WIDEST_CELLS = 2.2
# A window about the peak that is so much wider will not become narrow about its mean.
HOPELESS_SHARE = 1.25
SWALLOWED_CELLS = 5.0
# The window of a new atom does not reach into what another one has emptied: of a tail that
# is cut there the rest looks narrow.
ALONE_CELLS = WINDOW_CELLS + SWALLOWED_CELLS
RELEASED_CELLS = 1.5
RELEASE_SMOOTHING = 0.3
SMALLEST_MASS = 1e-4
MEETING_DISTANCE = 1e-6
"""Atoms closer than this, in radians, are one."""
REACH_CELLS = 0.7
_WINDOW_STEPS = 4


def state_of(masses: FloatArray, atoms: Atoms) -> State:
    """State of cell masses and atoms, each atom as its cloud."""
    dimension = atoms.dimension
    size = cloud_size(dimension)
    points = cloud_points(atoms.points, _widths(atoms)).reshape(-1, dimension)
    return State(masses, points, np.repeat(atoms.masses / size, size), size)


def atoms_of_state(state: State) -> Atoms:
    """The atoms of a state, with their covariances where they are clouds."""
    if state.cloud_size == 1:
        return Atoms(state.points, state.atom_masses)
    clouds = state.points.reshape(-1, state.cloud_size, state.points.shape[1])
    positions, covariances = means_and_covariances(clouds)
    masses = state.atom_masses.reshape(-1, state.cloud_size).sum(axis=1)
    return Atoms(positions, masses, covariances)


@dataclass
class _Exchange:
    """A hand-off under way: atoms, cells, and what has happened so far."""

    held: list[HeldAtom]
    cells: Cells
    time: float
    events: list[Event] = field(default_factory=list)

    def record(self, kind: EventKind, *atoms: HeldAtom) -> None:
        """Note an event of these atoms."""
        points = np.stack([atom.position for atom in atoms])
        masses = np.array([atom.mass for atom in atoms])
        self.events.append(Event(kind, self.time, points, masses))

    @property
    def positions(self) -> FloatArray:
        """Where the atoms are now, (atoms, d)."""
        return np.array([atom.position for atom in self.held])


class HandOff:
    """Moves mass between the cells and the atoms of a state, by the rules above."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.geometry = transport.grid.geometry
        self.spacing = self.geometry.spacing

    def apply(
        self, state: State, flow: Flow, time: float
    ) -> tuple[State, tuple[Event, ...]]:
        """Return the state after the rules, and what happened.

        The very same state is returned if nothing was to do.
        """
        cells = Cells.of(self.geometry, state.masses, self._velocity_at(flow))
        exchange = _Exchange(_held(atoms_of_state(state)), cells, time)
        self._merge(exchange)
        is_smooth = self._release(exchange)
        is_same = not self._absorb(exchange)
        self._create(exchange)
        if is_same and not exchange.events:
            return state, ()
        masses = exchange.cells.masses.reshape(state.masses.shape)
        if not is_smooth:
            masses = self.transport.represented(masses)
        atoms = _atoms(exchange.held, self.geometry.dimension)
        return state_of(masses, atoms), tuple(exchange.events)

    def act_as_points(self, state: State, flow: Flow, widest_cells: float) -> bool:
        """Whether every atom is a point, or narrower than that and contracting."""
        velocity_at = self._velocity_at(flow)
        for atom in _held(atoms_of_state(state)):
            width = principal_axes(atom.position, atom.covariance)[0].max()
            if width > widest_cells * self.spacing:
                return False
            if (
                width > POINT_WIDTH
                and self._rates(atom.position, velocity_at).max() >= 0
            ):
                return False
        return True

    def _merge(self, exchange: _Exchange) -> None:
        if not _some_meet(exchange.positions):
            return
        held: list[HeldAtom] = []
        for atom in exchange.held:
            for index, other in enumerate(held):
                apart = np.linalg.norm(atom.position - other.position)
                if apart < MEETING_DISTANCE:
                    exchange.record("merge", other, atom)
                    held[index] = other.joined(
                        atom.mass, atom.position, atom.covariance
                    )
                    break
            else:
                held.append(atom)
        exchange.held = held

    def _release(self, exchange: _Exchange) -> bool:
        """Return wide atoms to the cells where the flow expands; whether there were none."""
        kept, cells = [], exchange.cells
        for atom in exchange.held:
            widest = float(principal_axes(atom.position, atom.covariance)[0].max())
            is_wide = widest > RELEASED_CELLS * self.spacing
            if is_wide and self._rates(atom.position, cells.velocity_at).max() > 0:
                smoothing = (RELEASE_SMOOTHING * self.spacing) ** 2
                cells.put(atom, smoothing, 6 * widest)
                exchange.record("fission", atom)
            else:
                kept.append(atom)
        is_smooth = len(kept) == len(exchange.held)
        exchange.held = kept
        return is_smooth

    def _absorb(self, exchange: _Exchange) -> bool:
        changed = False
        cells = exchange.cells
        positions = [atom.position for atom in exchange.held]
        contracted = cells.contracted(positions, ABSORBED_CELLS * self.spacing)
        for index, (atom, near) in enumerate(
            zip(exchange.held, contracted, strict=True)
        ):
            mass, mean, covariance = cells.taken(atom.position, near)
            if mass > 0:
                exchange.held[index] = atom.joined(mass, mean, covariance)
                changed = True
        return changed

    def _create(self, exchange: _Exchange) -> None:
        cells = exchange.cells
        reach = ALONE_CELLS * self.spacing
        positions = exchange.positions
        found = peaks(self.geometry, cells.masses, SMALLEST_MASS)
        # Around atoms that have emptied their cells there are many.
        for start in cells.points[
            found[_are_alone(cells.points[found], positions, reach)]
        ]:
            atom = self._atom_about(cells, start, positions)
            if atom is not None:
                exchange.held.append(atom)
                exchange.record("birth", atom)
                positions = exchange.positions

    def _atom_about(
        self, cells: Cells, start: FloatArray, positions: FloatArray
    ) -> HeldAtom | None:
        """A new atom from the mass about the peak ``start``, if the rules allow one."""
        reach = ALONE_CELLS * self.spacing
        if not _are_alone(start[np.newaxis], positions, reach)[0]:
            return None
        centre = self._centre_of_narrow_mass(cells, start)
        if (
            centre is None
            or not _are_alone(centre[np.newaxis], positions, reach)[0]
            or self._rates(centre, cells.velocity_at).max() >= 0
        ):
            return None
        near = cells.contracted([centre], SWALLOWED_CELLS * self.spacing)[0]
        if cells.masses[near].sum() < SMALLEST_MASS:
            return None
        return HeldAtom(*cells.taken(centre, near))

    def _centre_of_narrow_mass(
        self, cells: Cells, start: FloatArray
    ) -> FloatArray | None:
        """Mean of the mass in a window about ``start``; None if it is light or wide."""
        centre, widest = start, np.inf
        for step in range(_WINDOW_STEPS):
            window = cells.within(centre, WINDOW_CELLS * self.spacing)
            _, centre, covariance = window
            widest = principal_axes(centre, covariance)[0].max() / self.spacing
            if step == 0 and widest > HOPELESS_SHARE * WIDEST_CELLS:
                return None
        if widest > WIDEST_CELLS:
            return None
        mass = cells.within(centre, SWALLOWED_CELLS * self.spacing)[0]
        return centre if mass >= SMALLEST_MASS else None

    def _velocity_at(self, flow: Flow) -> VelocityAt:
        grid = self.transport.grid
        return lambda points: grid.velocity_at(flow.moments, points)

    def _rates(self, position: FloatArray, velocity_at: VelocityAt) -> FloatArray:
        return contraction_rates(velocity_at, position, REACH_CELLS * self.spacing)


def _are_alone(
    points: FloatArray, positions: FloatArray, reach: float
) -> npt.NDArray[np.bool_]:
    """Whether no atom at ``positions`` lies within ``reach`` of each of ``points``."""
    if len(positions) == 0:
        return np.ones(len(points), dtype=np.bool_)
    return np.asarray((points @ positions.T).max(axis=1) <= np.cos(reach))


def _some_meet(positions: FloatArray) -> bool:
    """Whether two atoms are close enough to be one."""
    if len(positions) < 2:
        return False
    cosines = positions @ positions.T
    np.fill_diagonal(cosines, -1.0)
    # Cosines do not resolve the distance itself.
    first, second = np.nonzero(cosines > 1 - 1e-8)
    apart = np.linalg.norm(positions[first] - positions[second], axis=1)
    return bool((apart < MEETING_DISTANCE).any())


def _widths(atoms: Atoms) -> FloatArray:
    if atoms.covariances is not None:
        return atoms.covariances
    count, dimension = atoms.points.shape
    return np.zeros((count, dimension, dimension))


def _held(atoms: Atoms) -> list[HeldAtom]:
    rows = zip(atoms.masses, atoms.points, _widths(atoms), strict=True)
    return [HeldAtom(float(mass), point, width) for mass, point, width in rows]


def _atoms(held: list[HeldAtom], dimension: int) -> Atoms:
    if not held:
        return Atoms.none(dimension)
    return Atoms(
        np.stack([atom.position for atom in held]),
        np.array([atom.mass for atom in held]),
        np.stack([atom.covariance for atom in held]),
    )
