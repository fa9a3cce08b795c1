r"""The result of :func:`polish`: the atoms, their residual, and whether they are stable.

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

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.geometry.circle import angles_of
from mfpde.measures.measure import Atoms
from mfpde.notebook import Printed, format_table
from mfpde.stationary.derivatives import FieldDerivatives


@dataclass(frozen=True, eq=False, repr=False)
class PolishedAtoms(Printed):
    """Atoms after Newton's method, and their stability.

    All rates are per unit of the equation's own time and convention; positive means away
    from the state.  A flag is True only if ``converged``.

    Attributes
    ----------
    equation
        The equation.
    atoms
        The polished atoms, points without width.
    converged, message
        Whether ``relative_residual`` is at most 1e-14; what happened, and what to do.
    residual
        Largest speed |v(x_i)|, in the equation's own convention (without the self-force,
        which is exactly zero).
    relative_residual
        Largest |v(x_i)| as a share of the sizes of all contributions to v(x_i) and of
        their change over one radian: forces of 1e-7 are balanced to 1e-21.
    iterations
        Newton steps.
    moved
        Largest distance between an atom's start and its end, in radians.
    merged
        How many atoms were united with another one before.
    shift_rates
        Rates of all modes of motion of the atoms but the rotations, largest real part
        first, (n (d - 1) - symmetry_dimension,): eigenvalues of the velocity's Jacobian.
        Real for unnormalised attention with gradient terms.
    split_rates
        Rates at which a small part of each atom would leave it, (n, d - 1), decreasing:
        eigenvalues of s Hess F(x_i), own mass included (real parts for a general drift).
        Where an atom sits on a neuron's kink the less stable side counts.
    symmetry_dimension
        Number of independent motions of the atoms by rotations that leave the equation as it is.
    rounding
        Rates smaller than this have no sign: 1e-12 of the largest contributions to them,
        or 1.5e-8 where second derivatives come from differences.
    angular_velocity
        The antisymmetric matrix Omega (d, d) with v(x_i) = Omega x_i: 0 for a state at
        rest.  A state that turns is a relative equilibrium; its residual and its rates
        are those in the frame that turns with it.
    """

    equation: MeanFieldEquation
    atoms: Atoms
    converged: bool
    message: str
    residual: float
    relative_residual: float
    iterations: int
    moved: float
    merged: int
    shift_rates: FloatArray | ComplexArray
    split_rates: FloatArray
    symmetry_dimension: int
    rounding: float
    angular_velocity: FloatArray

    @property
    def hessian_eigenvalues(self) -> FloatArray | None:
        """Eigenvalues of Hess E in L^2(mu), increasing, (n (d - 1),); zero for rotations.

        Those of M^{-1/2} Hess E M^{-1/2} with the sign of E itself: at least 0 at a
        second-order point of descent (a minimiser), at most 0 in ascent.  None for
        softmax and for drifts without potential, whose flow they would not describe.
        """
        if not has_wasserstein_hessian(self.equation):
            return None
        values = self.equation.sign * self.shift_rates.real
        return np.sort(np.concatenate([values, np.zeros(self.symmetry_dimension)]))

    @property
    def strict_margin(self) -> float:
        """Slowest rate of return over all motions but the rotations; infinite without any."""
        return float(np.min(-self.shift_rates.real, initial=np.inf))

    @property
    def second_order_margin(self) -> float:
        """Slowest rate of return over all motions; rotations count as 0."""
        rotations = 0.0 if self.symmetry_dimension else np.inf
        return min(self.strict_margin, rotations)

    @property
    def split_margin(self) -> float:
        """Slowest rate at which parts of an atom come back to it, own mass included."""
        return float(np.min(-self.split_rates))

    @property
    def neutral_dimension(self) -> int:
        """Number of modes, besides the rotations, whose rate is zero to rounding."""
        return int((np.abs(self.shift_rates.real) <= self.rounding).sum())

    @property
    def is_second_order(self) -> bool:
        """Whether no shift of whole atoms grows (paper, eq. 2.3; softmax: by the Jacobian)."""
        return self.converged and self.second_order_margin >= -self.rounding

    @property
    def is_strict(self) -> bool:
        """Whether every shift of whole atoms decays, rotations of the equation aside.

        This is the paper's eq. 2.4 if ``symmetry_dimension`` is 0.
        """
        return self.converged and self.strict_margin > self.rounding

    @property
    def is_split_stable(self) -> bool:
        """Whether every atom holds together as the limit of a density: s Hess F(x_i) < 0."""
        return self.converged and self.split_margin > self.rounding

    def __str__(self) -> str:
        merged = f", {self.merged} merged before" if self.merged else ""
        lines = [
            f"{self.equation}, {self.equation.convention}",
            ("polished: " if self.converged else "NOT polished: ") + self.message,
            f"{len(self.atoms)} atoms of total mass {self.atoms.total_mass:.9g}; residual "
            f"{self.residual:.1e} (relative {self.relative_residual:.1e}) after "
            f"{self.iterations} steps, moved at most {self.moved:.2e}{merged}",
        ]
        if self.converged:
            lines += self._describe_stability()
        return "\n".join([*lines, tabulate_atoms(self.atoms, self.split_rates[:, 0])])

    def _describe_stability(self) -> list[str]:
        modes = f"; rotation modes {self.symmetry_dimension}, "
        modes += f"neutral modes {self.neutral_dimension}"
        verdicts = [
            ("second order", self.is_second_order, self.second_order_margin, ""),
            ("strict", self.is_strict, self.strict_margin, modes),
            ("split-stable", self.is_split_stable, self.split_margin, ""),
        ]
        lines = [
            f"{name:>12}: {'yes' if holds else 'no':<4}margin {margin:.4e}{more}"
            for name, holds, margin, more in verdicts
        ]
        if not has_wasserstein_hessian(self.equation):
            lines.append("rates are those of the velocity's Jacobian, not of a Hessian")
        return lines


def has_wasserstein_hessian(equation: MeanFieldEquation) -> bool:
    """Whether v = s grad dE/dmu, so that the Hessian of E describes the flow."""
    return equation.has_energy and not equation.has_softmax


def linear_rates(
    equation: MeanFieldEquation,
    field: FieldDerivatives,
    masses: FloatArray,
    *,
    modes: FloatArray,
) -> tuple[FloatArray | ComplexArray, FloatArray]:
    """The ``shift_rates`` and ``split_rates`` of :class:`PolishedAtoms`, of ``masses`` (n,).

    Along the columns of ``modes`` (n (d - 1), k), in tangent coordinates, the ``field`` there, the
    derivatives of grad F, does not change.
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
    return shifts, np.asarray(splits.real)


