"""Settings: what they build, and one message for everything that is wrong."""

import json
from pathlib import Path

import numpy as np
import pytest

import mfpde
from mfpde.settings import SettingsError, read_settings, settings_from_dict

EXAMPLES = Path(__file__).parents[1] / "examples"
TEXT = """
geometry = {kind = "circle", cells = 64}
equation = {direction = "descent", diffusion = 0.0}
start = {kind = "perturbed_uniform", amplitude = 0.1, seed = 3}
particles = {count = 100}

[attention]
beta = 2.0
normalized = false
kernel = "shifted"

[perceptron]
directions = [[1.0, 0.0], [0.6, 0.8]]
weights = [0.8, -0.5]
biases = [0.0, 0.1]
activation = "relu"

[solve]
t_end = 1.0
save_every = 0.25
transport = "donor_blended"
rtol = 1e-4
steady_state = 1e-8
max_steps = 1000
wall_time_limit = 60.0
"""
CIRCLE = 'kind = "circle", cells = 64'
DIRECTIONS = "directions = [[1.0, 0.0], [0.6, 0.8]]"


def changed(*changes: tuple[str, str]) -> str:
    """Return the settings with some words in place of others."""
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


TEXTS = {
    "circle": TEXT,
    "sphere": changed(
        (CIRCLE, 'kind = "sphere", nlat = 32'),
        (DIRECTIONS, "directions = [[1, 0, 0], [0, 0.6, 0.8]]"),
    ),
    "zonal": changed(
        (CIRCLE, 'kind = "zonal", dimension = 64, cells = 181'),
        ('transport = "donor_blended"\n', ""),
        (DIRECTIONS, "directions = [1, -2]"),
    ),
}


def without(text: str, start: str, end: str, instead: str = "") -> str:
    """Return a text without what is between two words of it."""
    return text[: text.index(start)] + instead + text[text.index(end) :]


@pytest.fixture
def path(tmp_path):
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
    assert settings.geometry == mfpde.Circle(64)
    assert attention == mfpde.Attention(2.0)
    assert perceptron.biases.tolist() == [0.0, 0.1]
    assert equation.direction == "descent"
    assert settings.start.total_mass == pytest.approx(1.0, abs=1e-14)
    overrides = ["attention.beta = 3", "equation.direction=ascent"]
    overridden = read_settings(path, overrides).single_equation()
    assert overridden.attentions[0].beta == 3
    assert overridden.direction == "ascent"
    numbers = ["perceptron.weights=[5e-324, 0.1]", "perceptron.biases=[-1e50, 0.1]"]
    exact = read_settings(path, numbers)
    again = settings_from_dict(json.loads(exact.to_json()))
    assert again.data == exact.data
    (neurons,) = again.single_equation().externals
    assert neurons.weights.tolist() == [5e-324, 0.1]
    assert neurons.biases.tolist() == [-1e50, 0.1]
    arguments = settings.solve_arguments()
    assert settings.save_times().tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert arguments["transport"] == "donor_blended"
    assert arguments["stop"] == [
        mfpde.SteadyState(1e-8),
        mfpde.StepLimit(1000),
        mfpde.WallTimeLimit(60.0),
    ]
    assert settings.particles.count == 100


SPHERE, WIDE = mfpde.Sphere(32), mfpde.Sphere(32, 40)


@pytest.mark.parametrize(
    ("kind", "change", "geometry"),
    [
        ("sphere", ("", ""), SPHERE),
        ("sphere", ("= 32", "= 32, nlon = 40"), WIDE),
        ("zonal", ("", ""), mfpde.Zonal(64, 181)),
    ],
)
def test_other_geometries_are_built(path, kind, change, geometry):
    path.write_text(TEXTS[kind].replace(*change).replace("transport", "# transport"))
    settings = read_settings(path)
    assert settings.geometry == geometry == settings.start.geometry
    neurons = settings.single_equation().externals[0]
    assert neurons.dimension == geometry.dimension
    assert neurons.biases.tolist() == [0.0, 0.1]
    assert settings.solve_arguments()["transport"] is None
    assert settings_from_dict(json.loads(settings.to_json())).data == settings.data
    if kind == "zonal":
        np.testing.assert_array_equal(
            neurons.directions, np.outer([1, -2], geometry.axis)
        )


@pytest.mark.parametrize(
    ("kind", "units", "seed", "example"),
    [
        ("circle", 2, 777, "paper_circle_descent"),
        ("sphere", 3, 111, "paper_sphere_descent_relu"),
    ],
)
def test_random_neurons_are_the_constructors_and_those_of_the_paper(
    path, kind, units, seed, example
):
    random = f"random = {{units = {units}, seed = {seed}}}\n"
    path.write_text(without(TEXTS[kind], "directions", "activation", random))
    built, given = (
        read_settings(file).single_equation().externals[0]
        for file in (path, EXAMPLES / f"{example}.toml")
    )
    drawn = mfpde.Perceptron.random(units, built.dimension, seed=seed)
    for name in ("directions", "weights"):
        expected = getattr(drawn, name)
        np.testing.assert_array_equal(getattr(built, name), expected)
        np.testing.assert_allclose(getattr(given, name), expected, rtol=0, atol=1e-15)


WRONG_FILES = {
    "[solve] needs the setting 't_end'": changed(("t_end = 1.0", "")),
    "[geometry] needs the setting 'kind', one of 'circle', 'sphere', 'zonal'": changed(
        ('kind = "circle", ', "")
    ),
    "[geometry] needs the setting 'nlat'; kind = 'sphere' takes: nlat, nlon": TEXTS[
        "sphere"
    ].replace(", nlat = 32", ""),
    "an equation needs [attention], [perceptron] or both": without(
        TEXT, "[attention]", "[solve]"
    ),
    "[particles] = 3 must be a table of settings": changed(("{count = 100}", "3")),
    "needs the section [start]": without(TEXT, "start", "particles"),
    "run.toml is not TOML": "[solve\n",
}


