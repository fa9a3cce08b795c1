"""The benchmarks run, and write what they print; nothing is timed here."""

from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def scripts(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))


def test_rows_are_printed_and_written_and_parts_that_were_not_measured_stay(
    scripts, tmp_path, capsys
):
    import bench
    from results_table import Row, read_json, write_json

    older = [
        Row("Peers", "never reached", np.inf, target=1.0, at_least=True),
        Row("Growth", "a size of before", 2.0, spread=0.1, remark="3 ms"),
    ]
    write_json(older, tmp_path / "results.json")
    assert str(read_json(tmp_path / "results.json")) == str(older)
    bench.main(["--quick", "--only", "growth", "--folder", str(tmp_path)])
    rows = read_json(tmp_path / "results.json")
    table = (tmp_path / "results.md").read_text()
    said = capsys.readouterr().out
    assert [row.part for row in rows] == ["Growth", "Growth", "Peers"]
    assert "a size of before" not in {row.what for row in rows}
    assert "## Peers" in table
    for row in rows[:2]:
        assert row.value > 0
        assert row.what in said
        assert f"| {row.what} |" in table
