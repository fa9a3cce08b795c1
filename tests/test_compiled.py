"""What numba compiles once for all kernels has the freedom of none of them."""

import os
import subprocess
import sys

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

from mfpde.geometry import circle, harmonics
from mfpde.transport.base import weighted_norm

weighted_norm(np.ones(9), np.ones(9) * (1 + 2j))
circle.moments_of_atoms(np.eye(2), np.ones(2), 4)
circle.field_at_points(np.ones(5) + 0j, np.eye(2))
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
