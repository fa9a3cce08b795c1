"""Convergence studies: orders, digits that hold, and those that do not."""

import numpy as np
import pytest
from equations import ascent, descent
from random_points import atoms_alone, atoms_at

import mfpde
from mfpde import Circle, Density, Perceptron, Sphere
from mfpde.studies import Converging
from mfpde.studies.study import find_final_atoms, start_on
from validation.circle_cases import angles_of, points_at

ASCENT = ascent(6.0)


def two_waves(points, phase=0.4):
    """Return a smooth density that collapses to two clusters."""
    angles = angles_of(points)
    return 1 + 0.6 * np.cos(2 * angles + phase) + 0.15 * np.sin(angles)


@pytest.fixture(scope="module")
def studies():
    """Return studies of three starts that lie differently on the grid."""
    return [
        mfpde.convergence_to_atoms(
            ASCENT,
            lambda points, phase=phase: two_waves(points, phase),
            cells=[128, 256, 512],
            particles=2048,
            t_end=20.0,
        )
        for phase in (0.4, 1.1, 2.3)
    ]


@pytest.fixture(scope="module")
def study(studies):
    return studies[0]


def total_error(studies, errors):
    """Root mean square over all atoms of their positions' errors, on each grid."""
    positions = [q for study in studies for q in study.of_kind("position")]
    return np.sqrt(np.mean([errors(q) ** 2 for q in positions], axis=0))


def test_positions_of_exact_atoms_converge_with_order_above_one_and_a_half(studies):
    # When an atom is born depends on the grid: single atoms converge irregularly.
    errors = total_error(studies, lambda q: q.errors_to("particles"))
    assert all(len(study.of_kind("position")) == 2 for study in studies)
    assert np.log2(errors[0] / errors[-1]) / 2 >= 1.5
    assert (np.diff(errors) < 0).all()
    assert errors[-1] <= 5e-5


@pytest.mark.parametrize("number", range(3))
def test_what_is_said_to_hold_holds(studies, number):
    study = studies[number]
    assert study.converged
    for quantity in (*study.of_kind("position"), *study.of_kind("mass")):
        assert quantity.digits >= 3
        assert quantity.error < 10.0**-quantity.digits
        # A basin's edge lies somewhere between two of 2048 labels.
        unknown = 1 / 2048 if quantity.kind == "mass" else 0.0
        assert quantity.errors_to("particles")[-1] <= quantity.error + unknown


def test_a_study_is_printed_and_drawn(study):
    text = str(study)
    assert "position of atom 2" in text
    assert "converged to" in text
    assert "particles: 2048 (labels)" in text
    masses = [quantity.values[-1] for quantity in study.of_kind("mass")]
    assert sum(masses) == pytest.approx(1.0, abs=1e-9)
    figure = mfpde.plot_convergence(study)
    assert [ax.get_ylabel() for ax in figure.axes] == [
        "change of position / rad",
        "change of mass of basin",
        "change of mass in core",
    ]
    drawn = figure.axes[0].lines[0].get_ydata()
    np.testing.assert_array_equal(drawn, study.of_kind("position")[0].differences)


def test_an_under_resolved_case_is_not_converged():
    equation = descent(25.0, Perceptron([[1.0, 0.0]], [0.5]))
    study = mfpde.convergence_to_atoms(
        equation, two_waves, cells=[72, 128, 256], t_end=60.0, particles=0
    )
    assert not study.converged
    assert "NOT converged" in str(study)
    assert "the grid is coarse" in str(study)


