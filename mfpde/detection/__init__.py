r"""Where a measure concentrates: basins of the velocity field and the cores in them.

Mass that flows to one attractor of v = s grad F belongs together.  Basins, not density minima
or a distance threshold, decide what belongs to one atom: minima of a density are rounding
ripples in its tails, and a threshold c/sqrt(beta) finds sqrt(beta) clusters even in the
uniform state.

From the question to the answer:

- ``cells``: the velocity (``field``) on a graph of cells, the same for all geometries.
- ``basins`` of that graph; their ``edges`` on a line; on S^2 clusters at rest beside a kink
  (``resting``), and where particles arrive (``arrivals``, by ``paths``).
- ``cores`` of the mass in them, ``curves``, ``jumps``, ``clusters`` of particles, ``balls``.
- ``regions`` puts the indicators of each basin together, ``kinds`` makes one verdict of
  them; ``search`` collects the regions to a ``report``, which ``table`` prints.
"""

from __future__ import annotations

from mfpde.detection.balls import ball_radius, largest_ball_mass
from mfpde.detection.region import ConcentratedRegion, CurveShape
from mfpde.detection.report import ConcentrationReport
from mfpde.detection.search import search_measure
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure

__all__ = [
    "ConcentratedRegion",
    "ConcentrationReport",
    "CurveShape",
    "ball_radius",
    "concentration",
    "largest_ball_mass",
]


def concentration(
    measure: AnyMeasure, equation: MeanFieldEquation
) -> ConcentrationReport:
    """Find where a measure concentrates to atoms, with what masses, by several indicators.

    Counts and masses are those of basins of the velocity field.  The kind of a basin's content is
    decided from several indicators, never from one (:mod:`mfpde.detection.kinds`):
    contraction by the velocity's gradient and by the flow, widths in cells, growth of the
    mass in balls, agreement of neighbouring cells, jumps, speed.

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
    return search_measure(whole, equation)
