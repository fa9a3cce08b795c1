"""Branches of stationary densities: the phase transition with attention alone.

The witness is Newton's method for densities that are symmetric about an axis, on S^(d-1) with
any d: with z = cos(theta) the field is

    F(z) = int k(z, z') rho(z') sin^(d-2)(theta') dtheta',
    beta k = exp(beta (z z' - 1)) Gamma(nu + 1) (2/a)^nu I_nu(a),
    a = beta sin(theta) sin(theta'),  nu = (d - 3)/2,

K averaged over the rotations about the axis (beta k = 1 + beta z z' + ...: at beta = 0 what is
left but for a constant is z z', Kuramoto's kernel); integrals are Gauss sums in theta, so that it
shares neither grid nor harmonics with the package.
"""

from __future__ import annotations

import numpy as np
import pytest
from equations import ascent, descent
from scipy.special import gamma, ive, roots_legendre

import mfpde
from mfpde import theory

NODES = 120


class Witness:
    """Stationary axisymmetric densities of mass 1 on S^(d-1), by their field at nodes."""

    def __init__(self, beta, dimension):
        nodes, weights = roots_legendre(NODES)
        self.beta, self.dimension = beta, dimension
        self.angles = np.pi / 2 * (nodes + 1)
        self.weights = weights * np.sin(self.angles) ** (dimension - 2)
        self.weights /= self.weights.sum()
        self.kernel = self.between(self.angles)

    def between(self, angles):
        """K / beta between rings at ``angles`` and the nodes, averaged over them."""
        nu = (self.dimension - 3) / 2
        cosines = np.cos(angles)[:, None] * np.cos(self.angles)
        if self.beta == 0:
            return cosines
        arguments = self.beta * np.sin(angles)[:, None] * np.sin(self.angles)
        bessel = gamma(nu + 1) * (2 / arguments) ** nu * ive(nu, arguments)
        return bessel * np.exp(self.beta * (cosines - 1) + arguments) / self.beta

    def masses(self, field, kappa):
        masses = self.weights * np.exp((field - field.max()) / kappa)
        return masses / masses.sum()

    def newton(self, field, kappa):
        """Field of the stationary density beside ``field``."""
        for _ in range(30):
            masses = self.masses(field, kappa)
            residual = field - self.kernel @ masses
            if np.abs(residual).max() < 1e-16:
                break
            covariance = np.diag(masses) - np.outer(masses, masses)
            jacobian = np.eye(NODES) - self.kernel @ covariance / kappa
            field = field - np.linalg.solve(jacobian, residual)
        assert np.abs(residual).max() < 1e-15
        return field

    def ordered(self, kappa):
        """Field of the ordered state, by iteration from a concentrated density."""
        field = np.cos(self.angles)
        for _ in range(4000):
            field = self.kernel @ self.masses(field, kappa)
        return self.newton(field, kappa)

    def values(self, field, kappa, angles):
        """Density over the uniform one at ``angles`` to the axis."""
        masses = self.masses(field, kappa)
        here = self.between(angles) @ masses
        norm = self.weights @ np.exp((field - field.max()) / kappa)
        return np.exp((here - field.max()) / kappa) / norm


# Grid, beta, least and largest diffusion of the sweep over the critical one.
BRANCHES = {
    "Kuramoto": (mfpde.Circle(96), 0.0, 0.4, 1.1),
    "circle below": (mfpde.Circle(96), 1.5, 0.8, 1.2),
    "circle above": (mfpde.Circle(96), 4.0, 0.8, 1.2),
    "sphere below": (mfpde.Sphere(32), 1.0, 0.9, 1.1),
    "sphere above": (mfpde.Sphere(32), 2.2, 0.98, 1.03),
    "d = 8 below": (mfpde.Zonal(8, 96), 1.0, 0.8, 1.2),
    "d = 8 above": (mfpde.Zonal(8, 96), 3.0, 0.8, 1.7),
}


def relative(witness, field, kappa, *, geometry, axis):
    """Density over the uniform one in the cells, for the axis of a state."""
    if geometry.axis is None:
        cosines = np.clip(geometry.points.reshape(-1, len(axis)) @ axis, -1.0, 1.0)
        angles = np.arccos(cosines)
        return witness.values(field, kappa, np.maximum(angles, 1e-9))
    nodes, weights = roots_legendre(12)
    angles = geometry.angles[:, None] + geometry.spacing / 2 * nodes
    areas = weights * np.sin(angles) ** (geometry.dimension - 2)
    values = witness.values(field, kappa, angles.ravel()).reshape(angles.shape)
    return (values * areas).sum(axis=1) / areas.sum(axis=1)


