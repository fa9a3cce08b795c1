"""The terms of the first variation: interactions, perceptrons, any other potential.

An interaction (``interaction``) asks a zonal kernel (``kernels``) for values, slopes, spectrum
and bounds; attention (``attention``) is the exponential one, a head (``head``) that with
matrices.  An external term (``base``)
answers its potential and drift at given points.
"""

from mfpde.terms.attention import Attention
from mfpde.terms.exponential_kernel import Exponential
from mfpde.terms.external import ExternalTerm, Potential
from mfpde.terms.head import Head
from mfpde.terms.interaction import Interaction, InteractionTerm, ZonalTerm
from mfpde.terms.kernels import Kernel, PointMasses, ZonalKernel
from mfpde.terms.named_kernels import Onsager, Polynomial, Power, Sigmoid
from mfpde.terms.perceptron import Perceptron

__all__ = [
    "Attention",
    "Exponential",
    "ExternalTerm",
    "Head",
    "Interaction",
    "InteractionTerm",
    "Kernel",
    "Onsager",
    "Perceptron",
    "PointMasses",
    "Polynomial",
    "Potential",
    "Power",
    "Sigmoid",
    "ZonalKernel",
    "ZonalTerm",
]
