"""Closed-form facts against quadrature, root finding, finite differences and simulation."""

from __future__ import annotations

import numpy as np
import pytest
from equations import ascent, descent
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from random_points import atoms_at, random_points
from scipy.optimize import brentq
from scipy.special import comb, gamma, iv, roots_legendre

import mfpde
from mfpde import theory
from mfpde.commands.command_line import main
from mfpde.geometry import zonal_harmonics
from mfpde.stationary import field_derivatives
from mfpde.terms.activations import Activation, ActivationBounds
from validation.circle_cases import atomic_hessian, curvature, kernel_on_circle
from validation.references import two_atoms
from validation.stable_states import weak_neurons

BETAS, ONE = st.floats(0.01, 60.0), [[1.0, 0.0]]


# The uniform state


@given(beta=BETAS, dimension=st.integers(2, 16), degree=st.integers(0, 6))
@settings(deadline=None, max_examples=30)
def test_eigenvalues_are_integrals_of_the_kernel(beta, dimension, degree):
    """And without the shift Bessel functions, by Funk and Hecke's formula."""
    nodes, weights = roots_legendre(200)
    angles = np.pi * (nodes + 1) / 2
    measure = weights * np.sin(angles) ** (dimension - 2)
    harmonic = zonal_harmonics(dimension, degree, np.cos(angles))[degree]
    kernel = kernel_on_circle(beta, angles)
    expected = (measure * kernel * harmonic).sum() / measure.sum()
    assert theory.eigenvalues(beta, dimension, degree) == pytest.approx(
        expected, rel=1e-9, abs=1e-14
    )
    degrees, order = np.arange(6).reshape(2, 3), dimension / 2 - 1
    bessel = gamma(dimension / 2) * (2 / beta) ** order * iv(degrees + order, beta)
    unshifted = theory.eigenvalues(beta, dimension, degrees, kernel="unshifted")
    assert unshifted.shape == (2, 3)
    np.testing.assert_allclose(unshifted, bessel, rtol=1e-11)


@pytest.mark.parametrize("dimension", [2, 3, 6])
@pytest.mark.parametrize("kernel", ["shifted", "unshifted"])
def test_growth_rates_are_those_of_each_degree(dimension, kernel):
    """l (l + d - 2) (s lambda_l / beta - kappa); lambda_l / lambda_0 with softmax."""
    beta, l = 4.0, np.arange(1, 6)
    values = theory.eigenvalues(beta, dimension, np.arange(6), kernel=kernel)
    at = {"direction": "descent", "diffusion": 0.02, "kernel": kernel}
    laplacian = l * (l + dimension - 2)
    rates = theory.growth_rates(beta, dimension, l, **at)
    np.testing.assert_allclose(rates, laplacian * (-values[1:] / beta - 0.02))
    rates = theory.growth_rates(beta, dimension, l, normalized=True, **at)
    expected = laplacian * (-values[1:] / values[0] / beta - 0.02)
    np.testing.assert_allclose(rates, expected)


def test_rates_of_softmax_exist_where_no_eigenvalue_is_representable():
    assert theory.eigenvalues(1000.0, 2048, 0) == 0
    rates = theory.growth_rates(
        1000.0, 2048, np.arange(4), direction="ascent", normalized=True
    )
    # lambda_1 / lambda_0 is the mean of x.y under K, close to the root of
    # beta c^2 + (d - 1) c = beta in high dimension.
    cosine = brentq(lambda c: 1000 * (1 - c**2) - 2047 * c, 0, 1)
    assert rates[1] == pytest.approx(2047 * cosine / 1000, rel=1e-3)


@pytest.mark.parametrize("dimension", [2, 3])
def test_the_fastest_mode_changes_where_two_bessel_terms_agree(dimension):
    def term(l, beta):
        return l * (l + dimension - 2) * iv(l + dimension / 2 - 1, beta)

    for degree in range(1, 6):
        switch = brentq(lambda b, l=degree: term(l + 1, b) - term(l, b), 0.2, 40)
        assert theory.fastest_mode(switch * (1 - 1e-9), dimension) == degree
        assert theory.fastest_mode(switch * (1 + 1e-9), dimension) == degree + 1


