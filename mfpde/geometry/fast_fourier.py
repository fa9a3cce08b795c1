"""pyfftw without what it brings along.

Its interfaces load Dask, and with that pandas and xarray, where it is installed.  Nothing here
uses them, and each start would take half a second longer.
"""

from __future__ import annotations

import sys

_WITHOUT = "dask"
_is_hidden = _WITHOUT not in sys.modules
if _is_hidden:
    # An import of what is None here fails as if it were not installed.
    sys.modules[_WITHOUT] = None  # type: ignore[assignment]
try:
    import pyfftw
finally:
    if _is_hidden:
        del sys.modules[_WITHOUT]

__all__ = ["pyfftw"]
