"""Exact atoms as the time loop uses them: the hand-off, and their motion alone."""

from __future__ import annotations

import numpy as np

from mfpde.atoms.alone import AtomMotion
from mfpde.atoms.clusters import atoms_of_state, state_of
from mfpde.atoms.hand_off import MEETING_DISTANCE, HandOff
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.arcs import logarithms, moved_to
from mfpde.measures.events import Event
from mfpde.measures.measure import Atoms
from mfpde.transport import Flow, State, Transport

NEGLIGIBLE_MASS = 1e-7
"""A density of less mass than this is added to the atoms, which then move alone."""
NARROW_CELLS = 1e-3
"""Width, in cells, below which an atom may go on as a point."""


class ExactAtoms:
    """Exact atoms of a run: mass handed over between density and atoms, and atoms moved alone.

    Attributes
    ----------
    events
        Births, merges and fissions so far, in their order.
    """

    def __init__(self, equation: MeanFieldEquation, transport: Transport) -> None:
        self.transport = transport
        self.hand_off = HandOff(transport)
        self.motion = AtomMotion(equation, MEETING_DISTANCE)
        self.events: list[Event] = []

    def handed_off(self, state: State, flow: Flow, time: float) -> State:
        """The state after the hand-off (the same object if nothing was to do)."""
        new, events = self.hand_off.apply(state, flow, time)
        self.events += events
        return new

    def are_alone(self, state: State, flow: Flow) -> bool:
        """Whether the density is negligible and the atoms act as points."""
        if len(state.atom_masses) == 0:
            return False
        if state.masses.sum() > NEGLIGIBLE_MASS * state.total_mass:
            return False
        return self.hand_off.act_as_points(state, flow, NARROW_CELLS)

    def moved_alone(self, state: State, times: tuple[float, float]) -> State:
        """The state after the atoms moved alone; the density left over joins them first."""
        atoms = _with_remains(state, self.transport)
        points, masses, events = self.motion.advanced(atoms.points, atoms.masses, times)
        self.events += events
        return state_of(np.zeros_like(state.masses), Atoms(points, masses))


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
