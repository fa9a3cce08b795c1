"""Pictures of the sphere and of zonal grids: right values at the right places."""

from types import SimpleNamespace

import numpy as np
import pytest
from drawn import (
    bump,
    by_gid,
    is_within_page,
    lay_out,
    legend_of,
    run_of,
)
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from random_points import random_points

from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Sphere, Zonal
from mfpde.geometry.sphere import points_at
from mfpde.measures.measure import Atoms, Density, Measure, as_measure, uniform
from mfpde.plotting import (
    plot_density,
    plot_globe,
    plot_run,
    plot_snapshots,
    plot_space_time,
)
from mfpde.plotting.landscape import circle_points
from mfpde.plotting.projections import (
    Camera,
    pixels_of,
    places_of,
    points_of,
    values_at,
)
from mfpde.terms import Attention, Perceptron

DIRECTIONS = [[1.0, 0.3, 0.5], [-0.5, 0.8, 0.2], [0.1, -0.9, -0.4]]
PERCEPTRON = Perceptron(DIRECTIONS, [0.8, -0.5, 0.6], biases=[-0.3, 0.0, -0.5])
EQUATION = MeanFieldEquation(Attention(8.0), PERCEPTRON, direction="ascent")
AXIS = [0.0] * 7 + [1.0]
ZONAL_EQUATION = MeanFieldEquation(
    Attention(8.0), Perceptron([AXIS], [1.0], biases=[0.5]), direction="ascent"
)
FRONT = Camera(0.0, np.pi / 9)


@pytest.fixture
def found(monkeypatch):
    """Replace the search for atoms in states: one at the largest density, of mass 0.25."""

    def concentration(measure, equation):
        density = as_measure(measure).density
        place = np.unravel_index(density.values.argmax(), density.values.shape)
        atom = SimpleNamespace(
            position=density.geometry.points[place],
            kind="atom",
            arrived_mass=0.25,
            arriving_mass=0.0,
        )
        return SimpleNamespace(clusters=(atom,), curves=(), place="")

    monkeypatch.setattr("mfpde.plotting.atoms.concentration", concentration)


def timed_run(states, equation):
    times = np.linspace(0.0, 3.0, len(states))
    return run_of(
        states,
        equation,
        times=times,
        energy=np.sqrt(1 + times),
        dissipation=np.exp(-times),
        largest_density=np.array([s.density.values.max() for s in states]),
    )


def sphere_run():
    sharpness = np.geomspace(0.5, 300.0, 7)
    states = [Measure(bump(Sphere(32), [1.0, 0.3, 0.5], s)) for s in sharpness]
    return timed_run(states, EQUATION)


def zonal_run():
    rates = np.linspace(0.0, 30.0, 6)
    states = [
        Measure(
            Density.from_function(Zonal(8, 128), lambda x, r=r: np.exp(r * x[:, -1]))
        )
        for r in rates
    ]
    return timed_run(states, ZONAL_EQUATION)


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


def test_sampled_values_are_those_of_the_cells():
    density = bump(Sphere(32), [0.2, -0.5, 0.7], 5.0)
    points = density.geometry.points
    for floor in (None, 1e-9):
        values = values_at(density, points, floor=floor)
        assert np.allclose(values, density.values, rtol=1e-12)


def test_sampled_values_cross_poles_and_the_meridian_zero():
    fine = bump(Sphere(128), [0.05, 0.02, 1.0], 4.0)
    centre = np.array([0.05, 0.02, 1.0]) / np.linalg.norm([0.05, 0.02, 1.0])
    points = np.concatenate(
        [random_points(500, 3), np.eye(3), points_at(np.array([0.001, 1.0]), -1e-17)]
    )
    exact = np.exp(4 * (points @ centre - 1))
    exact *= fine.values.max() / np.exp(4 * (fine.geometry.points @ centre - 1)).max()
    assert np.abs(values_at(fine, points) - exact).max() < 2e-3 * exact.max()


@pytest.mark.parametrize("given", [False, True])
def test_map_pixels_are_the_density_at_their_places(given):
    density = bump(Sphere(64), [1.0, 0.5, 0.3], 10.0)
    ax = Figure(layout="constrained").subplots(1, 2)[0] if given else None
    figure = lay_out(plot_density(density, ax=ax))
    assert ax is None or figure is ax.figure
    # Axes of another kind have the map inside of them.
    (map_axes,) = [figure.axes[0]] if ax is None else ax.child_axes
    assert map_axes.name == "mollweide"
    (image,) = by_gid(map_axes, "density")
    points = density.geometry.points[::9, ::7].reshape(-1, 3)
    values = density.values[::9, ::7].ravel()
    shown = [pixel_at(image, point) for point in points]
    # a cell's centre is up to half a cell (0.35 degrees) away
    assert np.abs(np.array(shown) - values).max() < 0.03 * values.max()
    assert np.argmax(shown) == np.argmax(values)


