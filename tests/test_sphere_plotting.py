"""Pictures of the sphere: right values at the right places."""

import numpy as np
import pytest
from drawn import bump, by_gid, lay_out
from matplotlib.figure import Figure
from random_points import random_points

import mfpde
from mfpde.geometry.sphere import points_at
from mfpde.plotting.landscape import circle_points
from mfpde.plotting.projections import (
    Camera,
    pixels_of,
    places_of,
    points_of,
    values_at,
)

DIRECTIONS = [[1.0, 0.3, 0.5], [-0.5, 0.8, 0.2], [0.1, -0.9, -0.4]]
PERCEPTRON = mfpde.Perceptron(DIRECTIONS, [0.8, -0.5, 0.6], biases=[-0.3, 0.0, -0.5])
EQUATION = mfpde.MeanFieldEquation(mfpde.Attention(8.0), PERCEPTRON, direction="ascent")
SPHERE = mfpde.Sphere(32)
FRONT = Camera(0.0, np.pi / 9)


def bars(figure):
    """Axes of colour bars in the figure."""
    everything = [a for ax in figure.axes for a in (ax, *ax.child_axes)]
    unit = "density ρ (per unit area)"
    return [a for a in everything if unit in (a.get_xlabel(), a.get_ylabel())]


def pixel_at(image, point):
    """Value of an image of the sphere where a point is, as the axes have it."""
    pixels, ax = np.asarray(image.get_array()), image.axes
    column, row = (ax.transData - image.get_transform()).transform(places_of(point))
    return pixels[int(row * pixels.shape[0]), int(column * pixels.shape[1])]


def seen(ax, points):
    """Which points (n, 3) a globe shows."""
    return np.isfinite(ax.transData.transform(places_of(points))[:, 0])


@pytest.mark.parametrize("camera", [FRONT, FRONT.opposite, Camera(1.0, 0.7)])
def test_pixels_of_a_globe_are_where_it_shows_their_points(camera):
    ax = Figure().add_subplot(projection=camera)
    points = pixels_of(ax, 40)
    x, y = np.meshgrid(*[(np.arange(40) + 0.5) / 40] * 2)
    is_on_disc = np.hypot(x - 0.5, y - 0.5) < 0.49
    again = (ax.transData - ax.transAxes).transform(places_of(points[is_on_disc]))
    np.testing.assert_allclose(again.T, (x[is_on_disc], y[is_on_disc]), atol=1e-7)
    np.testing.assert_allclose(np.linalg.norm(points, axis=-1), 1.0)


def test_sampled_values_are_those_of_the_cells_and_cross_poles_and_meridian():
    density = bump(SPHERE, [0.2, -0.5, 0.7], 5.0)
    for floor in (None, 1e-9):
        values = values_at(density, density.geometry.points, floor=floor)
        assert np.allclose(values, density.values, rtol=1e-12)
    fine = bump(mfpde.Sphere(128), [0.05, 0.02, 1.0], 4.0)
    centre = np.array([0.05, 0.02, 1.0]) / np.linalg.norm([0.05, 0.02, 1.0])
    places = [np.eye(3), points_at(np.array([0.001, 1.0]), -1e-17)]
    points = np.concatenate([random_points(500, 3), *places])
    exact = np.exp(4 * (points @ centre - 1))
    exact *= fine.values.max() / np.exp(4 * (fine.geometry.points @ centre - 1)).max()
    assert np.abs(values_at(fine, points) - exact).max() < 2e-3 * exact.max()


@pytest.mark.parametrize("given", [False, True])
def test_map_pixels_are_the_density_at_their_places(given):
    density = bump(mfpde.Sphere(64), [1.0, 0.5, 0.3], 10.0)
    ax = Figure(layout="constrained").subplots(1, 2)[0] if given else None
    figure = lay_out(mfpde.plot_density(density, ax=ax))
    # Axes of another kind have the map inside of them.
    (map_axes,) = [figure.axes[0]] if ax is None else ax.child_axes
    (image,) = by_gid(map_axes, "density")
    points = density.geometry.points[::9, ::7].reshape(-1, 3)
    values = density.values[::9, ::7].ravel()
    shown = [pixel_at(image, point) for point in points]
    # A cell's centre is up to half a cell (0.35 degrees) away.
    assert np.abs(np.array(shown) - values).max() < 0.03 * values.max()
    assert np.argmax(shown) == np.argmax(values)
    assert image.norm.vmax == density.values.max()
    assert given or len(bars(figure)) == 1


@pytest.mark.parametrize("bias", [0.0, 0.4, -0.9])
@pytest.mark.parametrize("direction", [[0.0, 0.0, 1.0], [2.0, -1.0, 0.5]])
def test_circles_are_where_the_preactivation_vanishes(direction, bias):
    points = circle_points(np.array(direction), bias)
    assert np.allclose(points @ direction, -bias, atol=1e-14)
    assert np.allclose(np.linalg.norm(points, axis=1), 1.0)
    assert np.allclose(points[0], points[-1])
    assert len(circle_points(np.array(direction), -2.5)) == 0


