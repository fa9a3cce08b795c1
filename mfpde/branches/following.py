"""Follow a stationary state as a parameter of the equation changes, its masses frozen.

Steps are of arclength, so that folds are passed (``arclength.py``); they are as long as the
branch is straight.  Rates, own-mass split rates and the direction of the branch are
watched, and each change of sign is located by root finding along the branch (``events.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, choice, read_only
from mfpde.branches.arclength import (
    CLOSE,
    EPS,
    FIRST_LENGTH,
    LONGEST_SHARE,
    LostBranchError,
    Place,
)
from mfpde.branches.atomic import AtomicPlace
from mfpde.branches.events import LocatedEvent, Segment, find_events
from mfpde.branches.parameters import PARAMETERS, check_values, equation_at
from mfpde.branches.result import (
    ATOMS,
    UNSTABLE,
    BranchEvent,
    BranchPoint,
    Continuation,
)
from mfpde.branches.smooth import SmoothPlace
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import Atoms, Density, Measure
from mfpde.stationary import polish
from mfpde.stationary.gibbs.finding import check_density, needed_degree
from mfpde.stationary.gibbs.state import GibbsProblem

LARGEST_TURN = 0.3
"""Angle in radians by which the tangent may turn on a step."""
LONGEST_MOVE = 0.2
"""A step moves atoms by this share of the kernel's width, or changes log rho by as much."""
MOST_STEPS = 4000


def continuation(
    equation: MeanFieldEquation,
    start: Atoms | Density | Measure,
    parameter: str,
    values: ArrayLike,
    *,
    switch: bool = False,
) -> Continuation:
    """Follow a stationary state of atoms, their masses frozen, or of a density in a parameter.

    Without diffusion the state is of atoms whose masses stay those of the start: a minimiser
    of E, whose masses change with the parameter, leaves the branch at once and is followed by
    :func:`mfpde.follow_minimizer`.  Atoms are polished at the first
    value, and followed to the last, through folds; each time that the branch passes one of the
    values it is recorded, polished.  With diffusion the state is a smooth density on a grid.
    Events are located to 1e-8 of the parameter, mostly to rounding: see
    :class:`mfpde.BranchEvent`; those of a density have no points.  Rotations that leave
    the equation as it is are taken out.

    Where a branch of broken symmetry meets one of more symmetry (event ``"pitchfork"``; with
    attention alone the uniform state, at the critical diffusion) it would only come back as
    its own reflected or rotated copy.  The branch of more symmetry is followed from there,
    towards the last of ``values``.

    Begin with
    ``continuation(equation, minimize(equation, Circle(256)).atoms, "weight_scale", [1.0, 0.95])``.

    Parameters
    ----------
    equation
        The equation.
    start
        Atoms beside a stationary state at ``values[0]``; with diffusion a density
        beside a stationary one, W1 at most 0.1, on a Circle, a Sphere or a Zonal grid (cells
        must resolve the stationary state; on a Zonal grid stability is that against zonal
        changes).  Where there is only one stationary density (descent; large diffusion) it may
        be anywhere.
    parameter
        ``"beta"`` of the only attention; ``"weight_scale"``: the weights of all perceptrons
        are those of ``equation`` times it; ``"diffusion"``.
    values
        Where states are wanted, increasing or decreasing, at least two.
    switch
        At a loss of stability go over to the branch that begins there: where an atom splits,
        to two halves of its mass; where a motion of the state becomes unstable, to the states
        with that symmetry broken.  If several directions become unstable at once (``dimension``
        of the event), to one of the branches that begin.

    Returns
    -------
    Continuation
        ``print`` it for a table.

    Raises
    ------
    ValueError
        For atoms with diffusion, or a density without it; an unknown parameter, or one that
        the equation does not have; values that are not monotone or out of the parameter's
        range; with diffusion: softmax, vector weights, or another grid than those; no
        stationary state beside the start at the first value (the message says at what
        distance Newton's method finds one).
    """
    choice("parameter", parameter, PARAMETERS)
    numbers = check_values(equation, parameter, values)
    place = _find_start(equation, start, parameter, numbers)
    ahead = place.along_parameter(np.sign(numbers[1] - numbers[0]))
    walk = _Walk(place, place.tangent(ahead), numbers, bool(switch))
    walk.run()
    return Continuation(
        equation=equation,
        parameter=parameter,
        values=read_only(np.array(walk.passed)),
        states=tuple(walk.states),
        events=tuple(walk.events),
        reason=walk.reason,
        is_complete=walk.is_complete,
        path=tuple(walk.path),
    )


