"""Atoms in time: trees that are known come back, and runs merge when they must."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from drawn import placed, sighting
from equations import ascent, pull
from oracles.measure_cases import TRACKED_RUNS, tracked_run

import mfpde
from mfpde.measures import Event
from mfpde.tracking import Concentration, FlowBetween, SeenAtoms, Track, Tracker
from validation.references.two_atoms import merge_time

REACH = 0.2


def are_close(points: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Which points share a basin where nothing moves: atoms that could be one."""
    return np.arccos(np.clip(points @ others.T, -1, 1)) <= REACH


REST = FlowBetween(np.zeros_like, np.zeros_like, are_close, 0.0, 1.0)
STEP = 0.02
SHARP = ascent(1 / REACH**2)
"""Two radii of its cores are 1 / sqrt(beta)."""


def grown(
    times: np.ndarray, seen: list[SeenAtoms], events: list[Event], **options: int
) -> Track:
    """The track of these sightings, between which nothing moves."""
    tree, found = Tracker(Concentration(**options), SHARP), []
    for start, end, atoms in zip([-np.inf, *times[:-1]], times, seen, strict=True):
        told = [event for event in events if start < event.time <= end]
        rest = replace(REST, start=float(start), end=float(end))
        found.append(tree.advance(atoms, rest, events=told))
    return Track(times, tuple(found), ("",) * len(times), tree.junctions)


@pytest.mark.parametrize("are_left_out", [False, True])
@pytest.mark.parametrize("seed", range(12))
def test_a_merge_tree_is_found_from_its_samples(seed, are_left_out) -> None:
    """Two of three atoms meet at their centre at t = 1, what they are meets the third at t = 2.

    Sightings that are left out change no identity: what is not seen is expected back.
    """
    generator, times = np.random.default_rng(seed), np.arange(0.0, 3.0, STEP)
    masses = generator.uniform(0.1, 1.0, 3)
    masses /= masses.sum()
    places = np.cumsum(generator.uniform(0.7, 0.9, 3))
    pair, whole = (np.average(places[:n], weights=masses[:n]) for n in (2, 3))
    sightings = []
    for index, time in enumerate(times):
        ways = [
            *([place, pair, whole] for place in places[:2]),
            [places[2]] * 2 + [whole],
        ]
        angles = np.array([np.interp(time, [0.0, 1.0, 2.0], way) for way in ways])
        groups = [[[0], [1], [2]], [[0, 1], [2]], [[0, 1, 2]]][int(time)]
        there, held = angles[[g[0] for g in groups]], [masses[g].sum() for g in groups]
        order = np.argsort(held)[::-1]
        # Atoms that are about to merge are seen: unseen, they would be one already.
        if are_left_out and index % 3 == 1 and (np.diff(there) > REACH).all():
            order = order[generator.random(len(order)) < 0.7]
        sightings.append(
            sighting(placed(there[order], 2 + seed % 2), np.array(held)[order])
        )
    track = grown(times, sightings, [], longest_gap=2)
    names = track.seen[0].identities[np.argsort(np.argsort(masses)[::-1])]
    first, second = track.junctions
    assert set(first.parents) == set(names[:2])
    assert set(second.parents) == {*first.children, names[2]}
    is_known = np.ones(len(times), dtype=bool)
    for time, junction, mass in ((1, first, masses[:2].sum()), (2, second, 1.0)):
        assert junction.event.kind == "merge"
        assert junction.earliest <= time <= junction.latest
        assert junction.event.masses.sum() == pytest.approx(mass, rel=1e-12)
        assert track.paths[junction.children[0]].masses == pytest.approx(
            mass, rel=1e-12
        )
        is_known &= (times <= junction.earliest) | (times >= junction.latest)
    np.testing.assert_array_equal(
        track.counts[is_known], 3 - times.astype(int)[is_known]
    )


