"""Watching a run: at each save the verdict, the atoms, and their place in the tree."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.detection import ConcentrationReport, ball_radius, concentration
from mfpde.detection.field import VelocityField
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.arcs import angles_between
from mfpde.measures.events import Event
from mfpde.measures.measure import AnyMeasure, Atoms, Measure
from mfpde.tracking.flow import (
    AtRest,
    FieldsAtEnds,
    FlowBetween,
    MotionBetween,
    TimeSpan,
)
from mfpde.tracking.open_paths import Sighting
from mfpde.tracking.paths import Junction, SeenAtoms, in_order
from mfpde.tracking.track import Track
from mfpde.tracking.tree import Concentration, Tree, TreeMemory

FOLLOWED = ("atom", "forming", "unresolved")
CORE_RADII = 3.0
"""A region this close to a carried atom, in its own radii, is that atom."""


class EquationInTime(Protocol):
    """An equation, or layers of several: which one acts up to a time, and which from it on."""

    def equation_before(self, time: float) -> MeanFieldEquation:
        """Equation that acts up to ``time``."""

    def equation_after(self, time: float) -> MeanFieldEquation:
        """Equation that acts from ``time`` on."""

    @property
    def sharpest(self) -> MeanFieldEquation:
        """The equation of largest beta."""


class TrackerMemory(NamedTuple):
    """Everything by which a tracker goes on to the bit as if it had never stopped.

    Attributes
    ----------
    track
        What it has seen so far.
    before
        The measure of the last save; None before the first one.
    tree
        The junctions in the order in which they were found, and the open paths.
    events_taken
        How many of the solver's events have been taken up.
    """

    track: Track
    before: AnyMeasure | None
    tree: TreeMemory
    events_taken: int


class Tracker:
    """Follows atoms from save to save; :attr:`track` is what it has seen so far.

    Parameters
    ----------
    settings
        Settings of the atoms to follow.
    equation
        The equation of the run, or its layers: then each save is judged by the layer that
        acts up to it, and the flow between two saves goes over from the layer that acts
        after the first to the one that acts before the second.
    """

    def __init__(self, settings: Concentration, equation: EquationInTime) -> None:
        self.settings = settings
        self.equation = equation
        self.times: list[float] = []
        self.seen: list[SeenAtoms] = []
        self.verdicts: list[str] = []
        self._core = ball_radius(equation.sharpest)
        # In ascent two basins are never closer than two of these.
        self._reach = 2 * self._core
        self._tree = Tree(settings, reach=self._reach)
        self._before: AnyMeasure | None = None
        self._events_taken = 0

    @property
    def track(self) -> Track:
        """The track of the saves so far."""
        return Track(
            times=np.array(self.times),
            seen=tuple(self.seen),
            verdicts=tuple(self.verdicts),
            junctions=self.junctions,
            total_mass=1.0 if self._before is None else self._before.total_mass,
        )

    @property
    def junctions(self) -> tuple[Junction, ...]:
        """The junctions found so far, in their order."""
        return in_order(self._tree.junctions)

    @property
    def memory(self) -> TrackerMemory:
        """Everything that :meth:`recalled` needs to go on to the bit."""
        return TrackerMemory(
            self.track, self._before, self._tree.memory, self._events_taken
        )

    @classmethod
    def recalled(
        cls, settings: Concentration, equation: EquationInTime, memory: TrackerMemory
    ) -> Tracker:
        """Return the tracker that had this ``memory``, with its settings and equation."""
        tracker = cls(settings, equation)
        track = memory.track
        tracker.times = track.times.tolist()
        tracker.seen, tracker.verdicts = list(track.seen), list(track.verdicts)
        tracker._before = memory.before
        tracker._tree.recall(memory.tree)
        tracker._events_taken = memory.events_taken
        return tracker

    def observe(
        self, time: float, measure: AnyMeasure, events: Sequence[Event] = ()
    ) -> None:
        """Look at the next save.

        Parameters
        ----------
        time, measure
            The save.
        events
            All events that the solver has told of so far, in their order.
        """
        if self.times and time <= self.times[-1]:
            # A run that goes on from a save starts with that very save.
            return
        report = concentration(measure, self.equation.equation_before(time))
        sighting = sighting_of(measure, report, self.settings, core=self._core)
        told = [event for event in events[self._events_taken :] if event.time <= time]
        self._events_taken += len(told)
        self._add(time, measure, sighting, told=told)
        self.verdicts.append(report.verdict)

    def _add(
        self,
        time: float,
        measure: AnyMeasure,
        sighting: Sighting,
        *,
        told: Iterable[Event],
    ) -> None:
        if not self.times:
            identities = self._tree.begin(time, sighting)
        else:
            interval = TimeSpan(self.times[-1], time)
            motion = self._motion(measure, interval)
            identities = self._tree.advance(
                interval, sighting, motion=motion, events=told
            )
        kept = identities > 0
        whole = sighting.only(kept)
        seen = SeenAtoms(
            whole.points,
            whole.masses,
            whole.is_forming,
            identities[kept],
            arrived_masses=whole.arrived_masses,
        )
        self.times.append(time)
        self.seen.append(seen)
        self._before = measure

    def _motion(self, measure: AnyMeasure, times: TimeSpan) -> MotionBetween:
        before = self._before
        assert before is not None
        if isinstance(measure, Measure) and measure.geometry.axis is not None:
            # Atoms of a zonal measure lie at the poles and stay there.
            return AtRest()
        fields = FieldsAtEnds(
            VelocityField(self.equation.equation_after(times.start), before),
            VelocityField(self.equation.equation_before(times.end), measure),
        )
        return FlowBetween(fields, times, reach=self._core)

    @classmethod
    def resumed(
        cls,
        settings: Concentration,
        equation: EquationInTime,
        *,
        track: Track,
        states: Sequence[AnyMeasure],
    ) -> Tracker:
        """Go on where an earlier run was left.

        Parameters
        ----------
        settings, equation
            Those of the earlier run.
        track
            The track of the earlier run.
        states
            Its saved states, one for each time of the track.

        Raises
        ------
        ValueError
            If there is not one state for each time.
        """
        if len(states) != len(track.times):
            raise ValueError(
                f"states has {len(states)} entries for the {len(track.times)} times of "
                "the track: there must be one for each"
            )
        tracker = cls(settings, equation)
        exact = [j.event for j in track.junctions if j.is_exact]
        last = -np.inf
        for time, state, seen in zip(track.times, states, track.seen, strict=True):
            told = [event for event in exact if last < event.time <= time]
            sighting = Sighting(
                seen.points,
                seen.masses,
                seen.is_forming,
                arrived_masses=seen.arrived_masses,
                total_mass=state.total_mass,
            )
            tracker._add(float(time), state, sighting, told=told)
            last = float(time)
        tracker.verdicts = list(track.verdicts)
        return tracker


def followed(
    equation: EquationInTime,
    saves: Iterable[tuple[float, AnyMeasure]],
    settings: Concentration,
    *,
    events: Sequence[Event] = (),
) -> Track:
    """Follow the atoms of saved states, times and measures in their order."""
    tracker = Tracker(settings, equation)
    for time, measure in saves:
        tracker.observe(float(time), measure, events)
    return tracker.track


def sighting_of(
    measure: AnyMeasure,
    report: ConcentrationReport,
    settings: Concentration,
    *,
    core: float,
) -> Sighting:
    """Atoms that a measure carries, and those found in its density, heaviest first.

    Where a region of the report lies within ``core`` of a carried atom (or within three
    of its own radii) it is that atom, seen with its surroundings.  An unresolved region can be
    an atom seen before, but not a new one.
    """
    own = _carried(measure)
    regions = [
        region
        for region in report.regions
        if region.kind in FOLLOWED
        and not _is_near(region.position, own, max(core, CORE_RADII * region.radius))
    ]
    points = np.concatenate(
        [own.points, *(region.position[np.newaxis] for region in regions)]
    )
    masses = np.concatenate([own.masses, [region.mass for region in regions]])
    arrived = np.concatenate([own.masses, [region.arrived_mass for region in regions]])
    kinds = ["atom"] * len(own) + [region.kind for region in regions]
    beginning = ("atom", "forming") if settings.forming else ("atom",)
    forming = np.array([kind != "atom" for kind in kinds], dtype=bool)
    begins = np.array([kind in beginning for kind in kinds], dtype=bool)
    heaviest = np.argsort(-masses, kind="stable")
    kept = heaviest[masses[heaviest] >= settings.smallest_mass]
    return Sighting(
        points[kept],
        masses[kept],
        forming[kept],
        begins[kept],
        arrived_masses=arrived[kept],
        total_mass=measure.total_mass,
    )


def _carried(measure: AnyMeasure) -> Atoms:
    """The atoms beside a density; bare atoms are particles, whose crowds are searched."""
    if isinstance(measure, Measure):
        return measure.atoms
    return Atoms.none(measure.dimension)


def _is_near(point: FloatArray, atoms: Atoms, distance: float) -> bool:
    return bool((angles_between(point[np.newaxis], atoms.points) <= distance).any())
