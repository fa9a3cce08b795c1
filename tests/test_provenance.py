"""Where a run comes from: versions and commit in its store, differences."""

from __future__ import annotations

import json
import platform
import re
import subprocess

import numba
import numpy as np
import pytest

import mfpde
from mfpde.commands.command_line import main
from mfpde.storage import provenance, read_description

ASCENT = mfpde.MeanFieldEquation(mfpde.Attention(3.0), direction="ascent")
CIRCLE = mfpde.Circle(64)
SHORT = {"t_end": 0.2, "save_every": 0.1}
SETTINGS = """
[geometry]
kind = "circle"
cells = 64

[attention]
beta = 3.0

[equation]
direction = "ascent"

[start]
kind = "perturbed_uniform"
amplitude = 0.3

[solve]
t_end = 0.4
save_every = 0.1
"""


@pytest.fixture(scope="module")
def run() -> mfpde.Run:
    start = mfpde.perturbed_uniform(CIRCLE, 0.3)
    options = {"track": mfpde.Concentration(), "transport": "donor_blended", **SHORT}
    return mfpde.solve(ASCENT, start, **options)


# What a store holds -----------------------------------------------------------------------------


def test_a_store_says_versions_platform_and_commit(run, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(provenance, "describe_commit", lambda _: "v1-2-gabc-dirty")
    provenance.describe_process.cache_clear()
    mfpde.save(run, tmp_path / "run.zarr")
    provenance.describe_process.cache_clear()
    (record,) = read_description(tmp_path / "run.zarr").provenance
    assert record["versions"]["numpy"] == np.__version__
    assert record["versions"]["numba"] == numba.__version__
    assert record["versions"]["python"] == platform.python_version()
    assert set(record["versions"]) >= {"mfpde", "scipy", "shtns", "pyfftw"}
    assert record["platform"] == platform.platform()
    assert record["commit"] == "v1-2-gabc-dirty"


def test_the_commit_is_that_of_the_checkout_and_says_what_is_changed(tmp_path) -> None:
    def git(*words: str) -> None:
        who = (
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "-c",
            "commit.gpgsign=false",
        )
        subprocess.run(["git", "-C", str(tmp_path), *who, *words], check=True)

    assert provenance.describe_commit(tmp_path) is None
    git("init", "-q")
    (tmp_path / "file").write_text("one")
    git("add", "file")
    git("commit", "-qm", "first")
    clean = provenance.describe_commit(tmp_path)
    assert re.fullmatch(r"[0-9a-f]{7,}", clean)
    (tmp_path / "file").write_text("two")
    assert provenance.describe_commit(tmp_path) == f"{clean}-dirty"


def test_another_process_that_goes_on_is_noted_beside_the_first() -> None:
    before = [{"versions": {"mfpde": "0.0.1"}}]
    attributes = {"provenance": json.dumps(before)}
    added = provenance.add_process(attributes)
    now = provenance.describe_process()
    assert json.loads(added["provenance"]) == [*before, now]
    # The same one is not noted twice.
    assert provenance.add_process(added) == added


def test_show_says_where_a_run_was_made(run, tmp_path, capsys) -> None:
    mfpde.save(run, tmp_path / "run.zarr")
    assert main(["show", str(tmp_path / "run.zarr"), "--origin"]) == 0
    said = capsys.readouterr().out
    assert re.search(rf"versions\.numpy: +{re.escape(np.__version__)}", said)
    assert "wall [s]: " in said
