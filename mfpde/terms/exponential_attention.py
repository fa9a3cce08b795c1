r"""What attention is with and without matrices: sums of exp(beta x.Dy - c) over a measure.

    Z(x) = int exp(beta x.Dy - c) dmu(y),   m(x) = int y exp(beta x.Dy - c) dmu(y)
    F = (a / beta) Z  or, with softmax, (a / beta) log Z;   drift = P_x V m  or  P_x V m / Z

with V = a D and c = beta |D|_2 in the shifted convention, 0 in the unshifted one.  Inside,
everything is in shifted form; an unshifted, unnormalised kernel only multiplies by e^c at the
end, and adds c to the logarithm of softmax.
"""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import numpy as np

from mfpde.arrays import FloatArray, choice, real_number
from mfpde.terms.exponential_kernel import SMALLEST_BETA, Exponential, ScaledSums
from mfpde.terms.external import tangential
from mfpde.terms.interaction import FieldValues, InteractionTerm
from mfpde.terms.kernels import PointMasses

LARGEST_BETA = 1000.0
LARGEST_UNSHIFTED_BETA = 350.0
"""Largest beta |D|_2, whose exponentials and their squares are representable."""


class ExponentialAttention(InteractionTerm):
    """Attention with inverse temperature ``beta``; a subclass may have matrices D and V."""

    beta: float
    normalized: bool
    kernel: Literal["shifted", "unshifted"]

    def _check_options(self, logits: str, largest_beta: float = np.inf) -> None:
        """Raise ``ValueError`` for options of no attention; a tiny beta becomes 0.

        ``logits`` name the largest of them, beta |D|_2, in words.
        """
        beta = real_number("beta", self.beta, at_least=0.0, at_most=largest_beta)
        object.__setattr__(self, "beta", beta if beta >= SMALLEST_BETA else 0.0)
        if not isinstance(self.normalized, bool | np.bool_):
            raise ValueError(f"normalized = {self.normalized!r} must be True or False")
        choice("kernel", self.kernel, ("shifted", "unshifted"))
        if self.shift > LARGEST_BETA:
            raise ValueError(
                f"{logits} = {self.shift:g} must be at most {LARGEST_BETA:g}"
            )
        if self.kernel == "unshifted" and self.shift > LARGEST_UNSHIFTED_BETA:
            raise ValueError(
                f"{logits} = {self.shift:g} with kernel='unshifted' is too large: its exponential "
                f"and the square must be representable (at most {LARGEST_UNSHIFTED_BETA:g}); "
                "use kernel='shifted' with weights and diffusion times e^-beta and time "
                "times e^beta (softmax attention is the same under both)"
            )

    @property
    def size(self) -> float:
        """The spectral norm |D|_2, so that logits lie within beta |D|_2; 1 without D."""
        return 1.0

    @property
    def multiple(self) -> float | None:
        """The number a with V = a D; None if V is no multiple of D."""
        return 1.0

    def keys_product(self, points: FloatArray) -> FloatArray:
        """The vectors D^T x (..., d), whose products with y are the logits over beta."""
        return points

    def values_of(self, vectors: FloatArray) -> FloatArray:
        """The vectors V y (..., d)."""
        return vectors

    @cached_property
    def exponential(self) -> Exponential:
        """The kernel exp(beta (u - 1)) / beta, of products u of any size."""
        return Exponential(self.beta)

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
    def sharpness(self) -> float:
        """The inverse square beta |D|_2 of the length on which the kernel varies."""
        return self.shift

    @property
    def kind(self) -> str:
        """The kind of the attention, in words."""
        return "normalised attention" if self.normalized else "attention"

    def softmax_potential(self, log_mean: FloatArray) -> FloatArray:
        """The potential (a / beta) log Z from log Z of the shifted kernel; 0 without one."""
        offset = self.shift if self.kernel == "unshifted" else 0.0
        return np.asarray((self.multiple or 0.0) / self.beta * (log_mean + offset))

    def field_of_atoms(self, points: FloatArray, atoms: PointMasses) -> FieldValues:
        """The potential and the drift at ``points`` (n, d), by the direct sum over atoms.

        Values are 0 where the drift is no gradient.  With the largest logit taken out, neither
        the quotient nor the logarithm of softmax underflows.
        """
        logits, sums, vectors = found = self._scaled_sums(points, atoms)
        drift = tangential(self.values_of(vectors), points)
        if self.needs_values:
            values = self.softmax_potential(np.log(sums) + logits)
            return FieldValues(values, drift / sums[:, np.newaxis])
        drift *= (self.amplitude * np.exp(logits))[:, np.newaxis]
        means = self._mean_kernel(found, points, atoms)
        return FieldValues(self.amplitude * means, drift)

    def energy_of_atoms(self, atoms: PointMasses) -> float:
        """The energy (a / 2 beta) iint exp(beta x.Dy - c) dmu dmu; ``ValueError`` without one."""
        if not self.has_energy:
            raise ValueError(
                f"{self!r} has no energy: V is no multiple of D, or D is not symmetric"
            )
        points = atoms.points
        means = self._mean_kernel(self._scaled_sums(points, atoms), points, atoms)
        return float(self.energy_amplitude * (atoms.masses @ means) / 2)

    def _scaled_sums(self, points: FloatArray, atoms: PointMasses) -> ScaledSums:
        """Sums over atoms of exp(beta x.Dy - c) in the shifted convention."""
        # K = exp(beta (z.y - 1)) with z = D^T x, of any length.
        found = self.exponential.scaled_sums(self.keys_product(points), atoms)
        return found._replace(peaks=found.peaks + self.beta - self.shift)

    def _mean_kernel(
        self, found: ScaledSums, points: FloatArray, atoms: PointMasses
    ) -> FloatArray:
        """The values (a / beta) Z, at beta = 0 their limit a x.D int y dmu."""
        multiple = self.multiple or 0.0
        if self.beta == 0:
            mean = atoms.masses @ atoms.points
            return multiple * (self.keys_product(points) @ mean)
        return np.asarray(multiple / self.beta * np.exp(found.peaks) * found.sums)
