"""Settings: what they build, and one message for everything that is wrong."""

import json
from pathlib import Path

import numpy as np
import pytest

from mfpde.config import SettingsError, read_settings, settings_from_dict
from mfpde.equation import MeanFieldEquation
from mfpde.equation_record import (
    equation_from_dict,
    equation_to_dict,
    geometry_from_dict,
    geometry_to_dict,
)
from mfpde.geometry import Circle
from mfpde.starts import bumps
from mfpde.stopping import SteadyState, StepLimit, WallTimeLimit
from mfpde.terms import Attention, Perceptron, Potential
from mfpde.wasserstein import wasserstein

EXAMPLES = Path(__file__).parents[1] / "examples"

TEXT = """
[geometry]
kind = "circle"
cells = 64

[attention]
beta = 2.0
normalized = false
kernel = "shifted"

[perceptron]
directions = [[1.0, 0.0], [0.6, 0.8]]
weights = [0.8, -0.5]
activation = "relu"
biases = [0.0, 0.1]

[equation]
direction = "descent"
diffusion = 0.0

[start]
kind = "perturbed_uniform"
amplitude = 0.1
seed = 3

[solve]
t_end = 1.0
save_every = 0.25
transport = "muscl"
rtol = 1e-4
steady_state = 1e-8
max_steps = 1000
wall_time_limit = 60.0

[particles]
count = 100

[output]
store = "run.zarr"
"""


@pytest.fixture
def path(tmp_path):
    """Return a settings file."""
    path = tmp_path / "run.toml"
    path.write_text(TEXT)
    return path


def message(path, *overrides):
    """Return the message that the settings with ``overrides`` are refused with."""
    with pytest.raises(SettingsError) as caught:
        read_settings(path, overrides)
    return str(caught.value)


def test_settings_build_what_they_say(path):
    settings = read_settings(path)
    equation = settings.build_equation()
    attention, perceptron = equation.terms
    assert settings.build_geometry() == Circle(64)
    assert attention == Attention(2.0)
    assert perceptron.biases.tolist() == [0.0, 0.1]
    assert equation.direction == "descent"
    assert settings.build_start().total_mass == pytest.approx(1.0, abs=1e-14)
    arguments = settings.solve_arguments()
    assert arguments["save_at"].tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert arguments["transport"] == "muscl"
    assert arguments["stop"] == [
        SteadyState(1e-8),
        StepLimit(1000),
        WallTimeLimit(60.0),
    ]
    assert settings.particles.count == 100


def test_settings_round_trip_through_json(path):
    settings = read_settings(path)
    assert settings_from_dict(json.loads(settings.to_json())) == settings


def test_the_paper_s_example_is_valid_and_its_neurons_are_the_authors_draw():
    settings = read_settings(EXAMPLES / "paper_circle_descent.toml")
    drawn = Perceptron.random(2, 2, seed=777)
    given = settings.build_equation().externals[0]
    np.testing.assert_allclose(given.directions, drawn.directions, rtol=0, atol=1e-15)
    np.testing.assert_allclose(given.weights, drawn.weights, rtol=0, atol=1e-15)


def test_random_neurons_are_those_of_the_constructor(path):
    text = path.read_text()
    start = text.index("directions"), text.index("activation")
    path.write_text(text[: start[0]] + text[start[1] :].replace("biases", "# biases"))
    settings = read_settings(
        path, ["perceptron.random.units=3", "perceptron.random.seed=5"]
    )
    expected = Perceptron.random(3, 2, seed=5)
    built = settings.build_equation().externals[0]
    assert np.array_equal(built.directions, expected.directions)
    assert np.array_equal(built.weights, expected.weights)


def test_overrides_are_toml_or_bare_strings(path):
    settings = read_settings(
        path,
        ["attention.beta = 3", "equation.direction=ascent", 'output.figure="a b.pdf"'],
    )
    assert settings.build_equation().attentions[0].beta == 3
    assert settings.build_equation().direction == "ascent"
    assert settings.output.figure == "a b.pdf"


def test_an_unknown_key_names_the_nearest(path):
    told = message(path, "solve.t_edn=3")
    assert (
        "[solve] has no setting 't_edn' (did you mean 't_end'?); it has: t_end" in told
    )


def test_an_unknown_section_names_the_nearest(path):
    told = message(path, "solv.t_end=3")
    assert "there is no section [solv] (did you mean 'solve'?)" in told


def test_an_unknown_key_of_random_neurons_names_the_nearest(path):
    told = message(path, "perceptron.random.sed=3")
    assert "has no setting 'sed' (did you mean 'seed'?)" in told


def test_a_missing_key_is_named(path):
    path.write_text(TEXT.replace("t_end = 1.0", ""))
    assert message(path) == "[solve] needs the setting 't_end'"


def test_a_missing_section_is_named(path):
    path.write_text(TEXT.replace('[start]\nkind = "perturbed_uniform"', "[equation.x]"))
    assert "the section [start] is missing" in message(path)


