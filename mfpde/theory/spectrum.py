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

from mfpde.arrays import (
    LARGEST_DIMENSION,
    FloatArray,
    IntArray,
    choice,
    real_number,
    whole_number,
)
from mfpde.geometry.circle import angles_of
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure
from mfpde.measures.sampling import as_atoms
from mfpde.terms import Attention, Kernel
from mfpde.terms.funk_hecke import log_eigenvalues
from mfpde.theory.curvature import Convention


def eigenvalues(
    beta: float, dimension: int, degrees: Any, *, kernel: Convention = "shifted"
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
    attention = Attention(beta, kernel=kernel)
    chosen = _read_degrees(degrees)
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
    kernel: Convention = "shifted",
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
    ascends = choice("direction", direction, ("ascent", "descent")) == "ascent"
    kappa = real_number("diffusion", diffusion, at_least=0.0)
    chosen = _read_degrees(degrees)
    curvatures = find_curvatures(
        beta,
        dimension,
        int(chosen.max(initial=0)),
        normalized=normalized,
        kernel=kernel,
    )[chosen]
    laplacian = chosen * (chosen + dimension - 2.0)
    # Adding 0 makes the rate of degree 0 a plain 0 in descent.
    return laplacian * ((curvatures if ascends else -curvatures) - kappa) + 0.0


def fastest_mode(beta: float | Kernel, dimension: int) -> int:
    """Degree l >= 1 that grows fastest in ascent: argmax of l (l + d - 2) lambda_l.

    On the circle it is the number of clusters that a random small perturbation of the
    uniform state first forms (Bruno, Pasqualotto & Agazzi, ICLR 2025, arXiv 2410.23228).
    It is the same for both kernels and for softmax; diffusion lowers it.  At ``beta`` 0 only
    l = 1 grows; of a :class:`mfpde.Kernel` in its place a degree must grow.
    Parameters and errors are those of :func:`growth_rates`.  Begin with ``fastest_mode(5.0, 2)``.
    """
    curvatures = find_relative_curvatures(beta, dimension)
    l = np.arange(1, len(curvatures))
    return 1 + int(np.argmax(l * (l + dimension - 2.0) * curvatures[1:]))


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
    if not isinstance(start, Atoms):
        circle = as_measure(start).geometry
        if circle.max_degree < mode:
            raise ValueError(
                f"start on {circle!r} must lie on a Circle of at least {2 * mode + 1} cells"
            )
    cells = as_atoms(start)
    moment = cells.masses @ np.exp(-1j * mode * angles_of(cells.points))
    # What rounding of an angle does to a phase.
    if abs(moment) < 2 * np.pi * mode * np.finfo(float).eps:
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
    kernel: Convention = "shifted",
) -> float:
    """Diffusion kappa_# below which the uniform state is unstable in ascent.

    It is lambda_1 / beta, for softmax lambda_1 / (beta lambda_0); 1/d at beta = 0; for a kernel
    the largest lambda_l(W), l >= 1, or 0 if none is positive.  In descent the uniform state is
    always stable.  The unshifted kernel multiplies kappa_# by e^beta.  Formula and sources: this
    module's docstring.  Parameters and errors are those of :func:`growth_rates`.
    Begin with ``critical_diffusion(4.0, 3)``.
    """
    degree = beta.band_limit(dimension) if isinstance(beta, Kernel) else 1
    found = find_curvatures(
        beta, dimension, degree, normalized=normalized, kernel=kernel
    )
    return float(found[1:].max(initial=0.0))


def checked_dimension(dimension: int) -> int:
    """Return d >= 2 of S^(d-1), or raise ``ValueError``."""
    return whole_number("dimension", dimension, at_least=2, at_most=LARGEST_DIMENSION)


def find_curvatures(
    beta: float | Kernel,
    dimension: int,
    degree: int,
    *,
    normalized: bool = False,
    kernel: Convention = "shifted",
) -> FloatArray:
    """Second derivatives of E along harmonics of degree l = 0..degree at the uniform state.

    They are lambda_l / beta, under softmax the ratios lambda_l / (beta lambda_0), in which
    nothing underflows; for a kernel in place of beta lambda_l(W).
    """
    dimension = checked_dimension(dimension)
    if isinstance(beta, Kernel):
        if normalized or kernel != "shifted":
            raise ValueError(
                f"normalized = {normalized!r}, kernel = {kernel!r} are about attention; a "
                "Kernel in place of beta has neither"
            )
        return beta.spectrum(dimension, degree)
    attention = Attention(beta, normalized, kernel)
    if attention.beta == 0:
        return attention.zonal_kernel.spectrum(dimension, degree)
    logs = log_eigenvalues(attention.beta, dimension, degree)
    if normalized:
        logs = logs - logs[0]
    return np.asarray(attention.amplitude * np.exp(logs) / attention.beta)


def find_relative_curvatures(beta: float | Kernel, dimension: int) -> FloatArray:
    """Return the curvatures, up to a factor, of twice the degrees that count.

    Raises
    ------
    ValueError
        If none from degree 1 on is positive.
    """
    dimension = checked_dimension(dimension)
    is_kernel = isinstance(beta, Kernel)
    known = beta if isinstance(beta, Kernel) else Attention(beta).zonal_kernel
    degree = 2 * known.band_limit(dimension)
    found = find_curvatures(beta, dimension, degree, normalized=not is_kernel)
    if found[1:].max() <= 0:
        raise ValueError(f"beta = {beta!r}: no degree grows in ascent")
    return found


def _read_degrees(degrees: Any) -> IntArray:
    array = np.asarray(degrees)
    if array.dtype.kind not in "iu" or (array < 0).any():
        raise ValueError(f"degrees = {degrees!r} must be whole numbers of at least 0")
    return array.astype(np.int64)
