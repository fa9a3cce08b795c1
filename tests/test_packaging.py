"""The package outside of a checkout: what is built, installed, and runs there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from documents import ROOT, pages

WITHOUT_SHTNS = """
import sys
sys.modules["shtns"] = None
import mfpde
equation = mfpde.MeanFieldEquation(mfpde.Attention(2.0), direction="ascent")
for grid in (mfpde.Circle(64), mfpde.Zonal(8, 64)):
    run = mfpde.solve(equation, mfpde.perturbed_uniform(grid, 0.1), t_end=0.2)
    print(run.reason)
try:
    mfpde.Sphere(32)
except ImportError as error:
    print(error)
"""
WITHOUT_POT = """
import sys
sys.modules["ot"] = None
import mfpde
for grid in (mfpde.Circle(64), mfpde.Zonal(5, 64)):
    start = mfpde.perturbed_uniform(grid, 0.1)
    print(mfpde.wasserstein(start, mfpde.uniform(grid)) > 0)
on_sphere = mfpde.quantized(mfpde.uniform(mfpde.Sphere(32)), 50)
try:
    mfpde.wasserstein(on_sphere, mfpde.uniform(mfpde.Sphere(32)))
except ImportError as error:
    print(error)
from mfpde.commands.command_line import main
print(main(["run", "run.toml", "--out", "run.zarr"]), main(["show", "run.zarr"]))
"""
RUN_ON_THE_SPHERE = """
geometry = { kind = "sphere", nlat = 32 }
attention = { beta = 1.0 }
equation = { direction = "descent" }
start = { kind = "perturbed_uniform", amplitude = 0.1 }
solve = { t_end = 0.1, save_every = 0.1 }
particles = { count = 20 }
"""


def printed(code: str, folder: Path) -> list[str]:
    """Return the lines that a program prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return done.stdout.splitlines()


def test_circle_and_zonal_grids_work_without_shtns_and_the_sphere_says_what_to_do(
    tmp_path,
):
    circle, zonal, sphere = printed(WITHOUT_SHTNS, tmp_path)
    assert circle == zonal == "the end time t = 0.2 was reached"
    assert "pip install shtns" in sphere
    assert "fftw" in sphere.lower()


def test_without_pot_only_distances_on_the_sphere_are_missing_and_name_the_extra(
    tmp_path,
):
    (tmp_path / "run.toml").write_text(RUN_ON_THE_SPHERE)
    circle, zonal, sphere, *shown = printed(WITHOUT_POT, tmp_path)
    assert circle == zonal == "True"
    assert "pip install 'mfpde[wasserstein]'" in sphere
    # The run and its particles are kept, a line stands for the distances.
    assert "0 0" in shown
    left_out = [line for line in shown if "mfpde[wasserstein]" in line]
    assert len(left_out) == 2
    assert all(line.startswith("W1 is left out: ") for line in left_out)


# Wheel and sdist ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> dict[str, Path]:
    """Wheel and sdist of this checkout."""
    pytest.importorskip("build")
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", folder, ROOT],
        capture_output=True,
        check=True,
    )
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return {"wheel": wheel, "sdist": sdist}


@pytest.mark.slow
def test_wheel_and_sdist_hold_what_they_should(built) -> None:
    with zipfile.ZipFile(built["wheel"]) as wheel:
        held = set(wheel.namelist())
    assert {"mfpde/py.typed", "mfpde/__init__.pyi", "mfpde/solver/solve.py"} <= held
    assert not any(name.endswith((".nbi", ".nbc")) for name in held)
    assert {name.split("/")[0].split("-")[0] for name in held} == {"mfpde"}
    with tarfile.open(built["sdist"]) as sdist:
        inside = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"README.md", "LICENSE", "CITATION.cff", "Makefile"} <= inside
    assert {"validation/runner.py", "docs/conf.py", "tests/conftest.py"} <= inside
    assert not any(name.startswith(("docs/_build", "docs/gallery")) for name in inside)


@pytest.fixture(scope="module")
def python(built, tmp_path_factory) -> Path:
    """Python of an environment with the wheel, which sees our libraries, not our checkout."""
    environment = tmp_path_factory.mktemp("environment")
    venv.create(environment, with_pip=True)
    found = environment / "bin" / "python"
    options = ["install", "--quiet", "--no-deps", "--disable-pip-version-check"]
    subprocess.run([found, "-m", "pip", *options, built["wheel"]], check=True)
    (site,) = environment.glob("lib/python*/site-packages")
    # A folder that a .pth adds is searched, but its own .pth files are not read.
    (site / "libraries.pth").write_text(sysconfig.get_paths()["purelib"])
    return found


def said(python: Path, *arguments: str | Path, folder: Path, code: int = 0) -> str:
    """Return what a call prints that is made in ``folder``."""
    done = subprocess.run(
        [python, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
        check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
def test_the_installed_package_is_not_the_checkout(python, tmp_path) -> None:
    place = said(python, "-c", "import mfpde; print(mfpde.__file__)", folder=tmp_path)
    assert str(python.parent.parent) in place
    assert str(ROOT) not in place
    refused = said(python, "-m", "mfpde", "verify", folder=tmp_path, code=2)
    assert "in the root of a checkout" in refused


RUN_A_PAGE = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from documents import Page
Page(Path(sys.argv[2]), slow=True).run()
"""


@pytest.mark.slow
@pytest.mark.parametrize("page", pages(), ids=lambda page: page.stem)
def test_a_page_runs_from_the_wheel_in_an_empty_folder(python, page, tmp_path) -> None:
    """Each code block of README and docs, the slow ones too, as it is written."""
    tools, empty = tmp_path / "tools", tmp_path / "empty"
    tools.mkdir()
    empty.mkdir()
    shutil.copy(ROOT / "tests" / "documents.py", tools)
    said(python, "-c", RUN_A_PAGE, tools, page, folder=empty)
