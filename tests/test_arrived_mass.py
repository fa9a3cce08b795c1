"""Mass that has arrived and mass on its way are two numbers, wherever atoms are told of."""

from __future__ import annotations

import numpy as np
import pytest

import mfpde

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


def test_an_exact_atom_has_all_of_its_own_mass() -> None:
    equation = mfpde.MeanFieldEquation(mfpde.Attention(beta=5.0), direction="ascent")
    atoms = mfpde.Atoms([[1.0, 0.0], [-1.0, 0.0]], [0.7, 0.3])
    report = mfpde.concentration(atoms, equation)
    assert report.arrived_mass == pytest.approx(1.0, abs=1e-14)
    assert report.arriving_mass == 0.0
