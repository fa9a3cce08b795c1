"""Watching a run: at each save the verdict, the atoms, and their place in the tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, Protocol

import numpy as np

from mfpde.detection import ConcentrationReport, ball_radius, concentration
from mfpde.equation import MeanFieldEquation
from mfpde.measures.events import Event
from mfpde.measures.measure import AnyMeasure, Atoms, Measure, atoms_of
from mfpde.tracking.flow import FlowBetween, Rest, TimeSpan
from mfpde.tracking.paths import SeenAtoms
from mfpde.tracking.track import Track
from mfpde.tracking.tree import Concentration, OpenPath, Tree


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
    paths
        The paths that have not ended, by their identities.
    events_taken
        How many of the solver's events have been taken up.
    """

    track: Track = Track(np.empty(0), (), (), ())
    before: AnyMeasure | None = None
    paths: Mapping[int, OpenPath] = MappingProxyType({})
    events_taken: int = 0


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
    memory
        That of the tracker in whose place this one goes on.
    """

    def __init__(
        self,
        settings: Concentration,
        equation: EquationInTime,
        memory: TrackerMemory | None = None,
    ) -> None:
        self.settings = settings
        self.equation = equation
        self.memory = TrackerMemory() if memory is None else memory
        self._core = ball_radius(equation.sharpest)

    @property
    def track(self) -> Track:
        """The track of the saves so far."""
        return self.memory.track

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
        track, before, paths, taken = self.memory
        times = TimeSpan(track.times[-1] if len(track.times) else -np.inf, time)
        if times.end <= times.start:
            # A run that goes on from a save starts with that very save.
            return
        report = concentration(measure, self.equation.equation_before(time))
        atoms = find_atoms(measure, report, self.settings.smallest_mass)
        told = [event for event in events[taken:] if event.time <= time]
        # In ascent two basins are never closer than two radii of a core.
        tree = Tree(
            self.settings, reach=2 * self._core, junctions=track.junctions, paths=paths
        )
        named = tree.advance(
            times,
            atoms,
            motion=self._find_motion(before, measure, times),
            events=told,
            total_mass=measure.total_mass,
        )
        seen = Track(
            times=np.append(track.times, time),
            seen=(*track.seen, named),
            verdicts=(*track.verdicts, report.verdict),
            junctions=tree.junctions,
            total_mass=measure.total_mass,
        )
        self.memory = TrackerMemory(seen, measure, tree.paths, taken + len(told))

    def _find_motion(
        self, before: AnyMeasure | None, measure: AnyMeasure, times: TimeSpan
    ) -> Rest:
        """Return how points move from the last save to this one."""
        if before is None:
            return Rest()
        if isinstance(measure, Measure) and measure.geometry.axis is not None:
            # Atoms of a zonal measure lie at the poles and stay there.
            return Rest()
        return FlowBetween(
            self.equation.equation_after(times.start).field(before).velocity,
            self.equation.equation_before(times.end).field(measure).velocity,
            times,
            reach=self._core,
        )


def follow_atoms(
    equation: EquationInTime,
    saves: Iterable[tuple[float, AnyMeasure]],
    settings: Concentration,
    *,
    events: Sequence[Event] = (),
) -> Track:
    """Return the track of saved states, times and measures in their order."""
    tracker = Tracker(settings, equation)
    for time, measure in saves:
        tracker.observe(float(time), measure, events)
    return tracker.track


def find_atoms(
    measure: AnyMeasure, report: ConcentrationReport, smallest_mass: float
) -> SeenAtoms:
    """Return the atoms of a measure without identities, heaviest first.

    They are those that it carries beside a density, with their own places and masses, and
    those that are found in the density, formed or forming.
    """
    # Bare atoms are particles, whose crowds are searched.
    has_own = isinstance(measure, Measure)
    own = atoms_of(measure) if has_own else Atoms.none(measure.dimension)
    found = [region for region in report.clusters if not (len(own) and region.is_exact)]
    places = [*own.points, *(region.position for region in found)]
    points = np.reshape(places, (len(places), measure.dimension))
    masses = np.array([*own.masses, *(region.mass for region in found)])
    arrived = np.array([*own.masses, *(region.arrived_mass for region in found)])
    is_formed = [True] * len(own) + [region.kind == "atom" for region in found]
    kept = np.argsort(-masses, kind="stable")
    kept = kept[masses[kept] >= smallest_mass]
    return SeenAtoms(
        points[kept],
        masses[kept],
        ~np.array(is_formed, bool)[kept],
        np.zeros(len(kept), dtype=np.int64),
        arrived[kept],
    )
