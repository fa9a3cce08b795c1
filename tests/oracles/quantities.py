"""What a case of the oracles is: named numbers, computed from inputs that may be nudged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.special import eval_gegenbauer, sph_harm_y

import mfpde

Quantities = dict[str, np.ndarray]
DEGREE = 16
NUDGE = 1e-14
"""Relative change of a start, by which a case says how far rounding carries."""


class Case(NamedTuple):
    """A case: its name, and what computes its quantities from a relative change of its inputs."""

    name: str
    compute: Callable[[float], Quantities]


def nudged(values: Any, size: float) -> np.ndarray:
    """Return values times 1 + ``size`` times fixed normal numbers."""
    array = np.asarray(values, dtype=float)
    return array * (1 + size * np.random.default_rng(2).standard_normal(array.shape))


def moments_of(state: mfpde.Measure) -> np.ndarray:
    """Return int Y_l dmu for degrees up to 16: Fourier, spherical or Gegenbauer moments."""
    grid = state.geometry
    points = np.concatenate(
        [grid.points.reshape(-1, grid.points.shape[-1]), state.atoms.points]
    )
    masses = np.concatenate([state.density.masses.ravel(), state.atoms.masses])
    if isinstance(grid, mfpde.Circle):
        angles = np.arctan2(points[:, 1], points[:, 0])
        return np.exp(1j * np.outer(np.arange(DEGREE + 1), angles)) @ masses
    if isinstance(grid, mfpde.Sphere):
        polar = np.arccos(np.clip(points[:, 2], -1, 1))
        azimuth = np.arctan2(points[:, 1], points[:, 0])
        pairs = [(n, order) for n in range(DEGREE + 1) for order in range(n + 1)]
        return np.array([sph_harm_y(*pair, polar, azimuth) @ masses for pair in pairs])
    index, cosines = (grid.dimension - 2) / 2, points @ grid.axis
    return np.array(
        [
            eval_gegenbauer(degree, index, cosines)
            @ masses
            / eval_gegenbauer(degree, index, 1.0)
            for degree in range(DEGREE + 1)
        ]
    )


def words_of(report: Any) -> np.ndarray:
    """Return the verdict of a report with the counts beside it, as one text."""
    atoms, forming = len(report.atoms), len(report.forming)
    counts = f"{atoms} atoms, {forming} forming, {len(report.curves)} curves"
    return np.array(f"{report.verdict}: {counts}")


def perturbed(
    equation: mfpde.MeanFieldEquation, size: float
) -> mfpde.MeanFieldEquation:
    """Return the equation with the weights of its perceptron nudged."""
    terms = [
        replace(term, weights=nudged(term.weights, size))
        if isinstance(term, mfpde.Perceptron)
        else term
        for term in equation.terms
    ]
    return mfpde.MeanFieldEquation(
        *terms, direction=equation.direction, diffusion=equation.diffusion
    )
