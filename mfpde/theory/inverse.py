r"""The inverse of the interaction: which measure has a given potential A[mu] = f.

mu -> \int K dmu is injective on measures, every eigenvalue lambda_l being positive (paper,
Lemma 5.1).  With f = \sum_l f_l, f_l of degree l,

    dmu/dsigma = beta \sum_l f_l / lambda_l                             (paper, eq. 5.1)

is in L^2 iff \sum_l |f_l|^2 / lambda_l^2 is finite.  lambda_l falls off faster than any
power, so that few f qualify; nonnegativity is a second condition.  Both are checked here on
a grid (the checks, and their limits in double precision, are derived here).  Rounding of f, of
relative size 1e-15 or so, is multiplied by beta / lambda_l: degrees where that exceeds 1e-6 of
the density cannot be inverted, and the density must have decayed before them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import (
    ComplexArray,
    FloatArray,
    IntArray,
    real_array,
    real_number,
    shown,
)
from mfpde.geometry import Circle, Geometry, Sphere
from mfpde.measures.measure import Density
from mfpde.terms import Attention
from mfpde.terms.exponential_kernel import SMALLEST_BETA
from mfpde.theory.curvature import Convention

ROUNDING = 2e-15
"""Relative size of what f's coefficients cannot be told from."""
RESOLVED, DECAYED, NEGATIVE = 1e-6, 1e-4, 1e-5
"""Shares of the density: its error by rounding, its last degrees, its most negative value."""
LARGEST_MASS = 1e100


@dataclass(frozen=True, eq=False)
class InverseOfInteraction:
    """The density with a given potential, or why there is none.

    Attributes
    ----------
    density
        The density, or None if a condition fails.
    obstacle
        The condition that fails, in words; empty if none does.
    coefficients_decay
        Whether f_l / lambda_l decays within the degrees that can be inverted.
    is_nonnegative
        Whether the values are nonnegative to the accuracy of the inversion.
    total_mass
        Integral of the values.
    values
        The inverted values per surface area, of the grid's shape, also if a condition fails.
    degree
        Largest degree that was inverted.
    """

    density: Density | None
    obstacle: str
    coefficients_decay: bool
    is_nonnegative: bool
    total_mass: float
    values: FloatArray
    degree: int


def density_with_potential(
    geometry: Circle | Sphere,
    beta: float,
    potential: Callable[[FloatArray], ArrayLike],
    *,
    kernel: Convention = "shifted",
    total_mass: float | None = None,
) -> InverseOfInteraction:
    """Return the density whose unnormalised attention is a given potential, A[mu] = f.

    Paper, Lemma 5.1 and eq. 5.1; the module's docstring says what is checked.  With
    f = c - V it is a stationary state with F = A[mu] + V constant on the whole sphere.

    Begin with
    ``density_with_potential(Circle(512), 4.0, lambda x: 0.01 * x[..., 0], total_mass=1.0)``.

    Parameters
    ----------
    geometry
        A Circle or a Sphere.
    beta
        Inverse temperature, above 0, up to 1000 (350 with the unshifted kernel).
    potential
        The function f, from points (..., d) to values (...).
    kernel
        ``"shifted"`` or ``"unshifted"``.
    total_mass
        If given, a constant is added to f so that the density has this mass, above 0;
        otherwise the mass follows from f.

    Raises
    ------
    ValueError
        For another geometry, a beta out of its range, a potential of a wrong shape or not
        finite, or a grid too coarse for beta.
    """
    if not isinstance(geometry, Geometry) or geometry.axis is not None:
        raise ValueError(f"geometry = {geometry!r} must be a Circle or a Sphere")
    beta = real_number("beta", beta, at_least=SMALLEST_BETA)
    attention = Attention(beta, kernel=kernel)
    attention.band_limit(geometry)
    if not callable(potential):
        raise ValueError(
            f"potential = {shown(potential)} must be a function of points (..., d)"
        )
    given = real_array("potential(points)", potential(geometry.points))
    values = np.broadcast_to(given, geometry.shape)
    area = float(geometry.areas.sum())
    degree = geometry.max_degree
    degrees = geometry.degrees(degree)
    coefficients = geometry.moments(values * geometry.areas / area, degree)
    spectrum = attention.amplitude * attention.zonal_kernel.spectrum(
        geometry.dimension, degree
    )
    if total_mass is not None:
        mass = real_number("total_mass", total_mass, above=0.0, at_most=LARGEST_MASS)
        coefficients[degrees == 0] = mass * spectrum[0]
    sizes = _measure_degrees(geometry, coefficients, degrees)
    noise = ROUNDING * float(np.sqrt((sizes**2).sum()))
    # A nonnegative density is no larger than its mass in any degree, up to multiplicity; what
    # rounding of f does to it grows with the degree.
    scale = max(float(sizes[0]), noise) / float(spectrum[0])
    highest = int(np.nonzero(noise <= RESOLVED * scale * spectrum)[0].max(initial=0))
    inverse = np.zeros(len(spectrum))
    inverse[: highest + 1] = 1 / spectrum[: highest + 1]
    found = geometry.synthesis(inverse[degrees] * coefficients) / area
    # Beyond the highest degree f has only noise, and the density decays before it: in the last
    # two degrees, of which one is even and one odd.
    parts, is_rest = sizes * inverse, np.arange(len(sizes)) > highest
    tail = float(parts[max(1, highest - 1) : highest + 1].max(initial=0.0))
    decays = tail <= DECAYED * float(parts.max()) and (sizes[is_rest] <= noise).all()
    lowest, peak = float(found.min()), float(np.abs(found).max())
    is_nonnegative = lowest >= -NEGATIVE * peak
    obstacle = ""
    if not decays:
        obstacle = (
            f"the coefficients of the potential divided by the eigenvalues do not decay by "
            f"degree {highest}, the last that can be inverted in double precision"
        )
    elif not is_nonnegative:
        obstacle = (
            f"the density would be negative: {lowest:.4g} per area at its lowest, "
            f"{float(found.max()):.4g} at its highest"
        )
    return InverseOfInteraction(
        density=None if obstacle else Density(geometry, np.maximum(found, 0.0)),
        obstacle=obstacle,
        coefficients_decay=bool(decays),
        is_nonnegative=bool(is_nonnegative),
        total_mass=float((found * geometry.areas).sum()),
        values=found,
        degree=highest,
    )


def _measure_degrees(
    geometry: Geometry, coefficients: ComplexArray, degrees: IntArray
) -> FloatArray:
    """Return the norm of each degree's part f_l in L^2 of the uniform probability.

    Coefficients of order m > 0 stand for -m too; on the circle so do all of degree > 0.
    """
    is_circle = geometry.dimension == 2
    doubled = degrees > 0 if is_circle else np.arange(len(degrees)) > degrees.max()
    powers = np.abs(coefficients) ** 2 * np.where(doubled, 2.0, 1.0)
    return np.asarray(np.sqrt(np.bincount(degrees, weights=powers)))
