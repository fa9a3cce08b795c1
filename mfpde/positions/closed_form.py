"""The retrieval profile of a causal context about the uniform density, in closed form."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import factorial

from mfpde.arrays import choice, real_number
from mfpde.positions.profile import Readings, RetrievalProfile
from mfpde.terms import Attention

TERMS = 64


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
    readings = Readings.of(sources, times, reader, modes, weights, alibi)
    sign = (
        1 if choice("direction", direction, ("ascent", "descent")) == "ascent" else -1
    )
    kappa = real_number("diffusion", diffusion, at_least=0.0)
    attention = Attention(beta, normalized=normalized, kernel=kernel)
    n, t = readings.modes, readings.times[:, np.newaxis]
    spectrum = attention.zonal_kernel.spectrum(2, len(n))
    divisor = attention.beta * spectrum[0] if attention.needs_values else 1.0
    rates = sign * n**2 * attention.amplitude * spectrum[1:] / divisor
    orders = np.arange(1, TERMS + 1)[:, np.newaxis, np.newaxis]
    # What overflows is no sum, and refused.
    with np.errstate(over="ignore", invalid="ignore"):
        gammas = (rates * t) ** orders / factorial(orders) * np.exp(-kappa * n**2 * t)
        return RetrievalProfile(readings, gammas.astype(complex)).check_series()
