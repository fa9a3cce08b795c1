"""The result of :func:`polish`: the atoms, their residual, and whether they are stable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.arrays import ComplexArray, FloatArray
from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import Atoms
from mfpde.notebook import Printed


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
    symmetry_dimension
        Number of independent motions of the atoms by rotations that leave the equation
        as it is.
    on_kinks
        How many pairs of an atom and a neuron sit on a kink of the activation.  There the
        side is taken that is less stable.
    has_hessian
        Whether the Wasserstein Hessian of E describes the flow (unnormalised attention,
        gradient terms).
    shift_rounding, split_rounding
        Rates smaller than this have no sign: 1e-12 of the largest contributions to them,
        or 1e-9 where second derivatives come from differences.
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
    on_kinks: int
    has_hessian: bool
    shift_rounding: float
    split_rounding: float
    angular_velocity: FloatArray

    @property
    def angular_speed(self) -> float:
        """The largest speed |Omega|_2 at which the state turns, in radians per unit of time."""
        return float(np.linalg.norm(self.angular_velocity, 2))

    @property
    def hessian_eigenvalues(self) -> FloatArray | None:
        """Eigenvalues of Hess E in L^2(mu), increasing, (n (d - 1),); zero for rotations.

        Those of M^{-1/2} Hess E M^{-1/2} with the sign of E itself: at least 0 at a
        second-order point of descent (a minimiser), at most 0 in ascent.  None for
        softmax and for drifts without potential, whose flow they would not describe.
        """
        if not self.has_hessian:
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
        return int((np.abs(self.shift_rates.real) <= self.shift_rounding).sum())

    @property
    def is_second_order(self) -> bool:
        """Whether no shift of whole atoms grows (paper, eq. 2.3; softmax: by the Jacobian)."""
        return self.converged and self.second_order_margin >= -self.shift_rounding

    @property
    def is_strict(self) -> bool:
        """Whether every shift of whole atoms decays, rotations of the equation aside.

        This is the paper's eq. 2.4 if ``symmetry_dimension`` is 0.
        """
        return self.converged and self.strict_margin > self.shift_rounding

    @property
    def is_split_stable(self) -> bool:
        """Whether every atom holds together as the limit of a density: s Hess F(x_i) < 0."""
        return self.converged and self.split_margin > self.split_rounding

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
        table = format_table(self.atoms, split_rates=self.split_rates[:, 0])
        return "\n".join(lines + table)

    def _describe_stability(self) -> list[str]:
        modes = (
            f"; rotation modes {self.symmetry_dimension}, "
            f"neutral modes {self.neutral_dimension}"
        )
        verdicts = [
            ("second order", self.is_second_order, self.second_order_margin, ""),
            ("strict", self.is_strict, self.strict_margin, modes),
            ("split-stable", self.is_split_stable, self.split_margin, ""),
        ]
        lines = [
            f"{name:>12}: {'yes' if holds else 'no':<4}margin {margin:.4e}{more}"
            for name, holds, margin, more in verdicts
        ]
        if not self.has_hessian:
            lines.append("rates are those of the velocity's Jacobian, not of a Hessian")
        if self.on_kinks:
            lines.append(
                f"{self.on_kinks} times an atom sits on a neuron's kink; rates there are "
                "those of the less stable side"
            )
        return lines


def format_table(
    atoms: Atoms, name: str = "atom", split_rates: FloatArray | None = None
) -> list[str]:
    """A heading and a row for each atom: its place, its mass and its largest split rate.

    Places are angle / pi on S^1, else up to 3 coordinates.
    """
    if atoms.dimension == 2:
        titles = ["angle/pi"]
        turns = np.arctan2(atoms.points[:, 1], atoms.points[:, 0]) / np.pi
        places = np.mod(turns, 2.0)[:, np.newaxis]
    else:
        # Adding zero turns a rounded -0.0 into 0.0.
        places = np.round(atoms.points[:, :3], 7) + 0.0
        titles = [f"x{k + 1}" for k in range(places.shape[1])]
    titles = [f"{title:>12}" for title in [*titles, "mass"]]
    rows = [
        " ".join(f"{number:12.9f}" for number in [*place, mass])
        for place, mass in zip(places, atoms.masses, strict=True)
    ]
    if split_rates is not None:
        titles.append(f"{'split rate':>12}")
        rows = [
            f"{row} {rate:12.4e}" for row, rate in zip(rows, split_rates, strict=True)
        ]
    return [
        " ".join([f"{name:>4}", *titles]),
        *(f"{index:4d} {row}" for index, row in enumerate(rows)),
    ]
