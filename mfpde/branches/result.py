"""The result of :func:`mfpde.continuation`: states along a branch, and the events on it.

With diffusion the states are smooth densities with their stability, without it atoms.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.notebook import Printed
from mfpde.stationary import PolishedAtoms, StationaryDensity

_NAMES = {"beta": "beta", "weight_scale": "weight scale", "diffusion": "diffusion"}


StationaryState = PolishedAtoms | StationaryDensity


@dataclass(frozen=True, eq=False)
class BranchEvent:
    """An event on a branch: a split, a merge, a change of stability, a fold or a pitchfork.

    Attributes
    ----------
    kind
        ``"split"``: the rate at which parts of an atom leave it, own mass included, crosses
        zero; ``"merge"``: two atoms meet, and go on as one; ``"stability"``: a rate of motion
        of the state, an eigenvalue of the Hessian, crosses zero; ``"fold"``: the branch turns
        back in the parameter; ``"pitchfork"``: a branch of broken symmetry meets one of more
        symmetry, such as the uniform state, beyond which it would only repeat itself,
        reflected or rotated: the branch of more symmetry is followed from here on.
    value
        The value of the parameter at the event.
    points
        The atom that splits, the point where atoms meet, else all atoms, (n, d); none,
        (0, d), for a density: what happens to it happens everywhere.
    unstable_before, unstable_after
        How many rates of this kind (of that atom, for a split) are unstable before and after
        it, in the order of the branch; for a merge the numbers of atoms that meet and of
        those that go on.  Rotations of the equation are not counted; for a density on a zonal
        grid directions that are zonal too are.
    index
        How many states of the branch come before it.
    is_switch
        Whether another branch is followed from here on: the halves of the atom, the states
        that have lost the symmetry, or at a pitchfork those that have it.
    dimension
        In how many independent directions a rate is zero there; 1 for a merge.  If it is more,
        as for an atom on the axis of all neurons on S^2, which opens to a ring, branches
        begin in all directions of that space: the one that is followed is any one of them.
    """

    kind: str
    value: float
    points: FloatArray
    unstable_before: int
    unstable_after: int
    index: int = 0
    is_switch: bool = False
    dimension: int = 1

    @property
    def is_loss(self) -> bool:
        """Whether stability is lost, in the order of the branch."""
        lost = self.unstable_after > self.unstable_before
        return lost and self.kind != "merge"

    def __str__(self) -> str:
        what = {
            "split": "an atom splits" if self.is_loss else "an atom holds together",
            "merge": f"{self.unstable_before} atoms meet",
            "stability": "stability is lost" if self.is_loss else "stability is gained",
            "fold": "the branch folds",
            "pitchfork": "the branch meets one of more symmetry, which is followed",
        }[self.kind]
        if self.kind != "merge":
            what += (
                f"; unstable directions {self.unstable_before} -> {self.unstable_after}"
            )
        if self.kind == "pitchfork":
            return what
        if self.is_switch and self.dimension > 1:
            what += f"; one of the new branches, of {self.dimension} directions, is followed"
        elif self.is_switch:
            what += "; the new branch is followed"
        return what


class BranchPoint(NamedTuple):
    """A point of the walk along a branch, which pictures join by a line.

    Attributes
    ----------
    value
        The parameter.
    points
        Positions of the atoms, (n, d); none for a density.
    order
        Length of the mean of x under a density of mass 1; NaN for atoms.
    energy
        E of atoms; NaN for a density, and where there is none.
    rate, split_rate
        Largest rate of motion (of a density: minus the least eigenvalue of its Hessian), and
        of splitting; NaN where there is none.  Above zero is unstable.
    unstable
        Number of unstable directions from here on to the next point.
    part
        Number of the part that the point belongs to: a new one begins with a merge and
        with each branch that is gone over to.
    event
        Index of the event at this point, from 0; None for most points.
    """

    value: float
    points: FloatArray
    rate: float
    unstable: int
    order: float = np.nan
    energy: float = np.nan
    split_rate: float = np.nan
    part: int = 0
    event: int | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Continuation(Printed):
    """A branch of stationary states.

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
        The states: :class:`mfpde.PolishedAtoms`, or :class:`mfpde.StationaryDensity`.
    events
        The events on the branch, in its order.
    reason
        Why the branch ends.
    is_complete
        Whether it reached the last value that was asked for.
    path
        The points of the walk, states and events among them, close enough to be joined by
        straight lines.
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
        """E of atoms, the free energy of densities; NaN where there is none."""
        return np.array([_energy(state) for state in self.states])

    @property
    def residuals(self) -> FloatArray:
        """Residuals of the states (of atoms: relative ones)."""
        return np.array(
            [
                s.relative_residual if isinstance(s, PolishedAtoms) else s.residual
                for s in self.states
            ]
        )

    @property
    def facts(self) -> dict[str, str]:
        """Equation, parameter, states and events, for a notebook."""
        name = _NAMES[self.parameter]
        events = {f"{name} = {e.value:.9g}": f"{e.kind}: {e}" for e in self.events}
        return {
            "equation": str(self.equation),
            "convention": self.equation.convention,
            "states": f"{len(self.states)} in {name}",
            "end": self.reason,
            **events,
        }

    def __str__(self) -> str:
        name = _NAMES[self.parameter]
        kind, energy, margins, frozen = "atoms", "energy", "", ""
        if any(isinstance(state, StationaryDensity) for state in self.states):
            kind, energy = f"{'|mean x|':>10}", "free energy"
        else:
            margins = f" {'strict margin':>13} {'split margin':>13}"
            frozen = ", masses frozen"
        lines = [
            f"{self.equation}, {self.equation.convention}",
            f"branch in {name}{frozen}: {len(self.states)} states, "
            f"{len(self.events)} events; {self.reason}",
            f"{name:>14} {kind} {energy:>18} {'residual':>9} unstable{margins}",
        ]
        for number, (value, state) in enumerate(
            zip(self.values, self.states, strict=True)
        ):
            lines += self._events_at(number)
            lines.append(f"{value:14.9g} {_row(state)}")
        return "\n".join(lines + self._events_at(len(self.states)))

    def _events_at(self, number: int) -> list[str]:
        here = [event for event in self.events if event.index == number]
        return [f"{event.value:14.9g} {event.kind}: {event}" for event in here]


def _energy(state: StationaryState) -> float:
    if isinstance(state, StationaryDensity):
        return state.free_energy
    found = state.equation.energy(state.atoms)
    return np.nan if found is None else found


def _row(state: StationaryState) -> str:
    energy = _energy(state)
    if isinstance(state, StationaryDensity):
        return (
            f"{state.order:10.6f} {energy:18.12g} {state.residual:9.1e} "
            f"{state.unstable_dimension:8d}"
        )
    unstable = int((state.shift_rates.real > state.shift_rounding).sum())
    return (
        f"{len(state.atoms):5d} {energy:18.12g} {state.relative_residual:9.1e} "
        f"{unstable:8d} {state.strict_margin:13.5g} {state.split_margin:13.5g}"
    )
