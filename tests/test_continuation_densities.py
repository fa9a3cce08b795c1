"""Branches of stationary densities: the phase transition with attention alone.

The witness is Newton's method for densities that are symmetric about an axis, on S^(d-1) with
any d: with z = cos(theta) the field is

    F(z) = int k(z, z') rho(z') sin^(d-2)(theta') dtheta',
    beta k = exp(beta (z z' - 1)) Gamma(nu + 1) (2/a)^nu I_nu(a),
    a = beta sin(theta) sin(theta'),  nu = (d - 3)/2,

K averaged over the rotations about the axis; integrals are Gauss sums in theta, so that it
shares neither grid nor harmonics with the package.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import gamma, ive, roots_legendre

import mfpde
from mfpde import theory
from mfpde.theory import eigenvalues

NODES = 120


def ascent(beta, *terms, diffusion=0.0):
    return mfpde.MeanFieldEquation(
        mfpde.Attention(beta), *terms, direction="ascent", diffusion=diffusion
    )


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
        for _ in range(200):
            field = self.kernel @ self.masses(field, kappa)
        return self.newton(field, kappa)

    def with_moment(self, moment, start):
        """Diffusion (and field) at which the mean of x is ``moment``."""
        field, kappa = start
        cosines = np.cos(self.angles)
        for _ in range(30):
            masses = self.masses(field, kappa)
            covariance = np.diag(masses) - np.outer(masses, masses)
            by_kappa = -covariance @ field / kappa**2
            residual = np.append(
                field - self.kernel @ masses, masses @ cosines - moment
            )
            rows = np.block(
                [
                    [
                        np.eye(NODES) - self.kernel @ covariance / kappa,
                        -(self.kernel @ by_kappa)[:, None],
                    ],
                    [cosines @ covariance / kappa, np.array([[cosines @ by_kappa]])],
                ]
            )
            step = np.linalg.solve(rows, residual)
            field, kappa = field - step[:-1], kappa - step[-1]
            if np.abs(step).max() < 1e-14:
                break
        return field, kappa

    def fold(self, start):
        """Largest diffusion of an ordered state, from a (field, diffusion) beside it."""
        field, kappa = start
        moment = self.masses(field, kappa) @ np.cos(self.angles)
        found = minimize_scalar(
            lambda m: -self.with_moment(m, start)[1],
            bounds=(0.7 * moment, 1.3 * moment),
            method="bounded",
            options={"xatol": 1e-8},
        )
        return -found.fun

    def values(self, field, kappa, angles):
        """Density over the uniform one at ``angles`` to the axis."""
        masses = self.masses(field, kappa)
        here = self.between(angles) @ masses
        norm = self.weights @ np.exp((field - field.max()) / kappa)
        return np.exp((here - field.max()) / kappa) / norm


class Case(NamedTuple):
    geometry: mfpde.geometry.Geometry
    beta: float
    first: float
    last: float
    """Least and largest diffusion of the sweep, over the critical one."""


CASES = {
    "circle below": Case(mfpde.Circle(96), 1.5, 0.8, 1.2),
    "circle above": Case(mfpde.Circle(96), 4.0, 0.8, 1.2),
    "sphere below": Case(mfpde.Sphere(32), 1.0, 0.9, 1.1),
    "sphere above": Case(mfpde.Sphere(32), 2.2, 0.98, 1.03),
    "d = 8 below": Case(mfpde.Zonal(8, 96), 1.0, 0.8, 1.2),
    "d = 8 above": Case(mfpde.Zonal(8, 96), 3.0, 0.8, 1.7),
}


class Sweep(NamedTuple):
    case: Case
    witness: Witness
    critical: float
    start: mfpde.Density
    wanted: np.ndarray
    found: mfpde.Continuation


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


@cache
def sweep(name):
    case = CASES[name]
    geometry = case.geometry
    critical = theory.critical_diffusion(case.beta, geometry.dimension)
    wanted = critical * np.linspace(case.first, case.last, 30)
    witness = Witness(case.beta, geometry.dimension)
    axis = np.arange(1.0, geometry.dimension + 1)
    if geometry.axis is not None:
        axis = geometry.axis
    axis = axis / np.linalg.norm(axis)
    field = witness.ordered(wanted[0])
    values = relative(witness, field, wanted[0], geometry=geometry, axis=axis)
    start = mfpde.Density(geometry, values.reshape(geometry.shape)).normalized()
    found = mfpde.continuation(ascent(case.beta), start, "diffusion", wanted)
    return Sweep(case, witness, critical, start, wanted, found)


def is_above(run):
    return not theory.has_continuous_transition(
        run.case.beta, run.case.geometry.dimension
    )


every_case = pytest.mark.parametrize("name", CASES)


@every_case
def test_the_first_state_is_the_one_given(name):
    run = sweep(name)
    first = run.found.states[0]
    assert run.found.values[0] == run.wanted[0]
    distance = np.abs(first.density.values - run.start.values).max()
    assert distance <= 1e-9 * run.start.values.max()
    assert first.is_second_order


@every_case
def test_a_pitchfork_is_called_so_and_lies_at_the_critical_diffusion(name):
    run = sweep(name)
    *before, pitchfork = run.found.events
    assert [event.kind for event in before] == ["fold"] * is_above(run)
    assert pitchfork.kind == "pitchfork"
    assert pitchfork.value == pytest.approx(run.critical, rel=1e-10)
    unstable = (pitchfork.before, pitchfork.after)
    assert unstable == (int(is_above(run)), 0)
    # All directions of the first moment, on a zonal grid the axis alone.
    d = run.case.geometry.dimension
    assert pitchfork.dimension == (1 if run.case.geometry.axis is not None else d)


@pytest.mark.parametrize("name", [name for name in CASES if "above" in name])
def test_a_fold_lies_at_the_largest_diffusion_of_an_ordered_state(name):
    run = sweep(name)
    fold = run.found.events[0]
    assert (fold.before, fold.after) == (0, 1)
    kappa = run.found.values[fold.index - 1]
    start = run.witness.ordered(kappa)
    assert fold.value == pytest.approx(run.witness.fold((start, kappa)), rel=1e-9)


@every_case
def test_the_branch_goes_on_as_the_uniform_state_and_never_comes_back(name):
    run = sweep(name)
    found, pitchfork = run.found, run.found.events[-1]
    assert found.is_complete
    beyond = found.states[pitchfork.index :]
    np.testing.assert_array_equal(
        found.values[pitchfork.index :], run.wanted[run.wanted > run.critical]
    )
    for state in beyond:
        assert state.order < 1e-12
        assert state.unstable_dimension == 0
    orders = [state.order for state in found.states[: pitchfork.index]]
    assert (np.diff(orders) < 0).all()
    counts = [state.unstable_dimension for state in found.states[: pitchfork.index]]
    folds = [event.index for event in found.events[:-1]]
    expected = [int(bool(folds) and i >= folds[0]) for i in range(len(counts))]
    assert counts == expected


@every_case
def test_states_are_those_of_newtons_method_from_their_neighbours(name):
    run = sweep(name)
    geometry, witness, found = run.case.geometry, run.witness, run.found
    cuts = [0, *(event.index for event in found.events)]
    areas = geometry.areas.ravel() / geometry.areas.sum()
    for first, last in pairwise(cuts):
        assert last - first > 1
        for number in range(first, last):
            # The neighbour on the same side of the fold.
            beside = number - 1 if number > first else number + 1
            start = field_of(witness, found.states[beside])
            kappa = found.values[number]
            field = witness.newton(start, kappa)
            density = found.states[number].density
            axis = axis_of(density)
            expected = relative(witness, field, kappa, geometry=geometry, axis=axis)
            got = density.masses.ravel() / areas
            assert np.abs(got - expected).max() <= 1e-10 * expected.max()


def field_of(witness, state):
    """F of a state at the witness's nodes, on a meridian through its axis."""
    axis = axis_of(state.density)
    across = np.linalg.svd(axis[np.newaxis])[2][1]
    points = np.outer(np.cos(witness.angles), axis)
    points += np.outer(np.sin(witness.angles), across)
    return state.equation.first_variation(state.density, points)


