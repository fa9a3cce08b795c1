"""How fast the solver amplifies a small harmonic of the uniform state."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import eval_gegenbauer

import mfpde

Array = NDArray[np.float64]

AMPLITUDE = 1e-6
"""Relative size of the harmonic: its square, which feeds even degrees, is far below errors."""


def harmonic_along_axis(geometry: mfpde.geometry.Geometry, degree: int) -> Array:
    """A zonal harmonic about the last axis (about the first on the circle), 1 at it."""
    dimension = geometry.dimension
    cosines = geometry.points[..., 0 if dimension == 2 else -1]
    if dimension == 2:
        return np.cos(degree * np.arccos(np.clip(cosines, -1, 1)))
    order = dimension / 2 - 1
    return eval_gegenbauer(degree, order, cosines) / eval_gegenbauer(degree, order, 1.0)


def measured_growth(
    geometry: mfpde.geometry.Geometry,
    beta: float,
    degree: int,
    *,
    direction: str,
    normalized: bool = False,
    kernel: str = "shifted",
    diffusion: float = 0.0,
    t_end: float = 0.5,
) -> float:
    """Rate at which the solver amplifies a harmonic of relative size ``AMPLITUDE``."""
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(beta, normalized, kernel),
        direction=direction,
        diffusion=diffusion,
    )
    harmonic = harmonic_along_axis(geometry, degree)
    flat = mfpde.uniform(geometry)
    wave = 1 + AMPLITUDE * harmonic
    start = mfpde.Density(geometry, flat.values * wave).normalized()
    run = mfpde.solve(equation, start, t_end=t_end, rtol=1e-8)

    def amplitude(density: mfpde.Density) -> float:
        return float(((density.masses - flat.masses) * harmonic).sum())

    return float(np.log(amplitude(run.final.density) / amplitude(start)) / t_end)