# --- matching ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("earlier", "later", "masses", "expected"),
    [
        # The nearest pair of all, (1, 0), would leave atom 0 without a partner.
        ([0.0, 0.16], [0.11, 0.3], ([0.5, 0.5], [0.5, 0.5]), {0: [0], 1: [1]}),
        # Masses decide where places do not.
        ([0.0, 0.02], [0.01, 0.011], ([0.7, 0.3], [0.3, 0.7]), {1: [0], 0: [1]}),
        # What does not add up is no merge.
        ([0.0, 0.15], [0.0], ([0.5, 0.4], [0.5]), {0: [0]}),
        ([0.0, 0.15], [0.0], ([0.5, 0.4], [0.88]), {0: [0, 1]}),
        # A light atom out of sight is not in the heavy one, which did not grow by it ...
        ([0.0, 0.15], [0.0], ([0.6, 0.03], [0.6]), {0: [0]}),
        # ... unless the flow has brought it there: its mass was counted before.
        ([1.0, 1.05], [1.0], ([0.6, 0.03], [0.6]), {0: [0, 1]}),
        # Nothing that rests far away is swallowed, although masses add up.
        ([1.0, 2.5], [1.0], ([0.5, 0.13], [0.63]), {0: [0]}),
    ],
)
def test_atoms_are_matched(earlier, later, masses, expected) -> None:
    """Which atoms at angles of the circle are in which later ones, where nothing moves."""
    seen = [
        sighting(placed(angles, 2), held)
        for angles, held in zip((earlier, later), masses, strict=True)
    ]
    track, found = grown(np.arange(2.0), seen, []), {}
    for place, identity in enumerate(track.seen[1].identities):
        parents = track.paths[identity].parents or (identity,)
        found[place] = [int(parent) - 1 for parent in sorted(parents)]
    assert found == expected


BOTH = sighting(placed([0.0, 2.0], 2), [0.6, 0.4])
LIGHT, GROWN, WHOLE = (sighting(placed([0.0], 2), [mass]) for mass in (0.6, 0.7, 1.0))


@pytest.mark.parametrize(
    ("seen", "gap", "kinds", "counts"),
    [
        ([BOTH, BOTH, *[LIGHT] * 3, BOTH], 2, ["death", "birth"], [2, 2, 1, 1, 1, 2]),
        ([BOTH, BOTH, *[LIGHT] * 3, BOTH], 3, [], [2] * 6),
        # All mass is in another place: what is seen later is not the atom that was lost.
        ([BOTH, WHOLE, WHOLE, BOTH], 5, ["death", "birth"], [2, 1, 1, 2]),
        ([BOTH, GROWN, GROWN, BOTH], 5, [], [2] * 4),
        ([BOTH, LIGHT, LIGHT], 5, ["death"], [2, 1, 1]),
    ],
    ids=["gone too long", "gone", "no room", "in a crowd", "at the last save"],
)
def test_an_atom_unseen_has_died_or_comes_back(seen, gap, kinds, counts) -> None:
    track = grown(np.arange(float(len(seen))), seen, [], longest_gap=gap)
    assert [event.kind for event in track.events] == kinds
    np.testing.assert_array_equal(track.counts, counts)
    if counts[-1] == 2:
        assert track.seen[-1].identities.tolist() == [1, 3 if kinds else 2]
    if kinds:
        death, last = track.junctions[0], counts.index(1) - 1
        assert (death.earliest, death.latest, death.parents) == (last, last + 1, (2,))
        alive = track.paths[2].is_alive(np.array([last + 0.4, last + 0.6]))
        assert alive.tolist() == [True, False]
        assert f"died at t = {last}.5 ± 0.5" in str(track)
    elif GROWN in seen:
        # It has the mass that is left.
        assert track.paths[2].masses == pytest.approx([0.4, 0.3, 0.3, 0.4])
        assert track.paths[2].is_seen.tolist() == [True, False, False, True]


