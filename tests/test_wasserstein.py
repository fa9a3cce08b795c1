"""Distances between measures, of any dimension: linear programs, exact values, bounds."""

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_points import random_atoms

from mfpde import (
    Atoms,
    Circle,
    Density,
    Measure,
    Sphere,
    Zonal,
    uniform,
    wasserstein,
    wasserstein_report,
)
from mfpde.measures.distributions import TURN, AngularDistribution
from validation.circle_cases import points_at

LAWS = settings(deadline=None, max_examples=50)
ORDERS = pytest.mark.parametrize("order", [1, 2])
CELLS = 24
NORTH = np.array([0.0, 0.0, 1.0])
AXIS = np.array([0.6, 0.0, 0.8])
# Uniform to one atom on S^2; W2^2 is the mean of theta^2, (pi^2 - 4) / 2.
UNIFORM_TO_ATOM = {1: np.pi / 2, 2: np.sqrt((np.pi**2 - 4) / 2)}


def random_density(generator, cells=CELLS):
    values = np.where(generator.random(cells) < 0.5, 0.0, generator.random(cells))
    values[generator.integers(cells)] = 1.0
    return Density(Circle(cells), values).normalized()


def split_cells(density, parts):
    """Replace each cell by ``parts`` equal atoms at the midpoints of its parts."""
    fine = Circle(parts * density.geometry.num_cells)
    masses = np.repeat(density.masses / parts, parts)
    return Atoms(fine.points[masses > 0], masses[masses > 0])


def cap(center, sharpness=4.0):
    return Density.from_function(
        Sphere(32), lambda x: np.exp(sharpness * (x @ np.asarray(center)))
    )


def linear_program(a, b, order):
    """Exact transport of atoms for the cost (arc length)^order."""
    chords = np.linalg.norm(a.points[:, np.newaxis] - b.points, axis=-1)
    arcs = 2 * np.arcsin(np.minimum(chords / 2, 1))
    return ot.emd2(a.masses, b.masses, arcs**order) ** (1 / order)


# --- the circle -----------------------------------------------------------------


@pytest.mark.parametrize("angle", [0.0, 0.3, np.pi, 6.2])
@pytest.mark.parametrize("cells", [16, 33, 500])
def test_uniform_to_an_atom(angle, cells):
    even, atom = uniform(Circle(cells)), Atoms(points_at(np.array([angle])))
    for order, exact in ((1, np.pi / 2), (2, np.pi / np.sqrt(3))):
        report = wasserstein_report(even, atom, order=order)
        assert report.value == pytest.approx(exact, rel=1e-13)
        assert (report.method, report.order) == ("circle", order)
        assert report.error_bound <= 1e-7


@ORDERS
@pytest.mark.parametrize(
    ("first", "second"), [(0, 1), (0.1, 6.2), (1, 1 + np.pi), (4, 2), (3, 3)]
)
def test_two_atoms_are_as_far_apart_as_their_angles(first, second, order):
    a, b = (Atoms(points_at(np.array([float(x)]))) for x in (first, second))
    arc = np.arccos(np.cos(first - second))
    assert wasserstein(a, b, order=order) == pytest.approx(arc, rel=1e-7, abs=1e-14)


@ORDERS
@given(seed=st.integers(0, 10**6), counts=st.tuples(*[st.integers(1, 7)] * 2))
@LAWS
def test_atoms_agree_with_the_linear_program(order, seed, counts):
    generator = np.random.default_rng(seed)
    a, b = (random_atoms(count, 2, generator) for count in counts)
    distance = wasserstein(a, b, order=order)
    # The root of a rounding error is large.
    exact = linear_program(a, b, order) ** order
    assert distance**order == pytest.approx(exact, abs=1e-12)


@ORDERS
def test_densities_agree_with_the_linear_program_of_their_parts(order):
    parts, slack = 8, TURN / CELLS / 8
    for seed in range(4):
        generator = np.random.default_rng(seed)
        density, other = random_density(generator), random_density(generator, 17)
        atoms = random_atoms(5, 2, generator)
        fine, other_fine = split_cells(density, parts), split_cells(other, parts)
        assert wasserstein(density, atoms, order=order) == pytest.approx(
            linear_program(fine, atoms, order), abs=slack / np.sqrt(3)
        )
        assert wasserstein(density, other, order=order) == pytest.approx(
            linear_program(fine, other_fine, order), abs=2 * slack / np.sqrt(3)
        )
        both = Measure(
            Density(density.geometry, 0.4 * density.values),
            Atoms(atoms.points, 0.6 * atoms.masses),
        )
        assert wasserstein(both, both, order=order) < 1e-7


# --- weighted points of any dimension ---------------------------------------------


@ORDERS
@pytest.mark.parametrize("point", [NORTH, AXIS])
@pytest.mark.parametrize(("support", "within"), [(None, 2e-5), (100, 3e-3)])
def test_uniform_to_an_atom_within_the_reported_bound(order, point, *, support, within):
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
def test_many_atoms_agree_with_the_linear_program_within_the_bound(order, dimension):
    a, b = random_atoms(300, dimension, 6), random_atoms(200, dimension, 7)
    exact, report = linear_program(a, b, order), wasserstein_report(a, b, order=order)
    assert report.value == pytest.approx(exact, abs=1e-9)
    assert report.method == "network simplex"
    assert report.support_sizes == (300, 200)
    assert report.error_bound < 1e-11
    coarse = wasserstein_report(a, b, order=order, support=40)
    assert abs(coarse.value - exact) <= coarse.error_bound < 0.5 * (dimension - 1)
    assert max(coarse.support_sizes) <= 40


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
def test_mass_that_stays_and_a_common_factor_change_nothing(order):
    a, b = cap(AXIS), cap(NORTH)
    light, heavy = (
        [Density(m.geometry, factor * m.values) for m in (a, b)] for factor in (1e-9, 3)
    )
    moved = [
        wasserstein(*pair, order=order, support=50) for pair in ((a, b), light, heavy)
    ]
    assert moved[1:] == pytest.approx([moved[0]] * 2, rel=1e-9)
    rest = wasserstein_report(heavy[0], heavy[0], order=order, support=50)
    assert rest.value <= (1e-14 if order == 1 else 1e-7)


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


