"""Settings: what they build, and one message for everything that is wrong."""

import json
from pathlib import Path

import numpy as np
import pytest

from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Geometry, Sphere, Zonal
from mfpde.runs.stopping import SteadyState, StepLimit, WallTimeLimit
from mfpde.settings.settings import SettingsError, read_settings, settings_from_dict
from mfpde.storage.records import CONVERTER, to_json
from mfpde.terms import Attention, Perceptron, Potential

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
transport = "donor_blended"
rtol = 1e-4
steady_state = 1e-8
max_steps = 1000
wall_time_limit = 60.0

[particles]
count = 100
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
    equation = settings.single_equation()
    attention, perceptron = equation.terms
    assert settings.geometry == Circle(64)
    assert attention == Attention(2.0)
    assert perceptron.biases.tolist() == [0.0, 0.1]
    assert equation.direction == "descent"
    assert settings.start.total_mass == pytest.approx(1.0, abs=1e-14)
    arguments = settings.solve_arguments()
    assert settings.save_times().tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert arguments["transport"] == "donor_blended"
    assert arguments["stop"] == [
        SteadyState(1e-8),
        StepLimit(1000),
        WallTimeLimit(60.0),
    ]
    assert settings.particles.count == 100


def test_settings_round_trip_through_json(path):
    settings = read_settings(path)
    assert settings_from_dict(json.loads(settings.to_json())).data == settings.data


def test_the_paper_s_example_is_valid_and_its_neurons_are_the_authors_draw():
    settings = read_settings(EXAMPLES / "paper_circle_descent.toml")
    drawn = Perceptron.random(2, 2, seed=777)
    given = settings.single_equation().externals[0]
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
    built = settings.single_equation().externals[0]
    assert np.array_equal(built.directions, expected.directions)
    assert np.array_equal(built.weights, expected.weights)


def test_overrides_are_toml_or_bare_strings(path):
    settings = read_settings(
        path,
        ["attention.beta = 3", "equation.direction=ascent", 'particles.method="auto"'],
    )
    assert settings.single_equation().attentions[0].beta == 3
    assert settings.single_equation().direction == "ascent"
    assert settings.particles.method == "auto"


def test_a_missing_key_is_named(path):
    path.write_text(TEXT.replace("t_end = 1.0", ""))
    assert message(path) == "[solve] needs the setting 't_end'"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("beta = 2.0", "beta = -1", "beta = -1 must be a finite number, at least 0"),
        ("t_end = 1.0", "t_end = 1.0\nt_edn = 3", "has no setting 't_edn'"),
        ("[solve]", "[solv]", "has no section [solv]"),
        ("[[1.0, 0.0], [0.6, 0.8]]", "[[0.0, 0.0]]", "directions[0] = [0.0, 0.0]"),
    ],
)
def test_an_error_says_the_line_of_the_file(path, old, new, expected):
    path.write_text(TEXT.replace(old, new))
    (error,) = [line for line in message(path).splitlines() if expected in line]
    wrong = new.splitlines()[-1]
    lines = path.read_text().splitlines()
    (number,) = [k for k, line in enumerate(lines, start=1) if wrong in line]
    assert error.endswith(f"({path}, line {number})")


def test_the_line_of_a_value_is_found_in_every_way_to_write_it(tmp_path):
    path = tmp_path / "x.toml"
    path.write_text(
        'geometry = {kind = "circle", cells = 5}\nequation.direction = "up"\n'
        '[start]\nkind = "uniform"\n[solve]\nt_end = 1\n'
        "[[attention]]\nbeta = 1\n[[attention]]\n# beta\nbeta = -1\n"
    )
    found = [line.rpartition(", line ")[2] for line in message(path).splitlines()]
    assert found == ["1)", "11)", "2)"]


def test_a_value_that_an_override_gives_has_no_line(path):
    assert "line" not in message(path, "attention.beta=-1")


def test_a_missing_section_is_named(path):
    path.write_text(TEXT.replace('[start]\nkind = "perturbed_uniform"', "[equation.x]"))
    assert "needs the section [start]" in message(path)


def test_a_missing_kind_is_named(path):
    path.write_text(TEXT.replace('kind = "circle"', ""))
    expected = "[geometry] needs the setting 'kind', one of 'circle', 'sphere', 'zonal'"
    assert message(path) == expected


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