def axis_of(density):
    geometry = density.geometry
    if geometry.axis is not None:
        return geometry.axis
    masses = density.masses.ravel()
    mean = masses @ geometry.points.reshape(len(masses), -1)
    return mean / np.linalg.norm(mean)


def field_of(witness, state):
    """F of a state at the witness's nodes, on a meridian through its axis."""
    axis = axis_of(state.density)
    across = np.linalg.svd(axis[np.newaxis])[2][1]
    points = np.outer(np.cos(witness.angles), axis)
    points += np.outer(np.sin(witness.angles), across)
    return state.equation.first_variation(state.density, points)


@pytest.mark.parametrize(
    ("geometry", "beta", "first", "last"), BRANCHES.values(), ids=BRANCHES
)
def test_an_ordered_branch_folds_or_not_and_ends_in_a_pitchfork(
    geometry, beta, first, last
):
    d = geometry.dimension
    critical = theory.critical_diffusion(beta, d)
    kappas = critical * np.linspace(first, last, 30)
    axis = np.arange(1.0, d + 1) if geometry.axis is None else geometry.axis
    start = ordered_density(geometry, beta, kappas[0], axis / np.linalg.norm(axis))
    found = mfpde.continuation(ascent(beta), start, "diffusion", kappas)
    # The first state is the one given.
    assert found.values[0] == kappas[0]
    distance = np.abs(found.states[0].density.values - start.values).max()
    assert distance <= 1e-9 * start.values.max()
    assert found.states[0].is_second_order
    # A fold at the largest diffusion of an ordered state, and the pitchfork.
    is_above = not theory.has_continuous_transition(beta, d)
    *before, pitchfork = found.events
    assert [event.kind for event in before] == ["fold"] * is_above
    for fold in before:
        assert (fold.before, fold.after) == (0, 1)
        largest = mfpde.phase_diagram(d, beta).fold[0]
        assert fold.value == pytest.approx(largest, rel=1e-9)
    assert pitchfork.kind == "pitchfork"
    assert pitchfork.value == pytest.approx(critical, rel=1e-10)
    assert (pitchfork.before, pitchfork.after) == (int(is_above), 0)
    # All directions of the first moment, on a zonal grid the axis alone.
    assert pitchfork.dimension == (1 if geometry.axis is not None else d)
    # The uniform state beyond; the ordered ones before, one direction unstable after the fold.
    assert found.is_complete
    ordered, uniform = np.split(np.array(found.states), [pitchfork.index])
    np.testing.assert_array_equal(
        found.values[pitchfork.index :], kappas[kappas > critical]
    )
    for state in uniform:
        assert state.order < 1e-12
        assert state.unstable_dimension == 0
    assert (np.diff([state.order for state in ordered]) < 0).all()
    at_fold = before[0].index if before else len(ordered)
    counts = [state.unstable_dimension for state in ordered]
    assert counts == [int(i >= at_fold) for i in range(len(ordered))]
    rotations = d - 1 if geometry.axis is None else 0
    expected = [rotations] * len(ordered) + [0] * len(uniform)
    assert [state.symmetry_dimension for state in found.states] == expected
    # Each is that of Newton's method of another kind.
    witness, areas = Witness(beta, d), geometry.areas.ravel() / geometry.areas.sum()
    for kappa, state in zip(found.values, ordered, strict=False):
        field = witness.newton(field_of(witness, state), kappa)
        axis = axis_of(state.density)
        expected = relative(witness, field, kappa, geometry=geometry, axis=axis)
        got = state.density.masses.ravel() / areas
        assert np.abs(got - expected).max() <= 1e-10 * expected.max()


def ordered_density(geometry, beta, kappa, axis):
    """Density of the ordered state about an axis."""
    witness = Witness(beta, geometry.dimension)
    field = witness.ordered(kappa)
    values = relative(witness, field, kappa, geometry=geometry, axis=axis)
    return mfpde.Density(geometry, values.reshape(geometry.shape)).normalized()


