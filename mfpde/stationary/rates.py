r"""Linear rates near a stationary state of atoms: shifts of whole atoms, and splitting.

Let D be the derivative of grad F at the atoms by their positions, in tangent coordinates,
and M the masses.  For unnormalised attention with gradient terms M D is the Hessian of
E in the Wasserstein sense at an atomic measure, and

    M^{1/2} D M^{-1/2} = M^{-1/2} Hess E M^{-1/2}

is symmetric; its eigenvalues lambda are those of Hess E in L^2(mu), and positions near the
state change at the rates s lambda.  In general the rates are the eigenvalues of s D.

An atom that a density has collapsed to must not dissolve either: s Hess F(x_i), with the
atom's own mass in F held at x_i, must be negative.  Hess E does not tell this, since its
tangent vectors shift whole atoms.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.stationary.derivatives import FieldDerivatives


class Rates(NamedTuple):
    """Linear rates near a state of n atoms.

    Attributes
    ----------
    shifts
        Rates of all modes of motion but the rotations, largest real part first,
        (n (d - 1) - k,); real if the Hessian exists.
    splits
        Rates at which an infinitesimal part of each atom leaves it, (n, d - 1),
        decreasing (real parts).
    """

    shifts: FloatArray | ComplexArray
    splits: FloatArray


def has_wasserstein_hessian(equation: MeanFieldEquation) -> bool:
    """Whether v = s grad dE/dmu, so that the Hessian of E describes the flow."""
    return equation.has_energy and not equation.has_softmax


def linear_rates(
    equation: MeanFieldEquation,
    field: FieldDerivatives,
    masses: FloatArray,
    *,
    modes: FloatArray,
) -> Rates:
    """Rates near a state with derivatives ``field``, apart from its rotation ``modes``.

    Parameters
    ----------
    equation
        The equation, for s and for which matrices are symmetric.
    field
        Derivatives of grad F (without s) at the n atoms.
    masses
        Masses (n,).
    modes
        Columns (n (d - 1), k), in tangent coordinates, along which the field at the atoms
        does not change.
    """
    roots = np.repeat(np.sqrt(masses), field.gradient.shape[1])[:, np.newaxis]
    matrix = roots * field.jacobian.reshape(len(roots), -1) / roots.T
    full, _ = np.linalg.qr(roots * modes, mode="complete")
    transverse = full[:, modes.shape[1] :]
    # The rotations span an invariant subspace, so that this has all other eigenvalues.
    shifts = _eigenvalues(
        equation.sign * transverse.T @ matrix @ transverse,
        has_wasserstein_hessian(equation),
    )
    splits = _eigenvalues(equation.sign * field.own_gradients, equation.has_energy)
    return Rates(shifts, np.asarray(splits.real))


def _eigenvalues(matrices: FloatArray, symmetric: bool) -> ComplexArray | FloatArray:
    """Eigenvalues of ``matrices`` (..., n, n), decreasing in their real parts."""
    if symmetric:
        mean = (matrices + np.swapaxes(matrices, -1, -2)) / 2
        return np.asarray(np.linalg.eigvalsh(mean)[..., ::-1])
    values = np.linalg.eigvals(matrices)
    order = np.argsort(-values.real, axis=-1)
    return np.asarray(np.take_along_axis(values, order, axis=-1))