def _eigenvalues(matrices: FloatArray, symmetric: bool) -> ComplexArray | FloatArray:
    """Eigenvalues of ``matrices`` (..., n, n), decreasing in their real parts."""
    if symmetric:
        mean = (matrices + np.swapaxes(matrices, -1, -2)) / 2
        return np.asarray(np.linalg.eigvalsh(mean)[..., ::-1])
    values = np.linalg.eigvals(matrices)
    order = np.argsort(-values.real, axis=-1)
    return np.asarray(np.take_along_axis(values, order, axis=-1))


def tabulate_atoms(atoms: Atoms, split_rates: FloatArray | None = None) -> str:
    """A table with a row for each atom: its place, its mass and its largest split rate.

    Places are angle / pi on S^1, else up to 3 coordinates.
    """
    places, titles = atoms.points[:, :3], ["x1", "x2", "x3"]
    if atoms.dimension == 2:
        places, titles = angles_of(atoms.points)[:, np.newaxis] / np.pi, ["angle/pi"]
    # Adding zero turns a rounded -0.0 into 0.0.
    numbers = np.column_stack([np.round(places, 9) + 0.0, atoms.masses])
    rows = [[f"{number: .9f}" for number in row] for row in numbers]
    headers = ["atom", *titles, "mass"]
    if split_rates is not None:
        headers.append("split rate")
        rows = [[*row, f"{r: .4e}"] for row, r in zip(rows, split_rates, strict=True)]
    return format_table(headers, [[str(k), *row] for k, row in enumerate(rows)])
