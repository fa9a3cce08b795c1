"""The progress line: physics on a terminal, a line now and then elsewhere."""

import io
import re

import pytest
from rich.console import Console

import mfpde
from mfpde.runs.progress import Progress, progress_line


def record(energy=0.125, **numbers):
    """The numbers of a step, of which some are given."""
    diagnostics = {"energy": energy, "largest_density": 3.5, "mass": 1.0 - 2e-16}
    given = {"time": 2.5, "t_end": 10.0, "step": 0.01, "steps": 250, **numbers}
    return Progress(first_mass=1.0, diagnostic=diagnostics.get, **given)


def test_the_line_says_where_the_run_is_and_whether_it_is_sound():
    line = str(record())
    for part in ("t 2.5/10", "dt 0.01", "mass -2e-16", "E 0.125", "max 3.5"):
        assert part in line
    assert "E " not in str(record(energy=float("nan")))


def test_a_terminal_shows_the_last_record():
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=80)
    with progress_line(console) as report:
        report(0.25, record())
    said = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", file.getvalue())
    last = said.replace("\r", "\n").split("\n")[-2]
    # With the time that is left, in 80 columns, and nothing cut.
    assert str(record()) in last
    assert last.rstrip().endswith("left")
    assert "…" not in last


def test_elsewhere_a_long_run_writes_a_line_now_and_then(monkeypatch):
    file, clock = io.StringIO(), iter([0.0, 1.0, 4.0, 5.0, 15.0, 16.0])
    monkeypatch.setattr("mfpde.runs.progress.time.monotonic", lambda: next(clock))
    with progress_line(Console(file=file, width=200)) as report:
        for _ in range(5):
            report(0.25, record())
    assert file.getvalue().count("t 2.5/10  step 250") == 2


def test_solve_reports_every_step_and_a_short_run_elsewhere_is_silent(capsys):
    records = []

    class Seen(mfpde.Observer):
        def step(self, progress):
            records.append(progress)

    equation = mfpde.MeanFieldEquation(mfpde.Attention(1.0), direction="ascent")
    start = mfpde.perturbed_uniform(mfpde.Circle(32), 0.5)
    run = mfpde.solve(equation, start, t_end=0.5, observer=Seen(), progress=True)
    assert capsys.readouterr() == ("", "")
    assert [record.steps for record in records] == list(
        range(1, run.statistics["steps"] + 1)
    )
    assert records[-1].time == pytest.approx(0.5)
    computed = records[-1].diagnostic
    assert computed("energy") == pytest.approx(run.energies[-1])
    assert computed("largest_density") == run.diagnostics["largest_density"][-1]
