r"""The phase diagram of noisy attention: where order begins, and where it wins.

In ascent with diffusion kappa a stationary density that depends on u = x.e alone is

    rho = e^(F / kappa) / Z,   F = sum_(l >= 1) w_l M_l P_l(u),   M_l = int P_l dmu,
    w_l = D_l lambda_l / beta                                                      (Funk-Hecke)

against the uniform probability.  The uniform state loses its stability at kappa_# = lambda_1 /
beta.  For beta above beta_* (the cusp, :func:`mfpde.theory.largest_continuous_beta`) ordered
states live on to a fold at a larger kappa, and the transition is discontinuous: at the
coexistence kappa_c both states have the same free energy Phi = kappa int rho log rho - E, and
between them lies a barrier, the free energy of the unstable ordered state.

The ordered states are one smooth branch in the height of log rho at the pole over its mean,

    h = F(u = 1) / kappa = sum_(l >= 1) w_l M_l / kappa,

at fixed h of which Newton's method finds kappa and all moments.  (At large beta neither the first
moment nor the energy grows all along the branch.)  It is followed from a state of less free
energy than the uniform one, which rho <- e^(F / kappa) / Z finds from a point mass, down to the
uniform state.  On the way coexistence is where

    Phi - Phi(uniform) = (1/2) sum_(l >= 1) w_l M_l^2 - kappa log Z

vanishes, the fold where d kappa / dh = 0, and the unstable state where kappa is kappa_c again.
No kappa is ever bracketed, so that the smallest windows are found.
(Derived here; the method is that of any mean-field theory of a phase transition.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, choice, read_only, real_array, whole_number
from mfpde.notebook import Printed
from mfpde.terms.attention import LARGEST_UNSHIFTED_BETA
from mfpde.terms.funk_hecke import eigenvalues
from mfpde.theory.ordered_states import SMALLEST_MOMENT, OrderedBranch
from mfpde.theory.spectrum import largest_continuous_beta

LARGEST_DIMENSION = 64
LARGEST_BETA = 100.0


@dataclass(frozen=True, eq=False, repr=False)
class PhaseDiagram(Printed):
    """Transitions of noisy attention in ascent, for each beta; arrays of shape (betas,).

    kappa is the equation's diffusion, in the convention of ``kernel``.

    Attributes
    ----------
    dimension, kernel
        Dimension d of S^(d-1), and ``"shifted"`` or ``"unshifted"``.
    betas
        The inverse temperatures.
    threshold
        kappa_#, below which the uniform state is unstable.
    fold
        Largest kappa with an ordered state; the threshold where the transition is continuous.
    coexistence
        kappa_c, at which the ordered state and the uniform one have the same free energy; nan
        where the transition is continuous.
    barrier
        Free energy at kappa_c of the unstable ordered state between the two, less that of
        both; nan where the transition is continuous.
    moment_at_fold, moment_at_coexistence
        Lengths of int x dmu of the ordered state there; 0 and nan where continuous.
    cusp
        beta_*, up to which the transition is continuous.
    """

    dimension: int
    kernel: str
    betas: FloatArray
    threshold: FloatArray
    fold: FloatArray
    coexistence: FloatArray
    barrier: FloatArray
    moment_at_fold: FloatArray
    moment_at_coexistence: FloatArray
    cusp: float

    def __str__(self) -> str:
        kernel = "exp(beta (x.y - 1))" if self.kernel == "shifted" else "exp(beta x.y)"
        header = (
            f"{'beta':>10} {'threshold':>14} {'coexistence':>14} {'fold':>14} "
            f"{'barrier':>12} {'moment':>9}"
        )
        rows = [
            f"{beta:10.7g} {threshold:14.9g} {met:14.9g} {fold:14.9g} {barrier:12.5g} "
            f"{moment:9.6f}"
            for beta, threshold, met, fold, barrier, moment in zip(
                self.betas,
                self.threshold,
                self.coexistence,
                self.fold,
                self.barrier,
                self.moment_at_coexistence,
                strict=True,
            )
        ]
        title = (
            f"ascent with diffusion on S^{self.dimension - 1}, K = {kernel}; the transition "
            f"is continuous up to beta = {self.cusp:.12g}"
        )
        return "\n".join([title, header, *rows])


def phase_diagram(
    dimension: int, betas: ArrayLike, *, kernel: str = "shifted"
) -> PhaseDiagram:
    """The phase diagram in beta and kappa of attention in ascent with diffusion.

    Unnormalised attention alone, without a perceptron.  Formulas and method: this module's
    docstring.  Ratios of kappa are accurate to about 1e-10.

    Begin with ``phase_diagram(3, [2.0, 4.0])``.

    Parameters
    ----------
    dimension
        Dimension d of S^(d-1), from 2 to 64.
    betas
        One or more inverse temperatures, above 0 and at most 100; shape (betas,).
    kernel
        ``"shifted"`` or ``"unshifted"``, which multiplies every kappa by e^beta.

    Returns
    -------
    PhaseDiagram
        ``print`` it for a table, draw it by :func:`mfpde.plot_phase_diagram`.

    Raises
    ------
    ValueError
        For an argument out of its range.
    FloatingPointError
        If Newton's method fails on the branch of ordered states.
    """
    d = whole_number("dimension", dimension, at_least=2, at_most=LARGEST_DIMENSION)
    given = np.atleast_1d(real_array("betas", betas))
    if given.ndim != 1 or len(given) == 0:
        raise ValueError(f"betas has shape {given.shape}: it must be a list of numbers")
    for index, beta in enumerate(given):
        if not 0 < beta <= LARGEST_BETA:
            raise ValueError(
                f"betas[{index}] = {beta:g} must be above 0 and at most {LARGEST_BETA:g}"
            )
    choice("kernel", kernel, ("shifted", "unshifted"))
    assert LARGEST_BETA <= LARGEST_UNSHIFTED_BETA
    cusp = largest_continuous_beta(d)
    rows = [_transition(float(beta), d, cusp) for beta in given]
    columns = np.array(rows).T
    # Free energies scale as kappa does.
    scale = np.exp(given) if kernel == "unshifted" else np.ones(len(given))
    columns[:4] *= scale
    named = {
        name: read_only(np.ascontiguousarray(column))
        for name, column in zip(Transition._fields, columns, strict=True)
    }
    return PhaseDiagram(
        dimension=d, kernel=kernel, betas=read_only(given), cusp=cusp, **named
    )


class Transition(NamedTuple):
    """The numbers of one beta, as in :class:`PhaseDiagram`."""

    threshold: float
    fold: float
    coexistence: float
    barrier: float
    moment_at_fold: float
    moment_at_coexistence: float


def _transition(beta: float, dimension: int, cusp: float) -> Transition:
    threshold = float(eigenvalues(beta, dimension, 1)[1]) / beta
    continuous = Transition(threshold, threshold, np.nan, np.nan, 0.0, np.nan)
    if beta <= cusp:
        return continuous
    branch = OrderedBranch(beta, dimension)
    ordered = branch.ordered(threshold)
    least = SMALLEST_MOMENT * dimension
    above, below = branch.down(ordered, lambda state: state.excess > 0, least)
    if below is None:
        return continuous._replace(
            coexistence=threshold, barrier=0.0, moment_at_coexistence=0.0
        )
    met = branch.where(lambda state: state.excess, above, below)
    above, below = branch.down(below, lambda state: state.slope > 0, least)
    if below is None:
        return continuous._replace(
            coexistence=threshold, barrier=0.0, moment_at_coexistence=0.0
        )
    fold = branch.where(lambda state: state.slope, above, below)
    above, below = branch.down(below, lambda state: state.kappa < met.kappa, 0.0)
    if below is None:
        raise FloatingPointError(f"beta = {beta:g}: no unstable state at coexistence")
    unstable = branch.where(lambda state: state.kappa - met.kappa, above, below)
    return Transition(
        threshold,
        fold.kappa,
        met.kappa,
        max(unstable.excess, 0.0),
        fold.moment,
        met.moment,
    )
