"""Memory is said before the work: what does not fit is refused in a line, what fits runs."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest
from equations import ascent
from random_points import random_points

import mfpde

resource = pytest.importorskip("resource")
pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="limits of memory are Linux's"
)

CONFIG = """
geometry = {{kind = "sphere", nlat = {nlat}}}
attention = {{beta = 4.0}}
equation = {{direction = "ascent"}}
start = {{kind = "perturbed_uniform", amplitude = 0.1}}
solve = {{t_end = 0.01, save_every = 0.01}}
"""
LIMITED = """
import resource, sys
import mfpde
from mfpde.commands.command_line import main
import shtns
mfpde.load, mfpde.wasserstein
taken = next(l for l in open("/proc/self/status") if l.startswith("VmSize"))
limit = 1024 * int(taken.split()[1]) + int(float(sys.argv[1]) * 1e6)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
sys.exit(main(sys.argv[2:]))
"""


def limited(megabytes: float, folder, *arguments: str) -> subprocess.CompletedProcess:
    """The command in a process that may take so much memory more than the package."""
    command = [sys.executable, "-c", LIMITED, str(megabytes), *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.parametrize(
    ("nlat", "megabytes", "what"),
    [
        (4096, 1000, "start"),
        pytest.param(2048, 1000, "run", marks=pytest.mark.slow),
        (512, 150, "run"),
    ],
)
def test_a_run_that_does_not_fit_is_refused_before_its_store(
    tmp_path, nlat, megabytes, what
) -> None:
    (tmp_path / "run.toml").write_text(CONFIG.format(nlat=nlat))
    found = limited(megabytes, tmp_path, "run", "run.toml", "--out", "x.zarr")
    assert found.returncode == 2
    (line,) = found.stderr.strip().splitlines()
    assert f"a {what} on geometry = Sphere(nlat={nlat}," in line
    assert "needs about" in line
    assert "are left of the limit of this process" in line
    assert [path.name for path in tmp_path.iterdir()] == ["run.toml"]


def test_a_run_that_fits_is_not_refused(tmp_path) -> None:
    """It takes some 170 MB, and libraries that are loaded later 300 of addresses."""
    (tmp_path / "run.toml").write_text(CONFIG.format(nlat=256))
    found = limited(700, tmp_path, "run", "run.toml", "--quiet", "--out", "x.zarr")
    assert found.returncode == 0, found.stderr
    assert (tmp_path / "x.zarr" / "zarr.json").is_file()


MEASURED = """
import sys
import numpy as np
import mfpde
from mfpde.geometry.memory import memory_of_run


def most_resident():
    # Of this program alone: ru_maxrss begins with that of the process it came from.
    line = next(l for l in open("/proc/self/status") if l.startswith("VmHWM"))
    return int(line.split()[1])


geometry, beta, saves = eval(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
equation = mfpde.MeanFieldEquation(mfpde.Attention(beta), direction="ascent")
start = mfpde.Density(geometry, 1 + 0.3 * geometry.points[..., -1]).normalized()
need = memory_of_run(geometry, equation.on(geometry).degree, saves)
before = most_resident()
times = np.linspace(0, 0.001, saves)
mfpde.solve(equation, start, t_end=0.001, save_at=times)
peak = most_resident()
print(need / (1024 * (peak - before)))
"""


@pytest.mark.parametrize(
    ("geometry", "beta", "saves"),
    [
        ("mfpde.Circle(2**17)", 4, 20),
        *(
            pytest.param(*given, marks=pytest.mark.slow)
            for given in (
                ("mfpde.Sphere(256)", 4, 2),
                ("mfpde.Sphere(384)", 4, 20),
                ("mfpde.Zonal(64, 8192)", 1000, 2),
            )
        ),
    ],
)
def test_what_a_run_is_said_to_need_is_what_it_takes(geometry, beta, saves) -> None:
    """At least the largest resident size within 1.3, at most twice that."""
    command = [sys.executable, "-c", MEASURED, geometry, str(beta), str(saves)]
    for _ in range(2):  # the compiler's own memory is in the first, where it is used
        found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 1 / 1.3 < float(found.stdout) < 2, found.stdout


def test_solve_and_random_neurons_say_what_they_need() -> None:
    equation = ascent(mfpde.Attention(4.0))
    start = mfpde.uniform(mfpde.Circle(2**18))
    begun = time.process_time()
    # A million saves of 2^18 cells are 2 TB.
    needs = r"Circle\(num_cells=262144\) with .* saves needs"
    with pytest.raises(MemoryError, match=needs):
        mfpde.solve(equation, start, t_end=1e6, save_every=1.0)
    too_many = "units = 9999999 must be at most 1000000"
    with pytest.raises(ValueError, match=too_many):
        mfpde.Perceptron.random(9_999_999, 3, seed=1)
    assert time.process_time() - begun < 0.5
    assert len(mfpde.Perceptron.random(1_000_000, 3, seed=1).weights) == 1_000_000
    assert time.process_time() - begun < 5


@pytest.mark.parametrize("dimension", [2, 3, 5])
def test_many_neurons_at_many_points_are_summed_in_blocks(dimension) -> None:
    """2000 neurons at 20,000 points: each number as alone, without 320 MB of outputs."""
    neurons = mfpde.Perceptron.random(2000, dimension, seed=1)
    points = random_points(20_000, dimension, 1)
    for evaluate in (neurons.drift, neurons.value):
        whole, some = evaluate(points)[::1999], evaluate(points[::1999])
        np.testing.assert_allclose(whole, some, rtol=1e-12, atol=1e-11)
