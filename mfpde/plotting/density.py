"""States in pictures: one measure as a curve, a map or a globe, and saves of a run."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure, SubFigure
from numpy.typing import ArrayLike

from mfpde.arrays import IntArray, real_array, shown
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure
from mfpde.plotting import scenes, style
from mfpde.plotting.angle_view import view_of, view_of_run
from mfpde.plotting.atoms import Frame, atoms_found, frames_of
from mfpde.plotting.landscape import has_landscape
from mfpde.plotting.projections import MOLLWEIDE, Camera, add_colour_bar
from mfpde.plotting.scenes import CurveScene, SphereScene, camera_on, compose
from mfpde.runs.run import Run, spread_indices
from mfpde.tracking import Track

DEFAULT_SNAPSHOTS = 5


@style.styled
def plot_density(
    measure: AnyMeasure,
    *,
    equation: MeanFieldEquation | None = None,
    limits: style.Limits | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Draw a measure and the landscape that drives it.

    On a Circle the density is a curve against the angle; atoms are stems with a scale
    of masses on the right.  Up to 200 particles are stems alone; more are
    counted in bins of 2 pi / 128.  On a Zonal grid the curve
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

    Raises
    ------
    ValueError
        If there is no picture for the measure's geometry, or the limits do not increase.
    """
    if view_of(measure, picture="plot_density") is None:
        ax = style.axes_or_new(ax, size=(6.5, 3.6), projection=MOLLWEIDE)
        frame = Frame(measure, equation, atoms_found(measure, equation))
        draw_map(ax, frame, limits=limits)
    else:
        height = 4.2 if has_landscape(equation) else 3.2
        ax = style.axes_or_new(ax, size=(6.0, height))
        handles = draw_curve(ax, Frame(measure, equation), limits=limits)
        style.add_legend_above(ax, handles)
    return style.figure_of(ax)


def draw_map(ax: Axes, frame: Frame, *, limits: style.Limits | None = None) -> Axes:
    """Draw a Mollweide map with neurons, atoms, legend and colour bar; return its axes.

    They are ``ax`` if that is of matplotlib's projection "mollweide", else inside of it.
    """
    scene = SphereScene([frame], limits=limits, has_masses=True)
    ax = scene.draw(ax, frame)
    # Its place is kept where there is none, so that the labels of the map stay on the page.
    bar = ax.inset_axes((1.03, 0.08, 0.025, 0.84))
    if scene.colours is None:
        bar.set_axis_off()
    else:
        add_colour_bar(ax.figure, scene.colours, cax=bar)
    handles = scene.handles(frame)
    if handles:
        place: style.Look = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.07)}
        columns = min(len(handles), 5)
        ax.legend(handles=handles, ncols=columns, **place, **style.NARROW)
    return ax


def draw_curve(
    ax: Axes, frame: Frame, *, limits: style.Limits | None = None
) -> Sequence[Artist]:
    """Draw a curve with stems, and below it the external landscape; return what to explain."""
    scene = CurveScene([frame], limits=limits, has_masses=True)
    below = [_axes_below(ax)] if has_landscape(frame.equation) else []
    scene.fill([ax, *below], [frame])
    return scene.handles(frame)


def _axes_below(ax: Axes) -> Axes:
    """Return new axes in the lower quarter of the place of ``ax``, with the same x."""
    place = ax.get_subplotspec()
    if place is None:
        return ax.inset_axes((0.0, -0.38, 1.0, 0.26), sharex=ax)
    rows = place.subgridspec(2, 1, height_ratios=(3, 1))
    ax.set_subplotspec(rows[0])
    return ax.figure.add_subplot(rows[1], sharex=ax)


