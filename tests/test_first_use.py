"""What importing the package and asking for help load, and that all names are found."""

import json
import subprocess
import sys

import pytest

import mfpde

HEAVY = {"numba", "scipy", "matplotlib", "zarr", "xarray", "pydantic", "shtns", "pyfftw"}


def loaded_by(code: str) -> set[str]:
    """Names of the modules that a new process has loaded after ``code``."""
    shown = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", shown], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "code",
    [
        "import mfpde",
        "import mfpde; mfpde.__version__",
        "from mfpde.commands.command_line import main\n"
        "import contextlib, io\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "    main(['--help'])",
    ],
)
def test_nothing_heavy_is_loaded(code):
    assert not loaded_by(code) & HEAVY


def test_a_geometry_needs_no_storage_and_no_plotting():
    loaded = loaded_by("import mfpde; mfpde.Circle(64)")
    assert not loaded & {"matplotlib", "zarr", "xarray", "pydantic", "shtns"}


def test_all_public_names_are_found():
    assert sorted(mfpde.__all__) == dir(mfpde)
    for name in mfpde.__all__:
        assert getattr(mfpde, name) is not None
    with pytest.raises(AttributeError, match="solv_e"):
        _ = mfpde.solv_e


def test_packages_inside_are_attributes_without_an_import_of_their_own():
    assert "mfpde.geometry" in loaded_by("import mfpde; mfpde.geometry.Geometry")
    assert "geometry" not in mfpde.__all__
