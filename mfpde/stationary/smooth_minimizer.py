r"""The minimiser of E where it is a smooth density.

In harmonics of degree 1 and more F = A rho + V is constant iff A rho = -V there, A the matrix of
the kernel: for kernels of x.y rho = 1 - sum_{l >= 1} V_l / kappa_l (times the uniform
probability), V_l the harmonics of V and kappa_l the eigenvalues of K / beta (paper, Lemma 5.1,
eq. 5.1).  This is the minimiser, if it is a density.  The eigenvalues fall faster than any power,
so that the sum is cut at the last degree to which it can be taken with rho >= 0.  The part of V
beyond that degree is left in F, and the certificate bounds its effect.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from mfpde.arrays import BoolArray, FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.geometry.base import RealHarmonics
from mfpde.measures.measure import Density
from mfpde.stationary.convex_energy import ConvexEnergy
from mfpde.stationary.kernel_matrix import kernel_matrix
from mfpde.stationary.ridge_fields import ROUNDING


def smooth_candidate(
    equation: MeanFieldEquation, energy: ConvexEnergy, geometry: Geometry
) -> Density | None:
    """Density of mass 1 whose F is as nearly constant as possible; None if V has kinks."""
    if not np.isfinite(energy.external.degree):
        return None
    grid = equation.on(geometry)
    packed = RealHarmonics.of(geometry, grid.degree)
    shares = geometry.areas / geometry.areas.sum()
    potential = packed.read(
        geometry.moments(grid.external_potential * shares, grid.degree)
    )
    # Rounding errors of V must not be divided by small eigenvalues.
    noise = ROUNDING * float(np.abs(grid.external_potential).max())
    potential = np.where(np.abs(potential) > noise, potential, 0.0)
    matrix = kernel_matrix(equation, geometry, grid.degree)
    sizes = matrix if matrix.ndim == 1 else np.diagonal(matrix)
    is_usable = sizes > ROUNDING * sizes.max()
    for cut in range(int(packed.degrees[is_usable].max(initial=0)), -1, -1):
        inside = (packed.degrees <= cut) & is_usable & (packed.degrees > 0)
        moments = np.where(packed.degrees == 0, 1.0, 0.0)
        moments[inside] = _solve(matrix, potential, inside)
        relative = geometry.synthesis(packed.pack(moments))
        if relative.min() >= 0:
            return Density(geometry, relative).normalized()
    return None


def _solve(matrix: FloatArray, potential: FloatArray, inside: BoolArray) -> FloatArray:
    """The moments ``inside`` (n,) of rho, where A rho + V = 0; NaN if A is not positive there."""
    if matrix.ndim == 1:
        return -potential[inside] / matrix[inside]
    block = matrix[np.ix_(inside, inside)]
    target = potential[inside] + matrix[inside, 0]
    # Entries have the accuracy of the diagonal, and so has the solution if that is scaled out.
    roots = np.sqrt(np.diagonal(block))
    try:
        factor = cho_factor(block / np.outer(roots, roots))
    except LinAlgError:
        return np.full(len(block), np.nan)
    return np.asarray(-cho_solve(factor, target / roots) / roots)
