"""Kernels of x.y: spectra, runs, exact solutions, stores and settings."""

from __future__ import annotations

import numpy as np
import pytest
from equations import ascent
from hypothesis import given, settings
from hypothesis import strategies as st
from test_examples import load

import mfpde
from mfpde.geometry import zonal_harmonics
from mfpde.theory import critical_diffusion, fastest_mode, growth_rates

EXAMPLE = load("kernels_of_two_functions")
rods, frames, confidence = EXAMPLE.rods, EXAMPLE.frames, EXAMPLE.confidence
WITH_NAMES = [mfpde.Polynomial((0.3, -0.5, 1.0, 0.2)), mfpde.Exponential(4.0)]
KERNELS = [
    WITH_NAMES[0],
    rods(0.2),
    frames(1.5, 0.2),
    confidence(np.arccos(0.5 / 3), 1 / 3),
    confidence(0.8, 0.1),
    WITH_NAMES[1],
]

SHARP = {64: KERNELS[1:3], 512: [*KERNELS[1:3], KERNELS[4]]}
"""Kernels with singularities so near that their series cancels in these dimensions."""


def by_quadrature(kernel, dimension, degree):
    """lambda_l = int W P_l sin^(d-2) over that of 1, by recurrence in l."""
    nodes, weights = np.polynomial.legendre.leggauss(800)
    theta = (nodes + 1) * np.pi / 2
    weights = weights * np.sin(theta) ** (dimension - 2)
    weights /= weights.sum()
    u = np.cos(theta)
    before, here, found = np.ones(len(u)), u, []
    values = weights * kernel.value(u)
    for l in range(degree + 1):
        found.append(values @ before)
        after = ((2 * l + dimension) * u * here - (l + 1) * before) / (
            l + dimension - 1
        )
        before, here = here, after
    return np.array(found)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("dimension", [2, 3, 5])
def test_spectra_and_derivatives(kernel, dimension):
    found = kernel.spectrum(dimension, 20)
    expected = by_quadrature(kernel, dimension, 20)
    assert np.abs(found - expected).max() < 1e-13 * max(1, np.abs(expected).max())
    u = np.linspace(-0.95, 0.95, 41)
    step = 1e-5
    slopes = (kernel.value(u + step) - kernel.value(u - step)) / (2 * step)
    assert np.abs(kernel.slope(u) - slopes).max() < 1e-7
    bends = (kernel.slope(u + step) - kernel.slope(u - step)) / (2 * step)
    assert np.abs(kernel.bend(u) - bends).max() < 1e-6


@pytest.mark.parametrize("degree", [20, 33, 40, 64])
def test_a_short_wave_is_not_taken_for_a_longer_one(degree):
    wave = np.polynomial.Chebyshev.basis(degree)
    kernel = mfpde.ZonalKernel(lambda u: wave(u), lambda u: wave.deriv()(u))
    found = kernel.spectrum(2, degree)
    np.testing.assert_allclose(found, np.eye(1, degree + 1, degree)[0] / 2, atol=1e-12)


@pytest.mark.parametrize("dimension", [3, 4, 9, 16, 64, 512])
@pytest.mark.parametrize(
    "kernel",
    [
        *KERNELS,
        rods(1.0),
        frames(1.5, 0.5),
        confidence(np.pi / 2, 0.2),
        mfpde.ZonalKernel(np.sin, np.cos),
    ],
    ids=str,
)
def test_the_sum_of_the_counted_series_is_the_kernel_or_it_is_refused(
    kernel, dimension
):
    """At u = 1 too, far from where the law of x.y in high dimension is."""
    u = np.linspace(-1.0, 1.0, 101)
    degree = kernel.band_limit(dimension)
    if kernel in SHARP.get(dimension, ()):
        refusal = f"loses its digits on a zonal grid of dimension {dimension}"
        with pytest.raises(ValueError, match=refusal):
            kernel.spectrum(dimension, degree, counted=True)
        return
    counted = kernel.spectrum(dimension, degree, counted=True)
    sums = counted @ zonal_harmonics(dimension, degree, u)
    assert np.abs(sums - kernel.value(u)).max() < 1e-9 * np.ptp(kernel.value(u))


def test_a_kernel_that_loses_its_digits_is_refused_before_any_work():
    equation = ascent(mfpde.Interaction(rods(0.1)))
    with pytest.raises(ValueError, match="loses its digits on a zonal grid of dim"):
        equation.on(mfpde.Zonal(64, 512))
    assert equation.on(mfpde.Zonal(16, 512)).degree > 16
    rates = growth_rates(rods(0.1), 64, range(3), direction="ascent")
    assert np.isfinite(rates).all()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-2, 2), min_size=2, max_size=8), st.sampled_from([2, 3, 8]))
def test_polynomials_end_at_their_degree(coefficients, dimension):
    if not any(coefficients[1:]):
        with pytest.raises(ValueError, match="constant kernel"):
            mfpde.Polynomial(coefficients)
        return
    if max(map(abs, coefficients[1:])) < 1e-100:
        with pytest.raises(ValueError, match="from 1e-100 to 1e\\+100"):
            mfpde.Polynomial(coefficients)
        return
    kernel = mfpde.Polynomial(coefficients)
    found = kernel.spectrum(dimension, 12, counted=True)
    assert (found[len(coefficients) :] == 0).all()
    # sum_l D_l lambda_l P_l(1) = W(1).
    assert found.sum() == pytest.approx(sum(coefficients), abs=1e-12)


@pytest.mark.parametrize("dimension", [2, 3, 8, 40])
def test_a_large_constant_takes_no_digits_from_the_rest(dimension):
    """It moves nothing: eigenvalues of positive degree are those without it."""
    rest = mfpde.Polynomial((0.0, 1.0, -0.5, 0.25)).spectrum(dimension, 6)
    whole = mfpde.Polynomial((1e18, 1.0, -0.5, 0.25))
    assert np.array_equal(whole.spectrum(dimension, 6)[1:], rest[1:])
    counted = whole.spectrum(dimension, 6, counted=True)
    assert counted[0] == pytest.approx(1e18)
    assert counted[1] == pytest.approx(rest[1] * dimension, rel=1e-12)
    assert whole.band_limit(dimension) == 3


def test_theory_of_the_exponential_kernel_is_that_of_attention():
    kernel = mfpde.Exponential(3.0)
    for dimension in (2, 3, 8):
        degrees = np.arange(6)
        expected = growth_rates(3.0, dimension, degrees, direction="descent")
        found = growth_rates(kernel, dimension, degrees, direction="descent")
        assert found == pytest.approx(expected, abs=1e-15)
        assert fastest_mode(kernel, dimension) == fastest_mode(3.0, dimension)
        assert critical_diffusion(kernel, dimension) == pytest.approx(
            critical_diffusion(3.0, dimension), 1e-12
        )


def test_the_last_degree_to_cease_to_grow_may_be_any():
    """Of (x.y)^2 on S^1 degree 2 alone has an eigenvalue: the mean of cos^2 cos 2 theta."""
    assert critical_diffusion(mfpde.Polynomial((0.0, 0.0, 1.0)), 2) == pytest.approx(
        1 / 4
    )