def test_early_clusters_turn_with_the_start(rng):
    angles, masses = rng.uniform(0, 2 * np.pi, 50), rng.random(50)
    for turn in (0.0, 0.4, 2.0):
        start = atoms_at(angles + turn, masses / masses.sum())
        found = theory.early_clusters(5.0, start)
        moment = (masses * np.exp(3j * (angles + turn))).sum()
        # Each predicted angle is a maximum of the mode.
        np.testing.assert_allclose(np.exp(3j * found), moment / abs(moment), atol=1e-12)


def test_early_clusters_of_a_density() -> None:
    bump = mfpde.bumps(mfpde.Circle(16), angles=[0.0], widths=[1.0])
    found = theory.early_clusters(5.0, bump)
    np.testing.assert_allclose(np.exp(3j * found), 1.0, atol=1e-12)
    with pytest.raises(ValueError, match="a Circle of at least"):
        theory.early_clusters(900.0, bump)


@given(beta=st.floats(0.01, 1000.0))
def test_the_kernel_is_concave_up_to_the_angle_and_no_further(beta):
    angle = theory.concavity_angle(beta)
    # K''/(beta K), which does not underflow.
    root = brentq(lambda t: beta * np.sin(t) ** 2 - np.cos(t), 0, np.pi / 2)
    assert angle == pytest.approx(root, rel=1e-9)


@given(beta=st.floats(0.0, 300.0))
def test_extremes_of_the_curvature_are_those_on_a_fine_grid(beta):
    constants = theory.kernel_curvature(beta)
    everywhere = curvature(beta, np.linspace(0, np.pi, 20001))
    assert everywhere.max() <= constants.outward + 1e-12
    assert everywhere.max() == pytest.approx(constants.outward, rel=1e-3)
    inside = curvature(beta, np.linspace(0, constants.angle / 2, 2001))
    assert inside.max() == pytest.approx(-constants.inward, rel=1e-9)


# Anti-concentration


def test_the_published_bound_without_perceptron():
    expected = 16 / (16 + 3 * np.exp(11 / 8))
    for beta in (1.0, 5.0, 100.0):
        for kernel in ("shifted", "unshifted"):
            bound = theory.anti_concentration_bound(descent(beta, kernel=kernel))
            assert bound.published == pytest.approx(expected, rel=1e-12)
            assert bound.derived < bound.published
    # A ReLU neuron of twice the length is one of four times the weight.
    long, heavy = (
        theory.anti_concentration_bound(descent(5.0, mfpde.Perceptron(*one)))
        for one in (([[2.0, 0.0]], [0.01]), ([[1.0, 0.0]], [0.04]))
    )
    assert long.constant == pytest.approx(heavy.constant, rel=1e-12)
    # 0.4027 and 0.3086 are the limits of the derived ones.
    inward, outward = 0.75 * np.exp(-1 / 8), 2 * np.exp(-1.5)
    far = theory.anti_concentration_bound(descent(1000.0))
    assert far.derived == pytest.approx(outward / (inward + outward), rel=1e-3)
    assert far.derived_single_atom == pytest.approx(outward / (1 + outward), rel=1e-3)


@given(beta=st.floats(0.6, 20.0), weight=st.floats(0.0, 0.15))
@settings(deadline=None)
def test_the_bound_is_the_same_in_both_conventions(beta, weight):
    """Shifted(beta, w) is unshifted(beta, w e^beta) with another time."""
    weights = weight * np.array([1.0, -0.3])
    shifted = theory.anti_concentration_bound(descent(beta, weak_neurons(weights)))
    unshifted = theory.anti_concentration_bound(
        descent(beta, weak_neurons(np.exp(beta) * weights), kernel="unshifted")
    )
    assert shifted.constant == pytest.approx(unshifted.constant, rel=1e-12, abs=1e-15)
    assume(abs(shifted.constant - 0.3309) > 1e-3)
    assert (shifted.published is None) is (unshifted.published is None)
    if shifted.published is not None:
        assert shifted.published == pytest.approx(unshifted.published, rel=1e-12)
        # Theorem 3.5 as printed, GeLU's slope at most 1.1289.
        constant = 2 * 1.1289042 * np.abs(weights).sum()
        expected = (4 + 2 * np.exp(1.5) * constant) / (4 + 0.75 * np.exp(11 / 8))
        assert shifted.published == pytest.approx(expected, rel=1e-6)


