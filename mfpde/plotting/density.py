"""One measure: a curve against angle, or a map of the sphere."""

from __future__ import annotations

from matplotlib.axes import Axes

from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure
from mfpde.plotting.curve import draw_density_curve
from mfpde.plotting.domain import domain_of
from mfpde.plotting.landscape import has_landscape
from mfpde.plotting.sphere_map import draw_density_map
from mfpde.plotting.style import axes_or_new, styled


@styled
def plot_density(
    measure: AnyMeasure,
    *,
    equation: MeanFieldEquation | None = None,
    limits: tuple[float, float] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a measure and the landscape that drives it.

    On a Circle the density is a curve against the angle; atoms are stems with a scale
    of masses on the right.  Up to 200 particles are stems alone; more are drawn as a
    density that is estimated from quantiles of their angles.  On a Zonal grid the curve
    is the mass per polar angle (a density per area says nothing when d is large), and
    an atom stands for its ring.  Both axes are logarithmic if the largest value exceeds
    50 times the mean.

    On a Sphere the density per area is a Mollweide map, which shows areas as they are,
    with logarithmic colours if the largest value exceeds 50 times the mean.  Atoms are
    discs of area proportional to mass, and more than 20 particles small dots.

    Parameters
    ----------
    measure
        A density, atoms, or both.
    equation
        Its external landscape: below a curve V itself, with every neuron's active
        region tinted and its direction marked (triangle up for a positive weight, down
        for a negative one, a diamond for a vector); on a map every neuron's circle
        a.x + b = 0 and direction, hatched where no neuron is active.  A map also shows
        the atoms that :func:`mfpde.concentration` finds, as rings.
    limits
        Densities at the ends of the axis or of the colours, as in ``(1e-3, 10.0)``; by
        default those of this measure.  Give the same to all frames of a film.
    ax
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    The axes of the density; the figure is ``ax.figure``.

    Raises
    ------
    ValueError
        If there is no picture for the measure's geometry, or the limits do not increase.
    """
    domain = domain_of(measure, picture="plot_density")
    size = _MAP_SIZE if domain == "sphere" else _CURVE_SIZES[has_landscape(equation)]
    ax = axes_or_new(ax, size=size)
    _PAINTERS[domain](ax, measure, equation, limits=limits)
    return ax


_MAP_SIZE = (6.5, 3.6)
_CURVE_SIZES = {True: (6.0, 4.2), False: (6.0, 3.2)}
_PAINTERS = {
    "circle": draw_density_curve,
    "zonal": draw_density_curve,
    "sphere": draw_density_map,
}
