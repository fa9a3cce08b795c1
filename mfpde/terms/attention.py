r"""Attention: the part of the first variation that depends on the measure.

    A[mu](x) = (1/beta) int K(x.y) dmu(y)          unnormalised
    A[mu](x) = (1/beta) log int K(x.y) dmu(y)      normalised (softmax)

with K = exp(beta (x.y - 1)) (``kernel="shifted"``) or exp(beta x.y) (``"unshifted"``),
and their common limit x . int y dmu at beta = 0 (Kuramoto).
"""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, nearest
from mfpde.terms.exponential_attention import LARGEST_BETA, ExponentialAttention
from mfpde.terms.exponential_kernel import Exponential
from mfpde.terms.head import Head
from mfpde.terms.interaction import ZonalTerm
from mfpde.terms.kernels import PointMasses

_HEADS = (
    "several heads are several terms: MeanFieldEquation(Attention(...), Attention(...))"
)
_MASK = "each token attends to all: a measure has no order that a mask could follow"
_DIMENSION = "its dimension is that of the geometry, or of bilinear"
_OTHERS = {
    **dict.fromkeys(("heads", "num_heads", "n_heads"), _HEADS),
    **dict.fromkeys(("mask", "causal", "is_causal", "attn_mask"), _MASK),
    **dict.fromkeys(("d", "dim", "dimension", "embed_dim"), _DIMENSION),
}
"""What networks have and Attention has not, and what is to be done."""


@dataclass(frozen=True)
class Attention(ExponentialAttention, ZonalTerm):
    """Attention with inverse temperature ``beta`` from 0 to 1000.

    Begin with ``Attention(5.0)``.

    Parameters
    ----------
    beta
        Inverse temperature; 0 is the Kuramoto limit, and values below 1e-100 count as 0.
    normalized
        Whether attention is normalised (softmax).
    kernel
        ``"shifted"``, K = exp(beta (x.y - 1)), the kernel of the paper's simulations;
        ``"unshifted"``, K = exp(beta x.y), that of its theorems.  With a perceptron or
        diffusion the two give different equations: shifted(beta, w, kappa, t) =
        unshifted(beta, w e^beta, kappa e^beta, t e^-beta). Normalised attention is the
        same under both.
    bilinear
        D, a matrix (d, d): logits are beta x.Dy, and the shifted kernel is
        exp(beta (x.Dy - |D|_2)).  Without it D = V = I.
    value
        V, a matrix (d, d): what tokens send is V y.  Without it V = D, the gradient form.
        With either matrix the result is a :class:`mfpde.terms.head.Head`; several of them
        in one equation are its heads.
    **others
        Refused: the error says what there is in place of ``heads``, ``mask`` and the like.

    Raises
    ------
    ValueError
        If beta (beta |D|_2) is outside [0, 1000], or above 350 with the unshifted kernel
        (e^beta and its square must be representable); for a ``value`` without ``bilinear``,
        or matrices that do not fit.
    """

    beta: float
    normalized: bool = False
    kernel: Literal["shifted", "unshifted"] = "shifted"
    bilinear: InitVar[ArrayLike | None] = None
    value: InitVar[ArrayLike | None] = None

    def __new__(  # noqa: D102 - the class says it
        cls,
        beta: float = 0.0,
        normalized: bool = False,
        kernel: Literal["shifted", "unshifted"] = "shifted",
        bilinear: ArrayLike | None = None,
        value: ArrayLike | None = None,
        **others: object,
    ) -> Any:
        for name in others if cls is Attention else ():
            known = ("beta", "normalized", "kernel", "bilinear", "value")
            raise ValueError(
                f"Attention has no argument {name!r}{nearest(name, known)}: "
                f"{_OTHERS.get(name, 'it takes ' + ', '.join(known))}"
            )
        if bilinear is None:
            return super().__new__(cls)
        matrix: Any = bilinear
        return Head(beta, matrix, value, normalized, kernel)  # type: ignore[arg-type]

    def __post_init__(
        self, bilinear: ArrayLike | None, value: ArrayLike | None
    ) -> None:
        del bilinear
        if value is not None:
            raise ValueError(
                "value without bilinear: give both matrices, bilinear = identity for "
                "logits beta x.y"
            )
        self._check_options("beta", LARGEST_BETA)

    @property
    def zonal_kernel(self) -> Exponential:
        """The shifted kernel W = K / beta, or x.y at beta = 0."""
        return self.exponential

    @property
    def description(self) -> str:
        """The kind of the attention and its beta, in words."""
        return f"{self.kind} (beta = {self.beta:g})"

    @property
    def formula(self) -> str:
        """The kernel, of softmax A[mu], in words, as every output states the convention."""
        shifted = self.kernel == "shifted"
        kernel = "exp(beta (x.y - 1))" if shifted else "exp(beta x.y)"
        if self.needs_values:
            return f"A = (1/beta) log int {kernel} dmu"
        return f"K = {kernel}"

    @property
    def _named(self) -> str:
        return f"beta = {self.beta:g}"

    def gradient_from(
        self, gradient: FloatArray, mean_kernel: FloatArray | None
    ) -> FloatArray:
        """The gradient grad A[mu] from that of the mean kernel (1/beta) int K dmu.

        Softmax divides by the values ``mean_kernel`` of the mean kernel, which must be positive
        and broadcast against ``gradient``; ``ValueError`` without them.
        """
        if not self.needs_values:
            return super().gradient_from(gradient, mean_kernel)
        if mean_kernel is None:
            raise ValueError("softmax needs the values of the mean kernel")
        return np.asarray(gradient / (self.beta * mean_kernel))

    def pull_between_atoms(self, atoms: PointMasses) -> FloatArray:
        """Gradients (n, d) of A[mu] at the atoms themselves, to all their digits."""
        if not self.needs_values:
            return super().pull_between_atoms(atoms)
        totals, pulls = self.zonal_kernel.attraction(atoms)
        return np.asarray(pulls / totals[:, np.newaxis])
