"""Faults of a solver, and the command that shows which rows notice them."""

import numpy as np
import pytest

import mfpde
from mfpde.measures.measure import as_measure
from validation import fields, saboteurs
from validation.faults import FAULTS, heaviest_heavier, turned
from validation.independent import cells_of
from validation.results import Script
from validation.sabotage import FIELDS, Laboratory

BY_NAME = {fault.name: fault for fault in FAULTS}
CIRCLE = mfpde.Circle(128)
NEURONS = mfpde.Perceptron([[1.0, 0.0], [0.0, 1.0]], [0.5, -0.3])
EQUATION = mfpde.MeanFieldEquation(mfpde.Attention(4.0), NEURONS, direction="ascent")
START = mfpde.perturbed_uniform(CIRCLE, 0.3, seed=1)

SCRIPT = """
import mfpde
from validation.claim import Claim, Quantity

CLAIM = Claim("A case", "Lemma 0", "One is one.")

def main(quick=False):
    circle = mfpde.Circle(64)
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(2.0), mfpde.Perceptron([[1.0, 0.0]], [0.5]), direction="ascent"
    )
    run = mfpde.solve(equation, mfpde.uniform(circle), t_end=1.0, save_at=[0.0, 1.0])
    particles = mfpde.solve_particles(
        equation, mfpde.quantized(mfpde.uniform(circle), 512), t_end=1.0
    )
    return {
        "quantities": [
            Quantity("sharp", mfpde.wasserstein(run.final, particles.final), 0, 0.004),
            Quantity("idle", run.final.total_mass, 1.0, 0.5),
            Quantity("rounded", 1.0 + 1e-14 * run.energies[-1], 1.0, 0.5, subject="formula"),
            Quantity("moved", 1.0 + 1e-9 * run.energies[-1], 1.0, 1e-20),
            Quantity("closed form", 2.0, 2.0, 0.0, subject="formula"),
            Quantity("no formula", run.energies[-1], 0.0, 1e9, subject="formula"),
        ],
        "figures": {},
    }
"""


def run_with(name: str, **kwargs: object) -> mfpde.Run:
    with Laboratory().with_fault(BY_NAME[name]):
        return mfpde.solve(EQUATION, START, t_end=3.0, save_at=[0.0, 3.0], **kwargs)


def test_outside_the_block_the_solver_is_sound() -> None:
    sound = mfpde.solve
    with Laboratory().with_fault(BY_NAME["still"]):
        assert mfpde.solve is not sound
    assert mfpde.solve is sound


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_changes_the_run_and_nothing_else(fault) -> None:
    sound = mfpde.solve(EQUATION, START, t_end=3.0, save_at=[0.0, 3.0])
    run = run_with(fault.name)
    assert run.equation is EQUATION
    same_state = np.array_equal(
        as_measure(run.final).density.values, as_measure(sound.final).density.values
    )
    same_energy = np.allclose(run.energies, sound.energies, rtol=0, atol=1e-15)
    # On the grid no exact atoms meet, one equation has no order, and there is no matrix; a
    # fault of energies leaves states as they are.
    assert same_state == (fault.name in ("no merges", "order", "matrix", "energy"))
    assert same_energy == (fault.name in ("no merges", "order", "matrix"))
    first = as_measure(run.states[0]).density.values
    np.testing.assert_array_equal(first, START.values)


@pytest.mark.parametrize(
    "fault", [f for f in FAULTS if f.name != "no merges"], ids=lambda fault: fault.name
)
def test_a_fault_changes_a_run_of_layers_too(fault) -> None:
    reverse = mfpde.MeanFieldEquation(*EQUATION.terms[::-1], direction="descent")
    layers = mfpde.Layers([(EQUATION, 2.0), (reverse, 1.0)])
    sound = mfpde.solve(layers, START, save_at=[0.0, 3.0])
    with Laboratory().with_fault(fault):
        run = mfpde.solve(layers, START, save_at=[0.0, 3.0])
    assert run.layers is layers
    # A run that takes far more steps is cut, perhaps in the first layer.
    assert run.equation in layers.equations
    same_state = np.array_equal(
        as_measure(run.final).density.values, as_measure(sound.final).density.values
    )
    # In descent at the end there is no atom that could be too heavy.
    assert same_state == (fault.name in ("energy", "heavy", "matrix"))


