"""One ReLU neuron in descent: one atom, two, three; and when two dissolve."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

import mfpde
from mfpde.plotting.palette import MUTED
from validation import independent
from validation.circle_cases import angles_of, points_at, wrapped
from validation.claim import Claim, Findings, at_least, at_most, equal, vanishes
from validation.drawing import compare_curves
from validation.exact_facts.runs import descent

CLAIM = Claim(
    title="One ReLU neuron in descent: one atom, two, three",
    source="Theorem 3.1 made explicit for one neuron, shifted kernel (derived here)",
    statement=(
        "V = w relu(a.x)^2/2, w < 0. |w| >= 1: one atom at a. Below: two at +-t from a, "
        "cos 2t = 1 + log|w|/beta. They are the minimiser until F(a) comes down to F(+-t), "
        "and dissolve when a part of an atom leaves it: s Hess F >= 0, at |w| = e^(-beta u), "
        "e^(-beta u)(beta (2u - u^2) + 1 - u) = 1."
    ),
)
AXIS = np.pi / 4


def equation_of(weight: float, beta: float) -> mfpde.MeanFieldEquation:
    """One neuron of weight -|w| in descent."""
    neuron = mfpde.Perceptron([points_at(AXIS)], [-weight])
    return descent(mfpde.Attention(beta), neuron)


def minimiser(weight: float, beta: float) -> mfpde.Atoms:
    """The certified minimiser."""
    found = mfpde.minimize(equation_of(weight, beta), mfpde.Circle(256))
    return found.measure  # type: ignore[return-value]


def half_angle(weight: float, beta: float) -> float:
    """The angle t of the claim."""
    return 0.0 if weight >= 1 else float(np.arccos(1 + np.log(weight) / beta) / 2)


def third_atom_weight(beta: float) -> float:
    """|w| = e^(-beta u) at which F(a) = F(+-t)."""

    def excess(u: float) -> float:
        weight = np.exp(-beta * u)
        middle = np.exp(beta * (np.sqrt(1 - u / 2) - 1)) / beta - weight / 2
        return middle - ((1 + weight) / (2 * beta) - weight * (1 - u / 2) / 2)

    return float(np.exp(-beta * brentq(excess, 0.3 / beta, 3 / beta, xtol=1e-15)))


def split_weight(beta: float) -> float:
    """|w| at which s Hess F vanishes at the two atoms."""

    def bend(u: float) -> float:
        return np.exp(-beta * u) * (beta * (2 * u - u**2) + 1 - u) - 1

    return float(np.exp(-beta * brentq(bend, 1e-3, 1.0, xtol=1e-15)))


def split_rate(weight: float, beta: float) -> float:
    """Rate at which a part leaves an atom of the polished pair."""
    angles = AXIS + 1.001 * half_angle(weight, beta) * np.array([-1.0, 1.0])
    found = mfpde.polish(equation_of(weight, beta), mfpde.Atoms(points_at(angles)))
    return float(found.split_rates[0, 0])


def independent_gap(weight: float, beta: float, atoms: mfpde.Atoms) -> float:
    """int F dmu - min F over 20000 angles, by ``validation.independent``."""
    problem = independent.problem_of(equation_of(weight, beta))
    at = np.concatenate([atoms.points, points_at(2 * np.pi * np.arange(20000) / 20000)])
    field = independent.first_variation(problem, atoms.points, atoms.masses, at=at)
    return float(atoms.masses @ field[: len(atoms.masses)] - field.min())


@CLAIM
def main(_quick: bool = False) -> Findings:
    for beta in (10.0, 30.0):
        third, split = third_atom_weight(beta), split_weight(beta)
        for weight in (1.3, 0.8, 0.5 * (third + 0.8), 0.5 * third):
            found = minimiser(weight, beta)
            name = f"beta = {beta:g}, |w| = {weight:.3g}: "
            if weight > third:
                half = half_angle(weight, beta)
                pair = mfpde.Atoms(points_at(AXIS + half * np.array([-1.0, 1.0])))
                away = mfpde.wasserstein(found, pair)
                yield vanishes(f"{name}W1 of the minimiser to the formula", away, 1e-9)
            gap = independent_gap(weight, beta, found)
            text = f"{name}duality gap of the minimiser by independent formulas"
            yield vanishes(text, gap, 1e-11, certificate=True)
        name = f"beta = {beta:g}: "
        for shift, count in ((-1e-7, 3), (1e-7, 2)):
            text = f"{name}minimiser's atoms at {shift:+g} from the third atom's |w|"
            found = minimiser(third + shift, beta)
            yield equal(text, len(found.masses), count, 0)
        text = f"{name}split rate of a polished pair {{}} where it dissolves"
        yield at_least(text.format("1e-8 below"), split_rate(split - 1e-8, beta), 0)
        yield at_most(text.format("1e-8 above"), split_rate(split + 1e-8, beta), 0)
        text = f"{name}a pair that dissolves is no minimiser"
        yield at_most(text, split, third, subject="formula")
    beta, weights = 10.0, np.linspace(0.1, 1.2, 40)
    # With three atoms the outer ones are not the pair of the formula.
    found = [
        wrapped(angles_of(minimiser(w, beta).points) - AXIS).max() for w in weights
    ]
    halves = [half_angle(w, beta) for w in weights]
    curves = {f"β = {beta:g} (dotted: F(a) = F(±t))": (weights, found, weights, halves)}
    figure = compare_curves(curves, xlabel="|w|", ylabel="largest angle from a")
    figure.axes[0].axvline(third_atom_weight(beta), color=MUTED, ls=":")
    yield "ladder", figure
