"""The command line: what it leaves on disk, what it says, and its exit codes."""

import contextlib
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure
from stored import line_of

import mfpde
from mfpde.commands.command_line import main
from mfpde.commands.report import zonal_distance
from mfpde.runs.stopping import StopReason
from mfpde.settings.settings import FILE
from mfpde.storage import RunWriter, load, read_description

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
OTHERS = {
    name: text.replace("beta = 2.0", "beta = 1.0").replace("0.125", "0.25")
    for name, text in (("sphere", SPHERE), ("zonal", ZONAL))
}


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


def interrupted_after(monkeypatch, saves, error=KeyboardInterrupt):
    """Let the store raise ``error`` after this many saves."""
    original, left = RunWriter.save, iter(range(saves))

    def failing(self, *record):
        if next(left, None) is None:
            raise error
        original(self, *record)

    monkeypatch.setattr(RunWriter, "save", failing)


def run(*more: str, out: str = "x.zarr") -> int:
    """Run the settings quietly into a store."""
    return main(["run", "run.toml", "--out", out, "--quiet", *more])


def interrupted_run(saves, *more: str, error=KeyboardInterrupt) -> int:
    """Run the settings until an error after this many saves; return the exit code."""
    with pytest.MonkeyPatch.context() as patch:
        interrupted_after(patch, saves, error)
        with contextlib.suppress(MemoryError):
            return run(*more)
    return -1


def test_run_stores_what_solve_gives(config, capsys):
    assert main(["run", config, "--out", "x.zarr"]) == 0
    found = load("x.zarr")
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