@pytest.mark.parametrize("name", ["softmax", "beta", "matrix"])
def test_fields_at_points_have_the_fault_of_the_equation(name) -> None:
    head = mfpde.Attention(4.0, bilinear=[[1.0, 0.2], [0.2, 0.5]])
    equation = mfpde.MeanFieldEquation(head, NEURONS, direction="ascent")
    for field in FIELDS:
        with Laboratory().with_fault(BY_NAME[name]):
            found = getattr(fields, field)(equation, START)
            sound = getattr(equation, field)(START)
        assert np.abs(found - sound).max() > 1e-2 * np.abs(sound).max()


def test_particles_stay_as_they_are() -> None:
    start = mfpde.quantized(START, 50)
    sound = mfpde.solve_particles(EQUATION, start, t_end=1.0)
    with Laboratory().with_fault(BY_NAME["weights"]):
        other = mfpde.solve_particles(EQUATION, start, t_end=1.0)
    np.testing.assert_array_equal(sound.final.points, other.final.points)


def test_the_heaviest_atom_is_one_per_cent_heavier() -> None:
    atoms = mfpde.Atoms([[1.0, 0.0], [0.0, 1.0]], [0.6, 0.4])
    heavier = heaviest_heavier(atoms, 0.01)
    assert heavier.masses == pytest.approx([0.606, 0.394], abs=1e-15)
    one = mfpde.Atoms([[1.0, 0.0]], [1.0])
    assert heaviest_heavier(one, 0.01) is one
    flat = mfpde.uniform(CIRCLE)
    assert heaviest_heavier(flat, CIRCLE.spacing) is flat


@pytest.mark.parametrize("geometry", [CIRCLE, mfpde.Sphere(32), mfpde.Zonal(5, 64)])
def test_positions_are_off_by_two_cells(geometry) -> None:
    density = mfpde.perturbed_uniform(geometry, 0.5, seed=2)
    moved = turned(density, geometry.spacing)
    assert moved.total_mass == pytest.approx(1.0, abs=1e-14)
    points, masses = cells_of(density)
    if isinstance(geometry, mfpde.Zonal):
        angles = geometry.angles @ density.masses
        assert geometry.angles @ moved.masses - angles == pytest.approx(
            2 * geometry.spacing, rel=0.1
        )
    else:
        angle = 4 * np.pi / geometry.shape[-1]
        turn = np.array([np.exp(1j * angle)])
        there = points[:, 0] + 1j * points[:, 1]
        expected = turn * (masses @ there)
        found = moved.masses.ravel() @ there
        assert found == pytest.approx(expected[0], abs=1e-12)


def test_exact_atoms_that_never_merge() -> None:
    start = mfpde.Measure(
        mfpde.Density(CIRCLE, np.zeros(128)),
        mfpde.Atoms([[1.0, 0.0], [np.cos(0.5), np.sin(0.5)]], [0.5, 0.5]),
    )
    times = {"t_end": 60.0, "save_at": [0.0, 60.0], "atoms": "exact"}
    equation = mfpde.MeanFieldEquation(mfpde.Attention(4.0), direction="ascent")
    sound = mfpde.solve(equation, start, **times)
    with Laboratory().with_fault(BY_NAME["no merges"]):
        faulty = mfpde.solve(equation, start, **times)
    assert len(sound.final.atoms) == 1
    assert len(faulty.final.atoms) == 2


def test_idle_rows_and_false_formulas_are_named(tmp_path, monkeypatch) -> None:
    folder = tmp_path / "validation" / "cases"
    folder.mkdir(parents=True)
    (folder / "sample.py").write_text(SCRIPT)
    monkeypatch.syspath_prepend(str(tmp_path))
    trial = saboteurs.tried(Script("cases", "sample"), quick=True)
    assert not trial.error
    assert [row.name for row in trial.idle_rows] == ["idle"]
    assert [row.name for row in trial.false_formulas] == ["no formula"]
    (sharp,) = (row for row in trial.rows if row.name == "sharp")
    assert {"softmax", "weights", "still", "sign"} <= set(sharp.notices)
    changed_by = {row.name: row.changed_by for row in trial.rows}
    assert "still" in changed_by["moved"]
    assert changed_by["rounded"] == ()
    assert not trial.is_sound