def _find_start(
    equation: MeanFieldEquation, start: object, parameter: str, values: FloatArray
) -> Place:
    """Return the stationary state beside the start, of atoms or a density."""
    value, span = float(values[0]), float(np.abs(values[-1] - values[0]))
    first = equation_at(equation, parameter, value)
    if first.diffusion > 0:
        density = check_density(first, start, "start")
        last = equation_at(equation, parameter, float(values[-1]))
        degree = needed_degree([first, last], density)
        geometry, mass = density.geometry, density.total_mass
        field = GibbsProblem(first, geometry, mass, degree).coefficients(density)
        near = SmoothPlace(
            equation, parameter, span, field, value, geometry, mass, degree
        )
        return near.find_beside(density)
    if not isinstance(start, Atoms):
        raise ValueError(
            f"start = {start!r} must be Atoms: without diffusion the stationary states "
            "are atoms; a Density is followed with diffusion above 0"
        )
    polished = polish(first, start)
    if not polished.converged:
        raise ValueError(
            f"start: no stationary state beside these atoms at {parameter} = {value:g}; "
            f"{polished.message}"
        )
    points, masses = np.array(polished.atoms.points), np.array(polished.atoms.masses)
    return AtomicPlace(equation, parameter, span, points.ravel(), value, masses)


