"""Growth of the uniform state of the circle under pre-LN, peri-LN and nGPT."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

import mfpde
from validation.claim import Claim, Findings, equal
from validation.drawing import compare_curves
from validation.exact_facts.growth import bessel_rate
from validation.exact_facts.runs import bessel_spectrum

CLAIM = Claim(
    title="Normalisations: growth of the uniform state",
    source="arXiv 2510.22026 (the schemes), linearised",
    statement=(
        "Tokens x = R theta under an update m: post-LN v = m_T; pre-LN v = m_T/R, R' = "
        "<theta, m>; peri-LN v = m_T/(|m| R), R' = <theta, m>/|m|; nGPT v = m_T/|m|. About the "
        "uniform state with R = r0 a wave of degree l grows by e^(g t), (1 + c t/r0)^(g/c), "
        "(1 + t/r0)^(g/c) and e^(g t/c), g the rate of post-LN and c that of degree 1."
    ),
)
BETA, RADIUS, TIME, WAVE = 3.0, 0.5, 4.0, 2e-6
DEGREES, TOKENS = (1, 2, 3), 32
NAMES = ("post", "pre", "peri", "ngpt")
ACCURATE = {"rtol": 1e-12, "atol": 1e-14}
GROWTH_ERROR = 1e-8  # of steps, and the square of the wave that has grown


def normalized(name: str, softmax: bool) -> mfpde.MeanFieldEquation:
    radius = RADIUS if name in ("pre", "peri") else 1.0
    scaled = mfpde.Normalization(name, radius=radius)
    term = mfpde.Attention(BETA, normalized=softmax)
    return mfpde.MeanFieldEquation(term, direction="ascent", normalization=scaled)


def factor(name: str, rate: float, c: float, time: Any) -> Any:
    """The factor by which a wave has grown."""
    if name in ("post", "ngpt"):
        return np.exp(rate * time / (1.0 if name == "post" else c))
    return (1 + (c if name == "pre" else 1.0) * time / RADIUS) ** (rate / c)


@CLAIM
def main(_quick: bool = False) -> Findings:
    curves: dict[str, tuple[Any, ...]] = {}
    angles, times = 2 * np.pi * np.arange(TOKENS) / TOKENS, np.linspace(0, TIME, 9)
    for softmax in (False, True):
        lambda_0, c = bessel_spectrum(BETA, 2, [0, 1])
        c, words = (c / lambda_0, "softmax, ") if softmax else (c, "")
        for name, l in product(NAMES, DEGREES):
            rate = bessel_rate(BETA, 2, l, normalized=softmax)
            moved = angles + WAVE * np.sin(l * angles)
            start = mfpde.Atoms(np.stack([np.cos(moved), np.sin(moved)], axis=1))
            equation = normalized(name, softmax)
            run = mfpde.solve_particles(
                equation, start, save_at=times, t_end=TIME, **ACCURATE
            )
            sizes = np.array(
                [abs(np.mean((s.points @ [1, 1j]) ** l)) for s in run.states]
            )
            found, exact = sizes / sizes[0], factor(name, rate, c, times)
            said = f"{words}{name}, l = {l}: growth to t = {TIME:g}"
            yield equal(said, found[-1], exact[-1], GROWTH_ERROR * exact[-1])
            if l == 2 and not softmax:
                curves[f"{name}, l = 2"] = times, found, times, exact
    yield "growth", compare_curves(curves, xlabel="t", ylabel="factor of the wave")
