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
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from mfpde.arrays import (
    LARGEST_DIMENSION,
    FloatArray,
    choice,
    real_number,
    whole_number,
)
from mfpde.geometry.circle import angles_of
from mfpde.measures.measure import AnyMeasure, Atoms
from mfpde.measures.sampling import as_atoms
from mfpde.terms import Attention, Interaction, InteractionTerm, Kernel
from mfpde.terms.exponential_kernel import log_series
from mfpde.terms.kernels import up_to

Convention = Literal["shifted", "unshifted"]
"""K = exp(beta (x.y - 1)), or exp(beta x.y)."""


def eigenvalues(
    beta: float, dimension: int, degrees: Any, *, kernel: Convention = "shifted"
) -> FloatArray:
    """Eigenvalues lambda_l of the kernel for the uniform probability (paper, Lemma 5.1).

    They have the shape of ``degrees``; below 1e-17 of the largest, with multiplicities, they may
    be 0.  Parameters and errors are those of :func:`growth_rates`.
    Begin with ``eigenvalues(5.0, 2, range(8))``.
    """
    l = np.asarray(degrees)
    curvatures = find_curvatures(beta, dimension, l, kernel=kernel)
    beta = Attention(beta).beta
    # At beta = 0 the kernel is constant.
    return beta * curvatures if beta else np.equal(l, 0).astype(float)


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

    Rates per unit of time, of the shape of ``degrees``; formula and sources: this module's
    docstring.  Begin with ``growth_rates(5.0, 2, range(8), direction="ascent")``.

    Parameters
    ----------
    beta
        Inverse temperature, from 0 to 1000 (350 with the unshifted kernel); or, where it
        may be one, a :class:`mfpde.Kernel` W, with lambda_l(W) in place of lambda_l / beta.
    dimension
        Dimension d of S^(d-1), at least 2.
    degrees
        One degree l >= 0 or an array of them, of any shape.
    direction
        ``"ascent"`` (s = +1) or ``"descent"`` (s = -1).
    normalized
        Whether the attention is softmax (the same under both kernels).
    kernel
        ``"shifted"``, K = exp(beta (x.y - 1)), or ``"unshifted"``, K = exp(beta x.y).
    diffusion
        Diffusion kappa, at least 0.  Arguments out of their range are a ``ValueError``.
    """
    ascends = choice("direction", direction, ("ascent", "descent")) == "ascent"
    kappa = real_number("diffusion", diffusion, at_least=0.0)
    l = np.asarray(degrees)
    curvatures = find_curvatures(
        beta, dimension, l, normalized=normalized, kernel=kernel
    )
    # Adding 0 makes the rate of degree 0 a plain 0 in descent.
    gains = (curvatures if ascends else -curvatures) - kappa
    return l * (l + dimension - 2.0) * gains + 0.0


def fastest_mode(beta: float | Kernel, dimension: int) -> int:
    """Degree l >= 1 that grows fastest in ascent: argmax of l (l + d - 2) lambda_l.

    On the circle a random small perturbation of the uniform state first forms so many clusters
    (Bruno, Pasqualotto & Agazzi, ICLR 2025, arXiv 2410.23228), under either kernel and softmax;
    diffusion lowers it.  Of a :class:`mfpde.Kernel` a degree must grow.
    Parameters and errors are those of :func:`growth_rates`.  Begin with ``fastest_mode(5.0, 2)``.
    """
    curvatures = find_relative_curvatures(beta, dimension)
    l = np.arange(len(curvatures))
    return int(np.argmax(l * (l + dimension - 2.0) * curvatures))


def early_clusters(beta: float, start: AnyMeasure) -> FloatArray:
    r"""Angles in [0, 2 pi) of the first clusters on the circle in ascent, increasing.

    They are (2 pi j - arg m_k) / k for j = 0..k-1, with k the fastest mode and the moment
    m_k = \int e^(-ik theta) dmu of the ``start``, any measure on a circle (Bruno, Pasqualotto &
    Agazzi, ICLR 2025, arXiv 2410.23228).  It holds for starts so close to uniform that mode k
    outgrows the others while all are small.  ``beta`` is from 0 to 1000; a start that is not on a
    circle, or has no moment of this degree, is a ``ValueError``.

    Begin with ``early_clusters(5.0, perturbed_uniform(Circle(512), 0.01))``.
    """
    if start.dimension != 2:
        raise ValueError(
            f"start lies on S^{start.dimension - 1}: cluster angles are predicted on the "
            "circle only"
        )
    mode = fastest_mode(beta, 2)
    if not isinstance(start, Atoms) and start.geometry.max_degree < mode:
        raise ValueError(
            f"start on {start.geometry!r} must lie on a Circle of at least {2 * mode + 1} "
            "cells"
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
    always stable.  Parameters and errors are those of :func:`growth_rates`.
    Begin with ``critical_diffusion(4.0, 3)``.
    """
    found = find_curvatures(beta, dimension, normalized=normalized, kernel=kernel)
    return float(found[1:].max(initial=0.0))


def find_curvatures(
    beta: float | Kernel,
    dimension: int,
    degrees: NDArray[Any] | None = None,
    *,
    normalized: bool = False,
    kernel: Convention = "shifted",
) -> FloatArray:
    """Second derivatives of E along harmonics of the ``degrees`` l at the uniform state.

    They are lambda_l / beta, under softmax lambda_l / (beta lambda_0) without underflow, and of
    a kernel lambda_l(W).  By default the degrees are 0 to the last one that counts.
    """
    whole_number("dimension", dimension, at_least=2, at_most=LARGEST_DIMENSION)
    if not isinstance(beta, Kernel):
        term: InteractionTerm = Attention(beta, normalized, kernel)
    elif normalized or kernel != "shifted":
        raise ValueError(
            f"normalized = {normalized!r}, kernel = {kernel!r} are about attention; a "
            "Kernel in place of beta has neither"
        )
    else:
        term = Interaction(beta)
    known = term.zonal_kernel
    if degrees is None:
        degrees = np.arange(known.band_limit(dimension) + 1)
    if degrees.dtype.kind not in "iu" or (degrees < 0).any():
        given = degrees.tolist()
        raise ValueError(f"degrees = {given!r} must be whole numbers of at least 0")
    largest = int(degrees.max(initial=0))
    if term.needs_values:
        logs = up_to(largest, log_series(term.sharpness, dimension)[0], -np.inf)
        return np.asarray(np.exp(logs - logs[0])[degrees] / term.sharpness)
    return np.asarray(term.amplitude * known.spectrum(dimension, largest)[degrees])


def find_relative_curvatures(beta: float | Kernel, dimension: int) -> FloatArray:
    """Return the curvatures, up to a factor, of the degrees 0 to the last one that counts.

    ``ValueError`` if none from degree 1 on is positive.
    """
    is_beta = not isinstance(beta, Kernel)
    found = find_curvatures(beta, dimension, normalized=is_beta)
    if found[1:].max() <= 0:
        raise ValueError(f"beta = {beta!r}: no degree grows in ascent")
    return found
