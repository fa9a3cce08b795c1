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

WITHOUT_EXTRAS = """
import sys
sys.modules["ot"] = sys.modules["shtns"] = None
import mfpde
from mfpde.commands.command_line import main
equation = mfpde.MeanFieldEquation(mfpde.Attention(2.0), direction="ascent")
for grid in (mfpde.Circle(64), mfpde.Zonal(8, 64)):
    start = mfpde.perturbed_uniform(grid, 0.1)
    run = mfpde.solve(equation, start, t_end=0.2)
    assert mfpde.wasserstein(run.final, start) > 0
try:
    mfpde.Sphere(32)
except ImportError as error:
    print(str(error).lower())
del sys.modules["shtns"]
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


def call(
    python: str | Path, *arguments: str | Path, folder: Path, path: str = ""
) -> str:
    """Return what a call prints that is made in ``folder``."""
    done = subprocess.run(
        [python, *arguments],
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path},
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_without_extras_the_rest_works_and_what_is_missing_is_named(tmp_path):
    """The run and its particles are kept, a line stands for the distances."""
    (tmp_path / "run.toml").write_text(RUN_ON_THE_SPHERE)
    said = call(sys.executable, "-c", WITHOUT_EXTRAS, folder=tmp_path, path=str(ROOT))
    sphere, *shown = said.splitlines()
    assert "pip install shtns" in sphere
    assert "fftw" in sphere
    assert "0 0" in shown
    left_out = [line for line in shown if "pip install 'mfpde[wasserstein]'" in line]
    assert len(left_out) == 2
    assert all(line.startswith("W1 is left out: ") for line in left_out)


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> dict[str, Path]:
    """Wheel and sdist of this checkout."""
    pytest.importorskip("build")
    folder = tmp_path_factory.mktemp("dist")
    call(sys.executable, "-m", "build", "--outdir", folder, ROOT, folder=folder)
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
    call(found, "-m", "pip", *options, built["wheel"], folder=environment)
    (site,) = environment.glob("lib/python*/site-packages")
    # A folder that a .pth adds is searched, but its own .pth files are not read.
    (site / "libraries.pth").write_text(sysconfig.get_paths()["purelib"])
    place = call(found, "-c", "import mfpde; print(mfpde.__file__)", folder=environment)
    assert place.startswith(str(environment))
    return found


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
    call(python, "-c", RUN_A_PAGE, tools, page, folder=empty)
