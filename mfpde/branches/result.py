"""The result of following a state: states along a branch, and the events on it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.notebook import Printed, format_table
from mfpde.stationary import Minimum, PolishedAtoms, StationaryDensity

StationaryState = PolishedAtoms | StationaryDensity | Minimum

UNSTABLE, ATOMS = "unstable directions", "atoms"
WORDS = {
    "split": "an atom splits",
    "merge": "atoms meet",
    "fold": "the branch folds",
    "stability": "stability is lost",
    "pitchfork": "the branch meets one of more symmetry, which is followed",
    "birth": "an atom is born",
    "death": "an atom dies",
}
GAINS = {"split": "an atom holds together", "stability": "stability is gained"}
"""Words where the number of unstable directions falls."""


@dataclass(frozen=True, eq=False)
class BranchEvent:
    """An event on a branch, or on the way of a minimiser.

    Attributes
    ----------
    kind
        On a branch, masses frozen: ``"split"``: the rate at which parts of an atom leave it, own
        mass included, crosses zero; ``"merge"``: atoms meet, and go on as one;
        ``"stability"``: a rate of motion of the state, an eigenvalue of the Hessian, crosses
        zero; ``"fold"``: the branch turns back in the parameter; ``"pitchfork"``: it meets one of
        more symmetry, which is followed from here on (:func:`mfpde.continuation`).  Of a
        minimiser, masses free: ``"birth"`` or ``"death"`` of an atom, whose mass is 0 there;
        ``"split"`` of one into two, or ``"merge"`` of two.
    value
        The value of the parameter at the event.
    points
        The atom that splits, is born or dies, the point where atoms meet (of a minimiser both
        parts, beside the event), else all atoms, (n, d); none, (0, d), for a density.
    before, after
        How many rates of this kind (of that atom, for a split) are unstable, in the order of the
        branch; for a merge the numbers of atoms that meet and of those that go on.  Rotations of
        the equation are not counted; for a density on a zonal grid directions that are zonal too
        are.  Of a minimiser: its number of atoms.
    index
        How many states of the branch come before it.
    dimension
        In how many independent directions a rate is zero there; 1 for a merge.  If it is more,
        as for an atom on the axis of all neurons on S^2, which opens to a ring, branches
        begin in all directions of that space.
    counted
        What ``before`` and ``after`` count: ``"unstable directions"`` or ``"atoms"``.
    """

    kind: str
    value: float
    points: FloatArray
    before: int
    after: int
    index: int = 0
    dimension: int = 1
    counted: str = UNSTABLE

    def __str__(self) -> str:
        words = WORDS[self.kind]
        if self.after <= self.before:
            words = GAINS.get(self.kind, words)
        if self.dimension > 1:
            words += f", in one of {self.dimension} directions"
        return f"{words}; {self.counted} {self.before} -> {self.after}"


class BranchPoint(NamedTuple):
    """A point of the walk along a branch, which pictures join by a line.

    At a ``value`` of the parameter: ``points`` (n, d) of the atoms; the largest ``rate`` of motion
    (of a density: minus the least eigenvalue of its Hessian) and ``split_rate``, unstable above
    zero; the number of ``unstable`` directions from here on to the next point; the ``order``, the
    length of the mean of x, of a density of mass 1; and the ``energy`` E of atoms.  NaN, or no
    points, where there is none.
    """

    value: float
    points: FloatArray
    rate: float
    unstable: int
    order: float = np.nan
    energy: float = np.nan
    split_rate: float = np.nan


@dataclass(frozen=True, eq=False, repr=False)
class Continuation(Printed):
    """A branch of stationary states, or the minimisers along a parameter.

    Attributes
    ----------
    equation
        The equation as it was given; each state holds its own.
    parameter
        Which parameter changes.
    values
        The parameter at each state, (n,), in the order of the branch: those asked for, once
        for each time that the branch passes them.
    states
        The states: :class:`mfpde.PolishedAtoms`, :class:`mfpde.StationaryDensity`, or, of
        :func:`mfpde.follow_minimizer`, :class:`mfpde.Minimum`.
    events
        The events on the branch, in its order.
    reason
        Why the branch ends.
    is_complete
        Whether it reached the last value that was asked for.
    path
        The points of the walk, states and events among them, close enough to be joined by
        straight lines; of minimisers the states alone.
    """

    equation: MeanFieldEquation
    parameter: str
    values: FloatArray
    states: tuple[StationaryState, ...]
    events: tuple[BranchEvent, ...]
    reason: str
    is_complete: bool
    path: tuple[BranchPoint, ...] = field(default=(), repr=False)

    @property
    def energies(self) -> FloatArray:
        """E of atoms and minimisers, the free energy of densities; NaN where there is none."""
        return np.array([_measure_state(state)[0] for state in self.states])

    @property
    def residuals(self) -> FloatArray:
        """Residuals of the states (of atoms: relative ones; of minimisers: the gaps)."""
        return np.array([_measure_state(state)[1] for state in self.states])

    def __str__(self) -> str:
        name, first = self.parameter.replace("_", " "), self.states[0]
        kind = ", masses frozen" if isinstance(first, PolishedAtoms) else ""
        kind = " of minimisers, masses free" if isinstance(first, Minimum) else kind
        rows = [
            {name: f"{value:.9g}", **_cells(state)}
            for value, state in zip(self.values, self.states, strict=True)
        ]
        table = format_table(list(rows[0]), [list(row.values()) for row in rows])
        title, *lines = table.splitlines()
        for event in reversed(self.events):
            lines.insert(event.index, f"{event.value:.9g}  {event.kind}: {event}")
        head = [
            f"{self.equation}, {self.equation.convention}",
            f"branch in {name}{kind}: {len(self.states)} states, {len(self.events)} events; "
            f"{self.reason}",
        ]
        return "\n".join([*head, title, *lines])


def _measure_state(state: StationaryState) -> tuple[float, float]:
    """Return the energy of a state and its residual."""
    if isinstance(state, StationaryDensity):
        return state.free_energy, state.residual
    if isinstance(state, Minimum):
        return state.energy, state.gap
    energy = state.equation.energy(state.atoms)
    return np.nan if energy is None else energy, state.relative_residual


def _cells(state: StationaryState) -> dict[str, str]:
    """Return what a table says of a state, by the titles of its columns."""
    energy, residual = _measure_state(state)
    numbers = {"energy": f"{energy:.12g}", "residual": f"{residual:.1e}"}
    if isinstance(state, StationaryDensity):
        count = str(state.unstable_dimension)
        return {"|mean x|": f"{state.order:.6f}", **numbers, "unstable": count}
    if isinstance(state, Minimum):
        masses = [] if state.atoms is None else [f"{m:.4f}" for m in state.atoms.masses]
        found = str(len(masses) or state.kind)
        return {"atoms": found, **numbers, "masses": " ".join(masses)}
    return {
        "atoms": str(len(state.atoms)),
        **numbers,
        "unstable": str(int((state.shift_rates.real > state.rounding).sum())),
        "strict margin": f"{state.strict_margin:.5g}",
        "split margin": f"{state.split_margin:.5g}",
    }
