"""Laws of the Wasserstein distance on the circle, and independent methods."""

import numpy as np
import ot
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mfpde.geometry import Circle
from mfpde.geometry.circle import angles_of, points_at
from mfpde.measures.distributions import TURN
from mfpde.measures.measure import Atoms, Density, Measure, uniform
from mfpde.measures.wasserstein import (
    wasserstein,
    wasserstein_report,
)

LAWS = settings(deadline=None, max_examples=50)
ORDERS = pytest.mark.parametrize("order", [1, 2])
CELLS = 24

seeds = st.integers(0, 10**6)
kinds = st.sampled_from(["density", "atoms", "both"])


def random_atoms(generator):
    count = generator.integers(1, 7)
    masses = generator.uniform(0.05, 1, count)
    return Atoms(points_at(TURN * generator.random(count)), masses / masses.sum())


def random_density(generator, cells=CELLS):
    values = np.where(generator.random(cells) < 0.5, 0.0, generator.random(cells))
    values[generator.integers(cells)] = 1.0
    return Density(Circle(cells), values).normalized()


def random_measure(seed, kind):
    generator = np.random.default_rng(seed)
    atoms, density = random_atoms(generator), random_density(generator)
    if kind == "atoms":
        return atoms
    if kind == "density":
        return density
    share = generator.uniform(0.1, 0.9)
    return Measure(
        Density(density.geometry, share * density.values),
        Atoms(atoms.points, (1 - share) * atoms.masses),
    )


measures = st.builds(random_measure, seeds, kinds)


def rotated(measure, cells):
    """Turn by a whole number of cells of width 2 pi / CELLS."""
    if isinstance(measure, Atoms):
        turn = TURN * cells / CELLS
        return Atoms(points_at(angles_of(measure.points) + turn), measure.masses)
    if isinstance(measure, Density):
        return Density(measure.geometry, np.roll(measure.values, cells))
    return Measure(rotated(measure.density, cells), rotated(measure.atoms, cells))


def discretized(density, parts):
    """Replace each cell by ``parts`` equal atoms at the midpoints of its parts."""
    fine = Circle(parts * density.geometry.num_cells)
    masses = np.repeat(density.masses / parts, parts)
    return Atoms(fine.points[masses > 0], masses[masses > 0])


def linear_program(a, b, order):
    """Exact transport of atoms for the cost (arc length)^order."""
    differences = np.abs(angles_of(a.points)[:, np.newaxis] - angles_of(b.points))
    arcs = np.minimum(differences, TURN - differences)
    return ot.emd2(a.masses, b.masses, arcs**order) ** (1 / order)


def powers_agree(first, second, order):
    """Distances are compared by their powers: the root of a rounding error is large."""
    return first**order == pytest.approx(second**order, abs=1e-12)


@pytest.mark.parametrize("angle", [0.0, 0.3, np.pi, 6.2])
@pytest.mark.parametrize("cells", [16, 33, 500])
def test_uniform_to_an_atom(angle, cells):
    atom = Atoms(points_at(np.array([angle])))
    even = uniform(Circle(cells))
    assert wasserstein(even, atom) == pytest.approx(np.pi / 2, rel=1e-13)
    assert wasserstein(even, atom, order=2) == pytest.approx(
        np.pi / np.sqrt(3), rel=1e-13
    )


@ORDERS
@pytest.mark.parametrize(
    ("first", "second"), [(0, 1), (0.1, 6.2), (1, 1 + np.pi), (4, 2)]
)
def test_two_atoms_are_as_far_apart_as_their_points(first, second, order):
    a, b = (Atoms(points_at(np.array([float(x)]))) for x in (first, second))
    arc = np.arccos(np.cos(first - second))
    assert wasserstein(a, b, order=order) == pytest.approx(arc, rel=1e-7)


@ORDERS
@given(measures)
@LAWS
def test_identical_measures_are_at_distance_zero(order, measure):
    assert wasserstein(measure, measure, order=order) <= (1e-14 if order == 1 else 1e-7)


