"""``mfpde theory beta=5 dimension=2``: the closed-form facts at these parameters."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mfpde import theory as facts
from mfpde.arrays import FloatArray, choice, nearest, real_number, whole_number
from mfpde.commands import DONE
from mfpde.commands.answers import say, table
from mfpde.equation import MeanFieldEquation
from mfpde.settings.base import SettingsError, default, flag, section
from mfpde.settings.overrides import setting_value
from mfpde.terms import Attention, Perceptron

MOST_ROWS = 100
MOST_DEGREES = 10_000
SAMPLED_POINTS = 2000


@dataclass(frozen=True)
class TheorySettings:
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
        for term in self.equation("descent").externals:
            term.check_dimension(self.dimension)
        self.merge_time()

    def equation(self, direction: str) -> MeanFieldEquation:
        """Return the equation in this direction."""
        attention = Attention(self.beta, self.normalized, self.kernel)  # type: ignore[arg-type]
        return MeanFieldEquation(
            attention,
            *self.perceptrons(),
            direction=direction,
            diffusion=self.diffusion,
        )

    def perceptrons(self) -> list[Perceptron]:
        """Return the perceptron, if there is one."""
        if (self.directions is None) != (self.weights is None):
            raise ValueError("directions and weights of a perceptron go together")
        if self.directions is None:
            return []
        return [
            Perceptron(
                self.directions,
                self.weights,
                self.activation,
                biases=self.biases,
                output_bias=self.output_bias,
            )
        ]

    def merge_time(self) -> float:
        """Return the time in which two atoms come from start_angle to end_angle."""
        return facts.merge_time(
            self.beta,
            self.mass,
            start_angle=self.start_angle,
            end_angle=self.end_angle,
            **self.kind,
        )

    @property
    def kind(self) -> dict[str, Any]:
        """The kind of attention, as the functions of ``mfpde.theory`` take it."""
        return {"normalized": self.normalized, "kernel": self.kernel}


_KEYS = section(TheorySettings, normalized=flag)


def theory(arguments: argparse.Namespace) -> int:
    """Print what is known in closed form at the given parameters."""
    settings = read_theory_settings(arguments.settings)
    sections = [
        _head(settings),
        _uniform_state(settings),
        _transition(settings),
        _stable_states(settings),
        _atoms(settings),
    ]
    say("\n\n".join(sections))
    return DONE


def read_theory_settings(texts: Iterable[str]) -> TheorySettings:
    """Read settings of the form ``key=value``, the value TOML or a bare word.

    Raises
    ------
    SettingsError
        With one line for each error: no ``=``, an unknown key (with the nearest real
        one), a value that is not allowed.
    """
    given: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            known = nearest(key, _KEYS.keys)
            raise SettingsError(
                f"setting {text!r}{known} must have the form key=value, as in beta=5"
            )
        given[key.strip()] = setting_value(value.strip())
    try:
        return _KEYS.read(given).build()  # type: ignore[no-any-return]
    except ValueError as error:
        raise SettingsError(str(error)) from error


def _head(settings: TheorySettings) -> str:
    sphere = f"S^{settings.dimension - 1} (d = {settings.dimension})"
    kind = "normalised (softmax)" if settings.normalized else "unnormalised"
    equation = settings.equation("ascent")
    lines = [
        f"beta = {settings.beta:g} on {sphere}, {kind} attention, "
        f"{equation.convention} ({settings.kernel})"
    ]
    lines += [f"with {term!r}" for term in equation.externals]
    return "\n".join(lines)


def _uniform_state(settings: TheorySettings) -> str:
    degrees = np.arange(settings.degrees + 1)
    beta, dimension = settings.beta, settings.dimension
    rates = [
        facts.growth_rates(
            beta,
            dimension,
            degrees,
            direction=direction,
            diffusion=settings.diffusion,
            **settings.kind,
        )
        for direction in ("ascent", "descent")
    ]
    values = facts.eigenvalues(beta, dimension, degrees, kernel=settings.kernel)
    mode = facts.fastest_mode(beta, dimension)
    predicted = f"fastest in ascent without diffusion: l = {mode}" + (
        f", hence {mode} early cluster{'s' * (mode > 1)}" if dimension == 2 else ""
    )
    noise = f", diffusion {settings.diffusion:g}" if settings.diffusion else ""
    return _titled(
        f"Growth rates about the uniform state (no perceptron{noise})",
        table(
            ["degree l", "eigenvalue", "ascent", "descent"],
            np.stack([degrees, values, *rates], axis=1).tolist(),
        ),
        predicted,
    )


def _transition(settings: TheorySettings) -> str:
    beta, dimension = settings.beta, settings.dimension
    critical = facts.critical_diffusion(beta, dimension, **settings.kind)
    lines = [f"the uniform state is unstable in ascent below diffusion {critical:.6g}"]
    if settings.normalized and beta > 0:
        lines.append("continuous or not: known for unnormalised attention only")
    else:
        limit = facts.largest_continuous_beta(dimension)
        kind = facts.has_continuous_transition(beta, dimension)
        lines.append(
            f"the transition is {'continuous' if kind else 'discontinuous (hysteresis)'}"
            f"; it is continuous up to beta = {limit:.6g}"
        )
    return _titled("Noisy phase transition (no perceptron)", *lines)


def _stable_states(settings: TheorySettings) -> str:
    angle = facts.concavity_angle(settings.beta)
    lines = [f"angle of concavity theta_beta = {angle:.6g} rad"]
    equation = settings.equation("descent")
    if settings.dimension == 2:
        lines.append(str(facts.anti_concentration_bound(equation)))
        count = facts.cluster_count_bound(equation, settings.least_mass)
        shown = "no bound" if count is None else f"at most {count}"
        trivial = int(1 / settings.least_mass)
        lines.append(
            f"atoms of mass {settings.least_mass:g} or more, published: {shown} (any "
            f"probability: at most {trivial})"
        )
    else:
        lines.append("anti-concentration: no bound, it is about the circle (d = 2)")
    return _titled("Stable states of descent", *lines, *_conditions(equation))


def _conditions(equation: MeanFieldEquation) -> list[str]:
    if not equation.externals:
        return []
    lines = []
    try:
        points = _sampled_points(equation)
        found = facts.strict_stability(equation, points)
        share = float((found.curvatures > found.needed).mean())
        lines.append(
            f"strictly stable if all atoms lie where Hess V > {found.needed:.4g} "
            f"(Remark 5.6): {100 * share:.1f} % of the sphere"
        )
    except ValueError as error:
        lines.append(f"Remark 5.6: does not apply ({_reason(error)})")
    try:
        degeneracy = facts.non_degeneracy(equation)
        words = "holds: supports have area zero" if degeneracy.holds else "fails"
        lines.append(f"non-degeneracy (Proposition 6.1) {words}")
    except ValueError as error:
        lines.append(f"Proposition 6.1: does not apply ({_reason(error)})")
    return lines


def _reason(error: ValueError) -> str:
    return str(error).rpartition("; ")[2]


def _sampled_points(equation: MeanFieldEquation) -> FloatArray:
    dimension = equation.externals[0].dimension  # type: ignore[attr-defined]
    points = np.random.default_rng(0).standard_normal((SAMPLED_POINTS, dimension))
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True))


def _atoms(settings: TheorySettings) -> str:
    start, end = settings.start_angle, settings.end_angle
    between = f"from {start:g} to {end:g} rad"
    mass = "" if settings.normalized else f" of total mass {settings.mass:g}"
    lines = [f"two atoms{mass} {between}: t = {settings.merge_time():.6g}"]
    if settings.dimension >= 3 and start < np.arccos(-0.5):
        time = facts.equiangular_time(
            settings.beta, 3, start_angle=start, end_angle=end, **settings.kind
        )
        lines.append(f"three equal, equiangular atoms {between}: t = {time:.6g}")
    counts = range(2, settings.atoms + 1)
    rows = []
    for count in counts:
        rates = facts.equispaced_rates(
            settings.beta, count, direction="ascent", **settings.kind
        )[1:]
        lifetime = facts.equispaced_lifetime(settings.beta, count, **settings.kind)
        rows.append([count, rates.max(), rates.min(), lifetime])
    lines += [
        "n equal atoms at equal distances on a circle, ascent (descent: opposite signs):",
        table(["n", "largest rate", "smallest rate", "lifetime in ascent"], rows),
    ]
    return _titled("Atoms (no perceptron, no diffusion)", *lines)


def _titled(title: str, *lines: str) -> str:
    body = "\n".join(lines).replace("\n", "\n  ")
    return f"{title}\n  {body}"
