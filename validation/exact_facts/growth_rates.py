"""Linear growth of the uniform state, degree by degree, on S^1, S^2 and S^(d-1)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.special import gamma, ive, spherical_in

import mfpde
from validation.claim import Claim, Quantity
from validation.drawing import panels
from validation.exact_facts.drawn import FORMULA, SOLVER
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


def bessel_rate(beta: float, dimension: int, degree: int, **kind: Any) -> float:
    """The rate from Bessel functions; with softmax, diffusion, kernel and direction."""
    if dimension == 2:
        spectrum = ive(np.array([0, degree]), beta)
    elif dimension == 3:
        spectrum = spherical_in(np.array([0, degree]), beta) * np.exp(-beta)
    else:
        order = dimension / 2 - 1
        spectrum = gamma(dimension / 2) * (2 / beta) ** order
        spectrum = spectrum * ive(np.array([0, degree]) + order, beta)
    if kind.get("normalized"):
        spectrum = spectrum / spectrum[0]
    elif kind.get("kernel") == "unshifted":
        spectrum = spectrum * np.exp(beta)
    sign = 1 if kind.get("direction", "ascent") == "ascent" else -1
    symbol = degree * (degree + dimension - 2)
    return symbol * (sign * spectrum[1] / beta - kind.get("diffusion", 0.0))


GRIDS = {2: partial(mfpde.Circle, 256), 3: partial(mfpde.Sphere, 64)}
KINDS: tuple[tuple[int, float, int, dict[str, Any]], ...] = (
    (2, 5.0, 3, {"direction": "descent"}),
    (2, 5.0, 2, {"direction": "ascent", "normalized": True}),
    (2, 2.0, 2, {"direction": "ascent", "kernel": "unshifted"}),
    (2, 5.0, 3, {"direction": "ascent", "diffusion": 0.02}),
    (3, 4.0, 2, {"direction": "ascent", "normalized": True}),
    (3, 2.0, 3, {"direction": "descent", "diffusion": 0.02}),
    (6, 4.0, 2, {"direction": "ascent"}),
    (64, 20.0, 1, {"direction": "ascent", "normalized": True}),
)


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
    if isinstance(geometry, mfpde.Sphere):
        return transport
    return transport + kappa * symbol * q / 12


def described(kind: dict[str, Any]) -> str:
    """Return direction and what else is not the default, in words."""
    words = [kind["direction"], kind.get("kernel", "")]
    words += ["softmax"] if kind.get("normalized") else []
    words += [f"kappa = {kind['diffusion']:g}"] if "diffusion" in kind else []
    return ", ".join(word for word in words if word)


def geometry_of(dimension: int) -> Any:
    """The grid of a dimension: circle, sphere or zonal."""
    if dimension in GRIDS:
        return GRIDS[dimension]()
    return mfpde.Zonal(dimension, 256)


def main(quick: bool = False) -> dict[str, Any]:
    degrees = (1, 2, 3) if quick else (1, 2, 3, 4, 5)
    figure, axes = panels(2)
    quantities = []
    for ax, dimension in zip(axes, (2, 3), strict=True):
        beta = 2.0
        found = []
        for degree in degrees if dimension == 2 or not quick else degrees[:2]:
            grid = geometry_of(dimension)
            rate = measured_growth(grid, beta, degree, direction="ascent")
            exact = bessel_rate(beta, dimension, degree)
            found.append((degree, rate, exact))
            name = f"S^{dimension - 1}, beta = {beta:g}, ascent, l = {degree}"
            allowed = tolerance_of(grid, beta, degree)
            quantities.append(Quantity(name, rate, exact, allowed))
        draw(ax, np.array(found), dimension)
    for dimension, beta, degree, kind in KINDS[:4] if quick else KINDS:
        grid = geometry_of(dimension)
        rate = measured_growth(grid, beta, degree, **kind)
        exact = bessel_rate(beta, dimension, degree, **kind)
        name = f"S^{dimension - 1}, beta = {beta:g}, {described(kind)}, l = {degree}"
        allowed = tolerance_of(grid, beta, degree, **kind)
        quantities.append(Quantity(name, rate, exact, allowed))
    return {"quantities": quantities, "figures": {"rates": figure}}


def draw(ax: Any, found: np.ndarray, dimension: int) -> None:
    """Formula as bars, solver as dots."""
    ax.bar(found[:, 0], found[:, 2], color=FORMULA, alpha=0.25, label="formula")
    ax.plot(found[:, 0], found[:, 1], "o", color=SOLVER, label="solver")
    ax.set(
        title=f"S$^{dimension - 1}$, β = 2, ascent",
        xlabel="degree l",
        ylabel="growth rate",
    )
    ax.set_xticks(found[:, 0])
    ax.legend()
