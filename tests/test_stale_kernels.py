"""Compiled kernels do not outlive a change of any module with kernels."""

import os
import time

from mfpde.compiled import remove_stale_kernels

HOUR = 3600 * 10**9


def written(path, ago, text=""):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    when = time.time_ns() - ago
    os.utime(path, ns=(when, when))
    return path


def test_kernels_older_than_a_module_with_kernels_are_removed(tmp_path):
    written(tmp_path / "line.py", HOUR)
    written(tmp_path / "flux" / "ring.py", 3 * HOUR)
    called = written(tmp_path / "__pycache__" / "line.blend-3.py311.1.nbc", HOUR // 2)
    caller = written(
        tmp_path / "flux" / "__pycache__" / "ring.fluxes-9.py311.nbi", 2 * HOUR
    )
    assert remove_stale_kernels(tmp_path) == 1
    assert called.exists()
    assert not caller.exists()
    assert remove_stale_kernels(tmp_path) == 0


def test_modules_without_kernels_and_modules_of_the_future_change_nothing(tmp_path):
    written(tmp_path / "plots.py", 0)
    written(tmp_path / "line.py", 2 * HOUR)
    written(tmp_path / "ring.py", -HOUR)
    kept = [
        written(tmp_path / "__pycache__" / f"{name}.nbi", HOUR)
        for name in ("line.blend-3.py311", "ring.fluxes-9.py311")
    ]
    assert remove_stale_kernels(tmp_path) == 0
    assert all(file.exists() for file in kept)


def test_a_kernel_that_is_compiled_into_others_counts_without_a_cache_of_its_own(
    tmp_path,
):
    written(tmp_path / "ring.py", 2 * HOUR)
    caller = written(tmp_path / "__pycache__" / "ring.fluxes-9.py311.nbi", HOUR)
    written(tmp_path / "line.py", 0, "from mfpde.compiled import inlined\n")
    assert remove_stale_kernels(tmp_path) == 1
    assert not caller.exists()