WRONG_VALUES = """
solve.t_edn=3 -> [solve] has no setting 't_edn' (did you mean 't_end'?); it has: t_end
solv.t_end=3 -> has no section [solv] (did you mean 'solve'?)
perceptron.random.sed=3 -> has no setting 'sed' (did you mean 'seed'?)
geometry.kind=circel -> [geometry] kind = 'circel' (did you mean 'circle'?)
geometry.cells=64.5 -> [geometry] cells = 64.5 must be a whole number
attention.beta=five -> [attention] beta = 'five' must be a real number
attention.normalized=1 -> [attention] normalized = 1 must be True or False
attention.kernel=shift -> [attention] kernel = 'shift' (did you mean 'shifted'
perceptron.weights=[1.0] -> [perceptron] weights of shape (1,) must have shape (2,) or (2, 2)
perceptron.activation=rleu -> activation = 'rleu' (did you mean 'relu'?)
perceptron.random={units=2, seed=1} -> random and directions, weights, biases
equation.direction=up -> [equation] direction = 'up' must be one of 'ascent'
equation.diffusion=-1 -> [equation] diffusion = -1 must be a finite number
start.kind=unifrom -> [start] kind = 'unifrom' (did you mean 'uniform'?)
start.kind=uniform -> has no setting 'amplitude'; kind = 'uniform' takes: nothing else
start.amplitude=1.5 -> [start] amplitude = 1.5 must be below 1
start.seed=-1 -> [start] seed = -1 must be a whole number of at least 0
solve.t_end=0 -> [solve] t_end = 0 must be a finite number, above 0
solve.t_end=nan -> [solve] t_end = nan must be a finite number, above 0
solve.save_every=0 -> [solve] save_every = 0 must be a finite number, above 0
solve.save_at=[0.5] -> [solve] save_every = 0.25 and save_at = [0.5] exclude
solve.transport=donor_blend -> [solve] transport = 'donor_blend' (did you mean 'donor_blended'?)
solve.max_step=0 -> [solve] max_step = 0 must be a finite number, at least 1e-100
solve.steady_state=0 -> [solve] steady_state = 0 must be a finite number
solve.max_steps=0.5 -> [solve] max_steps = 0.5 must be a whole number
solve.wall_time_limit=0 -> [solve] wall_time_limit = 0 must be a finite number
particles.count=0 -> [particles] count = 0 must be a whole number
particles.method=mean -> [particles] method = 'mean' must be one of 'auto'
particles=3 -> override 'particles=3' must have the form section.key=value
solve.t_end -> override 'solve.t_end' must have the form section.key=value
solve.t_end.x=3 -> override 'solve.t_end.x=3': t_end is not a table
"""


@pytest.mark.parametrize("row", WRONG_VALUES.strip().splitlines())
def test_a_wrong_value_is_repeated_with_what_is_allowed(path, row):
    override, expected = row.split(" -> ")
    assert expected in message(path, override)


def test_a_section_that_is_no_table_is_refused(path):
    path.write_text(TEXT[: TEXT.index("[particles]")])
    data = "particles = 3\n" + path.read_text()
    path.write_text(data)
    assert message(path) == "[particles] = 3 must be a table of settings"


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
    assert "[particles] the equation has diffusion = 0.1, but particles move" in told


def test_an_equation_without_terms_is_refused(path):
    cut = TEXT.index("[attention]"), TEXT.index("[equation]")
    path.write_text(TEXT[: cut[0]] + TEXT[cut[1] :])
    assert message(path) == "an equation needs [attention], [perceptron] or both"


def test_a_file_that_is_not_there_is_named(tmp_path):
    assert "no_such.toml cannot be read" in message(tmp_path / "no_such.toml")


def test_a_file_that_is_no_toml_is_named(path):
    path.write_text("[solve\n")
    assert "run.toml is not TOML" in message(path)


# --- geometries -----------------------------------------------------------------------


def on_sphere(text=TEXT):
    """Return the settings ``text`` with a sphere and neurons there."""
    text = text.replace('kind = "circle"\ncells = 64', 'kind = "sphere"\nnlat = 32')
    return text.replace("[[1.0, 0.0], [0.6, 0.8]]", "[[1, 0, 0], [0, 0.6, 0.8]]")


