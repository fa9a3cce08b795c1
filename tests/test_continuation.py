"""Branches of stationary states: exact events, symmetry, agreement with the flow."""

from __future__ import annotations

import numpy as np
import pytest
from equations import ascent, descent
from random_points import atoms_at
from scipy.optimize import brentq

import mfpde
from mfpde import theory
from validation.circle_cases import points_at
from validation.exact_facts.descent_ladder import half_angle

BETA = 10.0
CIRCLE, SPHERE = mfpde.Circle(96), mfpde.Sphere(32)


def events(result, kind):
    return [event for event in result.events if event.kind == kind]


@pytest.mark.parametrize("beta", [10.0, 30.0])
def test_the_ladder_of_one_neuron(beta):
    def bend(u):
        return np.exp(-beta * u) * (beta * (2 * u - u**2) + 1 - u) - 1

    second_split = np.exp(-beta * brentq(bend, 1e-3, 1.0, xtol=1e-15))
    weights = [0.8, 0.5, 0.25]
    neuron = mfpde.Perceptron(points_at([np.pi / 4]), [-1.0])
    half = half_angle(weights[0], beta)
    halves = atoms_at([np.pi / 4 - half, np.pi / 4 + half])
    found = mfpde.continuation(descent(beta, neuron), halves, "weight_scale", weights)
    splits = events(found, "split")
    assert len(splits) == 2
    for event in splits:
        assert event.value == pytest.approx(second_split, abs=1e-8)
        assert event.after > event.before
    for weight, state in zip(weights, found.states, strict=True):
        angles = np.arctan2(*state.atoms.points.T[::-1]) - np.pi / 4
        half = half_angle(weight, beta)
        np.testing.assert_allclose(np.sort(angles), [-half, half], atol=1e-12)
    assert found.residuals.max() <= 1e-14


@pytest.mark.parametrize(
    ("dimension", "side", "expected"),
    [(2, 0.0, 1), (3, 0.0, 2), (3, 0.2, 1), (4, 0.0, 3)],
)
def test_a_split_says_in_how_many_directions_it_may_go(dimension, side, expected):
    """An atom on the axis of all neurons has equal curvatures all around, and stays whole."""
    directions = np.eye(dimension)[[0, 0]] + np.outer(
        [side, -side], np.eye(dimension)[1]
    )
    neurons = mfpde.Perceptron(directions, [-0.5, -0.5])
    start = mfpde.Atoms(np.eye(dimension)[:1])
    equation = descent(BETA, neurons)
    found = mfpde.continuation(equation, start, "weight_scale", [1.3, 0.9])
    assert [len(state.atoms) for state in found.states] == [1, 1]
    first = found.events[0]
    assert first.kind == "split"
    assert first.after > first.before
    np.testing.assert_allclose(first.points, start.points, atol=1e-8)
    assert first.dimension == expected
    assert (f"of {expected} directions" in str(first)) == (expected > 1)
    assert first.value == pytest.approx(1 / (1 - side**2), abs=1e-8)


@pytest.mark.parametrize("masses", [[0.5, 0.5], [0.3, 0.7]])
def test_atoms_meet_where_the_united_one_has_no_rate(masses):
    """Masses m and 1 - m: both on a, united, at |w| = 1 whatever m."""
    scaled = descent(BETA, mfpde.Perceptron(points_at([np.pi / 4]), [-0.5]))
    start = mfpde.polish(scaled, atoms_at([0.4, 1.0], masses), max_move=1.0)
    assert start.converged
    values = [1.0, 1.6, 2.0, 2.4]
    found = mfpde.continuation(scaled, start.atoms, "weight_scale", values)
    (merge,) = events(found, "merge")
    assert merge.value == pytest.approx(2.0, abs=1e-8)
    np.testing.assert_allclose(merge.points, points_at([np.pi / 4]), atol=1e-8)
    assert [len(state.atoms) for state in found.states] == [2, 2, 1, 1]
    assert found.is_complete
    np.testing.assert_array_equal(found.values, values)


