r"""The mean-field equation: terms, a direction, and diffusion.

    d_t mu + div(mu v) = kappa Lap mu,   v = s grad F,   F = A[mu] + V

with s = +1 (ascent) or -1 (descent) and the energy
E[mu] = (1/2 beta) iint K dmu dmu + int V dmu (paper, eqs. 2.1 to 2.8).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from mfpde.arrays import FloatArray, check_kind, choice, real_number
from mfpde.field import AtomField, GridField, MeasureField
from mfpde.geometry import Geometry
from mfpde.grid_equation import GridEquation
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure
from mfpde.terms import Attention, ExternalTerm, InteractionTerm, Perceptron
from mfpde.terms.normalization import Normalization

MOST_NAMED = 4
"""Kinds of terms that a description names."""


@dataclass(frozen=True, eq=False, init=False)
class MeanFieldEquation:
    """A mean-field equation from its terms.

    Begin with ``MeanFieldEquation(Attention(5.0), direction="descent")``.

    Parameters
    ----------
    *terms
        Any number of :class:`Attention`, :class:`Perceptron` and :class:`Potential`.
    direction
        ``"ascent"`` (s = +1) or ``"descent"`` (s = -1); it flips the whole field.
    diffusion
        kappa, at least 0.
    normalization
        How tokens x = R theta are scaled, by default on the sphere itself (post-LN); else runs
        carry the radius R, ``run.radii``, and there is no energy.

    Raises
    ------
    ValueError
        For an argument that is no term, terms of different dimensions, an unknown direction, a
        negative diffusion, or another normalization.
    """

    terms: tuple[InteractionTerm | ExternalTerm, ...]
    direction: str
    diffusion: float
    normalization: Normalization | None

    def __init__(
        self,
        *terms: InteractionTerm | ExternalTerm,
        direction: str,
        diffusion: float = 0.0,
        normalization: Normalization | None = None,
    ) -> None:
        for index, term in enumerate(terms):
            if not isinstance(term, InteractionTerm | ExternalTerm):
                raise ValueError(
                    f"term {index} = {term!r} must be an Attention, a Perceptron or a "
                    "Potential"
                )
        if not terms:
            raise ValueError("an equation needs at least one term")
        dimensions = {getattr(term, "dimension", None) for term in terms}
        named = sorted(d for d in dimensions if d is not None)
        if len(named) > 1:
            raise ValueError(
                f"the terms live in different dimensions: {named}; all must have the same"
            )
        if normalization is not None:
            source = 'such as Normalization("pre")'
            check_kind("normalization", normalization, Normalization, source=source)
            normalization = None if normalization.name == "post" else normalization
        vars(self).update(
            terms=tuple(terms),
            direction=choice("direction", direction, ("ascent", "descent")),
            diffusion=real_number("diffusion", diffusion, at_least=0.0),
            normalization=normalization,
        )

    @property
    def sign(self) -> int:
        """The sign s: +1 in ascent, -1 in descent."""
        return 1 if self.direction == "ascent" else -1

    @property
    def without_normalization(self) -> MeanFieldEquation:
        """The equation of tokens on the sphere, itself if it has no normalization."""
        if self.normalization is None:
            return self
        return MeanFieldEquation(
            *self.terms, direction=self.direction, diffusion=self.diffusion
        )

    def _terms_of(self, kind: Any) -> tuple[Any, ...]:
        return tuple(term for term in self.terms if isinstance(term, kind))

    @property
    def interactions(self) -> tuple[InteractionTerm, ...]:
        """The terms that depend on the measure: attention, its heads, any other kernel.

        If one has positions, which measures have not, that is a ``ValueError``, and so is a
        normalization, whose velocity is not s grad F.
        """
        if self.normalization is not None:
            words = "solve and solve_particles alone take it: leave it out"
            raise ValueError(f"this is not known with {self.normalization!r}; {words}")
        for term in self._interactions:
            if term.positions is not None:
                raise ValueError(
                    f"{term!r} is for rows of positions: give solve a PositionedDensity, such as "
                    "PositionedDensity.repeated(density, 32), or solve_particles positions=..."
                )
        return self._interactions

    @property
    def _interactions(self) -> tuple[InteractionTerm, ...]:
        return self._terms_of(InteractionTerm)

    @property
    def externals(self) -> tuple[ExternalTerm, ...]:
        """The terms that do not depend on the measure."""
        return self._terms_of(ExternalTerm)

    @property
    def heads(self) -> tuple[Attention, ...]:
        """The heads of attention with matrices."""
        return tuple(t for t in self._terms_of(Attention) if not t.is_zonal)

    @property
    def attentions(self) -> tuple[Attention, ...]:
        """The interactions if all are attention without matrices; else a ValueError."""
        for term in self.interactions:
            if not (isinstance(term, Attention) and term.is_zonal):
                raise ValueError(f"this is known for Attention alone, not for {term!r}")
        return self._terms_of(Attention)

    @property
    def sharpness(self) -> float:
        """Largest inverse square of a length on which a kernel varies, the largest beta, or 0."""
        return max((term.sharpness for term in self._interactions), default=0.0)

    @property
    def strength(self) -> float:
        """Largest speed at which a unit of mass pulls; 0 without interaction."""
        return max((term.strength for term in self._interactions), default=0.0)

    @property
    def has_softmax(self) -> bool:
        """Whether a softmax divides by the mean kernel, so that E is not what v climbs."""
        return any(term.needs_values for term in self._interactions)

    @property
    def perceptrons(self) -> tuple[Perceptron, ...]:
        """The neurons of the external terms, layer by layer."""
        return tuple(term.layer for term in self.externals if term.layer is not None)

    @property
    def perceptron_parts(self) -> tuple[Perceptron, ...]:
        """The perceptrons, each output bias as a neuron of constant output beside them."""
        return tuple(part for layer in self.perceptrons for part in layer.parts)

    @property
    def has_energy(self) -> bool:
        """Whether E exists: drifts are gradients, heads have V = a D, D symmetric; no masks."""
        is_plain = self.normalization is None and self.has_first_variation
        return is_plain and all(
            term.has_energy and term.positions is None for term in self._interactions
        )

    @property
    def has_first_variation(self) -> bool:
        """Whether F exists, v = s grad F: all drifts at a measure are gradients."""
        return all(term.is_gradient for term in self.terms)

    @property
    def energy_is_lyapunov(self) -> bool:
        """Whether s E never decreases along solutions without diffusion.

        True for unnormalised attention with gradient terms, and for one normalised
        attention alone; otherwise no monotonicity is claimed.
        """
        if not self.has_energy:
            return False
        return not self.has_softmax or len(self.terms) == 1

    def equation_before(self, time: float) -> MeanFieldEquation:
        """The equation itself, which acts at every ``time``, where :class:`Layers` change."""
        del time
        return self

    equation_after = equation_before

    @property
    def sharpest(self) -> MeanFieldEquation:
        """The equation itself; of :class:`Layers` the one of largest beta."""
        return self

    @property
    def convention(self) -> str:
        """The kernel convention in words, as every output states it."""
        kernels = {term.formula for term in self._interactions}
        return " and ".join(sorted(kernels)) or "no attention"

    @property
    def description(self) -> str:
        """Direction, terms and diffusion in words; terms that are alike are counted.

        More than four kinds of terms are no longer named.
        """
        counts = Counter(term.description for term in self.terms)
        words = [f"{n} × {name}" if n > 1 else name for name, n in counts.items()]
        more = len(self.terms) - sum(list(counts.values())[:MOST_NAMED])
        if more > 1:
            words[MOST_NAMED:] = [f"{more} more terms"]
        noise = f", diffusion {self.diffusion:g}" if self.diffusion else ""
        scaled = f", {self.normalization.name}-norm" if self.normalization else ""
        return f"{self.direction} of {' + '.join(words)}{noise}{scaled}"

    def on(self, geometry: Geometry) -> GridEquation:
        """Return the equation on a grid, with all static fields computed once.

        A term of another dimension than the grid is a ``ValueError``, and so is a grid too coarse
        for beta (the message names one that is fine enough).
        """
        return _on_grid(self, geometry)

    def field(self, measure: AnyMeasure) -> MeasureField:
        """The field of ``measure``: F, v and E, at its own points and any others.

        Its density's grid is checked as by :meth:`on`.
        """
        if hasattr(measure, "field_under"):  # rows and tokens see others
            field: MeasureField = measure.field_under(self)
            return field
        if isinstance(measure, Atoms):
            return AtomField(self.interactions, self.externals, self.sign, measure)
        whole, _ = as_measure(measure), self.interactions
        return GridField(self.on(whole.geometry), whole)

    def first_variation(
        self, measure: AnyMeasure, points: FloatArray | None = None
    ) -> FloatArray:
        """Values (...) of the first variation F = A[mu] + V, the derivative of E by the measure.

        For softmax attention F is the function with v = s grad F.

        Parameters
        ----------
        measure
            A density, atoms, or both.
        points
            Unit vectors (..., d); by default the cell centres, or the atoms themselves.

        Raises
        ------
        ValueError
            If a drift has no potential, or dimensions do not match.
        """
        for term in self.terms:
            if not term.is_gradient:
                raise ValueError(
                    f"the first variation does not exist: {term!r} has no potential (a head "
                    "has one if value is a multiple of bilinear, neurons with scalar weights)"
                )
        return self.field(measure).first_variation(points)

    def velocity(
        self, measure: AnyMeasure, points: FloatArray | None = None
    ) -> FloatArray:
        """The velocity v = s grad F, or s times a general drift; tangent vectors (..., d)."""
        return self.field(measure).velocity(points)

    def energy(self, measure: AnyMeasure) -> float | None:
        """E[mu] = (1/2 beta) iint K dmu dmu + int V dmu, or None if there is no energy."""
        return self.field(measure).energy() if self.has_energy else None

    def lyapunov_function(self, measure: AnyMeasure) -> float | None:
        """Return -s E + kappa int rho log rho, which never increases, or None if unknown."""
        energy = self.energy(measure) if self.energy_is_lyapunov else None
        if energy is None or (self.has_softmax and self.diffusion):
            return None
        if self.diffusion == 0:
            return -self.sign * energy
        density = as_measure(measure).density
        logarithms = np.log(np.where(density.values > 0, density.values, 1.0))
        entropy = float((density.masses * logarithms).sum())
        return -self.sign * energy + self.diffusion * entropy

    def __repr__(self) -> str:
        terms = ", ".join(repr(term) for term in self.terms)
        diffusion = f", diffusion={self.diffusion:g}" if self.diffusion else ""
        scaled = f", normalization={self.normalization}" if self.normalization else ""
        return f"MeanFieldEquation({terms}, direction={self.direction!r}{diffusion}{scaled})"


@lru_cache(maxsize=8)
def _on_grid(equation: MeanFieldEquation, geometry: Geometry) -> GridEquation:
    terms = equation._interactions, equation.externals
    return GridEquation(geometry, *terms, equation.sign, equation.diffusion)
