"""The minimiser along a parameter: exact events, and the certificate on both sides of each."""

from __future__ import annotations

import numpy as np
import pytest

import mfpde

CIRCLE = mfpde.Circle(256)


def descent(beta, *terms):
    return mfpde.MeanFieldEquation(mfpde.Attention(beta), *terms, direction="descent")


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


def potential_floor(minimum, point):
    """F at a point less its value at the atoms."""
    field = minimum.equation.first_variation(minimum.atoms, np.atleast_2d(point))
    return float(field[0] - minimum.equation.first_variation(minimum.atoms)[0])


def test_an_atom_is_born_where_the_field_comes_down_to_its_floor():
    """On the side of fewer atoms F at the new place is above the floor by the way to the event."""
    values = [0.4, 0.3]
    found = mfpde.follow_minimizer(one_neuron(), CIRCLE, "weight_scale", values)
    (event,) = found.events
    assert event.kind == "birth"
    np.testing.assert_allclose(event.points, [[0.6, 0.8]], atol=1e-6)
    ways, floors = np.array([1e-3, 2e-3]), []
    for way in ways:
        scaled = mfpde.Perceptron([[0.6, 0.8]], [-(event.value + way)])
        minimum = mfpde.minimize(descent(10.0, scaled), CIRCLE)
        assert len(minimum.atoms) == 2
        floors.append(potential_floor(minimum, event.points[0]))
    slopes = np.polyfit(ways, floors, 1)
    # The parabola that is left out grows with the square of the way: 1.2e-3 at .01.
    assert -slopes[1] / slopes[0] == pytest.approx(0.0, abs=3e-5)
    assert slopes[0] > 0


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


def test_a_minimiser_that_is_a_density_changes_its_kind():
    neurons = mfpde.Perceptron(np.eye(2), [0.02, -0.02], "linear")
    found = mfpde.follow_minimizer(
        descent(4.0, neurons), CIRCLE, "weight_scale", [1.0, 0.5]
    )
    assert [minimum.kind for minimum in found.states] == ["density", "density"]
    assert not found.events


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("diffusion", [1.0, 2.0]), "parameter"),
        (("beta", [1.0]), "at least two"),
        (("beta", [1.0, -2.0]), "beta = -2"),
    ],
)
def test_bad_input_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        mfpde.follow_minimizer(one_neuron(), CIRCLE, *arguments)
