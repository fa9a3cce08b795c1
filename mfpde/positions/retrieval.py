r"""Retrieval profiles: how much of each source a reader behind a causal mask still knows.

All rows of a context start equal, and so they stay mu(t).  A small change h of the row at the
source s changes the row at the reader r > s by the density in s

    g = (E'(s) / E(r)) sum_k (y^k / k!) Gamma_k(t),    y = log(E(r) / E(s)),

with E(s) = e^(lambda s) - 1 (ALiBi; s for lambda = 0), u = v[mu] + V', and

    h' = L h,   Gamma_0' = L Gamma_0 + B h,   Gamma_(k+1)' = L Gamma_(k+1) + B Gamma_k,
    L X = -(X u)' + kappa X'',   B X = -s (mu (A'[mu] X)')',

A'[mu] X = (1/beta) K*X, or under softmax (1/beta) K*X / (K*mu).  One run has all sources, readers,
lambda and times.  The profile of modes n with weights omega_n is

    S(s) = sum_n omega_n Re int e^(inx) dg_n,   g_n the response to h = (e^(-inx) - its mean) mu_0,

the limit of N Cov(e^(in x_r(t)), e^(in x_s(0))) of N tokens.  About the uniform density
Gamma_k = (g_n t)^(k+1)/(k+1)! h, g_n the growth rates: :func:`mfpde.theory.retrieval_profile`
(arXiv 2605.09213).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from mfpde.arrays import ComplexArray, FloatArray, check_kind
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle
from mfpde.geometry.base import as_kind
from mfpde.measures.measure import Density
from mfpde.positions.profile import RetrievalProfile, ask_profile
from mfpde.terms.interaction_on_grid import InteractionOnGrid

NUMBERS_OF_TERMS = 12, 24, 48, 96
"""Of the series, until it has ended."""
TOLERANCE = 1e-10
"""Of the sum of the series, beside the largest value."""
STEP_TOLERANCE = 5e-11
"""Of steps in time, in the mean over numbers that are mostly 0: values err by some 1e-12."""
LARGEST_DECAY = 6.0
"""Of logarithms of degrees in a step, by diffusion: longer steps are not stable."""
LARGEST_UNRESOLVED = 1e-2
"""Moment of the last eighth of degrees beyond which a profile tells no digits."""


def retrieval_profile(
    equation: MeanFieldEquation,
    start: Density,
    *,
    sources: ArrayLike,
    times: ArrayLike,
    reader: float = 1.0,
    modes: int = 8,
    weights: ArrayLike | None = None,
    alibi: ArrayLike = (0.0, 1.0),
) -> RetrievalProfile:
    r"""The retrieval profiles S(s) of a causal context whose rows all start as ``start``.

    Begin with ``mfpde.retrieval_profile(equation, uniform(Circle(256)), sources=[0.1, 0.5, 1.0],
    times=[1.0])``.

    Parameters
    ----------
    equation
        Attention without positions or matrices, perceptrons, diffusion.
    start
        mu_0, a density on a circle.
    sources
        Positions s in (0, reader].
    times
        Times, above 0 and increasing.
    reader
        The position that reads, in (0, 1].
    modes, weights
        omega_n of the modes n = 1, 2, ...; by default e^(-pi^2 n^2 / (2 modes^2)) as long as
        they count.
    alibi
        One lambda or several.

    Raises
    ------
    ValueError
        For arguments out of their range, terms with positions or matrices, another grid, or a
        density that the grid no longer resolves at one of the times.
    """
    check_kind("start", start, Density, source="on a Circle")
    asked = ask_profile(sources, times, reader, modes, weights, alibi)
    hierarchy = Hierarchy(equation, start, len(asked.weights))
    for count in NUMBERS_OF_TERMS:
        gammas, unresolved = hierarchy.solve(count, asked.times)
        profile = replace(asked, gammas=gammas, unresolved=unresolved)
        if profile.residual <= TOLERANCE:
            break
    return profile.check_series()


class Hierarchy:
    """The responses h, Gamma_0, Gamma_1, ... of the modes n = 1..``modes`` along mu(t).

    They are held by their moments: a row mu, then h, then each Gamma_k, where a response is two
    rows a mode, those to cos(n x) mu_0 and sin(n x) mu_0 without their means.
    """

    def __init__(self, equation: MeanFieldEquation, start: Density, modes: int) -> None:
        self._grid = grid = equation.on(start.geometry)
        for term in equation.interactions:
            if not term.is_zonal:
                raise ValueError(
                    f"a retrieval profile is that of attention without matrices, not of {term!r}"
                )
        self._circle = circle = as_kind("start.geometry", start.geometry, Circle)
        self._kernels = [
            InteractionOnGrid.of_kernels([term], circle, grid.degree)
            for term in equation.interactions
        ]
        self._degrees = np.arange(circle.max_degree + 1)
        self._waves = np.exp(1j * np.outer(np.arange(1, modes + 1), circle.angles))
        sent = np.concatenate([self._waves.real, self._waves.imag])
        sent -= (sent @ start.masses)[:, np.newaxis]
        rows = np.vstack([np.ones(circle.num_cells), sent]) * start.masses
        self._start = circle.moments(rows, circle.max_degree)

    def solve(self, count: int, times: FloatArray) -> tuple[ComplexArray, float]:
        """Return int e^(inx) dGamma_k, k < ``count``, at ``times``, (count, times, modes).

        The second result is the largest moment of mu in the last eighth of degrees; a
        ``ValueError`` says that the grid no longer resolves mu at one of the times.
        """
        begun, zeros = self._start, np.zeros_like(self._start[1:])
        start = np.concatenate([begun, *[zeros] * count])
        decay = self._grid.diffusion * self._degrees[-1] ** 2
        solution = solve_ivp(
            lambda t, y: self._find_rates(t, y.reshape(start.shape)).ravel(),
            (0.0, times[-1]),
            start.ravel(),
            method="DOP853",
            t_eval=times,
            rtol=STEP_TOLERANCE,
            atol=STEP_TOLERANCE,
            max_step=LARGEST_DECAY / decay if decay > 0 else np.inf,
        )
        if not solution.success:
            raise ValueError(f"times up to {times[-1]:g}: {solution.message}")
        found = np.moveaxis(solution.y.reshape(*start.shape, -1), -1, 0)
        unresolved = self._check_resolved(float(times[-1]), found[:, 0])
        masses = self._find_masses(found[:, len(begun) :])
        responses = masses.reshape(len(times), count, 2, *self._waves.shape)
        parts = np.einsum("tkamx,mx->aktm", responses, self._waves)
        return parts[0] - 1j * parts[1], unresolved

    def _find_masses(self, moments: ComplexArray) -> FloatArray:
        """Return the masses (..., n) of cells that have ``moments``."""
        masses = self._circle.centres.synthesis(moments)
        masses /= self._circle.num_cells
        return masses

    def _check_resolved(self, time: float, base: ComplexArray) -> float:
        """Return the largest moment of mu in the last eighth of degrees; ValueError if large."""
        cells = self._circle.num_cells
        last = np.abs(base[..., 16 * self._degrees > 7 * cells])
        unresolved = float(last.max(initial=0.0))
        # What blows up is not finite.
        if not unresolved <= LARGEST_UNRESOLVED:
            raise ValueError(
                f"Circle({cells}) no longer resolves the density at t = {time:.3g}: a profile "
                "is linear about a smooth one; take earlier times or more cells"
            )
        return unresolved

    def _find_rates(self, time: float, moments: ComplexArray) -> ComplexArray:
        """Return the rates of change of the moments of all rows."""
        self._check_resolved(time, moments[0])
        grid, fields = self._grid, self._circle.centres
        used, response = moments[:, : grid.degree + 1], len(self._start) - 1
        fluxes = self._find_masses(moments)
        masses = fluxes[0].copy()
        fluxes *= grid.velocity(used[0])[0]
        # In place: memory that is new for each result costs more than all transforms.
        for kernel in self._kernels:
            mean = kernel.mean_kernel(used[0])
            changes = kernel.mean_kernel(used[1:-response])
            force = fields.gradient(changes)[0]
            factor = grid.sign * kernel.factor * masses
            if kernel.softmax is not None:
                divisor, values = fields.synthesis(mean), fields.synthesis(changes)
                values *= fields.gradient(mean)[0] / divisor
                force -= values
                factor /= divisor
            force *= factor
            fluxes[1 + response :] += force
        rates = self._circle.moments(fluxes, len(self._degrees) - 1)
        rates *= -1j * self._degrees
        if grid.diffusion > 0:
            rates -= grid.diffusion * self._degrees**2 * moments
        return rates