def test_run_without_a_store_only_reports_and_quiet_says_nothing(config, capsys):
    assert main(["run", config]) == 0
    assert "largest_density" in capsys.readouterr().out
    assert main(["run", config, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert [str(path) for path in Path().iterdir()] == [config]


def test_set_changes_settings_in_the_run_and_in_the_store(config):
    assert run("--set", "solve.t_end=0.5", "--set", "equation.direction=ascent") == 0
    assert load("x.zarr").final_time == 0.5
    assert load("x.zarr").equation.direction == "ascent"


def test_run_with_particles_compares_and_stores_them(config, capsys):
    chosen = ["--set", "particles.count=50"]
    assert main(["run", config, "--out", "x.zarr", *chosen]) == 0
    density, particles = load("x.zarr"), load("x.zarr/particles")
    assert np.array_equal(density.times, particles.times)
    assert len(particles.final) == 50
    distance = mfpde.wasserstein(density.final, particles.final)
    assert distance < 0.05
    said = capsys.readouterr().out
    assert "against 50 particles" in said
    assert f"{distance:.6g}" in said
    assert main(["show", "x.zarr"]) == 0
    assert "against 50 particles" in capsys.readouterr().out


@pytest.mark.parametrize(("method", "count"), [("spectral", 50), ("labels", 2048)])
def test_particles_move_by_each_method_beside_a_run_on_the_sphere(
    config, capsys, method, count
):
    text = SPHERE.replace("t_end = 1.0, save_every = 0.125", "t_end = 0.02")
    particles = f'particles = {{count = {count}, method = "{method}"}}\n'
    Path(config).write_text(text + particles)
    assert main(["run", config]) == 0
    assert f"against {count} particles" in capsys.readouterr().out


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


def test_a_store_that_exists_is_replaced_only_if_asked(config, capsys, monkeypatch):
    assert run() == 0
    with monkeypatch.context() as patch:
        # It is refused before the run.
        patch.setattr("mfpde.solve", None)
        assert run() == 2
    assert "x.zarr exists" in capsys.readouterr().err
    assert run("--set", "solve.t_end=0.5", "--overwrite") == 0
    assert load("x.zarr").final_time == 0.5


def test_a_numerical_failure_has_its_own_code(config, monkeypatch):
    failure = StopReason.of("non_finite", time=0.7)
    monkeypatch.setattr(StopReason, "of", lambda *_, **__: failure)
    assert run() == 3
    assert load("x.zarr").stop.kind == "non_finite"


# Where commands write -------------------------------------------------------------------------


@pytest.mark.usefixtures("_quick_pictures")
def test_pictures_are_drawn_beside_the_store_or_where_asked(config, capsys):
    assert run("--figure", "figures/f.pdf") == 0
    for command in (["plot", "x.zarr"], ["plot", "x.zarr", "--out", "other.pdf"]):
        assert main(command) == 0
    drawn = {str(path.with_suffix("")) for path in Path().rglob("*.p[dn][fg]")}
    assert drawn == {"figures/f", "x", "other"}
    assert "drawn in x.pdf and x.png" in capsys.readouterr().out


PATH = ["--parameter", "beta", "--values", "2,3"]


@pytest.mark.parametrize(
    ("command", "option", "extra"),
    [
        ("run", "--figure", []),
        ("run", "--out", []),
        ("sweep", "--csv", []),
        ("minimize", "--figure", []),
        ("continuation", "--figure", PATH),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_the_work(
    config, capsys, *, command, option, extra
) -> None:
    Path("taken").write_text("a file, not a folder")
    path = "taken/x.pdf"
    assert main([command, config, option, path, *extra]) == 2
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
    assert load("x.zarr").stop.kind == "t_end"


# What goes on ---------------------------------------------------------------------------------


def test_an_interrupt_keeps_what_was_saved_and_says_how_to_go_on(
    config, capsys, monkeypatch
):
    assert interrupted_run(4) == 130
    assert "continue with: mfpde resume x.zarr" in capsys.readouterr().err
    found = load("x.zarr")
    assert found.times.tolist() == [0.0, 0.125, 0.25, 0.375]
    assert found.stop.kind == "interrupted"
    assert main(["show", "x.zarr"]) == 0
    assert "stopped:     interrupted" in capsys.readouterr().out

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("mfpde.settings.read_settings", interrupt)
    assert main(["run", config]) == 130
    assert capsys.readouterr().err == "interrupted\n"


@pytest.mark.parametrize("kind", ["circle", *OTHERS])
@pytest.mark.parametrize(("saves", "error"), [(3, KeyboardInterrupt), (4, MemoryError)])
def test_a_resumed_run_ends_where_an_uninterrupted_one_does(config, kind, saves, error):
    Path(config).write_text(OTHERS.get(kind, TEXT))
    assert run(out="whole.zarr") == 0
    interrupted_run(saves, error=error)
    assert load("x.zarr").stop.kind == "interrupted"
    steps = load("x.zarr").statistics.get("steps", 0)
    assert main(["resume", "x.zarr", "--quiet"]) == 0
    whole, resumed = load("whole.zarr"), load("x.zarr")
    np.testing.assert_allclose(resumed.times, whole.times, rtol=1e-14)
    assert resumed.stop == whole.stop
    # Both keep the tolerance in time; the steps around the interruption differ.
    assert 0 <= steps < resumed.statistics["steps"]
    count = whole.statistics["steps"]
    assert resumed.statistics["steps"] == pytest.approx(count, abs=2)
    moved = np.abs(resumed.final.density.masses - whole.final.density.masses).sum()
    assert moved < 1e-4


def test_a_run_killed_after_its_last_save_is_finished_by_resume(config, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(RunWriter, "finish", lambda self, run: None)
        run()
    assert load("x.zarr").stop.kind == "interrupted"
    assert main(["resume", "x.zarr", "--quiet"]) == 0
    assert load("x.zarr").stop.kind == "t_end"


def test_a_run_without_any_save_is_resumed_from_its_last_state(config):
    Path(config).write_text(TEXT.replace(", save_every = 0.125", ""))
    interrupted_run(0, "--set", "solve.save_at=[0.5, 1.0]")
    # The step that reaches beyond the save is taken again.
    assert 0 < load("x.zarr").final_time < 0.5
    assert main(["resume", "x.zarr", "--quiet"]) == 0
    assert load("x.zarr").times.tolist() == [0.5, 1.0]


def test_resume_runs_the_particles_too(config):
    interrupted_run(4, "--set", "particles.count=20")
    assert main(["resume", "x.zarr", "--quiet"]) == 0
    assert len(load("x.zarr/particles").times) == 9


def test_resume_refuses_what_does_not_go_on(config, capsys):
    assert run() == 0
    mfpde.save(load("x.zarr"), "y.zarr")
    for store, why in {
        "x.zarr": "x.zarr has already ended",
        "y.zarr": "was not written by `mfpde run`",
        "no.zarr": "there is no store of a run at no.zarr",
    }.items():
        assert main(["resume", store]) == 2
        assert why in line_of(capsys)


def test_a_run_that_has_not_ended_is_looked_at_as_others_are(config) -> None:
    limited = ["--set", "solve.max_steps=1"]
    assert run(*limited, out="runs/x.zarr") == 0
    assert main(["view", "runs"]) == 0
    assert Path("runs/view.html").exists()
    # It starts another run, which goes on where that one is gone too.
    start = 'kind = "perturbed_uniform", amplitude = 0.3'
    going_on = TEXT.replace(start, 'kind = "run", path = "runs/x.zarr"')
    Path(config).write_text(going_on)
    assert run(*limited) == 0
    begun = load("x.zarr").final_time
    assert main(["resume", "x.zarr", "--quiet"]) == 0
    assert load("x.zarr").final_time > begun


# Other geometries and commands ----------------------------------------------------------------


@pytest.mark.parametrize("kind", OTHERS)
@pytest.mark.parametrize("count", [100, 400])
def test_particles_stay_as_near_as_so_many_points_can(config, capsys, kind, count):
    Path(config).write_text(OTHERS[kind])
    chosen = ["--set", f"particles.count={count}"]
    assert main(["run", config, "--out", "x.zarr", *chosen]) == 0
    said = capsys.readouterr().out
    assert f"grid {load('x.zarr').final.geometry!r}" in said
    table = distances(said)
    assert table[:, 0].tolist() == [0, 0.25, 0.5, 0.75, 1]
    # The distance is that of points to a density, all the time: the particles of this run
    # hardly gather.  n points on S^2: the mean distance from the centre of a hexagon of area
    # 4 pi / n; n medians of equal masses on polar angles: pi / (4 n).
    hexagons = 0.3772 * np.sqrt(4 * np.pi / count)
    expected = hexagons if kind == "sphere" else np.pi / (4 * count)
    rtol = 0.06 if kind == "sphere" else 0.16
    np.testing.assert_allclose(table[:, 1], expected, rtol=rtol)
    # On polar angles W1 is exact; on S^2 cells are points in its plan.
    errors = table[:, 2]
    assert (errors > 0).all() if kind == "sphere" else (errors == 0).all()
    assert (errors < table[:, 1]).all()
    assert main(["show", "x.zarr"]) == 0
    assert capsys.readouterr().out.strip() in said


def distances(said):
    """Return the table of W1 and its error that a run printed."""
    lines = said.partition("against")[2].splitlines()
    assert lines[1].split() == ["time", "W1", "±W1"]
    rows = [line.split() for line in lines[2 : lines.index("", 2) - 1]]
    return np.array(rows, dtype=float)


def test_zonal_distances_are_those_of_the_polar_angles():
    zonal = mfpde.Zonal(5, 64)
    start = mfpde.bumps(zonal, angles=[0.8], widths=0.1)
    for count in (50, 800):
        particles = mfpde.quantized(start, count)
        assert zonal_distance(start, particles) < 0.5 / count
    ring, other = mfpde.Atoms(zonal.points[[10]]), mfpde.Atoms(-zonal.points[[49]])
    assert zonal_distance(ring, other) == pytest.approx(4 * zonal.spacing)


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