@dataclass(eq=False)
class _Walk:
    """A walk along a branch: its present place and direction, and what it has passed."""

    place: Place
    direction: FloatArray
    values: FloatArray
    switch: bool
    length: float = FIRST_LENGTH
    is_fresh: bool = False
    """Whether a branch begins here."""
    part: int = 0
    passed: list[float] = field(default_factory=list)
    states: list[Any] = field(default_factory=list)
    events: list[BranchEvent] = field(default_factory=list)
    path: list[BranchPoint] = field(default_factory=list)
    reason: str = ""
    is_complete: bool = False

    def run(self) -> None:
        """Follow the branch to its end."""
        name = self.place.parameter.replace("_", " ")
        self._record_state(self.place)
        for _ in range(MOST_STEPS):
            try:
                self._take_step()
            except LostBranchError:
                self.length /= 2
                if self.length < CLOSE:
                    self.reason = (
                        f"ended at {name} = {self.place.value:.9g}: Newton's method "
                        "finds no state beyond"
                    )
                    return
            if self._has_ended:
                end = self.passed[-1]
                self.is_complete = bool(end == self.values[-1])
                word = "reached" if self.is_complete else "came back to"
                self.reason = f"{name} {word} {end:g}"
                return
        self.reason = f"ended after {MOST_STEPS} steps"

    @property
    def _has_ended(self) -> bool:
        """Whether the last value is reached, or the first one for the second time."""
        ends = (self.values[0], self.values[-1])
        return len(self.passed) > 1 and self.passed[-1] in ends

    def _take_step(self) -> None:
        """Go a step along the branch, or to where another one is followed."""
        segment, tangent = self._find_segment()
        ahead = float(np.sign(self.values[-1] - self.place.value))
        found = find_events(segment, ahead, is_fresh=self.is_fresh)
        leaving = [
            e for e in found if e.joins_branch or (self.switch and e.begins_branch)
        ]
        if leaving:
            first, close = leaving[0], CLOSE * self.place.span
            leaving = [
                event
                for event in leaving
                if event.kind == first.kind
                and abs(event.place.value - first.place.value) <= close
            ]
            found = [e for e in found if e.distance < first.distance] + leaving
        # All is located before anything is recorded: nothing is recorded twice.
        places = self._locate_values(segment, found, goes_on=not leaving)
        if self.is_fresh:
            # Rates are zero here: what is unstable shows at the end of the step.
            unstable = segment.end.count_unstable()
            self._add_point(self.place.describe()._replace(unstable=unstable))
        for event, between in zip([None, *found], places, strict=True):
            if event is not None:
                is_switch = event is leaving[0] if leaving else False
                self._record_event(event, is_switch=is_switch)
            for place in between:
                self._record_state(place)
                if self._has_ended:
                    return
        if leaving:
            self._begin_branch(leaving, ahead)
            return
        turn = np.arccos(min(1.0, segment.end.inner(tangent, segment.direction)))
        self.length *= min(2.0, LARGEST_TURN / (2 * turn + EPS))
        self.place, self.direction, self.is_fresh = segment.end, tangent, False
        self._add_point(segment.end.describe())

    def _find_segment(self) -> tuple[Segment, FloatArray]:
        """Return the next step and the tangent at its end; ``LostBranchError`` if too long."""
        place, direction = self.place, self.direction
        speed = place.measure_move(direction) / LONGEST_MOVE
        fastest = max(1.0, abs(direction[-1]) / LONGEST_SHARE, speed)
        self.length = length = min(self.length, 1 / fastest)
        end = place.moved(length * direction).find_zero(direction)
        tangent = end.tangent(direction)
        # At a kink of the activation the branch has a corner.
        may_turn = self.is_fresh or length <= 2 * CLOSE
        if not may_turn and end.inner(tangent, direction) < np.cos(LARGEST_TURN):
            raise LostBranchError
        return Segment(place, direction, length, end), tangent

    def _locate_values(
        self, segment: Segment, found: list[LocatedEvent], *, goes_on: bool
    ) -> list[list[Place]]:
        """Return the places at values asked for, before, between and behind events."""
        cuts = [(0.0, segment.start.value)]
        cuts += [(event.distance, event.place.value) for event in found]
        if goes_on:
            cuts.append((segment.length, segment.end.value))
        passed, known = [], self.passed[-1]
        meetings = [event.distance for event in found if event.kind == "merge"]
        for (low, first), (high, last) in pairwise(cuts):
            is_between = (self.values - first) * (last - self.values) >= 0
            # The state at the start is kept already.
            is_near = np.abs(self.values - first) <= CLOSE * self.place.span
            is_known = is_near & (self.values == known)
            if high in meetings:
                # The united atoms are there at this value.
                is_known |= np.abs(self.values - last) <= CLOSE * self.place.span
            inside = np.sort(self.values[is_between & ~is_known])
            inside = inside if last > first else inside[::-1]
            passed.append([segment.find_value(float(v), low, high) for v in inside])
            known = inside[-1] if len(inside) else known
        return passed if goes_on else [*passed, []]

    def _begin_branch(self, events: list[LocatedEvent], ahead: float) -> None:
        """Go over to the branch that is met, or that begins, at events at one place."""
        place = events[0].place
        direction = place.along_parameter(ahead)
        near = self.values[np.abs(self.values - place.value) <= CLOSE * place.span]
        if events[0].kind == "merge" and len(near):
            place = replace(place, value=float(near[0]))
            self._record_state(place)
        if not events[0].joins_branch:
            atoms = sorted({atom for event in events for atom in event.atoms})
            place, direction = place.split(atoms)
        self.place, self.direction = place, direction
        self.length, self.is_fresh, self.part = FIRST_LENGTH, True, self.part + 1

    def _record_state(self, place: Place) -> None:
        """Keep the state at a value asked for, polished."""
        self.passed.append(place.value)
        self.states.append(place.polish())
        self._add_point(place.describe())

    def _record_event(self, event: LocatedEvent, *, is_switch: bool) -> None:
        """Keep an event, and the point of the path where it is."""
        point = event.place.describe()
        if event.kind not in ("split", "merge"):
            # These change no motion of whole atoms.
            point = point._replace(unstable=event.after)
        kept = BranchEvent(
            kind=event.kind,
            value=point.value,
            points=point.points[list(event.atoms) or slice(None)],
            before=event.before,
            after=event.after,
            index=len(self.states),
            is_switch=is_switch and event.kind != "merge",
            dimension=event.count_zero_rates(),
            counted=ATOMS if event.kind == "merge" else UNSTABLE,
        )
        if event.labels is not None:
            point = point._replace(points=point.points[event.labels])
        self._add_point(point._replace(event=len(self.events)))
        self.events.append(kept)

    def _add_point(self, point: BranchPoint) -> None:
        self.path.append(point._replace(part=self.part))
