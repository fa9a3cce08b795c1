"""Which mode grows fastest, and the clusters that it makes first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import iv, ive, spherical_in

import mfpde
from mfpde import theory
from mfpde.runs.run import Run
from validation.circle_cases import wrapped
from validation.claim import Claim, Quantity
from validation.drawing import panels
from validation.exact_facts.drawn import FORMULA_LINE, SOLVER, legend_below
from validation.figures.drawing import angle_axis

Array = NDArray[np.float64]

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
CASES = ((5.0, 10.0), (CLOSE, 10.0), (CLOSE, 0.05))
GROWN = 1.2  # the least density of a cluster, relative to uniform
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


@dataclass(frozen=True)
class Linear:
    """The linear theory of one start: degrees 1 to 8 until the first amplitude is 1.

    Parameters
    ----------
    amplitudes, phases, rates
        Of degrees 1 to 8: 2 |mu_k| and -arg mu_k at the start, and the growth rates.
    time
        When the first amplitude e^(rate t) 2 |mu_k| is 1.
    """

    amplitudes: Array
    phases: Array
    rates: Array
    time: float

    @property
    def leader(self) -> int:
        """The degree that is first."""
        return int(np.argmax(self.at(self.time))) + 1

    def at(self, time: float) -> Array:
        """Amplitudes (8,) at ``time``."""
        return np.asarray(self.amplitudes * np.exp(self.rates * time))

    @property
    def angles(self) -> Array:
        """Peaks of the leader: (2 pi j - arg mu_k)/k."""
        k = self.leader
        places = (2 * np.pi * np.arange(k) + self.phases[k - 1]) / k
        return np.sort(np.mod(places, 2 * np.pi))

    @property
    def shift(self) -> float:
        """How far the other degrees move a peak: sum_(j != k) j a_j / (k^2 a_k)."""
        degrees, sizes = np.arange(1, 9), self.at(self.time)
        others = degrees != self.leader
        return float((degrees * sizes)[others].sum() / self.leader**2)


def noisy_start(circle: mfpde.Circle, beta: float, head_start: float) -> mfpde.Density:
    """Degrees 1 to 8 of size 1e-5; the fastest is ``head_start`` times as large."""
    generator = np.random.default_rng(4)
    noise = np.zeros(circle.shape)
    for k in range(1, 9):
        size = 1e-5 * (head_start if k == fastest_by_bessel(beta) else 1.0)
        noise += size * np.cos(k * circle.angles - generator.uniform(0, 2 * np.pi))
    return mfpde.Density(circle, (1 + noise) / (2 * np.pi)).normalized()


def linear_theory(start: mfpde.Density, beta: float) -> Linear:
    """What the moments of the start become."""
    degrees = np.arange(1, 9)
    moments = np.exp(-1j * np.outer(degrees, start.geometry.angles)) @ start.masses
    sizes, rates = 2 * np.abs(moments), rates_by_bessel(beta)
    time = float(np.min(-np.log(sizes) / rates))
    return Linear(sizes, -np.angle(moments), rates, time)


def rates_by_bessel(beta: float) -> Array:
    """Growth rates of degrees 1 to 8 on S^1 in ascent."""
    degrees = np.arange(1, 9)
    return np.asarray(degrees**2 * ive(degrees, beta) / beta)


def fastest_by_bessel(beta: float) -> int:
    """The fastest degree on S^1."""
    return int(np.argmax(rates_by_bessel(beta))) + 1


def first_clusters(beta: float, head_start: float) -> tuple[Run, Linear]:
    """Run from small noise until the linear theory ends; saves at 0 and half of that time."""
    start = noisy_start(mfpde.Circle(512), beta, head_start)
    theory_of_start = linear_theory(start, beta)
    time = theory_of_start.time
    equation = mfpde.MeanFieldEquation(mfpde.Attention(beta), direction="ascent")
    run = mfpde.solve(equation, start, t_end=time, save_at=[0.0, time / 2, time])
    return run, theory_of_start


def peaks_of(density: mfpde.Density) -> Array:
    """Angles of the peaks above half of the largest value and ``GROWN``, by parabolas."""
    values, circle = np.log(density.values), density.geometry
    before, after = np.roll(values, 1), np.roll(values, -1)
    is_peak = (values > before) & (values >= after)
    least = max(0.5 * density.values.max(), GROWN / (2 * np.pi))
    is_peak &= density.values > least
    offset = (before - after) / (2 * (before - 2 * values + after))
    return np.asarray((circle.angles + offset * circle.spacing)[is_peak])


def log_growth(run: Run, degree: int) -> float:
    """Logarithm of the amplitude of a degree at half of the time."""
    density = run.states[1].density
    waves = np.exp(-1j * degree * density.geometry.angles)
    return float(np.log(2 * np.abs(waves @ density.masses)))


def farthest(peaks: Array, exact: Array) -> float:
    """Largest distance of an exact angle from the nearest peak; pi without any."""
    away = np.abs(wrapped(peaks[:, np.newaxis] - exact))
    return float(away.min(axis=0, initial=np.pi).max())


def main(quick: bool = False) -> dict[str, Any]:
    quantities = []
    for dimension in (2, 3):
        for degree in range(1, 4 if quick else 6):
            exact = switch_by_bessel(degree, dimension)
            found = switch_of_theory(degree, dimension)
            name = f"S^{dimension - 1}: beta at which {degree} -> {degree + 1}"
            quantities.append(
                Quantity(name, found, exact, 1e-9, relative=True, subject="formula")
            )
    figure, axes = panels(3, width=3.2)
    for ax, (beta, head_start) in zip(axes, CASES, strict=True):
        run, linear = first_clusters(beta, head_start)
        quantities += on_case(beta, head_start, (run, linear))
        title = f"β = {beta:g}, head start {head_start:g}"
        draw(ax, run.final.density, linear.angles, title=title)
    legend_below(axes[1])
    ratios = rates_by_bessel(CLOSE)
    growth = theory.growth_rates(CLOSE, 2, np.arange(1, 9), direction="ascent")
    quantities.append(
        Quantity(
            f"beta = {CLOSE:g}: rate of degree 3 over that of degree 4",
            float(growth[2] / growth[3]),
            float(ratios[2] / ratios[3]),
            1e-9,
            key="ratio",
            subject="formula",
            shows="condition",
        )
    )
    return {"quantities": quantities, "figures": {"clusters": figure}}


def on_case(
    beta: float, head_start: float, found: tuple[Run, Linear]
) -> list[Quantity]:
    """Number and places of the clusters, and the growth of the leader half-way."""
    run, linear = found
    peaks = peaks_of(run.final.density)
    name = f"beta = {beta:g}, head start {head_start:g}: "
    sizes = linear.at(linear.time / 2)
    shown: dict[str, Any] = {}
    if beta == CLOSE:
        key = "favoured" if head_start > 1 else "unfavoured"
        shown = {"key": key, "shows": "condition"}
    return [
        Quantity(f"{name}number of clusters", len(peaks), linear.leader, 0, **shown),
        # Products of degrees move a peak as far again.
        Quantity(
            f"{name}largest distance of a predicted angle from a cluster",
            farthest(peaks, linear.angles),
            0.0,
            2 * linear.shift,
        ),
        # The next term is the product of two amplitudes.
        Quantity(
            f"{name}log of the leader's amplitude at half of the time",
            log_growth(run, linear.leader),
            float(np.log(sizes[linear.leader - 1])),
            float((sizes**2).sum() / sizes[linear.leader - 1]),
        ),
    ]


def draw(ax: Any, final: mfpde.Density, exact: Array, *, title: str) -> None:
    """The density and the predicted angles."""
    ax.plot(final.geometry.angles, final.values, color=SOLVER, label="density")
    for k, angle in enumerate(exact):
        label = "predicted" if k == 0 else None
        ax.axvline(angle, **FORMULA_LINE, label=label)
    ax.set(title=title, xlabel="angle", ylabel="density")
    angle_axis(ax)