@pytest.mark.parametrize(("expected", "text"), WRONG_FILES.items(), ids=WRONG_FILES)
def test_what_is_wrong_or_missing_is_named(path, text, expected):
    path.write_text(text)
    assert expected in message(path)


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
    path.write_text(changed((old, new)))
    (error,) = [line for line in message(path).splitlines() if expected in line]
    wrong, lines = new.splitlines()[-1], path.read_text().splitlines()
    (number,) = [k for k, line in enumerate(lines, start=1) if wrong in line]
    assert error.endswith(f"({path}, line {number})")


def test_the_line_of_a_value_is_found_in_every_way_to_write_it(path):
    assert "line" not in message(path, "attention.beta=-1")
    path.write_text(
        'geometry = {kind = "circle", cells = 5}\nequation.direction = "up"\n'
        '[start]\nkind = "uniform"\n[solve]\nt_end = 1\n'
        "[[attention]]\nbeta = 1\n[[attention]]\n# beta\nbeta = -1\n"
    )
    said = message(path)
    assert "head 1: beta = -1" in said
    found = [line.rpartition(", line ")[2] for line in said.splitlines()]
    assert found == ["1)", "11)", "2)"]


def test_several_errors_come_in_one_message(path):
    wrong = ("attention.beta=-1", "geometry.cells=5", "solve.rtol=2", "solve.t_end=-1")
    assert message(path, *wrong).splitlines() == [
        "[geometry] cells = 5 must be a whole number of at least 16",
        "[attention] beta = -1 must be a finite number, at least 0",
        "[solve] t_end = -1 must be a finite number, above 0",
        "[solve] rtol = 2 must be a finite number, above 0 and at most 1",
    ]


WRONG_VALUES = """
circle solve.t_edn=3 -> has no setting 't_edn' (did you mean 't_end'?); it has: t_end
circle solv.t_end=3 -> has no section [solv] (did you mean 'solve'?)
circle perceptron.random.sed=3 -> has no setting 'sed' (did you mean 'seed'?)
circle geometry.kind=circel -> [geometry] kind = 'circel' (did you mean 'circle'?)
circle attention.beta=five -> [attention] beta = 'five' must be a real number
circle attention.beta=500 -> [geometry] Circle(num_cells=64) is too coarse for beta = 500
circle perceptron.random={units=2, seed=1} -> random and directions, weights, biases
circle perceptron.directions=[[1, 0, 0], [0, 1, 0]] -> 3 entries, but the measure lies on S^1
circle equation.diffusion=0.1 -> [particles] the equation has diffusion = 0.1, but particles move
circle start.kind=unifrom -> [start] kind = 'unifrom' (did you mean 'uniform'?)
circle start.kind=uniform -> has no setting 'amplitude'; kind = 'uniform' takes: nothing else
circle solve.save_at=[0.5] -> [solve] save_every = 0.25 and save_at = [0.5] exclude
circle solve.transport=donor_blend -> transport = 'donor_blend' (did you mean 'donor_blended'?)
circle attention.bilinear=nothing.npy -> there is no file 'nothing.npy'
circle attention.bilinear=head.txt -> .npy, .npz, .safetensors
circle attention.bilinear=[[1, 0, 0], [0, 1, 0], [0, 0, 1]] -> in different dimensions: [2, 3]
circle interaction.kind=polynomial; interaction.coefficients=[1, 0] -> constant kernel
circle interaction.kind=exponentail -> did you mean 'exponential'
circle interaction.coefficients=[0, 1] -> needs the setting 'kind'
circle start.kind=samples; start.points=none.npy -> there is no file
circle start.kind=samples -> needs the setting 'points'
circle start.kind=run -> needs the setting 'path'
circle particles.method=mean -> [particles] method = 'mean' must be one of 'auto'
circle particles=3 -> override 'particles=3' must have the form section.key=value
circle solve.t_end -> override 'solve.t_end' must have the form section.key=value
circle solve.t_end.x=3 -> override 'solve.t_end.x=3': t_end is not a table
sphere geometry.cells=64 -> [geometry] has no setting 'cells'; kind = 'sphere' takes: nlat, nlon
sphere attention.beta=500 -> [geometry] Sphere(nlat=32, nlon=64) is too coarse for beta = 500
sphere solve.transport=semi_lagrangian -> [solve] transport = 'semi_lagrangian' must be one of
sphere perceptron.directions=[1, 1] -> [perceptron] directions of shape (2,) must
sphere particles.method=labels -> [particles] count = 100 must be a whole number of at least 2048
zonal geometry.nlat=64 -> [geometry] has no setting 'nlat'; kind = 'zonal' takes: dimension, cells
zonal perceptron.directions=[1, 0] -> [perceptron] directions[1] =
zonal particles.method=spectral -> method = 'spectral' works on S^1 and S^2 (d = 2, 3)
"""


@pytest.mark.parametrize("row", WRONG_VALUES.strip().splitlines())
def test_a_wrong_value_is_repeated_with_what_is_allowed(path, row):
    overrides, expected = row.split(" -> ")
    kind, overrides = overrides.split(" ", 1)
    path.write_text(TEXTS[kind])
    said = message(path, *overrides.split("; "))
    assert expected in said
    assert "pydantic" not in said
