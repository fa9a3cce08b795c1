"""What importing the package and asking for help load, and that all names are found."""

import json
import subprocess
import sys

import numba
import pytest

import mfpde
from mfpde.commands.command_line import main
from mfpde.commands.compiling import compilation_shown

HEAVY = {
    "numba",
    "scipy",
    "matplotlib",
    "zarr",
    "xarray",
    "shtns",
    "pyfftw",
}


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
    assert not loaded & {"matplotlib", "zarr", "xarray", "shtns"}


def test_all_public_names_are_found():
    assert sorted(mfpde.__all__) == dir(mfpde)
    for name in mfpde.__all__:
        assert getattr(mfpde, name) is not None
    with pytest.raises(AttributeError, match="solv_e"):
        _ = mfpde.solv_e


def test_packages_inside_are_attributes_without_an_import_of_their_own():
    assert "mfpde.geometry" in loaded_by("import mfpde; mfpde.geometry.Geometry")
    assert "geometry" not in mfpde.__all__


# What a first run waits for -------------------------------------------------------------------


def test_what_is_compiled_is_said_on_a_terminal_and_nowhere_else(monkeypatch, capsys):
    for is_terminal in (True, False):
        monkeypatch.setattr("sys.stderr.isatty", lambda here=is_terminal: here)
        with compilation_shown() as line:
            kernel = numba.njit(lambda x: 2.0 * x)
            assert kernel(3.0) == 6.0
            assert kernel(4.0) == 8.0
        assert line.kernels == int(is_terminal)
        said = capsys.readouterr().err
        assert ("compiling for this machine, once: " in said) == is_terminal
        # The line is cleared at the end.
        assert said.endswith(" \r") == is_terminal


def test_kernels_are_not_announced_where_quiet_is_asked_for(monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with compilation_shown(wanted=False):
        numba.njit(lambda x: 3.0 * x)(1.0)
    assert capsys.readouterr().err == ""


def test_warm_up_runs_what_users_run_first(capsys):
    assert main(["warm-up"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert len(said) == 9
    assert all(": ready (" in line for line in said)
    assert main(["warm-up", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