def ordered_density(geometry, beta, kappa):
    """Density of the ordered state about the last axis."""
    witness = Witness(beta, geometry.dimension)
    field = witness.ordered(kappa)
    axis = np.eye(geometry.dimension)[-1]
    values = relative(witness, field, kappa, geometry=geometry, axis=axis)
    return mfpde.Density(geometry, values.reshape(geometry.shape)).normalized()


KAPPA = 0.02


def bump(concentration):
    return mfpde.Density.from_function(
        mfpde.Circle(96), lambda x: np.exp(concentration * x[..., 0])
    )


@pytest.mark.parametrize("concentration", [0.5, 2.0, 3.0, 4.0, 5.0, 8.0])
def test_a_density_beside_no_state_is_refused(concentration):
    with pytest.raises(ValueError, match="no stationary density beside"):
        mfpde.continuation(
            ascent(5.0), bump(concentration), "diffusion", [KAPPA, 0.03, 0.04]
        )


@pytest.mark.parametrize("concentration", [15.0, 30.0])
def test_the_first_state_is_beside_the_given_density(concentration):
    given = bump(concentration)
    found = mfpde.continuation(ascent(5.0), given, "diffusion", [KAPPA, 0.03, 0.04])
    assert found.values[0] == KAPPA
    assert mfpde.wasserstein(given, found.states[0].density, order=1) <= 0.1


