"""A symmetry that start and equation share, along which the run is unstable, is noted."""

import warnings

import numpy as np
import pytest
from equations import ascent, descent

import mfpde
from mfpde import Attention, Circle, Perceptron, Sphere, Zonal
from mfpde.commands.command_line import main
from validation.circle_cases import points_at

BEGINNING = "start and equation share"
POLE = (0.0, 0.0, 1.0)


def beside_neuron(*axis, toward=ascent, beta=16.0, weight=-1.0, **options):
    return toward(beta, Perceptron([axis], [weight]), **{"normalized": True, **options})


def note_of(equation, start, t_end, **arguments):
    """The note of a run, which its printed form has too; empty without one."""
    run = mfpde.solve(equation, start, t_end=t_end, save_at=[t_end], **arguments)
    note = " ".join(run.notes)
    assert (BEGINNING in str(run)) == bool(note)
    return note


@pytest.mark.parametrize("axis", [(0.0, 0.0, 1.0), (0.6, 0.64, 0.48)])
def test_a_ring_that_breaks_into_atoms_is_noted_with_its_axis(axis):
    note = note_of(beside_neuron(*axis), mfpde.uniform(Sphere(32)), 20.0)
    assert f"{BEGINNING} all rotations about {list(axis)}" in note
    assert "perturbed_uniform" in note


@pytest.mark.parametrize(
    ("grid", "beta", "normalized"),
    [
        (Circle(256), 5.0, False),
        (Circle(256), 16.0, True),
        (Sphere(32), 4.0, True),
        (Zonal(8, 128), 4.0, False),
    ],
)
def test_the_uniform_state_is_noted_once_perturbations_have_grown(
    grid, beta, normalized
):
    d = grid.dimension
    rate = mfpde.theory.growth_rates(
        beta, d, np.arange(1, 30), direction="ascent", normalized=normalized
    ).max()
    equation = ascent(beta, normalized=normalized)
    note = note_of(equation, mfpde.uniform(grid), 8 / rate)
    assert f"{BEGINNING} all rotations" in note
    # A perturbation that has hardly grown is none to speak of.
    assert not note_of(equation, mfpde.uniform(grid), 1 / rate)


def held_at_top(angle):
    """A bump at the maximum of a potential that repels it, held together by attention."""
    top = points_at(angle)
    potential = Perceptron([top], [0.0], output_bias=-0.3 * top)
    equation = ascent(Attention(1.0), potential)
    return equation, mfpde.bumps(Circle(256), angles=[angle], widths=0.3)


@pytest.mark.parametrize("angle", [np.pi / 2, 1.0])
def test_a_cluster_on_top_of_a_hill_is_noted_with_its_mirror(angle):
    equation, start = held_at_top(angle)
    note = note_of(equation, start, 30.0)
    assert f"{BEGINNING} the reflection" in note
    noise = mfpde.perturbed_uniform(start.geometry, 1e-2).values
    perturbed = mfpde.Density(start.geometry, start.values * noise).normalized()
    assert not note_of(equation, perturbed, 30.0)


@pytest.mark.parametrize(
    ("equation", "grid", "t_end"),
    [
        # All mass goes to one pole, or to where neurons say.
        (beside_neuron(*POLE, beta=1.0), Sphere(32), 20.0),
        (beside_neuron(1.0, 0.0, beta=5.0), Circle(256), 20.0),
        (beside_neuron(*POLE, toward=descent), Sphere(32), 20.0),
        (descent(5.0), Circle(256), 60.0),
        # Above the critical diffusion, .0447.
        (ascent(4.0, diffusion=0.06), Circle(256), 200.0),
        (ascent(4.0, Perceptron([POLE], [0.2]), diffusion=0.3), Sphere(32), 20.0),
        # Nothing has grown yet.
        (beside_neuron(*POLE), Sphere(32), 1.0),
        # Without interaction nothing is unstable together.
        (ascent(Perceptron([[0.0, 1.0]], [1.0])), Circle(64), 5.0),
        # Neurons without a common symmetry.
        (
            ascent(
                16.0, Perceptron([[1, 0], [0.6, 0.8]], [0.1, -0.05]), normalized=True
            ),
            Circle(256),
            20.0,
        ),
    ],
)
def test_a_stable_symmetric_run_has_no_note(equation, grid, t_end):
    assert not note_of(equation, mfpde.uniform(grid), t_end)


def test_layers_are_judged_together():
    stable, unstable = descent(5.0), ascent(5.0)
    start = mfpde.uniform(Circle(256))
    assert note_of(mfpde.Layers([(stable, 0.1), (unstable, 60.0)]), start, 60.1)
    assert not note_of(mfpde.Layers([(unstable, 1.0), (stable, 30.0)]), start, 31.0)


def test_the_note_is_a_warning_and_is_stored(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match=BEGINNING):
            mfpde.solve(ascent(5.0), mfpde.uniform(Circle(128)), t_end=40.0)
        perturbed = mfpde.perturbed_uniform(Circle(128))
        mfpde.solve(ascent(5.0), perturbed, t_end=40.0)
    run = mfpde.solve(ascent(5.0), mfpde.uniform(Circle(128)), t_end=40.0)
    mfpde.save(run, tmp_path / "run.zarr")
    assert mfpde.load(tmp_path / "run.zarr").notes == run.notes
    assert len(run.notes) == 1


@pytest.mark.parametrize(
    "error", [ValueError, FloatingPointError, np.linalg.LinAlgError, MemoryError]
)
def test_what_cannot_be_judged_has_no_note(monkeypatch, error):
    def refuse(*_):
        raise error

    monkeypatch.setattr("mfpde.solver.notes.find_symmetry", refuse)
    assert not note_of(beside_neuron(0.0, 1.0), mfpde.uniform(Circle(128)), 1.0)


def test_a_fault_of_the_judgement_is_not_hidden(monkeypatch):
    monkeypatch.setattr("mfpde.solver.notes.find_symmetry", None)
    with pytest.raises(TypeError):
        mfpde.solve(beside_neuron(0.0, 1.0), mfpde.uniform(Circle(128)), t_end=1.0)


def test_the_command_shows_the_note_once(tmp_path, capfd):
    settings = tmp_path / "run.toml"
    settings.write_text(
        'geometry = { kind = "circle", cells = 128 }\nattention = { beta = 5.0 }\n'
        'equation = { direction = "ascent" }\nstart = { kind = "uniform" }\n'
        "solve = { t_end = 40.0, save_at = [40.0] }\n"
    )
    assert main(["run", str(settings)]) == 0
    out, err = capfd.readouterr()
    assert out.count(BEGINNING) == 1
    assert BEGINNING not in err
