"""The equation with one of its parameters changed."""

from __future__ import annotations

from functools import lru_cache

from mfpde.equation import MeanFieldEquation
from mfpde.terms import Attention, ExternalTerm, Perceptron

PARAMETERS = ("beta", "weight_scale", "diffusion")


@lru_cache(maxsize=32)
def equation_at(
    equation: MeanFieldEquation, parameter: str, value: float
) -> MeanFieldEquation:
    """Return the equation with ``parameter`` at ``value``.

    The parameter is ``"beta"`` of the only attention, ``"diffusion"``, or ``"weight_scale"``, a
    factor to the given weights of all perceptrons.
    """
    diffusion = value if parameter == "diffusion" else equation.diffusion
    terms = [_changed(term, parameter, value) for term in equation.terms]
    return MeanFieldEquation(*terms, direction=equation.direction, diffusion=diffusion)


def check_parameter(equation: MeanFieldEquation, parameter: str) -> None:
    """Raise ``ValueError`` if the equation has no such parameter."""
    if parameter == "beta" and len(equation.attentions) != 1:
        raise ValueError(
            f"parameter = 'beta': the equation has {len(equation.attentions)} attention "
            "terms; it must have one"
        )
    perceptrons = [t for t in equation.externals if isinstance(t, Perceptron)]
    if parameter == "weight_scale" and not perceptrons:
        raise ValueError(
            "parameter = 'weight_scale': the equation has no perceptron whose weights could "
            "be scaled"
        )


def _changed(
    term: Attention | ExternalTerm, parameter: str, value: float
) -> Attention | ExternalTerm:
    if parameter == "beta" and isinstance(term, Attention):
        return Attention(value, term.normalized, term.kernel)
    if parameter == "weight_scale" and isinstance(term, Perceptron):
        return Perceptron(
            term.directions,
            value * term.weights,
            term.activation,
            biases=term.biases,
        )
    return term
