"""The references that runs are judged against are right themselves."""

from __future__ import annotations

import ast
import dataclasses
import functools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import special_ortho_group

import mfpde
import validation.references
from validation.references import (
    circle_atoms,
    five_clusters,
    ring,
    two_atoms,
    two_bumps,
)

SOLVER = ("mfpde.solver", "mfpde.transport")


def test_no_reference_imports_the_density_solver() -> None:
    for path in Path(validation.references.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [f"{node.module}.{alias.name}" for alias in node.names]
            for name in names:
                parts = name.split(".")
                assert not any(
                    parts[: len(banned)] == banned
                    for banned in (module.split(".") for module in SOLVER)
                ), f"{path.name} imports {name}"


# --- two atoms ----------------------------------------------------------------------


@given(
    beta=st.floats(0.1, 200.0),
    mass=st.floats(0.1, 3.0),
    angles=st.tuples(st.floats(0.2, 3.0), st.floats(0.05, 0.95)),
)
def test_the_merge_time_is_the_integral_of_the_slowness(
    beta: float, mass: float, angles: tuple[float, float]
) -> None:
    start, end = angles[0], angles[0] * angles[1]
    exact = quad(
        lambda x: np.exp(2 * beta * np.sin(x / 2) ** 2) / (mass * np.sin(x)),
        end,
        start,
        epsabs=0,
        epsrel=1e-12,
        limit=300,
    )[0]
    time = two_atoms.merge_time(beta, mass, start_angle=start, end_angle=end)
    assert time == pytest.approx(exact, rel=1e-10)


@given(beta=st.floats(0.1, 50.0), share=st.floats(0.01, 0.99))
def test_softmax_merge_times(beta: float, share: float) -> None:
    """Equal masses follow the closed form, and any others merge sooner."""
    angles = (1.5, 0.2)
    closed = two_atoms.merge_time(beta, start_angle=1.5, end_angle=0.2, softmax=True)
    equal = two_atoms.merge_time_by_quadrature(beta, (0.5, 0.5), angles=angles)
    assert equal == pytest.approx(closed, rel=1e-10)
    other = two_atoms.merge_time_by_quadrature(beta, (share, 1 - share), angles=angles)
    assert other <= closed * (1 + 1e-10)


def test_two_atoms_integrated_take_the_same_time() -> None:
    assert max(two_atoms.main(quick=True).values()) < 1e-10


@pytest.mark.parametrize(
    ("name", "bad"),
    [("beta", 0.0), ("mass", -1.0), ("start_angle", np.pi), ("end_angle", 0.0)],
)
def test_a_bad_merge_time_names_its_argument(name: str, bad: float) -> None:
    arguments = {"beta": 5.0, "mass": 1.0, "start_angle": 1.0, "end_angle": 0.5}
    with pytest.raises(ValueError, match=name):
        two_atoms.merge_time(**{**arguments, name: bad})


# --- five clusters ------------------------------------------------------------------


def test_graded_labels_integrate_the_start() -> None:
    """Mass 1 and exact moments, wherever the panels are refined."""
    angles, masses = five_clusters.graded_labels(np.array([0.1, 1.0, 4.0]), 8)
    assert np.diff(np.sort(angles)).min() >= 0
    assert np.all(masses > 0)
    moments = [masses @ np.exp(-1j * k * angles) for k in (0, 2, 5, 7)]
    expected = [1, 0.05 / 1j, 0.15 * np.exp(0.3j), 0]
    np.testing.assert_allclose(moments, expected, atol=1e-13)


def test_labels_move_by_the_direct_sum(rng: np.random.Generator) -> None:
    angles, masses = rng.uniform(0, 7, 40), rng.uniform(0, 1, 40)
    field = five_clusters.LabelField(masses)
    direct = circle_atoms.atom_velocity(angles, masses, five_clusters.BETA)
    np.testing.assert_allclose(field.velocity(angles), direct, atol=1e-13)
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(five_clusters.BETA), direction="ascent"
    )
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    tangents = np.stack([-np.sin(angles), np.cos(angles)], axis=1)
    vectors = equation.velocity(mfpde.Atoms(points, masses))
    np.testing.assert_allclose((vectors * tangents).sum(1), direct, atol=1e-13)


def test_labels_part_where_the_separatrices_start() -> None:
    """Every label between two separatrices ends between the same two unstable zeros."""
    run = five_clusters.follow(five_clusters.even_labels(300), end=120.0, rtol=1e-8)
    separatrices, zeros = run.separatrices(), np.sort(run.unstable_zeros())
    assert len(zeros) == 5
    starts = np.searchsorted(separatrices, run.path(0.0))
    ends = np.searchsorted(zeros, run.final)
    clear = np.abs(run.path(0.0)[:, None] - separatrices).min(axis=1) > 1e-3
    np.testing.assert_array_equal(starts[clear], ends[clear])
    centres, masses = run.clusters()
    assert masses.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.all((masses > 0.18) & (masses < 0.22))
    assert np.all(np.diff(centres) > 1.0)