@ORDERS
@given(a=measures, b=measures, cells=st.integers(1, CELLS - 1))
@LAWS
def test_rotation_of_both_changes_nothing(order, *, a, b, cells):
    assert powers_agree(
        wasserstein(rotated(a, cells), rotated(b, cells), order=order),
        wasserstein(a, b, order=order),
        order,
    )


@ORDERS
@given(a=measures, b=measures, c=measures)
@LAWS
def test_triangle_inequality(order, *, a, b, c):
    direct = wasserstein(a, c, order=order)
    detour = wasserstein(a, b, order=order) + wasserstein(b, c, order=order)
    assert direct <= detour + 1e-7


@ORDERS
@given(seeds, seeds)
@LAWS
def test_atoms_agree_with_the_linear_program(order, seed, other):
    a, b = (random_atoms(np.random.default_rng(s)) for s in (seed, other))
    distance = wasserstein(a, b, order=order)
    assert powers_agree(distance, linear_program(a, b, order), order)
    positions = [angles_of(m.points) / TURN for m in (a, b)]
    power = ot.wasserstein_circle(*positions, a.masses, b.masses, p=order)[0]
    # The circular solver of POT stops its bisection at 1e-6.
    assert distance == pytest.approx(TURN * power ** (1 / order), abs=1e-5)


@ORDERS
def test_densities_agree_with_the_linear_program_of_their_parts(order):
    parts, slack = 8, TURN / CELLS / 8
    for seed in range(4):
        generator = np.random.default_rng(seed)
        density, other = random_density(generator), random_density(generator, 17)
        atoms = random_atoms(generator)
        fine, other_fine = discretized(density, parts), discretized(other, parts)
        assert wasserstein(density, atoms, order=order) == pytest.approx(
            linear_program(fine, atoms, order), abs=slack / np.sqrt(3)
        )
        assert wasserstein(density, other, order=order) == pytest.approx(
            linear_program(fine, other_fine, order), abs=2 * slack / np.sqrt(3)
        )


@ORDERS
def test_fine_atoms_reach_a_density_at_the_exact_distance(order):
    density = uniform(Circle(CELLS))
    for parts in (1, 4, 64):
        width = TURN / CELLS / parts
        exact = width / 4 if order == 1 else width / np.sqrt(12)
        distance = wasserstein(density, discretized(density, parts), order=order)
        assert distance == pytest.approx(exact, rel=1e-6)


@ORDERS
def test_common_mass_factor_changes_nothing(order):
    a, b = (random_density(np.random.default_rng(seed)) for seed in (1, 2))
    tripled = [Density(m.geometry, 3 * m.values) for m in (a, b)]
    assert powers_agree(
        wasserstein(*tripled, order=order), wasserstein(a, b, order=order), order
    )


def test_errors_name_the_values_and_the_way_out():
    even, atoms = uniform(Circle(16)), Atoms(points_at(np.array([1.0])))
    half = Atoms(atoms.points, [0.5])
    with pytest.raises(ValueError, match="order = 3 must be 1 or 2"):
        wasserstein(even, atoms, order=3)
    with pytest.raises(ValueError, match="a lives in dimension d = 2 and b in d = 3"):
        wasserstein(even, Atoms(np.eye(3)))
    with pytest.raises(ValueError, match=r"a has total mass 1 and b 0.5.*normalise"):
        wasserstein(even, half)
    with pytest.raises(ValueError, match="b has total mass 0"):
        wasserstein(even, Atoms.none(2))
    with pytest.raises(ValueError, match=r"b = \[1.0\] must be a Density, Atoms"):
        wasserstein(even, [1.0])


@ORDERS
def test_the_report_says_that_the_circle_is_exact(order):
    even, atom = uniform(Circle(CELLS)), Atoms(points_at(np.array([1.0])))
    report = wasserstein_report(even, atom, order=order)
    assert (report.method, report.order) == ("circle", order)
    assert report.value == wasserstein(even, atom, order=order)
    assert report.error_bound <= 1e-7
