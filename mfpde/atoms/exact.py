"""Exact atoms as the time loop uses them: where they can be followed, hand-off, motion alone."""

from __future__ import annotations

import numpy as np

from mfpde.arrays import choice
from mfpde.atoms.clusters import atoms_of_state, state_of
from mfpde.atoms.hand_off import MEETING_DISTANCE, HandOff
from mfpde.atoms.motion import AtomMotion
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.geometry.arcs import normalize
from mfpde.measures.events import Event
from mfpde.measures.measure import Atoms
from mfpde.transport import Flow, State, Transport

MODES = ("grid", "exact")
LEAST_CELLS = {2: 100.0, 3: 64 / np.sqrt(32)}
"""Cells of a circle, rings of a sphere, by dimension, with which exact atoms form where they
should at beta = 1; at other beta its root as many."""


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


NEGLIGIBLE_MASS = 1e-7
"""A density of less mass than this is added to the atoms, which then move alone."""
NARROW_CELLS = 1e-3
"""Width, in cells, below which an atom may go on as a point."""


class ExactAtoms:
    """Exact atoms of a run: their hand-off of mass with the density, and their motion alone."""

    def __init__(self, equation: MeanFieldEquation, transport: Transport) -> None:
        self.transport = transport
        self.hand_off = HandOff(transport)
        self.motion = AtomMotion(equation, MEETING_DISTANCE)

    def are_alone(self, state: State, flow: Flow) -> bool:
        """Whether the density is negligible and the atoms act as points."""
        if len(state.atom_masses) == 0:
            return False
        if state.masses.sum() > NEGLIGIBLE_MASS * state.total_mass:
            return False
        return self.hand_off.act_as_points(state, flow, NARROW_CELLS)

    def move_alone(
        self, state: State, *, start: float, end: float
    ) -> tuple[State, tuple[Event, ...]]:
        """Move the atoms alone; the density left over joins them first."""
        atoms = _with_remains(state, self.transport)
        points, masses, events = self.motion.move(
            atoms.points, atoms.masses, start=start, end=end
        )
        return state_of(np.zeros_like(state.masses), Atoms(points, masses)), events


def _with_remains(state: State, transport: Transport) -> Atoms:
    """The atoms as points, with the mass of each cell at the nearest of them."""
    atoms = atoms_of_state(state)
    geometry = transport.grid.geometry
    centres = geometry.points.reshape(-1, geometry.dimension)
    masses, weights = state.masses.ravel(), atoms.masses.copy()
    sums = atoms.masses[:, np.newaxis] * atoms.points
    nearest = np.argmax(centres @ atoms.points.T, axis=1)
    np.add.at(weights, nearest, masses)
    np.add.at(sums, nearest, masses[:, np.newaxis] * centres)
    return Atoms(normalize(sums), weights)
