"""The equation: energy and first variation, conventions, Lyapunov claims."""

import copy
import pickle

import numpy as np
import pytest
from equations import ascent, descent
from scipy.special import ive

import mfpde
from validation.circle_cases import points_at

PERCEPTRON = mfpde.Perceptron([[1.0, 0.2], [-0.6, 0.8]], [0.8, -0.5], "gelu")


@pytest.mark.parametrize("beta", [0.0, 2.0, 30.0])
@pytest.mark.parametrize("kernel", ["shifted", "unshifted"])
def test_first_variation_is_the_derivative_of_the_energy(beta, kernel) -> None:
    equation = descent(beta, PERCEPTRON, kernel=kernel)
    circle = mfpde.Circle(128)
    base = mfpde.perturbed_uniform(circle, 0.3, seed=1)
    other = mfpde.perturbed_uniform(circle, 0.3, seed=2)
    direction = other.values - base.values

    def energy(share: float) -> float:
        return equation.energy(mfpde.Density(circle, base.values + share * direction))

    slope = (energy(0.5) - energy(-0.5)) / 1.0  # E is quadratic: exact for any step
    potential = equation.first_variation(base)
    expected = float((potential * direction * circle.areas).sum())
    assert slope == pytest.approx(expected, rel=1e-10, abs=1e-13 * abs(energy(0.0)))


@pytest.mark.parametrize("normalized", [False, True])
def test_velocity_is_the_signed_gradient_of_the_first_variation(normalized) -> None:
    equation = descent(5.0, PERCEPTRON, normalized=normalized)
    circle = mfpde.Circle(256)
    measure = mfpde.Measure(
        mfpde.Density(circle, 0.6 * mfpde.perturbed_uniform(circle, 0.5).values),
        mfpde.Atoms([[0.6, 0.8], [-1.0, 0.0]], [0.3, 0.1]),
    )
    angles = np.linspace(0, 6, 50)
    step = 1e-5

    def potential(shift: float) -> np.ndarray:
        return equation.first_variation(measure, points_at(angles + shift))

    slope = (potential(step) - potential(-step)) / (2 * step)
    tangents = points_at(angles + np.pi / 2)
    velocity = equation.velocity(measure, points_at(angles))
    along = np.einsum("ni,ni->n", velocity, tangents)
    np.testing.assert_allclose(along, -slope, atol=2e-9)


def test_energies_of_uniform_and_atom() -> None:
    for beta in (1.0, 5.0, 40.0):
        equation = ascent(mfpde.Attention(beta))
        uniform = mfpde.uniform(mfpde.Circle(256))
        assert equation.energy(uniform) == pytest.approx(
            ive(0, beta) / (2 * beta), rel=1e-13
        )
        atom = mfpde.Atoms([[0.0, 1.0]])
        assert equation.energy(atom) == pytest.approx(1 / (2 * beta), rel=1e-13)


def test_kernel_conventions_agree_after_rescaling() -> None:
    """shifted(beta, w, t) = unshifted(beta, w e^beta, t e^-beta): velocities scale by e^beta."""
    beta = 3.0
    circle = mfpde.Circle(128)
    density = mfpde.perturbed_uniform(circle, 0.4)
    shifted = ascent(mfpde.Attention(beta), PERCEPTRON)
    scaled = mfpde.Perceptron(
        PERCEPTRON.directions, PERCEPTRON.weights * np.exp(beta), "gelu"
    )
    unshifted = ascent(mfpde.Attention(beta, kernel="unshifted"), scaled)
    np.testing.assert_allclose(
        unshifted.velocity(density),
        np.exp(beta) * shifted.velocity(density),
        rtol=1e-12,
    )
    assert "exp(beta x.y)" in unshifted.convention


def test_softmax_is_the_same_under_both_kernels() -> None:
    density = mfpde.perturbed_uniform(mfpde.Circle(128), 0.4)
    velocities = [
        descent(5.0, PERCEPTRON, normalized=True, kernel=kernel).velocity(density)
        for kernel in ("shifted", "unshifted")
    ]
    np.testing.assert_allclose(velocities[0], velocities[1], rtol=1e-13)


def test_lyapunov_claims() -> None:
    vector = mfpde.Perceptron([[1.0, 0.0]], [[0.3, 0.7]])
    softmax, plain = mfpde.Attention(5.0, normalized=True), mfpde.Attention(5.0)

    def claim(*terms: object) -> bool:
        return ascent(*terms).energy_is_lyapunov  # type: ignore[arg-type]

    assert claim(plain, PERCEPTRON)
    assert claim(softmax)
    assert not claim(softmax, PERCEPTRON)
    assert not claim(plain, vector)
    general = ascent(plain, vector)
    density = mfpde.uniform(mfpde.Circle(64))
    assert general.energy(density) is None
    with pytest.raises(ValueError, match="vector weights"):
        general.first_variation(density)


@pytest.mark.parametrize(
    "geometry",
    [mfpde.Circle(64), mfpde.Sphere(32), mfpde.Zonal(5, 64), mfpde.Zonal(3, 64)],
    ids=["circle", "sphere", "zonal 5", "zonal 3"],
)
@pytest.mark.parametrize(
    "copied", [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy]
)
def test_what_was_computed_goes_to_another_process_and_back(geometry, copied) -> None:
    """Grid, measure, field and run can be sent after they have been used."""
    equation = ascent(mfpde.Attention(4.0))
    start = mfpde.Density(geometry, 1 + 0.3 * geometry.points[..., -1]).normalized()
    run = mfpde.solve(equation, start, t_end=0.2)
    points = geometry.points.reshape(-1, geometry.dimension)[:3]
    expected = equation.field(run.final).velocity(points)
    assert copied(geometry) == geometry
    field, again = copied(equation.field(run.final)), copied(run)
    assert again.equation.energy(again.final) == equation.energy(run.final)
    further = mfpde.solve(copied(equation), copied(start), t_end=0.2)
    for one, other in (
        (copied(geometry).areas, geometry.areas),
        (again.energies, run.energies),
        (field.velocity(points), expected),
        (further.final.density.values, run.final.density.values),
    ):
        np.testing.assert_array_equal(one, other)
