"""A transport in two phases: one while the grid resolves the density, then one for what forms.

The first begins with a density without atoms, and goes on as long as it ``carries`` the state.
The second goes on from there, or from the state before a step that ends in no positive measure.
"""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.terms import PointMasses
from mfpde.transport.base import LARGEST_ERROR, Flow, State, Step, Transport

ROUGH, SMOOTH = 0, 1
"""Phases of a state: in the first that a run goes through, ``SMOOTH``, no atom forms."""
LARGEST_NEGATIVE_MASS = 1e-5
"""Weight of the density's negative part from which on the grid does not resolve it."""


class SmoothTransport(Transport):
    """A transport of densities that the grid resolves, without atoms.

    Its ``name`` is what the phase is called in ``run.statistics["..._until"]``.
    """

    name: str

    @abstractmethod
    def carries(self, state: State) -> bool:
        """Return whether the grid resolves the density of ``state``: steps may begin there."""


class Phases(Transport):
    """The transport of two phases; the ``phase`` of its states says in which they are."""

    def __init__(self, smooth: SmoothTransport, rough: Transport) -> None:
        super().__init__(rough.grid, rough.rtol)
        self._smooth, self._rough = smooth, rough
        self.smooth_phase = smooth.name
        self.steps_to_hand_off = rough.steps_to_hand_off
        self.widest_birth = rough.widest_birth

    def _at(self, state: State) -> Transport:
        return self._smooth if state.phase == SMOOTH else self._rough

    def begin(self, state: State, labels: PointMasses | None = None) -> State:
        """Return the state in the first phase, if the grid resolves it, else in the second.

        Labels go on: they know the density better than the grid.
        """
        if labels is None and len(state.atom_masses) == 0:
            smooth = self._smooth.begin(state)._replace(phase=SMOOTH)
            if self._smooth.carries(smooth):
                return smooth
        return self._rough.begin(state, labels)._replace(phase=ROUGH)

    def step(self, state: State, dt: float) -> Step:
        """Return the state after a step of its phase, or the same state in the second phase."""
        if state.phase == ROUGH:
            return self._rough.step(state, dt)
        if self._smooth.carries(state):
            result = self._smooth.step(state, dt)
            is_refused = LARGEST_ERROR < result.error <= np.inf
            if is_refused or is_positive(result.state.masses):
                return result
        rough = self._rough.begin(self._smooth.restore(state))
        return Step(rough._replace(phase=ROUGH), np.inf)

    def largest_step(self, state: State) -> float:
        """Return the longest step worth trying in the phase of ``state``."""
        return self._at(state).largest_step(state)

    def restore(self, state: State) -> State:
        """Return the masses of cells and the atoms of a state that evolves."""
        return self._at(state).restore(state)

    def represent_masses(self, masses: FloatArray) -> FloatArray:
        """Return masses of cells in the form of the second phase, where atoms are."""
        return self._rough.represent_masses(masses)

    def crosses_saves(self, state: State) -> bool:
        """Whether steps of the phase of ``state`` may go past saves."""
        return self._at(state).crosses_saves(state)

    def state_between(
        self, before: State, after: State, dt: float, share: float
    ) -> State:
        """Return the state a ``share`` of a step of the phase of both states."""
        return self._at(before).state_between(before, after, dt, share)

    def flow(self, state: State) -> Flow:
        """Return moments and velocities of ``state`` in its phase."""
        return self._at(state).flow(state)


def is_positive(masses: FloatArray) -> bool:
    """Whether the negative part of masses of cells weighs next to nothing."""
    return float(np.minimum(masses, 0.0).sum()) >= -LARGEST_NEGATIVE_MASS
