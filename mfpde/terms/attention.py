r"""Attention: the part of the first variation that depends on the measure.

    A[mu](x) = (1/beta) int K(x.y) dmu(y)          unnormalised
    A[mu](x) = (1/beta) log int K(x.y) dmu(y)      normalised (softmax)

with K = exp(beta (x.y - 1)) (``kernel="shifted"``) or exp(beta x.y) (``"unshifted"``),
and their common limit x . int y dmu at beta = 0 (Kuramoto).  With the matrices D = Q^T K of a
trained network's queries and keys, and V of its values, it is one of its heads:

    Z(x) = int exp(beta x.Dy - c) dmu(y),   m(x) = int y exp(beta x.Dy - c) dmu(y)
    v(x) = s P_x V m(x)             or, with softmax,   s P_x V m(x) / Z(x)

with c = beta |D|_2 in the shifted convention, 0 in the unshifted one.  For V = a D the drift is
the gradient of (a / beta) Z, or of (a / beta) log Z (paper, form B: Remarks 3.4, 5.2 and 6.2); if
D is symmetric too, without softmax, the flow is that of the energy (a / 2 beta) int Z dmu.
Otherwise there is none, and stationary states may rotate.  Inside, everything is in shifted form;
an unshifted kernel multiplies by e^c at the end, or adds c to the logarithm of softmax.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, choice, nearest, read_only, real_array
from mfpde.terms.exponential_kernel import Exponential
from mfpde.terms.interaction import InteractionTerm, Positions
from mfpde.terms.kernels import PointMasses

LARGEST_LOGIT = 1000.0
LARGEST_UNSHIFTED_LOGIT = 350.0
"""Whose exponentials and their squares are representable."""
PROPORTIONAL = 1e-14
"""Relative distance below which V counts as a multiple of D, and D as symmetric."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Attention(InteractionTerm):
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
        D, a matrix (d, d), singular or not: logits are beta x.Dy, and the shifted kernel is
        exp(beta (x.Dy - |D|_2)).  Without it D = V = I.
    value
        V, a matrix (d, d): what tokens send is V y.  Without it V = D, the gradient form.
        Several terms with matrices are the heads of one equation.
    positions
        Whom a token sees, of rows of densities (:class:`mfpde.PositionedDensity`) and of tokens in
        their order: :class:`Causal`, :class:`Full` or :class:`Weights`; all, without it.
    **others
        Refused: the error says what there is in place of ``heads``, ``mask`` and the like.

    A ``ValueError`` are a beta (beta |D|_2) outside [0, 1000], or above 350 with the unshifted
    kernel (e^beta and its square must be representable); a ``value`` without ``bilinear``, and
    matrices that are not square, of different sizes, or zero (D).
    """

    beta: float
    normalized: bool = False
    kernel: Literal["shifted", "unshifted"] = "shifted"
    bilinear: FloatArray | None = None
    value: FloatArray | None = None
    positions: Positions | None = None

    def __init__(
        self,
        beta: float,
        normalized: bool = False,
        kernel: Literal["shifted", "unshifted"] = "shifted",
        bilinear: ArrayLike | None = None,
        value: ArrayLike | None = None,
        positions: Positions | None = None,
        **others: object,
    ) -> None:
        for name in others:
            known = [field.name for field in fields(self)]
            raise ValueError(
                f"Attention has no argument {name!r}{nearest(name, known)}: it takes "
                f"{', '.join(known)}; several heads are several terms, "
                "MeanFieldEquation(Attention(...), Attention(...)), each token attends to all "
                "of a measure, and the dimension is that of the geometry"
            )
        if not isinstance(normalized, bool | np.bool_):
            raise ValueError(f"normalized = {normalized!r} must be True or False")
        keys, values = _read_square("bilinear", bilinear), _read_square("value", value)
        if keys is None and values is not None:
            raise ValueError(
                "value without bilinear: give both matrices, bilinear = identity for "
                "logits beta x.y"
            )
        if keys is not None and not keys.any():
            raise ValueError(
                "bilinear is zero: all logits are 0; use beta = 0 with bilinear = identity "
                "for tokens that count alike"
            )
        if keys is not None and values is not None and values.shape != keys.shape:
            raise ValueError(
                f"value has shape {values.shape} and bilinear {keys.shape}: both must be "
                "(d, d) with the same d"
            )
        given = {
            "beta": Exponential(beta).beta,
            "normalized": normalized,
            "kernel": choice("kernel", kernel, ("shifted", "unshifted")),
            "bilinear": keys,
            "value": values,
            "positions": _read_positions(positions),
        }
        for name, one in given.items():
            object.__setattr__(self, name, one)
        most = LARGEST_LOGIT if kernel == "shifted" else LARGEST_UNSHIFTED_LOGIT
        if self.shift > most:
            raise ValueError(
                f"{self._width_in_words} with kernel={kernel!r} must be at most {most:g}; "
                "unshifted is shifted with weights and diffusion times e^-beta and time times "
                "e^beta (softmax attention is the same under both)"
            )

    @property
    def is_zonal(self) -> bool:
        """Whether the kernel is a function of x.y alone: there are no matrices."""
        return self.bilinear is None

    @property
    def dimension(self) -> int | None:
        """Dimension d of the matrices; None without them."""
        return None if self.bilinear is None else len(self.bilinear)

    @property
    def keys_matrix(self) -> FloatArray:
        """The matrix D (d, d); ``ValueError`` if there is none."""
        if self.bilinear is None:
            raise ValueError(f"{self!r} has no matrices")
        return self.bilinear

    @property
    def values_matrix(self) -> FloatArray:
        """The matrix V (d, d), D itself where none was given."""
        return self.keys_matrix if self.value is None else self.value

    @cached_property
    def size(self) -> float:
        """The spectral norm |D|_2, so that logits lie within beta |D|_2."""
        return 1.0 if self.bilinear is None else float(np.linalg.norm(self.bilinear, 2))

    @cached_property
    def multiple(self) -> float | None:
        """The number a with V = a D; None if V is no multiple of D."""
        if self.value is None:
            return 1.0
        keys = self.keys_matrix
        factor = float((self.value * keys).sum() / (keys**2).sum())
        apart = float(np.abs(self.value - factor * keys).max())
        return factor if apart <= PROPORTIONAL * np.abs(self.value).max() else None

    @property
    def is_gradient(self) -> bool:
        """Whether the drift at a measure is a gradient: V is a multiple of D."""
        return self.multiple is not None

    @property
    def has_energy(self) -> bool:
        """Whether there is an energy: V is a multiple of D, and D is symmetric."""
        if self.bilinear is None:
            return True
        apart = float(np.abs(self.bilinear - self.bilinear.T).max())
        return self.is_gradient and apart <= PROPORTIONAL * self.size

    @cached_property
    def zonal_kernel(self) -> Exponential:
        """The shifted kernel W = K / beta, or x.y at beta = 0; of a head that of beta |D|_2."""
        return Exponential(self.shift)

    @property
    def needs_values(self) -> bool:
        """Whether a softmax divides by Z."""
        return self.normalized and self.beta > 0

    @property
    def shift(self) -> float:
        """The number c in exp(beta x.Dy - c) with shifted logits, beta |D|_2."""
        return self.beta * self.size

    @property
    def energy_amplitude(self) -> float:
        """Ratio of the kernel in the energy to the shifted one: e^c (unshifted) or 1."""
        return float(np.exp(self.shift)) if self.kernel == "unshifted" else 1.0

    @property
    def amplitude(self) -> float:
        """Ratio of the kernel in the field to the shifted one: e^c (unshifted) or 1."""
        return 1.0 if self.normalized else self.energy_amplitude

    @property
    def strength(self) -> float:
        """The largest speed at which a unit of mass pulls, |V|_2."""
        sent = 1.0 if self.is_zonal else float(np.linalg.norm(self.values_matrix, 2))
        return super().strength * sent

    @property
    def description(self) -> str:
        """The kind of the attention, its beta, matrices and whom it sees, in words."""
        kind = "normalised attention" if self.normalized else "attention"
        matrices = ", matrix D" if self.value is None else ", matrices D and V"
        others = "" if self.is_zonal else matrices
        others += f", {self.positions.description}" if self.positions else ""
        return f"{kind} (beta = {self.beta:g}{others})"

    @property
    def formula(self) -> str:
        """The kernel, of softmax what it acts in, in words, as outputs state the convention."""
        if self.needs_values and not self.is_zonal:
            return "drift V int exp(beta x.Dy) y dmu / int exp(beta x.Dy) dmu"
        logits, largest = ("x.y", "1") if self.is_zonal else ("x.Dy", "|D|")
        if self.kernel == "shifted":
            logits = f"({logits} - {largest})"
        softmax = f"A = (1/beta) log int exp(beta {logits}) dmu"
        return softmax if self.needs_values else f"K = exp(beta {logits})"

    @property
    def _width_in_words(self) -> str:
        words = f"beta = {self.beta:g}"
        return words if self.is_zonal else f"beta |bilinear| = {self.shift:g} ({words})"

    def check_dimension(self, dimension: int) -> None:
        """Raise ``ValueError`` unless the matrices are (``dimension``, ``dimension``)."""
        if self.dimension not in (None, dimension):
            raise ValueError(
                f"bilinear has shape {self.keys_matrix.shape}, but the measure lies on "
                f"S^{dimension - 1}: it must be ({dimension}, {dimension})"
            )

    def softmax_potential(self, log_mean: FloatArray) -> FloatArray:
        """The potential (a / beta) log Z from log Z of the shifted kernel; 0 without one."""
        offset = self.shift if self.kernel == "unshifted" else 0.0
        return np.asarray((self.multiple or 0.0) / self.beta * (log_mean + offset))

    def sums_over_atoms(
        self, points: FloatArray, atoms: PointMasses
    ) -> tuple[FloatArray, FloatArray]:
        """The potential (0 if there is none), and the sums V m, or V m / Z, by direct sums.

        With the largest logit taken out neither the quotient nor the logarithm underflows.
        """
        self.check_dimension(points.shape[-1])
        probes = points if self.is_zonal else points @ self.keys_matrix / self.size
        peaks, sums, vectors = self.zonal_kernel.scaled_sums(probes, atoms)
        sent = vectors if self.is_zonal else vectors @ self.values_matrix.T
        if self.needs_values:
            potential = self.softmax_potential(np.log(sums) + peaks)
            return potential, sent / sums[:, np.newaxis]
        scales = self.amplitude * np.exp(peaks)
        linear = self.size * (probes * vectors).sum(axis=-1)
        means = sums / self.beta if self.beta else linear
        potential = (self.multiple or 0.0) * scales * means
        return potential, sent * scales[:, np.newaxis]

    def energy_of_atoms(self, atoms: PointMasses) -> float:
        """The energy (a / 2 beta) iint exp(beta x.Dy - c) dmu dmu, of softmax that without it."""
        plain = replace(self, normalized=False)
        return super(Attention, plain).energy_of_atoms(atoms)

    def gradient_from(
        self, gradient: FloatArray, mean_kernel: FloatArray
    ) -> FloatArray:
        """The gradient grad A[mu] from that of int W dmu, which softmax divides by its values."""
        if not self.needs_values:
            return super().gradient_from(gradient, mean_kernel)
        return np.asarray(gradient / (self.beta * mean_kernel))

    def commutators(self, generators: FloatArray) -> FloatArray:
        """The changes (g, 2 d^2) of D and V under the rotations Omega (g, d, d).

        They are D Omega - Omega D and V Omega - Omega V, each relative to the matrix's norm.
        """
        given = self.keys_matrix, self.values_matrix
        tiny, turned = np.finfo(float).tiny, generators[:, np.newaxis]
        matrices = np.stack([m / max(np.linalg.norm(m, 2), tiny) for m in given])
        changes = matrices @ turned - turned @ matrices
        return np.asarray(changes.reshape(len(generators), -1))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        matrices = (self.bilinear, self.value)
        given = [(m.shape, m.tobytes()) for m in matrices if m is not None]
        return (self.beta, self.normalized, self.kernel, self.positions, *given)

    def __repr__(self) -> str:
        matrices = (("bilinear", self.bilinear), ("value", self.value))
        parts = [f"beta={self.beta!r}"]
        parts += [f"{k}={_format_matrix(m)}" for k, m in matrices if m is not None]
        parts += [f"normalized={self.normalized!r}", f"kernel={self.kernel!r}"]
        parts += [f"positions={self.positions!r}"] if self.positions else []
        return f"Attention({', '.join(parts)})"


def _read_square(name: str, matrix: ArrayLike | None) -> FloatArray | None:
    if matrix is None:
        return None
    found = real_array(name, matrix)
    if found.ndim != 2 or found.shape[0] != found.shape[1] or len(found) < 2:
        raise ValueError(
            f"{name} has shape {found.shape}: it must be a square matrix (d, d), d at least 2"
        )
    return read_only(np.ascontiguousarray(found))


def _read_positions(positions: Positions | None) -> Positions | None:
    if not isinstance(positions, Positions | None):
        raise ValueError(
            f"positions = {positions!r} must be Causal(...), Full() or Weights(...)"
        )
    return positions


def _format_matrix(matrix: FloatArray) -> str:
    """Return a small matrix in digits, of a large one its size."""
    if len(matrix) > 4:
        return f"<matrix {len(matrix)} x {len(matrix)}>"
    return str([[float(f"{entry:.6g}") for entry in row] for row in matrix])
