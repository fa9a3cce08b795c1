"""The colours of all pictures, of figures and of the viewer's page alike.

They are those of Okabe & Ito (2008), "Color universal design", which stay apart for readers with
any common colour blindness.
"""

from __future__ import annotations

from collections.abc import Mapping

OKABE_ITO: Mapping[str, str] = {
    "black": "#000000",
    "orange": "#E69F00",
    "sky": "#56B4E9",
    "green": "#009E73",
    "yellow": "#F0E442",
    "blue": "#0072B2",
    "vermilion": "#D55E00",
    "purple": "#CC79A7",
}

DENSITY = OKABE_ITO["blue"]
ATOM = OKABE_ITO["vermilion"]
"""Atoms, their paths and masses; no neuron has it."""
ENERGY, DISSIPATION = OKABE_ITO["blue"], OKABE_ITO["vermilion"]
LANDSCAPE, MUTED = "#333333", "#666666"
NEURONS = tuple(
    OKABE_ITO[name] for name in ("orange", "green", "purple", "sky", "yellow", "black")
)
DENSITY_MAP = "YlGnBu"
"""From a light ground, so that lines and labels can be read on it, to dark where mass is."""
