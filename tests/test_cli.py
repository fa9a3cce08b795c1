"""The command line: what it leaves on disk, what it says, and its exit codes."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from stored import line_of, raised_after

import mfpde
from mfpde.commands.command_line import main
from mfpde.runs.stopping import StopReason
from mfpde.settings import FILE
from mfpde.storage import read_description

TEXT = """
geometry = {kind = "circle", cells = 64}
attention = {beta = 2.0}
perceptron = {directions = [[1.0, 0.0]], weights = [0.3]}
equation = {direction = "descent"}
start = {kind = "perturbed_uniform", amplitude = 0.3}
solve = {t_end = 1.0, save_every = 0.125}
"""
CIRCLE, NEURON = 'kind = "circle", cells = 64', "[[1.0, 0.0]]"
SPHERE = TEXT.replace(CIRCLE, 'kind = "sphere", nlat = 32').replace(
    NEURON, "[[0.6, 0.0, 0.8]]"
)
ZONAL = TEXT.replace(CIRCLE, 'kind = "zonal", dimension = 5, cells = 64').replace(
    NEURON, "[1.0]"
)


EQUATION = mfpde.MeanFieldEquation(mfpde.Attention(2.0), direction="ascent")
POINTS = mfpde.Atoms(np.eye(2))


@pytest.fixture
def config(tmp_path, monkeypatch):
    """Return a settings file in a working directory of its own."""
    monkeypatch.chdir(tmp_path)
    Path("run.toml").write_text(TEXT)
    return "run.toml"


@pytest.fixture
def _quick_pictures(monkeypatch):
    """Let runs be drawn as empty figures: here it matters where they go."""
    monkeypatch.setattr("mfpde.plotting.plot_run", lambda run: Figure())


def run(*more: str, out: str = "x.zarr") -> int:
    """Run the settings quietly into a store."""
    return main(["run", "run.toml", "--out", out, "--quiet", *more])


def interrupted_run(saves, *more: str) -> int:
    """Run the settings until an interrupt after this many saves; return the exit code."""
    with raised_after(saves, KeyboardInterrupt):
        return run(*more)


def test_run_stores_what_solve_gives(config, capsys):
    assert main(["run", config, "--out", "x.zarr"]) == 0
    found = mfpde.load("x.zarr")
    assert found.times.tolist() == [k / 8 for k in range(9)]
    assert found.stop.kind == "t_end"
    said = capsys.readouterr().out
    for words in (
        "descent of attention (beta = 2) + perceptron (1 relu neuron)",
        "K = exp(beta (x.y - 1))",
        "the end time t = 1 was reached",
        "stored in x.zarr",
    ):
        assert words in said
    assert main(["show", "x.zarr"]) == 0
    assert capsys.readouterr().out.strip() in said
    assert main(["show", "x.zarr", "--origin"]) == 0
    said, record = capsys.readouterr().out, read_description("x.zarr").provenance
    assert record["mfpde"] == mfpde.__version__
    versions = ("mfpde", "numpy", "numba", "python", "scipy", "shtns", "pyfftw")
    for name in (*versions, "platform"):
        assert record[name] in said
    assert "wall [s]: " in said
    # Without a store a run only reports, and quietly it says nothing.
    files = set(Path().iterdir())
    short = ["--set", "solve.t_end=0.5", "--set", "equation.direction=ascent"]
    assert main(["run", config, *short]) == 0
    said = capsys.readouterr().out
    assert "largest_density" in said
    assert "ascent of attention" in said
    assert "the end time t = 0.5 was reached" in said
    assert main(["run", config, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert set(Path().iterdir()) == files


def distances(said):
    """Return the table of W1 and its error that a run printed."""
    lines = said.partition("against")[2].splitlines()
    assert lines[1].split() == ["time", "W1", "±W1"]
    rows = [line.split() for line in lines[2 : lines.index("", 2) - 1]]
    return np.array(rows, dtype=float)


# The mean distance from the centre of a hexagon of area 4 pi / n on S^2, of n medians of equal
# masses on polar angles: the particles of these runs hardly gather.
@pytest.mark.parametrize(
    ("text", "method", "expected"),
    [
        (SPHERE, "direct", 0.3772 * np.sqrt(4 * np.pi / 100)),
        (SPHERE, "spectral", 0.3772 * np.sqrt(4 * np.pi / 100)),
        (ZONAL, "direct", np.pi / 400),
    ],
)
def test_particles_stay_as_near_as_so_many_points_can(
    config, capsys, text, method, expected
):
    text = text.replace("beta = 2.0", "beta = 1.0")
    Path(config).write_text(text.replace("0.125", "0.25"))
    chosen = ["--set", "particles.count=100", "--set", f"particles.method={method}"]
    with raised_after(3, KeyboardInterrupt):
        assert main(["run", config, "--out", "x.zarr", *chosen]) == 130
    assert main(["resume", "x.zarr"]) == 0
    said = capsys.readouterr().out
    assert f"grid {mfpde.load('x.zarr').final.geometry!r}" in said
    table = distances(said)
    assert table[:, 0].tolist() == [0, 0.25, 0.5, 0.75, 1]
    is_sphere = 'kind = "sphere"' in text
    np.testing.assert_allclose(table[:, 1], expected, rtol=0.06 if is_sphere else 0.16)
    # On polar angles W1 is exact; on S^2 cells are points in its plan.
    errors = table[:, 2]
    assert (errors > 0).all() if is_sphere else (errors == 0).all()
    assert (errors < table[:, 1]).all()
    particles = mfpde.load("x.zarr/particles")
    assert particles.times.tolist() == mfpde.load("x.zarr").times.tolist()
    assert len(particles.final) == 100
    assert main(["show", "x.zarr"]) == 0
    assert capsys.readouterr().out.strip() in said


def test_bad_settings_are_one_message_on_stderr(config, capsys):
    assert run("--set", "solve.t_edn=1", "--set", "attention.beta=-1") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("mfpde run: ")
    assert "did you mean 't_end'?" in err
    assert "beta = -1" in err
    assert not Path("x.zarr").exists()
    assert main(["run", "no.toml"]) == 2
    assert "no.toml cannot be read" in line_of(capsys)
    mfpde.save(mfpde.solve_particles(EQUATION, POINTS, t_end=0.1), "y.zarr")
    for store, why in {
        "y.zarr": "was not written by `mfpde run`",
        "no.zarr": "there is no store of a run at no.zarr",
    }.items():
        assert main(["resume", store]) == 2
        assert why in line_of(capsys)


def test_a_numerical_failure_has_its_own_code(config, monkeypatch):
    failure = StopReason.of("non_finite", time=0.7)
    monkeypatch.setattr(StopReason, "of", lambda *_, **__: failure)
    assert run() == 3
    assert mfpde.load("x.zarr").stop.kind == "non_finite"


# Where commands write -------------------------------------------------------------------------


@pytest.mark.usefixtures("_quick_pictures")
def test_pictures_are_drawn_beside_the_store_or_where_asked(config, capsys):
    assert run("--figure", "figures/f.pdf") == 0
    for command in (["plot", "x.zarr"], ["plot", "x.zarr", "--out", "other.pdf"]):
        assert main(command) == 0
    drawn = {str(path.with_suffix("")) for path in Path().rglob("*.p[dn][fg]")}
    assert drawn == {"figures/f", "x", "other"}
    assert "drawn in x.pdf and x.png" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        *("run --figure", "run --out", "sweep --csv", "minimize --figure"),
        "continuation --parameter beta --values 2,3 --figure",
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_the_work(
    config, capsys, words
) -> None:
    command, *more, option = words.split()
    Path("taken").write_text("a file, not a folder")
    path = "taken/x.pdf"
    assert main([command, config, *more, option, path]) == 2
    # After the work the message would be another one.
    told = f"mfpde {command}: Invalid value for {option}: {path!r} cannot"
    assert line_of(capsys).startswith(told)


@pytest.mark.usefixtures("_quick_pictures")
def test_a_figure_that_fails_leaves_a_complete_store(config, monkeypatch, capsys):
    Path("pictures").mkdir()
    assert main(["run", config, "--figure", "pictures"]) == 2
    assert "'pictures' is a folder" in line_of(capsys)

    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mfpde.plotting.save_figure", full)
    assert run("--figure", "x.pdf") == 2
    assert capsys.readouterr().err == (
        "mfpde run: the figure x.pdf could not be written: No space left on device; the "
        "run is complete in x.zarr: mfpde plot x.zarr\n"
    )
    assert mfpde.load("x.zarr").stop.kind == "t_end"


def test_a_run_without_any_save_is_resumed_from_its_last_state(config):
    Path(config).write_text(TEXT.replace(", save_every = 0.125", ""))
    interrupted_run(
        0, "--set", "solve.save_at=[0.5, 1.0]", "--set", "solve.max_step=0.2"
    )
    # The step that reaches beyond the save is taken again.
    assert 0 < mfpde.load("x.zarr").final_time < 0.5
    assert main(["resume", "x.zarr", "--quiet"]) == 0
    assert mfpde.load("x.zarr").times.tolist() == [0.5, 1.0]


def test_a_run_that_has_not_ended_is_looked_at_as_others_are(config) -> None:
    limited = ["--set", "solve.max_steps=1", "--set", "solve.max_step=0.3"]
    assert run(*limited, out="runs/x.zarr") == 0
    assert main(["view", "runs"]) == 0
    assert Path("runs/view.html").exists()
    # It starts another run, which goes on where that one is gone too.
    start = 'kind = "perturbed_uniform", amplitude = 0.3'
    going_on = TEXT.replace(start, 'kind = "run", path = "runs/x.zarr"')
    Path(config).write_text(going_on)
    assert run(*limited) == 0
    begun = mfpde.load("x.zarr").final_time
    assert main(["resume", "x.zarr", "--quiet"]) == 0
    assert mfpde.load("x.zarr").final_time > begun


# Other geometries and commands ----------------------------------------------------------------


def test_minimize_prints_what_the_function_finds(config, capsys):
    changes = ["--set", "attention.beta=10.0", "--set", "geometry.cells=128"]
    command = ["minimize", config, *changes, "--set"]
    assert main([*command, "perceptron.weights=[-0.5]", "--figure", "m.pdf"]) == 0
    terms = mfpde.Attention(10.0), mfpde.Perceptron([[1.0, 0.0]], [-0.5])
    equation = mfpde.MeanFieldEquation(*terms, direction="descent")
    found = mfpde.minimize(equation, mfpde.Circle(128))
    assert str(found) in capsys.readouterr().out
    assert Path("m.pdf").exists()
    assert Path("m.png").exists()
    assert main([*command, "perceptron.weights=[-2.0]"]) == 0
    assert "1.00000000" in capsys.readouterr().out
    # What has no minimum is a bad setting, a gap that is not reached a numerical failure.
    assert main([*command, 'equation.direction="ascent"']) == 2
    assert "direction = 'ascent'" in capsys.readouterr().err
    weak = "perceptron.weights=[-0.5]"
    assert main([*command, weak, "--tolerance", "1e-30"]) == 3
    assert "above the minimum" in capsys.readouterr().out


def test_continuation_prints_and_draws_a_branch(config, capsys):
    changes = ["--set", "attention.beta=10.0", "--set", "perceptron.weights=[-1.0]"]
    command = ["continuation", config, *changes, "--parameter", "weight_scale"]
    assert main([*command, "--values", "1.3:0.8:3", "--figure", "branch.pdf"]) == 0
    assert "split: an atom splits" in capsys.readouterr().out
    assert Path("branch.pdf").exists()
    for wrong in ("one,two", "5:20:0", "5:20:-1", "5:20:1000000000000"):
        assert main([*command, "--values", wrong]) == 2
        assert "first:last:count" in capsys.readouterr().err
    noise = ["--parameter", "diffusion", "--values", "0.5,0.4"]
    assert main(["continuation", config, "--set", "attention.beta=1.0", *noise]) == 0
    assert "|mean x|" in capsys.readouterr().out


def test_the_list_of_settings_has_every_key(capsys) -> None:
    assert main(["settings"]) == 0
    text = capsys.readouterr().out
    for name, table in FILE.tables.items():
        assert f"[{name}]" in text
        sections = table.values() if isinstance(table, dict) else [table]
        keys = {one for section in sections for one in section.keys}
        assert keys
        assert all(f"  {one}" in text for one in keys)
    assert "  rtol = 0.0001" in text
    assert "  beta    (needed)" in text


# Words ----------------------------------------------------------------------------------------


COMMANDS = (
    *("run", "resume", "settings", "show", "plot", "view"),
    *("minimize", "continuation", "phase-diagram", "theory", "sweep", "verify"),
)


@pytest.mark.parametrize("command", COMMANDS)
def test_help_explains_a_command_with_an_example(command, capsys) -> None:
    assert main(["--help"]) == 0
    said = capsys.readouterr().out
    assert "Exit codes: 0 done" in said
    assert re.search(rf"│ {command} +[A-Z]\w+ ", said)
    assert main([command, "--help"]) == 0
    own = capsys.readouterr().out
    assert re.search(rf"^Example: mfpde {command}( |$)", own, flags=re.MULTILINE)


WRONG_WORDS = """
run -> mfpde run: Command "run" parameter CONFIG requires an argument.
run x.toml y.toml -> mfpde run: Unused Tokens: ['y.toml'].
run x.toml --quit -> mfpde run: Unknown option: --quit. Did you mean --quiet?
run x.toml --set -> "run" parameter --set requires an argument.
sweep x --workers 2.7 -> --workers: '2.7' must be a whole number
minimize x --tolerance x -> --tolerance: unable to convert "x" into float
phase-diagram --dimension 3 --betas 64,abc -> --betas: '64,abc' must be numbers with commas
phase-diagram --dimension 3 --betas 1 --kernel shift -> "shift" for --kernel. Choose from: "sh
show x.zarr --origin=3 -> --origin: unable to convert "3" into bool
rnu x.toml -> mfpde rnu: Unknown command "rnu". Did you mean "run"?
--foo -> mfpde: Unknown command "--foo". Available commands: run, resume
view -> mfpde view: Command "view" parameter STORE requires
verify --only -> parameter --only requires at least 1 element
"""


@pytest.mark.parametrize("row", WRONG_WORDS.strip().splitlines())
def test_wrong_words_are_one_line_that_says_what_is_allowed(row, capsys) -> None:
    words, expected = row.split(" -> ")
    assert main(words.split()) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert expected in said.err


def test_the_module_is_the_command():
    command = [sys.executable, "-m", "mfpde", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("mfpde ")
