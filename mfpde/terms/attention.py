r"""Attention: the part of the first variation that depends on the measure.

    A[mu](x) = (1/beta) int K(x.y) dmu(y)          unnormalised
    A[mu](x) = (1/beta) log int K(x.y) dmu(y)      normalised (softmax)

with K = exp(beta (x.y - 1)) (``kernel="shifted"``) or exp(beta x.y) (``"unshifted"``),
and their common limit x . int y dmu at beta = 0 (Kuramoto).  Inside, everything is in
shifted form; an unshifted, unnormalised kernel only multiplies by e^beta at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from mfpde.arrays import FloatArray, choice, real_number
from mfpde.geometry import Geometry
from mfpde.terms.base import tangential
from mfpde.terms.direct_sum import kernel_sums
from mfpde.terms.funk_hecke import band_limit, counted_eigenvalues, eigenvalues

LARGEST_BETA = 1000.0
# Below it K / beta is x.y (up to a constant) to more digits than there are, and 1 / beta
# is soon not representable.
SMALLEST_BETA = 1e-100
LARGEST_UNSHIFTED_BETA = 350.0
RESOLVED_TOLERANCE = 1e-10
SOFTMAX_FLOOR = 1e-13


@dataclass(frozen=True)
class Attention:
    """Attention with inverse temperature ``beta`` from 0 to 1000.

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

    Raises
    ------
    ValueError
        If beta is outside [0, 1000], or above 350 with the unshifted, unnormalised
        kernel (e^beta and its square must be representable).
    """

    beta: float
    normalized: bool = False
    kernel: Literal["shifted", "unshifted"] = "shifted"

    def __post_init__(self) -> None:
        beta = real_number("beta", self.beta, at_least=0.0, at_most=LARGEST_BETA)
        object.__setattr__(self, "beta", beta if beta >= SMALLEST_BETA else 0.0)
        if not isinstance(self.normalized, bool | np.bool_):
            raise ValueError(f"normalized = {self.normalized!r} must be True or False")
        choice("kernel", self.kernel, ("shifted", "unshifted"))
        if self.kernel == "unshifted" and beta > LARGEST_UNSHIFTED_BETA:
            raise ValueError(
                f"beta = {beta:g} with kernel='unshifted' is too large: e^beta and its "
                f"square must be representable (beta at most {LARGEST_UNSHIFTED_BETA:g}); "
                "use kernel='shifted' with weights and diffusion times e^-beta and time "
                "times e^beta (softmax attention is the same under both)"
            )

    @property
    def energy_amplitude(self) -> float:
        """Ratio of K to the shifted kernel: e^beta (unshifted) or 1."""
        is_unshifted = self.kernel == "unshifted" and self.beta > 0
        return float(np.exp(self.beta)) if is_unshifted else 1.0

    @property
    def amplitude(self) -> float:
        """Factor from the field of the shifted kernel to this attention's: e^beta or 1."""
        return 1.0 if self.normalized else self.energy_amplitude

    def band_limit(self, geometry: Geometry) -> int:
        """Degree L_beta beyond which the interaction is below rounding.

        Raises
        ------
        ValueError
            If the grid does not resolve the kernel; the message names one that does.
        """
        needed = band_limit(self.beta, geometry.dimension, RESOLVED_TOLERANCE)
        if geometry.max_degree < needed:
            raise ValueError(
                f"{geometry!r} is too coarse for beta = {self.beta:g}, whose kernel has "
                f"degrees up to {needed}: it needs {geometry.cells_for_degree(needed)}"
            )
        return min(band_limit(self.beta, geometry.dimension), geometry.max_degree)

    def interaction_spectrum(
        self, dimension: int, degree: int, *, counted: bool = False
    ) -> FloatArray:
        """Eigenvalues of K/beta (shifted), degrees 0..degree; at beta = 0 those of x.y.

        With ``counted`` each is multiplied by D_l, the number of harmonics of its degree.
        """
        if self.beta == 0:
            limit = np.zeros(degree + 1)
            limit[1] = 1.0 if counted else 1.0 / dimension
            return limit
        if counted:
            return counted_eigenvalues(self.beta, dimension, degree) / self.beta
        return eigenvalues(self.beta, dimension, degree) / self.beta

    @property
    def _uses_logarithm(self) -> bool:
        return self.normalized and self.beta > 0

    def potential_from(self, mean_kernel: FloatArray) -> FloatArray:
        """Potential A[mu] from the values of (1/beta) int K dmu (shifted kernel)."""
        if self._uses_logarithm:
            offset = 1.0 if self.kernel == "unshifted" else 0.0
            total = np.maximum(self.beta * mean_kernel, SOFTMAX_FLOOR)
            return np.asarray(np.log(total) / self.beta + offset)
        return self.amplitude * mean_kernel

    def gradient_from(
        self, gradient: FloatArray, mean_kernel: FloatArray | None
    ) -> FloatArray:
        """The gradient grad A[mu] from that of the mean kernel (1/beta) int K dmu.

        Softmax needs the values ``mean_kernel`` of the mean kernel too, which must broadcast
        against ``gradient``.
        """
        if self._uses_logarithm:
            if mean_kernel is None:
                raise ValueError("softmax needs the values of the mean kernel")
            return np.asarray(
                gradient / np.maximum(self.beta * mean_kernel, SOFTMAX_FLOOR)
            )
        return gradient if self.amplitude == 1.0 else self.amplitude * gradient

    @property
    def needs_values(self) -> bool:
        """Whether the gradient needs the values of the mean kernel too (softmax)."""
        return self._uses_logarithm

    def field_of_atoms(
        self, points: FloatArray, atoms: tuple[FloatArray, FloatArray]
    ) -> tuple[FloatArray, FloatArray]:
        """A[mu] and its tangential gradient at ``points`` by the direct sum over atoms.

        Parameters
        ----------
        points
            Unit vectors, shape (n, d).
        atoms
            Points (m, d) and masses (m,).

        Returns
        -------
        Values (n,) and gradients (n, d).
        """
        atom_points, masses = atoms
        if self.beta == 0:
            mean = masses @ atom_points
            return points @ mean, tangential(
                np.broadcast_to(mean, points.shape), points
            )
        peaks, sums, vectors = kernel_sums(points, atom_points, masses, self.beta)
        if self._uses_logarithm:
            offset = 1.0 if self.kernel == "unshifted" else 0.0
            values = (peaks + np.log(sums)) / self.beta + offset
            return values, tangential(vectors / sums[:, np.newaxis], points)
        scale = self.amplitude * np.exp(peaks)
        return (
            scale * sums / self.beta,
            tangential(scale[:, np.newaxis] * vectors, points),
        )

    def energy_of_atoms(self, atoms: tuple[FloatArray, FloatArray]) -> float:
        """Energy (1/(2 beta)) iint K dmu dmu of atoms, by the direct sum."""
        points, masses = atoms
        if self.beta == 0:
            mean = masses @ points
            return float(mean @ mean / 2)
        peaks, sums, _ = kernel_sums(points, points, masses, self.beta)
        mean_kernel = np.exp(peaks) * sums / self.beta
        return float(self.energy_amplitude * (masses @ mean_kernel) / 2)