def test_the_merge_time_of_two_bumps_is_that_of_two_points_but_for_their_width():
    pair, equation = atoms_at([1.0, 2.1]), ascent(10.0)

    def bumps(points):
        return np.exp(100 * (points @ pair.points.T - 1)).sum(axis=-1)

    study = mfpde.convergence_to_atoms(
        equation, bumps, cells=[256, 512, 1024], t_end=80.0, particles=0, rtol=1e-4
    )
    (merge,) = study.of_kind("merge time")
    assert merge.converged
    alone = atoms_alone(Circle(64), pair)
    points = mfpde.solve(equation, alone, t_end=80.0, atoms="exact")
    # Bumps of width 0.1 merge a little earlier: exp(-beta (1 - cos d)) is convex there.
    earlier = 1 - merge.values[-1] / points.events[0].time
    assert 0 < earlier < 10 * 0.1**2
    # Equal by symmetry: the atom ends where both have the same way to go.
    (place,) = study.of_kind("position")
    assert abs(angles_of(place.values[-1]) - 1.55) <= 1e-3


def test_a_pair_on_the_sphere():
    start = mfpde.bumps(
        Sphere(64),
        centres=[[1.2, 0.3], [1.9, 2.0]],
        widths=[0.35, 0.35],
        masses=[0.6, 0.4],
    )
    grids = [Sphere(32), Sphere(48), Sphere(64)]
    study = mfpde.convergence_to_atoms(
        ascent(4.0), start, cells=grids, t_end=12.0, particles=0, rtol=1e-4
    )
    assert len(study.of_kind("position")) == 2
    # No order shows: the hand-off places atoms to such a share of a cell on any grid.
    assert (
        total_error([study], lambda q: q.differences)
        <= 0.02 * study.quantities[0].spacings[:-1]
    ).all()
    assert study.converged


def test_atoms_about_to_merge_are_kept_apart():
    pair = atoms_alone(Circle(256), atoms_at([1.0, 1.2], [0.6, 0.4]))
    found = find_final_atoms(pair, ASCENT, 1e-2)
    np.testing.assert_allclose(found["position"], points_at([1.0, 1.2]), atol=1e-14)


@pytest.mark.parametrize("order", [0.7, 1.0, 2.0, 3.0])
def test_the_estimated_error_bounds_that_of_a_power_law(order):
    spacings = 0.1 / 2.0 ** np.arange(4)
    values = 1.0 + 0.3 * spacings**order
    found = Converging("mass of atom 1", "mass", values, spacings)
    np.testing.assert_allclose(found.orders, order, rtol=1e-6)
    assert abs(values[-1] - 1.0) <= found.error <= 30 * abs(values[-1] - 1.0)
    assert found.digits == int(np.floor(-np.log10(found.error)))


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([0.5, 0.4], "fewer than 3"),
        ([0.5, np.nan, 0.4], "not there"),
        ([0.5, 0.4, 0.3], "do not fall"),
        ([0.1, 0.5, 0.4], "too large"),
    ],
)
def test_what_has_not_converged_is_said_so(values, why):
    spacings = 0.1 / 2.0 ** np.arange(len(values))
    found = Converging("mass of atom 1", "mass", np.array(values), spacings)
    assert not found.converged
    assert why in found.verdict


def test_a_last_difference_that_is_small_by_accident_is_not_believed():
    spacings = np.array([0.4, 0.2, 0.1])
    values = np.array([1.0, 1.01, 1.01 + 1e-9])
    found = Converging("mass of atom 1", "mass", values, spacings)
    assert found.error >= 0.01 / 16 / 3


@pytest.mark.parametrize("cells", [128, 512])
def test_a_density_is_taken_to_any_grid(cells):
    start = Density.from_function(Circle(256), two_waves)
    wanted = Density.from_function(Circle(cells), two_waves)
    np.testing.assert_allclose(
        start_on(start, Circle(cells)).values, wanted.values, rtol=1e-10
    )


@pytest.mark.parametrize(
    ("fine", "coarse"), [(Circle(512), Circle(64)), (Sphere(96), Sphere(32))]
)
def test_a_rough_density_is_smoothed_on_a_coarser_grid(fine, coarse):
    start = Density.from_function(fine, lambda x: (x[..., 0] > 0.3) + 0.0)
    found = start_on(start, coarse)
    assert found.total_mass == pytest.approx(1.0)
    means = [d.geometry.moments(d.masses, 1) for d in (start, found)]
    np.testing.assert_allclose(means[1], means[0], atol=0.03)