# --- cumulative distributions on the circle ----------------------------------------


@st.composite
def distributions(draw):
    """A density with empty cells, atoms, or both."""
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    count = draw(st.integers(1, 6))
    atoms = Atoms(
        points_at(TURN * generator.random(count)), generator.uniform(0.01, 1, count)
    )
    cells = draw(st.integers(16, 40))
    empty = generator.random(cells) < draw(st.sampled_from([0.0, 0.5, 0.9]))
    values = np.where(empty, 0.0, generator.random(cells))
    values[generator.integers(cells)] = 1.0
    density = Density(Circle(cells), values)
    kinds = [density, atoms, Measure(density, atoms)]
    return AngularDistribution.of(draw(st.sampled_from(kinds)))


def test_cdf_at_faces_sums_the_cells_and_is_linear_between():
    circle = Circle(20)
    density = Density(circle, np.arange(1.0, 21.0))
    distribution = AngularDistribution.of(density)
    cumulated = np.cumsum(density.masses)
    inner = cumulated[:-1]
    np.testing.assert_allclose(distribution.cdf(circle.face_angles[:-1]), inner)
    np.testing.assert_allclose(
        distribution.cdf(circle.angles), cumulated - density.masses / 2
    )
    assert distribution.total_mass == pytest.approx(density.total_mass, rel=1e-14)


def test_cdf_jumps_by_the_atom_masses_and_is_continuous_from_the_right():
    angles, masses = np.array([0.0, 1.0, 5.0]), np.array([0.2, 0.3, 0.5])
    both = Measure(uniform(Circle(16)), Atoms(points_at(angles), masses))
    distribution = AngularDistribution.of(both)
    places = distribution.angles[np.searchsorted(distribution.angles, angles - 1e-9)]
    jumps = distribution.cdf(places) - distribution.cdf(places - 1e-14)
    np.testing.assert_allclose(jumps, masses, rtol=1e-13)
    np.testing.assert_allclose(
        distribution.cdf(places + 1e-12), distribution.cdf(places), atol=1e-11
    )


def test_atoms_just_below_angle_zero_stay_on_the_circle():
    atoms = Atoms(np.array([[1.0, -1e-17], [1.0, 0.0]]))
    distribution = AngularDistribution.of(atoms)
    assert distribution.angles.tolist() == [0.0, 0.0, TURN]
    assert distribution.cdf(0.0) == 1.0


@LAWS
@given(distributions(), st.integers(-3000, 3000))
def test_quantile_is_the_generalised_inverse(distribution, thousandths):
    total = distribution.total_mass
    level = (thousandths + 0.5) / 1000 * total  # off the jumps at whole turns
    angle = distribution.quantile(level)
    slack = 1e-12 * total
    assert distribution.cdf(angle + 1e-13) >= level - slack
    assert distribution.cdf(angle - 1e-13) <= level + slack
    assert distribution.quantile(level + total) == pytest.approx(angle + TURN, abs=1e-9)


@LAWS
@given(distributions(), st.floats(0, TURN), st.floats(0, 3.1))
def test_ball_and_complement_make_the_whole(distribution, centre, radius):
    ball = distribution.ball_mass(centre, radius)
    opposite = distribution.ball_mass(centre + np.pi, np.pi - radius)
    ends = np.array([centre - radius, centre + radius])
    on_ends = distribution.ball_mass(ends, 0.0)
    total = distribution.total_mass
    assert ball + opposite >= total * (1 - 1e-12)
    assert ball + opposite <= (total + on_ends.sum()) * (1 + 1e-12)


def test_ball_of_the_uniform_density_has_mass_radius_over_pi():
    distribution = AngularDistribution.of(uniform(Circle(64)))
    centres = np.linspace(-9, 9, 100)
    for radius in (0.01, 1.0, 3.1):
        np.testing.assert_allclose(
            distribution.ball_mass(centres, radius), radius / np.pi, rtol=1e-11
        )
        assert distribution.largest_ball_mass(radius) == pytest.approx(radius / np.pi)


@LAWS
@given(distributions(), st.floats(0, 3))
def test_largest_ball_bounds_every_ball_and_grows_with_the_radius(distribution, radius):
    centres = np.linspace(0, TURN, 2000)
    largest = distribution.largest_ball_mass(radius)
    slack = 1e-12 * distribution.total_mass
    assert distribution.ball_mass(centres, radius).max() <= largest + slack
    assert largest <= distribution.largest_ball_mass(radius + 0.1) + slack
    assert largest <= distribution.ball_mass(centres, radius + 0.01).max() + slack


def test_errors_name_the_value_and_the_way_out():
    empty = AngularDistribution.of(Atoms.none(2))
    assert empty.cdf(1.0) == 0.0
    with pytest.raises(ValueError, match="total mass = 0 must be above 0"):
        empty.quantile(0.5)
    with pytest.raises(ValueError, match="total mass = 0 must be above 0"):
        empty.normalized()
    with pytest.raises(ValueError, match=r"radius = -1.0 must be .* at least 0"):
        empty.ball_mass(0.0, -1.0)
