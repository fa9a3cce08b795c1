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

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import leggauss
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from mfpde.arrays import FloatArray, choice, read_only, real_array, whole_number
from mfpde.geometry.zonal_fields import zonal_harmonics
from mfpde.notebook import Printed
from mfpde.terms.attention import LARGEST_UNSHIFTED_BETA
from mfpde.terms.funk_hecke import band_limit, counted_eigenvalues, eigenvalues
from mfpde.theory.spectrum import largest_continuous_beta

LARGEST_DIMENSION = 64
LARGEST_BETA = 100.0
SMALLEST_MOMENT = 1e-3
"""A fold below this first moment is at kappa_# to 1e-12 of itself."""
STEP = 1.06
COOLING, SWEEPS = 1.3, 200
MOST_HALVINGS = 8
MOST_ITERATIONS = 50
CONVERGED, SMALL = 1e-14, 1e-9


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
    branch = _Branch(beta, dimension)
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


class _State(NamedTuple):
    """An ordered state: its height h, (kappa, M_1, ...) with d/dh, and Phi - Phi(uniform)."""

    height: float
    unknowns: FloatArray
    derivative: FloatArray
    excess: float

    @property
    def kappa(self) -> float:
        """The diffusion at which the state is stationary."""
        return float(self.unknowns[0])

    @property
    def slope(self) -> float:
        """The derivative d kappa / dh along the branch."""
        return float(self.derivative[0])

    @property
    def moment(self) -> float:
        """The first moment M_1, the length of int x dmu."""
        return float(self.unknowns[1])

    def toward(self, height: float) -> FloatArray:
        """A guess of the unknowns at another height."""
        found = self.unknowns + (height - self.height) * self.derivative
        found[0] = max(found[0], 0.5 * self.unknowns[0])
        return np.asarray(found)


class _Equations(NamedTuple):
    """Residuals of M(rho) = M and of the height, their Jacobian, and Phi - Phi(uniform)."""

    residual: FloatArray
    jacobian: FloatArray
    excess: float


class _Branch:
    """The ordered states of one beta by their height."""

    def __init__(self, beta: float, dimension: int) -> None:
        degree = max(4, band_limit(beta, dimension, 1e-18))
        self.weights = counted_eigenvalues(beta, dimension, degree)[1:] / beta
        # A state of width sqrt(kappa beta) in theta takes some tens of nodes.
        nodes = 256 + 4 * degree + int(24 * np.sqrt(beta * dimension))
        places, shares = leggauss(nodes)
        theta = (places + 1) * np.pi / 2
        self.harmonics = zonal_harmonics(dimension, degree, np.cos(theta))[1:]
        logs = np.log(shares) + (dimension - 2) * np.log(np.sin(theta))
        peak = logs.max()
        self.log_shares = logs - peak - np.log(np.exp(logs - peak).sum())

    def ordered(self, threshold: float) -> _State:
        """An ordered state of less free energy than the uniform one, at kappa_# or above.

        Raises
        ------
        FloatingPointError
            If none is found.
        """
        kappa = float(self.weights.sum()) / 2
        while True:
            kappa = max(kappa / COOLING, threshold)
            moments = np.ones(len(self.weights))
            for _ in range(SWEEPS):
                density = self._density(kappa, moments)[0]
                moments = self.harmonics @ density
            height = float(self.weights @ moments) / kappa
            if moments[0] > SMALLEST_MOMENT:
                found = self.at(height, np.append(kappa, moments))
                if found.excess < 0:
                    return found
            if kappa == threshold:
                raise FloatingPointError("no ordered state was found at the threshold")

    def _density(self, kappa: float, moments: FloatArray) -> tuple[FloatArray, float]:
        """The masses e^(F / kappa) / Z at the nodes, and log Z."""
        logits = (self.weights * moments) @ self.harmonics / kappa + self.log_shares
        peak = float(logits.max())
        density = np.exp(logits - peak)
        total = float(density.sum())
        return density / total, peak + float(np.log(total))

    def at(self, height: float, unknowns: FloatArray) -> _State:
        """The state of this height, by Newton's method from ``unknowns``.

        Raises
        ------
        FloatingPointError
            If the iteration does not converge.
        """
        last = np.inf
        for _ in range(MOST_ITERATIONS):
            found = self._equations(height, unknowns)
            step = np.linalg.solve(found.jacobian, found.residual)
            length = min(1.0, 0.5 * unknowns[0] / max(abs(step[0]), 1e-300))
            unknowns = unknowns - length * step
            sizes = np.abs(step) / np.append(
                unknowns[:1], np.full(len(step) - 1, abs(unknowns[1]))
            )
            before, last = last, float(sizes.max())
            # Quadratic convergence, until rounding takes over.
            if length == 1.0 and (last < CONVERGED or before / 2 <= last < SMALL):
                found = self._equations(height, unknowns)
                forced = np.zeros(len(unknowns))
                forced[-1] = unknowns[0]
                derivative = np.asarray(np.linalg.solve(found.jacobian, forced))
                return _State(height, unknowns, derivative, found.excess)
        raise FloatingPointError(f"no ordered state of height {height:g} was found")

    def _equations(self, height: float, unknowns: FloatArray) -> _Equations:
        kappa, moments = unknowns[0], unknowns[1:]
        density, log_total = self._density(kappa, moments)
        means = self.harmonics @ density
        covariance = (self.harmonics * density) @ self.harmonics.T
        covariance -= np.outer(means, means)
        jacobian = np.empty((len(unknowns), len(unknowns)))
        jacobian[:-1, 0] = covariance @ (self.weights * moments) / kappa**2
        jacobian[:-1, 1:] = np.eye(len(moments)) - covariance * self.weights / kappa
        jacobian[-1, 0] = -height
        jacobian[-1, 1:] = self.weights
        rise = float(self.weights @ moments)
        residual = np.append(moments - means, rise - kappa * height)
        excess = float(self.weights @ moments**2) / 2
        excess -= kappa * log_total
        return _Equations(residual, jacobian, excess)

    def down(
        self, state: _State, is_past: Callable[[_State], bool], least: float
    ) -> tuple[_State, _State | None]:
        """Neighbouring states before and after ``is_past`` first holds, down from ``state``.

        The second is None if it does not hold above the height ``least``.
        """
        if is_past(state):
            return state, state
        while state.height > least:
            ahead = self._next(state)
            if is_past(ahead):
                return state, ahead
            state = ahead
        return state, None

    def _next(self, state: _State) -> _State:
        height = state.height / STEP
        for _ in range(MOST_HALVINGS):
            try:
                return self.at(height, state.toward(height))
            except FloatingPointError:
                height = 0.5 * (height + state.height)
        raise FloatingPointError(
            f"the branch of ordered states is lost at height {state.height:g}"
        )

    def where(
        self, function: Callable[[_State], float], first: _State, last: _State
    ) -> _State:
        """The state between two others at which ``function`` vanishes."""
        if first is last:
            return first
        known = [first, last]

        def reached(height: float) -> _State:
            nearest = min(known, key=lambda state: abs(state.height - height))
            found = self.at(height, nearest.toward(height))
            known.append(found)
            return found

        root = brentq(
            lambda height: function(reached(height)),
            first.height,
            last.height,
            xtol=1e-13,
            rtol=4 * np.finfo(float).eps,
        )
        return reached(float(root))
