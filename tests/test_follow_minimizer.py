"""The minimiser along a parameter: exact events, and the certificate on both sides of each."""

from __future__ import annotations

import numpy as np
import pytest
from equations import descent
from scipy.optimize import brentq

import mfpde

CIRCLE = mfpde.Circle(256)


def one_neuron(beta=10.0):
    return descent(beta, mfpde.Perceptron([[0.6, 0.8]], [-1.0]))


@pytest.mark.parametrize("values", [[1.2, 0.9, 0.7], [0.7, 0.9, 1.2]])
def test_one_atom_splits_where_the_neuron_is_as_strong_as_the_repulsion(values):
    found = mfpde.follow_minimizer(one_neuron(), CIRCLE, "weight_scale", values)
    (event,) = found.events
    is_down = values[0] > values[-1]
    assert event.kind == ("split" if is_down else "merge")
    assert (event.before, event.after) == ((1, 2) if is_down else (2, 1))
    assert event.value == pytest.approx(1.0, abs=2e-6)
    np.testing.assert_allclose(event.points, [[0.6, 0.8]] * 2, atol=0.1)
    firsts = [float(line.split()[0]) for line in str(found).splitlines()[3:]]
    assert firsts == sorted(firsts, reverse=is_down)
    assert str(event) in str(found)


def test_an_atom_is_born_where_the_field_comes_down_to_its_floor():
    """F(a) = F(+-t), |w| = e^(-beta u), cos 2t = 1 - u."""
    beta = 10.0

    def excess(u):
        weight = np.exp(-beta * u)
        middle = np.exp(beta * (np.sqrt(1 - u / 2) - 1)) / beta - weight / 2
        beside = (1 + weight) / (2 * beta) - weight * (1 - u / 2) / 2
        return middle - beside

    exact = np.exp(-beta * brentq(excess, 0.3 / beta, 3 / beta, xtol=1e-15))
    found = mfpde.follow_minimizer(one_neuron(), CIRCLE, "weight_scale", [0.4, 0.3])
    (event,) = found.events
    assert event.kind == "birth"
    np.testing.assert_allclose(event.points, [[0.6, 0.8]], atol=1e-6)
    assert event.value == pytest.approx(exact, abs=2e-6)
    scaled = mfpde.Perceptron([[0.6, 0.8]], [-(exact - 1e-3)])
    three = mfpde.minimize(descent(beta, scaled), CIRCLE)
    assert len(three.atoms) == 3
    assert 0 < three.atoms.masses.min() < 0.1


def test_masses_are_those_of_minima_and_change_with_beta():
    neurons = mfpde.Perceptron.random(3, 2, seed=3, activation="gelu").scaled(0.3)
    values = [4.0, 6.0, 8.0]
    found = mfpde.follow_minimizer(descent(1.0, neurons), CIRCLE, "beta", values)
    np.testing.assert_array_equal(found.values, values)
    for beta, minimum in zip(values, found.states, strict=True):
        alone = mfpde.minimize(descent(beta, neurons), CIRCLE)
        assert minimum.energy == pytest.approx(alone.energy, abs=1e-12)
        assert minimum.gap <= 1e-12
    counts = [len(minimum.atoms) for minimum in found.states]
    changes = [event.after - event.before for event in found.events]
    assert counts[-1] - counts[0] == sum(changes)
    assert all(event.kind == "death" for event in found.events)
    # Beside a death the masses of the others stay, that of the dying one goes to zero.
    event = found.events[-1]
    for way, few in ((1e-3, event.after), (-1e-3, event.before)):
        beside = mfpde.minimize(descent(event.value + way, neurons), CIRCLE)
        assert len(beside.atoms) == few
    assert beside.atoms.masses.min() < 1e-3


def test_a_minimiser_that_is_a_density_has_no_events():
    neurons = mfpde.Perceptron(np.eye(2), [0.02, -0.02], "linear")
    found = mfpde.follow_minimizer(
        descent(4.0, neurons), CIRCLE, "weight_scale", [1.0, 0.5]
    )
    assert [minimum.kind for minimum in found.states] == ["density", "density"]
    assert not found.events
