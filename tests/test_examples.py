"""The examples run, and say what is true."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from mfpde.config import read_settings

EXAMPLES = Path(__file__).parent.parent / "examples"


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_two_clusters_merge_in_the_exact_time() -> None:
    result = load("two_clusters_merge").main(num_cells=384)
    # The bumps have a width, the atoms of the formula none: 2 % of the time.
    assert result["reached"] == pytest.approx(result["expected"], rel=0.03)


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.toml")), ids=lambda p: p.stem)
def test_settings_files_are_valid(path: Path) -> None:
    settings = read_settings(path)
    assert settings.build_start().total_mass == pytest.approx(1.0, abs=1e-12)
