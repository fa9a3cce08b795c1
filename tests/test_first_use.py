"""What importing the package and asking for help load, and that all names are found."""

import json
import subprocess
import sys

import numba
import pytest

import mfpde
from mfpde.commands.terminal import show_waiting

HEAVY = {"numba", "scipy", "matplotlib", "zarr", "xarray", "shtns", "pyfftw"}


def loaded_by(code: str) -> set[str]:
    """Names of the modules that a new process has loaded after ``code``."""
    shown = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", shown], capture_output=True, text=True, check=True
    )
    return set(json.loads(done.stdout.splitlines()[-1]))


HELP = """
from mfpde.commands.command_line import main
import contextlib, io
with contextlib.redirect_stdout(io.StringIO()):
    main(['--help'])
    main(['run', '--help'])
"""
LIGHT = {
    "import mfpde; mfpde.__version__": HEAVY,
    HELP: HEAVY,
    "import mfpde; mfpde.solve, mfpde.Circle(64)": {
        *("matplotlib", "zarr", "xarray", "shtns"),
        *("scipy.integrate", "scipy.interpolate", "scipy.optimize"),
    },
    "import mfpde.plotting, mfpde\nmfpde.uniform(mfpde.Circle(32))._repr_html_()": {
        "matplotlib.pyplot"
    },
}


@pytest.mark.parametrize(("code", "heavy"), LIGHT.items(), ids=range(len(LIGHT)))
def test_nothing_heavy_is_loaded(code, heavy):
    assert not loaded_by(code) & heavy


def test_all_public_names_are_found():
    assert sorted(mfpde.__all__) == dir(mfpde)
    for name in mfpde.__all__:
        assert getattr(mfpde, name) is not None
    with pytest.raises(AttributeError, match="solv_e"):
        _ = mfpde.solv_e


@pytest.mark.parametrize(
    ("is_terminal", "shown"), [(True, True), (False, True), (True, False)]
)
def test_what_a_command_waits_for_is_said_on_a_terminal_and_nowhere_else(
    is_terminal, shown, monkeypatch, capsys
):
    monkeypatch.setattr("sys.stderr.isatty", lambda: is_terminal)
    with show_waiting("run", shown=shown):
        kernel = numba.njit(lambda x: 2.0 * x)
        assert kernel(3.0) == 6.0
        assert kernel(4.0) == 8.0
    said = capsys.readouterr().err
    if not (is_terminal and shown):
        assert said == ""
        return
    assert said.startswith("\rmfpde run: loading")
    assert said.count("mfpde run: compiling for this machine, once: ") == 1
    # The line is cleared at the end.
    assert said.endswith(" \r")
