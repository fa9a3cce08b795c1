"""Which mode grows fastest, and the clusters that it makes first."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import iv, spherical_in

import mfpde
from mfpde import theory
from validation.circle_cases import wrapped
from validation.claim import Claim, Quantity
from validation.drawing import COLOURS, panels

CLAIM = Claim(
    title="The fastest mode and the first clusters",
    source="Lemma 5.1, linearised; angles: Bruno, Pasqualotto & Agazzi (ICLR 2025)",
    statement=(
        "The fastest growing degree changes from l to l+1 where the two Bessel terms "
        "l (l+d-2) I_(l+d/2-1)(beta) agree. On S^1 the first clusters are k = that degree "
        "many, at (2 pi j - arg mu_k)/k, mu_k the Fourier moment of the start."
    ),
    condition=(
        "the mode must lead when growth ends to be linear; neighbouring rates can differ "
        "by a few per cent only, and then the start decides (beta = 7: 4 clusters, or 3)"
    ),
)
CASES = ((5.0, 10.0), (7.0, 10.0), (7.0, 0.05))
BRACKETS = (0.2, 40.0)


def switch_by_bessel(degree: int, dimension: int) -> float:
    """Beta at which degrees l and l+1 grow equally fast."""

    def excess(beta: float) -> float:
        if dimension == 2:
            low, high = iv(degree, beta), iv(degree + 1, beta)
        else:
            low, high = spherical_in(degree, beta), spherical_in(degree + 1, beta)
        shift = dimension - 2
        return (degree + 1) * (degree + 1 + shift) * high - degree * (
            degree + shift
        ) * low

    return float(brentq(excess, *BRACKETS, xtol=1e-14))


def switch_of_theory(degree: int, dimension: int) -> float:
    """The same by bisection on what ``theory.fastest_mode`` answers."""
    low, high = BRACKETS
    while high - low > 1e-11 * high:
        middle = (low + high) / 2
        is_above = theory.fastest_mode(middle, dimension) > degree
        low, high = (low, middle) if is_above else (middle, high)
    return (low + high) / 2


def first_peaks(beta: float, head_start: float) -> tuple[Any, np.ndarray, np.ndarray]:
    """Run from small noise to the first clusters: the end, its peaks, the prediction.

    The fastest mode starts ``head_start`` times as large.  The mode predicted is the one
    that leads when growth ends to be linear: argmax_k |mu_k| e^(rate_k t).
    """
    circle = mfpde.Circle(512)
    angles, fastest = circle.angles, theory.fastest_mode(beta, 2)
    generator = np.random.default_rng(4)
    noise = np.zeros(circle.shape)
    for k in range(1, 9):
        size = 1e-5 * (head_start if k == fastest else 1.0)
        noise += size * np.cos(k * angles - generator.uniform(0, 2 * np.pi))
    start = mfpde.Density(circle, (1 + noise) / (2 * np.pi)).normalized()
    equation = mfpde.MeanFieldEquation(mfpde.Attention(beta), direction="ascent")
    modes = np.arange(1, 9)
    rates = theory.growth_rates(beta, 2, modes, direction="ascent")
    time = float(12.0 / rates.max())
    run = mfpde.solve(equation, start, t_end=time)
    moments = np.exp(-1j * np.outer(modes, angles)) @ start.masses
    leader = int(np.argmax(np.log(np.abs(moments)) + rates * time))
    exact = (2 * np.pi * np.arange(leader + 1) - np.angle(moments[leader])) / (
        leader + 1
    )
    final = run.final.density
    values = final.values
    is_peak = (values > np.roll(values, 1)) & (values >= np.roll(values, -1))
    peaks = angles[is_peak & (values > 0.5 * values.max())]
    return final, peaks, np.sort(np.mod(exact, 2 * np.pi))


def main(quick: bool = False) -> dict[str, Any]:
    quantities = []
    for dimension in (2, 3):
        for degree in range(1, 4 if quick else 6):
            exact = switch_by_bessel(degree, dimension)
            found = switch_of_theory(degree, dimension)
            name = f"S^{dimension - 1}: beta at which {degree} -> {degree + 1}"
            quantities.append(Quantity(name, found, exact, 1e-9, relative=True))
    figure, axes = panels(3, width=3.2)
    # Other modes have grown as well when the first one ends to be linear: a tenth of the
    # distance between two clusters.
    for ax, (beta, head_start) in zip(axes, CASES, strict=True):
        final, peaks, exact = first_peaks(beta, head_start)
        name = f"beta = {beta:g}, head start {head_start:g}: "
        quantities.append(
            Quantity(f"{name}number of clusters", len(peaks), len(exact), 0)
        )
        if len(peaks) == len(exact) and head_start > 1:
            away = np.abs(wrapped(peaks[:, np.newaxis] - exact)).min(axis=1).max()
            gap = 2 * np.pi / len(exact)
            text = f"{name}largest distance of a cluster from its angle"
            quantities.append(Quantity(text, float(away), 0.0, gap / 10))
        draw(ax, final, exact, title=f"β = {beta:g}, head start {head_start:g}")
    return {"quantities": quantities, "figures": {"clusters": figure}}


def draw(ax: Any, final: mfpde.Density, exact: np.ndarray, *, title: str) -> None:
    """The density and the predicted angles."""
    ax.plot(final.geometry.angles, final.values, color=COLOURS[0], label="density")
    for k, angle in enumerate(exact):
        ax.axvline(
            angle,
            color=COLOURS[1],
            ls="--",
            lw=0.9,
            label="predicted" if k == 0 else None,
        )
    ax.set(title=title, xlabel="angle", ylabel="density")
    ax.legend()
