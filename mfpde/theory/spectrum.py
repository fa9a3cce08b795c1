r"""The uniform state: eigenvalues of the interaction, growth of small perturbations.

With respect to the uniform probability on S^(d-1), \int K(x.y) Y_l(y) dsigma = lambda_l Y_l
with

    lambda_l = Gamma(d/2) (2/beta)^(d/2-1) I_(l+d/2-1)(beta)        K = exp(beta x.y)

(Funk-Hecke; paper, Lemma 5.1), times e^(-beta) for the shifted kernel.  A perturbation
mu = sigma (1 + eps Y_l) of the uniform state, which is stationary without external terms,
then grows at the rate

    s l (l + d - 2) lambda_l / beta - kappa l (l + d - 2)            unnormalised
    s l (l + d - 2) lambda_l / (beta lambda_0) - kappa l (l + d - 2) normalised

(first line: Bruno, Pasqualotto & Agazzi, ICLR 2025, arXiv 2410.23228, without diffusion;
the rest is the same linearisation, done here).  At beta = 0, lambda_l / beta is 1/d for
l = 1 and 0 for l > 1.

With diffusion, in ascent and without external terms, there is a phase transition: the uniform
state is stable for kappa > kappa_# and loses stability below

    kappa_# = max over l >= 1 of lambda_l / beta = lambda_1 / beta,

lambda_l decreasing in l.  The transition is continuous (ordered states appear with small
amplitude, below kappa_# only) iff beta <= beta_*, the solution of

    I_(d/2+1)(beta_*) / I_(d/2)(beta_*) = 1/d;

above it ordered states exist on both sides of kappa_#: hysteresis (Mun & Rosenzweig, arXiv
2604.16288 and 2606.05140, unnormalised attention).  For softmax kappa_# is the same
linearisation, done here; nothing is claimed about its continuity.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mfpde.arrays import FloatArray, IntArray, real_number
from mfpde.geometry.circle import angles_of
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure
from mfpde.terms import Attention, Exponential, Kernel
from mfpde.terms.funk_hecke import log_eigenvalues
from mfpde.theory.curvature import checked_attention, checked_dimension, sign_of

SMALLEST_MOMENT = 1e-13
"""A Fourier moment of a probability below this is rounding."""


def eigenvalues(
    beta: float, dimension: int, degrees: Any, *, kernel: str = "shifted"
) -> FloatArray:
    """Eigenvalues lambda_l of the kernel for the uniform probability (paper, Lemma 5.1).

    Begin with ``eigenvalues(5.0, 2, range(8))``.

    Parameters
    ----------
    beta
        Inverse temperature, from 0 to 1000 (350 with the unshifted kernel).
    dimension
        Dimension d of S^(d-1), at least 2.
    degrees
        One degree l >= 0 or an array of them, of any shape.
    kernel
        ``"shifted"``, K = exp(beta (x.y - 1)), or ``"unshifted"``, K = exp(beta x.y).

    Returns
    -------
    Eigenvalues of the shape of ``degrees``.  Degrees far beyond what beta can resolve
    (lambda_l below 1e-17 of the largest, with multiplicities) may be 0.

    Raises
    ------
    ValueError
        For an argument out of its range.
    """
    attention = checked_attention(beta, kernel=kernel)
    chosen = _degrees(degrees)
    largest = int(chosen.max(initial=0))
    logs = log_eigenvalues(attention.beta, checked_dimension(dimension), largest)
    return np.asarray(attention.energy_amplitude * np.exp(logs[chosen]))


def growth_rates(
    beta: float | Kernel,
    dimension: int,
    degrees: Any,
    *,
    direction: str,
    normalized: bool = False,
    kernel: str = "shifted",
    diffusion: float = 0.0,
) -> FloatArray:
    """Linear growth rates of the harmonics of each degree about the uniform state.

    Formula and sources: this module's docstring.
    Begin with ``growth_rates(5.0, 2, range(8), direction="ascent")``.

    Parameters
    ----------
    beta, dimension, degrees, kernel
        As in :func:`eigenvalues`; in place of beta, a :class:`mfpde.Kernel` W, whose rates
        are s l (l + d - 2) lambda_l(W) - kappa l (l + d - 2).
    direction
        ``"ascent"`` (s = +1) or ``"descent"`` (s = -1).
    normalized
        Whether the attention is softmax (the same under both kernels).
    diffusion
        Diffusion kappa, at least 0.

    Returns
    -------
    Rates per unit of time, of the shape of ``degrees``.

    Raises
    ------
    ValueError
        For an argument out of its range.
    """
    sign = sign_of(direction)
    kappa = real_number("diffusion", diffusion, at_least=0.0)
    chosen = _degrees(degrees)
    dimension = checked_dimension(dimension)
    largest = int(chosen.max(initial=0))
    if isinstance(beta, Kernel):
        _check_plain(normalized, kernel)
        curvatures = beta.spectrum(dimension, largest)
    else:
        attention = checked_attention(beta, normalized=normalized, kernel=kernel)
        curvatures = interaction_curvatures(attention, dimension, largest)
    laplacian = chosen * (chosen + dimension - 2.0)
    # Adding 0 makes the rate of degree 0 a plain 0 in descent.
    return np.asarray(laplacian * (sign * curvatures[chosen] - kappa) + 0.0)


def fastest_mode(beta: float | Kernel, dimension: int) -> int:
    """Degree l >= 1 that grows fastest in ascent: argmax of l (l + d - 2) lambda_l.

    On the circle it is the number of clusters that a random small perturbation of the
    uniform state first forms (Bruno, Pasqualotto & Agazzi, ICLR 2025, arXiv 2410.23228).
    It is the same for both kernels and for softmax; diffusion lowers it.  At ``beta`` 0 only
    l = 1 grows; of a :class:`mfpde.Kernel` in its place a degree must grow.
    Parameters and errors are those of :func:`growth_rates`.  Begin with ``fastest_mode(5.0, 2)``.
    """
    dimension = checked_dimension(dimension)
    if isinstance(beta, Kernel):
        degrees = np.arange(1, beta.band_limit(dimension) + 1)
        rates = growth_rates(beta, dimension, degrees, direction="ascent")
        if rates.max() <= 0:
            raise ValueError(f"beta = {beta!r}: no degree grows in ascent")
        return int(np.argmax(rates)) + 1
    beta = Attention(beta).beta
    if beta == 0:
        return 1
    degree = Exponential(beta).band_limit(dimension) + 1
    l = np.arange(1, degree + 1)
    logs = log_eigenvalues(beta, dimension, degree)[1:]
    return int(l[np.argmax(np.log(l * (l + dimension - 2.0)) + logs)])


def early_clusters(beta: float, start: AnyMeasure) -> FloatArray:
    r"""Angles of the first clusters on the circle in ascent, from the start's moments.

    The angles are (2 pi j - arg m_k) / k for j = 0..k-1, with k the fastest mode and
    m_k = \int e^(-ik theta) dmu, modulo 2 pi (Bruno, Pasqualotto & Agazzi, ICLR 2025,
    arXiv 2410.23228).  It holds for starts so close to uniform that mode k outgrows the
    others while all are small; the number of clusters is the length of the result.

    Begin with ``early_clusters(5.0, perturbed_uniform(Circle(512), 0.01))``.

    Parameters
    ----------
    beta
        Inverse temperature, from 0 to 1000.
    start
        A density on a Circle, atoms with d = 2, or both.

    Returns
    -------
    Angles in [0, 2 pi), increasing, shape (k,).

    Raises
    ------
    ValueError
        If the start does not lie on a circle, or has no moment of this degree.
    """
    if start.dimension != 2:
        raise ValueError(
            f"start lies on S^{start.dimension - 1}: cluster angles are predicted on the "
            "circle only"
        )
    mode = fastest_mode(beta, 2)
    atoms = start if isinstance(start, Atoms) else as_measure(start).atoms
    moment = atoms.masses @ np.exp(-1j * mode * angles_of(atoms.points))
    if not isinstance(start, Atoms):
        density = as_measure(start).density
        circle = density.geometry
        if circle.max_degree < mode:
            raise ValueError(
                f"start on {circle!r} must lie on a Circle of at least {2 * mode + 1} cells"
            )
        moment += circle.moments(density.masses, mode)[mode]
    if abs(moment) < SMALLEST_MOMENT:
        raise ValueError(
            f"start: its moment of degree {mode}, the fastest mode at beta = {beta:g}, is "
            f"{abs(moment):.2g}: a start without this mode predicts no cluster angles"
        )
    angles = (2 * np.pi * np.arange(mode) - np.angle(moment)) / mode
    return np.asarray(np.sort(np.mod(angles, 2 * np.pi)))


def critical_diffusion(
    beta: float | Kernel,
    dimension: int,
    *,
    normalized: bool = False,
    kernel: str = "shifted",
) -> float:
    """Diffusion kappa_# below which the uniform state is unstable in ascent.

    It is lambda_1 / beta, for softmax lambda_1 / (beta lambda_0); 1/d at beta = 0; for a kernel
    the largest lambda_l(W), l >= 1, or 0 if none is positive.  In descent the uniform state is
    always stable.  The unshifted kernel multiplies kappa_# by e^beta.  Formula and sources: this
    module's docstring.  Parameters and errors are those of :func:`growth_rates`.
    Begin with ``critical_diffusion(4.0, 3)``.
    """
    if isinstance(beta, Kernel):
        _check_plain(normalized, kernel)
        dimension = checked_dimension(dimension)
        spectrum = beta.spectrum(dimension, beta.band_limit(dimension))[1:]
        return max(0.0, float(spectrum.max()))
    rate = growth_rates(
        beta, dimension, 1, direction="ascent", normalized=normalized, kernel=kernel
    )
    return float(rate) / (dimension - 1)


def _check_plain(normalized: bool, kernel: str) -> None:
    if normalized or kernel != "shifted":
        raise ValueError(
            f"normalized = {normalized!r}, kernel = {kernel!r} are about attention; a Kernel "
            "in place of beta has neither"
        )


def interaction_curvatures(
    attention: Attention, dimension: int, degree: int
) -> FloatArray:
    """The ratios lambda_l / beta, for softmax lambda_l / (beta lambda_0), l = 0..degree.

    For unnormalised attention this is the second derivative of E along Y_l.
    """
    if attention.beta == 0:
        return attention.zonal_kernel.spectrum(dimension, max(degree, 1))[: degree + 1]
    logs = log_eigenvalues(attention.beta, dimension, degree)
    if attention.normalized:
        logs = logs - logs[0]
    return np.asarray(attention.amplitude * np.exp(logs) / attention.beta)


def _degrees(degrees: Any) -> IntArray:
    array = np.asarray(degrees)
    if array.dtype.kind not in "iu" or (array < 0).any():
        raise ValueError(f"degrees = {degrees!r} must be whole numbers of at least 0")
    return array.astype(np.int64)
