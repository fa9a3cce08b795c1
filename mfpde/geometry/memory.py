"""Memory that a run needs, and memory that there is: said before any work.

The need is a number of bytes for each cell, measured as the largest resident size of runs on
each kind of grid (within a factor of 1.3): numpy says when an array does not fit, but FFTW and
compiled kernels end the interpreter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mfpde.geometry.base import Geometry

_OF_KERNELS = 60e6
"""Bytes of the kernels that a run compiles or loads, on any grid."""
_OF_START = 80.0
"""Bytes a cell of a start, without the points."""
_OF_REPORT = 1040.0
"""Bytes a cell of the report on a sphere."""
_FEWER = "use fewer cells or saves"
_TABLES = 4.5
"""Tables (degree + 1, cells) of a zonal grid."""


class Room(NamedTuple):
    """Bytes that this process may still take, and what bounds them, in words."""

    size: float
    bound: str


def memory_of_start(geometry: Geometry) -> float:
    """Bytes of a density on ``geometry`` and of what is made of the grid for it."""
    return math.prod(geometry.shape) * (_OF_START + 8 * geometry.dimension)


def memory_of_run(
    geometry: Geometry, degree: int, saves: int, *, reported: bool = False
) -> float:
    """Bytes that a run takes beyond its start, about.

    Parameters
    ----------
    geometry
        The grid of the run.
    degree
        Degree of its moments.
    saves
        Number of the states that are kept; of a run that may be stopped 2, as it need not come
        to the others.
    reported
        Whether it is stored, and reported on at its end, as ``mfpde run`` does: on a sphere
        that takes more than the run.
    """
    cells = math.prod(geometry.shape)
    of_cell, of_save = (280.0, 32.0) if len(geometry.shape) == 2 else (680.0, 8.0)
    if geometry.axis is not None:
        of_cell += 8 * _TABLES * (degree + 1)
    if reported:
        of_cell = max(of_cell, _OF_REPORT * (len(geometry.shape) == 2))
    libraries = _OF_KERNELS * (2 if reported else 1)
    return libraries + cells * (of_cell + of_save * saves)


def check_memory_of_start(geometry: Geometry) -> None:
    """Raise ``MemoryError`` if a start on ``geometry`` takes more memory than there is."""
    check_memory(
        f"a start on geometry = {geometry!r}", memory_of_start(geometry), _FEWER
    )


def check_memory_of_run(
    geometry: Geometry, degree: int, saves: int, *, reported: bool = False
) -> None:
    """Raise ``MemoryError`` if :func:`memory_of_run` is more than there is."""
    check_memory(
        f"a run on geometry = {geometry!r} with {saves} saves",
        memory_of_run(geometry, degree, saves, reported=reported),
        _FEWER,
    )


def check_memory(what: str, needed: float, remedy: str) -> None:
    """Raise ``MemoryError``, with the ``remedy``, if ``what`` takes more bytes than there are."""
    room = available_memory()
    if needed > room.size:
        raise MemoryError(
            f"{what} needs about {_in_words(needed)}, and {_in_words(room.size)} are left "
            f"{room.bound}: {remedy}"
        )


def available_memory() -> Room:
    """Memory that this process may still take: of the machine, of its group, by its limit."""
    found = [*_of_machine(), *_of_groups(), *_of_process()]
    return min(found, default=Room(math.inf, "of a memory that is not known"))


def _of_machine() -> Iterator[Room]:
    numbers = _numbers_in("/proc/meminfo")
    if "MemAvailable" in numbers:
        size = 1024.0 * (numbers["MemAvailable"] + numbers.get("SwapFree", 0))
        yield Room(size, "on this machine")


def _of_process() -> Iterator[Room]:
    try:
        import resource
    except ImportError:  # on Windows
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY:
        taken = 1024.0 * _numbers_in("/proc/self/status").get("VmSize", 0)
        yield Room(max(limit - taken, 0.0), "of the limit of this process (ulimit -v)")


def _of_groups() -> Iterator[Room]:
    """What the control groups of this process leave, those of containers and batch systems."""
    for line in _text("/proc/self/cgroup").splitlines():
        _, controllers, place = line.split(":", 2)
        if not controllers:
            root, names = "/sys/fs/cgroup", ("memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            root = "/sys/fs/cgroup/memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes")
        else:
            continue
        folder = Path(root, place.lstrip("/"))
        while folder.is_relative_to(root):
            limit, taken = (_text(folder / name).strip() for name in names)
            if limit.isdecimal() and taken.isdecimal():
                numbers = _numbers_in(folder / "memory.stat")
                # Files that were read make room.
                files = numbers.get(
                    "total_inactive_file", numbers.get("inactive_file", 0)
                )
                size = float(int(limit) - int(taken) + files)
                yield Room(max(size, 0.0), "of the limit of this control group")
            folder = folder.parent


def _numbers_in(path: str | Path) -> dict[str, int]:
    """Whole numbers of a file, by the word that each line begins with."""
    words = [line.replace(":", " ").split() for line in _text(path).splitlines()]
    return {one[0]: int(one[1]) for one in words if len(one) > 1 and one[1].isdecimal()}


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text("utf-8")
    except (OSError, ValueError):  # not known on every system
        return ""


def _in_words(size: float) -> str:
    return f"{size / 1e9:.2g} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
