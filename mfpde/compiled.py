"""The one way in which numerical kernels are compiled.

``error_model="numpy"`` leaves out checks for division by zero, which would keep the
compiler from vectorising the line kernels (a factor of 4 to 5 there).  ``fastmath``
stays off: conservation to rounding and exact positivity rely on the order of
operations (``compiled_sum`` and ``compiled_fused`` let some of it go where neither is
at stake; other Python threads may work beside them).

numba keeps compiled kernels beside their modules and looks at the module's own file only: a
kernel that calls another module's kernel stays as it was when that one changes, and cannot even
be read when a type that it takes has another name.  What is older than any module with kernels
is therefore dropped when this module is imported.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])

_ONE_PARALLEL_KERNEL = threading.Lock()


def remove_stale_kernels(package: Path) -> int:
    """Delete compiled kernels in ``package`` that are older than any module with kernels.

    Files that cannot be deleted stay.  Modules dated in the future are ignored, as every
    kernel would be compiled anew each time.

    Returns
    -------
    Number of files deleted.
    """
    caches = list(package.rglob("__pycache__/*.nb[ic]"))
    times = {cache: _changed(cache) for cache in caches}
    oldest, now = min(times.values(), default=0), time.time_ns()
    own = {cache.parents[1] / f"{cache.name.partition('.')[0]}.py" for cache in caches}
    newest = 0
    for module in package.rglob("*.py") if caches else ():
        when = _changed(module)
        if oldest < when <= now and (module in own or _has_kernels(module)):
            newest = max(newest, when)
    removed = 0
    for cache in caches:
        if 0 < times[cache] < newest:
            try:
                cache.unlink()
            except OSError:
                continue
            removed += 1
    return removed


def _changed(file: Path) -> int:
    """Time of the last change in ns; 0 if there is no such file (any more)."""
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0


def _has_kernels(module: Path) -> bool:
    """Whether a module compiles kernels, or such as are compiled into others."""
    return "from mfpde.compiled import" in module.read_text(encoding="utf-8")


remove_stale_kernels(Path(__file__).parent)


def compiled(function: Function) -> Function:
    """Compile ``function`` with numba, cached on disk."""
    return cast(Function, numba.njit(cache=True, error_model="numpy")(function))


def inlined(function: Function) -> Function:
    """Compile ``function`` into every kernel that calls it.

    The compiler leaves long functions as calls, and a loop with a call is not vectorised.
    """
    kernel = numba.njit(cache=True, error_model="numpy", inline="always")
    return cast(Function, kernel(function))


def compiled_sum(function: Function) -> Function:
    """Compile ``function`` so that its sums may be taken in any order, hence vectorised.

    The result is the same on every run; sums that conserve mass may not be taken so.
    """
    kernel = numba.njit(
        cache=True, error_model="numpy", fastmath={"reassoc", "contract"}, nogil=True
    )
    return cast(Function, kernel(function))


def compiled_fused(function: Function) -> Function:
    """Compile ``function`` so that a product and a sum may be rounded once, together.

    This saves a tenth of the time where arithmetic is the limit.  Differences of equal
    numbers stay exactly 0, but a sum of products may depend on the order of its terms.
    """
    kernel = numba.njit(
        cache=True, error_model="numpy", fastmath={"contract"}, nogil=True
    )
    return cast(Function, kernel(function))


def compiled_parallel(function: Function) -> Function:
    """Compile ``function`` so that its ``numba.prange`` loops run on several threads.

    Iterations must not share sums: then the result does not depend on the number of
    threads.  One such kernel runs at a time, since some of numba's threading layers end
    the interpreter when two Python threads enter them together.
    """
    kernel = numba.njit(cache=True, error_model="numpy", parallel=True)(function)

    @functools.wraps(function)
    def run(*arguments: Any) -> object:
        with _ONE_PARALLEL_KERNEL:
            return kernel(*arguments)

    return cast(Function, run)


def thread_count() -> int:
    """Return the number of threads that parallel kernels use (numba's setting)."""
    return int(numba.get_num_threads())
