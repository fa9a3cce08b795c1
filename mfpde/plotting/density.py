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
from mfpde.plotting import style
from mfpde.plotting.angle_view import view_of, view_of_run
from mfpde.plotting.atoms import atoms_found
from mfpde.plotting.composition import Frame, compose, frames_of
from mfpde.plotting.curve_panels import CurvePanels
from mfpde.plotting.landscape import has_landscape
from mfpde.plotting.projections import MOLLWEIDE, Camera, add_colour_bar
from mfpde.plotting.sphere_panels import SpherePanels, camera_on
from mfpde.runs.run import Run

LARGEST_ANGLE = 1e6
MAPS_IN_A_ROW = 5
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

    Raises
    ------
    ValueError
        If there is no picture for the measure's geometry, or the limits do not increase.
    """
    if view_of(measure, picture="plot_density") is None:
        ax = style.axes_or_new(ax, size=(6.5, 3.6), projection=MOLLWEIDE)
        draw_map(
            ax, Frame(measure, equation, atoms_found(measure, equation)), limits=limits
        )
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
    maps = SpherePanels([frame], limits=limits, has_masses=True)
    ax = maps.draw(ax, frame)
    # Its place is kept where there is none, so that the labels of the map stay on the page.
    bar = ax.inset_axes((1.03, 0.08, 0.025, 0.84))
    if maps.colours is None:
        bar.set_axis_off()
    else:
        add_colour_bar(ax.figure, maps.colours, cax=bar)
    handles = maps.handles(frame)
    if handles:
        place: style.Look = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.07)}
        columns = min(len(handles), 5)
        ax.legend(handles=handles, ncols=columns, **place, **style.NARROW)
    return ax


def draw_curve(
    ax: Axes, frame: Frame, *, limits: style.Limits | None = None
) -> Sequence[Artist]:
    """Draw a curve with stems, and below it the external landscape; return what to explain."""
    curves = CurvePanels([frame], limits=limits, has_masses=True)
    density, *land = curves.panels(frame)
    below = _axes_below(ax) if land else None
    density.draw(ax)
    if below is not None:
        land[0].draw(below)
        ax.label_outer()
    return density.handles


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
    front = camera_on(measure) if camera is None else _check_camera(camera)
    frame = Frame(measure, equation, atoms_found(measure, equation))
    globes = SpherePanels([frame], limits=limits, camera=front, has_masses=True)
    compose(figure, globes.panels(frame), columns=2, colours=globes.colours)
    return style.figure_of(figure)


def _check_camera(camera: object) -> Camera:
    given = real_array("camera", camera)  # type: ignore[arg-type]
    if given.shape != (2,) or np.abs(given).max() > LARGEST_ANGLE:
        raise ValueError(
            f"camera = {shown(camera)} must be longitude and latitude, two angles of at "
            f"most {LARGEST_ANGLE:g} radians"
        )
    return Camera(float(given[0]), float(given[1]))


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
    circle is drawn and the atoms are marked.  Of a run of layers each state stands with the
    neurons of the layer that acts at its time, and the landscape is that of the last of them.

    Parameters
    ----------
    run
        A run on the circle, a Zonal grid or the sphere.
    times
        Times to show, of each the nearest save; by default five saves evenly spread
        over their list, the first and the last among them.
    figure
        Figure or subfigure to fill; by default a new one.

    Raises
    ------
    ValueError
        If nothing was saved, ``times`` is empty or outside the run, or there is no
        picture for the geometry.
    """
    is_sphere = view_of_run(run, picture="plot_snapshots") is None
    frames = frames_of(run, _nearest_saves(run, times), is_searched=is_sphere)
    if is_sphere:
        rows = -(-len(frames) // MAPS_IN_A_ROW)
        figure = style.figure_or_new(figure, size=(10.0, 0.9 + 1.15 * rows))
        compose_maps(figure, frames)
    else:
        figure = style.figure_or_new(figure, size=(5.0, 7.0))
        compose_curves(figure, frames)
    return style.figure_of(figure)


def default_saves(run: Run) -> IntArray:
    """Five saves evenly spread over their list, the first and the last among them."""
    return style.evenly_spread(len(run.times), DEFAULT_SNAPSHOTS)


def _nearest_saves(run: Run, times: ArrayLike | None) -> IntArray:
    """Return the saves nearest to ``times``, without repetitions, in increasing order.

    Raises
    ------
    ValueError
        If ``times`` is empty or a time lies outside the saved ones.
    """
    if times is None:
        return default_saves(run)
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


def compose_maps(
    figure: Figure | SubFigure, frames: Sequence[Frame], *, has_legend: bool = True
) -> list[Artist]:
    """Fill ``figure`` with a map for each frame and a colour bar; return what to explain."""
    strip = SpherePanels(frames, is_small=True)
    maps = [strip.panels(frame, title=frame.title)[0] for frame in frames]
    columns, beside = min(len(maps), MAPS_IN_A_ROW), () if has_legend else None
    compose(figure, maps, columns=columns, colours=strip.colours, beside=beside)
    return [handle for panel in maps for handle in panel.handles]


def compose_curves(figure: Figure | SubFigure, frames: Sequence[Frame]) -> None:
    """Fill ``figure`` with a curve for each frame and the landscape of the last."""
    curves, middle, last = CurvePanels(frames), (len(frames) - 1) // 2, frames[-1]
    panels = [
        curves.density(frame, title=frame.title, has_label=number == middle)
        for number, frame in enumerate(frames)
    ]
    if has_landscape(last.equation):
        is_one = len({frame.equation for frame in frames}) == 1
        title = "" if is_one else f"landscape at {last.title}"
        panels.append(curves.landscape(last.equation, title=title))
    compose(figure, panels)