def test_the_jacobian_of_atoms_is_the_derivative_of_their_velocity(
    rng: np.random.Generator,
) -> None:
    positions, masses, step = rng.uniform(0, 2, 6), rng.uniform(0, 1, 6), 1e-6
    velocity = functools.partial(circle_atoms.atom_velocity, beta=25.0)
    columns = [
        (velocity(positions + e, masses) - velocity(positions - e, masses)) / (2 * step)
        for e in step * np.eye(6)
    ]
    jacobian = circle_atoms.atom_jacobian(positions, masses, 25.0)
    np.testing.assert_allclose(jacobian, np.transpose(columns), atol=1e-8)


@pytest.mark.parametrize("distance", [0.3, 1.2])
def test_merges_of_two_and_three_atoms_take_the_exact_times(distance: float) -> None:
    """Two atoms of any masses; then three, of which a far one hardly matters.

    At distance 1.2 the time is 5e5, and the pull of the third, opposite the pair's centre,
    e^{-25 (1 - cos 2.54)} against e^{-25 (1 - cos 1.2)}, 1e-13 of theirs.
    """
    masses = np.array([0.3, 0.5])
    exact = two_atoms.merge_time(25.0, 0.8, start_angle=distance, end_angle=1e-3)
    (merge,) = circle_atoms.merges(
        np.array([1.0, 1.0 + distance]), masses, beta=25.0, rtol=1e-10
    )
    assert merge.time == pytest.approx(exact, rel=1e-8)
    assert merge.position == pytest.approx(1.0 + distance * 5 / 8, abs=1e-10)
    opposite = np.pi + 1.0 + distance / 2
    first = circle_atoms.merges(
        np.array([1.0, 1.0 + distance, opposite]),
        np.append(masses, 0.2),
        beta=25.0,
        until=1.1 * exact,
        rtol=1e-8,
    )[0]
    assert first.time == pytest.approx(exact, rel=1e-6)
    assert first.members == ((0,), (1,))


# --- two bumps on the sphere --------------------------------------------------------

TURNED = special_ortho_group(3, seed=5).rvs()
UNEQUAL = two_bumps.TwoBumps(8.0, (0.7, 0.3), 1.2, 0.1)


def test_the_bumps_are_a_probability_with_their_shares() -> None:
    """On a grid of the sphere: mass 1, mean sum_b p_b (coth kappa - 1/kappa) c_b."""
    sphere = mfpde.Sphere(96)
    density = two_bumps.start_density(UNEQUAL, TURNED)(sphere.points)
    masses = density * sphere.areas
    assert masses.sum() == pytest.approx(1.0, abs=1e-10)
    kappa = UNEQUAL.concentration
    expected = (1 / np.tanh(kappa) - 1 / kappa) * np.array(UNEQUAL.shares)
    expected = expected @ UNEQUAL.centres(TURNED)
    mean = np.tensordot(masses, sphere.points, axes=2)
    np.testing.assert_allclose(mean, expected, atol=1e-10)
    points, weights = two_bumps.labels(UNEQUAL, rings=6, around=8, rotation=TURNED)
    np.testing.assert_allclose(weights @ points, expected, atol=1e-8)
    found = two_bumps.two_centres(
        sphere.points.reshape(-1, 3), masses.ravel(), UNEQUAL.centres(TURNED)
    )
    np.testing.assert_allclose(found, UNEQUAL.centres(TURNED), atol=1e-6)


@pytest.mark.parametrize("softmax", [False, True])
def test_bumps_move_as_the_equation_says(softmax: bool) -> None:
    case = dataclasses.replace(UNEQUAL, softmax=softmax)
    points, masses = two_bumps.labels(case, rings=4, around=6)
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(case.beta, normalized=softmax), direction="ascent"
    )
    expected = equation.velocity(mfpde.Atoms(points, masses))
    np.testing.assert_allclose(
        two_bumps.velocity(points, masses, case), expected, atol=1e-12
    )


