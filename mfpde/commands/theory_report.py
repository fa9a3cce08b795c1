"""The report of ``mfpde theory``: what is known in closed form at some parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfpde import theory as facts
from mfpde.arrays import choice, real_number, whole_number
from mfpde.commands.answers import table
from mfpde.equation import MeanFieldEquation
from mfpde.settings.base import Section, SettingsError, default, flag
from mfpde.terms import Attention, Perceptron

MOST_ROWS = 100
MOST_DEGREES = 10_000
SAMPLED_POINTS = 2000


@dataclass(frozen=True)
class Parameters:
    """What ``mfpde theory`` takes as key=value."""

    beta: float
    dimension: int = 2
    normalized: bool = default(Attention, "normalized")
    kernel: str = default(Attention, "kernel")
    diffusion: float = default(MeanFieldEquation, "diffusion")
    degrees: int = 8
    directions: Any = None
    weights: Any = None
    biases: Any = None
    output_bias: Any = None
    activation: str = default(Perceptron, "activation")
    mass: float = default(facts.merge_time, "mass")
    start_angle: float = 1.0
    end_angle: float = 0.1
    atoms: int = 8
    least_mass: float = 0.1

    def __post_init__(self) -> None:
        """Build everything that the report needs, which checks it."""
        choice("kernel", self.kernel, ("shifted", "unshifted"))
        whole_number("dimension", self.dimension, at_least=2)
        whole_number("degrees", self.degrees, at_least=1, at_most=MOST_DEGREES)
        whole_number("atoms", self.atoms, at_least=2, at_most=MOST_ROWS)
        real_number("least_mass", self.least_mass, above=0.0, at_most=1.0)
        if (self.directions is None) != (self.weights is None):
            raise ValueError("directions and weights of a perceptron go together")
        for term in self.equation("descent").externals:
            term.check_dimension(self.dimension)
        self.merge_time()

    def equation(self, direction: str) -> MeanFieldEquation:
        """Return the equation in this direction."""
        terms: list[Any] = [Attention(self.beta, **self.kind)]
        if self.directions is not None:
            perceptron = Perceptron(
                self.directions,
                self.weights,
                self.activation,
                biases=self.biases,
                output_bias=self.output_bias,
            )
            terms.append(perceptron)
        return MeanFieldEquation(*terms, direction=direction, diffusion=self.diffusion)

    def merge_time(self) -> float:
        """Return the time in which two atoms come from start_angle to end_angle."""
        start, end = self.start_angle, self.end_angle
        return facts.merge_time(
            self.beta, self.mass, start_angle=start, end_angle=end, **self.kind
        )

    @property
    def kind(self) -> dict[str, Any]:
        """The kind of attention, as the functions of ``mfpde.theory`` take it."""
        return {"normalized": self.normalized, "kernel": self.kernel}


FACTS = Section(Parameters, normalized=flag)


def theory_report(values: Mapping[str, Any]) -> str:
    """Return what is known in closed form at parameters by name.

    Raises
    ------
    SettingsError
        With one line for each error: a name that is missing or unknown (with the nearest real
        one), a value that is not allowed.
    """
    try:
        given = FACTS.read(values).built
    except ValueError as error:
        raise SettingsError(str(error)) from error
    noise = f", diffusion {given.diffusion:g}" if given.diffusion else ""
    parts = {
        f"Growth rates about the uniform state [1/time] (no perceptron{noise})": _growth,
        "Noisy phase transition (no perceptron)": _transition,
        "Stable states of descent": _stable_states,
        "Atoms (no perceptron, no diffusion)": _atoms,
    }
    texts = ["\n".join(_head(given))]
    for title, lines in parts.items():
        body = "\n".join(lines(given)).replace("\n", "\n  ")
        texts.append(f"{title}\n  {body}")
    return "\n\n".join(texts)


def _head(given: Parameters) -> Iterator[str]:
    sphere = f"S^{given.dimension - 1} (d = {given.dimension})"
    kind = "normalised (softmax)" if given.normalized else "unnormalised"
    equation = given.equation("ascent")
    yield (
        f"beta = {given.beta:g} on {sphere}, {kind} attention, "
        f"{equation.convention} ({given.kernel})"
    )
    for term in equation.externals:
        yield f"with {term!r}"


def _growth(given: Parameters) -> Iterator[str]:
    degrees = np.arange(given.degrees + 1)
    place = (given.beta, given.dimension)
    options = {"diffusion": given.diffusion, **given.kind}
    rates = [
        facts.growth_rates(*place, degrees, direction=direction, **options)
        for direction in ("ascent", "descent")
    ]
    values = facts.eigenvalues(*place, degrees, kernel=given.kernel)
    columns = ["degree l", "eigenvalue", "ascent", "descent"]
    yield table(columns, np.stack([degrees, values, *rates], axis=1).tolist())
    mode = facts.fastest_mode(*place)
    clusters = f", hence {mode} early cluster{'s' * (mode > 1)}"
    yield (
        f"fastest in ascent without diffusion: l = {mode}"
        f"{clusters if given.dimension == 2 else ''}"
    )


def _transition(given: Parameters) -> Iterator[str]:
    critical = facts.critical_diffusion(given.beta, given.dimension, **given.kind)
    yield f"the uniform state is unstable in ascent below diffusion {critical:.6g}"
    if given.normalized and given.beta > 0:
        yield "continuous or not: known for unnormalised attention only"
        return
    limit = facts.largest_continuous_beta(given.dimension)
    is_continuous = facts.has_continuous_transition(given.beta, given.dimension)
    kind = "continuous" if is_continuous else "discontinuous (hysteresis)"
    yield f"the transition is {kind}; it is continuous up to beta = {limit:.6g}"


def _stable_states(given: Parameters) -> Iterator[str]:
    angle = facts.concavity_angle(given.beta)
    yield f"angle of concavity theta_beta = {angle:.6g} rad"
    equation = given.equation("descent")
    if given.dimension == 2:
        yield str(facts.anti_concentration_bound(equation))
        count = facts.cluster_count_bound(equation, given.least_mass)
        bound = "no bound" if count is None else f"at most {count}"
        yield (
            f"atoms of mass {given.least_mass:g} or more, published: {bound} (any "
            f"probability: at most {int(1 / given.least_mass)})"
        )
    else:
        yield "anti-concentration: no bound, it is about the circle (d = 2)"
    if not equation.externals:
        return
    points = np.random.default_rng(0).standard_normal((SAMPLED_POINTS, given.dimension))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    try:
        found = facts.strict_stability(equation, points)
        share = float((found.curvatures > found.needed).mean())
        yield (
            f"strictly stable if all atoms lie where Hess V > {found.needed:.4g} "
            f"(Remark 5.6): {100 * share:.1f} % of the sphere"
        )
    except ValueError as error:
        yield f"Remark 5.6: does not apply ({_condition(error)})"
    try:
        holds = facts.non_degeneracy(equation).holds
        words = "holds: supports have area zero" if holds else "fails"
        yield f"non-degeneracy (Proposition 6.1) {words}"
    except ValueError as error:
        yield f"Proposition 6.1: does not apply ({_condition(error)})"


def _condition(error: ValueError) -> str:
    return str(error).rpartition("; ")[2]


def _atoms(given: Parameters) -> Iterator[str]:
    beta, start, end = given.beta, given.start_angle, given.end_angle
    between = f"from {start:g} to {end:g} rad apart"
    mass = "" if given.normalized else f" of total mass {given.mass:g}"
    yield f"two atoms{mass} {between}: t = {given.merge_time():.6g}"
    if given.dimension >= 3 and start < np.arccos(-0.5):
        time = facts.equiangular_time(
            beta, 3, start_angle=start, end_angle=end, **given.kind
        )
        yield f"three equal, equiangular atoms {between}: t = {time:.6g}"
    rows = []
    for count in range(2, given.atoms + 1):
        rates = facts.equispaced_rates(beta, count, direction="ascent", **given.kind)
        lifetime = facts.equispaced_lifetime(beta, count, **given.kind)
        rows.append([count, rates[1:].max(), rates[1:].min(), lifetime])
    yield (
        "n equal atoms at equal distances on a circle, ascent (descent: opposite signs); "
        "rates [1/time] at which"
    )
    yield "differences of their angles grow, and the time in which the fastest grows e-fold:"
    yield table(["n", "largest rate", "smallest rate", "lifetime in ascent"], rows)
