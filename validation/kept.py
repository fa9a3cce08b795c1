"""Results of witnesses kept by their arguments: computed once, whatever asks again.

A script that runs under each fault in turn asks its witnesses the same thing each time.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def kept(function: Function) -> Function:
    """The function, its results kept in the process; they must not be changed.

    Arguments that cannot be pickled are computed anew.
    """
    results: dict[bytes, Any] = {}

    @functools.wraps(function)
    def asked(*args: Any, **kwargs: Any) -> Any:
        try:
            key = pickle.dumps((args, sorted(kwargs.items())))
        except (pickle.PicklingError, AttributeError, TypeError):
            return function(*args, **kwargs)
        if key not in results:
            results[key] = function(*args, **kwargs)
        return results[key]

    return asked  # type: ignore[return-value]
