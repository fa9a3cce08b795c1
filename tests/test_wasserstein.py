"""Distances between measures, of any dimension: linear programs, exact values, bounds."""

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_points import atoms_alone, atoms_at, random_atoms

import mfpde
from mfpde import Atoms, Circle, Density, uniform, wasserstein, wasserstein_report
from mfpde.detection import largest_ball_mass
from validation.circle_cases import angles_of, points_at, wrapped

TURN = 2 * np.pi
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
        mfpde.Sphere(32), lambda x: np.exp(sharpness * (x @ center))
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
    even, atom = uniform(Circle(cells)), atoms_at([angle])
    for order, exact in ((1, np.pi / 2), (2, np.pi / np.sqrt(3))):
        report = wasserstein_report(even, atom, order=order)
        assert report.value == pytest.approx(exact, rel=1e-13)
        assert (report.method, report.order) == ("circle", order)
        assert report.error_bound <= 1e-7


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
        both = mfpde.Measure(
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
        uniform(mfpde.Sphere(32)), Atoms([point]), order=order, support=support
    )
    error = abs(report.value - UNIFORM_TO_ATOM[order])
    assert error <= report.error_bound < (0.04 if support is None else 0.2)
    # Parts of a uniform density are halved along the axes of coordinates.
    assert error < within
    most = 2048 if support is None else support
    assert 0.9 * most <= report.support_sizes[0] <= most


@ORDERS
@pytest.mark.parametrize(
    ("first", "second"),
    [
        *[(0, 1), (0.1, 6.2), (1, 1 + np.pi), (4, 2), (3, 3), (0, -1e-17)],
        *[(0, 1e-9), (0, np.pi - 1e-9), (0, np.pi)],
    ],
)
@pytest.mark.parametrize("dimension", [2, 3, 8])
def test_two_atoms_are_as_far_apart_as_their_points(order, first, second, *, dimension):
    a, b = (Atoms(points_at([x]) @ np.eye(2, dimension)) for x in (first, second))
    arc = abs(wrapped(first - second))
    tolerance = 1e-7 if dimension == 2 else 1e-6
    found = wasserstein(a, b, order=order)
    assert found == pytest.approx(arc, rel=tolerance, abs=1e-14)


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


@ORDERS
def test_zonal_uniform_to_the_pole(order):
    errors = []
    for cells in (50, 100):
        pole = Atoms([NORTH])
        report = wasserstein_report(uniform(mfpde.Zonal(3, cells)), pole, order=order)
        assert report.method == "polar angle"
        errors.append(abs(report.value - UNIFORM_TO_ATOM[order]))
    assert errors[1] < 1e-4
    assert errors[1] < errors[0] / 3.5 or errors[1] < 1e-12


@ORDERS
@pytest.mark.parametrize("dimension", [3, 64, 1000])
def test_rings_and_shifted_bands_of_any_dimension(order, dimension):
    zonal = mfpde.Zonal(dimension, 200)
    rings = [
        atoms_alone(zonal, Atoms(zonal.points_at(np.array([x])))) for x in (0.4, 2.9)
    ]
    assert wasserstein(*rings, order=order) == pytest.approx(2.5, rel=1e-12)
    masses = np.zeros((2, 200))
    masses[0, 40:60] = masses[1, 70:90] = 0.05
    bands = [Density(zonal, m / zonal.areas) for m in masses]
    shift = 30 * zonal.spacing
    assert wasserstein(*bands, order=order) == pytest.approx(shift, rel=1e-12)


@st.composite
def measures(draw):
    """A density with empty cells, atoms, or both."""
    generator = np.random.default_rng(draw(st.integers(0, 10**6)))
    circle = Circle(draw(st.integers(16, 40)))
    empty = generator.random(circle.shape) < draw(st.sampled_from([0.0, 0.5, 0.9, 1.0]))
    values = np.where(empty, 0.0, generator.random(circle.shape))
    places = TURN * generator.random(draw(st.integers(1, 6)))
    atoms = atoms_at(places, generator.uniform(0.01, 1, len(places)))
    return mfpde.Measure(Density(circle, values), atoms)


def cumulated(measure, angles):
    """Mass between 0 and angles, which may go around: of cells their shares, of atoms all."""
    circle = measure.geometry
    turns, rest = np.divmod(angles, TURN)
    lower = np.arange(circle.num_cells) * circle.spacing
    shares = np.clip((rest[:, np.newaxis] - lower) / circle.spacing, 0, 1)
    is_below = np.mod(angles_of(measure.atoms.points), TURN) <= rest[:, np.newaxis]
    held = shares @ measure.density.masses + is_below @ measure.atoms.masses
    return turns * measure.total_mass + held


@LAWS
@given(measures(), st.integers(1, 60), st.floats(0, 3))
def test_quantiles_and_balls_are_those_of_the_cumulated_mass(measure, count, radius):
    total, slack = measure.total_mass, 1e-12 * measure.total_mass
    levels = total * (np.arange(count) + 0.5) / count
    angles = np.sort(np.mod(angles_of(mfpde.quantized(measure, count).points), TURN))
    assert (cumulated(measure, angles + 1e-9) >= levels - slack).all()
    assert (cumulated(measure, angles - 1e-9) <= levels + slack).all()

    # Densities are interpolated within their cells.
    bare = atoms_alone(Circle(16), measure.atoms)

    def most(reach):
        centres = np.linspace(0, TURN, 2000)
        held = cumulated(bare, centres + reach) - cumulated(bare, centres - reach)
        return held.max()

    largest = largest_ball_mass(bare, radius)
    assert most(radius) <= largest * (1 + 1e-12)
    assert largest <= most(radius + 0.01) * (1 + 1e-12)


def test_balls_are_closed_and_of_the_uniform_density_shares():
    for radius in (0.01, 1.0, 3.1):
        mass = largest_ball_mass(mfpde.Measure(uniform(Circle(64))), radius)
        assert mass == pytest.approx(radius / np.pi, rel=1e-11)
    for first in np.linspace(0, 6, 20):
        pair = atoms_alone(Circle(16), atoms_at([first, first + 1.0], [0.3, 0.7]))
        assert largest_ball_mass(pair, 0.5) == pytest.approx(1.0)
