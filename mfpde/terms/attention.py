r"""Attention: the part of the first variation that depends on the measure.

    A[mu](x) = (1/beta) int K(x.y) dmu(y)          unnormalised
    A[mu](x) = (1/beta) log int K(x.y) dmu(y)      normalised (softmax)

with K = exp(beta (x.y - 1)) (``kernel="shifted"``) or exp(beta x.y) (``"unshifted"``),
and their common limit x . int y dmu at beta = 0 (Kuramoto).  With the matrices D = Q^T K of a
trained network's queries and keys, and V of its values, it is one of its heads:

    Z(x) = int exp(beta x.Dy - c) dmu(y),   m(x) = int y exp(beta x.Dy - c) dmu(y)
    v(x) = s P_x V m(x)             or, with softmax,   s P_x V m(x) / Z(x)

with c = beta |D|_2 in the shifted convention, 0 in the unshifted one.  A bias of the queries adds
w.y to the logits, which are beta z.y at z = D^T x + w / beta then, and |w| to c.  For V = a D the
drift is the gradient of (a / beta) Z, or of (a / beta) log Z (paper, form B: Remarks 3.4, 5.2 and
6.2); if D is symmetric too, w = 0 and there is no softmax, (a / 2 beta) int Z dmu is an energy.
Otherwise there is none, and stationary states may rotate.  Inside, everything is in shifted form;
an unshifted kernel multiplies by e^c at the end, or adds c to the logarithm of softmax.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, check_kind, choice, nearest
from mfpde.terms.exponential_kernel import Exponential, sum_exponentials
from mfpde.terms.external import check_entries_of_points
from mfpde.terms.head_matrices import (
    Matrix,
    format_array,
    multiply,
    read_matrices,
    spectral_norm,
    split_matrix,
)
from mfpde.terms.interaction import InteractionTerm, Positions
from mfpde.terms.kernels import PointMasses

LARGEST_LOGITS = {"shifted": 1000.0, "unshifted": 350.0}
"""Whose exponentials and their squares are representable, by the ``kernel``."""
PROPORTIONAL = 1e-14
"""Relative distance below which V counts as a multiple of D, and D as symmetric."""


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Attention(InteractionTerm):
    """Attention with inverse temperature ``beta``.

    Begin with ``Attention(5.0)``.

    Parameters
    ----------
    beta
        Inverse temperature; 0 is the Kuramoto limit, and values below 1e-100 count as 0.
    normalized
        Whether attention is normalised (softmax).
    kernel
        ``"shifted"``, K = exp(beta (x.y - 1)), the kernel of the paper's simulations;
        ``"unshifted"``, K = exp(beta x.y), that of its theorems.  Beside neurons or diffusion,
        shifted(beta, w, kappa, t) = unshifted(beta, w e^beta, kappa e^beta, t e^-beta).
    bilinear
        D, a matrix (d, d), or a pair of factors (d, r) and (r, d), ``(Q.T, K)``, for their
        product: logits are beta x.Dy.  Without it D = V = I.
    value
        V, likewise: what tokens send is V y.  Without it V = D, the gradient form.  Several
        terms with matrices are the heads of one equation.
    source
        w, a vector (d,), of a head whose queries have a bias: logits are beta x.Dy + w.y, each
        token counts e^(w.y) times, and there is no energy.
    positions
        Whom a token sees, of rows of densities (:class:`mfpde.PositionedDensity`) and of tokens in
        their order: :class:`Causal`, :class:`Full` or :class:`Weights`; all, without it.
    **others
        Refused: the error says what there is in place of ``heads``, ``mask`` and the like.

    A ``ValueError`` are a beta below 0; beta |D|_2 + |w| above 1000 (a shifted softmax of
    particles apart) or, with the unshifted kernel, 350 (e^beta and its square must be numbers); a
    ``value`` or ``source`` without ``bilinear``, a ``source`` at beta = 0; and matrices that are
    not square, of different sizes, or zero (D).
    """

    beta: float
    normalized: bool = False
    kernel: Literal["shifted", "unshifted"] = "shifted"
    bilinear: Matrix | None = None
    value: Matrix | None = None
    source: FloatArray | None = None
    positions: Positions | None = None

    def __init__(
        self,
        beta: float,
        normalized: bool = False,
        kernel: Literal["shifted", "unshifted"] = "shifted",
        bilinear: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
        value: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
        source: ArrayLike | None = None,
        positions: Positions | None = None,
        **others: object,
    ) -> None:
        known = [field.name for field in fields(self)]
        for name in others:
            raise ValueError(
                f"Attention has no argument {name!r}{nearest(name, known)}: it takes "
                f"{', '.join(known)}; several heads are several terms, "
                "MeanFieldEquation(Attention(...), Attention(...)), each token attends to all "
                "of a measure, and the dimension is that of the geometry"
            )
        if not isinstance(normalized, bool | np.bool_):
            raise ValueError(f"normalized = {normalized!r} must be True or False")
        if positions is not None:
            kinds = "Causal(...), Full() or Weights(...)"
            check_kind("positions", positions, Positions, source=kinds)
        exponent = Exponential(beta).beta
        convention = choice("kernel", kernel, LARGEST_LOGITS)
        matrices = read_matrices(bilinear, value, source, beta=beta)
        given = (exponent, normalized, convention, *matrices, positions)
        vars(self).update(zip(known, given, strict=True))
        self._derive_facts()
        self._put_in_words()

    def _put_in_words(self) -> None:
        """Set what outputs say of the term; a formula states the convention."""
        parts = [f"beta = {self.beta:g}"]
        if not self.is_zonal:
            parts += ["matrix D" if self.value is None else "matrices D and V"]
        parts += [] if self.source is None else ["source w"]
        parts += [self.positions.description] if self.positions else []
        kind = "normalised attention" if self.normalized else "attention"
        product, largest = ("x.y", "1") if self.is_zonal else ("x.Dy", "|D|")
        weight, most = ("", "") if self.source is None else (" + w.y", " - |w|")
        kernel = f"exp(beta {product}{weight})"
        softmax = f"drift V int {kernel} y dmu / int {kernel} dmu"
        if self.kernel == "shifted":
            kernel = f"exp(beta ({product} - {largest}){weight}{most})"
        if self.is_zonal:
            softmax = f"A = (1/beta) log int {kernel} dmu"
        formula = softmax if self.needs_values else f"K = {kernel}"
        vars(self).update(description=f"{kind} ({', '.join(parts)})", formula=formula)

    def _derive_facts(self) -> None:
        """Set what follows from the arguments; ``ValueError`` if logits are too large."""
        facts, is_shifted = vars(self), self.kernel == "shifted"
        facts["is_zonal"] = self.bilinear is None
        facts["needs_values"] = self.normalized and self.beta > 0
        size = "beta |bilinear|" + ("" if self.source is None else " + |source|")
        words = f"beta = {self.beta:g}"
        facts["width"] = (
            words if self.is_zonal else f"{size} = {self.shift:g} ({words})"
        )
        most = LARGEST_LOGITS[self.kernel]
        if self.shift > most and not (self.needs_values and is_shifted):
            raise ValueError(
                f"{self.width} with kernel={self.kernel!r} must be at most {most:g}; "
                "unshifted is shifted with weights and diffusion times e^-beta and time times "
                "e^beta (softmax attention is the same under both)"
            )
        facts["zonal_kernel"] = Exponential(self.shift)
        facts["energy_amplitude"] = 1.0 if is_shifted else float(np.exp(self.shift))
        facts["amplitude"] = 1.0 if self.normalized else self.energy_amplitude
        facts["is_gradient"] = self.multiple is not None
        facts["has_energy"] = self.is_zonal
        if not self.is_zonal and self.is_gradient and self.source is None:
            apart = np.abs(self.keys_matrix - self.keys_matrix.T).max()
            facts["has_energy"] = bool(apart <= PROPORTIONAL * self.size)

    @property
    def _matrices(self) -> tuple[Matrix, Matrix]:
        """D and V as they were given; ``ValueError`` if there are none."""
        if self.bilinear is None:
            raise ValueError(f"{self!r} has no matrices")
        return self.bilinear, self.bilinear if self.value is None else self.value

    @property
    def dimension(self) -> int | None:
        """Dimension d of the matrices; None without them."""
        return None if self.bilinear is None else len(split_matrix(self.bilinear)[0])

    @property
    def keys_matrix(self) -> FloatArray:
        """The matrix D (d, d); ``ValueError`` if there is none."""
        return multiply(self._matrices[0])

    @property
    def values_matrix(self) -> FloatArray:
        """The matrix V (d, d), D itself where none was given."""
        return multiply(self._matrices[1])

    @cached_property
    def size(self) -> float:
        """The largest length |D|_2 + |w| / beta of z, so that logits lie within beta times it."""
        if self.is_zonal:
            return 1.0
        return spectral_norm(self._matrices[0]) + float(np.linalg.norm(self.weight))

    @property
    def shift(self) -> float:
        """The number c = beta |D|_2 + |w| in exp(beta x.Dy + w.y - c) with shifted logits."""
        return self.beta * self.size

    @property
    def weight(self) -> FloatArray:
        """The vector w / beta (d,), 0 without a source weight."""
        if self.source is None:
            return np.zeros(self.dimension or 0)
        return self.source / self.beta

    def probes(self, points: FloatArray) -> FloatArray:
        """The vectors z = D^T x + w / beta at ``points`` x (..., d): logits are beta z.y."""
        return points @ self.keys_matrix + self.weight

    @cached_property
    def multiple(self) -> float | None:
        """The number a with V = a D; None if V is no multiple of D."""
        if self.value is None:
            return 1.0
        keys, values = self.keys_matrix, self.values_matrix
        factor = float((values * keys).sum() / (keys**2).sum())
        apart = float(np.abs(values - factor * keys).max())
        return factor if apart <= PROPORTIONAL * np.abs(values).max() else None

    @property
    def strength(self) -> float:
        """The largest speed at which a unit of mass pulls, |V|_2."""
        return super().strength * (
            1.0 if self.is_zonal else spectral_norm(self._matrices[1])
        )

    def check_dimension(self, dimension: int) -> None:
        """Raise ``ValueError`` unless the matrices are (``dimension``, ``dimension``)."""
        check_entries_of_points("rows of bilinear have", self.dimension, dimension)

    def softmax_potential(self, log_mean: FloatArray) -> FloatArray:
        """The potential (a / beta) log Z from log Z of the shifted kernel; 0 without one."""
        offset = self.shift if self.kernel == "unshifted" else 0.0
        return np.asarray((self.multiple or 0.0) / self.beta * (log_mean + offset))

    def sums_over_atoms(
        self, points: FloatArray, atoms: PointMasses
    ) -> tuple[FloatArray, FloatArray]:
        """The potential (0 if there is none), and the sums V m, or V m / Z, by direct sums."""
        self.check_dimension(points.shape[-1])
        peaks, sums, vectors = self._sum_logits(points, atoms)
        if self.needs_values:
            potential = self.softmax_potential(np.log(sums) + peaks)
            return potential, vectors / sums[:, np.newaxis]
        scales = self.amplitude * np.exp(peaks)
        vectors *= scales[:, np.newaxis]
        if self.beta == 0:
            return self.is_gradient * (points * vectors).sum(axis=-1), vectors
        return (self.multiple or 0.0) * scales * sums / self.beta, vectors

    def _sum_logits(
        self, points: FloatArray, atoms: PointMasses
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The largest logits less c, and beside them the sums Z and V m over ``atoms``."""
        queries, keys, values = points, atoms.points, atoms.points
        with np.errstate(divide="ignore"):
            log_masses = np.log(atoms.masses)
        if not self.is_zonal:
            log_masses = log_masses + keys @ (self.beta * self.weight)
            (left, right), (output, sent) = map(split_matrix, self._matrices)
            queries, keys, values = points @ left, keys @ right.T, keys @ sent.T
        queries = self.beta * queries
        peaks, sums, vectors = sum_exponentials(queries, keys, log_masses, values)
        vectors = vectors if self.is_zonal else vectors @ output.T
        return peaks - self.shift, sums, vectors

    def energy_of_atoms(self, atoms: PointMasses) -> float:
        """The energy (a / 2 beta) iint exp(beta x.Dy - c) dmu dmu, of softmax that without it."""
        if not self.needs_values:
            return super().energy_of_atoms(atoms)
        peaks, sums, _ = self._sum_logits(atoms.points, atoms)
        total = self.energy_amplitude * float(atoms.masses @ (np.exp(peaks) * sums))
        return (self.multiple or 0.0) * total / (2 * self.beta)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @cached_property
    def _identity(self) -> tuple[object, ...]:
        given = (self.beta, self.normalized, self.kernel, self.positions)
        if self.bilinear is None:
            return given
        arrays = self.keys_matrix, self.values_matrix, self.weight
        return (*given, *(array.tobytes() for array in arrays))

    def __repr__(self) -> str:
        arrays = {name: getattr(self, name) for name in ("bilinear", "value", "source")}
        parts = [f"beta={self.beta!r}"]
        parts += [f"{k}={format_array(m)}" for k, m in arrays.items() if m is not None]
        parts += [f"normalized={self.normalized!r}", f"kernel={self.kernel!r}"]
        parts += [f"positions={self.positions!r}"] if self.positions else []
        return f"Attention({', '.join(parts)})"