@given(
    beta=st.floats(0.0, 60.0),
    seed=st.integers(0, 2**31),
    weight=st.floats(0.0, 0.25),
    excess=st.floats(1e-3, 0.3),
    count=st.integers(1, 5),
)
@settings(deadline=None, max_examples=200)
def test_no_second_order_state_has_more_mass_in_a_cluster(
    *, beta, seed, weight, excess, count
):
    """Whatever else there is, a cluster or an atom above its bound has a way down."""
    generator = np.random.default_rng(seed)
    perceptron = weak_neurons(weight * generator.standard_normal(3))
    bound = theory.anti_concentration_bound(descent(beta, perceptron))
    largest = bound.derived_single_atom if count == 1 else bound.derived
    assume(largest is not None)
    mass = min(largest + excess, 1.0)
    inside = generator.uniform(0, bound.diameter, count)
    outside = generator.uniform(0, 2 * np.pi, 4)
    shares = (generator.dirichlet(np.ones(n)) for n in (count, 4))
    masses = np.concatenate([mass * next(shares), (1 - mass) * next(shares)])
    angles = np.concatenate([inside, outside])
    if count == 1:
        # An atom splits: the rate of a part of it that moves by itself.
        alone = atomic_hessian(beta, (angles[:1], np.ones(1)), perceptron)[0, 0]
        assert masses @ curvature(beta, angles - angles[0]) + alone < 0
        return
    kept = masses > 1e-6
    atoms = (angles[kept], masses[kept])
    assert np.linalg.eigvalsh(atomic_hessian(beta, atoms, perceptron)).min() < 0


COSINE = Activation(
    "cosine",
    np.cos,
    np.sin,
    derivative=lambda z: -np.sin(z),
    bounds=ActivationBounds(-1.0, 1.0, 1.0),
)


def test_no_bound_is_claimed_where_none_holds():
    strong = descent(5.0, weak_neurons(np.array([0.8, -0.5])))
    bound = theory.anti_concentration_bound(strong)
    assert bound.published is bound.derived is bound.derived_single_atom is None
    assert "at these weights" in bound.obstacle
    assert theory.cluster_count_bound(strong, 0.1) is None
    # What the theorem leaves out, the derived bounds include.
    for words, equation in (
        ("biases", descent(5.0, mfpde.Perceptron(ONE, [0.01], biases=[0.1]))),
        ("sigma(0)", descent(5.0, mfpde.Perceptron(ONE, [0.01], COSINE))),
        ("too small", descent(0.3)),
    ):
        bound = theory.anti_concentration_bound(equation)
        assert bound.published is None
        assert words in bound.obstacle
        assert 0 < bound.derived < 1


# Conditions


@pytest.mark.parametrize("dimension", [2, 3, 5])
def test_one_strong_neuron_is_strictly_stable(dimension):
    """Of weight -4, in descent: V'' is 4 at its direction, of which the kernel takes 1."""
    direction = np.eye(1, dimension)
    equation = descent(3.0, mfpde.Perceptron(direction, [-4.0]))
    found = theory.strict_stability(equation, direction)
    assert found.holds
    assert found.margin == pytest.approx(3.0)


@given(
    seed=st.integers(0, 2**31),
    beta=st.floats(0.1, 20.0),
    dimension=st.sampled_from([2, 3, 5]),
    kind=st.sampled_from(["relu", "gelu"]),
)
@settings(deadline=None, max_examples=50)
def test_the_margin_is_a_lower_bound_on_the_hessian(seed, beta, *, dimension, kind):
    generator = np.random.default_rng(seed)
    directions = generator.standard_normal((3, dimension))
    perceptron = mfpde.Perceptron(directions, generator.normal(0, 2, 3), kind)
    points = random_points(6, dimension, generator)
    equation, masses = descent(beta, perceptron), generator.dirichlet(3 * np.ones(6))
    margin = theory.strict_stability(equation, points).margin
    # Symmetric in L2(mu): sqrt(m) J / sqrt(m).
    roots = np.repeat(np.sqrt(masses), dimension - 1)
    jacobian = field_derivatives(equation, points, masses).jacobian
    hessian = roots[:, None] * jacobian.reshape(len(roots), -1) / roots
    assert np.linalg.eigvalsh((hessian + hessian.T) / 2).min() >= margin - 1e-9


