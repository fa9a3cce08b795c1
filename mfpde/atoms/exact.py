r"""Exact atoms as the time loop uses them: hand-off between density and atoms, motion alone.

A cluster that has become a few cells wide leaves the grid and goes on as an atom with a
covariance; its tails stay density and are absorbed as they arrive.  The rules are the same in
ascent and in descent:

- **merge** atoms that have met;
- **release** an atom as a Gaussian where the flow expands (an eigenvalue of s Hess F is
  positive, own mass included) and it has become wider than 1.5 cells;
- **absorb** mass that the flow contracts to an atom within 4 cells, keeping mass, mean and
  covariance;
- **create** an atom at a peak of the density if the mass in a window about it is narrow,
  all eigenvalues of s Hess F there are negative, and no atom is near.  The atom takes only
  the mass in the middle of the window that the flow contracts to it: taking all of it would
  turn steep edges into atoms, and an atom beside a kink would keep mass that leaves over it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from mfpde.arrays import FloatArray, choice
from mfpde.atoms.cells import Cells, find_peaks
from mfpde.atoms.clusters import Clusters, atoms_of_state, state_of
from mfpde.atoms.motion import AtomMotion, nearest_pair
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.geometry.arcs import normalize
from mfpde.measures.clouds import POINT_WIDTH, largest_widths
from mfpde.measures.events import Event, EventKind
from mfpde.measures.measure import Atoms
from mfpde.transport import Flow, State, Transport

MODES = ("grid", "exact")
LEAST_CELLS = {2: 100.0, 3: 64 / np.sqrt(32)}
"""Cells of a circle, rings of a sphere, by dimension, with which exact atoms form where they
should at beta = 1; at other beta its root as many."""
NEGLIGIBLE_MASS = 1e-7
"""A density of less mass than this is added to the atoms, which then move alone."""
NARROW_CELLS = 1e-3
"""Width, in cells, below which an atom may go on as a point."""
ABSORBED_CELLS = 4.0
WINDOW_CELLS = 6.0
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
"""Atoms closer than this, in radians, are one; they never meet."""
_WINDOW_STEPS = 4


def check_atoms(atoms: str, equation: MeanFieldEquation, geometry: Geometry) -> None:
    """Raise ``ValueError`` for an unknown mode, and for exact atoms on rings or with diffusion."""
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


def coarseness(equation: MeanFieldEquation, geometry: Geometry) -> str | None:
    """Say, for a warning, that the grid is too coarse for exact atoms; None if it is not."""
    beta = equation.sharpness
    least = LEAST_CELLS[geometry.dimension] * np.sqrt(beta)
    if geometry.shape[0] * (1 + 1e-9) >= least:
        return None
    return (
        f"the grid is coarse for exact atoms at beta = {beta:g}: {geometry!r} has cells of "
        f"{geometry.spacing:.3g} against a kernel of width {beta**-0.5:.3g}; atoms may form "
        f"at the wrong place or not at all; use at least {int(np.ceil(least))} "
        f"{'cells' if geometry.dimension == 2 else 'rings'}"
    )


@dataclass
class _Exchange:
    """A hand-off under way: its atoms, its cells, and the events so far."""

    atoms: Clusters
    cells: Cells
    time: float
    events: list[Event] = field(default_factory=list)

    def record(self, kind: EventKind, atoms: Clusters) -> None:
        """Record an event of the given kind for these atoms."""
        self.events.append(Event(kind, self.time, atoms.positions, atoms.masses))


class ExactAtoms:
    """Exact atoms of a run: their hand-off of mass with the density, and their motion alone."""

    def __init__(self, equation: MeanFieldEquation, transport: Transport) -> None:
        self.transport = transport
        self.geometry = transport.grid.geometry
        self.spacing = self.geometry.spacing
        self.motion = AtomMotion(equation, MEETING_DISTANCE)

    def are_alone(self, state: State, flow: Flow) -> bool:
        """Whether the density is negligible and each atom a point, or narrow and contracting."""
        if len(state.atom_masses) == 0:
            return False
        if state.masses.sum() > NEGLIGIBLE_MASS * state.total_mass:
            return False
        atoms = Clusters.of_state(state)
        widths = largest_widths(atoms.covariances)
        if (widths > NARROW_CELLS * self.spacing).any():
            return False
        wide = atoms.positions[widths > POINT_WIDTH]
        return bool((self._cells_of(state, flow).expansion_rates(wide) < 0).all())

    def move_alone(
        self, state: State, *, start: float, end: float
    ) -> tuple[State, tuple[Event, ...]]:
        """Move the atoms alone, as points; the mass of each cell joins the nearest one first."""
        atoms, masses = atoms_of_state(state), state.masses.ravel()
        centres = self.geometry.points.reshape(-1, self.geometry.dimension)
        nearest = np.argmax(centres @ atoms.points.T, axis=1)
        weights, sums = atoms.masses.copy(), atoms.masses[:, np.newaxis] * atoms.points
        np.add.at(weights, nearest, masses)
        np.add.at(sums, nearest, masses[:, np.newaxis] * centres)
        whole = Atoms(normalize(sums), weights)
        moved, events = self.motion.move(whole, start=start, end=end)
        return state_of(np.zeros_like(state.masses), moved), events

    def hand_off(
        self, state: State, flow: Flow, time: float
    ) -> tuple[State, tuple[Event, ...]]:
        """Return the state after the rules above, the same if nothing was to do, and events."""
        cells = self._cells_of(state, flow)
        exchange = _Exchange(Clusters.of_state(state), cells, time)
        _merge(exchange)
        self._release(exchange)
        is_same = not self._absorb(exchange)
        while self._create_one(exchange):
            pass
        if is_same and not exchange.events:
            return state, ()
        masses = cells.masses.reshape(state.masses.shape)
        return exchange.atoms.state(masses), tuple(exchange.events)

    def _cells_of(self, state: State, flow: Flow) -> Cells:
        velocity_at = partial(self.transport.grid.velocity_at, flow.moments)
        return Cells(self.geometry, state.masses.flatten(), velocity_at)

    def _release(self, exchange: _Exchange) -> None:
        """Return wide atoms to the cells where the flow expands."""
        atoms, cells = exchange.atoms, exchange.cells
        widths = largest_widths(atoms.covariances)
        is_released = widths > RELEASED_CELLS * self.spacing
        wide = atoms.positions[is_released]
        is_released[is_released] = cells.expansion_rates(wide) > 0
        smoothing = (RELEASE_SMOOTHING * self.spacing) ** 2
        for index in map(int, np.flatnonzero(is_released)):
            reach = 6 * widths[index]
            at_centres = cells.as_gaussian(atoms.chosen(index), smoothing, reach)
            at_centres = at_centres.reshape(self.geometry.shape)
            cells.masses += self.transport.represent_masses(at_centres).ravel()
            exchange.record("fission", atoms.chosen([index]))
        exchange.atoms = atoms.chosen(~is_released)

    def _absorb(self, exchange: _Exchange) -> bool:
        """Let atoms take the mass that the flow contracts to them; return if any was taken."""
        atoms, cells = exchange.atoms, exchange.cells
        if len(atoms.masses) == 0:
            return False
        reach = ABSORBED_CELLS * self.spacing
        taken = cells.take_contracted(atoms.positions, reach)
        exchange.atoms = atoms.join_each(taken)
        return bool((taken.masses > 0).any())

    def _create_one(self, exchange: _Exchange) -> bool:
        """Create an atom at the densest peak where the rules allow it; return whether one was.

        Atoms are created one at a time, since each changes the cells that the others find.
        """
        cells, reach = exchange.cells, ALONE_CELLS * self.spacing
        found = find_peaks(self.geometry, cells.masses, SMALLEST_MASS)
        # Around atoms that have emptied their cells there are many.
        starts = _alone(cells.points[found], exchange.atoms.positions, reach)
        # Peaks in the window of a denser one lead to the same mass.
        close = starts @ starts.T > np.cos(ABSORBED_CELLS * self.spacing)
        starts = starts[~np.triu(close, 1).any(axis=0)]
        centres = self._centres_of_narrow_mass(cells, starts)
        for centre in _alone(centres, exchange.atoms.positions, reach):
            if cells.expansion_rates(centre[np.newaxis])[0] >= 0:
                continue
            reach = SWALLOWED_CELLS * self.spacing
            born = cells.take_contracted(centre[np.newaxis], reach, SMALLEST_MASS)
            if born.masses[0] >= SMALLEST_MASS:
                exchange.atoms = exchange.atoms.with_others(born)
                exchange.record("birth", born)
                return True
        return False

    def _centres_of_narrow_mass(self, cells: Cells, starts: FloatArray) -> FloatArray:
        """Means of the mass in windows about ``starts`` that is neither light nor wide."""
        centres = starts
        for step in range(_WINDOW_STEPS):
            if len(centres) == 0:
                return centres
            _, centres, covariances = cells.within(centres, WINDOW_CELLS * self.spacing)
            widths = largest_widths(covariances) / self.spacing
            is_last = step == _WINDOW_STEPS - 1
            widest = self.transport.widest_birth
            limit = widest if is_last else HOPELESS_SHARE * widest
            if step == 0 or is_last:
                centres = centres[widths <= limit]
        masses = cells.within(centres, SWALLOWED_CELLS * self.spacing).masses
        return centres[masses >= SMALLEST_MASS]


def _merge(exchange: _Exchange) -> None:
    """Join atoms that have met."""
    while (near := nearest_pair(exchange.atoms.positions))[0] < MEETING_DISTANCE:
        exchange.record("merge", exchange.atoms.chosen([*near[1:]]))
        exchange.atoms = exchange.atoms.merge_pair(*near[1:])


def _alone(points: FloatArray, positions: FloatArray, reach: float) -> FloatArray:
    """The ``points`` that have no atom at ``positions`` within ``reach``."""
    closest = (points @ positions.T).max(axis=1, initial=-1.0)
    return np.asarray(points[closest <= np.cos(reach)])
