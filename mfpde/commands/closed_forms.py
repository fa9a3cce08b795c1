"""What ``mfpde theory`` prints: functions of :mod:`mfpde.theory` whose parameters are given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from textwrap import indent
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mfpde import theory
from mfpde.arrays import whole_number
from mfpde.equation import MeanFieldEquation
from mfpde.settings.base import NEEDED, Section, default, first_sentence
from mfpde.terms import Attention, Perceptron

OBJECTS = {"geometry", "start", "potential", "betas"}
"""Parameters of functions that are no matter of a line of words."""


def equation_of(
    beta: float,
    dimension: int = 2,
    normalized: bool = default(Attention, "normalized"),
    kernel: str = default(Attention, "kernel"),
    diffusion: float = default(MeanFieldEquation, "diffusion"),
    directions: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    activation: str = default(Perceptron, "activation"),
    biases: ArrayLike | None = None,
) -> MeanFieldEquation:
    """Return descent with these parameters."""
    whole_number("dimension", dimension, at_least=2)
    kind: Any = kernel
    terms: list[Any] = [Attention(beta, normalized=normalized, kernel=kind)]
    if (directions is None) != (weights is None):
        raise ValueError("directions and weights of a perceptron go together")
    if directions is not None and weights is not None:
        terms.append(Perceptron(directions, weights, activation, biases=biases))
        terms[1].check_dimension(dimension)
    return MeanFieldEquation(*terms, direction="descent", diffusion=diffusion)


EQUATION = Section(equation_of)
FORMS: dict[Callable[..., Any], dict[str, Any]] = {
    function: section.keys
    for function in map(theory.__dict__.get, theory.__all__)
    if inspect.isfunction(function)
    and not OBJECTS & set((section := Section(function)).keys)
}
"""The functions, with the defaults of their parameters by name."""
KEYS = dict.fromkeys(
    [*EQUATION.keys, *(key for keys in FORMS.values() for key in keys)]
)
"""All that may be given."""


def describe_facts(given: Mapping[str, Any]) -> str:
    """Return each function, the first sentence of what it is, and its value.

    What lacks parameters is listed at the end.
    """
    of_equation = {
        key: value
        for key, value in given.items()
        if key in EQUATION.keys or key not in KEYS
    }
    equation = EQUATION.read(of_equation)
    values = {**of_equation, **given, "equation": equation}
    lines = [f"{equation.description}, {equation.convention}", ""]
    later = []
    for function, keys in FORMS.items():
        name = function.__name__
        if values["normalized"] and not {"normalized", "equation"} & set(keys):
            # It is about unnormalised attention.
            continue
        if missing := [k for k in keys if keys[k] is NEEDED and k not in values]:
            later.append(f"  {name}: needs {', '.join(missing)}")
            continue
        chosen = {key: values[key] for key in keys if key in values}
        lines.append(f"{name}: {first_sentence(function)}")
        lines.append(indent(_value_of(function, chosen), "    "))
    return "\n".join(
        [*lines, "", "with more parameters, as in degrees=[1,2,3]:", *later]
    )


def _value_of(function: Callable[..., Any], chosen: Mapping[str, Any]) -> str:
    """Return a fact in words; where its hypotheses fail, which of them."""
    try:
        value = function(**chosen)
    except ValueError as error:
        if "equation" not in chosen:
            raise
        return f"does not apply: {error}"
    match value:
        case None:
            return "no bound"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.6g}"
        case theory.NonDegeneracy() | theory.StrictStability():
            return "holds" if value.holds else "fails"
        case np.ndarray():
            return "  ".join(f"{one:.6g}" for one in np.atleast_1d(value))
    return str(value)
