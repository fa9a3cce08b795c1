"""Laws of the distances between measures on S^2, zonal grids, and atoms of any d."""

import subprocess
import sys

import numpy as np
import ot
import pytest
from random_points import random_atoms
from scipy.stats import special_ortho_group

from mfpde.geometry import Sphere, Zonal
from mfpde.measures.measure import Atoms, Density, Measure, uniform
from mfpde.measures.sampling import quantized
from mfpde.measures.wasserstein import wasserstein, wasserstein_report

ORDERS = pytest.mark.parametrize("order", [1, 2])
NORTH = np.array([0.0, 0.0, 1.0])
AXIS = np.array([0.6, 0.0, 0.8])
# Uniform to one atom on S^2; W2^2 is the mean of theta^2, (pi^2 - 4) / 2.
UNIFORM_TO_ATOM = {1: np.pi / 2, 2: np.sqrt((np.pi**2 - 4) / 2)}


def cap(center, sharpness=4.0, nlat=32):
    return Density.from_function(
        Sphere(nlat), lambda x: np.exp(sharpness * (x @ np.asarray(center)))
    )


def linear_program(a, b, order):
    angles = np.arccos(np.clip(a.points @ b.points.T, -1, 1))
    return ot.emd2(a.masses, b.masses, angles**order) ** (1 / order)


# --- weighted points ------------------------------------------------------------


@ORDERS
@pytest.mark.parametrize("point", [NORTH, AXIS])
@pytest.mark.parametrize(
    ("support", "within"), [(None, 2e-5), (100, 3e-3), (120, 3e-3)]
)
def test_uniform_to_an_atom_within_the_reported_bound(order, point, *, support, within):
    assert UNIFORM_TO_ATOM[2] == pytest.approx(1.713126, abs=1e-6)
    report = wasserstein_report(
        uniform(Sphere(32)), Atoms([point]), order=order, support=support
    )
    error = abs(report.value - UNIFORM_TO_ATOM[order])
    assert error <= report.error_bound < (0.04 if support is None else 0.2)
    # Parts of a uniform density are halved along the axes of coordinates.
    assert error < within
    most = 2048 if support is None else support
    assert 0.9 * most <= report.support_sizes[0] <= most


@ORDERS
@pytest.mark.parametrize("angle", [1e-9, 0.3, np.pi - 1e-9, np.pi])
@pytest.mark.parametrize("dimension", [3, 8])
def test_two_atoms_are_as_far_apart_as_their_points(order, angle, dimension):
    points = np.zeros((2, dimension))
    points[0, 0], points[1, :2] = 1.0, [np.cos(angle), np.sin(angle)]
    a, b = (Atoms(p[np.newaxis]) for p in points)
    assert wasserstein(a, b, order=order) == pytest.approx(angle, rel=1e-6)


@ORDERS
@pytest.mark.parametrize("dimension", [3, 5])
def test_atoms_agree_with_the_linear_program(order, dimension):
    a, b = random_atoms(40, dimension, 1), random_atoms(60, dimension, 2)
    report = wasserstein_report(a, b, order=order)
    assert report.value == pytest.approx(linear_program(a, b, order), abs=1e-9)
    assert report.method == "network simplex"
    assert report.support_sizes == (40, 60)
    assert report.error_bound < 1e-11


@ORDERS
@pytest.mark.parametrize("dimension", [3, 6])
def test_rotation_of_both_changes_nothing(order, dimension):
    a, b = random_atoms(50, dimension, 3), random_atoms(30, dimension, 4)
    rotation = special_ortho_group(dimension, seed=5).rvs()
    turned = [Atoms(m.points @ rotation, m.masses) for m in (a, b)]
    distance = wasserstein(a, b, order=order)
    assert wasserstein(*turned, order=order) == pytest.approx(distance, abs=1e-10)


@ORDERS
@pytest.mark.parametrize("support", [None, 50])
def test_identical_measures_are_at_distance_zero(order, support):
    both = Measure(Density(Sphere(32), 0.7 * cap(AXIS).values), Atoms([AXIS], [0.3]))
    for measure in (cap(AXIS), both, random_atoms(80, 3, 0)):
        distance = wasserstein(measure, measure, order=order, support=support)
        assert distance <= (1e-14 if order == 1 else 1e-7)


