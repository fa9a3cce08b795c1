"""Mean-field PDEs of transformer attention, solved as densities.

The names in ``__init__.pyi`` are the public interface.  Each is loaded, with the libraries that
it needs, when it is first used.
"""

import importlib
from collections.abc import Callable
from typing import Any

import lazy_loader

from mfpde.notebook import DATASET, PICTURE, PLOT, SAVED, STORED, let_make

__getattr__, _, __all__ = lazy_loader.attach_stub(__name__, __file__)

# Packages inside are found as attributes too; the public one among them is the theory.
_PACKAGES = {
    "branches",
    "detection",
    "equation",
    "geometry",
    "measures",
    "particles",
    "plotting",
    "runs",
    "solver",
    "starts",
    "stationary",
    "storage",
    "studies",
    "sweeps",
    "terms",
    "tracking",
    "transport",
    "viewer",
}
__all__ = [name for name in __all__ if name not in _PACKAGES]


def __dir__() -> list[str]:
    return sorted(__all__)


def _made_by(module: str, function: str) -> Callable[..., Any]:
    """Return a function of a module that is loaded when it is called."""
    return lambda *given, **options: getattr(importlib.import_module(module), function)(
        *given, **options
    )


let_make(PICTURE, _made_by("mfpde.plotting.pictures", "small_png"))
let_make(PLOT, _made_by("mfpde.plotting", "plot_run"))
let_make(DATASET, _made_by("mfpde.storage.dataset", "dataset_of"))
let_make(SAVED, _made_by("mfpde.storage", "save"))
let_make(STORED, _made_by("mfpde.storage.run_reader", "load"))
