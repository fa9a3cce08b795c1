"""Mass that has arrived and mass on its way are two numbers, wherever atoms are told of."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import mfpde
from mfpde.plotting.atoms import atoms_found

EARLY, LATE = 2.0, 20.0
FAR = 0.2
"""Radians: what is further from an atom than this has not arrived."""


@pytest.fixture(scope="module")
def equation() -> mfpde.MeanFieldEquation:
    """README's first example: two atoms to be, and tails that take long."""
    return mfpde.MeanFieldEquation(
        mfpde.Attention(beta=5.0),
        mfpde.Perceptron([[1.0, 0.0], [0.6, 0.8]], [0.8, -0.5]),
        direction="descent",
    )


@pytest.fixture(scope="module")
def run(equation: mfpde.MeanFieldEquation) -> mfpde.Run:
    return mfpde.solve(
        equation,
        mfpde.uniform(mfpde.Circle(512)),
        t_end=LATE,
        save_at=[EARLY, LATE],
        track=mfpde.Concentration(),
    )


def far_mass(state: mfpde.Measure, points: np.ndarray) -> float:
    """Mass of the cells that are far from all of the points."""
    angles = np.arccos(np.clip(state.geometry.points @ points.T, -1, 1))
    return float(state.density.masses[(angles > FAR).all(axis=1)].sum())


def test_what_is_far_from_all_atoms_is_on_its_way(
    run: mfpde.Run, equation: mfpde.MeanFieldEquation
) -> None:
    report = mfpde.concentration(run.final, equation)
    assert report.core_radius >= FAR
    assert {atom.kind for atom in report.atoms} == {"atom"}
    places = np.array([atom.position for atom in report.atoms])
    far = far_mass(run.final, places)
    assert far > 0.3
    # Cores reach a little further than that.
    assert report.arriving_mass == pytest.approx(far, abs=0.02)
    assert report.arrived_mass + report.arriving_mass == pytest.approx(1.0, abs=1e-12)
    assert f"mass {report.arrived_mass:.6f} in atoms" in report.summary
    assert f"{report.arriving_mass:.6f} on its way" in report.summary
    assert report.summary in str(run)


def test_what_is_forming_is_no_atom_and_has_no_mass_yet(
    run: mfpde.Run, equation: mfpde.MeanFieldEquation
) -> None:
    report = mfpde.concentration(run.states[0], equation)
    assert report.atoms == ()
    assert len(report.forming) == len(report.clusters) == 2
    assert report.arrived_mass == 0.0
    assert report.arriving_mass == pytest.approx(1.0, abs=1e-12)


def test_pictures_mark_what_has_arrived_and_the_basins_around_it(
    run: mfpde.Run, equation: mfpde.MeanFieldEquation
) -> None:
    early, late = (atoms_found(state, equation) for state in run.states)
    assert (early.arrived == 0).all()
    assert {name for name, points, _ in early.marks() if len(points)} == {"on its way"}
    report = mfpde.concentration(run.final, equation)
    np.testing.assert_allclose(late.arrived.sum(), report.arrived_mass)
    areas = {name: masses for name, _, masses in late.marks()}
    np.testing.assert_allclose(areas["found atoms"].sum(), report.arrived_mass)
    basins = late.basins[late.arriving > 0.1 * late.basins]
    np.testing.assert_allclose(areas["on its way"].sum(), basins.sum())


def test_the_track_and_its_store_keep_both(
    run: mfpde.Run, equation: mfpde.MeanFieldEquation, tmp_path: Path
) -> None:
    mfpde.save(run, tmp_path / "run.zarr")
    for track in (run.track, mfpde.load(tmp_path / "run.zarr").track):
        assert track is not None
        early, late = track.seen
        assert (early.arrived_masses == 0).all()
        report = mfpde.concentration(run.final, equation)
        np.testing.assert_allclose(late.arrived_masses.sum(), report.arrived_mass)
        assert "of it on its way" in str(track)
    ax = mfpde.plot_atom_tree(run).axes[0]
    heights = {
        c.get_gid(): np.ptp(c.get_paths()[0].vertices[:, 1]) for c in ax.collections
    }
    identity = int(late.identities[0])
    assert heights[f"arriving at {identity}"] > 0


def test_an_exact_atom_has_all_of_its_own_mass() -> None:
    equation = mfpde.MeanFieldEquation(mfpde.Attention(beta=5.0), direction="ascent")
    atoms = mfpde.Atoms([[1.0, 0.0], [-1.0, 0.0]], [0.7, 0.3])
    report = mfpde.concentration(atoms, equation)
    assert report.arrived_mass == pytest.approx(1.0, abs=1e-14)
    assert report.arriving_mass == 0.0


def test_a_study_has_both(equation: mfpde.MeanFieldEquation) -> None:
    study = mfpde.convergence_to_atoms(
        equation, lambda x: 1 + 0 * x[..., 0], cells=[128, 256, 512], t_end=5.0
    )
    values = {
        kind: sum(quantity.values[-1] for quantity in study.of_kind(kind))
        for kind in ("mass", "core mass")
    }
    report = mfpde.concentration(study.runs[-1].final, equation)
    assert values["mass"] == pytest.approx(1.0, abs=1e-6)
    cores = sum(region.core_mass for region in report.clusters)
    assert values["core mass"] == pytest.approx(cores, abs=1e-12)
