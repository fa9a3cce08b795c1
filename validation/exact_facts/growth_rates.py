"""Linear growth of the uniform state, degree by degree, on S^1, S^2 and S^(d-1)."""

from __future__ import annotations

from typing import Any

import numpy as np

import mfpde
from validation.claim import Claim, Findings, equal
from validation.exact_facts.drawn import compare_curves
from validation.exact_facts.runs import bessel_spectrum
from validation.growth import measured_growth

CLAIM = Claim(
    title="Growth rates of the uniform state",
    source="Lemma 5.1 (spectrum of the kernel), linearised",
    statement=(
        "A harmonic of degree l on S^(d-1) grows in ascent at l (l+d-2) lambda_l/beta, "
        "lambda_l = Gamma(d/2) (2/beta)^(d/2-1) I_(l+d/2-1)(beta) (e^-beta times that for "
        "the shifted kernel); descent changes the sign, softmax divides by lambda_0, "
        "diffusion takes off kappa l (l+d-2)."
    ),
)
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


def bessel_rate(beta: float, dimension: int, degree: int, **kind: Any) -> float:
    """The rate from Bessel functions; with softmax, diffusion, kernel and direction."""
    spectrum = bessel_spectrum(beta, dimension, [0, degree])
    if kind.get("normalized"):
        spectrum = spectrum / spectrum[0]
    elif kind.get("kernel") == "unshifted":
        spectrum = spectrum * np.exp(beta)
    sign = 1 if kind.get("direction", "ascent") == "ascent" else -1
    symbol = degree * (degree + dimension - 2)
    return float(symbol * (sign * spectrum[1] / beta - kind.get("diffusion", 0.0)))


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


@CLAIM
def main(quick: bool = False) -> Findings:
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
