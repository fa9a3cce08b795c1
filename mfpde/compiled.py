"""The one way in which numerical kernels are compiled: ``numba.njit``, with these options.

``error_model="numpy"`` leaves out checks for division by zero, which would keep the compiler
from vectorising the line kernels (a factor of 4 to 5 there).  ``fastmath`` stays off:
conservation to rounding and exact positivity rely on the order of operations
(``compiled_sum`` and ``compiled_fused`` let some of it go where neither is at stake; other
Python threads may work beside them).

No slice is assigned to a slice (``a[:] = b``) in a kernel, and no tuple to a row: for the message
of the error that it might raise numba compiles its text functions, seconds of a first run.

numba keeps compiled kernels beside their modules, and compiles one anew when its own file has
changed, not when a kernel of another module that it calls has: ``make clean`` drops them all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile ``function`` with numba, cached on disk."""
    return _compile(function)


def compiled_inside(function: Function) -> Function:
    """Write ``function`` out where a kernel calls it; it is never compiled by itself.

    A loop with a call is not vectorised; and numba optimises a kernel once more in each kernel
    that calls it, seconds of a first run.
    """
    return _compile(function, inline="always")


def compiled_sum(function: Function) -> Function:
    """Compile ``function`` so that its sums may be taken in any order, hence vectorised.

    The result is the same on every run; sums that conserve mass may not be taken so.

    ``function`` must do without array methods such as ``sum`` and without products of complex
    numbers: numba compiles what is behind them once, with the freedom of whichever kernel asks
    first, so that last bits would depend on the order in which kernels are compiled.
    """
    return _compile(function, fastmath={"reassoc", "contract"}, nogil=True)


def compiled_fused(function: Function) -> Function:
    """Compile ``function`` so that a product and a sum may be rounded once, together.

    This saves a tenth of the time where arithmetic is the limit.  Differences of equal
    numbers stay exactly 0, but a sum of products may depend on the order of its terms.
    """
    return _compile(function, fastmath={"contract"}, nogil=True)


def _compile(function: Function, **options: Any) -> Function:
    kernel = numba.njit(cache=True, error_model="numpy", **options)
    return cast(Function, kernel(function))


def thread_count() -> int:
    """Return the number of threads that parallel kernels use (numba's setting)."""
    return int(numba.get_num_threads())
