"""Pictures of a track: paths where the atoms are, bands as high as their masses."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from drawn import MASSES, TIMES, by_gid, empty_track, known_run, placed

import mfpde
from mfpde.measures.events import Event
from mfpde.plotting import plot_atom_tree, plot_globe, plot_space_time
from mfpde.plotting.projections import points_of
from mfpde.tracking import Junction, SeenAtoms, Track


@pytest.fixture
def circle_run():
    return known_run(mfpde.Circle(64))


def test_paths_run_over_the_map_and_across_its_edge(circle_run):
    ax = plot_space_time(circle_run).axes[0]
    (upper,) = by_gid(ax, "path 1")
    # At the saves, and at the birth of another.
    assert upper.get_xdata().tolist() == [0.0, 0.5, 1.0, 2.0, 2.5]
    expected = [0.3, 0.25, 0.2, 0.1, 0.0]
    np.testing.assert_allclose(upper.get_ydata(), expected, atol=1e-12)
    lower = by_gid(ax, "path 2")
    # It ends at the angle 0, which is an edge: all of it lies at the other.
    shown = [line.get_ydata() for line in lower]
    assert any(
        np.allclose(angles[:4], 2 * np.pi - np.array([0.3, 0.25, 0.2, 0.1]))
        for angles in shown
    )
    assert len(by_gid(ax, "birth")) == len(by_gid(ax, "death")) == 1
    (merge,) = by_gid(ax, "merge")
    assert merge.get_xdata()[0] == 2.5
    assert np.mod(merge.get_ydata()[0] + 1, 2 * np.pi) == pytest.approx(1.0)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["path of an atom (width ∝ mass)", "birth", "merge", "death"]


def band(ax, identity):
    """Lower left and upper right corner of the band of an atom, where it has a height."""
    parts = [
        by_gid(ax, f"{what} {identity}")[0] for what in ("arrived at", "arriving at")
    ]
    (arrived,), (arriving,) = (part.get_paths() for part in parts)
    steps = len(arrived.vertices) // 2
    lower, upper = arrived.vertices[1:steps], arriving.vertices[-2:steps:-1]
    high = upper[:, 1] - lower[:, 1] > 1e-12
    return lower[high].min(axis=0), upper[high].max(axis=0)


def test_bands_are_as_high_as_masses_and_never_overlap(circle_run):
    ax = plot_atom_tree(circle_run).axes[0]
    boxes = {identity: band(ax, identity) for identity in MASSES}
    for identity, (low, high) in boxes.items():
        assert high[1] - low[1] == pytest.approx(MASSES[identity])
    # From event to event: parents end where what they become begins, on the same base.
    assert boxes[1][1][0] == boxes[2][1][0] == boxes[4][0][0] == 2.5
    assert (boxes[3][0][0], boxes[3][1][0]) == (0.5, 3.5)
    assert min(boxes[1][0][1], boxes[2][0][1]) == pytest.approx(boxes[4][0][1])
    assert max(boxes[1][1][1], boxes[2][1][1]) == pytest.approx(boxes[4][1][1])
    for one, other in combinations(boxes, 2):
        (low, high), (bottom, top) = boxes[one], boxes[other]
        overlap = np.minimum(high, top) - np.maximum(low, bottom)
        assert (overlap < 1e-12).any()


def test_bands_stand_on_one_another_below_the_whole_mass(circle_run):
    """At any time: one atom of mass 1 after another stands from 0 to 1, not from 1 to 2."""
    one = np.array([[1.0, 0.0]])

    def seen(identity):
        if not identity:
            none = np.empty(0)
            return SeenAtoms(one[:0], none, none.astype(bool), none.astype(int), none)
        masses, forming = np.ones(1), np.zeros(1, bool)
        return SeenAtoms(one, masses, forming, np.array([identity]), masses)

    gone = Event("death", 1.5, one, np.ones(1))
    born = Event("birth", 3.5, one, np.ones(1))
    junctions = (
        Junction(gone, 1.0, 2.0, (1,), ()),
        Junction(born, 3.0, 4.0, (), (2,)),
    )
    atoms = tuple(seen(identity) for identity in (1, 1, 0, 0, 2, 2))
    track = Track(TIMES, atoms, ("",) * 6, junctions)
    run = replace(circle_run, track=track)
    ax = plot_atom_tree(run).axes[0]
    for identity in (1, 2):
        low, high = band(ax, identity)
        assert (low[1], high[1]) == pytest.approx((0.0, 1.0))
    assert ax.get_ylim() == pytest.approx((0.0, 1.0))
    double = mfpde.Density(mfpde.Circle(64), np.full(64, 1 / np.pi))
    state = mfpde.Measure(double)
    run = replace(run, states=[state] * 6, final=state)
    ax = plot_atom_tree(run).axes[0]
    assert ax.get_ylim() == pytest.approx((0.0, 2.0))
    assert ax.get_yticks()[-1] == pytest.approx(2.0)


def test_paths_are_drawn_on_globes_along_great_circles():
    run = known_run(mfpde.Sphere(32))
    figure = plot_globe(run.final, track=run.track, camera=(0.0, 0.6))
    front = figure.axes[0]
    (line,) = by_gid(front, "path 1")
    places = front.transProjection.transform(np.transpose(line.get_data()))
    assert np.isfinite(places).all()
    # Close enough to be an arc.
    assert np.linalg.norm(np.diff(places, axis=0), axis=1).max() < 0.04
    (mark,) = by_gid(front, "merge")
    shown = points_of(np.ravel(mark.get_data()))
    np.testing.assert_allclose(shown, placed(np.array(0.0), 3), atol=1e-12)


def test_a_track_without_atoms_can_be_drawn(circle_run):
    run = replace(circle_run, track=empty_track(TIMES, 2))
    assert plot_space_time(run).axes[0].get_legend() is None
    assert not plot_atom_tree(run).axes[0].collections


def test_a_tree_needs_a_track(circle_run):
    with pytest.raises(ValueError, match=r"track=Concentration\(\)"):
        plot_atom_tree(replace(circle_run, track=None))
