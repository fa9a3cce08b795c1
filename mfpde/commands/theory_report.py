"""The report of ``mfpde theory``: what is known in closed form at some parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
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


@dataclass(frozen=True)
class TheoryReport:
    """What is known in closed form at these parameters; its ``str`` is the report."""

    beta: float
    dimension: int = 2
    normalized: bool = default(Attention, "normalized")
    kernel: str = default(Attention, "kernel")
    diffusion: float = default(MeanFieldEquation, "diffusion")
    degrees: int = 8
    directions: ArrayLike | None = None
    weights: ArrayLike | None = None
    biases: ArrayLike | None = None
    output_bias: ArrayLike | None = None
    activation: str = default(Perceptron, "activation")
    mass: float = default(theory.merge_time, "mass")
    start_angle: float = 1.0
    end_angle: float = 0.1
    atoms: int = 8
    least_mass: float = 0.1

    def __post_init__(self) -> None:
        choice("kernel", self.kernel, ("shifted", "unshifted"))
        whole_number("dimension", self.dimension, at_least=2)
        whole_number("degrees", self.degrees, at_least=1, at_most=MOST_DEGREES)
        whole_number("atoms", self.atoms, at_least=2, at_most=MOST_ROWS)
        real_number("least_mass", self.least_mass, above=0.0, at_most=1.0)

    @property
    def kind(self) -> dict[str, Any]:
        """The kind of attention."""
        return {"normalized": self.normalized, "kernel": self.kernel}

    @cached_property
    def equation(self) -> MeanFieldEquation:
        """Descent with these parameters."""
        terms: list[Any] = [Attention(self.beta, **self.kind)]
        if (self.directions is None) != (self.weights is None):
            raise ValueError("directions and weights of a perceptron go together")
        if self.directions is not None and self.weights is not None:
            biased: Any = {"biases": self.biases, "output_bias": self.output_bias}
            neurons = Perceptron(
                self.directions, self.weights, self.activation, **biased
            )
            neurons.check_dimension(self.dimension)
            terms.append(neurons)
        return MeanFieldEquation(*terms, direction="descent", diffusion=self.diffusion)

    def __str__(self) -> str:
        # It judges the parameters.
        convention = self.equation.convention
        attention = "normalised (softmax)" if self.normalized else "unnormalised"
        head = (
            f"beta = {self.beta:g} on S^{self.dimension - 1} (d = {self.dimension}), "
            f"{attention} attention, {convention} ({self.kernel})"
        )
        noise = f", diffusion {self.diffusion:g}" if self.diffusion else ""
        rates = f"Growth rates about the uniform state [1/time] (no perceptron{noise})"
        parts = {
            rates: self._growth(),
            "Noisy phase transition (no perceptron)": self._transition(),
            "Stable states of descent": self._stable_states(),
            "Atoms (no perceptron, no diffusion)": self._atoms(),
        }
        texts = ["\n".join([head, *(f"with {t!r}" for t in self.equation.externals)])]
        for title, lines in parts.items():
            texts.append("\n".join([title, *lines]).replace("\n", "\n  "))
        return "\n\n".join(texts)

    def _growth(self) -> Iterator[str]:
        modes, at = np.arange(self.degrees + 1), (self.beta, self.dimension)
        options = {"diffusion": self.diffusion, **self.kind}
        columns = [modes, theory.eigenvalues(*at, modes, kernel=self.kernel)]
        for direction in ("ascent", "descent"):
            rates = theory.growth_rates(*at, modes, direction=direction, **options)
            columns.append(rates)
        headers = ["degree l", "eigenvalue", "ascent", "descent"]
        yield format_table(headers, np.stack(columns, axis=1))
        mode = theory.fastest_mode(*at)
        clusters = f", hence {mode} early cluster{'s' * (mode > 1)}"
        clusters = clusters if self.dimension == 2 else ""
        yield f"fastest in ascent without diffusion: l = {mode}{clusters}"

    def _transition(self) -> Iterator[str]:
        critical = theory.critical_diffusion(self.beta, self.dimension, **self.kind)
        yield f"the uniform state is unstable in ascent below diffusion {critical:.6g}"
        if self.normalized and self.beta > 0:
            yield "continuous or not: known for unnormalised attention only"
            return
        is_continuous = theory.has_continuous_transition(self.beta, self.dimension)
        order = "continuous" if is_continuous else "discontinuous (hysteresis)"
        limit = theory.largest_continuous_beta(self.dimension)
        yield f"the transition is {order}; it is continuous up to beta = {limit:.6g}"

    def _stable_states(self) -> Iterator[str]:
        angle = theory.concavity_angle(self.beta)
        yield f"angle of concavity theta_beta = {angle:.6g} rad"
        if self.dimension == 2:
            yield str(theory.anti_concentration_bound(self.equation))
            count = theory.cluster_count_bound(self.equation, self.least_mass)
            bound = "no bound" if count is None else f"at most {count}"
            yield (
                f"atoms of mass {self.least_mass:g} or more, published: {bound} (any "
                f"probability: at most {int(1 / self.least_mass)})"
            )
        else:
            yield "anti-concentration: no bound, it is about the circle (d = 2)"
        if not self.equation.externals:
            return
        shape = (SAMPLED_POINTS, self.dimension)
        points = np.random.default_rng(0).standard_normal(shape)
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        try:
            found = theory.strict_stability(self.equation, points)
            share = float((found.curvatures > found.needed).mean())
            yield (
                f"strictly stable if all atoms lie where Hess V > {found.needed:.4g} "
                f"(Remark 5.6): {100 * share:.1f} % of the sphere"
            )
        except ValueError as error:
            yield f"Remark 5.6: does not apply ({str(error).rpartition('; ')[2]})"
        try:
            holds = theory.non_degeneracy(self.equation).holds
            words = "holds: supports have area zero" if holds else "fails"
            yield f"non-degeneracy (Proposition 6.1) {words}"
        except ValueError as error:
            yield f"Proposition 6.1: does not apply ({str(error).rpartition('; ')[2]})"

    def _atoms(self) -> Iterator[str]:
        angles: Any = {"start_angle": self.start_angle, "end_angle": self.end_angle}
        time = theory.merge_time(self.beta, self.mass, **angles, **self.kind)
        of_mass = "" if self.normalized else f" of total mass {self.mass:g}"
        between = f"from {self.start_angle:g} to {self.end_angle:g} rad apart"
        yield f"two atoms{of_mass} {between}: t = {time:.6g}"
        if self.dimension >= 3 and self.start_angle < np.arccos(-0.5):
            time = theory.equiangular_time(self.beta, 3, **angles, **self.kind)
            yield f"three equal, equiangular atoms over the same angles: t = {time:.6g}"
        rows = []
        for count in range(2, self.atoms + 1):
            options = {"direction": "ascent", **self.kind}
            rates = theory.equispaced_rates(self.beta, count, **options)[1:]
            lifetime = theory.equispaced_lifetime(self.beta, count, **self.kind)
            rows.append([count, rates.max(), rates.min(), lifetime])
        yield (
            "n equal atoms at equal distances on a circle, ascent (descent: opposite signs); "
            "rates [1/time] at which"
        )
        yield "differences of their angles grow, and the time in which the fastest grows e-fold:"
        headers = ["n", "largest rate", "smallest rate", "lifetime in ascent"]
        yield format_table(headers, rows)


FACTS = Section(TheoryReport)
"""What ``mfpde theory`` takes as key=value."""
