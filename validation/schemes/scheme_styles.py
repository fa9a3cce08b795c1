"""How each transport scheme is drawn: the same colour and dashes in every figure.

Curves of schemes that agree lie on one another: wider lines lie below dashed narrow ones.
"""

from __future__ import annotations

from typing import Any, Final

from mfpde.plotting.palette import OKABE_ITO

STYLES: Final[dict[str, dict[str, Any]]] = {
    "donor_blended": {"color": OKABE_ITO["blue"], "ls": "-", "lw": 2.4},
    "semi_lagrangian": {"color": OKABE_ITO["purple"], "ls": ":", "lw": 1.8},
}
"""Keyword arguments of ``Axes.plot`` by the name of the scheme."""
WITNESS: Final[dict[str, Any]] = {"color": OKABE_ITO["black"], "lw": 1.0}
"""The style of particles, labels and exact solutions."""
