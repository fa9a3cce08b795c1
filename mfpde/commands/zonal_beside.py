"""A zonal run against particles on S^(d-1): by their polar angles.

Between two zonal measures the Wasserstein distance is that of their polar angles: meridians
are geodesics, and no path is shorter than the difference of its ends' polar angles.
Particles are zonal up to their number, for which this is a lower bound.
"""

from __future__ import annotations

from mfpde.geometry import Zonal
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure
from mfpde.measures.polar_distribution import PolarDistribution
from mfpde.measures.polar_transport import polar_distance


def is_zonal(measure: AnyMeasure) -> bool:
    """Whether ``measure`` lives on a zonal grid."""
    return not isinstance(measure, Atoms) and isinstance(
        as_measure(measure).geometry, Zonal
    )


def zonal_distance(a: AnyMeasure, b: AnyMeasure, *, order: int = 1) -> float:
    """Wasserstein distance between the polar angles of two measures, in radians."""
    return polar_distance(PolarDistribution.of(a), PolarDistribution.of(b), order)