def test_a_missing_kind_is_named(path):
    path.write_text(TEXT.replace('kind = "circle"', ""))
    assert message(path) == "[geometry] needs the setting 'kind', one of 'circle'"


def test_several_errors_come_in_one_message(path):
    told = message(path, "attention.beta=-1", "geometry.cells=5", "solve.rtol=2")
    assert told.splitlines() == [
        "[geometry] cells = 5 must be a whole number of at least 16",
        "[attention] beta = -1 must be a finite number, at least 0 and at most 1000",
        "[solve] rtol = 2 must be a finite number, above 0 and at most 1",
    ]


def test_several_errors_of_one_section_come_in_one_message(path):
    told = message(path, "solve.rtol=2", "solve.max_step=0", "solve.t_end=-1")
    assert len(told.splitlines()) == 3
    assert all(line.startswith("[solve] ") for line in told.splitlines())


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ("geometry.kind=circel", "[geometry] kind = 'circel' (did you mean 'circle'?)"),
        ("geometry.cells=64.5", "[geometry] cells = 64.5 must be a whole number"),
        ("attention.beta=five", "[attention] beta = 'five' must be a real number"),
        ("attention.normalized=1", "[attention] normalized = 1 must be True or False"),
        (
            "attention.kernel=shift",
            "[attention] kernel = 'shift' (did you mean 'shifted'",
        ),
        ("perceptron.weights=[1.0]", "[perceptron] weights of shape (1,) do not match"),
        ("perceptron.activation=rleu", "activation = 'rleu' (did you mean 'relu'?)"),
        (
            "perceptron.random={units=2, seed=1}",
            "random and directions, weights, biases",
        ),
        (
            "equation.direction=up",
            "[equation] direction = 'up' must be one of 'ascent'",
        ),
        ("equation.diffusion=-1", "[equation] diffusion = -1 must be a finite number"),
        ("start.kind=unifrom", "[start] kind = 'unifrom' (did you mean 'uniform'?)"),
        ("start.kind=uniform", "[start] has no setting 'amplitude'; it has: kind"),
        ("start.amplitude=1.5", "[start] amplitude = 1.5 must be below 1"),
        ("start.seed=-1", "[start] seed = -1 must be greater than or equal to 0"),
        ("solve.t_end=0", "[solve] t_end = 0 must be a finite number, above 0"),
        ("solve.t_end=nan", "[solve] t_end = nan must be a finite number, above 0"),
        (
            "solve.save_every=0",
            "[solve] save_every = 0 must be a finite number, above 0",
        ),
        (
            "solve.save_at=[0.5]",
            "[solve] save_every = 0.25 and save_at = [0.5] exclude",
        ),
        (
            "solve.transport=mucsl",
            "[solve] transport = 'mucsl' (did you mean 'muscl'?)",
        ),
        ("solve.max_step=0", "[solve] max_step = 0 must be a finite number, above 0"),
        ("solve.steady_state=0", "[solve] steady_state = 0 must be a finite number"),
        ("solve.max_steps=0.5", "[solve] max_steps = 0.5 must be a whole number"),
        (
            "solve.wall_time_limit=0",
            "[solve] wall_time_limit = 0 must be a finite number",
        ),
        ("particles.count=0", "[particles] count = 0 must be a whole number"),
        ("particles.method=mean", "[particles] method = 'mean' must be one of 'auto'"),
        ("output.store=3", "[output] store = 3 must be a valid string"),
        ("particles=3", "override 'particles=3' must have the form section.key=value"),
        ("solve.t_end", "override 'solve.t_end' must have the form section.key=value"),
        ("solve.t_end.x=3", "override 'solve.t_end.x=3': t_end is not a table"),
    ],
)
def test_a_wrong_value_is_repeated_with_what_is_allowed(path, override, expected):
    assert expected in message(path, override)


def test_a_section_that_is_no_table_is_refused(path):
    path.write_text(TEXT[: TEXT.index("[particles]")])
    data = "particles = 3\n" + path.read_text()
    path.write_text(data)
    assert message(path) == "[particles] 3 must be a table of settings"


def test_a_grid_too_coarse_for_beta_is_refused_before_any_work(path):
    told = message(path, "attention.beta=500")
    assert told.startswith(
        "[geometry] Circle(num_cells=64) is too coarse for beta = 500"
    )
    assert "at least" in told


def test_neurons_of_another_dimension_are_refused(path):
    told = message(path, "perceptron.directions=[[1, 0, 0], [0, 1, 0]]")
    assert "[perceptron] directions have 3 entries, but the measure lies on S^1" in told


def test_particles_with_diffusion_are_refused(path):
    told = message(path, "equation.diffusion=0.1")
    assert "[particles] move without noise, but [equation] has diffusion = 0.1" in told


def test_an_equation_without_terms_is_refused(path):
    cut = TEXT.index("[attention]"), TEXT.index("[equation]")
    path.write_text(TEXT[: cut[0]] + TEXT[cut[1] :])
    assert message(path) == "an equation needs [attention], [perceptron] or both"


