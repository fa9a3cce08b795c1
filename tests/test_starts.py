"""Starts made of bumps: mass, place, width and symmetry on every geometry."""

import numpy as np
import pytest

from mfpde.geometry import Circle, Sphere, Zonal
from mfpde.measures.measure import uniform
from mfpde.measures.starts import bumps
from mfpde.measures.wasserstein import wasserstein

SPHERE = Sphere(48)


def test_bumps_have_their_masses_on_every_grid():
    for cells in (64, 1024):
        density = bumps(
            Circle(cells),
            angles=[1.0, 4.0],
            widths=[0.15, 0.2],
            masses=[3.0, 1.0],
            background=0.2,
        )
        near = np.abs(density.geometry.angles - 1.0) < 1.5
        expected = 0.8 * 0.75 + 0.2 * near.mean()
        assert density.total_mass == pytest.approx(1.0, abs=1e-14)
        assert density.masses[near].sum() == pytest.approx(expected, abs=1e-8)


def test_a_narrow_bump_has_its_width_as_standard_deviation():
    circle = Circle(512)
    density = bumps(circle, angles=[np.pi], widths=0.05)
    variance = density.masses @ (circle.angles - np.pi) ** 2
    assert np.sqrt(variance) == pytest.approx(0.05, rel=1e-2)


def test_bumps_are_equivariant_under_rotations_by_cells():
    circle = Circle(128)
    one = bumps(circle, angles=[1.0, 2.5], widths=[0.2, 0.4])
    turn = 40 * circle.spacing
    other = bumps(circle, angles=[1.0 + turn, 2.5 + turn], widths=[0.2, 0.4])
    np.testing.assert_allclose(np.roll(one.values, 40), other.values, rtol=1e-12)


def test_no_background_and_all_background():
    circle = Circle(64)
    flat = bumps(circle, angles=[1.0], widths=[0.3], background=1.0)
    assert wasserstein(flat, bumps(circle, angles=[1.0], widths=[40.0])) < 1e-3
    np.testing.assert_allclose(flat.values, 1 / (2 * np.pi), rtol=1e-12)


# --- sphere ---------------------------------------------------------------------------


def test_bumps_on_the_sphere_have_their_places_and_widths():
    centre = np.array([0.6, 0.0, 0.8])
    density = bumps(SPHERE, centres=[centre], widths=0.1)
    mean = np.einsum("ij,ijk->k", density.masses, SPHERE.points)
    np.testing.assert_allclose(mean / np.linalg.norm(mean), centre, atol=1e-12)
    # A von Mises-Fisher density of concentration k has |mean| = coth k - 1/k.
    assert np.linalg.norm(mean) == pytest.approx(1 - 0.1**2, abs=1e-12)


def test_angles_are_another_way_to_write_a_centre():
    one = bumps(SPHERE, centres=[[1.2, 0.7], [np.pi, 0.0]], widths=[0.2, 0.4])
    sine = np.sin(1.2)
    first = [sine * np.cos(0.7), sine * np.sin(0.7), np.cos(1.2)]
    other = bumps(SPHERE, centres=[first, [0, 0, -1]], widths=[0.2, 0.4])
    np.testing.assert_allclose(one.values, other.values, rtol=1e-12)


def test_masses_and_background_on_the_sphere():
    density = bumps(
        SPHERE,
        centres=[[0, 0, 1], [0, 0, -1]],
        widths=0.15,
        masses=[3, 1],
        background=0.2,
    )
    north = density.masses[SPHERE.points[..., 2] > 0].sum()
    assert north == pytest.approx(0.8 * 0.75 + 0.1, abs=1e-12)
    flat = bumps(SPHERE, centres=[[0, 0, 1]], widths=0.3, background=1.0)
    np.testing.assert_allclose(flat.values, uniform(SPHERE).values, rtol=1e-12)


# --- zonal ----------------------------------------------------------------------------


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


def test_rings_are_symmetric_about_the_equator():
    zonal = Zonal(16, 128)
    north = bumps(zonal, angles=[0.0, 0.9], widths=[0.2, 0.1], background=0.1)
    south = bumps(zonal, angles=[np.pi, np.pi - 0.9], widths=[0.2, 0.1], background=0.1)
    np.testing.assert_allclose(north.values, south.values[::-1], rtol=1e-10)


def test_a_bump_at_the_pole_is_that_of_the_sphere():
    zonal = Zonal(3, 128)
    density = bumps(zonal, angles=[0.0], widths=0.2)
    expected = np.exp((np.cos(zonal.angles) - 1) / 0.2**2)
    np.testing.assert_allclose(
        density.values / density.values[0], expected / expected[0], rtol=1e-10
    )


@pytest.mark.parametrize(
    ("geometry", "arguments", "expected"),
    [
        (Circle(64), {"angles": []}, "must be a nonempty list of angles"),
        (Circle(64), {"widths": [0.2, 0.3]}, "widths of shape (2,) do not match the 1"),
        (Circle(64), {"widths": [0.05]}, "use at least 126 cells"),
        (
            Circle(64),
            {"widths": [0.0]},
            "widths[0] = 0 must be at least the cell width",
        ),
        (Circle(64), {"masses": [0.0]}, "masses[0] = 0 must be above 0"),
        (Circle(64), {"background": 1.5}, "background = 1.5 must be a finite number"),
        (Circle(64), {"angles": None, "centres": [[1, 0]]}, "take angles, not centres"),
        (SPHERE, {"angles": [1.0]}, "take centres, not angles"),
        (SPHERE, {"angles": None}, "bumps on Sphere(nlat=48, nlon=96) take centres"),
        (SPHERE, {"centres": []}, "must be a nonempty list of unit vectors"),
        (SPHERE, {"centres": [[1, 1, 1]]}, "centres[0] has length 1.73205"),
        (SPHERE, {"centres": [[4.0, 0.0]]}, "the first must lie between 0 and pi"),
        (SPHERE, {"centres": [[0, 0, 1]], "widths": 0.05}, "use at least 63 rings"),
        (Zonal(5, 64), {"angles": [4.0]}, "must lie between 0 and pi"),
        (Zonal(64, 256), {}, "must be at most 0.09"),
        (Zonal(64, 256), {"widths": 0.01}, "use at least 315 cells"),
    ],
)
def test_wrong_bumps_are_refused(geometry, arguments, expected):
    angles = {} if "centres" in arguments else {"angles": [1.0]}
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        bumps(geometry, **({"widths": 0.2} | angles | arguments))
    assert expected in str(caught.value)