def test_two_atoms_meet_their_antipodal_arrangement_at_a_pitchfork():
    """V = w cos^2 / 2 bends by -w at both: rates w, and w - (that of two free atoms).

    The branch that begins where antipodal atoms become unstable is followed back.
    """
    weight, values = 0.3, [0.1, 1.0, 2.0]

    def rate(beta):
        return weight + theory.equispaced_rates(beta, 2, direction="descent")[1]

    neuron = mfpde.Perceptron([[1.0, 0.0]], [weight], activation="linear")
    equation = descent(1.0, neuron)
    pair = mfpde.Atoms([[1.0, 0.0], [-1.0, 0.0]])
    there = mfpde.continuation(equation, pair, "beta", values)
    (begins,) = there.events
    assert begins.value == pytest.approx(brentq(rate, 0.1, 2.0, xtol=1e-14), abs=1e-8)
    assert (begins.before, begins.after) == (1, 2)
    beside = atoms_at([0.6, np.pi - 0.6])
    start = mfpde.polish(descent(2.0, neuron), beside, max_move=1.0)
    back = mfpde.continuation(equation, start.atoms, "beta", values[::-1])
    *earlier, pitchfork = back.events
    assert pitchfork.kind == "pitchfork"
    assert pitchfork.value == pytest.approx(begins.value, abs=1e-8)
    assert (pitchfork.before, pitchfork.after) == (1, 1)
    # At cosine c they rest where e^(beta (c - 1)) = w: orthogonal, c = 0, they gain a motion.
    assert [e.value for e in earlier] == pytest.approx([-np.log(weight)], abs=1e-8)
    assert back.is_complete
    one, other = back.states[-1].atoms.points
    assert one @ other == pytest.approx(-1.0)


def test_a_branch_is_followed_through_its_fold():
    """Atoms at +-t: |w| = e^(beta (cos 2t - 1)) c / (c - b), c = cos t, bias -b."""
    beta, bias = 5.0, 0.5

    def weight(c):
        return np.exp(2 * beta * (c**2 - 1)) * c / (c - bias)

    fold = brentq(lambda c: 4 * beta * c**2 * (c - bias) - bias, bias, 1.0, xtol=1e-15)
    start = 0.9
    neuron = mfpde.Perceptron([[1.0, 0.0]], [-1.0], activation="linear", biases=[-bias])
    pair = atoms_at([-np.arccos(start), np.arccos(start)])
    wanted = np.linspace(weight(start), weight(fold) * 0.9, 5)
    # Two values beside the fold: the branch passes them on both sides within a step.
    wanted = np.sort([*wanted, weight(fold) * 1.0002, weight(fold) * 1.002])[::-1]
    found = mfpde.continuation(descent(beta, neuron), pair, "weight_scale", wanted)
    (event,) = events(found, "fold")
    assert event.value == pytest.approx(weight(fold), abs=1e-8)
    np.testing.assert_allclose(event.points[:, 0], fold, atol=1e-6)
    assert not found.is_complete
    assert "came back" in found.reason
    for value, state in zip(found.values, found.states, strict=True):
        assert weight(state.atoms.points[0, 0]) == pytest.approx(value, rel=1e-11)
    cosines = [state.atoms.points[0, 0] for state in found.states]
    assert (np.diff(cosines) < 0).all()
    assert cosines[-1] < fold < cosines[0]
    (lost,) = events(found, "stability")
    lines = {one.get_gid(): one for one in mfpde.plot_continuation(found).axes[0].lines}
    dashed = np.cos(np.pi * lines["unstable branch"].get_ydata())
    ends = lost.points[0, 0], found.path[-1].points[0, 0]
    assert (dashed.max(), dashed.min()) == pytest.approx(ends, abs=1e-6)


@pytest.mark.parametrize(
    ("beta", "grid", "shares"),
    [
        (1.0, CIRCLE, [1.3, 1.1, 0.8, 0.7]),
        (4.0, CIRCLE, [1.3, 1.1, 0.8, 0.7]),
        (0.5, SPHERE, [1.05, 0.95]),
    ],
)
def test_the_uniform_state_loses_stability_at_the_critical_diffusion(
    beta, grid, shares
):
    """With all harmonics of degree one."""
    d = grid.dimension
    critical = theory.critical_diffusion(beta, d)
    kappas = critical * np.array(shares)
    found = mfpde.continuation(ascent(beta), mfpde.uniform(grid), "diffusion", kappas)
    losses = events(found, "stability")[:d]
    np.testing.assert_allclose([loss.value for loss in losses], critical, atol=1e-10)
    assert all(loss.dimension == d for loss in losses)
    assert all(loss.points.shape == (0, d) for loss in losses)
    counts = [state.unstable_dimension for state in found.states]
    assert [count >= d for count in counts] == [share < 1 for share in shares]
    assert max(state.order for state in found.states) < 1e-12
    assert found.residuals.max() < 1e-12


@pytest.mark.parametrize("diffusion", [0.0, 0.6])
def test_the_last_value_may_be_the_end_of_the_range(diffusion):
    equation = ascent(1.0, diffusion=diffusion)
    start = mfpde.uniform(mfpde.Circle(64))
    if diffusion == 0:
        start = mfpde.Atoms(np.eye(2)[:1])
    found = mfpde.continuation(equation, start, "beta", [1.0, 0.5, 0.0])
    np.testing.assert_array_equal(found.values, [1.0, 0.5, 0.0])
    assert found.is_complete
