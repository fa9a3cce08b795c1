"""Follow a stationary state as a parameter of the equation changes, its masses frozen.

Steps are of arclength, so that folds are passed (``arclength.py``), as long as the branch is
straight; what happens on each is located by root finding along it (``events.py``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, read_only
from mfpde.branches.arclength import CLOSE, EPS, FIRST_LENGTH, LostBranchError, Place
from mfpde.branches.atomic import AtomicPlace
from mfpde.branches.events import LocatedEvent, Segment, find_events
from mfpde.branches.parameters import check_values, equation_at
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
from mfpde.stationary.densities import check_density, needed_degree
from mfpde.stationary.gibbs_states import GibbsProblem

LARGEST_TURN = 0.3
"""Angle in radians by which the tangent may turn on a step."""
LONGEST_MOVE, LONGEST_SHARE = 0.2, 0.1
"""A step moves atoms by at most this part of the kernel's width, p by this one of the span."""
MOST_STEPS = 4000


def continuation(
    equation: MeanFieldEquation,
    start: Atoms | Density | Measure,
    parameter: str,
    values: ArrayLike,
) -> Continuation:
    """Follow a stationary state of atoms, their masses frozen, or of a density in a parameter.

    Without diffusion the state is of atoms whose masses stay those of the start: a minimiser
    of E, whose masses change with the parameter, leaves the branch at once and is followed by
    :func:`mfpde.follow_minimizer`.  With diffusion it is a smooth density on a grid.  It is
    followed from the first value to the last, through folds, and recorded, polished, each time
    that one of the values is passed.  Events (:class:`mfpde.BranchEvent`) are located to 1e-8 of
    the parameter, mostly to rounding.  Rotations that leave the equation as it is are taken out.

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
        changes); in descent, where there is only one, any density.
    parameter
        ``"beta"`` of the only attention; ``"weight_scale"``: the weights of all perceptrons
        are those of ``equation`` times it; ``"diffusion"``.
    values
        Where states are wanted, increasing or decreasing, at least two.

    A ``ValueError`` are atoms with diffusion, or a density without it; a parameter that the
    equation does not have, or values out of its range or not monotone; with diffusion softmax,
    vector weights, or another grid; and no stationary state beside the start at the first value
    (the message says at what distance Newton's method finds one).
    """
    numbers = check_values(equation, parameter, values)
    walk = _Walk(_find_start(equation, start, parameter, numbers), numbers)
    reason = walk.run()
    return Continuation(
        equation=equation,
        parameter=parameter,
        values=read_only(np.array(walk.passed)),
        states=tuple(walk.states),
        events=tuple(walk.events),
        reason=reason,
        is_complete=walk.passed[-1] == numbers[-1],
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


class _Walk:
    """A walk along a branch: its present place and direction, and what it has passed."""

    def __init__(self, place: Place, values: FloatArray) -> None:
        self.values = values
        self.passed: list[float] = []
        self.states: list[Any] = []
        self.events: list[BranchEvent] = []
        self.path: list[BranchPoint] = []
        self._record_state(place)
        self._begin_branch(place)

    def run(self) -> str:
        """Follow the branch to its end, and return why it ends."""
        name = self.place.parameter.replace("_", " ")
        for _ in range(MOST_STEPS):
            try:
                segment, tangent = self._find_segment()
                found = find_events(segment, self.values, self._ahead(self.place))
            except LostBranchError:
                self.length /= 2
                if self.length < CLOSE:
                    end = f"ended at {name} = {self.place.value:.9g}"
                    return f"{end}: Newton's method finds no state beyond"
                continue
            self._take_step(segment, tangent, found)
            if self._has_ended:
                is_last = self.passed[-1] == self.values[-1]
                word = "reached" if is_last else "came back to"
                return f"{name} {word} {self.passed[-1]:g}"
        return f"ended after {MOST_STEPS} steps"

    @property
    def _has_ended(self) -> bool:
        """Whether the last value is reached, or the first one for the second time."""
        ends = (self.values[0], self.values[-1])
        return len(self.passed) > 1 and self.passed[-1] in ends

    def _ahead(self, place: Place) -> float:
        """Return the sign of the way from a place to the last value."""
        return float(np.sign(self.values[-1] - place.value))

    def _begin_branch(self, place: Place) -> None:
        """Go on from a place towards the last value."""
        self.place, self.length = place, FIRST_LENGTH
        self.direction = place.tangent(place.along_parameter(self._ahead(place)))

    def _find_segment(self) -> tuple[Segment, FloatArray]:
        """Return the next step and the tangent at its end; ``LostBranchError`` if too long.

        A step that would pass the first or the last value ends there.
        """
        place, direction = self.place, self.direction
        moves = place.measure_move(direction) / LONGEST_MOVE
        speed = max(1.0, moves, abs(direction[-1]) / LONGEST_SHARE)
        self.length = length = min(self.length, 1 / speed)
        goal = (self.values.max if direction[-1] > 0 else self.values.min)()
        limit = (goal - place.value) / (direction[-1] * place.span)
        if limit > length:
            end = place.moved(length * direction).find_zero(direction)
        else:
            end = place.moved(limit * direction).find_state(goal)
            length = place.inner(place.direction_to(end), direction)
        tangent = end.tangent(direction)
        # At a kink of the activation the branch has a corner.
        is_straight = end.inner(tangent, direction) >= np.cos(LARGEST_TURN)
        if not is_straight and length > 2 * CLOSE:
            raise LostBranchError
        return Segment(place, direction, length, end), tangent

    def _take_step(
        self, segment: Segment, tangent: FloatArray, found: list[LocatedEvent]
    ) -> None:
        """Record what is found on a step, up to its end or to another branch."""
        for event in found:
            if event.kind == "value":
                self._record_state(event.place)
            else:
                self._record_event(event)
            if self._has_ended:
                return
        if found and found[-1].beyond is not None:
            self._join_branch(found[-1].place, found[-1].beyond)
            return
        end = segment.end
        turn = np.arccos(min(1.0, end.inner(tangent, segment.direction)))
        self.length *= min(2.0, LARGEST_TURN / (2 * turn + EPS))
        self.place, self.direction = end, tangent
        self._add_point(end)

    def _join_branch(self, place: Place, beyond: Place) -> None:
        """Go over to the branch that is met at ``place``, and record values up to ``beyond``."""
        self._add_point(place, unstable=beyond.count_unstable())
        ways = self._ahead(place) * (self.values - place.value)
        is_before = ways <= abs(beyond.value - place.value)
        for value in self.values[is_before & (ways >= -CLOSE * place.span)]:
            self._record_state(place.find_state(float(value)))
        self._begin_branch(beyond)

    def _record_state(self, place: Place) -> None:
        """Keep the state at a value asked for, polished."""
        self.passed.append(place.value)
        self.states.append(place.polish())
        self._add_point(place)

    def _record_event(self, event: LocatedEvent) -> None:
        """Keep an event, and the point of the path where it is."""
        point = event.place.describe()
        kept = BranchEvent(
            kind=event.kind,
            value=point.value,
            points=point.points[list(event.atoms) or slice(None)],
            before=event.before,
            after=event.after,
            index=len(self.states),
            dimension=event.count_zero_rates(),
            counted=ATOMS if event.kind == "merge" else UNSTABLE,
        )
        self.events.append(kept)
        if event.kind not in ("split", "merge"):
            # These change no motion of whole atoms.
            point = point._replace(unstable=event.after)
        if event.labels is not None:
            point = point._replace(points=point.points[event.labels])
        self.path.append(point)

    def _add_point(self, place: Place, **changes: Any) -> None:
        self.path.append(place.describe()._replace(**changes))
