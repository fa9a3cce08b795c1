"""Kernels that are parts of others: nothing of their own, the same numbers, the same errors."""

import gc
import os
import pickle
import subprocess
import sys

import numba
import numpy as np
import pytest
from numba.core import event

from mfpde.compiled import compiled, compiled_inside


@compiled_inside
def twice(value):
    return 2.0 * value


@compiled
def first_doubled(values, count):
    if count > len(values):
        raise ValueError("too many", count)
    total = 0.0
    for i in range(count):
        total += twice(values[i])
    return total


@compiled
def sums(values, count):
    return first_doubled(values, count) + first_doubled(values, 1)


def test_a_part_is_compiled_within_its_caller_and_on_its_own_only_when_asked_for():
    values = np.arange(1.0, 6.0)
    assert sums(values, 4) == 22.0
    assert len(sums.signatures) == 1
    assert not first_doubled.signatures
    assert first_doubled(values, 4) == 20.0
    assert len(first_doubled.signatures) == 1


def test_errors_of_a_part_keep_their_texts():
    with pytest.raises(ValueError, match="too many") as raised:
        sums(np.ones(3), 7)
    assert raised.value.args == ("too many", 7)


def test_a_kernel_travels_between_processes_as_numba_lets_its_own():
    assert pickle.loads(pickle.dumps(sums)) is sums


@pytest.mark.parametrize("is_on", [True, False])
def test_collections_wait_until_a_kernel_is_compiled_and_are_then_as_before(is_on):
    while_compiling = []

    class Watch(event.Listener):
        def on_start(self, event):
            while_compiling.append(gc.isenabled())

        def on_end(self, event):
            while_compiling.append(gc.isenabled())

    try:
        if not is_on:
            gc.disable()
        with event.install_listener("numba:compile", Watch()):
            assert numba.njit(lambda x: x + 2.5)(1.0) == 3.5
        assert while_compiling[0] is False
        assert gc.isenabled() == is_on
    finally:
        gc.enable()


def test_collections_go_on_after_a_kernel_that_cannot_be_compiled():
    with pytest.raises(numba.TypingError):
        numba.njit(lambda x: x.nothing)(1.0)
    assert gc.isenabled()


def test_a_numba_without_parts_compiles_kernels_whole(monkeypatch):
    monkeypatch.setattr("mfpde.compiled._KNOWS_PARTS", False)

    def doubled(value: float) -> float:
        return 2.0 * value

    assert type(compiled(doubled)) is not type(twice)
    assert compiled(doubled)(1.5) == 3.0


WITH_FREEDOM = """
import numpy as np
from numba.core import base, event
from numba.core.targetconfig import ConfigStack

shared = []
compiled_by_numba = base.BaseContext._compile_subroutine_no_cache


def watched(context, builder, implementation, *arguments, **options):
    is_memory = "allocator" in implementation.__qualname__
    if ConfigStack().top().fastmath and not is_memory:
        shared.append(implementation.__qualname__)
    return compiled_by_numba(context, builder, implementation, *arguments, **options)


class Watch(event.Listener):
    def on_start(self, event):
        dispatcher = event.data["dispatcher"]
        if dispatcher.py_func.__module__.startswith("numba.np.arraymath"):
            shared.append(dispatcher.py_func.__qualname__)

    def on_end(self, event):
        pass


base.BaseContext._compile_subroutine_no_cache = watched
event.register("numba:compile", Watch())

from mfpde.geometry import fourier_sums, harmonics
from mfpde.solver.time_stepping import StepMoments, moment_norms

moments = [np.ones(9) * (1 + k + 2j) for k in range(4)]
moment_norms(np.ones(9), StepMoments(*moments), 0.1)
fourier_sums.moments_of_atoms(np.eye(2), np.ones(2), 4)
fourier_sums.field_at_points(np.ones(5) + 0j, np.eye(2))
factors = harmonics.recurrence(4)
sums = harmonics.moments_of_atoms(np.eye(3), np.ones(3), factors, 4)
harmonics.field_at_points(sums, np.eye(3), factors, 4)
print(shared)
"""


def test_what_numba_shares_among_kernels_has_no_freedom_of_theirs(tmp_path):
    """Else last bits would depend on the order in which kernels are compiled."""
    done = subprocess.run(
        [sys.executable, "-c", WITH_FREEDOM],
        env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[]\n"