def test_colours_are_logarithmic_above_fifty_means():
    broad, narrow = bump(Sphere(64), [1, 0, 0], 10.0), bump(Sphere(64), [1, 0, 0], 200)
    for density, name in ((broad, "Normalize"), (narrow, "LogNorm")):
        ax = plot_density(density).axes[0]
        (image,) = by_gid(ax, "density")
        assert type(image.norm).__name__ == name
        assert image.norm.vmax == density.values.max()
        assert len(bars(ax.figure)) == 1
    # 1e-2 of the mean is less than 1e-4 of the largest
    assert image.norm.vmin == pytest.approx(1e-2 / (4 * np.pi))


def test_uniform_density_has_a_scale():
    (image,) = by_gid(plot_density(uniform(Sphere(32))), "density")
    assert image.norm.vmin < 1 / (4 * np.pi) < image.norm.vmax


@pytest.mark.parametrize("bias", [0.0, 0.4, -0.9])
@pytest.mark.parametrize("direction", [[0.0, 0.0, 1.0], [2.0, -1.0, 0.5]])
def test_circles_are_where_the_preactivation_vanishes(direction, bias):
    points = circle_points(np.array(direction), bias)
    assert np.allclose(points @ direction, -bias, atol=1e-14)
    assert np.allclose(np.linalg.norm(points, axis=1), 1.0)
    assert np.allclose(points[0], points[-1])


def test_a_circle_that_misses_the_sphere_has_no_points():
    assert len(circle_points(np.array([0.0, 0.0, 2.0]), -2.5)) == 0


def test_map_shows_circles_directions_and_dead_zone(found):
    density = bump(Sphere(32), [1.0, 0.3, 0.5], 5.0)
    ax = plot_density(density, equation=EQUATION).axes[0]
    lay_out(ax.figure)
    for j, direction in enumerate(DIRECTIONS):
        (line,) = by_gid(ax, f"circle {j + 1}")
        places = np.array(line.get_data()).T
        points = points_of(places[np.isfinite(places[:, 0])])
        assert len(points) > 1000
        assert np.allclose(points @ direction, -PERCEPTRON.biases[j], atol=1e-7)
        steps = np.abs(np.diff(places[:, 0]))
        assert np.nanmax(steps) <= np.pi
        (mark,) = by_gid(ax, f"direction {j + 1}")
        unit = np.array(direction) / np.linalg.norm(direction)
        assert np.allclose(np.ravel(mark.get_data()), places_of(unit))
    markers = [by_gid(ax, f"direction {j}")[0].get_marker() for j in (1, 2, 3)]
    assert markers == ["^", "v", "^"]
    ticks = [*ax.get_xticklabels(), *ax.get_yticklabels()]
    names = {t.get_text() for t in [*ax.texts, *ticks]}
    assert {"$a_{1}$", "$a_{2}$", "$a_{3}$", "θ = π/2", "φ = 0"} <= names
    (hatching,) = by_gid(ax, "dead zone")
    (path,) = hatching.get_paths()
    points = random_points(500, 3)
    is_dead = (PERCEPTRON.preactivations(points).max(axis=-1)) < 0
    clear = np.abs(PERCEPTRON.preactivations(points)).min(axis=-1) > 0.05
    shown = hatching.get_transform().transform_path(path)
    hatched = shown.contains_points(ax.transData.transform(places_of(points)))
    assert is_dead.any()
    assert np.array_equal(hatched[clear], is_dead[clear])


def test_half_a_sphere_for_one_neuron_and_no_dead_zone_for_two_opposite():
    for rows, dead in (([[0, 0, 1.0]], 1), ([[0, 0, 1.0], [0, 0, -1.0]], 0)):
        perceptron = Perceptron(rows, np.ones(len(rows)))
        equation = MeanFieldEquation(perceptron, direction="ascent")
        ax = plot_density(Atoms([[1.0, 0.0, 0.0]]), equation=equation).axes[0]
        assert len(by_gid(ax, "dead zone")) == dead


