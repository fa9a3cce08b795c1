"""The report of ``mfpde theory``: what is known in closed form at some parameters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mfpde import theory
from mfpde.arrays import choice, real_number, whole_number
from mfpde.equation import MeanFieldEquation
from mfpde.notebook import format_table
from mfpde.settings.base import Section, default
from mfpde.terms import Attention, Perceptron

MOST_ROWS = 100
MOST_DEGREES = 10_000
SAMPLED_POINTS = 2000


def report_theory(
    beta: float,
    dimension: int = 2,
    normalized: bool = default(Attention, "normalized"),
    kernel: str = default(Attention, "kernel"),
    diffusion: float = default(MeanFieldEquation, "diffusion"),
    degrees: int = 8,
    directions: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    biases: ArrayLike | None = None,
    output_bias: ArrayLike | None = None,
    activation: str = default(Perceptron, "activation"),
    mass: float = default(theory.merge_time, "mass"),
    start_angle: float = 1.0,
    end_angle: float = 0.1,
    atoms: int = 8,
    least_mass: float = 0.1,
) -> str:
    """Return what is known in closed form at these parameters."""
    choice("kernel", kernel, ("shifted", "unshifted"))
    whole_number("dimension", dimension, at_least=2)
    whole_number("degrees", degrees, at_least=1, at_most=MOST_DEGREES)
    whole_number("atoms", atoms, at_least=2, at_most=MOST_ROWS)
    real_number("least_mass", least_mass, above=0.0, at_most=1.0)
    if (directions is None) != (weights is None):
        raise ValueError("directions and weights of a perceptron go together")
    kind: dict[str, Any] = {"normalized": normalized, "kernel": kernel}
    terms: list[Any] = [Attention(beta, **kind)]
    if directions is not None and weights is not None:
        biased: Any = {"biases": biases, "output_bias": output_bias}
        terms.append(Perceptron(directions, weights, activation, **biased))
        terms[1].check_dimension(dimension)
    equation = MeanFieldEquation(*terms, direction="descent", diffusion=diffusion)
    attention = "normalised (softmax)" if normalized else "unnormalised"
    head = (
        f"beta = {beta:g} on S^{dimension - 1} (d = {dimension}), {attention} attention, "
        f"{equation.convention} ({kernel})"
    )
    noise = f", diffusion {diffusion:g}" if diffusion else ""
    angles: dict[str, Any] = {"start_angle": start_angle, "end_angle": end_angle}
    merging = theory.merge_time(beta, mass, **angles, **kind)
    of_mass = "" if normalized else f" of total mass {mass:g}"
    parts = {
        f"Growth rates about the uniform state [1/time] (no perceptron{noise})": (
            _tell_growth(beta, dimension, degrees, {"diffusion": diffusion, **kind})
        ),
        "Noisy phase transition (no perceptron)": (
            _tell_transition(beta, dimension, kind)
        ),
        "Stable states of descent": (
            _tell_stable_states(beta, dimension, equation, least_mass)
        ),
        "Atoms (no perceptron, no diffusion)": [
            f"two atoms{of_mass} from {start_angle:g} to {end_angle:g} rad apart: "
            f"t = {merging:.6g}",
            *_tell_equal_atoms(beta, dimension, atoms, angles, kind),
        ],
    }
    texts = ["\n".join([head, *(f"with {term!r}" for term in terms[1:])])]
    for title, lines in parts.items():
        texts.append("\n".join([title, *lines]).replace("\n", "\n  "))
    return "\n\n".join(texts)


FACTS = Section(report_theory)
"""What ``mfpde theory`` takes as key=value; reading it builds the report."""


def _tell_growth(
    beta: float, dimension: int, degrees: int, options: dict[str, Any]
) -> Iterator[str]:
    modes = np.arange(degrees + 1)
    columns = [
        modes,
        theory.eigenvalues(beta, dimension, modes, kernel=options["kernel"]),
    ]
    for direction in ("ascent", "descent"):
        rates = theory.growth_rates(
            beta, dimension, modes, direction=direction, **options
        )
        columns.append(rates)
    headers = ["degree l", "eigenvalue", "ascent", "descent"]
    yield format_table(headers, np.stack(columns, axis=1))
    mode = theory.fastest_mode(beta, dimension)
    clusters = f", hence {mode} early cluster{'s' * (mode > 1)}" * (dimension == 2)
    yield f"fastest in ascent without diffusion: l = {mode}{clusters}"


def _tell_transition(
    beta: float, dimension: int, kind: dict[str, Any]
) -> Iterator[str]:
    critical = theory.critical_diffusion(beta, dimension, **kind)
    yield f"the uniform state is unstable in ascent below diffusion {critical:.6g}"
    if kind["normalized"] and beta > 0:
        yield "continuous or not: known for unnormalised attention only"
        return
    is_continuous = theory.has_continuous_transition(beta, dimension)
    order = "continuous" if is_continuous else "discontinuous (hysteresis)"
    limit = theory.largest_continuous_beta(dimension)
    yield f"the transition is {order}; it is continuous up to beta = {limit:.6g}"


def _tell_stable_states(
    beta: float, dimension: int, equation: MeanFieldEquation, least_mass: float
) -> Iterator[str]:
    yield f"angle of concavity theta_beta = {theory.concavity_angle(beta):.6g} rad"
    if dimension == 2:
        yield str(theory.anti_concentration_bound(equation))
        count = theory.cluster_count_bound(equation, least_mass)
        bound = "no bound" if count is None else f"at most {count}"
        yield (
            f"atoms of mass {least_mass:g} or more, published: {bound} (any "
            f"probability: at most {int(1 / least_mass)})"
        )
    else:
        yield "anti-concentration: no bound, it is about the circle (d = 2)"
    if not equation.externals:
        return
    points = np.random.default_rng(0).standard_normal((SAMPLED_POINTS, dimension))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    try:
        found = theory.strict_stability(equation, points)
        share = float((found.curvatures > found.needed).mean())
        yield (
            f"strictly stable if all atoms lie where Hess V > {found.needed:.4g} "
            f"(Remark 5.6): {100 * share:.1f} % of the sphere"
        )
    except ValueError as error:
        yield f"Remark 5.6: does not apply ({str(error).rpartition('; ')[2]})"
    try:
        holds = theory.non_degeneracy(equation).holds
        words = "holds: supports have area zero" if holds else "fails"
        yield f"non-degeneracy (Proposition 6.1) {words}"
    except ValueError as error:
        yield f"Proposition 6.1: does not apply ({str(error).rpartition('; ')[2]})"


def _tell_equal_atoms(
    beta: float,
    dimension: int,
    most: int,
    angles: dict[str, Any],
    kind: dict[str, Any],
) -> Iterator[str]:
    if dimension >= 3 and angles["start_angle"] < np.arccos(-0.5):
        time = theory.equiangular_time(beta, 3, **angles, **kind)
        yield f"three equal, equiangular atoms over the same angles: t = {time:.6g}"
    rows = []
    for count in range(2, most + 1):
        rates = theory.equispaced_rates(beta, count, direction="ascent", **kind)[1:]
        lifetime = theory.equispaced_lifetime(beta, count, **kind)
        rows.append([count, rates.max(), rates.min(), lifetime])
    yield (
        "n equal atoms at equal distances on a circle, ascent (descent: opposite signs); "
        "rates [1/time] at which"
    )
    yield "differences of their angles grow, and the time in which the fastest grows e-fold:"
    yield format_table(
        ["n", "largest rate", "smallest rate", "lifetime in ascent"], rows
    )
