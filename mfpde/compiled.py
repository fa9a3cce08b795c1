"""The one way in which numerical kernels are compiled.

``error_model="numpy"`` leaves out checks for division by zero, which would keep the
compiler from vectorising the line kernels (a factor of 4 to 5 there).  ``fastmath``
stays off: conservation to rounding and exact positivity rely on the order of
operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., object])


def compiled(function: Function) -> Function:
    """Compile ``function`` with numba, cached on disk."""
    return cast(Function, numba.njit(cache=True, error_model="numpy")(function))
