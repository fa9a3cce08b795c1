r"""A head of attention with matrices: logits beta x.Dy and values V y.

    v(x) = s P_x V m(x)             or, with softmax,   s P_x V m(x) / Z(x)
    Z(x) = int exp(beta x.Dy - c) dmu(y),   m(x) = int y exp(beta x.Dy - c) dmu(y)

with D = Q^T K of a trained network's queries and keys, and c = beta |D|_2 in the shifted
convention, 0 in the unshifted one.  For V = a D the drift is the gradient of (a / beta) Z, or
of (a / beta) log Z (paper, form B: Remarks 3.4, 5.2 and 6.2); if D is symmetric too, without
softmax, the flow is that of the energy (a / 2 beta) iint exp(beta x.Dy - c) dmu dmu.  Otherwise
there is none, and stationary states may rotate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, read_only, real_array
from mfpde.terms.exponential_attention import ExponentialAttention
from mfpde.terms.kernels import PointMasses

PROPORTIONAL = 1e-14
"""Relative distance below which V counts as a multiple of D, and D as symmetric."""


@dataclass(frozen=True, eq=False, repr=False)
class Head(ExponentialAttention):
    """One head: what ``Attention(beta, bilinear=D, value=V)`` is.

    Parameters
    ----------
    beta
        Inverse temperature, at least 0; at 0 all tokens count alike.
    bilinear
        D, a matrix (d, d), singular or not; logits are beta x.Dy.
    value
        V, a matrix (d, d); None for V = D, the gradient form.
    normalized, kernel
        As for :class:`mfpde.Attention`; the shifted kernel is exp(beta (x.Dy - |D|_2)).

    Raises
    ------
    ValueError
        If matrices are not square, or of different sizes, or zero (D); if beta |D|_2 is above
        1000, or above 350 with the unshifted kernel.
    """

    beta: float
    bilinear: FloatArray
    value: FloatArray | None = None
    normalized: bool = False
    kernel: Literal["shifted", "unshifted"] = "shifted"

    def __post_init__(self) -> None:
        bilinear = _check_square("bilinear", self.bilinear)
        object.__setattr__(self, "bilinear", bilinear)
        if self.value is not None:
            value = _check_square("value", self.value)
            if value.shape != bilinear.shape:
                raise ValueError(
                    f"value has shape {value.shape} and bilinear {bilinear.shape}: both "
                    "must be (d, d) with the same d"
                )
            object.__setattr__(self, "value", value)
        if not bilinear.any():
            raise ValueError(
                "bilinear is zero: all logits are 0; use beta = 0 with bilinear = identity "
                "for tokens that count alike"
            )
        self._check_options("beta |bilinear|")

    @property
    def dimension(self) -> int:
        """Dimension d of the space of tokens."""
        return len(self.bilinear)

    @property
    def values_matrix(self) -> FloatArray:
        """The matrix V (d, d), D itself where none was given."""
        return self.bilinear if self.value is None else self.value

    @cached_property
    def size(self) -> float:
        """The spectral norm |D|_2, so that logits lie within beta |D|_2."""
        return float(np.linalg.norm(self.bilinear, 2))

    @cached_property
    def multiple(self) -> float | None:
        """The number a with V = a D; None if V is no multiple of D."""
        if self.value is None:
            return 1.0
        factor = float((self.value * self.bilinear).sum() / (self.bilinear**2).sum())
        apart = float(np.abs(self.value - factor * self.bilinear).max())
        return factor if apart <= PROPORTIONAL * np.abs(self.value).max() else None

    @property
    def is_gradient(self) -> bool:
        """Whether the drift at a measure is a gradient: V is a multiple of D."""
        return self.multiple is not None

    @property
    def has_energy(self) -> bool:
        """Whether there is an energy: V is a multiple of D, and D is symmetric."""
        apart = np.abs(self.bilinear - self.bilinear.T).max()
        return self.is_gradient and bool(apart <= PROPORTIONAL * self.size)

    @property
    def strength(self) -> float:
        """The largest speed at which a unit of mass pulls, |V|_2."""
        return self.amplitude * float(np.linalg.norm(self.values_matrix, 2))

    @property
    def description(self) -> str:
        """The kind of the head and its beta, in words."""
        matrices = "matrix D" if self.value is None else "matrices D and V"
        return f"{self.kind} (beta = {self.beta:g}, {matrices})"

    @property
    def formula(self) -> str:
        """The kernel, of softmax the drift before it is made tangent, in words."""
        if self.needs_values:
            return "drift V int exp(beta x.Dy) y dmu / int exp(beta x.Dy) dmu"
        shifted = self.kernel == "shifted"
        return "K = exp(beta (x.Dy - |D|))" if shifted else "K = exp(beta x.Dy)"

    def check_dimension(self, dimension: int) -> None:
        """Raise ``ValueError`` unless the matrices are (``dimension``, ``dimension``)."""
        if self.dimension != dimension:
            raise ValueError(
                f"bilinear has shape {self.bilinear.shape}, but the measure lies on "
                f"S^{dimension - 1}: it must be ({dimension}, {dimension})"
            )

    def keys_product(self, points: FloatArray) -> FloatArray:
        """The vectors D^T x (..., d), whose products with y are the logits over beta."""
        self.check_dimension(points.shape[-1])
        return np.asarray(points @ self.bilinear)

    def values_of(self, vectors: FloatArray) -> FloatArray:
        """The vectors V y (..., d)."""
        return np.asarray(vectors @ self.values_matrix.T)

    def pull_between_atoms(self, atoms: PointMasses) -> FloatArray:
        """Drifts (n, d) at the atoms themselves, an atom's own P_x V x included."""
        return self.field_of_atoms(atoms.points, atoms).gradient

    def commutators(self, generators: FloatArray) -> FloatArray:
        """The changes (g, 2 d^2) of D and V under the rotations Omega (g, d, d).

        They are D Omega - Omega D and V Omega - Omega V, each relative to the matrix's norm.
        """
        changes = []
        for matrix in (self.bilinear, self.values_matrix):
            size = max(float(np.linalg.norm(matrix, 2)), np.finfo(float).tiny)
            change = (matrix @ generators - generators @ matrix) / size
            changes.append(change.reshape(len(generators), -1))
        return np.concatenate(changes, axis=1)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Head) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        given = None if self.value is None else self.value.tobytes()
        matrices = (self.bilinear.shape, self.bilinear.tobytes(), given)
        return (self.beta, self.normalized, self.kernel, *matrices)

    def __repr__(self) -> str:
        parts = [f"beta={self.beta:g}", f"bilinear={_format_matrix(self.bilinear)}"]
        if self.value is not None:
            parts.append(f"value={_format_matrix(self.value)}")
        if self.normalized:
            parts.append("normalized=True")
        if self.kernel != "shifted":
            parts.append(f"kernel={self.kernel!r}")
        return f"Attention({', '.join(parts)})"


def _check_square(name: str, matrix: ArrayLike) -> FloatArray:
    found = real_array(name, matrix)
    if found.ndim != 2 or found.shape[0] != found.shape[1] or len(found) < 2:
        raise ValueError(
            f"{name} has shape {found.shape}: it must be a square matrix (d, d), d at least 2"
        )
    return read_only(np.ascontiguousarray(found))


def _format_matrix(matrix: FloatArray) -> str:
    if len(matrix) > 4:
        return f"<matrix {len(matrix)} x {len(matrix)}>"
    return str([[float(f"{entry:.6g}") for entry in row] for row in matrix])
