"""One measure on the sphere as a lit globe, from two sides."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure, SubFigure

from mfpde.arrays import FloatArray, real_array, shown
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import AnyMeasure, atoms_of
from mfpde.plotting.angle_view import domain_of
from mfpde.plotting.atoms import marked_atoms
from mfpde.plotting.composition import Frame, Panel, compose
from mfpde.plotting.projections import Orthographic
from mfpde.plotting.sphere_field import density_of
from mfpde.plotting.sphere_map import SpherePanels
from mfpde.plotting.style import Limits, figure_of, figure_or_new, styled
from mfpde.tracking import Track

Camera = tuple[float, float]
"""Longitude and latitude of the point in front."""

FRONT: Camera = (0.0, np.pi / 9)
CLEAR_MEAN = 0.3
NEAR_A_POLE = 0.1
LARGEST_ANGLE = 1e6


@styled
def plot_globe(
    measure: AnyMeasure,
    *,
    equation: MeanFieldEquation | None = None,
    limits: Limits | None = None,
    camera: tuple[float, float] | None = None,
    figure: Figure | SubFigure | None = None,
) -> Figure:
    """Draw a measure on the sphere as a globe, from the front and from the back.

    The back view looks at the antipode of the front view's middle: together they show
    everything once.  Colours are those of :func:`mfpde.plot_density`, darkened gently
    away from the light.

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

    Returns
    -------
    The figure, of a subfigure the whole one.

    Raises
    ------
    ValueError
        If the measure does not lie on the sphere S^2, the limits do not increase, or the
        camera is no pair of angles.
    """
    if domain_of(measure, picture="plot_globe") != "sphere":
        raise ValueError(
            f"plot_globe has no picture for a measure in dimension {measure.dimension} "
            "here: it draws densities on a Sphere and atoms with d = 3. Use plot_density"
        )
    figure = figure_or_new(figure, size=(7.0, 4.0))
    panels = SpherePanels([measure], limits=limits, has_labels=True)
    frame = Frame(measure, equation, marked_atoms(measure, equation))
    compose(
        figure,
        globes(panels, frame, camera=None if camera is None else _checked(camera)),
        columns=2,
        colours=panels.colours,
    )
    return figure_of(figure)


def globes(
    panels: SpherePanels,
    frame: Frame,
    *,
    camera: Camera | None = None,
    track: Track | None = None,
) -> list[Panel]:
    """Return a state from both sides, with the paths of a track.

    Without a camera the first looks at the middle of the mass.
    """
    sides = sides_from(camera_on(frame.state) if camera is None else camera)
    return [panels.panel(s, frame, title=title, track=track) for s, title in sides]


def camera_on(measure: AnyMeasure) -> Camera:
    """Return the camera that looks at the middle of a measure's mass if it has one."""
    whole = atoms_of(measure)
    moment, mass = whole.masses @ whole.points, whole.total_mass
    density = density_of(measure)
    if density is not None:
        points = density.geometry.points.reshape(-1, 3)
        moment = moment + density.masses.ravel() @ points
        mass += density.total_mass
    return camera_towards(moment / max(mass, 1e-300))


def camera_towards(mean: FloatArray) -> Camera:
    """Return the camera that looks at ``mean`` (3,) if that is clear of the centre."""
    if np.linalg.norm(mean) < CLEAR_MEAN:
        return FRONT
    x, y, z = mean
    latitude = float(np.arctan2(z, np.hypot(x, y)))
    # Near a pole the longitude is that of rounding.
    is_clear = np.pi / 2 - abs(latitude) > NEAR_A_POLE
    return (float(np.arctan2(y, x)) if is_clear else 0.0), latitude


def sides_from(camera: Camera) -> list[tuple[Orthographic, str]]:
    """Return the view of a camera and the opposite one, with their titles."""
    longitude, latitude = camera
    polar = np.pi / 2 - latitude
    where = f"θ = {polar / np.pi:.2f} π, φ = {longitude / np.pi:.2f} π"
    if np.pi / 2 - abs(latitude) < NEAR_A_POLE:
        where = f"the {'north' if latitude > 0 else 'south'} pole"
    front = Orthographic(longitude, latitude)
    back = Orthographic(longitude + np.pi, -latitude)
    return [(front, f"seen from {where}"), (back, "seen from the other side")]


def _checked(camera: object) -> Camera:
    given = real_array("camera", camera)  # type: ignore[arg-type]
    if given.shape != (2,) or np.abs(given).max() > LARGEST_ANGLE:
        raise ValueError(
            f"camera = {shown(camera)} must be longitude and latitude, two angles of at "
            f"most {LARGEST_ANGLE:g} radians"
        )
    return float(given[0]), float(given[1])
