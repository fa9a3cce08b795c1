r"""The inverse of the interaction: which measure has a given potential A[mu] = f.

mu -> \int K dmu is injective on measures, every eigenvalue lambda_l being positive (paper,
Lemma 5.1).  With f = \sum_l f_l, f_l of degree l,

    dmu/dsigma = beta \sum_l f_l / lambda_l                             (paper, eq. 5.1)

is in L^2 iff \sum_l |f_l|^2 / lambda_l^2 is finite.  lambda_l falls off faster than any
power, so that few f qualify; nonnegativity is a second condition.  Both are checked on a grid
(derived here).  Rounding of f, of relative size n eps on n degrees, is multiplied by
beta / lambda_l: degrees where that exceeds 1e-5 of the density cannot be inverted, and the density
must have decayed before them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, real_array, real_number, shown
from mfpde.geometry import Circle, Sphere
from mfpde.measures.measure import Density
from mfpde.terms import Attention
from mfpde.terms.exponential_kernel import SMALLEST_BETA
from mfpde.theory.curvature import Convention

ACCURACY = 1e-5
"""Shares of the density: its error by rounding, its last degrees, its most negative value."""


def density_with_potential(
    geometry: Circle | Sphere,
    beta: float,
    potential: Callable[[FloatArray], ArrayLike],
    *,
    kernel: Convention = "shifted",
    total_mass: float | None = None,
) -> Density:
    """Return the density whose unnormalised attention is a given potential, A[mu] = f.

    Paper, Lemma 5.1 and eq. 5.1; the module's docstring says what is checked.  With
    f = c - V it is a stationary state with F = A[mu] + V constant on the whole sphere.

    Begin with
    ``density_with_potential(Circle(512), 4.0, lambda x: 0.01 * x[..., 0], total_mass=1.0)``.

    Parameters
    ----------
    geometry
        A Circle or a Sphere.
    beta, kernel
        Inverse temperature, above 0, up to 1000 (350 with the ``"unshifted"`` kernel).
    potential
        The function f, from points (..., d) to values (...).
    total_mass
        If given, a constant is added to f so that the density has this mass, above 0.

    Raises
    ------
    ValueError
        If no density has this potential, with the condition that fails; for another geometry, a
        beta out of its range, values of a wrong shape, or a grid too coarse for beta.
    """
    if not isinstance(geometry, Circle | Sphere):
        raise ValueError(f"geometry = {geometry!r} must be a Circle or a Sphere")
    beta = real_number("beta", beta, at_least=SMALLEST_BETA)
    attention = Attention(beta, kernel=kernel)
    attention.band_limit(geometry)
    if not callable(potential):
        raise ValueError(
            f"potential = {shown(potential)} must be a function of points (..., d)"
        )
    given = real_array("potential(points)", potential(geometry.points))
    area, degree = float(geometry.areas.sum()), geometry.max_degree
    spectrum = attention.zonal_kernel.spectrum(geometry.dimension, degree)
    eigenvalues, degrees = attention.amplitude * spectrum, geometry.degrees(degree)
    coefficients = geometry.moments(given * geometry.areas / area, degree)
    if total_mass is not None:
        mass = real_number("total_mass", total_mass, above=0.0)
        coefficients[degrees == 0] = mass * eigenvalues[0]
    sizes = np.zeros(degree + 1)
    np.maximum.at(sizes, degrees, np.abs(coefficients))
    noise = len(sizes) * np.finfo(float).eps * sizes.max()
    # No degree of a nonnegative density is larger than its mass.
    scale = max(float(sizes[0]), noise) / eigenvalues[0]
    is_known = noise <= ACCURACY * scale * eigenvalues
    highest = int(np.flatnonzero(is_known).max(initial=0))
    inverse = np.zeros(degree + 1)
    inverse[: highest + 1] = 1 / eigenvalues[: highest + 1]
    values = geometry.synthesis(inverse[degrees] * coefficients) / area
    # The density decays in the last two degrees, an even and an odd one; beyond is noise.
    parts = sizes * inverse
    tail = parts[max(1, highest - 1) : highest + 1].max(initial=0.0)
    fault = ""
    if tail > ACCURACY * parts.max() or (sizes[highest + 1 :] > noise).any():
        fault = (
            f"its coefficients divided by the eigenvalues do not decay by degree {highest}, the "
            "last that can be inverted in double precision"
        )
    elif values.min() < -ACCURACY * np.abs(values).max():
        fault = f"it would be negative, {values.min():.4g} per area at its lowest"
    if fault:
        given_mass = f"total_mass = {total_mass!r}"
        raise ValueError(f"no density has this potential, {given_mass}: {fault}")
    return Density(geometry, np.maximum(values, 0.0))
