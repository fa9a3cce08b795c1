"""Mixtures, samples and arrays as starts, on every geometry."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from equations import ascent
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ive
from stored import assert_same, raised_after, toml

import mfpde
from mfpde import Atoms, Circle, Density, Sphere, Zonal, bumps, uniform, wasserstein
from mfpde.commands.command_line import main
from mfpde.settings import SettingsError, settings_from_dict
from validation.verdict_shapes import unit

GRIDS = [Circle(256), Sphere(64), Zonal(5, 256)]


def test_perturbed_uniform_has_its_amplitude_and_seed() -> None:
    one, again, other = (
        mfpde.perturbed_uniform(Circle(256), 0.2, seed).values for seed in (4, 4, 5)
    )
    assert np.abs(one * 2 * np.pi - 1).max() == pytest.approx(0.2, rel=1e-12)
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).max() > 0.01


def test_the_number_of_cells_that_a_narrow_bump_asks_for_is_enough() -> None:
    with pytest.raises(ValueError, match="use at least 63 cells"):
        bumps(Circle(62), angles=[0.0], widths=[0.1])
    assert bumps(Circle(63), angles=[0.0], widths=[0.1]).total_mass == pytest.approx(1)


def test_measures_are_closed_for_writing() -> None:
    circle = Circle(64)
    density = uniform(circle)
    with pytest.raises(ValueError, match="read-only"):
        density.values[0] = 2
    with pytest.raises(AttributeError):
        density.values = np.ones(64)  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        circle.points[0] = 0


@pytest.mark.parametrize("value", [1e308, 1e-320, 5e-324, 3.0])
def test_values_of_any_size_are_normalised_to_mass_one(value: float) -> None:
    """Sums that overflow, or numbers that hold few digits, change nothing."""
    for grid in (Circle(64), Sphere(32), Zonal(5, 64)):
        density = Density(grid, np.full(grid.shape, value)).normalized()
        expected = uniform(grid)
        assert density.total_mass == pytest.approx(1.0, abs=1e-14)
        np.testing.assert_allclose(density.values, expected.values, rtol=1e-14)
    peak = np.zeros(64)
    peak[3:5] = value, value / 4
    found = Density(Circle(64), peak).normalized()
    assert found.total_mass == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("concentration", [1.0, 30.0, 200.0])
def test_bumps_have_the_mean_of_von_mises_and_fisher(concentration):
    for grid in GRIDS:
        d = grid.dimension
        centre = np.eye(d)[-1] if grid.axis is not None else unit(np.arange(1.0, d + 1))
        places = {"centres": [centre]}
        if d == 2 or grid.axis is not None:
            angle = np.arctan2(2.0, 1.0) if d == 2 else 0.0
            places = {"angles": [angle]}
        density = bumps(grid, widths=1 / np.sqrt(concentration), **places)
        assert density.total_mass == pytest.approx(1.0, abs=1e-14)
        mean = density.masses.ravel() @ (grid.points.reshape(-1, d) @ centre)
        expected = ive(d / 2, concentration) / ive(d / 2 - 1, concentration)
        assert mean == pytest.approx(
            expected, abs=2e-4 if grid.axis is not None else 1e-11
        )


@settings(max_examples=20, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 40),
    bandwidth=st.floats(0.12, 1.0),
    grid=st.sampled_from(GRIDS),
)
def test_samples_are_smoothed_by_the_heat_flow(seed, count, bandwidth, grid):
    """Each moment of degree l is that of the samples times e^(-h^2 l (l + d - 2) / 2)."""
    generator = np.random.default_rng(seed)
    d = grid.dimension
    points = unit(generator.standard_normal((count, d)))
    weights = generator.uniform(0.5, 2.0, count)
    density = Density.from_samples(grid, points, weights, bandwidth)
    assert density.total_mass == pytest.approx(1.0, abs=1e-13)
    assert (density.values >= 0).all()
    l = grid.degrees(4)
    found = grid.moments(density.masses, 4)
    given_moments = grid.atom_moments(points, weights / weights.sum(), 4)
    expected = given_moments * np.exp(-(bandwidth**2) / 2 * l * (l + d - 2))
    assert np.abs(found - expected).max() < (1e-4 if grid.axis is not None else 1e-10)


def test_the_default_bandwidth_narrows_with_the_number_of_samples():
    circle = Circle(512)
    start = bumps(circle, angles=[0.0], widths=20**-0.5)
    errors = []
    for count in (100, 10_000):
        points = mfpde.sampled(start, count, 1).points
        errors.append(wasserstein(Density.from_samples(circle, points), start))
    assert errors[1] < errors[0]
    assert errors[1] < 0.02
    one = Density.from_samples(circle, [[0.0, 1.0]])
    width = np.sqrt(one.masses @ (circle.angles - np.pi / 2) ** 2)
    # The waves that the grid holds last are 1e-10 of the first.
    least = np.sqrt(2 * np.log(1e10)) / circle.max_degree
    assert width == pytest.approx(least, rel=0.02)


SETTINGS = {
    "geometry": {"kind": "circle", "cells": 128},
    "attention": {"beta": 3.0},
    "equation": {"direction": "ascent"},
    "solve": {"t_end": 0.5, "save_every": 0.1},
}
CONFIG = toml(SETTINGS | {"start": {"kind": "run", "path": "first.zarr"}})
START = mfpde.perturbed_uniform(Circle(128), 0.3)
HALF = Density(Circle(128), START.values / 2)
BESIDE_AN_ATOM = mfpde.Measure(HALF, Atoms([[0.6, 0.8]], [0.5]))


def stored_run(path, start=START, **options):
    """A short run with saves at 0, 0.25 and 0.5, stored at ``path``."""
    run = mfpde.solve(ascent(3.0), start, t_end=0.5, save_every=0.25, **options)
    mfpde.save(run, path)
    return run


def started_from(path, *, cells=128, **more):
    table = {"kind": "run", "path": str(path), **more}
    geometry = {"kind": "circle", "cells": cells}
    return settings_from_dict(SETTINGS | {"geometry": geometry, "start": table})


@pytest.mark.filterwarnings("ignore:.*coarse")
@pytest.mark.parametrize(
    ("start", "atoms"), [(START, "grid"), (BESIDE_AN_ATOM, "exact")], ids=["", "atom"]
)
def test_settings_start_from_a_stored_run(start, atoms, tmp_path):
    run = stored_run(tmp_path / "a.zarr", start, atoms=atoms)
    for more, state in (({}, run.final), ({"time": 0.25}, run.states[1])):
        found = started_from(tmp_path / "a.zarr", **more)
        again = settings_from_dict(json.loads(found.to_json()))
        expected = state if atoms == "exact" else state.density
        assert_same([found.start, again.start], [expected] * 2)
        if atoms == "grid":
            finer = started_from(tmp_path / "a.zarr", cells=512, **more).start
            assert_same(finer, state.density.interpolated(Circle(512)))


def test_wrong_stored_starts_are_named(tmp_path):
    stored_run(tmp_path / "a.zarr")
    stored_run(tmp_path / "sphere.zarr", mfpde.perturbed_uniform(Sphere(32), 0.3))
    particles = mfpde.solve_particles(ascent(1.0), Atoms(np.eye(2)), t_end=0.1)
    mfpde.save(particles, tmp_path / "particles.zarr")
    (tmp_path / "empty").mkdir()
    for name, more, words in (
        ("none.zarr", {}, "there is no store of a run at"),
        ("empty", {}, "zarr.json is missing"),
        ("a.zarr", {"time": 0.3}, "time = 0.3 is no save: of 3 from 0 to 0.5"),
        ("a.zarr", {"time": 0.3}, "the nearest are at 0.25, 0.5"),
        ("a.zarr", {"time": -1.0}, "time = -1.0 must be"),
        ("a.zarr", {"time": "end"}, "time = 'end' must be"),
        ("a.zarr", {"cells": 64}, "finer geometry = Circle(num_cells=64)"),
        ("sphere.zarr", {}, "holds a density on Sphere"),
        ("particles.zarr", {}, "holds a run of particles, not of a density"),
    ):
        with pytest.raises(SettingsError) as error:
            started_from(tmp_path / name, **more)
        assert words in str(error.value)
        assert str(error.value).startswith("[start] ")
        assert "\n" not in str(error.value)


def test_the_command_starts_from_a_stored_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    first = stored_run("first.zarr")
    (tmp_path / "second.toml").write_text(CONFIG)
    assert main(["run", "second.toml", "--quiet", "--out", "second.zarr"]) == 0
    expected = mfpde.solve(ascent(3.0), first.final, t_end=0.5, save_every=0.1)
    whole = mfpde.load("second.zarr")
    assert_same(whole.final, expected.final)
    # A run does not write over its own start.
    written = ["--out", "first.zarr", "--overwrite"]
    assert main(["run", "second.toml", "--quiet", *written]) == 2
    assert "a run does not write over its own start" in capsys.readouterr().err
    assert len(mfpde.load("first.zarr").times) == 3
    # One that was interrupted goes on when the store of its start is gone.
    with raised_after(3, KeyboardInterrupt):
        main(["run", "second.toml", "--quiet", "--out", "x.zarr"])
    shutil.rmtree("first.zarr")
    assert main(["resume", "x.zarr", "--quiet"]) == 0
    assert_same(mfpde.load("x.zarr").final, whole.final)


SPHERE = Sphere(48)


@pytest.mark.parametrize("grid", [Circle(64), Circle(1024), SPHERE], ids=repr)
def test_bumps_have_their_masses_on_every_grid(grid):
    if grid is SPHERE:
        near, places = grid.points[..., 2] > 0, {"centres": [[0, 0, 1], [0, 0, -1]]}
    else:
        near, places = grid.points[..., 0] > 0, {"angles": [0.0, np.pi]}
    density = bumps(
        grid, **places, widths=[0.15, 0.15], masses=[3.0, 1.0], background=0.2
    )
    expected = 0.8 * 0.75 + 0.2 * near.mean()
    assert density.total_mass == pytest.approx(1.0, abs=1e-14)
    assert density.masses[near].sum() == pytest.approx(expected, abs=1e-12)


def test_no_background_and_all_background():
    circle = Circle(64)
    flat = bumps(circle, angles=[1.0], widths=[0.3], background=1.0)
    assert wasserstein(flat, bumps(circle, angles=[1.0], widths=[40.0])) < 1e-3
    sphere = bumps(SPHERE, centres=[[0, 0, 1]], widths=0.3, background=1.0)
    for density in (flat, sphere):
        even = uniform(density.geometry)
        np.testing.assert_allclose(density.values, even.values, rtol=1e-12)


def test_angles_are_another_way_to_write_a_centre():
    one = bumps(SPHERE, centres=[[1.2, 0.7], [np.pi, 0.0]], widths=[0.2, 0.4])
    sine = np.sin(1.2)
    first = [sine * np.cos(0.7), sine * np.sin(0.7), np.cos(1.2)]
    other = bumps(SPHERE, centres=[first, [0, 0, -1]], widths=[0.2, 0.4])
    np.testing.assert_allclose(one.values, other.values, rtol=1e-12)


@pytest.mark.parametrize(
    ("dimension", "cells", "angle", "width"),
    [(3, 256, 1.0, 0.05), (64, 256, 0.8, 0.05), (2048, 1024, 0.5, 0.006)],
)
def test_a_ring_has_its_polar_angle_and_width(dimension, cells, *, angle, width):
    zonal = Zonal(dimension, cells)
    density = bumps(zonal, angles=[angle], widths=width)
    mean = density.masses @ zonal.angles
    deviation = np.sqrt(density.masses @ (zonal.angles - mean) ** 2)
    assert mean == pytest.approx(angle, abs=0.1 * width)
    assert deviation == pytest.approx(width, rel=0.02)
