r"""Retrieval profiles S(s) from their series, and in closed form about the uniform density.

With E(s) = e^(lambda s) - 1, or s for lambda = 0, and y = log(E(r) / E(s)),

    S(s) = (E'(s) / E(r)) sum_k (y^k / k!) c_k(t),     c_k = sum_n omega_n Re int e^(inx) dGamma_k

(:mod:`mfpde.positions.retrieval`).  About the uniform density a mode grows at the rate g_n and
decays by diffusion kappa, Gamma_k = (g_n t)^(k+1) / (k+1)! e^(-kappa n^2 t) of a unit
mode (arXiv 2605.09213).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import PchipInterpolator
from scipy.special import factorial

from mfpde.arrays import (
    ComplexArray,
    FloatArray,
    check_entries,
    read_only,
    real_array,
    real_number,
    whole_number,
)
from mfpde.notebook import Shown

MOST_MODES = 64
NEGLIGIBLE_WEIGHT = 1e-12
LEAST_SOURCE, LONGEST_TIME = 1e-12, 1e4
LARGEST_RESIDUAL = 1e-6
"""Beyond it a series tells no digits."""


@dataclass(frozen=True, eq=False)
class Readings:
    """Sources (n,), times (t,), weights (m,) and numbers alibi (a,) of the profiles asked for.

    The arguments are those of :func:`mfpde.retrieval_profile`.
    """

    sources: FloatArray
    times: FloatArray
    reader: float
    weights: FloatArray
    alibi: FloatArray

    @classmethod
    def of(
        cls,
        sources: ArrayLike,
        times: ArrayLike,
        reader: float,
        modes: int,
        weights: ArrayLike | None,
        alibi: ArrayLike,
    ) -> Readings:
        """Read the arguments; ``ValueError`` for those out of their range."""
        reader = real_number("reader", reader, above=0.0, at_most=1.0)
        s, t, rates = (
            np.atleast_1d(real_array(name, values))
            for name, values in (
                ("sources", sources),
                ("times", times),
                ("alibi", alibi),
            )
        )
        is_before = (s >= LEAST_SOURCE) & (s <= reader) & (np.diff(s, prepend=0.0) > 0)
        allowed = f"must increase, from {LEAST_SOURCE:g} to reader = {reader:g}"
        check_entries("sources", s, is_before, allowed)
        is_later = (np.diff(t, prepend=0.0) > 0) & (t <= LONGEST_TIME)
        check_entries(
            "times", t, is_later, f"must increase, from 0 to {LONGEST_TIME:g}"
        )
        width = whole_number("modes", modes, at_least=1, at_most=MOST_MODES)
        if weights is None:
            n = np.arange(1, 4 * width + 1)
            omega = np.exp(-((np.pi * n / width) ** 2) / 2)
            omega = omega[omega >= NEGLIGIBLE_WEIGHT]
        else:
            omega = np.atleast_1d(real_array("weights", weights))
        return cls(s, t, reader, omega, rates)

    @property
    def modes(self) -> FloatArray:
        """The modes n = 1, 2, ... of the weights."""
        return np.arange(1.0, len(self.weights) + 1)

    @cached_property
    def log_ratios(self) -> FloatArray:
        """The logarithms y (a, n)."""
        return np.array(
            [_log_ratio(one, self.sources, self.reader) for one in self.alibi]
        )

    @cached_property
    def densities(self) -> FloatArray:
        """E'(s) / E(r), (a, n)."""
        return np.array(
            [_density(one, self.sources, self.reader) for one in self.alibi]
        )


def _log_ratio(rate: float, sources: FloatArray, reader: float) -> FloatArray:
    """Return y for any sign and size of ``rate``, lambda."""
    if rate == 0.0:
        return np.asarray(np.log(reader) - np.log(sources))
    # |E(s)| is 1 - e^(-|lambda| s), for lambda > 0 times e^(lambda s).
    falls = np.expm1(-abs(rate) * reader) / np.expm1(-abs(rate) * sources)
    return np.asarray(np.log(falls) + max(rate, 0.0) * (reader - sources))


def _density(rate: float, sources: FloatArray, reader: float) -> FloatArray:
    """Return E'(s) / E(r) for any sign and size of ``rate``, lambda."""
    if rate == 0.0:
        return np.full(sources.shape, 1 / reader)
    along = sources - reader if rate > 0 else sources
    return np.asarray(abs(rate) * np.exp(rate * along) / -np.expm1(-abs(rate) * reader))


