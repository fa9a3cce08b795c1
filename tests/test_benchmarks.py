"""The benchmarks run, and write what they print; nothing is timed here."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import mfpde

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


def test_a_part_that_fails_is_told_and_the_others_go_on(
    scripts, tmp_path, monkeypatch, capsys
):
    import bench

    script = tmp_path / "failing.py"
    script.write_text(
        "import json, sys\n"
        "print('row:', json.dumps(['A part', 'first', 1.0]))\n"
        "if 'runs' in sys.argv: raise SystemExit('no such luck')\n"
    )
    monkeypatch.setattr(bench, "__file__", str(script))
    only = ["--only", "growth", "runs", "scale"]
    assert bench.main(["--quick", *only, "--folder", str(tmp_path)]) == 3
    rows = json.loads((tmp_path / "results.json").read_text())
    assert [row["what"] for row in rows] == ["first", "first", "runs", "first"]
    assert rows[2]["value"] is None
    assert rows[2]["remark"] == "no such luck"
    assert capsys.readouterr().err == "failed: runs\n"


def test_the_peer_takes_the_longest_step_that_ends_right(scripts):
    """Beyond 1 it is unstable; whoever is said never to arrive was given a stable one."""
    from against_spectral import CODES, DEGREE, FACTORS, PROBLEMS, best_options

    relu = next(p for p in PROBLEMS if p.activation == "relu" and p.time == 5.0)
    peer, start = CODES["signed"], relu.start(4096)
    labels = mfpde.solve_particles(relu.equation, start, t_end=5.0, method="labels")
    points, masses = labels.final.points, labels.final.masses
    wanted = start.geometry.atom_moments(points, masses, DEGREE)
    taken, error = best_options(peer, relu, 1024, wanted)
    assert error <= relu.error
    for factor in FACTORS:
        if factor > taken["factor"]:
            with np.errstate(all="ignore"):
                found = peer.moments(relu, 1024, factor=factor)
            assert not np.abs(found - wanted).max() <= relu.error
    never, _ = best_options(peer, relu._replace(error=0.0), 64, wanted)
    assert never["factor"] == min(FACTORS) < 1


def test_the_winds_of_the_suite_bring_their_tracers_back(scripts):
    """By paths of the flow itself: what is left of the errors is the transport's."""
    import transport_suite

    start = np.array([[2.5, 0.3], [3.6, -0.2], [0.1, 1.1]])
    for wind in (transport_suite.nondivergent, transport_suite.divergent):

        def rate(places, t, wind=wind):
            south, east = wind(places[:, 0], places[:, 1], t)
            return np.stack([east / np.cos(places[:, 1]), -south], axis=1)

        places, steps = start.copy(), 4000
        step = transport_suite.PERIOD / steps
        for t in step * np.arange(steps):
            first = rate(places, t)
            second = rate(places + 0.5 * step * first, t + 0.5 * step)
            third = rate(places + 0.5 * step * second, t + 0.5 * step)
            fourth = rate(places + step * third, t + step)
            places += step / 6 * (first + 2 * (second + third) + fourth)
        around = np.array([2 * np.pi, 0.0])
        np.testing.assert_allclose(places, start + around, atol=1e-8)


@pytest.mark.slow
def test_the_suite_keeps_mass_and_sign(scripts):
    import transport_suite

    for transport, cases in transport_suite.SCHEMES.values():
        for case in cases[::3]:
            coarse, fine = (transport(case, rings) for rings in (32, 48))
            for errors in (coarse, fine):
                assert errors.drift < 1e-13
                assert errors.least >= 0
            assert fine.l1 < coarse.l1
            assert fine.l2 < coarse.l2


def test_the_suite_prints_the_least_density_itself(scripts, monkeypatch):
    """Beside that of the truth, which is .1 around bells; it was their difference."""
    import transport_suite

    bells = [case for case in transport_suite.CASES if "bells" in case.name][:1]
    monkeypatch.setattr(transport_suite, "GRIDS", (32, 48))
    schemes = {name: (by, bells) for name, (by, _) in transport_suite.SCHEMES.items()}
    monkeypatch.setattr(transport_suite, "SCHEMES", schemes)
    rows = list(transport_suite.rows())
    said = [re.search(r"least density (\S+) \(truth (\S+)\)", r.remark) for r in rows]
    assert [found is not None for found in said] == [True, True, False] * 2
    for least, true in (found.groups() for found in said if found):
        assert 0 < float(least) < 1
        assert float(true) == pytest.approx(0.1, abs=0.01)
    assert {row.what.split(":")[0] for row in rows} == {
        "labels at T/2",
        "donor_blended",
    }