@pytest.mark.parametrize(("dimension", "count"), [(2, 5), (3, 4), (4, 5)])
def test_components_are_those_that_random_points_find(dimension, count, rng):
    directions = rng.standard_normal((count, dimension))
    directions[-1] = -2 * directions[0]  # twice the same hyperplane
    neurons = mfpde.Perceptron(directions, rng.standard_normal(count))
    equation = ascent(5.0, neurons, normalized=True)
    signs = theory.non_degeneracy(equation).signs
    found = {tuple(row) for row in np.vstack([signs, -signs])}
    seen = np.sign(rng.standard_normal((100_000, dimension)) @ directions.T)
    assert {tuple(row) for row in np.unique(seen, axis=0)} <= found
    # m hyperplanes in general position: 2 sum_{k<d} binomial(m - 1, k) components.
    expected = 2 * sum(comb(count - 2, k) for k in range(dimension))
    assert len(found) == 2 * len(signs) == expected


@pytest.mark.parametrize(
    ("dimension", "weights", "holds"),
    [
        (2, [0.7, 0.7], False),
        (2, [0.7, 0.6], True),
        # In R^3 two directions never give the identity; three do.
        (3, [0.5, 0.5, 0.5], False),
        (3, [0.5, 0.5], True),
        (3, [0.5, 0.0, 0.5], True),
        # Without any acting neuron the whole sphere is one component, and D = 0.
        (2, [0.0, 0.0], False),
    ],
)
def test_non_degeneracy_fails_for_matrices_that_are_multiples_of_the_identity(
    dimension, weights, holds
):
    neurons = mfpde.Perceptron(np.eye(len(weights), dimension), weights)
    found = theory.non_degeneracy(ascent(5.0, neurons, normalized=True))
    assert found.holds is holds
    assert ((found.signs == 0) == (np.array(weights) == 0)).all()


@pytest.mark.parametrize(
    ("beta", "share"), [(0.0, 0.5), (4.0, 0.5), (4.0, 0.2), (25.0, 0.05)]
)
def test_merge_times_are_those_of_the_rate_of_two_angles(beta, share):
    ends = {"start_angle": 0.9, "end_angle": 0.2}
    softmax, time, heavy = (
        theory.merge_time(beta, *mass, share=share, **ends, **options)
        for mass, options in (
            ((), {"normalized": True}),
            ((), {}),
            ((2.5,), {"kernel": "unshifted"}),
        )
    )
    shares = {"softmax": True, "shares": (share, 1 - share)}
    assert softmax == pytest.approx(two_atoms.merge_time(beta, **ends, **shares), 1e-10)
    # Without softmax mass scales time, and so does the kernel.
    assert time == pytest.approx(two_atoms.merge_time(beta, **ends), rel=1e-10)
    assert heavy == pytest.approx(time * np.exp(-beta) / 2.5, rel=1e-12)


def test_merge_times_beyond_all_numbers_are_infinite_and_none_is_negative():
    assert theory.merge_time(1000.0, start_angle=3.0, end_angle=0.1) == np.inf
    assert theory.merge_time(1000.0, start_angle=1.0, end_angle=0.1) > 1e150
    assert theory.merge_time(5.0, start_angle=0.5, end_angle=0.5) == 0
    legs = [
        theory.merge_time(30.0, start_angle=a, end_angle=b)
        for a, b in ((1.0, 0.5), (0.5, 1e-9), (1.0, 1e-9))
    ]
    assert legs[0] + legs[1] == pytest.approx(legs[2], rel=1e-12)


def test_a_potential_has_a_density_if_its_coefficients_fall_faster_than_the_eigenvalues():
    """Over the eigenvalues those of a linear neuron end at degree 2, those of ReLU grow."""
    circle, degrees = mfpde.Circle(512), np.arange(1, 16)
    for kind, largest in (("linear", 2), ("relu", 15)):
        values = mfpde.Perceptron([[0.6, 0.8]], [0.01], kind).value(circle.points)
        sizes = np.abs(np.fft.rfft(values))[degrees] / 512
        ratios = sizes / theory.eigenvalues(4.0, 2, degrees)
        assert degrees[ratios.argmax()] == largest


def test_the_command_prints_what_the_functions_return(capsys):
    assert main(["theory", "beta=5", "degrees=[1, 2]", "direction=ascent"]) == 0
    said = capsys.readouterr().out
    assert str(theory.growth_rates(5.0, 2, [1, 2], direction="ascent")) in said
    assert f"    {theory.critical_diffusion(5.0, 2)}" in said
    assert "non_degeneracy: " in said
    assert "Proposition 6.1 is about one softmax attention" in said
