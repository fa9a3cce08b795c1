"""The terms of the first variation: attention, perceptron, any other potential."""

from mfpde.terms.attention import Attention
from mfpde.terms.base import ExternalTerm
from mfpde.terms.perceptron import Perceptron
from mfpde.terms.potential import Potential

__all__ = ["Attention", "ExternalTerm", "Perceptron", "Potential"]