def test_a_file_that_is_not_there_is_named(tmp_path):
    assert "no_such.toml cannot be read" in message(tmp_path / "no_such.toml")


def test_a_file_that_is_no_toml_is_named(path):
    path.write_text("[solve\n")
    assert "run.toml is not TOML" in message(path)


# --- bumps ----------------------------------------------------------------------------


def test_bumps_have_their_masses_on_every_grid():
    for cells in (64, 1024):
        density = bumps(
            Circle(cells),
            angles=[1.0, 4.0],
            widths=[0.15, 0.2],
            masses=[3.0, 1.0],
            background=0.2,
        )
        near = np.abs(density.geometry.angles - 1.0) < 1.5
        expected = 0.8 * 0.75 + 0.2 * near.mean()
        assert density.total_mass == pytest.approx(1.0, abs=1e-14)
        assert density.masses[near].sum() == pytest.approx(expected, abs=1e-8)


def test_a_narrow_bump_has_its_width_as_standard_deviation():
    circle = Circle(512)
    density = bumps(circle, angles=[np.pi], widths=0.05)
    variance = density.masses @ (circle.angles - np.pi) ** 2
    assert np.sqrt(variance) == pytest.approx(0.05, rel=1e-2)


def test_bumps_are_equivariant_under_rotations_by_cells():
    circle = Circle(128)
    one = bumps(circle, angles=[1.0, 2.5], widths=[0.2, 0.4])
    turn = 40 * circle.spacing
    other = bumps(circle, angles=[1.0 + turn, 2.5 + turn], widths=[0.2, 0.4])
    np.testing.assert_allclose(np.roll(one.values, 40), other.values, rtol=1e-12)


def test_no_background_and_all_background():
    circle = Circle(64)
    flat = bumps(circle, angles=[1.0], widths=[0.3], background=1.0)
    assert wasserstein(flat, bumps(circle, angles=[1.0], widths=[40.0])) < 1e-3
    np.testing.assert_allclose(flat.values, 1 / (2 * np.pi), rtol=1e-12)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"angles": []}, "must be a nonempty list of angles"),
        ({"widths": [0.2, 0.3]}, "widths of shape (2,) do not match the 1 angles"),
        ({"widths": [0.05]}, "use at least 126 cells"),
        ({"widths": [0.0]}, "a width is above 0"),
        ({"masses": [0.0]}, "masses[0] = 0 must be above 0"),
        ({"background": 1.5}, "background = 1.5 must be a finite number"),
    ],
)
def test_wrong_bumps_are_refused(changed, expected):
    arguments = {"angles": [1.0], "widths": [0.2]} | changed
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        bumps(Circle(64), **arguments)
    assert expected in str(caught.value)


def test_wrong_bumps_in_a_file_name_their_section(path):
    cut = TEXT.index("[start]"), TEXT.index("[solve]")
    start = '[start]\nkind = "bumps"\nangles = [1.0]\nwidths = [0.01]\n'
    path.write_text(TEXT[: cut[0]] + start + TEXT[cut[1] :])
    assert message(path).startswith("[start] widths[0] = 0.01 must be at least")


# --- records --------------------------------------------------------------------------


def test_records_rebuild_equations_to_the_bit():
    vectors = np.array([[0.1, 1 / 3], [2.0, -1e-17]])
    equation = MeanFieldEquation(
        Attention(1 / 3, normalized=True, kernel="unshifted"),
        Perceptron([[1 / 7, 0.3], [0.6, 0.8]], vectors, "gelu", biases=[0.1, 1 / 9]),
        direction="ascent",
        diffusion=1e-3,
    )
    record = json.loads(json.dumps(equation_to_dict(equation)))
    rebuilt = equation_from_dict(record)
    assert rebuilt.terms[0] == equation.terms[0]
    assert np.array_equal(rebuilt.terms[1].weights, vectors)
    assert np.array_equal(rebuilt.terms[1].directions, equation.terms[1].directions)
    assert rebuilt.terms[1].activation_name == "gelu"
    assert (rebuilt.direction, rebuilt.diffusion) == ("ascent", 1e-3)


def test_a_user_s_functions_have_no_record():
    potential = Potential(lambda x: x[..., 0], lambda x: np.eye(x.shape[-1])[0] + 0 * x)
    pair = (lambda z: z, lambda z: z**2 / 2)
    custom = Perceptron([[1.0, 0.0]], [1.0], pair)
    for term in (potential, custom):
        assert equation_to_dict(MeanFieldEquation(term, direction="ascent")) is None
    assert equation_from_dict(None) is None


def test_geometries_have_records():
    assert geometry_from_dict(geometry_to_dict(Circle(48))) == Circle(48)


def test_an_unknown_kind_of_record_is_named():
    with pytest.raises(ValueError, match=r"geometry of kind 'circles'.*did you mean"):
        geometry_from_dict({"kind": "circles"})