def on_zonal(text=TEXT):
    """Return the settings ``text`` with a zonal grid and neurons along its axis."""
    zonal = 'kind = "zonal"\ndimension = 64\ncells = 181'
    text = text.replace('kind = "circle"\ncells = 64', zonal)
    text = text.replace('transport = "donor_blended"\n', "")
    return text.replace("directions = [[1.0, 0.0], [0.6, 0.8]]", "directions = [1, -2]")


@pytest.mark.parametrize(
    ("change", "geometry"),
    [
        (on_sphere, Sphere(32)),
        (lambda: on_sphere().replace("= 32", "= 32\nnlon = 40"), Sphere(32, 40)),
        (on_zonal, Zonal(64, 181)),
    ],
)
def test_other_geometries_are_built(path, change, geometry):
    path.write_text(change())
    settings = read_settings(path)
    assert settings.geometry == geometry
    assert settings.start.geometry == geometry
    assert settings.single_equation().externals[0].dimension == geometry.dimension
    assert settings_from_dict(json.loads(settings.to_json())).data == settings.data


def test_neurons_along_the_axis_are_multiples_of_it(path):
    path.write_text(on_zonal())
    neurons = read_settings(path).single_equation().externals[0]
    expected = np.outer([1, -2], Zonal(64, 181).axis)
    assert np.array_equal(neurons.directions, expected)
    assert neurons.biases.tolist() == [0.0, 0.1]


def test_random_neurons_have_the_dimension_of_the_geometry(path):
    text = on_sphere()
    cut = text.index("directions"), text.index("activation")
    text = text[: cut[0]] + "random = {units = 3, seed = 111}\n" + text[cut[1] :]
    path.write_text(text.replace("biases", "# biases"))
    paper = read_settings(EXAMPLES / "paper_sphere_descent_relu.toml")
    built, given = (
        settings.single_equation().externals[0]
        for settings in (read_settings(path), paper)
    )
    np.testing.assert_allclose(built.directions, given.directions, rtol=0, atol=1e-15)
    np.testing.assert_allclose(built.weights, given.weights, rtol=0, atol=1e-15)


@pytest.mark.parametrize("change", [on_sphere, on_zonal])
def test_without_a_name_transport_is_the_geometry_s_default(path, change):
    path.write_text(change(TEXT.replace('transport = "donor_blended"', "")))
    assert read_settings(path).solve_arguments()["transport"] is None


WRONG_ELSEWHERE = """
sphere geometry.cells=64 -> [geometry] has no setting 'cells'; kind = 'sphere' takes: nlat, nlon
zonal geometry.nlat=64 -> [geometry] has no setting 'nlat'; kind = 'zonal' takes: dimension, cells
sphere geometry.nlat=33 -> [geometry] nlat = 33 must be even
sphere geometry.nlat=8 -> [geometry] nlat = 8 must be a whole number
sphere geometry.nlon=66 -> [geometry] nlon = 66 must be a multiple of 4
sphere attention.beta=500 -> [geometry] Sphere(nlat=32, nlon=64) is too coarse for beta = 500
zonal geometry.dimension=2 -> [geometry] dimension = 2 has no zonal
zonal geometry.cells=20 -> [geometry] cells = 20 does not resolve
sphere solve.transport=semi_lagrangian -> [solve] transport = 'semi_lagrangian' must be one of
sphere perceptron.directions=[[1,0],[0,1]] -> directions have 2 entries, but the measure lies on
zonal perceptron.directions=[1, 0] -> [perceptron] directions[1] =
sphere perceptron.directions=[1, 1] -> [perceptron] directions of shape (2,) must
zonal particles.method=spectral -> [particles] method = 'spectral' works on S^1 and S^2 (d = 2, 3)
sphere particles.method=labels -> [particles] count = 100 must be a whole number of at least 2048
"""


@pytest.mark.parametrize("row", WRONG_ELSEWHERE.strip().splitlines())
def test_what_does_not_fit_a_geometry_is_refused(path, row):
    override, expected = row.split(" -> ")
    kind, override = override.split(" ", 1)
    path.write_text({"sphere": on_sphere, "zonal": on_zonal}[kind]())
    assert expected in message(path, override)


