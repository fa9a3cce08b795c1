"""Mean-field PDEs of transformer attention, solved as densities.

The names in ``__init__.pyi`` are the public interface.  Each is loaded, with the libraries that
it needs, when it is first used; so are parts of scipy that not every run needs, which is why they
are called by their full names.
"""

from pkgutil import iter_modules

import lazy_loader

__getattr__, _, __all__ = lazy_loader.attach_stub(__name__, __file__)

# What is inside is found as attributes too; the public one among it is the theory.
_inside = {module.name for module in iter_modules(__path__)} - {"theory"}
__all__ = [name for name in __all__ if name not in _inside]


def __dir__() -> list[str]:
    return sorted(__all__)
