"""The terms of the first variation: interactions, perceptrons, any other potential.

An interaction (``interaction``) asks a zonal kernel (``kernels``) for values, slopes, spectrum
and bounds; attention (``attention``) is the exponential one, with matrices a head.  An external
term (``external``) answers its potential and drift at given points.
"""

from mfpde.terms.attention import Attention
from mfpde.terms.exponential_kernel import Exponential
from mfpde.terms.external import ExternalTerm, Potential
from mfpde.terms.interaction import Interaction, InteractionTerm, Positions
from mfpde.terms.kernels import Kernel, PointMasses, Polynomial, ZonalKernel
from mfpde.terms.perceptron import Perceptron

KERNELS: dict[str, type[Kernel]] = {
    "polynomial": Polynomial,
    "exponential": Exponential,
}
"""The kernels by the names that settings and stores have for them."""

__all__ = [
    "KERNELS",
    "Attention",
    "Exponential",
    "ExternalTerm",
    "Interaction",
    "InteractionTerm",
    "Kernel",
    "Perceptron",
    "PointMasses",
    "Polynomial",
    "Positions",
    "Potential",
    "ZonalKernel",
]