def test_atoms_land_at_their_places_with_area_proportional_to_mass(found):
    points, masses = random_points(3, 3), np.array([0.3, 0.15, 0.05])
    density = Density(Sphere(32), np.full((32, 64), 0.5 / (4 * np.pi)))
    ax = plot_density(Measure(density, Atoms(points, masses)), equation=EQUATION).axes[
        0
    ]
    (discs,) = by_gid(ax, "atoms")
    assert np.allclose(discs.get_offsets(), places_of(points))
    assert np.allclose(discs.get_sizes() / discs.get_sizes()[0], masses / 0.3)
    (ring,) = by_gid(ax, "found atoms")
    assert ring.get_sizes()[0] / discs.get_sizes()[0] == pytest.approx(0.25 / 0.3)
    assert not len(ring.get_facecolor())
    assert [t.get_text() for t in by_gid(ax, "mass")] == ["0.25"]


def test_found_atoms_are_those_of_the_search():
    # far narrower than exp(beta (x.y - 1)), so that it attracts itself
    density = bump(Sphere(32), [1.0, 0.3, 0.5], 150.0)
    ax = plot_density(density, equation=EQUATION).axes[0]
    (rings,) = by_gid(ax, "found atoms")
    place = places_of(np.array([1.0, 0.3, 0.5]))
    assert np.linalg.norm(rings.get_offsets()[0] - place) < np.pi / 32


def test_particles_are_dots():
    crowd = Atoms(random_points(500, 3))
    ax = plot_density(crowd).axes[0]
    (dots,) = by_gid(ax, "particles")
    assert np.allclose(dots.get_offsets(), places_of(crowd.points))
    assert not bars(ax.figure)
    left, right = plot_globe(crowd).axes
    for ax in (left, right):
        (dots,) = by_gid(ax, "particles")
        assert np.allclose(dots.get_offsets(), places_of(crowd.points))
    assert seen(left, crowd.points).sum() + seen(right, crowd.points).sum() == 500


def test_front_and_back_show_opposite_halves():
    points = random_points(1000, 3)
    front, back = plot_globe(uniform(Sphere(32)), camera=FRONT).axes[:2]
    assert np.array_equal(seen(front, points), ~seen(back, points))
    # east is on the right, north is up
    near = points_at(np.array([1.3, 0.9]), np.array([0.2, 0.0]))
    x, y = (front.transData - front.transAxes).transform(places_of(near)).T - 0.5
    assert x[0] > 0
    assert y[1] > y[0]


def test_globes_show_the_bump_where_it_is(found):
    density = bump(Sphere(32), [1.0, 0.3, 0.5], 20.0)
    figure = lay_out(plot_globe(density, equation=EQUATION, camera=tuple(FRONT)))
    front, back = figure.axes[:2]
    images = [by_gid(ax, "density")[0] for ax in (front, back)]
    top = np.array([1.0, 0.3, 0.5]) / np.linalg.norm([1.0, 0.3, 0.5])
    # Dark where mass is, light where there is none.
    assert images[0].to_rgba(pixel_at(images[0], top))[0] < 0.15
    assert images[1].to_rgba(images[1].get_array())[..., 0].min() > 0.6
    (ring,) = by_gid(front, "found atoms")
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
    assert len(bars(figure)) == 1


def test_globe_refuses_other_geometries():
    for other in (uniform(Circle(32)), uniform(Zonal(8, 64))):
        with pytest.raises(ValueError, match="plot_globe has no picture"):
            plot_globe(other)


def test_snapshots_are_maps_in_the_same_colours(found):
    run = sphere_run()
    figure = lay_out(plot_snapshots(run))
    maps = [ax for ax in figure.axes if by_gid(ax, "density")]
    assert [ax.get_title() for ax in maps] == [f"t = {t:g}" for t in (0, 1, 1.5, 2, 3)]
    images = [by_gid(ax, "density")[0] for ax in maps]
    assert len({(i.norm.vmin, i.norm.vmax) for i in images}) == 1
    assert images[0].norm.vmax == run.final.density.values.max()
    assert len(bars(figure)) == 1
    assert len(plot_snapshots(run, times=[1.0, 3.0]).axes) == 3


