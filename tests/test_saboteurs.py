"""Faults of a solver, and the command that shows which rows notice them."""

import numpy as np
import pytest
from equations import ascent

import mfpde
from validation import saboteurs
from validation.results import Script
from validation.saboteurs import FAULTS, sabotage

CIRCLE = mfpde.Circle(128)
NEURONS = mfpde.Perceptron([[1.0, 0.0], [0.0, 1.0]], [0.5, -0.3])
EQUATION = ascent(4.0, NEURONS)
START = mfpde.perturbed_uniform(CIRCLE, 0.3, seed=1)

SCRIPT = """
import mfpde
from validation.claim import Claim, Quantity

CLAIM = Claim("A case", "Lemma 0", "One is one.")

def main(quick=False):
    circle, neuron = mfpde.Circle(64), mfpde.Perceptron([[1.0, 0.0]], [0.5])
    equation = mfpde.MeanFieldEquation(mfpde.Attention(2.0), neuron, direction="ascent")
    run = mfpde.solve(equation, mfpde.uniform(circle), t_end=1.0, save_at=[0.0, 1.0])
    start = mfpde.quantized(mfpde.uniform(circle), 512)
    particles = mfpde.solve_particles(equation, start, t_end=1.0)
    energy = run.energies[-1]
    return {
        "quantities": [
            Quantity("sharp", mfpde.wasserstein(run.final, particles.final), 0, 0.004),
            Quantity("idle", run.final.total_mass, 1.0, 0.5),
            Quantity("rounded", 1.0 + 1e-14 * energy, 1.0, 0.5, subject="formula"),
            Quantity("moved", 1.0 + 1e-9 * energy, 1.0, 1e-20),
            Quantity("no formula", energy, 0.0, 1e9, subject="formula"),
        ],
        "figures": {},
    }
"""


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_changes_the_run_and_nothing_else(fault) -> None:
    times = {"t_end": 3.0, "save_at": [0.0, 3.0]}
    sound = mfpde.solve(EQUATION, START, **times)
    particles = mfpde.solve_particles(EQUATION, START, t_end=1.0, count=50)
    solve = mfpde.solve
    with sabotage(fault):
        run = mfpde.solve(EQUATION, START, **times)
        others = mfpde.solve_particles(EQUATION, START, t_end=1.0, count=50)
    assert mfpde.solve is solve
    np.testing.assert_array_equal(others.final.points, particles.final.points)
    assert run.equation is EQUATION
    final, before = (r.final.density.values for r in (run, sound))
    assert np.array_equal(final, before) == (fault.name == "energy")
    assert not np.allclose(run.energies, sound.energies, rtol=0, atol=1e-15)
    first = run.states[0].density.values
    np.testing.assert_array_equal(first, START.values)


@pytest.mark.slow
def test_idle_rows_and_false_formulas_are_named(tmp_path, monkeypatch) -> None:
    folder = tmp_path / "validation" / "cases"
    folder.mkdir(parents=True)
    (folder / "sample.py").write_text(SCRIPT)
    monkeypatch.syspath_prepend(str(tmp_path))
    trial = saboteurs.try_script(Script("cases", "sample"), quick=True)
    assert trial.idle == ["idle"]
    assert trial.false_formulas == ["no formula"]
    assert {"softmax", "weights", "still", "sign"} <= set(trial.notices["sharp"])
    assert "still" in trial.changed_by["moved"]
    assert trial.changed_by["rounded"] == []
