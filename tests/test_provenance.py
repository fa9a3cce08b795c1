"""Where a run comes from: versions in its store, differences."""

from __future__ import annotations

import platform
import re

import numba
import numpy as np
import pytest

import mfpde
from mfpde.commands.command_line import main
from mfpde.storage import read_description

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


def test_a_store_says_versions_and_platform(run, tmp_path) -> None:
    mfpde.save(run, tmp_path / "run.zarr")
    record = read_description(tmp_path / "run.zarr").provenance
    assert record["mfpde"] == mfpde.__version__
    assert record["numpy"] == np.__version__
    assert record["numba"] == numba.__version__
    assert record["python"] == platform.python_version()
    assert set(record) >= {"scipy", "shtns", "pyfftw"}
    assert record["platform"] == platform.platform()


def test_show_says_where_a_run_was_made(run, tmp_path, capsys) -> None:
    mfpde.save(run, tmp_path / "run.zarr")
    assert main(["show", str(tmp_path / "run.zarr"), "--origin"]) == 0
    said = capsys.readouterr().out
    assert re.search(rf"numpy: +{re.escape(np.__version__)}", said)
    assert "wall [s]: " in said