def test_map_shows_circles_directions_and_dead_zone():
    figure = mfpde.plot_density(bump(SPHERE, [1.0, 0.3, 0.5], 5.0), equation=EQUATION)
    ax = lay_out(figure).axes[0]
    for j, direction in enumerate(DIRECTIONS):
        (line,) = by_gid(ax, f"circle {j + 1}")
        places = np.array(line.get_data()).T
        points = points_of(places[np.isfinite(places[:, 0])])
        assert len(points) > 1000
        assert np.allclose(points @ direction, -PERCEPTRON.biases[j], atol=1e-7)
        assert np.nanmax(np.abs(np.diff(places[:, 0]))) <= np.pi
        (mark,) = by_gid(ax, f"direction {j + 1}")
        unit = np.array(direction) / np.linalg.norm(direction)
        assert np.allclose(np.ravel(mark.get_data()), places_of(unit))
    (hatching,) = by_gid(ax, "dead zone")
    (path,) = hatching.get_paths()
    points = random_points(500, 3)
    is_dead = (PERCEPTRON.preactivations(points).max(axis=-1)) < 0
    clear = np.abs(PERCEPTRON.preactivations(points)).min(axis=-1) > 0.05
    shown = hatching.get_transform().transform_path(path)
    hatched = shown.contains_points(ax.transData.transform(places_of(points)))
    assert is_dead.any()
    assert np.array_equal(hatched[clear], is_dead[clear])


def test_atoms_land_at_their_places_with_area_proportional_to_mass():
    points, masses = random_points(3, 3), np.array([0.3, 0.15, 0.05])
    density = mfpde.Density(SPHERE, np.full((32, 64), 0.5 / (4 * np.pi)))
    state = mfpde.Measure(density, mfpde.Atoms(points, masses))
    figure = mfpde.plot_density(state, equation=EQUATION)
    (discs,) = by_gid(figure, "atoms")
    assert np.allclose(discs.get_offsets(), places_of(points))
    assert np.allclose(discs.get_sizes() / discs.get_sizes()[0], masses / 0.3)


def test_particles_are_dots_of_which_front_and_back_show_opposite_halves():
    crowd = mfpde.Atoms(random_points(500, 3))
    front, back = mfpde.plot_globe(crowd, camera=FRONT).axes
    for ax in (mfpde.plot_density(crowd).axes[0], front, back):
        (dots,) = by_gid(ax, "particles")
        assert np.allclose(dots.get_offsets(), places_of(crowd.points))
    assert np.array_equal(seen(front, crowd.points), ~seen(back, crowd.points))
    # East is on the right, north is up.
    near = points_at(np.array([1.3, 0.9]), np.array([0.2, 0.0]))
    x, y = (front.transData - front.transAxes).transform(places_of(near)).T - 0.5
    assert x[0] > 0
    assert y[1] > y[0]


def test_globes_show_the_bump_where_it_is():
    density = bump(SPHERE, [1.0, 0.3, 0.5], 20.0)
    figure = mfpde.plot_globe(density, equation=EQUATION, camera=tuple(FRONT))
    front, back = lay_out(figure).axes[:2]
    images = [by_gid(ax, "density")[0] for ax in (front, back)]
    top = np.array([1.0, 0.3, 0.5]) / np.linalg.norm([1.0, 0.3, 0.5])
    # Dark where mass is, light where there is none.
    assert images[0].to_rgba(pixel_at(images[0], top))[0] < 0.15
    assert images[1].to_rgba(images[1].get_array())[..., 0].min() > 0.6
    (ring,) = by_gid(front, "on its way")
    found_at = points_of(np.asarray(ring.get_offsets()))
    assert np.linalg.norm(found_at - top) < 0.1
    assert seen(front, found_at).all()
    assert not seen(back, found_at).any()
    for ax in (front, back):
        (line,) = by_gid(ax, "circle 1")
        places = np.array(line.get_data()).T
        points = points_of(places[np.isfinite(places[:, 0])])
        assert np.allclose(points @ DIRECTIONS[0], 0.3, atol=1e-7)
        shown = ax.transProjection.transform_path(line.get_path()).vertices
        assert 0 < np.isfinite(shown[:, 0]).sum() < len(places)


def test_frames_of_a_film_have_the_same_colours_and_the_same_view():
    for width in (3.0, 60.0):
        density = bump(SPHERE, [1.0, 0.0, 0.2], width)
        figure = mfpde.plot_globe(density, limits=(1e-3, 10.0), camera=(0.3, 0.1))
        (bar,) = bars(figure)
        assert bar.get_xlim() == pytest.approx((1e-3, 10.0))
        assert figure.axes[0].get_title() == "seen from θ = 0.47 π, φ = 0.10 π"
    for limits in ((1.0, 1.0), (-1.0, 2.0), (1.0, 2.0, 3.0), 3.0):
        with pytest.raises(ValueError, match=r"limits = .* must be two densities"):
            mfpde.plot_globe(density, limits=limits)