@pytest.mark.parametrize("softmax", [False, True])
def test_narrow_bumps_merge_as_two_atoms(softmax: bool) -> None:
    """The times differ by O(sigma^2) from the closed form, and not with orientation."""
    errors = []
    for width in (0.04, 0.02):
        case = two_bumps.TwoBumps(8.0, (0.5, 0.5), 1.2, width, softmax=softmax)
        (reached,) = two_bumps.separation_times(
            case, (0.1,), rings=3, around=6, rtol=1e-8
        )
        exact = two_atoms.merge_time(
            8.0, start_angle=1.2, end_angle=0.1, softmax=softmax
        )
        errors.append(abs(reached / exact - 1))
    assert errors[1] < 3e-3
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def test_merge_times_of_bumps_do_not_depend_on_their_orientation() -> None:
    first, second = (
        two_bumps.separation_times(
            UNEQUAL, rings=4, around=6, rotation=rotation, rtol=1e-8
        )
        for rotation in (None, TURNED)
    )
    np.testing.assert_allclose(second, first, rtol=1e-6)
    assert np.all(np.diff(first) > 0)


# --- a ring on the sphere -----------------------------------------------------------


@given(
    theta=st.floats(0.01, 3.1), angle=st.floats(0.01, 3.1), beta=st.floats(0.1, 60.0)
)
def test_the_pull_of_a_ring_is_the_mean_over_its_azimuth(
    theta: float, angle: float, beta: float
) -> None:
    phi = 2 * np.pi * np.arange(128) / 128
    cosines = np.cos(theta) * np.cos(angle) + np.sin(theta) * np.sin(angle) * np.cos(
        phi
    )
    turned = np.cos(theta) * np.sin(angle) * np.cos(phi) - np.sin(theta) * np.cos(angle)
    expected = np.mean(np.exp(beta * (cosines - 1)) * turned)
    assert ring.ring_slope(theta, angle, beta) == pytest.approx(expected, abs=1e-12)


def ring_equation(weight: float) -> mfpde.MeanFieldEquation:
    neuron = mfpde.Perceptron(directions=[[0.0, 0.0, 1.0]], weights=[weight])
    return mfpde.MeanFieldEquation(
        mfpde.Attention(ring.BETA), neuron, direction="descent"
    )


def points_of_rings(angles: np.ndarray, count: int) -> np.ndarray:
    theta, phi = np.meshgrid(
        angles, 2 * np.pi * np.arange(count) / count, indexing="ij"
    )
    parts = [np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)]
    return np.stack(parts, axis=-1).reshape(-1, 3)


def test_rings_move_as_the_equation_says() -> None:
    angles, masses = np.array([0.1, 0.3, 0.8, 2.0]), np.array([0.4, 0.3, 0.2, 0.1])
    points = points_of_rings(angles, 60)
    atoms = mfpde.Atoms(points, np.repeat(masses, 60) / 60)
    vectors = ring_equation(-0.3).velocity(atoms).reshape(4, 60, 3)[:, 0]
    southward = np.stack([np.cos(angles), 0 * angles, -np.sin(angles)], axis=1)
    expected = (vectors * southward).sum(axis=1)
    rates = ring.velocity(angles, masses, beta=ring.BETA, weight=-0.3)
    np.testing.assert_allclose(rates, expected, atol=1e-12)


@pytest.mark.parametrize("weight", [-0.9, -0.3, -0.15])
def test_nothing_moves_on_the_ring_of_the_closed_form(weight: float) -> None:
    angle = ring.ring_angle(ring.BETA, weight)
    atoms = mfpde.Atoms(points_of_rings(np.array([angle]), 100))
    assert np.abs(ring_equation(weight).velocity(atoms)).max() < 1e-13


def test_a_strong_neuron_holds_an_atom_and_a_weak_one_no_ring() -> None:
    assert ring.ring_angle(20.0, -1.0) == 0.0
    assert ring.ring_angle(20.0, -0.5, mass=0.4) == 0.0
    with pytest.raises(ValueError, match="too weak"):
        ring.ring_angle(20.0, -0.001)
    with pytest.raises(ValueError, match="below 0"):
        ring.ring_angle(20.0, 0.5)


def test_an_atom_opens_at_the_linear_rate_and_becomes_the_ring() -> None:
    """Widths grow like e^{(1 - |w|) t} while small; the end is the closed form."""
    small = 1e-5
    radii = ring.rms_radii(*ring.opening((1.0, 3.0), width=small, nodes=6))
    assert np.log(radii[1] / radii[0]) / 2 == pytest.approx(0.7, abs=1e-5)
    assert radii[0] == pytest.approx(np.sqrt(2) * small * np.exp(0.7), rel=1e-3)
    end = ring.rms_radii(*ring.opening((100.0,), nodes=3, rtol=1e-7))[0]
    assert end == pytest.approx(ring.ring_angle(ring.BETA, ring.WEIGHT), rel=2e-4)
