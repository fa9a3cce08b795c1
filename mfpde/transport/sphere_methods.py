"""Numbers by which the kernels of the sphere know schemes and fluxes."""

from __future__ import annotations

THIRD_ORDER, MUSCL, FACE_VELOCITY = 3, 2, 0
"""How the flux of smooth regions is formed; FACE_VELOCITY has no donor part."""

SOUTHWARD, EASTWARD, DRAINING_TIME = range(3)
"""First index of the fluxes (3, nlat, nlon)."""
