"""Mean-field PDEs of transformer attention, solved as densities.

The names in ``__init__.pyi`` are the public interface.  Each is loaded, with the libraries that
it needs, when it is first used.
"""

import lazy_loader

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
}
__all__ = [name for name in __all__ if name not in _PACKAGES]


def __dir__() -> list[str]:
    return sorted(__all__)