def test_marks_of_globes_snapshots_and_the_page_have_a_legend():
    """Discs, rings and dotted rings, and numbers with a plus."""
    density = bump(Sphere(32), [-0.2, 0.9, -0.4], 20.0)
    half = Density(density.geometry, density.values / 2)
    atom = Atoms([[1.0, 0.0, 0.0]], [0.5])
    states = [Measure(density), Measure(half, atom)]
    run = run_of(states, EQUATION)
    ring, circle = "on its way (+)", "$a_j·x + b_j = 0$"
    forming = legend_of(plot_globe(states[0], equation=EQUATION))
    assert any(text.endswith(ring) for text in forming)
    for figure in (plot_snapshots(run), plot_run(run)):
        page = lay_out(figure).bbox
        for legend in figure.findobj(Legend):
            box = legend.get_window_extent()
            assert page.x0 <= box.x0 < box.x1 <= page.x1
        texts = legend_of(figure)
        assert {"atom (area ∝ mass)", circle} <= texts
        assert any(text.endswith(ring) for text in texts)
    assert not legend_of(plot_globe(uniform(Sphere(32))))


def test_there_is_no_space_time_map_of_the_sphere():
    with pytest.raises(ValueError, match=r"on the sphere.*plot_snapshots"):
        plot_space_time(sphere_run())


def test_page_of_the_sphere_has_strip_globes_and_time(found):
    figure = lay_out(plot_run(sphere_run()))
    assert tuple(figure.get_size_inches()) == (10.0, 7.0)
    with_image = [ax for ax in figure.axes if by_gid(ax, "density")]
    assert len(with_image) == 7
    assert len(bars(figure)) == 1
    labels = {ax.get_ylabel() for ax in figure.axes}
    assert {"energy E", "dissipation", "largest density"} <= labels
    assert is_within_page(figure)


def test_zonal_space_time_map_has_polar_angles():
    run = zonal_run()
    ax = lay_out(plot_space_time(run)).axes[0]
    (mesh,) = [c for c in ax.collections if c.get_gid() is None]
    zonal = run.states[0].geometry
    values = np.array([s.density.masses / zonal.spacing for s in run.states])
    assert np.allclose(mesh.get_array(), np.maximum(values, mesh.get_clim()[0]).T)
    assert ax.get_ylim() == (0.0, np.pi)
    assert ax.get_ylabel() == "polar angle θ"
    angles = by_gid(ax, "path 1")[0].get_ydata()
    # What gathers around the pole comes nearer to it.
    assert (np.diff(angles) <= 0).all()
    assert 0 <= angles[-1] < angles[0] < np.pi / 2


def test_page_of_a_zonal_run():
    figure = lay_out(plot_run(zonal_run()))
    labels = {ax.get_ylabel() for ax in figure.axes}
    assert {"V", "polar angle θ", "energy E", "largest mass\nper polar angle"} <= labels
    assert "perceptron (1 relu neuron)" in figure.get_suptitle()


def test_the_first_view_looks_at_the_mass():
    density = bump(Sphere(32), [-0.2, 0.9, -0.4], 20.0)
    front, back = plot_globe(density, equation=EQUATION).axes[:2]
    (ring,) = by_gid(front, "on its way")
    flat = front.transProjection.transform(np.asarray(ring.get_offsets()))
    assert np.linalg.norm(flat[0]) < 0.1
    assert back.get_title() == "seen from the other side"
    # A measure without a middle is seen from where it always was.
    title = plot_globe(uniform(Sphere(32))).axes[0].get_title()
    assert title == "seen from θ = 0.39 π, φ = 0.00 π"


@pytest.mark.parametrize(
    ("limits", "is_logarithmic"), [((1e-3, 10.0), True), ((0.0, 2.0), False)]
)
def test_frames_of_a_film_have_the_same_colours_and_the_same_view(
    limits, is_logarithmic
):
    frames = [
        plot_globe(
            bump(Sphere(32), [1.0, 0.0, 0.2], width), limits=limits, camera=(0.3, 0.1)
        )
        for width in (3.0, 60.0)
    ]
    for figure in frames:
        (bar,) = bars(figure)
        assert bar.get_xlim() == pytest.approx(limits)
        assert (bar.get_xscale() == "log") == is_logarithmic
    titles = {figure.axes[0].get_title() for figure in frames}
    assert titles == {"seen from θ = 0.47 π, φ = 0.10 π"}
    curve = plot_density(uniform(Circle(32)), limits=limits).axes[0]
    assert curve.get_ylim() == pytest.approx(limits)


@pytest.mark.parametrize("limits", [(1.0, 1.0), (-1.0, 2.0), (1.0, 2.0, 3.0), 3.0])
def test_limits_that_are_none(limits):
    with pytest.raises(ValueError, match=r"limits = .* must be two densities"):
        plot_globe(uniform(Sphere(32)), limits=limits)