def test_neurons_off_the_axis_are_refused_on_a_zonal_grid(path):
    off = "directions = [[1, 0, 0], [0, 0, 1]]"
    path.write_text(on_zonal().replace("directions = [1, -2]", off))
    told = message(path, "geometry.dimension=3")
    assert "[perceptron] directions[0] is not parallel to the axis" in told


def test_a_missing_key_is_named_with_what_the_kind_takes(path):
    path.write_text(on_sphere().replace("nlat = 32", ""))
    expected = "[geometry] needs the setting 'nlat'; kind = 'sphere' takes: nlat, nlon"
    assert message(path) == expected


# --- bumps ----------------------------------------------------------------------------


def with_bumps(text, start):
    """Return the settings ``text`` starting from bumps."""
    cut = text.index("[start]"), text.index("[solve]")
    return f'{text[: cut[0]]}[start]\nkind = "bumps"\n{start}\n{text[cut[1] :]}'


@pytest.mark.parametrize(
    ("text", "start"),
    [
        (TEXT, "angles = [1.0, 4.0]\nwidths = [0.2, 0.3]\nmasses = [1, 2]"),
        (on_sphere(), "centres = [[0, 0, 1], [1, 0, 0]]\nwidths = [0.2, 0.3]"),
        (on_sphere(), "centres = [[0.0, 0.6, 0.8]]\nwidths = [0.2]\nbackground = 0.5"),
        (on_zonal(), "angles = [1.0]\nwidths = [0.05]"),
    ],
)
def test_bumps_start_a_run_on_every_geometry(path, text, start):
    path.write_text(with_bumps(text, start))
    start = read_settings(path).start
    assert start.total_mass == pytest.approx(1.0, abs=1e-13)
    assert start.values.max() > 2 * start.masses.sum() / start.geometry.areas.sum()


@pytest.mark.parametrize(
    ("text", "start", "expected"),
    [
        (TEXT, "angles = [1]\nwidths = [0.01]", "[start] widths[0] = 0.01 must be at"),
        (TEXT, "widths = [0.2]", "[start] bumps on Circle(num_cells=64) take angles"),
        (
            on_sphere(),
            "angles = [1]\nwidths = [0.2]",
            "[start] bumps on Sphere(nlat=32, nlon=64) take centres, not angles",
        ),
    ],
)
def test_wrong_bumps_in_a_file_name_their_section(path, text, *, start, expected):
    path.write_text(with_bumps(text, start))
    assert expected in message(path)


# --- records --------------------------------------------------------------------------


def test_records_rebuild_equations_to_the_bit():
    vectors = np.array([[0.1, 1 / 3], [2.0, -1e-17]])
    equation = MeanFieldEquation(
        Attention(1 / 3, normalized=True, kernel="unshifted"),
        Perceptron([[1 / 7, 0.3], [0.6, 0.8]], vectors, "gelu", biases=[0.1, 1 / 9]),
        direction="ascent",
        diffusion=1e-3,
    )
    rebuilt = CONVERTER.structure(json.loads(to_json(equation)), MeanFieldEquation)
    assert rebuilt.terms[0] == equation.terms[0]
    assert np.array_equal(rebuilt.terms[1].weights, vectors)
    assert np.array_equal(rebuilt.terms[1].directions, equation.terms[1].directions)
    assert rebuilt.terms[1].activation.name == "gelu"
    assert (rebuilt.direction, rebuilt.diffusion) == ("ascent", 1e-3)


def test_a_user_s_functions_have_no_record():
    potential = Potential(lambda x: x[..., 0], lambda x: np.eye(x.shape[-1])[0] + 0 * x)
    pair = (lambda z: z, lambda z: z**2 / 2)
    custom = Perceptron([[1.0, 0.0]], [1.0], pair)
    for term in (potential, custom):
        assert to_json(MeanFieldEquation(term, direction="ascent")) == "null"
    assert CONVERTER.structure(json.loads("null"), MeanFieldEquation) is None


def test_geometries_have_records():
    for geometry in (Circle(48), Sphere(32), Sphere(32, 40), Zonal(5, 64)):
        assert CONVERTER.structure(json.loads(to_json(geometry)), Geometry) == geometry


def test_an_unknown_kind_of_record_is_named():
    with pytest.raises(ValueError, match=r"geometry of kind 'circles'.*did you mean"):
        CONVERTER.structure(json.loads('{"kind": "circles"}'), Geometry)
