"""The section [interaction] of a settings file: a kernel of x.y, of the kind that it names.

[interaction]  kind = "polynomial", coefficients
               kind = "onsager", width
               kind = "power", exponent, width
               kind = "sigmoid", slope_of_logits, offset
               kind = "bounded_confidence", radius, width
               kind = "exponential", beta
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import SkipValidation

from mfpde.settings.base import BuildingSection, Real, default
from mfpde.terms import Exponential, Interaction
from mfpde.terms.named_kernels import Onsager, Polynomial, Power, Sigmoid


class KernelSection(BuildingSection):
    """[interaction]: the kernel W of :class:`mfpde.Interaction`."""

    kind: str

    def build(self) -> Interaction:
        """Return the term."""
        given = {name: value for name, value in self if name != "kind"}
        return Interaction(KERNELS[self.kind](**given))


class PolynomialSection(KernelSection):
    """[interaction] with kind = "polynomial"."""

    kind: Literal["polynomial"] = "polynomial"
    coefficients: SkipValidation[list[float]]


class OnsagerSection(KernelSection):
    """[interaction] with kind = "onsager"."""

    kind: Literal["onsager"] = "onsager"
    width: Real = default(Onsager, "width")


class PowerSection(KernelSection):
    """[interaction] with kind = "power": W = |u|^exponent, smoothed."""

    kind: Literal["power"] = "power"
    exponent: Real
    width: Real = default(Power, "width")


class SigmoidSection(KernelSection):
    """[interaction] with kind = "sigmoid"."""

    kind: Literal["sigmoid"] = "sigmoid"
    slope_of_logits: Real
    offset: Real = default(Sigmoid, "offset")


class BoundedConfidenceSection(KernelSection):
    """[interaction] with kind = "bounded_confidence": see :meth:`mfpde.Sigmoid.within`."""

    kind: Literal["bounded_confidence"] = "bounded_confidence"
    radius: Real
    width: Real

    def build(self) -> Interaction:
        """Return the term."""
        return Interaction(Sigmoid.within(self.radius, self.width))


class ExponentialSection(KernelSection):
    """[interaction] with kind = "exponential": W = exp(beta (u - 1)) / beta."""

    kind: Literal["exponential"] = "exponential"
    beta: Real


KERNELS: dict[str, Any] = {
    "polynomial": Polynomial,
    "onsager": Onsager,
    "power": Power,
    "sigmoid": Sigmoid,
    "exponential": Exponential,
}
KERNEL_KINDS: dict[str, type[KernelSection]] = {
    "polynomial": PolynomialSection,
    "onsager": OnsagerSection,
    "power": PowerSection,
    "sigmoid": SigmoidSection,
    "bounded_confidence": BoundedConfidenceSection,
    "exponential": ExponentialSection,
}
