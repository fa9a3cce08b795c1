"""What ``mfpde theory`` prints: functions of :mod:`mfpde.theory` whose parameters are given."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from textwrap import indent
from typing import Any

import numpy as np

from mfpde import theory
from mfpde.equation import MeanFieldEquation
from mfpde.settings.base import NEEDED, Section, first_sentence
from mfpde.terms import Attention, Perceptron

OBJECTS = {"geometry", "start", "potential", "betas"}
"""Parameters of functions that are no matter of a line of words."""
ATTENTION = Section(Attention, needed=("beta",))
NEURONS = Section(Perceptron)
FORMS: dict[Callable[..., Any], dict[str, Any]] = {
    function: section.keys
    for function in map(theory.__dict__.get, theory.__all__)
    if inspect.isfunction(function)
    and not OBJECTS & set((section := Section(function)).keys)
}
"""The functions, with the defaults of their parameters by name."""
KEYS = {
    *(key for keys in FORMS.values() for key in keys if key != "equation"),
    *(*NEURONS.keys, "normalized", "kernel", "diffusion"),
}
"""All that may be given."""


def describe_facts(given: Mapping[str, Any]) -> str:
    """Return each function, the first sentence of what it is, and its value.

    What lacks parameters is listed at the end.
    """
    values = {"dimension": 2, "normalized": False, **given}
    equation = _equation_of(values)
    values["equation"] = equation
    lines, later = [f"{equation.description}, {equation.convention}", ""], []
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


def _equation_of(values: Mapping[str, Any]) -> MeanFieldEquation:
    """Return descent with the given attention, neurons and diffusion."""
    attention, neurons = (
        {key: values[key] for key in section.keys if key in values}
        for section in (ATTENTION, NEURONS)
    )
    terms = [ATTENTION.read(attention)]
    if neurons:
        terms.append(NEURONS.read(neurons))
        terms[1].check_dimension(values["dimension"])
    diffusion = values.get("diffusion", 0.0)
    return MeanFieldEquation(*terms, direction="descent", diffusion=diffusion)


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
