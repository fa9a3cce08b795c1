"""Retrieval profiles: about the uniform density, along any mu(t), of rows behind a causal mask."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from equations import ascent, descent
from random_points import bump
from scipy.special import iv

import mfpde
from mfpde import theory

SOURCES = np.linspace(0.01, 1.0, 100)
CELLS = 64
NEURONS = mfpde.Perceptron([[0.6, 0.8], [0.2, -0.5]], [0.3, -0.4], "tanh")


def test_minima_and_critical_time_of_the_published_profile() -> None:
    """Numbers of the code of arXiv 2605.09213 at its beta = 1, lambda = 1."""
    times = np.e * np.array([0.5, 1.0, 1.5, 2.0, 3.0])
    sources = np.linspace(0.005, 1, 400)
    profile = theory.retrieval_profile(1.0, sources=sources, times=times, alibi=1.0)
    expected = [0.125, 0.259, 0.418, 0.633, np.nan]
    assert np.allclose(profile.minimum[0], expected, atol=6e-4, equal_nan=True)
    assert profile.critical_times[0] / np.e == pytest.approx(2.457489, abs=2e-6)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("diffusion", [0.0, 0.05])
def test_profiles_about_the_uniform_density(normalized, diffusion) -> None:
    """sqrt(g t / y) I_1(2 sqrt(g t y)) for each mode: the formula, the series, the run."""
    asked = {"sources": SOURCES, "times": [1.5, 3.0], "alibi": [0.0, 1.0, -1.0, 3.0]}
    options = {"normalized": normalized, "diffusion": diffusion}
    known = theory.retrieval_profile(3.0, **options, **asked)
    start = mfpde.uniform(mfpde.Circle(CELLS))
    found = mfpde.retrieval_profile(ascent(3.0, **options), start, **asked)
    assert np.abs(found.values - known.values).max() < 1e-8 * np.abs(known.values).max()
    n, t = known.modes, known.times[:, np.newaxis, np.newaxis]
    rates = theory.growth_rates(3.0, 2, n, direction="ascent", normalized=normalized)
    for alibi, values in zip(known.alibi, known.values, strict=True):
        size = np.expm1(alibi * SOURCES) if alibi else SOURCES
        y = np.log(size[-1] / size[:-1, np.newaxis])
        bessel = np.sqrt(rates * t / y) * iv(1, 2 * np.sqrt(rates * t * y))
        heat = np.exp(-diffusion * n**2 * t - (np.pi * n / 8) ** 2 / 2)
        slope = alibi * np.exp(alibi * SOURCES[:-1]) if alibi else 1.0
        expected = slope / size[-1] * (bessel * heat).sum(axis=-1)
        assert np.abs(values[:, :-1] - expected).max() < 1e-11


@pytest.mark.parametrize(
    ("normalized", "direction", "neurons"),
    [(False, "ascent", []), (True, "ascent", []), (True, "descent", [NEURONS])],
)
def test_rows_behind_a_mask_respond_as_the_profile_says(
    normalized, direction, neurons
) -> None:
    """Differences of labels of rows tend to the density in s at order 2."""
    alone, masked = (
        mfpde.MeanFieldEquation(
            mfpde.Attention(3.0, normalized, positions=mask),
            *neurons,
            direction=direction,
        )
        for mask in (None, mfpde.Causal(alibi=1.0))
    )
    start = bump(mfpde.Circle(CELLS))
    masses, points = start.masses, start.geometry.points
    asked = {"sources": 0.5, "times": 0.6, "alibi": 1.0, "weights": [1.0]}
    errors = []
    for count in (9, 27):
        response, size = 0.0, 1e-3
        for axis, sign in product([0, 1], [size, -size]):
            values = np.tile(start.values, (count, 1))
            along = points[:, axis]
            values[count // 2] *= 1 + sign * (along - masses @ along)
            rows = mfpde.PositionedDensity(start.geometry, values)
            labels = mfpde.solve_particles(
                masked, rows, t_end=0.6, method="labels", rtol=1e-11, atol=1e-13
            ).final
            reader = slice(-CELLS, None)
            moved = labels.masses[reader] @ labels.points[reader, axis]
            response += count**2 * moved / (2 * sign)
        reader = 1 - 0.5 / count
        profile = mfpde.retrieval_profile(alone, start, reader=reader, **asked)
        errors.append(abs(response - profile.values[0, 0, 0]))
    assert errors[1] < 5e-5
    assert errors[0] / errors[1] > 8.5


def test_beside_kinks_values_err_by_a_tenth_of_what_is_unresolved() -> None:
    kinks = mfpde.Perceptron([[1.0, 0.0], [0.6, 0.8]], [0.8, -0.5], "relu")
    equation = descent(5.0, kinks)
    asked = {"sources": [0.1, 0.5, 1.0], "times": 0.6, "alibi": 1.0}
    coarse, fine = (
        mfpde.retrieval_profile(equation, mfpde.uniform(mfpde.Circle(cells)), **asked)
        for cells in (64, 256)
    )
    largest = np.abs(fine.values).max()
    off = np.abs(coarse.values - fine.values).max()
    assert 1e-2 * coarse.unresolved * largest < off < 0.1 * coarse.unresolved * largest
    asked["times"] = 20.0
    with pytest.raises(ValueError, match="no longer resolves"):
        mfpde.retrieval_profile(equation, mfpde.uniform(mfpde.Circle(64)), **asked)
