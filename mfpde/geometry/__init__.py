"""Grids on spheres: points, areas, moments and spectral fields; no physics."""

from mfpde.geometry.arcs import geodesic_moves, tangent_frames
from mfpde.geometry.base import CellsNear, FieldAtPoints, Geometry
from mfpde.geometry.circle import Circle
from mfpde.geometry.harmonics import zonal_harmonics
from mfpde.geometry.sphere import Sphere
from mfpde.geometry.zonal import Zonal

__all__ = [
    "CellsNear",
    "Circle",
    "FieldAtPoints",
    "Geometry",
    "Sphere",
    "Zonal",
    "geodesic_moves",
    "tangent_frames",
    "zonal_harmonics",
]
