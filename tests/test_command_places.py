"""Where the commands write: looked at before the work, and never over another run's."""

from pathlib import Path

import pytest
from matplotlib.figure import Figure

from mfpde.commands.command_line import main
from mfpde.settings.settings import FILE, read_settings
from mfpde.solver.solve import solve
from mfpde.storage import RunWriter, load

TEXT = """
[geometry]
kind = "circle"
cells = 64
[attention]
beta = 2.0
[equation]
direction = "descent"
[start]
kind = "perturbed_uniform"
amplitude = 0.3
[solve]
t_end = 1.0
save_every = 0.25
"""


@pytest.fixture
def config(tmp_path, monkeypatch):
    # Empty figures: here it matters where they go.
    monkeypatch.setattr("mfpde.plotting.plot_run", lambda run: Figure())
    monkeypatch.chdir(tmp_path)
    Path("run.toml").write_text(TEXT)
    Path("taken").write_text("a file, not a folder")
    return "run.toml"


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("run", "--figure"),
        ("run", "--out"),
        ("sweep", "--csv"),
        ("minimize", "--figure"),
        ("continuation", "--figure"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_the_work(
    config, capsys, *, command, option
) -> None:
    needed = ["--parameter", "beta", "--values", "2,3"]
    extra = needed if command == "continuation" else []
    path = "taken/x.pdf"
    assert main([command, config, option, path, *extra]) == 2
    # After the work the message would be another one.
    said = capsys.readouterr().err
    assert said.startswith(
        f"mfpde {command}: Invalid value for {option}: {path!r} cannot"
    )
    assert said.count("\n") == 1


def test_a_figure_is_no_folder(config, capsys) -> None:
    Path("pictures").mkdir()
    assert main(["run", config, "--figure", "pictures"]) == 2
    assert "'pictures' is a folder" in capsys.readouterr().err


def test_a_figure_that_fails_leaves_a_complete_store(
    config, monkeypatch, capsys
) -> None:
    def full(*_args, **_kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mfpde.plotting.save_figure", full)
    places = ["--out", "x.zarr", "--figure", "x.pdf"]
    assert main(["run", config, "--quiet", *places]) == 2
    assert capsys.readouterr().err == (
        "mfpde run: the figure x.pdf could not be written: No space left on device; the "
        "run is complete in x.zarr: mfpde plot x.zarr\n"
    )
    assert load("x.zarr").stop.kind == "t_end"


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


def test_a_resumed_run_counts_the_steps_of_both_parts(config, monkeypatch) -> None:
    written, left = RunWriter.save, iter(range(3))

    def save_until_interrupted(writer, *args) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt
        written(writer, *args)

    monkeypatch.setattr(RunWriter, "save", save_until_interrupted)
    assert main(["run", config, "--quiet", "--out", "x.zarr"]) == 130
    first = load("x.zarr").statistics["steps"]
    monkeypatch.setattr(RunWriter, "save", written)
    assert main(["resume", "x.zarr", "--quiet"]) == 0
    resumed = load("x.zarr").statistics
    settings = read_settings(config)
    whole = solve(
        settings.single_equation(), settings.start, **settings.solve_arguments()
    )
    assert 0 < first < resumed["steps"]
    assert resumed["steps"] == pytest.approx(whole.statistics["steps"], abs=2)
