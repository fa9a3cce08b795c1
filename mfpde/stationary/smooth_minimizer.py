r"""The minimiser of E where it is a smooth density.

F is constant iff rho = 1 - sum_{l >= 1} V_l / kappa_l (times the uniform probability), V_l the
harmonics of V and kappa_l the eigenvalues of K / beta (paper, Lemma 5.1, eq. 5.1): the
minimiser, if this is a density.  The kappa_l fall faster than any power, so that the sum is
cut at the last degree to which it can be taken with rho >= 0.  The part of V beyond that degree
is left in F, and the certificate bounds its effect.
"""

from __future__ import annotations

import numpy as np

from mfpde.arrays import FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.measures.measure import Density
from mfpde.stationary.activation_bounds import polynomial_error
from mfpde.stationary.external_bounds import external_bounds

LARGEST_REMAINDER = 1e-9
CHECKED_DEGREE = 80
LEAST_EIGENVALUE = 1e-15
ROUNDING = 2e-15


def smooth_candidate(equation: MeanFieldEquation, geometry: Geometry) -> Density | None:
    """Density of mass 1 whose F is as nearly constant as possible; None if V has kinks."""
    external = external_bounds(equation, geometry.dimension)
    rests = [polynomial_error(term, CHECKED_DEGREE) for term in external.terms]
    if sum(rests) > LARGEST_REMAINDER:
        return None
    grid = equation.on(geometry)
    degree = grid.degree
    degrees = geometry.degrees(degree)
    kappa = np.zeros(degree + 1)
    for attention in equation.attentions:
        spectrum = attention.interaction_spectrum(geometry.dimension, degree)
        kappa += attention.amplitude * spectrum
    shares = geometry.areas / geometry.areas.sum()
    moments = geometry.moments(grid.external_potential * shares, degree)
    # Rounding errors of V must not be divided by small eigenvalues.
    noise = ROUNDING * float(np.abs(grid.external_potential).max())
    moments = np.where(np.abs(moments) > noise, moments, 0.0)
    usable = kappa > LEAST_EIGENVALUE * kappa.max()
    safe = np.where(usable, kappa, 1.0)
    coefficients = np.where(usable[degrees], -moments / safe[degrees], 0.0)
    coefficients[degrees == 0] = 1.0
    last = int(np.flatnonzero(usable)[-1]) if usable.any() else 0
    for cut in range(last, -1, -1):
        relative = geometry.synthesis(np.where(degrees <= cut, coefficients, 0.0))
        if relative.min() >= 0:
            return _of_relative(geometry, relative)
    return None


def _of_relative(geometry: Geometry, relative: FloatArray) -> Density:
    return Density(geometry, relative).normalized()
