"""The page of runs: what it holds (what it does: test_browser.py)."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from drawn import ASCENT, DRIVEN, run_of, runs_of_all_kinds
from stored import CIRCLE

import mfpde
from mfpde.commands.command_line import main
from mfpde.viewer import exhibit_of
from mfpde.viewer.packed import Pack

ROOM = 7_000_000


@pytest.fixture(scope="module")
def runs() -> dict[str, mfpde.Run]:
    return runs_of_all_kinds()


def told(run: mfpde.Run, *, room: int = ROOM) -> dict[str, Any]:
    """What a page says of a run, but for its arrays."""
    whole = zlib.decompress(base64.b64decode(exhibit_of(run, "run", room=room).text))
    end = 4 + int.from_bytes(whole[:4], "little")
    return json.loads(whole[4:end])


def test_saves_are_left_out_evenly_and_said() -> None:
    run = run_of([mfpde.uniform(mfpde.Circle(256))] * 300)
    page = told(run, room=120 * 256)
    saves = page["frames"]["saves"]
    assert (saves[0], saves[-1], len(saves)) == (0, 299, 120)
    assert max(np.diff(saves)) <= 3
    assert any("120 of the 300 saves" in note for note in page["notes"])
    # Curves are of all saves.
    assert len(page["diagnostics"]["times"]) == 300


def test_cells_are_taken_together_and_said() -> None:
    for grid, blocks in ((mfpde.Circle(4096), "2048"), (mfpde.Sphere(128), "32 × 64")):
        page = told(run_of([mfpde.uniform(grid)] * 2), room=5000)
        shown, is_sphere = page["frames"]["grid"], isinstance(grid, mfpde.Sphere)
        assert (shown["longitude"] > 0) == is_sphere
        turn = np.pi if is_sphere else 2 * np.pi
        assert shown["step"] * shown["rows"] == pytest.approx(turn, rel=0.01)
        said = f"is shown by {blocks} means over blocks of cells"
        assert any(said in note for note in page["notes"])


def test_paths_and_counts_are_those_of_the_track_and_of_the_report(runs) -> None:
    run = runs["circle"]
    track = told(run)["track"]
    assert len(track["paths"]) == len(run.track.paths) > 0
    assert [len(seen) for seen in track["seen"]] == [len(a) for a in run.track.seen]
    assert track["verdicts"] == list(run.track.verdicts)
    pairs = list(zip(track["counts"], track["forming"], strict=True))
    for state, (count, forming) in zip(run.states, pairs, strict=True):
        report = mfpde.concentration(state, run.equation)
        assert (count - forming, forming) == (len(report.atoms), len(report.forming))
    assert any(forming for _, forming in pairs)
    card = exhibit_of(run, "run", room=ROOM).card
    assert (card["atoms"], card["forming"]) == pairs[-1]


def test_each_layer_has_its_landscape(runs) -> None:
    network = mfpde.Layers([(ASCENT, 0.5), (DRIVEN, 0.5)])
    layered = mfpde.solve(network, mfpde.uniform(mfpde.Circle(64)), save_every=0.25)
    page = told(layered)
    (land,) = page["landscapes"]
    assert (land["from"], land["to"]) == (0.5, 1.0)
    assert [neuron["w"] for neuron in land["neurons"]] == [0.8, -0.5]
    assert page["breakpoints"] == [0.0, 0.5, 1.0]
    assert page["diagnostics"]["curves"]["minimum"]["unit"] == "1/radian"
    (land,) = told(runs["sphere"])["landscapes"]
    # Where neither of two orthogonal neurons is active.
    assert land["zone"]["low"] == pytest.approx(-np.sqrt(0.5), abs=2e-2)


def test_a_page_loads_nothing_and_is_the_same_again(runs, tmp_path) -> None:
    names = [*list(runs)[:-1], "</script><script>alert(1)</script>"]
    page = mfpde.view(*runs.values(), path=tmp_path / "a" / "page.html", names=names)
    text = page.read_text("utf-8")
    assert "<script>alert" not in text
    assert "default-src 'none'" in text
    assert "The MIT License" in text
    assert not re.search(r"@import|url\(|XMLHttpRequest|\bfetch\(", text)
    # The one address is where uPlot says that it comes from.
    assert re.findall(r"https?://[\w./]+", text) == [
        "https://github.com/leeoniya/uPlot"
    ]
    assert "<!--" not in text.split("<!DOCTYPE html>")[1]
    again = mfpde.view(*runs.values(), path=tmp_path / "again.html", names=names)
    assert again.read_text("utf-8") == text


def test_the_command_takes_stores_and_folders(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.toml").write_text(CIRCLE)
    for beta in (2, 3, 4):
        short = ["--set", f"attention.beta={beta}", "--set", "solve.t_end=0.2"]
        out = ["--out", f"sweep/b{beta}.zarr", "--quiet"]
        assert main(["run", "run.toml", *short, *out]) == 0
    assert main(["view", "sweep/b2.zarr"]) == 0
    assert Path("sweep/b2.html").is_file()
    Path("sweep/broken.zarr").mkdir()
    Path("sweep/broken.zarr/zarr.json").write_text("{")
    assert main(["view", "sweep"]) == 0
    assert "left out: sweep/broken.zarr" in capsys.readouterr().err
    text = Path("sweep/view.html").read_text("utf-8")
    told = json.loads(re.search(r'id="runs">(.*?)</script>', text, re.S).group(1))
    betas = [run["parameters"]["attention.beta"] for run in told["runs"]]
    assert betas == [2.0, 3.0, 4.0]
    assert main(["view", "nothing.zarr"]) == 2
    assert "nothing.zarr" in capsys.readouterr().err


def test_densities_of_a_page_are_right_to_half_a_thousandth(rng) -> None:
    """Differences of 16-bit floats in units of the largest: the upper bytes, then the lower."""
    values = rng.lognormal(0.0, 3.0, 1000)
    pack = Pack()
    unit = pack.add_halves(values)["unit"]
    whole = zlib.decompress(base64.b64decode(pack.text({})))
    upper, lower = (
        np.frombuffer(whole[-2000:], np.uint8).reshape(2, -1).astype(np.uint16)
    )
    halves = np.cumsum(256 * upper + lower, dtype=np.uint16).view(np.float16)
    np.testing.assert_allclose(unit * halves.astype(float), values, rtol=5e-4)