def test_an_atom_is_born_when_it_is_first_seen_whatever_the_solver_tells() -> None:
    wide, narrow = (sighting(np.eye(1, 2), [0.6], is_forming=f) for f in (True, False))
    nothing = sighting(np.empty((0, 2)), [])
    birth = Event("birth", 2.25, np.eye(2)[:1], np.array([0.55]))
    track = grown(np.arange(4.0), [nothing, wide, wide, narrow], [birth])
    (junction,) = track.junctions
    assert (junction.earliest, junction.latest) == (0.0, 1.0)
    assert junction.children == (1,)
    assert track.paths[1].times.tolist() == [0.5, 1.0, 2.0, 3.0]


def test_a_released_atom_has_ended_and_what_forms_in_its_place_is_born() -> None:
    one = sighting(np.eye(2)[:1], [0.6])
    two = sighting(placed([-0.1, 0.1], 2), [0.3, 0.3], is_forming=True)
    fission = Event("fission", 0.25, np.eye(2)[:1], np.array([0.6]))
    track = grown(np.arange(2.0), [one, two], [fission])
    first, *births = track.junctions
    assert (first.event.kind, first.parents, first.children) == ("fission", (1,), ())
    assert [birth.children for birth in births] == [(2,), (3,)]
    assert track.paths[1].ends == 0.25


@pytest.mark.parametrize("elapsed", [0.3, 3.0, 300.0])
def test_points_are_carried_along_the_exact_flow(elapsed) -> None:
    """V = a.x does not depend on the measure: tan(theta / 2) = e^-t tan(theta_0 / 2).

    Here it grows to three times its size: half of the way lasts as long as 3/4.
    """
    circle = mfpde.Circle(64)
    axis = np.array([0.6, 0.8])
    velocity = ascent(pull(axis)).field(mfpde.uniform(circle)).velocity
    flow = FlowBetween(
        velocity, lambda points: 3 * velocity(points), are_close, 0.0, elapsed
    )
    phase = np.arctan2(axis[1], axis[0])
    angles = np.array([-2.5, -1.0, 0.2, 1.5])
    moved = flow.carry(placed(phase + angles, 2), 0.0, elapsed / 2)
    expected = 2 * np.arctan(np.exp(-0.75 * elapsed) * np.tan(angles / 2))
    np.testing.assert_allclose(moved, placed(phase + expected, 2), atol=2e-3)


# --- runs ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def circle_run() -> tuple[mfpde.Run, float]:
    beta, distance = 25.0, 0.6
    places = {"angles": [-distance / 2, distance / 2], "widths": [0.02, 0.02]}
    # Nearer to each other than this, two equal atoms attract the point between them.
    united = 2 * mfpde.theory.concavity_angle(beta)
    expected = merge_time(beta, start_angle=distance, end_angle=united)
    run = mfpde.solve(
        ascent(beta),
        mfpde.bumps(mfpde.Circle(512), **places),
        t_end=1.6 * expected,
        save_every=expected / 20,
        track=Concentration(),
    )
    return run, expected


def test_two_bumps_on_the_circle_merge_in_the_exact_time(circle_run) -> None:
    run, expected = circle_run
    track = run.track
    kinds = [event.kind for event in run.events]
    assert [kind for kind in kinds if kind != "birth"] == ["merge"]
    (merge,) = [j for j in track.junctions if j.event.kind == "merge"]
    # Two bumps have a width, the atoms of the formula none: 2 % of the time.
    assert merge.earliest <= 1.02 * expected
    assert merge.latest >= 0.98 * expected
    assert merge.latest - merge.earliest < 0.25 * expected
    assert merge.event.masses == pytest.approx([0.5, 0.5], abs=1e-3)
    (child,) = merge.children
    assert track.paths[child].masses == pytest.approx(1.0, abs=1e-3)
    assert track.seen[-1].identities.tolist() == [child]
    assert track.counts[-1] == 1
    assert track.counts.max() == 2


