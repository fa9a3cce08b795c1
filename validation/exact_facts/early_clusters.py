"""Which mode grows fastest, and the clusters that it makes first."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq

import mfpde
from mfpde import theory
from validation.circle_cases import wrapped
from validation.claim import Claim, Findings, equal, vanishes
from validation.drawing import panels
from validation.exact_facts.drawn import FORMULA_LINE, SOLVER
from validation.exact_facts.growth_rates import bessel_rate
from validation.exact_facts.runs import Array, ascent, bessel_spectrum, solve_to
from validation.figures.drawing import angle_axis

CLAIM = Claim(
    title="The fastest mode and the first clusters",
    source="Lemma 5.1, linearised; angles: Bruno, Pasqualotto & Agazzi (ICLR 2025)",
    statement=(
        "The fastest growing degree changes from l to l+1 where the two Bessel terms "
        "l (l+d-2) I_(l+d/2-1)(beta) agree. On S^1 the first clusters are k = that degree "
        "many, at (2 pi j - arg mu_k)/k, mu_k the Fourier moment of the start."
    ),
    condition=(
        "the mode must lead when growth ends to be linear. At beta = 7 the rate of the next "
        "degree is {ratio:.2f} of the largest, and the start decides: {favoured:word} "
        "clusters if it favours the fastest degree, {unfavoured:word} if it does not"
    ),
)
CLOSE = 7.0
CASES = {(5.0, 10.0): "", (CLOSE, 10.0): "favoured", (CLOSE, 0.05): "unfavoured"}
"""Keys of the numbers of clusters, by beta and the head start of the fastest degree."""
DEGREES = np.arange(1, 9)
GROWN = 1.2  # the least density of a cluster, relative to uniform
BRACKETS, NEAR = (0.2, 40.0), 1e-9


def fastest_about_switch(degree: int, dimension: int) -> tuple[int, int]:
    """Fastest degrees of ``theory`` just below and above where l and l+1 grow equally fast."""

    def excess(beta: float) -> float:
        low, high = (bessel_rate(beta, dimension, l) for l in (degree, degree + 1))
        return high - low

    switch = float(brentq(excess, *BRACKETS, xtol=1e-14))
    low, high = switch * (1 - NEAR), switch * (1 + NEAR)
    return theory.fastest_mode(low, dimension), theory.fastest_mode(high, dimension)


def rates_by_bessel(beta: float) -> Array:
    """Growth rates of degrees 1 to 8 on S^1 in ascent."""
    return np.asarray(DEGREES**2 * bessel_spectrum(beta, 2, DEGREES) / beta)


def noisy_start(circle: mfpde.Circle, beta: float, head_start: float) -> mfpde.Density:
    """Degrees 1 to 8 of size 1e-5; the fastest is ``head_start`` times as large."""
    phases = np.random.default_rng(4).uniform(0, 2 * np.pi, len(DEGREES))
    sizes = np.full(len(DEGREES), 1e-5)
    sizes[np.argmax(rates_by_bessel(beta))] *= head_start
    noise = sizes @ np.cos(np.outer(DEGREES, circle.angles) - phases[:, np.newaxis])
    return mfpde.Density(circle, (1 + noise) / (2 * np.pi)).normalized()


def peaks_of(density: mfpde.Density) -> Array:
    """Angles of the peaks above half of the largest value and ``GROWN``, by parabolas."""
    values, circle = np.log(density.values), density.geometry
    before, after = np.roll(values, 1), np.roll(values, -1)
    is_peak = (values > before) & (values >= after)
    is_peak &= density.values > max(0.5 * density.values.max(), GROWN / (2 * np.pi))
    offset = (before - after) / (2 * (before - 2 * values + after))
    return np.asarray((circle.angles + offset * circle.spacing)[is_peak])


def compare_clusters(ax: Any, beta: float, head_start: float, key: str) -> Findings:
    """Number and places of the clusters.

    The linear theory of the start ends when the first amplitude e^(rate t) 2 |mu_k| is 1.
    """
    start = noisy_start(mfpde.Circle(512), beta, head_start)
    waves = np.exp(-1j * np.outer(DEGREES, start.geometry.angles))
    moments, rates = waves @ start.masses, rates_by_bessel(beta)
    time = float(np.min(-np.log(2 * np.abs(moments)) / rates))
    ends = 2 * np.abs(moments) * np.exp(rates * time)
    lead = int(np.argmax(ends))
    k = lead + 1
    exact = (2 * np.pi * np.arange(k) - np.angle(moments[lead])) / k
    # How far the other degrees move a peak: sum_(j != k) j a_j / (k^2 a_k).
    shift = np.delete(DEGREES * ends, lead).sum() / k**2
    end = solve_to(time, ascent(mfpde.Attention(beta)), start)
    peaks = peaks_of(end)
    away = np.abs(wrapped(peaks[:, np.newaxis] - exact)).min(axis=0, initial=np.pi)
    shown: dict[str, Any] = {"key": key, "shows": "condition"} if key else {}
    name = f"beta = {beta:g}, head start {head_start:g}: "
    yield equal(f"{name}number of clusters", len(peaks), k, 0, **shown)
    # Products of degrees move a peak as far again.
    text = f"{name}largest distance of a predicted angle from a cluster"
    yield vanishes(text, away, 2 * shift)
    ax.plot(start.geometry.angles, end.values, color=SOLVER)
    for angle in np.mod(exact, 2 * np.pi):
        ax.axvline(angle, **FORMULA_LINE)
    title = f"β = {beta:g}, head start {head_start:g}"
    ax.set(title=title, xlabel="angle", ylabel="density, and predicted angles")
    angle_axis(ax)


@CLAIM
def main(_quick: bool = False) -> Findings:
    degrees = np.arange(1, 6)
    for d in (2, 3):
        found = np.array([fastest_about_switch(int(l), d) for l in degrees])
        name = f"S^{d - 1}: fastest degrees just below and above 5 switches, by theory"
        missed = found - np.stack([degrees, degrees + 1], axis=1)
        yield vanishes(name, missed, 0.0, subject="formula")
    figure, axes = panels(3, width=3.2)
    for ax, ((beta, head_start), key) in zip(axes, CASES.items(), strict=True):
        yield from compare_clusters(ax, beta, head_start, key)
    yield "clusters", figure
    rates = theory.growth_rates(CLOSE, 2, DEGREES, direction="ascent")
    (of_theory, exact) = (r[2] / r[3] for r in (rates, rates_by_bessel(CLOSE)))
    shown = {"key": "ratio", "shows": "condition", "subject": "formula"}
    name = f"beta = {CLOSE:g}: rate of degree 3 over that of degree 4"
    yield equal(name, of_theory, exact, 1e-9, **shown)
