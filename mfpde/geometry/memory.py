"""Memory that a run needs, in bytes for each cell, and memory that there is.

numpy says when an array does not fit, but FFTW and compiled kernels end the interpreter.  The
needs are the largest resident sizes of runs on each kind of grid, within a factor of 1.3.
"""

from __future__ import annotations

import math
import re
import resource
from pathlib import Path

from mfpde.geometry.base import Geometry

_OF_KERNELS = 60e6
"""Bytes of the kernels that a run compiles or loads, on any grid."""
_OF_START = 80.0
"""Bytes a cell of a start, without the points."""
_OF_REPORT = 1040.0
"""Bytes a cell of the report on a sphere."""
_TABLES = 4.5
"""Tables (degree + 1, cells) of a zonal grid."""


def memory_of_run(
    geometry: Geometry, degree: int, saves: int, *, reported: bool = False
) -> float:
    """Bytes that a run with moments of a ``degree`` takes beyond its start, about.

    ``saves`` are the states that are kept; of a run that may be stopped 2, as it need not come to
    the others.  What is stored and ``reported`` on at its end, as ``mfpde run`` does, takes more
    than the run on a sphere.
    """
    is_sphere = len(geometry.shape) == 2
    of_cell, of_save = (280.0, 32.0) if is_sphere else (680.0, 8.0)
    if geometry.axis is not None:
        of_cell += 8 * _TABLES * (degree + 1)
    if reported and is_sphere:
        of_cell = _OF_REPORT
    libraries = _OF_KERNELS * (2 if reported else 1)
    return libraries + math.prod(geometry.shape) * (of_cell + of_save * saves)


def check_memory_of_start(geometry: Geometry) -> None:
    """Raise ``MemoryError`` if a start on ``geometry`` takes more memory than there is."""
    needed = math.prod(geometry.shape) * (_OF_START + 8 * geometry.dimension)
    check_memory(f"a start on geometry = {geometry!r}", needed, "use fewer cells")


def check_memory_of_run(
    geometry: Geometry, degree: int, saves: int, *, reported: bool = False
) -> None:
    """Raise ``MemoryError`` if :func:`memory_of_run` is more than there is."""
    what = f"a run on geometry = {geometry!r} with {saves} saves"
    needed = memory_of_run(geometry, degree, saves, reported=reported)
    check_memory(what, needed, "use fewer cells or saves")


def check_memory(what: str, needed: float, remedy: str) -> None:
    """Raise ``MemoryError``, with the ``remedy``, if ``what`` takes more bytes than there are."""
    size, bound = available_memory()
    if needed > size:
        raise MemoryError(
            f"{what} needs about {needed / 1e9:.2g} GB, and {size / 1e9:.2g} GB are left "
            f"{bound}: {remedy}"
        )


def available_memory() -> tuple[float, str]:
    """Bytes that this process may still take, and what bounds them: the machine, or its limit."""
    machine = _kilobytes_in("/proc/meminfo")
    free = machine.get("MemAvailable", math.inf) + machine.get("SwapFree", 0.0)
    rooms = [(1024 * free, "on this machine")]
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        left = limit - 1024 * _kilobytes_in("/proc/self/status").get("VmSize", 0.0)
        rooms.append((max(left, 0.0), "of the limit of this process (ulimit -v)"))
    return min(rooms)


def _kilobytes_in(path: str) -> dict[str, float]:
    """Sizes in a file of Linux, by the word that each line begins with; none elsewhere."""
    file = Path(path)
    text = file.read_text("utf-8") if file.is_file() else ""
    return {name: float(n) for name, n in re.findall(r"(\w+):\s+(\d+) kB", text)}