def test_few_saves_show_the_same_tree(circle_run) -> None:
    """Between saves far apart atoms are still told apart: the flow carries them."""
    run, expected = circle_run
    few = replace(
        run, times=run.times[[2, -1]], states=[run.states[2], run.states[-1]], events=()
    )
    track = few.tracked().track
    (merge,) = track.junctions
    assert merge.event.kind == "merge"
    assert merge.earliest < expected < merge.latest


def test_a_run_can_be_followed_afterwards(circle_run) -> None:
    run, _ = circle_run
    bare = replace(run, track=None, events=())
    again = bare.tracked()
    assert str(again.track) == str(run.track)
    assert len(again.events) == len(run.events)
    assert bare.tracked(Concentration(smallest_mass=0.9)).track.counts.max() == 1
    with pytest.raises(ValueError, match="the run has no equation"):
        replace(run, equation=None).tracked()
    lines = str(run.track).splitlines()
    assert lines[0].startswith("atoms: ")
    assert "1 merge" in lines[0]
    assert "mass 1.000000" in lines[1]
    assert "merged at t = " in lines[1]
    assert [line[:2] for line in lines[2:]] == ["├─", "└─"]
    assert str(run.track) in str(run)


def test_a_tracker_that_goes_on_gives_the_same_tree(circle_run) -> None:
    run, _ = circle_run
    saves = list(zip(run.times, run.states, strict=True))
    for cut in (1, 5, 19, 22):
        first = Tracker(Concentration(), run.equation)
        for time, state in saves[:cut]:
            first.observe(time, state)
        second = Tracker(Concentration(), run.equation, first.memory)
        for time, state in saves[cut - 1 :]:
            second.observe(time, state)
        assert str(second.track) == str(run.track)
        for one, other in zip(second.track.seen, run.track.seen, strict=True):
            np.testing.assert_array_equal(one.identities, other.identities)


# --- what the living hold ------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*coarse")
@pytest.mark.parametrize("name", TRACKED_RUNS)
def test_living_atoms_hold_no_more_than_the_whole_and_are_counted_once(name) -> None:
    run = tracked_run(*TRACKED_RUNS[name])
    end = run.final_time
    track = run.track
    assert track.paths
    living = [path for path in track.paths.values() if path.end is None]
    coming = [
        p for p in living if round((p.masses - p.arrived_masses)[p.last_seen], 6) > 0
    ]
    assert str(track).count("of it on its way") == len(coming)
    events = [junction.event.time for junction in track.junctions]
    # Merges of exact atoms are at the times of the solver.
    exact = {event.time for event in run.events if event.kind == "merge"}
    merged = {one.event.time for one in track.junctions if one.is_exact}
    assert "exact" not in name or merged == exact
    times = np.unique([*np.linspace(0, end, 3001), *track.times, *events])
    held = np.zeros(len(times))
    living = np.zeros(len(times), dtype=int)
    for path in track.paths.values():
        is_alive = path.is_alive(times)
        held += is_alive * np.interp(times, path.times, path.masses)
        living += is_alive
    assert held.max() <= 1 + 1e-9
    is_save = np.isin(times, track.times)
    np.testing.assert_array_equal(living[is_save], track.counts)
    said = re.search(r"(\d+) at t = [\d.]+, (\d+) at t = [\d.]+;", str(track))
    assert [int(number) for number in said.groups()] == track.counts[[0, -1]].tolist()


def test_what_merges_loses_no_mass_between_two_saves() -> None:
    """At the middle of the interval parents have what the children have."""
    two = sighting(placed([0.0, 0.15], 2), [0.6, 0.35])
    track = grown(np.arange(2.0), [two, sighting(placed([0.1], 2), [1.0])], [])
    assert [event.kind for event in track.events] == ["merge"]
    first, second, whole = (track.paths[i] for i in (1, 2, 3))
    assert whole.begins == first.ends == second.ends == 0.5
    assert whole.masses == pytest.approx([0.95, 1.0])
    assert first.masses[-1] + second.masses[-1] == pytest.approx(0.95)