KAPPA = 0.02


def bump(concentration):
    return mfpde.Density.from_function(
        mfpde.Circle(96), lambda x: np.exp(concentration * x[..., 0])
    )


@pytest.mark.parametrize("concentration", [0.5, 2.0, 3.0, 4.0, 5.0, 8.0, 15.0, 30.0])
def test_the_first_state_is_beside_the_given_density_or_there_is_none(concentration):
    given, path = bump(concentration), ("diffusion", [KAPPA, 0.03, 0.04])
    if concentration < 15:
        with pytest.raises(ValueError, match=r"no stationary density beside.*W1 = "):
            mfpde.continuation(ascent(5.0), given, *path)
    else:
        found = mfpde.continuation(ascent(5.0), given, *path)
        assert found.values[0] == KAPPA
        assert mfpde.wasserstein(given, found.states[0].density, order=1) <= 0.1


@pytest.mark.parametrize("kappa", [0.2, 1.0])
def test_in_descent_the_only_state_may_be_anywhere(kappa):
    path = ("diffusion", [kappa, 2 * kappa])
    found = mfpde.continuation(descent(5.0), bump(5.0), *path)
    assert found.states[0].order < 1e-12


@pytest.mark.parametrize("weight", [0.05, -0.05])
def test_a_reflection_is_broken_where_the_symmetric_state_loses_stability(weight):
    """V = w (a.x)^2 / 2: no rotation is left, and x -> -x is."""
    circle = mfpde.Circle(96)
    neuron = mfpde.Perceptron([[0.6, 0.8]], [weight], activation="linear")
    equation = ascent(1.0, neuron)
    values = np.array([0.5, 0.3, 0.15, 0.1])
    down = mfpde.continuation(equation, mfpde.uniform(circle), "diffusion", values)
    loss = down.events[0]
    assert loss.kind == "stability"
    cold = ascent(1.0, neuron, diffusion=values[-1])
    start = mfpde.stationary_density(cold, bump(2.0).normalized()).density
    up = mfpde.continuation(equation, start, "diffusion", values[::-1])
    assert up.states[0].order > 0.1
    (pitchfork,) = up.events
    assert pitchfork.kind == "pitchfork"
    assert pitchfork.value == pytest.approx(loss.value, abs=1e-10)
    assert (pitchfork.before, pitchfork.after) == (0, 0)
    assert up.is_complete
    assert up.states[-1].order < 1e-12
    for one, other in zip(up.states[2:], down.states[1::-1], strict=True):
        assert one.free_energy == pytest.approx(other.free_energy, abs=1e-12)


def test_a_pitchfork_in_beta_is_where_the_critical_diffusion_is_passed():
    kappa = 0.05
    circle = mfpde.Circle(96)
    start = ordered_density(circle, 2.0, kappa, np.eye(2)[-1])
    found = mfpde.continuation(
        ascent(1.0, diffusion=kappa), start, "beta", np.linspace(2.0, 5.0, 7)
    )
    fold, pitchfork = found.events
    assert (fold.kind, pitchfork.kind) == ("fold", "pitchfork")
    critical = theory.critical_diffusion(pitchfork.value, 2)
    assert critical == pytest.approx(kappa, rel=1e-10)
    assert pitchfork.value < fold.value


def test_a_nearly_broken_symmetry_is_no_reason_to_go_over_to_the_other_branch():
    """Two neurons whose directions differ by 0.034: V is almost even about their middle.

    The pitchfork of the even problem is torn into a branch that goes on and one that folds,
    less than 1e-4 apart; the way back must be the way there.
    """
    directions = [[np.cos(a), np.sin(a)] for a in (2.31891786, 2.35303258)]
    neurons = mfpde.Perceptron(directions, [-0.12663809, -0.01379651], "gelu")
    equation, circle = ascent(4.0, neurons), mfpde.Circle(96)
    values = [0.15, 0.08, 0.06, 0.05, 0.04]
    there = mfpde.continuation(equation, mfpde.uniform(circle), "diffusion", values)
    back = mfpde.continuation(
        equation, there.states[-1].density, "diffusion", values[::-1]
    )
    assert not there.events
    assert not back.events
    for one, other in zip(there.states, back.states[::-1], strict=True):
        np.testing.assert_allclose(one.density.values, other.density.values, atol=1e-9)
