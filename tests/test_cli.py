"""The command line: what it leaves on disk, what it says, and its exit codes."""

import contextlib
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from mfpde.commands.command_line import main
from mfpde.commands.report import zonal_distance
from mfpde.geometry import Zonal
from mfpde.measures.measure import Atoms
from mfpde.measures.sampling import quantized
from mfpde.measures.starts import bumps
from mfpde.measures.wasserstein import wasserstein
from mfpde.runs.stopping import StopReason
from mfpde.storage import RunWriter, load, save

TEXT = """
[geometry]
kind = "circle"
cells = 64

[attention]
beta = 2.0

[perceptron]
directions = [[1.0, 0.0]]
weights = [0.3]

[equation]
direction = "descent"

[start]
kind = "perturbed_uniform"
amplitude = 0.3

[solve]
t_end = 1.0
save_every = 0.125
"""


@pytest.fixture
def config(tmp_path, monkeypatch):
    """Return a settings file in a working directory of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.toml").write_text(TEXT)
    return "run.toml"


@pytest.fixture
def quick_pictures(monkeypatch):
    """Let runs be drawn as empty figures: here it matters where they go."""
    monkeypatch.setattr("mfpde.plotting.plot_run", lambda run: Figure())


GEOMETRIES = {
    "sphere": 'kind = "sphere"\nnlat = 32',
    "zonal": 'kind = "zonal"\ndimension = 5\ncells = 64',
}
NEURONS = {"sphere": "directions = [[0.6, 0.0, 0.8]]", "zonal": "directions = [1.0]"}


@pytest.fixture(params=GEOMETRIES)
def other_config(request, tmp_path, monkeypatch):
    """Return a settings file with another geometry than the circle."""
    monkeypatch.chdir(tmp_path)
    text = TEXT.replace('kind = "circle"\ncells = 64', GEOMETRIES[request.param])
    text = text.replace("directions = [[1.0, 0.0]]", NEURONS[request.param])
    text = text.replace("beta = 2.0", "beta = 1.0").replace("0.125", "0.25")
    (tmp_path / "run.toml").write_text(text)
    return "run.toml"


def interrupted_after(monkeypatch, saves, error=KeyboardInterrupt):
    """Let the store raise ``error`` after this many saves."""
    original = RunWriter.save
    left = [saves]

    def failing(self, *record):
        if left[0] == 0:
            raise error
        left[0] -= 1
        original(self, *record)

    monkeypatch.setattr(RunWriter, "save", failing)


def test_run_stores_what_solve_gives(config, capsys):
    assert main(["run", config, "--out", "x.zarr"]) == 0
    run = load("x.zarr")
    assert run.times.tolist() == [k / 8 for k in range(9)]
    assert run.stop.kind == "t_end"
    said = capsys.readouterr().out
    assert "descent of attention (beta = 2) + perceptron (1 relu neuron)" in said
    assert "K = exp(beta (x.y - 1))" in said
    assert "the end time t = 1 was reached" in said
    assert "stored in x.zarr" in said
    assert main(["show", "x.zarr"]) == 0
    assert capsys.readouterr().out.strip() in said


def test_run_without_a_store_only_reports_and_quiet_says_nothing(
    config, capsys, tmp_path
):
    assert main(["run", config]) == 0
    assert "largest_density" in capsys.readouterr().out
    assert main(["run", config, "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert [path.name for path in tmp_path.iterdir()] == ["run.toml"]


def test_set_changes_settings_in_the_run_and_in_the_store(config):
    changes = ["--set", "solve.t_end=0.5", "--set", "equation.direction=ascent"]
    assert main(["run", config, "--out", "x.zarr", "--quiet", *changes]) == 0
    run = load("x.zarr")
    assert run.final_time == 0.5
    assert run.equation.direction == "ascent"


def test_run_with_particles_compares_and_stores_them(config, capsys):
    arguments = ["run", config, "--out", "x.zarr", "--set", "particles.count=50"]
    assert main(arguments) == 0
    run, particles = load("x.zarr"), load("x.zarr/particles")
    assert np.array_equal(run.times, particles.times)
    assert len(particles.final) == 50
    distance = wasserstein(run.final, particles.final)
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
    text = TEXT.replace('kind = "circle"\ncells = 64', GEOMETRIES["sphere"])
    text = text.replace("directions = [[1.0, 0.0]]", NEURONS["sphere"])
    text = text.replace("t_end = 1.0\nsave_every = 0.125", "t_end = 0.1")
    particles = f'[particles]\ncount = {count}\nmethod = "{method}"\n'
    Path("run.toml").write_text(text + particles)
    assert main(["run", config]) == 0
    assert f"against {count} particles" in capsys.readouterr().out


@pytest.mark.usefixtures("quick_pictures")
def test_run_draws_a_pdf_and_a_png(config, tmp_path):
    assert main(["run", config, "--figure", "figures/f.pdf", "--quiet"]) == 0
    drawn = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert drawn == ["f.pdf", "f.png"]


def test_bad_settings_are_one_message_on_stderr(config, capsys, tmp_path):
    changes = ["--set", "solve.t_edn=1", "--set", "attention.beta=-1"]
    assert main(["run", config, "--out", "x.zarr", *changes]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("mfpde run: ")
    assert "did you mean 't_end'?" in err
    assert "beta = -1" in err
    assert "Traceback" not in err
    assert not (tmp_path / "x.zarr").exists()
    assert main(["run", "no.toml"]) == 2
    assert "no.toml cannot be read" in capsys.readouterr().err


def test_a_store_that_exists_is_replaced_only_if_asked(config, capsys, monkeypatch):
    again = ["run", config, "--out", "x.zarr", "--quiet", "--set", "solve.t_end=0.5"]
    assert main(["run", config, "--out", "x.zarr", "--quiet"]) == 0
    with monkeypatch.context() as patch:
        # It is refused before the run.
        patch.setattr("mfpde.solve", None)
        assert main(again) == 2
    assert "x.zarr exists" in capsys.readouterr().err
    assert main([*again, "--overwrite"]) == 0
    assert load("x.zarr").final_time == 0.5


def test_a_numerical_failure_has_its_own_code(config, monkeypatch):
    failure = StopReason.of("non_finite", time=0.7)
    monkeypatch.setattr(StopReason, "of", lambda *_, **__: failure)
    assert main(["run", config, "--out", "x.zarr", "--quiet"]) == 3
    assert load("x.zarr").stop.kind == "non_finite"


def test_an_interrupt_keeps_what_was_saved_and_says_how_to_go_on(
    config, capsys, monkeypatch
):
    interrupted_after(monkeypatch, 4)
    assert main(["run", config, "--out", "x.zarr", "--quiet"]) == 130
    assert "continue with: mfpde resume x.zarr" in capsys.readouterr().err
    run = load("x.zarr")
    assert run.times.tolist() == [0.0, 0.125, 0.25, 0.375]
    assert run.stop.kind == "interrupted"
    assert main(["show", "x.zarr"]) == 0
    assert "stopped:     interrupted" in capsys.readouterr().out


def test_an_interrupt_between_commands_has_the_same_code(config, monkeypatch, capsys):
    monkeypatch.setattr("mfpde.settings.read_settings", _raise_interrupt)
    assert main(["run", config]) == 130
    assert capsys.readouterr().err == "interrupted\n"


def _raise_interrupt(*_):
    raise KeyboardInterrupt


@pytest.mark.parametrize("saves", [4, 8])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_resumed_run_ends_where_an_uninterrupted_one_does(
    config, monkeypatch, *, error, saves
):
    main(["run", config, "--out", "whole.zarr", "--quiet"])
    with monkeypatch.context() as patch:
        interrupted_after(patch, saves, error)
        with contextlib.suppress(MemoryError):
            main(["run", config, "--out", "x.zarr", "--quiet"])
    assert main(["resume", "x.zarr", "--quiet"]) == 0
    whole, resumed = load("whole.zarr"), load("x.zarr")
    np.testing.assert_allclose(resumed.times, whole.times, rtol=1e-14)
    assert resumed.stop == whole.stop
    # Both keep the tolerance in time; the steps around the interruption differ.
    assert wasserstein(resumed.final, whole.final) < 1e-4


def test_a_run_killed_after_its_last_save_is_finished_by_resume(config, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(RunWriter, "finish", lambda self, run: None)
        main(["run", config, "--out", "x.zarr", "--quiet"])
    assert load("x.zarr").stop.kind == "interrupted"
    assert main(["resume", "x.zarr", "--quiet"]) == 0
    assert load("x.zarr").stop.kind == "t_end"


def test_a_run_without_any_save_is_resumed_from_its_last_state(config, monkeypatch):
    times = ["--set", "solve.save_at=[0.5, 1.0]"]
    Path(config).write_text(TEXT.replace("save_every = 0.125", ""))
    with monkeypatch.context() as patch:
        interrupted_after(patch, 0)
        main(["run", config, "--out", "x.zarr", "--quiet", *times])
    # The step that reaches beyond the save is taken again.
    assert 0 < load("x.zarr").final_time < 0.5
    assert main(["resume", "x.zarr", "--quiet"]) == 0
    assert load("x.zarr").times.tolist() == [0.5, 1.0]


def test_resume_runs_the_particles_too(config, monkeypatch):
    with monkeypatch.context() as patch:
        interrupted_after(patch, 4)
        arguments = ["--quiet", "--set", "particles.count=20"]
        main(["run", config, "--out", "x.zarr", *arguments])
    assert main(["resume", "x.zarr", "--quiet"]) == 0
    assert len(load("x.zarr/particles").times) == 9


def test_resume_refuses_what_does_not_go_on(config, capsys):
    assert main(["run", config, "--out", "x.zarr", "--quiet"]) == 0
    save(load("x.zarr"), "y.zarr")
    for store, why in {
        "x.zarr": "x.zarr has already ended",
        "y.zarr": "was not written by `mfpde run`",
        "no.zarr": "there is no store of a run at no.zarr",
    }.items():
        assert main(["resume", store]) == 2
        assert why in capsys.readouterr().err


@pytest.mark.usefixtures("quick_pictures")
def test_plot_draws_beside_the_store_or_where_asked(config, tmp_path, capsys):
    main(["run", config, "--out", "x.zarr", "--quiet"])
    assert main(["plot", "x.zarr"]) == 0
    assert main(["plot", "x.zarr", "--out", "other.pdf"]) == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert {"x.pdf", "x.png", "other.pdf", "other.png"} <= names
    assert "drawn in x.pdf and x.png" in capsys.readouterr().out


# --- other geometries -----------------------------------------------------------------


def test_run_show_and_plot_on_every_geometry(other_config, capsys, tmp_path):
    assert main(["run", other_config, "--out", "x.zarr"]) == 0
    said = capsys.readouterr().out
    assert f"grid {load('x.zarr').final.geometry!r}" in said
    assert main(["show", "x.zarr"]) == 0
    assert capsys.readouterr().out.strip() in said
    assert main(["plot", "x.zarr"]) == 0
    assert (tmp_path / "x.pdf").exists()


@pytest.mark.parametrize("count", [100, 400])
def test_particles_stay_as_near_as_so_many_points_can(other_config, capsys, count):
    assert main(["run", other_config, "--set", f"particles.count={count}"]) == 0
    said = capsys.readouterr().out
    assert f"against {count} particles" in said
    table = distances(said)
    assert table[:, 0].tolist() == [0, 0.25, 0.5, 0.75, 1]
    # The distance is that of points to a density, all the time: the particles of this run
    # hardly gather.  n points on S^2: the mean distance from the centre of a hexagon of area
    # 4 pi / n; n medians of equal masses on polar angles: pi / (4 n).
    on_sphere = "sphere" in Path(other_config).read_text()
    hexagons = 0.3772 * np.sqrt(4 * np.pi / count)
    expected = hexagons if on_sphere else np.pi / (4 * count)
    rtol = 0.06 if on_sphere else 0.16
    np.testing.assert_allclose(table[:, 1], expected, rtol=rtol)
    # On polar angles W1 is exact; on S^2 cells are points in its plan.
    errors = table[:, 2]
    assert (errors > 0).all() if on_sphere else (errors == 0).all()
    assert (errors < table[:, 1]).all()


def distances(said):
    """Return the table of W1 and its error that a run printed."""
    lines = said.partition("against")[2].splitlines()
    assert lines[1].split() == ["time", "W1", "±W1"]
    rows = [line.split() for line in lines[2 : lines.index("", 2) - 1]]
    return np.array(rows, dtype=float)


def test_a_resumed_run_on_every_geometry_ends_as_an_uninterrupted_one(
    other_config, monkeypatch
):
    main(["run", other_config, "--out", "whole.zarr", "--quiet"])
    with monkeypatch.context() as patch:
        interrupted_after(patch, 2)
        main(["run", other_config, "--out", "x.zarr", "--quiet"])
    assert load("x.zarr").stop.kind == "interrupted"
    assert main(["resume", "x.zarr", "--quiet"]) == 0
    whole, resumed = load("whole.zarr"), load("x.zarr")
    np.testing.assert_allclose(resumed.times, whole.times, rtol=1e-14)
    assert resumed.stop == whole.stop
    moved = np.abs(resumed.final.density.masses - whole.final.density.masses).sum()
    assert moved < 1e-4


def test_zonal_distances_are_those_of_the_polar_angles():
    zonal = Zonal(5, 64)
    start = bumps(zonal, angles=[0.8], widths=0.1)
    for count in (50, 800):
        particles = quantized(start, count)
        assert particles.dimension == 5
        assert zonal_distance(start, particles) < 0.5 / count
    ring, other = Atoms(zonal.points[[10]]), Atoms(-zonal.points[[49]])
    assert zonal_distance(ring, other) == pytest.approx(4 * zonal.spacing)


def test_the_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "mfpde", "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("mfpde ")


def test_a_run_that_has_not_ended_is_looked_at_as_others_are(config, capsys) -> None:
    limited = ["--set", "solve.max_steps=1", "--quiet"]
    assert main(["run", config, "--out", "runs/x.zarr", *limited]) == 0
    assert main(["view", "runs"]) == 0
    assert Path("runs/view.html").exists()
    # It starts another run, which goes on where that one is gone too.
    start = '[start]\nkind = "run"\npath = "runs/x.zarr"\n'
    cut = TEXT.index("[start]"), TEXT.index("[solve]")
    Path("next.toml").write_text(TEXT[: cut[0]] + start + TEXT[cut[1] :])
    assert main(["run", "next.toml", "--out", "y.zarr", *limited]) == 0
    begun = load("y.zarr").final_time
    assert main(["resume", "y.zarr", "--quiet"]) == 0
    assert load("y.zarr").final_time > begun
