r"""Where a measure concentrates: basins of the velocity field and the cores in them.

Mass that flows to one attractor of v = s grad F belongs together.  Basins, not density minima
or a distance threshold, decide what belongs to one atom: minima of a density are rounding
ripples in its tails, and a threshold c/sqrt(beta) finds sqrt(beta) clusters even in the
uniform state.

From the question to the answer:

- ``field``: the velocity field of the measure, and the measure on a grid half as fine.
- Basins.  On the circle and for zonal measures they are intervals of angles (``line_basins``).
  On S^2 each cell flows to a neighbour (``lattice``), attractors that are one are united
  (``sphere_basins``), clusters at rest get basins of their own, and the mass in each is told
  (``sphere_flow``), with edges where paths part (``paths``).
- Cores and indicators: ``line`` for all lines of angles, where ``circle`` and ``zonal`` answer
  what differs between them; ``sphere``, with ``sphere_core``, on S^2.
- Indicators of the whole: ``balls`` (largest masses in balls), ``jumps``, ``strip`` (of
  analyticity), ``clusters`` (of particles; the threshold rule, for comparison).
- ``decision`` makes one verdict of the indicators of a region; ``search`` puts the regions
  together with the numbers of the whole to a ``report``, which ``table`` prints.
"""

from __future__ import annotations

from functools import singledispatch

from mfpde.detection.balls import ball_radius, largest_ball_mass
from mfpde.detection.circle import circle_report
from mfpde.detection.clusters import threshold_clusters, threshold_distance
from mfpde.detection.field import unknown_grid
from mfpde.detection.report import ConcentratedRegion, ConcentrationReport
from mfpde.detection.sphere import sphere_report
from mfpde.detection.strip import StripWidth, strip_width
from mfpde.detection.zonal import zonal_report
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Geometry, Sphere, Zonal
from mfpde.measures.measure import AnyMeasure, Atoms, Measure, as_measure

__all__ = [
    "ConcentratedRegion",
    "ConcentrationReport",
    "StripWidth",
    "ball_radius",
    "concentration",
    "largest_ball_mass",
    "strip_width",
    "threshold_clusters",
    "threshold_distance",
]


def concentration(
    measure: AnyMeasure, equation: MeanFieldEquation
) -> ConcentrationReport:
    """Find where a measure concentrates to atoms, with what masses, by several indicators.

    Counts and masses are those of basins of the velocity field.  The kind of a basin's content is
    decided from several indicators, never from one (:mod:`mfpde.detection.decision`):
    contraction by the velocity's gradient and by the flow, widths in cells, growth of the
    mass in balls, agreement with the 2:1 coarsened density, jumps, speed.

    Parameters
    ----------
    measure
        A density on a Circle, a Sphere or a Zonal grid, with or without atoms; or atoms
        alone with d = 2 or 3.
    equation
        The equation whose velocity decides.

    Returns
    -------
    ConcentrationReport
        ``verdict`` in one word, ``summary`` in a sentence, ``atoms`` (position, mass, rms
        radius, contraction rate, ...), ``curves``, ``regions``, frozen mass, jumps, and the
        largest masses in balls; printed, a table.

    Raises
    ------
    ValueError
        If the measure has no mass, lies in another dimension than the equation, or
        consists of atoms alone with d above 3.
    """
    if isinstance(measure, Atoms) and measure.dimension > 3:
        raise ValueError(
            f"atoms alone in dimension d = {measure.dimension} have no basins here: use "
            "d = 2 or 3, or a Measure on a Zonal grid for rings around an axis; "
            "mfpde.clusters counts clusters of any dimension, without a velocity"
        )
    whole = measure if isinstance(measure, Atoms) else as_measure(measure)
    if whole.total_mass <= 0:
        raise ValueError(
            "measure has total mass 0: there is nothing that could concentrate"
        )
    if isinstance(whole, Measure):
        return _report(whole.geometry, whole, equation)
    if whole.dimension == 2:
        return circle_report(None, whole, equation)
    return sphere_report(None, whole, equation)


@singledispatch
def _report(
    geometry: Geometry, measure: Measure, equation: MeanFieldEquation
) -> ConcentrationReport:
    """The report on a measure, by its grid."""
    del measure, equation
    raise unknown_grid(geometry)


_report.register(Circle, circle_report)
_report.register(Zonal, zonal_report)
_report.register(Sphere, sphere_report)
