"""Rows behind masks: responses in closed form, and the profile that is lost in the middle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.polynomial import Chebyshev, Legendre
from scipy.linalg import expm
from scipy.special import iv, ive

import mfpde
from validation.claim import Claim, Findings, Quantity, at_least, equal, vanishes
from validation.exact_facts.runs import Array, ascent, bessel_spectrum, solve_to

CLAIM = Claim(
    title="Tokens in places: rows behind causal masks, ALiBi, RoPE, and retrieval profiles",
    source="arXiv 2605.09213 (profiles of uniform tokens); the rest derived here",
    statement=(
        "Rows about uniform ones follow expm(g_l t W), with RoPE expm(t A_k). The density of "
        "expm(W) in s is (E'(s)/E(r)) I_1(2 sqrt y) / sqrt y, y = log E(r)/E(s), to order 2 "
        "in the number of rows. With beta = lambda = 1 the profile is least at s = .125, .259, "
        ".418, .633 at t' = .5, 1, 1.5, 2, and a U until t' = 2.457489."
    ),
)
BETA, TIME, COUNT = 3.0, 2.0, 5
CHANGES = np.array([1.0, -0.4, 0.7, 0.2, -0.9])


def respond(geometry: Any, seen: Any, wave: Array, *, normalized: bool) -> Array:
    """Moments of rows about uniform ones by conj(``wave``), per ``CHANGES`` of its real part."""
    head = mfpde.Attention(BETA, normalized, positions=seen)
    flat, ends = mfpde.uniform(geometry).values, []
    for size in (1e-4, -1e-4):
        values = [flat * (1 + size * change * wave.real) for change in CHANGES]
        rows = mfpde.PositionedDensity(geometry, values)
        end: Any = solve_to(TIME, ascent(head), rows, rtol=1e-8)
        ends.append(end.masses.reshape(COUNT, -1) @ wave.conj().ravel())
    norm = float((geometry.areas * flat * wave.real**2).sum())
    return np.asarray((ends[0] - ends[1]) / (2e-4 * norm))


def compare_weights(l: int, *, normalized: bool) -> Iterator[Quantity]:
    """Random weights on the circle and the sphere, in degree l."""
    weights = np.random.default_rng(l).random((COUNT, COUNT))
    weights /= weights.sum(axis=1, keepdims=True)
    for grid, bound in ((mfpde.Circle(128), 1e-6), (mfpde.Sphere(32), 1e-3)):
        d = grid.dimension
        wave = (Chebyshev if d == 2 else Legendre).basis(l)(grid.points[..., 0])
        first, own = bessel_spectrum(BETA, d, [0, l])
        rate = l * (l + d - 2) * own / BETA / (first if normalized else 1.0)
        seen = mfpde.Weights(weights)
        found = respond(grid, seen, wave + 0j, normalized=normalized)
        errors = np.abs(found - expm(rate * TIME * weights) @ CHANGES)
        name = f"S^{d - 1}, degree {l}{', softmax' * normalized}: "
        yield vanishes(f"{name}error of a response by random weights", errors, bound)


def compare_rope(k: int, *, normalized: bool) -> Quantity:
    """Wave k behind a mask with RoPE: A_k is -ik Omega, and what mixes the rows."""
    circle, omega, bessel = mfpde.Circle(128), 2.5, ive(np.arange(k + 2), BETA)
    seen = mfpde.Causal(alibi=1.0, rope=omega)
    weights = seen.find_weights(np.linspace(0, 1, COUNT + 1))
    apart = omega * (np.arange(COUNT)[:, np.newaxis] - np.arange(COUNT)) / COUNT
    turned = bessel[1] * (weights * np.sin(apart)).sum(axis=1)
    pull = 1j * k * bessel[k] / BETA * np.cos(apart)
    pull += (bessel[k - 1] + bessel[k + 1]) / 2 * np.sin(apart)
    pull -= normalized * bessel[k] / bessel[0] * turned[:, np.newaxis]
    matrix = -1j * k * (weights * np.exp(1j * k * apart) * pull + np.diag(turned))
    matrix /= bessel[0] if normalized else 1.0
    wave = np.exp(1j * k * circle.angles)
    found = respond(circle, seen, wave, normalized=normalized)
    errors = np.abs(found - expm(TIME * matrix) @ CHANGES)
    kind = ", softmax" * normalized
    return vanishes(f"wave {k}{kind}: error with RoPE", errors, 1e-5)


def influence_error(count: int, alibi: float) -> float:
    """Error of the density of expm(W) in s at s = 1/2, read by the last of so many rows."""
    weights = mfpde.Causal(alibi=alibi).find_weights(np.linspace(0, 1, count + 1))
    sizes = np.expm1(alibi * np.array([0.5, 1 - 0.5 / count]))
    y, slope = np.log(sizes[1] / sizes[0]), alibi * np.exp(alibi / 2) / sizes[1]
    exact = slope * iv(1, 2 * np.sqrt(y)) / np.sqrt(y)
    return abs(float(expm(weights)[-1, count // 2] * count - exact))


@CLAIM
def main(_quick: bool = False) -> Findings:
    for normalized in (False, True):
        for l in (1, 2, 3):
            yield from compare_weights(l, normalized=normalized)
            yield compare_rope(l, normalized=normalized)
    for alibi in (1.0, -2.0):
        errors = np.array([influence_error(count, alibi) for count in (9, 27, 81)])
        orders = np.log(errors[:-1] / errors[1:]) / np.log(3)
        yield at_least(f"lambda = {alibi:g}: order in rows", orders.min(), 1.9)
    times = np.e * np.array([0.5, 1.0, 1.5, 2.0, 3.0])
    known: Any = {"sources": np.linspace(0.005, 1, 400), "times": times, "alibi": 1.0}
    profile = mfpde.theory.retrieval_profile(1.0, **known)
    off = profile.minimum[0, :4] - [0.125, 0.259, 0.418, 0.633]
    yield vanishes("places of minima, less those published", off, 6e-4)
    yield equal("t_crit", profile.critical_times[0] / np.e, 2.457489, 2e-6)