@dataclass(frozen=True, eq=False, repr=False)
class RetrievalProfile(Shown):
    """Profiles S(s) of the sources at several times, for several lambda of ALiBi.

    Attributes
    ----------
    readings
        Whose profiles they are.
    gammas
        int e^(inx) dGamma_k, (k, t, m).
    unresolved
        Largest moment of mu in the last eighth of the grid's degrees, 0 in closed form: values
        err by up to a tenth of it, of their largest.
    """

    readings: Readings
    gammas: ComplexArray
    unresolved: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "gammas", read_only(self.gammas))

    def check_series(self) -> RetrievalProfile:
        """Return the profile itself; ``ValueError`` if its series has not ended."""
        if not self.residual <= LARGEST_RESIDUAL:
            raise ValueError(
                f"the series of {len(self.gammas)} terms ends with {self.residual:.1e} of its "
                f"largest sum: times = {self.times[-1]:g} must be shorter, or sources = "
                f"{self.sources[0]:g} later"
            )
        return self

    @property
    def sources(self) -> FloatArray:
        """The sources s (n,)."""
        return self.readings.sources

    @property
    def times(self) -> FloatArray:
        """The times t (t,)."""
        return self.readings.times

    @property
    def alibi(self) -> FloatArray:
        """The numbers lambda (a,)."""
        return self.readings.alibi

    @property
    def modes(self) -> FloatArray:
        """The modes n (m,)."""
        return self.readings.modes

    @cached_property
    def _terms(self) -> FloatArray:
        """The terms of the series, (k, a, t, n)."""
        orders = np.arange(len(self.gammas))[:, np.newaxis, np.newaxis]
        powers = self.readings.log_ratios**orders / factorial(orders)
        return np.asarray(np.einsum("kas,kt->kats", powers, self._coefficients))

    @cached_property
    def _coefficients(self) -> FloatArray:
        """The numbers c_k, (k, t)."""
        return np.asarray(self.gammas.real @ self.readings.weights)

    @cached_property
    def values(self) -> FloatArray:
        """The profiles S, (a, t, n)."""
        densities = self.readings.densities[:, np.newaxis]
        return read_only(densities * self._terms.sum(axis=0))

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
        if len(self.sources) < 3:
            return np.full(self.values.shape[:2], np.nan)
        least = self.values.argmin(axis=-1)
        inner = np.clip(least, 1, len(self.sources) - 2)
        around = inner[..., np.newaxis] + np.array([-1, 0, 1])
        values = np.take_along_axis(self.values, around, axis=-1)
        s = self.sources[around]
        slopes, middles = np.diff(values) / np.diff(s), (s[..., 1:] + s[..., :-1]) / 2
        below, above = np.moveaxis(slopes, -1, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = middles[..., 0] - below / (above - below) * np.diff(middles)[..., 0]
        return np.where(least == inner, found, np.nan)

    @property
    def critical_times(self) -> FloatArray:
        """The time at which dS/ds at the reader turns from above to below 0, (a,).

        Until then a profile is a U, high for the first and the last tokens.  It is 0 without
        ALiBi (lambda <= 0), and nan where it is later than the last of the times.
        """
        if len(self.gammas) < 2:
            return np.full(len(self.alibi), np.nan)
        # dS/ds = (E'/E) (lambda c_0 - (E'/E) c_1) at s = r.
        ratios = self._coefficients[1] / self._coefficients[0]
        found = np.zeros(len(self.alibi))
        for i, rate in enumerate(self.alibi):
            growth = _density(
                rate, np.array([self.readings.reader]), self.readings.reader
            )
            if rate > 0.0:
                falls = np.append(-rate, growth * ratios - rate)
                roots = PchipInterpolator(np.append(0.0, self.times), falls).roots(
                    extrapolate=False
                )
                found[i] = roots[0] if len(roots) else np.nan
        return found

    @property
    def facts(self) -> dict[str, str]:
        """What was read, and when."""
        return {
            "sources": f"{len(self.sources)}, read at {self.readings.reader:g}",
            "times": f"{self.times[0]:g} to {self.times[-1]:g}",
            "alibi": ", ".join(f"{one:g}" for one in self.alibi),
            "residual": f"{self.residual:.1e}",
            "unresolved": f"{self.unresolved:.1e}",
        }
