"""Pictures and films: what their numbers alone, which ``oracles/`` hold, do not say."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import drawn
import matplotlib
import numpy as np
import pytest
from equations import ascent, descent
from matplotlib.animation import FFMpegWriter
from matplotlib.collections import QuadMesh
from matplotlib.figure import Figure
from oracles.picture_cases import with_atoms
from PIL import Image, ImageSequence
from random_points import random_points

import mfpde
from mfpde.measures import Event
from mfpde.plotting.animation import film_of
from mfpde.plotting.projections import AMBIENT, Camera, pixels_of, places_of, values_at
from mfpde.tracking import Junction, Track
from validation.circle_cases import points_at

CIRCLE, SPHERE, ZONAL = mfpde.Circle(128), mfpde.Sphere(32), mfpde.Zonal(5, 64)
NEURON = mfpde.Perceptron([[1.0, 0.0]], [-0.5])
DESCENT, ASCENT = descent(3.0, NEURON), ascent(6.0)


# A measure ------------------------------------------------------------------------------------


def test_the_landscape_of_what_is_no_gradient_is_its_drift():
    vectors = mfpde.Perceptron([[-1.0, 0.1], [-0.6, -0.8]], np.eye(2))
    figure = mfpde.plot_density(mfpde.uniform(CIRCLE), equation=ascent(vectors))
    (line,) = drawn.by_gid(figure, "landscape")
    angles, found = line.get_data()
    exact = np.sum(
        vectors.drift(points_at(angles)) * points_at(angles + np.pi / 2), axis=-1
    )
    np.testing.assert_allclose(found, exact, atol=1e-12)
    assert line.axes.get_ylabel() == "drift"
    # V is there even where masks leave no energy.
    masked = ascent(3.0, NEURON, positions=mfpde.Causal())
    figure = mfpde.plot_density(mfpde.uniform(CIRCLE), equation=masked)
    assert drawn.by_gid(figure, "landscape")[0].axes.get_ylabel() == "V"


def test_a_globe_is_darkest_where_no_light_falls() -> None:
    ax = mfpde.plot_globe(mfpde.uniform(SPHERE)).axes[0]
    (shade,) = (one.get_array() for one in ax.images if one.get_array().ndim == 3)
    darkness = shade[..., 3]
    lit = np.unravel_index(darkness.argmin(), darkness.shape)
    # Above left of the middle.
    assert lit[0] > len(darkness) / 2 > lit[1]
    assert darkness.max() == pytest.approx(1 - AMBIENT)


def test_atoms_of_a_certificate_are_discs_of_their_masses() -> None:
    neurons = mfpde.Perceptron([[1.0, 0.0], [0.6, 0.8]], [0.3, -0.2], "tanh")
    minimum = mfpde.minimize(descent(mfpde.Attention(10.0), neurons), CIRCLE)
    (discs,) = drawn.by_gid(mfpde.plot_certificate(minimum), "atoms")
    masses, areas = minimum.atoms.masses, discs.get_sizes()
    assert np.ptp(masses) > 0.05
    np.testing.assert_allclose(areas / areas.max(), masses / masses.max())


def test_many_particles_are_bins_that_keep_the_mass_of_any_arc():
    angles = np.random.default_rng(0).uniform(0, 2 * np.pi, 2000)
    angles[:800], angles[800:1200] = 0.01, 3.0
    masses = np.random.default_rng(1).uniform(0.5, 1.5, 2000)
    atoms = mfpde.Atoms(points_at(angles), masses / masses.sum())
    figure = mfpde.plot_density(atoms)
    assert not drawn.by_gid(figure, "atoms")
    (line,) = drawn.by_gid(figure, "density")
    centres, values = (part[1:-1] for part in line.get_data())
    width = centres[1] - centres[0]
    assert values.sum() * width == pytest.approx(1.0)
    for low, high in ((0.5, 2.0), (2.5, 3.5), (1.0, 6.0)):
        exact = atoms.masses[(angles > low) & (angles < high)].sum()
        inside = (centres > low) & (centres < high)
        at_edges = 2 * width * 800 / 2000 / (2 * np.pi)
        assert width * values[inside].sum() == pytest.approx(exact, abs=2 * at_edges)


# The sphere -----------------------------------------------------------------------------------


def near(colatitudes, longitudes):
    flat = np.sin(colatitudes)[:, np.newaxis] * points_at(longitudes + 0 * colatitudes)
    return np.column_stack([flat, np.cos(colatitudes)])


@pytest.mark.parametrize(
    "camera", [Camera(0.0, 0.35), Camera(0.0, 0.35).opposite, Camera(1.0, 0.7)]
)
def test_pixels_of_a_globe_are_where_it_shows_their_points(camera):
    ax = Figure().add_subplot(projection=camera)
    points = pixels_of(ax, 40)
    x, y = np.meshgrid(*[(np.arange(40) + 0.5) / 40] * 2)
    is_on_disc = np.hypot(x - 0.5, y - 0.5) < 0.49
    again = (ax.transData - ax.transAxes).transform(places_of(points[is_on_disc]))
    np.testing.assert_allclose(again.T, (x[is_on_disc], y[is_on_disc]), atol=1e-7)
    np.testing.assert_allclose(np.linalg.norm(points, axis=-1), 1.0)


def test_sampled_values_are_those_of_the_cells_and_cross_poles_and_meridian():
    density = drawn.bump(SPHERE, [0.2, -0.5, 0.7], 5.0)
    for floor in (None, 1e-9):
        values = values_at(density, density.geometry.points, floor=floor)
        assert np.allclose(values, density.values, rtol=1e-12)
    fine = drawn.bump(mfpde.Sphere(128), [0.05, 0.02, 1.0], 4.0)
    centre = np.array([0.05, 0.02, 1.0]) / np.linalg.norm([0.05, 0.02, 1.0])
    places = [np.eye(3), near(np.array([0.001, 1.0]), -1e-17)]
    points = np.concatenate([random_points(500, 3), *places])
    exact = np.exp(4 * (points @ centre - 1))
    exact *= fine.values.max() / np.exp(4 * (fine.geometry.points @ centre - 1)).max()
    assert np.abs(values_at(fine, points) - exact).max() < 2e-3 * exact.max()


def test_front_and_back_show_opposite_halves_with_east_on_the_right():
    crowd = mfpde.Atoms(random_points(500, 3))
    front, back = mfpde.plot_globe(crowd, camera=(0.0, 0.35)).axes
    shown = [
        np.isfinite(ax.transData.transform(places_of(crowd.points))[:, 0])
        for ax in (front, back)
    ]
    assert np.array_equal(shown[0], ~shown[1])
    places = places_of(near(np.array([1.3, 0.9]), np.array([0.2, 0.0])))
    x, y = (front.transData - front.transAxes).transform(places).T - 0.5
    assert x[0] > 0
    assert y[1] > y[0]


# Runs -----------------------------------------------------------------------------------------


def test_snapshots_share_one_scale_of_masses_and_explain_all_marks():
    density = mfpde.Density(mfpde.Circle(64), np.full(64, 0.2 / np.pi))
    atoms = [None if m is None else mfpde.Atoms([[1.0, 0.0]], [m]) for m in (None, 0.6)]
    run = drawn.run_of([mfpde.Measure(density, a) for a in atoms], DESCENT)
    figure = drawn.lay_out(mfpde.plot_snapshots(run))
    scales = [ax for ax in figure.axes if ax.yaxis.get_label_position() == "right"]
    assert len({ax.get_ylim() for ax in scales}) == 1
    assert scales[0].get_ylim()[1] > 0.6
    marks = {"atom (height: mass)", "neuron active", "$a_j$, $w_j < 0$"}
    for page in (figure, mfpde.plot_run(run)):
        assert marks <= drawn.legend_of(page)


def test_paths_over_time_are_those_of_the_atoms_that_are_found():
    times = np.linspace(0.0, 10.0, 101)
    state = mfpde.Measure(drawn.poisson_kernel(mfpde.Circle(256), 0.98))
    run = drawn.run_of([state] * 101, ASCENT, times=times)
    ax = mfpde.plot_space_time(run).axes[0]
    seen, angles = drawn.by_gid(ax, "path 1")[0].get_data()
    # They are looked for at no more than thirty saves.
    assert 10 < len(seen) <= 30
    assert np.abs(angles - 2.0).max() <= mfpde.Circle(256).spacing
    paths = drawn.by_gid(mfpde.plot_space_time(run.tracked()).axes[0], "path 1")
    assert len(paths[0].get_xdata()) == 101


def test_an_atom_of_one_cell_is_seen_on_a_map_of_fewer_rows():
    circle = mfpde.Circle(4096)
    values = np.full((3, 4096), 0.1)
    values[1, 537] = 80.0
    states = [mfpde.Measure(mfpde.Density(circle, row)) for row in values]
    meshes = mfpde.plot_space_time(drawn.run_of(states)).findobj(QuadMesh)
    shown = max((mesh.get_array() for mesh in meshes), key=np.size)
    assert 100 < len(shown.ravel()) < values.size / 2
    assert shown.max() == pytest.approx(80.0)


def test_an_energy_at_rest_is_not_blown_up_and_one_that_is_none_is_told():
    rest = drawn.kuramoto_run(cells=32)
    rest.diagnostics["energy"] = 0.1 + 1e-16 * np.arange(21)
    assert np.ptp(mfpde.plot_energy(rest).axes[0].get_ylim()) == pytest.approx(0.02)
    ax = mfpde.plot_energy(drawn.particle_run(4)).axes[0]
    assert ax.get_title() == "no energy: drift is not a gradient"
    del rest.diagnostics["energy"]
    with pytest.raises(ValueError, match="diagnostics"):
        mfpde.plot_energy(rest)


@pytest.mark.parametrize(
    "run", [drawn.kuramoto_run(cells=64), drawn.zonal_run(), drawn.particle_run(20)]
)
def test_nothing_leaves_the_page_of_a_run(run):
    assert drawn.is_within_page(mfpde.plot_run(run))


def test_bands_of_a_tree_stand_below_the_whole_mass():
    """At any time: one atom of mass 1 after another stands from 0 to 1, not from 1 to 2."""
    one = np.array([[1.0, 0.0]])
    first, nothing, second = (
        drawn.sighting(one[:held], np.ones(held), identity)
        for held, identity in ((1, 1), (0, 0), (1, 2))
    )
    gone, born = (
        Event(*what, one, np.ones(1)) for what in (("death", 1.5), ("birth", 3.5))
    )
    junctions = Junction(gone, 1.0, 2.0, (1,), ()), Junction(born, 3.0, 4.0, (), (2,))
    seen = (first, first, nothing, nothing, second, second)
    track = Track(drawn.TIMES, seen, ("",) * 6, junctions)
    run = replace(drawn.known_run(mfpde.Circle(64)), track=track)
    ax = mfpde.plot_atom_tree(run).axes[0]
    for identity in (1, 2):
        for name in ("arrived at", "arriving at"):
            (path,) = drawn.by_gid(ax, f"{name} {identity}")[0].get_paths()
            heights = path.vertices[:, 1]
            assert 0 <= heights.min() <= heights.max() <= 1 + 1e-12
    assert ax.get_ylim() == pytest.approx((0.0, 1.0))
    none = replace(run, track=drawn.empty_track(drawn.TIMES, 2))
    assert mfpde.plot_space_time(none).axes[0].get_legend() is None
    assert not mfpde.plot_atom_tree(none).axes[0].collections


@pytest.mark.parametrize("geometry", [CIRCLE, ZONAL], ids=str)
def test_paths_over_time_are_of_the_atoms_of_the_layer_of_their_time(geometry):
    run = drawn.layered_run(geometry)

    def alive_until(one: mfpde.Run) -> float:
        lines = mfpde.plot_space_time(one).axes[0].lines
        paths = [line for line in lines if str(line.get_gid()).startswith("path")]
        return max((line.get_xdata()[-1] for line in paths), default=0.0)

    first, second = (
        replace(run, layers=None, equation=equation)
        for equation in run.layers.equations
    )
    assert alive_until(first) == 4
    assert 2 <= alive_until(run) <= 3
    assert alive_until(second) == 0


def test_saved_files_are_the_same_bytes_and_settings_are_left_alone(tmp_path):
    before, files = dict(matplotlib.rcParams), []
    names = {"a/b/p.png": "a/b/p", "c/p.svg": "c/p", "beta_0.5": "beta_0.5"}
    for name, stem in names.items():
        figure = mfpde.plot_run(drawn.kuramoto_run(cells=32))
        written = mfpde.save_figure(figure, tmp_path / name)
        assert written == tuple(tmp_path / f"{stem}.{end}" for end in ("pdf", "png"))
        files.append([path.read_bytes() for path in written])
    assert files[0] == files[1] == files[2]
    assert files[0][0].startswith(b"%PDF")
    assert b"CreationDate" not in files[0][0]
    assert files[0][1].startswith(b"\x89PNG")
    assert dict(matplotlib.rcParams) == before


# Films ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run() -> mfpde.Run:
    return mfpde.solve(DESCENT, mfpde.uniform(CIRCLE), t_end=1.0, save_every=0.25)


def frames_of(path: Any) -> list[np.ndarray]:
    with Image.open(path) as film:
        frames = [np.array(f.convert("RGB")) for f in ImageSequence.Iterator(film)]
    return [frame.astype(int) for frame in frames]


def test_a_film_has_a_frame_for_each_save_or_as_many_as_are_asked_for(run, tmp_path):
    seen: list[int] = []

    def watched(numbers):
        for number in numbers:
            seen.append(number)
            yield number

    path = mfpde.animate(run, tmp_path / "deep" / "film.gif", frames_per_second=20)
    with Image.open(path) as film:
        assert film.info["duration"] == 50
    frames = frames_of(path)
    assert len(frames) == len(run.times) == 5
    assert np.abs(frames[0] - frames[-1]).max() > 100
    assert [p.name for p in path.parent.iterdir()] == ["film.gif"]
    mfpde.animate(run, path, frames=3, progress=watched)
    assert seen == [0, 2, 4]
    assert len(frames_of(path)) == 3
    # More than there are saves move between them.
    mfpde.animate(run, path, duration=1.2, frames_per_second=10)
    frames = frames_of(path)
    assert len(frames) == 12
    assert all(np.abs(a - b).max() > 30 for a, b in pairwise(frames))


@pytest.mark.skipif(not FFMpegWriter.isAvailable(), reason="there is no ffmpeg")
def test_an_mp4_is_written(run, tmp_path) -> None:
    film = mfpde.animate(run, tmp_path / "film.mp4", frames=2)
    assert film.read_bytes()[4:8] == b"ftyp"


def test_without_ffmpeg_no_mp4_is_made(run, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(FFMpegWriter, "isAvailable", classmethod(lambda _: False))
    with pytest.raises(ValueError, match=r"ffmpeg.*film\.gif"):
        mfpde.animate(run, tmp_path / "film.mp4")
    assert not list(tmp_path.iterdir())


def test_a_film_that_is_stopped_leaves_the_old_one(run, tmp_path) -> None:
    path = tmp_path / "film.gif"
    path.write_bytes(b"old")

    def stopped(numbers):
        yield next(iter(numbers))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mfpde.animate(run, path, progress=stopped)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["film.gif"]


def test_densities_move_on_an_axis_that_stays() -> None:
    states = [mfpde.bumps(CIRCLE, widths=[w], angles=[1.0]) for w in (0.9, 0.3)]
    figure, draw = film_of(drawn.run_of(states), "curve", [0, 0.5, 1])
    limits, shown = set(), []
    for position in (0, 0.5, 1):
        draw(position)
        (line,) = drawn.by_gid(figure, "density")
        limits.add((line.axes.get_ylim(), str(line.axes.get_position())))
        shown.append(line.get_ydata()[1:-1])
    (((low, high), _),) = limits
    assert low < shown[0].min() < 2 * shown[0].max() < shown[2].max() < high
    np.testing.assert_allclose(shown[1], (shown[0] + shown[2]) / 2)


def test_atoms_move_along_great_circles_and_go_with_their_frame() -> None:
    states = [
        with_atoms(SPHERE, [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]),
        with_atoms(SPHERE, [0.6, 0.0, 0.8], [0.6, -0.8, 0.0]),
        with_atoms(SPHERE, [0.0, 0.0, 1.0]),
        mfpde.uniform(SPHERE),
    ]
    figure, draw = film_of(drawn.run_of(states), "map", [0, 0.5, 1.5, 3])
    draw(0.5)
    (discs,) = drawn.by_gid(figure, "atoms")
    latitudes = sorted(discs.get_offsets()[:, 1])
    np.testing.assert_allclose(latitudes, [0.0, np.arccos(0.6) / 2], atol=1e-12)
    draw(1.5)
    # Two atoms and one: of both there is half, and the mass is what it was.
    (discs,) = drawn.by_gid(figure, "atoms")
    np.testing.assert_allclose(sorted(discs.get_sizes() / 260), [1 / 12, 1 / 6, 1 / 4])
    draw(3)
    assert not drawn.by_gid(figure, "atoms")
    assert len(drawn.by_gid(figure, "density")) == 1


def test_particles_move_in_their_order_and_a_track_is_in_the_film() -> None:
    angles = 2 * np.pi * np.arange(40) / 40
    ends = [mfpde.Atoms(points_at(angles + turn)) for turn in (0.0, 2.0)]
    figure, draw = film_of(drawn.run_of(ends), "curve", [0, 0.25, 0.5, 1])
    for share in (0.25, 0.5):
        draw(share)
        (heads,) = drawn.by_gid(figure, "atoms")
        turned = angles + np.angle(1 - share + share * np.exp(2j))
        np.testing.assert_allclose(heads.get_xdata(), turned % (2 * np.pi))
    bumps = mfpde.bumps(CIRCLE, angles=[1.0, 3.0], widths=[0.1, 0.1], masses=[0.5, 0.5])
    figure, draw = film_of(drawn.run_of([bumps], ASCENT).tracked(), "curve", [0])
    draw(0)
    (circles,) = drawn.by_gid(figure, "found atoms")
    np.testing.assert_allclose(sorted(circles.get_xdata()), [1.0, 3.0], atol=0.05)


def rows_of(geometry: mfpde.Geometry) -> mfpde.PositionedDensity:
    """Three rows of unequal widths, uniform, and two that turn."""
    density = mfpde.uniform(geometry)
    tilt = geometry.points[..., 0] / 2
    values = [density.values * (1 + k * tilt) for k in (0, 1, -1)]
    return mfpde.PositionedDensity(geometry, values, [0.0, 0.2, 0.7, 1.0])


@pytest.mark.parametrize("geometry", [CIRCLE, SPHERE], ids=["S1", "S2"])
def test_rows_are_drawn_with_their_widths_and_resultants(geometry, tmp_path):
    rows = rows_of(geometry)
    run = drawn.run_of([rows, rows_of(geometry)], times=[0.0, 1.0])
    assert drawn.is_within_page(rows.plot())
    assert drawn.is_within_page(run.plot())
    figure = drawn.lay_out(rows.plot())
    (line,) = [l for ax in figure.axes for l in ax.lines if len(l.get_xdata()) == 3]
    assert np.allclose(line.get_xdata(), [0.1, 0.45, 0.85])
    assert np.allclose(line.get_ydata(), [0.0, *[0.5 / geometry.dimension] * 2])
    if geometry is CIRCLE:
        (mesh,) = drawn.by_gid(figure, "rows")
        assert np.allclose(mesh.get_coordinates()[0, :, 0], rows.edges)
        assert np.allclose(mesh.get_array(), rows.values.T)
    path = mfpde.animate(run, tmp_path / "film.gif", duration=0.2)
    with Image.open(path) as film:
        assert film.n_frames == 3


def test_profiles_are_drawn_with_their_minima():
    known = {"sources": np.linspace(0.01, 1, 50), "times": [1.0, 4.0, 8.0]}
    profile = mfpde.theory.retrieval_profile(1.0, **known)
    figure = drawn.lay_out(profile.plot())
    plain, biased = figure.axes
    assert "t_crit = 0" in plain.get_title()
    assert f"t_crit = {profile.critical_times[1]:.4g}" in biased.get_title()
    places = [dot.get_xdata()[0] for dot in drawn.by_gid(biased, "minimum")]
    assert np.allclose(places, profile.minimum[1], equal_nan=True)
    dashed = [line.get_linestyle() for line in biased.lines[:6:2]]
    assert dashed == ["-", "-", "--"]
    assert {"t = 1", "after t_crit", "least"} <= drawn.legend_of(figure)
