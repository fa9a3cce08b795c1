"""Linear growth of the uniform state, degree by degree, and the clusters that it makes first."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import eval_gegenbauer

import mfpde
from mfpde import theory
from validation.circle_cases import wrapped
from validation.claim import Claim, Findings, equal, vanishes
from validation.drawing import FORMULA_LINE, SOLVER, compare_curves, panels
from validation.exact_facts.runs import Array, ascent, bessel_spectrum, solve_to
from validation.figures.drawing import angle_axis

AMPLITUDE = 1e-6
"""Relative size of the harmonic: its square, which feeds even degrees, is far below errors."""
TIME_ERROR = 1e-6  # of steps and of the amplitude's square, as a share of the rate
ASCENT: dict[str, Any] = {"direction": "ascent"}
CASES = (
    *((d, 2.0, degree, ASCENT) for d in (2, 3) for degree in range(1, 6)),
    (2, 5.0, 3, {"direction": "descent"}),
    (2, 5.0, 2, ASCENT | {"normalized": True}),
    (2, 2.0, 2, ASCENT | {"kernel": "unshifted"}),
    (2, 5.0, 3, ASCENT | {"diffusion": 0.02}),
    (3, 4.0, 2, ASCENT | {"normalized": True}),
    (3, 2.0, 3, {"direction": "descent", "diffusion": 0.02}),
    (6, 4.0, 2, ASCENT),
    (64, 20.0, 1, ASCENT | {"normalized": True}),
)
"""Dimension, beta, degree, and what else the equation is."""
CLOSE = 7.0
STARTS = {
    (5.0, 10.0): "",
    (25.0, 10.0): "",
    (CLOSE, 10.0): "favoured",
    (CLOSE, 0.05): "unfavoured",
}
"""Keys of the numbers of clusters, by beta and the head start of the fastest degree."""
DEGREES = np.arange(1, 9)
GROWN = 1.2  # the least density of a cluster, relative to uniform


# Rates ---------------------------------------------------------------------------------------


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
    diffusion: float = 0.0,
    **kind: Any,
) -> float:
    """Rate at which the solver amplifies a harmonic of relative size ``AMPLITUDE``."""
    attention, time = mfpde.Attention(beta, **kind), 0.5
    given = {"direction": direction, "diffusion": diffusion}
    equation = mfpde.MeanFieldEquation(attention, **given)
    harmonic, flat = harmonic_along_axis(geometry, degree), mfpde.uniform(geometry)
    wave = 1 + AMPLITUDE * harmonic
    start = mfpde.Density(geometry, flat.values * wave).normalized()
    end = mfpde.solve(equation, start, t_end=time, rtol=1e-8).final.density
    first, last = (((d.masses - flat.masses) * harmonic).sum() for d in (start, end))
    return float(np.log(last / first) / time)


def bessel_rate(beta: float, dimension: int, degree: Any, **kind: Any) -> Any:
    """Rates from Bessel functions; with softmax, diffusion, kernel and direction."""
    eigenvalue = bessel_spectrum(beta, dimension, degree)
    if kind.get("normalized"):
        eigenvalue = eigenvalue / bessel_spectrum(beta, dimension, 0)
    elif kind.get("kernel") == "unshifted":
        eigenvalue = eigenvalue * np.exp(beta)
    sign = 1 if kind.get("direction", "ascent") == "ascent" else -1
    symbol = degree * (degree + dimension - 2)
    return symbol * (sign * eigenvalue / beta - kind.get("diffusion", 0.0))


def tolerance_of(geometry: Any, beta: float, degree: int, **kind: Any) -> float:
    """Error of the rate that the transport promises, q = l (l+d-2) h^2.

    Fourth order of attention's part where the density is smooth, q^2/8 of it; diffusion
    by differences of neighbouring cells has the symbol kappa l (l+d-2) (1 - q/12 + ...); on
    the sphere it is exact on harmonics.
    """
    symbol = degree * (degree + geometry.dimension - 2)
    q = symbol * geometry.spacing**2
    kappa = kind.pop("diffusion", 0.0)
    attention = abs(bessel_rate(beta, geometry.dimension, degree, **kind))
    transport = attention * (TIME_ERROR + q**2 / 8)
    is_sphere = isinstance(geometry, mfpde.Sphere)
    return transport + (0.0 if is_sphere else kappa * symbol * q / 12)


@Claim(
    title="Growth rates of the uniform state",
    source="Lemma 5.1 (spectrum of the kernel), linearised",
    statement=(
        "A harmonic of degree l on S^(d-1) grows in ascent at l (l+d-2) lambda_l/beta, "
        "lambda_l = Gamma(d/2) (2/beta)^(d/2-1) I_(l+d/2-1)(beta) (e^-beta times that for "
        "the shifted kernel); descent changes the sign, softmax divides by lambda_0, "
        "diffusion takes off kappa l (l+d-2)."
    ),
)
def growth_rates(quick: bool = False) -> Findings:
    grids = {2: mfpde.Circle(256), 3: mfpde.Sphere(64)}
    shown: dict[str, list[tuple[float, ...]]] = {}
    for dimension, beta, degree, kind in CASES[:7] + CASES[10:14] if quick else CASES:
        grid = grids.get(dimension) or mfpde.Zonal(dimension, 256)
        rate = measured_growth(grid, beta, degree, **kind)
        exact = bessel_rate(beta, dimension, degree, **kind)
        words = [kind["direction"], kind.get("kernel", "")]
        words += ["softmax"] if "normalized" in kind else []
        words += [f"kappa = {kind['diffusion']:g}"] if "diffusion" in kind else []
        said = ", ".join(filter(None, words))
        name = f"S^{dimension - 1}, beta = {beta:g}, {said}, l = {degree}"
        yield equal(name, rate, exact, tolerance_of(grid, beta, degree, **kind))
        if kind == ASCENT and dimension in grids:
            title = f"S$^{dimension - 1}$, β = 2, ascent"
            shown.setdefault(title, []).append((degree, rate, degree, exact))
    curves = {title: tuple(np.array(found).T) for title, found in shown.items()}
    yield "rates", compare_curves(curves, xlabel="degree l", ylabel="growth rate")


# First clusters ------------------------------------------------------------------------------


def noisy_start(circle: mfpde.Circle, beta: float, head_start: float) -> mfpde.Density:
    """Degrees 1 to 8 of size 1e-5; the fastest is ``head_start`` times as large."""
    phases = np.random.default_rng(4).uniform(0, 2 * np.pi, len(DEGREES))
    sizes = np.full(len(DEGREES), 1e-5)
    sizes[np.argmax(bessel_rate(beta, 2, DEGREES))] *= head_start
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
    moments, rates = waves @ start.masses, bessel_rate(beta, 2, DEGREES)
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


@Claim(
    title="The fastest mode and the first clusters",
    source="Lemma 5.1, linearised; angles: Bruno, Pasqualotto & Agazzi (ICLR 2025)",
    statement=(
        "On S^1 the first clusters are as many as the degree k that grows fastest, that of the "
        "largest k^2 I_k(beta), at (2 pi j - arg mu_k)/k, mu_k the Fourier moment of the start."
    ),
    condition=(
        "the mode must lead when growth ends to be linear. At beta = 7 the rate of the next "
        "degree is {ratio:.2f} of the largest, and the start decides: {favoured:word} "
        "clusters if it favours the fastest degree, {unfavoured:word} if it does not"
    ),
)
def early_clusters(_quick: bool = False) -> Findings:
    figure, axes = panels(len(STARTS), width=2.9)
    for ax, ((beta, head_start), key) in zip(axes, STARTS.items(), strict=True):
        yield from compare_clusters(ax, beta, head_start, key)
    yield "clusters", figure
    rates = theory.growth_rates(CLOSE, 2, DEGREES, direction="ascent")
    (of_theory, exact) = (r[2] / r[3] for r in (rates, bessel_rate(CLOSE, 2, DEGREES)))
    shown = {"key": "ratio", "shows": "condition", "subject": "formula"}
    name = f"beta = {CLOSE:g}: rate of degree 3 over that of degree 4"
    yield equal(name, of_theory, exact, 1e-9, **shown)
