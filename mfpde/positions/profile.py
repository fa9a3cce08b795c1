r"""Retrieval profiles S(s) by the series of :mod:`mfpde.positions.retrieval`, and in closed form.

With c_k = sum_n omega_n Re int e^(inx) dGamma_k,

    S(s) = (E'(s) / E(r)) sum_k (y^k / k!) c_k(t).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import PchipInterpolator
from scipy.special import factorial

from mfpde.arrays import (
    ComplexArray,
    FloatArray,
    IntArray,
    check_entries,
    choice,
    read_only,
    real_array,
    real_number,
    whole_number,
)
from mfpde.notebook import Shown, call_above
from mfpde.positions.weights import log_size
from mfpde.terms import Attention

MOST_MODES = 64
NEGLIGIBLE_WEIGHT = 1e-12
LEAST_SOURCE, LONGEST_TIME = 1e-12, 1e4
LARGEST_RESIDUAL = 1e-6
"""Beyond it a series tells no digits."""
TERMS_OF_CLOSED_FORM = 64


@dataclass(frozen=True, eq=False, repr=False)
class RetrievalProfile(Shown):
    """Profiles S(s) of the sources at several times, for several lambda of ALiBi.

    Attributes
    ----------
    sources, times, reader, weights, alibi
        s (n,), t (t,), r, omega_n (m,) and lambda (a,).
    gammas
        int e^(inx) dGamma_k, (k, t, m).
    unresolved
        Largest moment of mu in the last eighth of the grid's degrees, 0 in closed form: values
        err by up to a tenth of it, of their largest.
    """

    sources: FloatArray
    times: FloatArray
    reader: float
    weights: FloatArray
    alibi: FloatArray
    gammas: ComplexArray
    unresolved: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "gammas", read_only(self.gammas))

    @property
    def modes(self) -> IntArray:
        """The modes n = 1, 2, ... of the weights."""
        return np.arange(1, len(self.weights) + 1)

    def check_series(self) -> RetrievalProfile:
        """Return the profile; ``ValueError`` if its series has not ended."""
        if not self.residual <= LARGEST_RESIDUAL:
            raise ValueError(
                f"the series of {len(self.gammas)} terms ends with {self.residual:.1e} of its "
                f"largest sum: times = {self.times[-1]:g} must be shorter, or sources = "
                f"{self.sources[0]:g} later"
            )
        return self

    @cached_property
    def _terms(self) -> FloatArray:
        """The terms of the series, (k, a, t, n)."""
        orders = np.arange(len(self.gammas))[:, np.newaxis, np.newaxis]
        each = self.alibi[:, np.newaxis]
        y = log_size(each, self.reader) - log_size(each, self.sources)
        powers = y**orders / factorial(orders)
        return np.asarray(np.einsum("kas,kt->kats", powers, self._coefficients))

    @property
    def _coefficients(self) -> FloatArray:
        """The numbers c_k, (k, t)."""
        return np.asarray(self.gammas.real @ self.weights)

    @cached_property
    def values(self) -> FloatArray:
        """The profiles S, (a, t, n)."""
        each = self.alibi[:, np.newaxis]
        densities = np.exp(each * self.sources - log_size(each, self.reader))
        return read_only(densities[:, np.newaxis] * self._terms.sum(axis=0))

    @property
    def residual(self) -> float:
        """The largest last term of a series, beside the largest sum of one."""
        sums = np.abs(self._terms.sum(axis=0)).max()
        return float(np.abs(self._terms[-1]).max() / sums) if sums > 0 else 0.0

    @property
    def minimum(self) -> FloatArray:
        """The source at which each profile is least, (a, t); nan where it is the first or last.

        It is that of the parabola through three values.
        """

        def find_least(values: FloatArray) -> float:
            i = int(values.argmin())
            if not 0 < i < len(values) - 1:
                return np.nan
            around = slice(i - 1, i + 2)
            square, linear, _ = np.polyfit(self.sources[around], values[around], 2)
            return float(-linear / (2 * square))

        return np.apply_along_axis(find_least, -1, self.values)

    @property
    def critical_times(self) -> FloatArray:
        """The time at which dS/ds at the reader turns from above to below 0, (a,).

        Until then a profile is a U, high for the first and the last tokens.  It is 0 without
        ALiBi (lambda <= 0), and nan where it is later than the last of the times.
        """
        # dS/ds = (E'/E) (lambda c_0 - (E'/E) c_1) at s = r.
        ratios = np.append(0.0, self._coefficients[1] / self._coefficients[0])
        growths = np.exp(self.alibi * self.reader - log_size(self.alibi, self.reader))
        found, times = np.zeros(len(self.alibi)), np.append(0.0, self.times)
        for i in np.flatnonzero(self.alibi > 0.0):
            falls = PchipInterpolator(times, growths[i] * ratios - self.alibi[i])
            roots = falls.roots(extrapolate=False)
            found[i] = roots[0] if len(roots) else np.nan
        return found

    def plot(self, **options: Any) -> Any:
        """The figure of the profiles, as :func:`mfpde.plot_retrieval` makes it with options."""
        return call_above("plotting:plot_retrieval", self, **options)

    @property
    def facts(self) -> dict[str, str]:
        """What was read, and when."""
        return {
            "sources": f"{len(self.sources)}, read at {self.reader:g}",
            "times": f"{self.times[0]:g} to {self.times[-1]:g}",
            "alibi": ", ".join(f"{one:g}" for one in self.alibi),
            "residual": f"{self.residual:.1e}",
            "unresolved": f"{self.unresolved:.1e}",
        }


def ask_profile(
    sources: ArrayLike,
    times: ArrayLike,
    reader: float,
    modes: int,
    weights: ArrayLike | None,
    alibi: ArrayLike,
) -> RetrievalProfile:
    """Return a profile whose gammas are still to be found.

    Arguments are those of :func:`mfpde.retrieval_profile`; ``ValueError`` out of their range.
    """
    reader = real_number("reader", reader, above=0.0, at_most=1.0)
    s = np.atleast_1d(real_array("sources", sources))
    t = np.atleast_1d(real_array("times", times))
    rates = np.atleast_1d(real_array("alibi", alibi))
    is_before = (s >= LEAST_SOURCE) & (s <= reader) & (np.diff(s, prepend=0.0) > 0)
    allowed = f"must increase, from {LEAST_SOURCE:g} to reader = {reader:g}"
    check_entries("sources", s, is_before, allowed)
    is_later = (np.diff(t, prepend=0.0) > 0) & (t <= LONGEST_TIME)
    check_entries("times", t, is_later, f"must increase, from 0 to {LONGEST_TIME:g}")
    width = whole_number("modes", modes, at_least=1, at_most=MOST_MODES)
    if weights is None:
        n = np.arange(1, 4 * width + 1)
        omega = np.exp(-((np.pi * n / width) ** 2) / 2)
        omega = omega[omega >= NEGLIGIBLE_WEIGHT]
    else:
        omega = np.atleast_1d(real_array("weights", weights))
    none = np.empty((0, len(t), len(omega)), dtype=complex)
    return RetrievalProfile(s, t, reader, omega, rates, none)


def retrieval_profile(
    beta: float,
    *,
    sources: ArrayLike,
    times: ArrayLike,
    direction: str = "ascent",
    reader: float = 1.0,
    modes: int = 8,
    weights: ArrayLike | None = None,
    alibi: ArrayLike = (0.0, 1.0),
    normalized: bool = False,
    kernel: Literal["shifted", "unshifted"] = "shifted",
    diffusion: float = 0.0,
) -> RetrievalProfile:
    r"""The retrieval profiles on the circle of rows that all start uniform.

        S(s) = sum_n omega_n (E'(s)/E(r)) e^(-kappa n^2 t) sqrt(g_n t / y) I_1(2 sqrt(g_n t y)),

    y = log(E(r)/E(s)), g_n the growth rates without diffusion, by its power series
    (arXiv 2605.09213, whose unshifted t is beta e^beta times as long here).  Begin with
    ``retrieval_profile(5.0, sources=[0.1, 0.5, 1.0], times=[1.0])``.

    Parameters and errors are those of :func:`mfpde.retrieval_profile` and of
    :func:`mfpde.theory.growth_rates`.
    """
    asked = ask_profile(sources, times, reader, modes, weights, alibi)
    ascends = choice("direction", direction, ("ascent", "descent")) == "ascent"
    kappa = real_number("diffusion", diffusion, at_least=0.0)
    attention = Attention(beta, normalized=normalized, kernel=kernel)
    n, t = asked.modes, asked.times[:, np.newaxis]
    spectrum = attention.zonal_kernel.spectrum(2, len(n))
    divisor = attention.beta * spectrum[0] if attention.needs_values else 1.0
    rates = n**2 * attention.amplitude * spectrum[1:] / divisor
    gains = rates * t if ascends else -rates * t
    orders = np.arange(1, TERMS_OF_CLOSED_FORM + 1)[:, np.newaxis, np.newaxis]
    # What overflows is no sum, and refused.
    with np.errstate(over="ignore", invalid="ignore"):
        gammas = gains**orders / factorial(orders) * np.exp(-kappa * n**2 * t)
        return replace(asked, gammas=gammas.astype(complex)).check_series()
