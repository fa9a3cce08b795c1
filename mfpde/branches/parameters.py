"""The parameters of an equation in which its stationary states are followed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, choice, real_array
from mfpde.equation import MeanFieldEquation
from mfpde.terms import Attention, ExternalTerm, InteractionTerm

OF_ATOMS = ("beta", "weight_scale")
PARAMETERS = (*OF_ATOMS, "diffusion")


@lru_cache(maxsize=32)
def equation_at(
    equation: MeanFieldEquation, parameter: str, value: float
) -> MeanFieldEquation:
    """Return the equation with ``parameter`` at ``value``.

    The parameter is ``"beta"`` of the only attention, ``"diffusion"``, or ``"weight_scale"``, a
    factor to the given weights of all perceptrons.  One that the equation does not have, and a
    value out of its range, are a ``ValueError``.
    """
    diffusion = value if parameter == "diffusion" else equation.diffusion
    changed: dict[InteractionTerm | ExternalTerm, InteractionTerm | ExternalTerm] = {}
    if parameter == "beta":
        # A head with its matrices too.
        attentions = [t for t in equation.interactions if isinstance(t, Attention)]
        if len(attentions) != 1:
            raise ValueError(
                f"parameter = 'beta': the equation has {len(attentions)} attention terms; "
                "it must have one"
            )
        changed[attentions[0]] = replace(attentions[0], beta=value)
    if parameter == "weight_scale":
        if not equation.perceptrons:
            raise ValueError(
                "parameter = 'weight_scale': the equation has no perceptron whose weights "
                "could be scaled"
            )
        changed |= {
            term: term.layer.scaled(value)
            for term in equation.externals
            if term.layer is not None
        }
    terms = [changed.get(term, term) for term in equation.terms]
    return MeanFieldEquation(*terms, direction=equation.direction, diffusion=diffusion)


def check_values(
    equation: MeanFieldEquation,
    parameter: str,
    values: ArrayLike,
    allowed: Sequence[str] = PARAMETERS,
) -> FloatArray:
    """Return at least two values, monotone, of an ``allowed`` parameter; else ``ValueError``."""
    choice("parameter", parameter, allowed)
    numbers = real_array("values", values)
    steps = np.diff(numbers) if numbers.ndim == 1 else np.zeros(0)
    if not (len(steps) and ((steps > 0).all() or (steps < 0).all())):
        raise ValueError(
            f"values of shape {numbers.shape} must be at least two numbers, increasing or "
            "decreasing"
        )
    if parameter == "diffusion" and numbers.min() <= 0:
        raise ValueError(
            f"values: the diffusion {numbers.min():g} must be above 0; without diffusion the "
            "stationary states are atoms, to be followed in beta or weight_scale"
        )
    for k in (0, -1):
        try:
            equation_at(equation, parameter, float(numbers[k]))
        except ValueError as error:
            raise ValueError(f"values[{k % len(numbers)}]: {error}") from error
    return numbers
