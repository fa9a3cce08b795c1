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

import numpy as np
import scipy.fft
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from mfpde.arrays import ComplexArray, FloatArray, check_kind
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle
from mfpde.geometry.base import as_kind
from mfpde.measures.measure import Density
from mfpde.positions.profile import Readings, RetrievalProfile
from mfpde.terms import Attention

FIRST_TERMS, MOST_TERMS = 12, 96
TOLERANCE = 1e-10
"""Of the sum of the series, beside the largest value."""
STEP_TOLERANCE = 1e-10
"""Of steps in time, in the mean over numbers that are mostly 0: values err by some 1e-12."""
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
    asked = Readings.of(sources, times, reader, modes, weights, alibi)
    hierarchy = Hierarchy(equation, start, len(asked.weights))
    count, profile = FIRST_TERMS, None
    while profile is None or (profile.residual > TOLERANCE and count <= MOST_TERMS):
        gammas, unresolved = hierarchy.solve(count, asked.times)
        profile = RetrievalProfile(**vars(asked), gammas=gammas, unresolved=unresolved)
        count *= 2
    return profile.check_series()


class Hierarchy:
    """The responses h, Gamma_0, Gamma_1, ... of the modes n = 1..``modes`` along mu(t).

    They are masses of cells, held by their Fourier coefficients: a row mu, then h of all modes,
    then each Gamma_k of all modes.
    """

    def __init__(self, equation: MeanFieldEquation, start: Density, modes: int) -> None:
        self._grid = grid = equation.on(start.geometry)
        for term in equation.interactions:
            if not term.is_zonal:
                raise ValueError(
                    f"a retrieval profile is that of attention without matrices, not of {term!r}"
                )
        circle = as_kind("start.geometry", start.geometry, Circle)
        count = circle.num_cells
        self._waves = scipy.fft.fftfreq(count, 1 / count)
        self._slopes = 1j * self._waves * (2 * np.abs(self._waves) < count)
        places = np.minimum(np.abs(self._waves).astype(int), grid.degree + 1)
        # Fourier coefficients of the kernels, and beta where softmax divides by the mean.
        self._kernels = []
        for term in equation.interactions:
            spectrum = np.append(term.zonal_kernel.spectrum(2, grid.degree), 0.0)
            beta = None
            if isinstance(term, Attention) and term.needs_values:
                beta = term.beta
            self._kernels.append((count * term.amplitude * spectrum[places], beta))
        self._modes = np.arange(1, modes + 1)
        sent = start.masses * np.exp(-1j * np.outer(self._modes, circle.angles))
        sent -= np.outer(sent.sum(axis=1), start.masses)
        self._start = scipy.fft.fft(np.concatenate([start.masses[np.newaxis], sent]))
        # Of a coefficient of cells, to the integral of e^(inx).
        self._phases = np.exp(1j * self._modes * circle.angles[0])

    def solve(self, count: int, times: FloatArray) -> tuple[ComplexArray, float]:
        """Return int e^(inx) dGamma_k, k < ``count``, at ``times``, (count, times, modes).

        The second result is the largest moment of mu in the last eighth of degrees.

        Raises
        ------
        ValueError
            If the grid no longer resolves mu at one of the times.
        """
        modes, width = len(self._modes), len(self._waves)
        start = np.concatenate([self._start, np.zeros((count * modes, width))])
        shape = start.shape
        solution = solve_ivp(
            lambda t, y: self._find_rates(t, y.reshape(shape)).ravel(),
            (0.0, times[-1]),
            start.ravel(),
            method="DOP853",
            t_eval=times,
            rtol=STEP_TOLERANCE,
            atol=STEP_TOLERANCE,
        )
        if not solution.success:
            raise ValueError(f"times up to {times[-1]:g}: {solution.message}")
        found = np.asarray(solution.y).reshape(*shape, -1)
        unresolved = self._check_resolved(float(times[-1]), found[0])
        responses = found[1 + modes :].reshape(count, modes, width, -1)
        read = responses[:, self._modes - 1, -self._modes % width]
        return np.moveaxis(read, 1, 2) * self._phases, unresolved

    def _check_resolved(self, time: float, base: ComplexArray) -> float:
        """Return the largest moment of mu in the last eighth of degrees; ValueError if large."""
        width = len(base)
        last = base[16 * np.abs(self._waves) > 7 * width]
        unresolved = float(np.abs(last).max(initial=0.0))
        # What blows up is not finite.
        if not unresolved <= LARGEST_UNRESOLVED:
            raise ValueError(
                f"Circle({width}) no longer resolves the density at t = {time:.3g}: a profile "
                "is linear about a smooth one; take earlier times or more cells"
            )
        return unresolved

    def _find_rates(self, time: float, spectra: ComplexArray) -> ComplexArray:
        """Return the rates of change of all rows."""
        base, acting = spectra[0], spectra[1 : -len(self._modes)]
        self._check_resolved(time, base)
        fluxes = scipy.fft.ifft(spectra)
        sign, diffusion = self._grid.sign, self._grid.diffusion
        masses = sign * fluxes[0].real
        velocity = self._grid.external_velocity[0].copy()
        forces = np.zeros(acting.shape, dtype=complex)
        # In place: memory that is new for each result costs more than all transforms.
        for kernel, beta in self._kernels:
            wave = self._slopes * kernel
            slope = scipy.fft.ifft(wave * base).real
            force = scipy.fft.ifft(wave * acting, overwrite_x=True)
            divisor = 1.0
            if beta is not None:
                mean = scipy.fft.ifft(kernel * base).real
                values = scipy.fft.ifft(kernel * acting, overwrite_x=True)
                values *= slope / mean
                force -= values
                divisor = beta * mean
            velocity += sign * slope / divisor
            force *= masses / divisor
            forces += force
        fluxes *= velocity
        fluxes[1 + len(self._modes) :] += forces
        rates = scipy.fft.fft(fluxes, overwrite_x=True)
        rates *= -self._slopes
        if diffusion > 0:
            rates -= diffusion * self._waves**2 * spectra
        return np.asarray(rates)
