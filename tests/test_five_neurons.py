"""Trees of clusters: the density of five neurons on S^2 against particles; the definition."""

from __future__ import annotations

import numpy as np
import pytest

import mfpde
from mfpde.geometry.arcs import exponential_map
from validation import five_neurons
from validation.narrow_clusters import ClusterTree, cluster_tree, matched_events
from validation.references.graded_particles import at_separatrices, graded, lattice
from validation.references.particle_clusters import sphere_equation

H = 0.02
START = 0.5


def particles_at(angles, masses, *, width=0.5 * H, seed=0):
    """Normal clusters on the equator, of 400 particles each."""
    centres = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    points = np.repeat(centres, 400, axis=0)
    noise = width * np.random.default_rng(seed).standard_normal(points.shape)
    noise -= np.einsum("ni,ni->n", noise, points)[:, None] * points
    return mfpde.Atoms(
        exponential_map(points, noise), np.repeat(np.array(masses) / 400, 400)
    )


def meeting(ends, *, stays=2.0):
    """Two clusters that meet at t = ``ends``, and one that stays at an angle."""
    for time in np.arange(0.0, 11.0, 0.25):
        apart = START * max(1 - time / ends, 0.0)
        angles = np.array([0.0, apart, stays])
        yield time, particles_at(angles, [0.3, 0.2, 0.5])


def test_the_density_has_the_tree_of_the_particles() -> None:
    found = five_neurons.main(quick=True)
    assert found["softmax_spurious"] == 0
    for label in ("plain", "graded"):
        assert found[f"softmax_{label}_trees_differ"] == 0
        # Saves are 0.2 apart; a ridge of the density is a cell wider than one of particles.
        assert found[f"softmax_{label}_merges_apart"] <= 0.2 + 1e-9
        assert found[f"softmax_{label}_births_apart"] <= 0.6 + 1e-9
        assert found[f"softmax_{label}_mass_20"] <= found["own_error"]
        assert found[f"softmax_{label}_place_20"] <= 0.01 * np.pi / 64
    # Smaller particles at the separatrices bring the particles closer to the density.
    assert found["softmax_graded_mass_20"] < found["softmax_plain_mass_20"]


@pytest.mark.parametrize("name", ["softmax", "descent"])
def test_a_tail_that_an_atom_has_cut_makes_no_atom(name) -> None:
    sphere = mfpde.Sphere(64)
    run = mfpde.solve(
        sphere_equation(name),
        mfpde.uniform(sphere),
        t_end=8.0,
        save_at=five_neurons.saves(8.0),
        atoms="exact",
    )
    tree = cluster_tree(
        zip(run.times, run.states, strict=True), five_neurons.RESOLUTION
    )
    assert len(run.events) == len(run.final.atoms) == len(tree.living)


def test_a_merge_is_seen_when_it_happens() -> None:
    tree = cluster_tree(meeting(8.0), H)
    assert [sorted(c.leaves) for c in tree.births] == [[0], [1], [2]]
    (merge,) = tree.merges
    assert 4 * H >= START * (1 - merge.begins / 8.0) >= 0
    assert sorted(len(parent.leaves) for parent in merge.parents) == [1, 1]
    assert merge.masses[-1] == pytest.approx(0.5, abs=1e-3)
    assert len(tree.living) == 2


def test_trees_differ_if_others_merge_or_another_is_born() -> None:
    tree = cluster_tree(meeting(8.0), H)
    later = matched_events(tree, cluster_tree(meeting(9.0), H))
    assert later is not None
    delays = [b.begins - a.begins for a, b in later]
    np.testing.assert_allclose(delays, [0, 0, 0, 1], atol=0.25)
    assert matched_events(tree, cluster_tree(meeting(20.0), H)) is None
    assert matched_events(tree, cluster_tree(meeting(8.0, stays=2.5), H)) is None
    one_more = ClusterTree(H)
    for time, atoms in meeting(8.0):
        other = particles_at(np.array([4.0]), [0.1])
        both = mfpde.Atoms(
            np.concatenate([atoms.points, other.points]),
            np.concatenate([atoms.masses, other.masses]) / 1.1,
        )
        one_more.advance(time, both)
    assert matched_events(tree, one_more) is None


def test_a_spread_measure_and_a_line_hold_no_cluster() -> None:
    around = np.linspace(0, 2 * np.pi, 3000, endpoint=False)
    line = np.stack([np.cos(around), np.sin(around), 0 * around], axis=1)
    wide = particles_at(np.array([0.0]), [1.0], width=3 * H)
    narrow = particles_at(np.array([0.0]), [1.0], width=H)
    for measure in (lattice(2000), mfpde.Atoms(line), wide):
        assert cluster_tree([(0.0, measure)], H).clusters == []
    assert len(cluster_tree([(0.0, narrow)], H).clusters) == 1
    sphere = mfpde.Sphere(64)
    uniform = mfpde.uniform(sphere)
    assert cluster_tree([(0.0, uniform)], sphere.spacing).clusters == []


def test_graded_particles_keep_mass_and_sharpen_a_boundary() -> None:
    """Masses of caps, whose edges the coarse particles cannot tell."""
    start = lattice(2000)
    axes = np.random.default_rng(0).standard_normal((20, 3))
    errors = {"coarse": [], "fine": []}
    for axis in axes / np.linalg.norm(axes, axis=1, keepdims=True):
        inside = start.points @ axis > 0.3
        atoms = graded(start, at_separatrices(start, inside.astype(int)), 16)
        assert atoms.total_mass == pytest.approx(1.0, abs=1e-12)
        assert np.linalg.norm(atoms.masses @ atoms.points) < 1e-3
        fine = atoms.masses[atoms.points @ axis > 0.3].sum()
        errors["coarse"].append(start.masses[inside].sum() - 0.35)
        errors["fine"].append(fine - 0.35)
    coarse, fine = (np.sqrt(np.mean(np.square(e))) for e in errors.values())
    assert fine < coarse / 3
    assert coarse < five_neurons.own_error(2000)