def test_a_refusal_says_how_far_away_a_state_is():
    given = bump(5.0)
    state = ordered_density(mfpde.Circle(96), 5.0, KAPPA)
    turned = mfpde.Density(state.geometry, np.roll(state.values, -24))
    distance = mfpde.wasserstein(given, turned, order=1)
    with pytest.raises(ValueError, match=f"W1 = {distance:.3g}"):
        mfpde.continuation(ascent(5.0), given, "diffusion", [KAPPA, 0.03])


@pytest.mark.parametrize("kappa", [0.2, 1.0])
def test_in_descent_the_only_state_may_be_anywhere(kappa):
    equation = mfpde.MeanFieldEquation(mfpde.Attention(5.0), direction="descent")
    found = mfpde.continuation(equation, bump(5.0), "diffusion", [kappa, 2 * kappa])
    assert found.states[0].order < 1e-12


def test_a_state_with_two_bumps_meets_the_uniform_one_where_degree_two_does():
    beta = 5.0
    critical = eigenvalues(beta, 2, 2) / beta
    wanted = critical * np.array([0.97, 0.98, 0.99, 1.2, 1.5])

    given = two_bumps(beta, wanted[0])
    found = mfpde.continuation(ascent(beta), given, "diffusion", wanted)
    pitchfork, *others = found.events
    assert pitchfork.kind == "pitchfork"
    assert pitchfork.value == pytest.approx(critical, rel=1e-10)
    # Two unstable motions before, of degree one, and after.
    assert (pitchfork.before, pitchfork.after) == (2, 2)
    assert [event.kind for event in others] == 2 * ["stability"]
    assert all(
        event.value == pytest.approx(theory.critical_diffusion(beta, 2), rel=1e-10)
        for event in others
    )
    np.testing.assert_array_equal(found.values, wanted)


def two_bumps(beta, kappa):
    """Stationary density with the period pi, by iteration in that class."""
    circle = mfpde.Circle(128)
    kernel = np.exp(beta * (circle.points @ circle.points.T - 1)) / beta
    field = 0.01 * np.cos(2 * circle.angles)
    for _ in range(3000):
        field = (field + np.roll(field, len(field) // 2)) / 2
        weights = np.exp((field - field.max()) / kappa)
        field = kernel @ (weights / weights.sum())
    return mfpde.Density(circle, weights).normalized()


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
    start = ordered_density(circle, 2.0, kappa)
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


def test_zonal_densities_keep_their_axis():
    zonal = mfpde.Zonal(8, 64)
    neuron = mfpde.Perceptron([np.eye(8)[0]], [0.5], activation="gelu")
    with pytest.raises(ValueError, match="axis"):
        mfpde.continuation(
            ascent(1.0, neuron), mfpde.uniform(zonal), "diffusion", [1.0, 0.5]
        )


def test_a_zonal_state_with_a_neuron_is_stationary():
    """s F - kappa log rho is constant up to the cells' size, order h^2."""
    ranges = []
    for cells in (48, 96):
        zonal = mfpde.Zonal(8, cells)
        neuron = mfpde.Perceptron([np.eye(8)[-1]], [0.5], activation="gelu")
        equation = ascent(2.0, neuron)
        found = mfpde.continuation(
            equation, mfpde.uniform(zonal), "diffusion", [1.0, 0.5]
        )
        state = found.states[-1]
        assert state.density.total_mass == pytest.approx(1.0, abs=1e-14)
        field = state.equation.first_variation(state.density)
        ranges.append(np.ptp(field - 0.5 * np.log(state.density.values)))
    assert ranges[0] < 2e-3
    assert ranges[1] < ranges[0] / 3.5
