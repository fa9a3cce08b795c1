"""Laws of cumulative distributions on the circle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfpde.geometry import Circle
from mfpde.geometry.circle import points_at
from mfpde.measures.distributions import TURN, AngularDistribution
from mfpde.measures.measure import Atoms, Density, Measure, uniform

LAWS = settings(deadline=None, max_examples=50)


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


def test_quantiles_of_a_smooth_density_are_of_second_order():
    levels = np.linspace(0, 1, 1001)[1:-1]

    def error(cells):
        circle = Circle(cells)
        density = Density(circle, (1 + 0.8 * np.cos(circle.angles - 1)) / TURN)
        x = AngularDistribution.of(density).quantile(levels)
        exact = (x + 0.8 * (np.sin(x - 1) + np.sin(1))) / TURN
        return np.abs(exact - levels).max()

    errors = np.array([error(cells) for cells in (64, 128, 256, 512)])
    np.testing.assert_allclose(np.log2(errors[:-1] / errors[1:]), 2.0, atol=0.1)


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