@ORDERS
def test_the_bound_holds_against_finer_coarsening(order):
    a, b = cap(AXIS, 8.0), cap([0.0, 0.6, -0.8], 2.0)
    finest = wasserstein(a, b, order=order, support=1000)
    bounds = []
    for support in (30, 100, 300):
        report = wasserstein_report(a, b, order=order, support=support)
        assert abs(report.value - finest) <= report.error_bound
        assert max(report.support_sizes) <= support
        bounds.append(report.error_bound)
    assert (np.diff(bounds) < 0).all()


@ORDERS
@pytest.mark.parametrize("dimension", [3, 5])
def test_the_bound_of_coarsened_atoms_holds_against_the_linear_program(
    order, dimension
):
    a, b = random_atoms(300, dimension, 6), random_atoms(200, dimension, 7)
    report = wasserstein_report(a, b, order=order, support=40)
    exact = linear_program(a, b, order)
    assert abs(report.value - exact) <= report.error_bound < 0.5 * (dimension - 1)
    assert max(report.support_sizes) <= 40


# --- zonal measures -------------------------------------------------------------


@ORDERS
def test_zonal_uniform_to_the_pole(order):
    errors = []
    for cells in (50, 100):
        pole = Atoms([NORTH])
        report = wasserstein_report(uniform(Zonal(3, cells)), pole, order=order)
        assert report.method == "polar angle"
        errors.append(abs(report.value - UNIFORM_TO_ATOM[order]))
    assert errors[1] < 1e-4
    assert errors[1] < errors[0] / 3.5 or errors[1] < 1e-12


@ORDERS
def test_zonal_distance_is_that_of_the_sphere(order):
    def density(geometry, sharpness):
        return Density.from_function(geometry, lambda x: np.exp(sharpness * x[..., -1]))

    zonal = wasserstein(*(density(Zonal(3, 64), k) for k in (3.0, -1.0)), order=order)
    sphere = wasserstein_report(
        *(density(Sphere(32), k) for k in (3.0, -1.0)), order=order, support=300
    )
    assert abs(sphere.value - zonal) <= sphere.error_bound
    assert sphere.value == pytest.approx(zonal, abs=0.01)


@ORDERS
@pytest.mark.parametrize("dimension", [3, 64, 1000])
def test_rings_and_shifted_bands_of_any_dimension(order, dimension):
    zonal = Zonal(dimension, 200)
    empty = np.zeros(200)
    rings = [
        Measure(Density(zonal, empty), Atoms(zonal.points_at(np.array([x]))))
        for x in (0.4, 2.9)
    ]
    assert wasserstein(*rings, order=order) == pytest.approx(2.5, rel=1e-12)
    masses = np.zeros((2, 200))
    masses[0, 40:60] = masses[1, 70:90] = 0.05
    bands = [Density(zonal, m / zonal.areas) for m in masses]
    shift = 30 * zonal.spacing
    assert wasserstein(*bands, order=order) == pytest.approx(shift, rel=1e-12)
    assert wasserstein(bands[0], bands[0], order=order) < 1e-7


def test_zonal_quantiles_are_near_the_zonal_density():
    """By exact transport to the quantised points of a finer quantisation."""
    density = Density.from_function(Zonal(5, 64), lambda x: np.exp(2 * x[..., -1]))
    few, many = quantized(density, 300), quantized(density, 600)
    polar = [
        Measure(
            Density(density.geometry, np.zeros(64)),
            Atoms(m.points, m.masses),
        )
        for m in (few, many)
    ]
    assert wasserstein(polar[0], density) < 0.01
    assert wasserstein(*polar) <= wasserstein(few, many) + 1e-12


# --- errors ---------------------------------------------------------------------


def test_errors_name_the_values_and_the_way_out():
    even, atom = uniform(Sphere(32)), Atoms([NORTH])
    with pytest.raises(ValueError, match="support = 1 must be a whole number"):
        wasserstein(even, atom, support=1)
    with pytest.raises(ValueError, match=r"a is no zonal measure.*quantized"):
        wasserstein(even, uniform(Zonal(3, 32)))
    with pytest.raises(ValueError, match=r"b is no zonal measure.*quantized"):
        wasserstein(uniform(Zonal(3, 32)), Atoms([AXIS]))
    many = random_atoms(2001, 5, 0)
    with pytest.raises(
        ValueError, match=r"2001 x 2001 atoms in dimension d = 5.*support"
    ):
        wasserstein(many, many)


def test_importing_the_package_imports_neither_shtns_nor_pot():
    code = "import sys, mfpde; print({'shtns', 'ot'} & set(sys.modules))"
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "set()"