@style.styled
def plot_globe(
    measure: AnyMeasure,
    *,
    equation: MeanFieldEquation | None = None,
    limits: style.Limits | None = None,
    camera: tuple[float, float] | None = None,
    track: Track | None = None,
    figure: Figure | SubFigure | None = None,
) -> Figure:
    """Draw a measure on the sphere as a globe, from the front and from the back.

    The back view looks at the antipode of the front view's middle: together they show
    everything once.  Colours are those of :func:`mfpde.plot_density`, darkened gently
    away from the light.  One can draw on the axes in longitude and latitude.

    Parameters
    ----------
    measure
        A density on a Sphere, atoms with d = 3, or both.
    equation
        Its neurons' circles and directions are drawn where they face the viewer, hatched
        where none is active, and the atoms that :func:`mfpde.concentration` finds.
    limits
        Densities at the ends of the colours, as in ``(1e-3, 10.0)``; by default those of
        this measure.  Give the same to all frames of a film.
    camera
        Longitude and latitude (radians) of the point that the front view looks at.  By
        default the middle of the mass, where it has one, else longitude 0 from 20 degrees
        north.
    track
        The track of a run: the paths of its atoms are drawn, as wide as atoms are heavy, with
        births, merges, fissions and deaths.
    figure
        Figure or subfigure to fill; by default a new one.

    Raises
    ------
    ValueError
        If the measure does not lie on the sphere S^2, the limits do not increase, or the
        camera is no pair of angles.
    """
    if view_of(measure, picture="plot_globe") is not None:
        raise ValueError(
            f"plot_globe has no picture for a measure in dimension {measure.dimension} "
            "here: it draws densities on a Sphere and atoms with d = 3. Use plot_density"
        )
    figure = style.figure_or_new(figure, size=(7.0, 4.0))
    front = camera_on(measure)
    if camera is not None:
        given = real_array("camera", camera)
        if given.shape != (2,):
            raise ValueError(
                f"camera = {shown(camera)} must be longitude and latitude, two angles"
            )
        front = Camera(*given.tolist())
    frame = Frame(measure, equation, atoms_found(measure, equation))
    globe = SphereScene(
        [frame], camera=front, track=track, limits=limits, has_masses=True
    )
    compose(figure, globe, [frame])
    return style.figure_of(figure)


@style.styled
def plot_snapshots(
    run: Run,
    *,
    times: ArrayLike | None = None,
    figure: Figure | SubFigure | None = None,
) -> Figure:
    """Draw saved densities on common scales (logarithmic if one exceeds 50 means).

    On the circle and on Zonal grids they are curves under one another, with the landscape
    below them; on a Sphere a strip of maps with one colour bar, on which every neuron's
    circle is drawn and the atoms are marked.  Of a ``run`` of layers each state stands with the
    neurons of the layer that acts at its time, and the landscape is the last of theirs.

    Of ``times`` the nearest save is shown; by default five saves evenly spread over their list,
    the first and the last among them.  The ``figure`` or subfigure is filled, by default a new
    one.  Nothing saved, ``times`` that are empty or outside the run, and a geometry without a
    picture are a ``ValueError``.
    """
    is_sphere = view_of_run(run, picture="plot_snapshots") is None
    frames = frames_of(run, nearest_saves(run, times), is_searched=is_sphere)
    if is_sphere:
        rows = -(-len(frames) // scenes.MAPS_IN_A_ROW)
        figure = style.figure_or_new(figure, size=(10.0, 0.9 + 1.15 * rows))
        compose(figure, SphereScene(frames, is_small=True), frames)
    else:
        figure = style.figure_or_new(figure, size=(5.0, 7.0))
        compose(figure, CurveScene(frames), frames)
    return style.figure_of(figure)


def nearest_saves(run: Run, times: ArrayLike | None = None) -> IntArray:
    """Return the saves nearest to ``times``, else five from the first to the last.

    No ``times``, or one outside the saved ones, are a ``ValueError``.
    """
    if times is None:
        return spread_indices(len(run.times), DEFAULT_SNAPSHOTS)
    wanted = np.atleast_1d(real_array("times", times))
    first, last = float(run.times[0]), float(run.times[-1])
    slack = 1e-9 * max(abs(first), abs(last))
    outside = (wanted < first - slack) | (wanted > last + slack)
    if not len(wanted) or outside.any():
        raise ValueError(
            f"times = {wanted.tolist()} must be one or more times between "
            f"{first:g} and {last:g}, the first and the last save"
        )
    return np.unique(np.abs(run.times[:, np.newaxis] - wanted).argmin(axis=0))
