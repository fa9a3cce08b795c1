r"""Where a measure concentrates: basins of the velocity field and the cores in them.

Mass that flows to one attractor of v = s grad F belongs together.  Basins, not density minima
or a distance threshold, decide what belongs to one atom: minima of a density are rounding
ripples in its tails, and a threshold c/sqrt(beta) finds sqrt(beta) clusters even in the
uniform state.

From the question to the answer: ``search`` asks

- ``flow``, the velocity on a graph of cells, the same for all geometries;
- ``basins`` of that graph, and ``clusters`` in them;
- ``regions``: of each the ``cores`` of its mass, ``curves``, ``jumps``, ``balls``;
- the kind of each ``region``, and the ``report`` on all of them.
"""

from __future__ import annotations

from mfpde.detection.balls import ball_radius, largest_ball_mass
from mfpde.detection.region import ConcentratedRegion, CurveShape
from mfpde.detection.report import ConcentrationReport
from mfpde.detection.search import concentration

__all__ = [
    "ConcentratedRegion",
    "ConcentrationReport",
    "CurveShape",
    "ball_radius",
    "concentration",
    "largest_ball_mass",
]
