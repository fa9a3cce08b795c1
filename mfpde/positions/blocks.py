r"""Blocks of a discrete network: one step of all tokens by what a term adds, and back to |x| = 1.

    x <- z / |z|,   z = x + s step m(x),   s = +1 or -1

with m = V int y K dmu of attention (under softmax over int K dmu), and the whole output of a
perceptron.  The velocity is the tangential part of m; here the radial part counts too, of
which a potential has none.  The measure stands while its block acts; the next block sees what it
has become.  As steps that are all alike tend to 0, so many layers are the flow of all their terms
together, to the time of the number of layers times the step.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import FloatArray, real_number, shown, unit_vectors
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.geometry.circle import angles_of
from mfpde.grid_equation import GridEquation
from mfpde.measures.events import Event
from mfpde.measures.measure import AnyMeasure, Atoms, as_measure
from mfpde.terms import ExternalTerm, InteractionTerm

VANISHED = 1e-12


class VanishedError(ValueError):
    """Somewhere |x + s step m(x)| is 0, or below 1e-12: it has no direction."""


@dataclass(frozen=True, eq=False, init=False)
class Block:
    """A block x <- (x + s step m(x)) / |.| of a discrete network, m what its terms add.

    Begin with ``Block(Attention(5.0), step=0.2)``.

    Parameters
    ----------
    equation
        A term, or an equation whose terms act at once, in its direction.
    step
        Factor of m, above 0.
    direction
        Of a term alone: ``"ascent"`` (s = +1, the default) or ``"descent"`` (s = -1).

    Raises
    ------
    ValueError
        For diffusion, a direction beside an equation, or a step out of its range.
    """

    equation: MeanFieldEquation
    step: float

    def __init__(
        self,
        equation: MeanFieldEquation | InteractionTerm | ExternalTerm,
        step: float,
        *,
        direction: str | None = None,
    ) -> None:
        if isinstance(equation, InteractionTerm | ExternalTerm):
            equation = MeanFieldEquation(equation, direction=direction or "ascent")
        elif not isinstance(equation, MeanFieldEquation):
            raise ValueError(
                f"equation = {shown(equation)} must be a term, such as Attention(5.0), or a "
                "MeanFieldEquation"
            )
        elif direction is not None:
            raise ValueError(
                f"direction = {direction!r}, but the equation has its own, "
                f"{equation.direction!r}: give one to a term alone"
            )
        if equation.diffusion > 0 or equation.normalization is not None:
            given = f"diffusion = {equation.diffusion:g}, {equation.normalization}"
            raise ValueError(
                f"the equation has {given}, but a block moves tokens without noise, and brings "
                "them back to the sphere itself: leave it out, or solve it without blocks"
            )
        length = real_number("step", step, above=0.0, at_most=1e50)
        vars(self).update(equation=equation, step=length)

    def image(self, measure: AnyMeasure, points: ArrayLike | None = None) -> FloatArray:
        """The images of ``points`` (..., d) under the block, in which ``measure`` acts.

        Parameters
        ----------
        measure
            A density on a circle or a sphere, atoms, or both.
        points
            Unit vectors (..., d); by default the cell centres, or the atoms themselves, at which
            tokens with positions have images alone.

        Raises
        ------
        ValueError
            For a zonal grid, terms of another dimension, or where |x + s step m| < 1e-12.
        """
        own = measure if isinstance(measure, Atoms) else as_measure(measure).geometry
        places = own.points if points is None else unit_vectors("points", points)
        flat = places if places.ndim == 2 else places.reshape(-1, places.shape[-1])
        updates = self.equation.field(measure).updates(flat)
        return move_points(flat, self.step, updates).reshape(places.shape)


class LayerEquation(MeanFieldEquation):
    """A layer as an equation, that of energies and verdicts of a run.

    It has all terms of its ``blocks`` if they go one way, by equal steps, else those of the first.
    """

    blocks: tuple[Block, ...]

    def __init__(self, layer: Block | Sequence[Block]) -> None:
        blocks = [layer] if isinstance(layer, Block) else layer
        is_list = isinstance(blocks, Sequence) and len(blocks) > 0
        if not is_list or not all(isinstance(block, Block) for block in blocks):
            raise ValueError(
                f"layer = {shown(layer)} must be a Block(equation or term, step=...), or a list "
                "of blocks that follow each other"
            )
        object.__setattr__(self, "blocks", tuple(blocks))
        first = self.blocks[0].equation
        # Together they tell whether they live in one dimension.
        terms = [term for block in blocks for term in block.equation.terms]
        super().__init__(*terms, direction=first.direction)
        if len({(b.step, b.equation.direction) for b in self.blocks}) > 1:
            super().__init__(*first.terms, direction=first.direction)

    def on(self, geometry: Geometry) -> LayerOnGrid:
        """Return the layer on a grid."""
        return _on_grid(self, geometry)


@dataclass(frozen=True, eq=False, kw_only=True)
class LayerOnGrid(GridEquation):
    """A layer on a grid, with the equation and the step of each of its ``blocks``."""

    blocks: tuple[tuple[GridEquation, float], ...]


def is_discrete(dynamics: Any) -> bool:
    """Whether an equation, or layers, are of a discrete network, whose times count layers."""
    return isinstance(dynamics.equation_before(0.0), LayerEquation)


@lru_cache(maxsize=8)
def _on_grid(layer: LayerEquation, geometry: Geometry) -> LayerOnGrid:
    blocks = tuple((b.equation.on(geometry), b.step) for b in layer.blocks)
    terms = layer.interactions, layer.externals
    return LayerOnGrid(geometry, *terms, layer.sign, 0.0, blocks=blocks)


def check_discrete(
    dynamics: Any, times: Iterable[float], **of_flows: float | None
) -> None:
    """Raise ``ValueError`` if discrete layers have arguments ``of_flows``, or parts as times."""
    if not is_discrete(dynamics):
        return
    for name, value in of_flows.items():
        if value is not None:
            raise ValueError(
                f"{name} = {value!r} is for flows: DiscreteLayers have no use of it"
            )
    for time in times:
        if time % 1:
            raise ValueError(
                f"t = {time:g} is within a layer: times of DiscreteLayers count layers, so that "
                "t_end, saves and start_time are whole numbers"
            )


@dataclass(frozen=True)
class LayerMaps:
    """What moves particles by layers, where flows have an integrator; sums are direct."""

    events: ClassVar[tuple[Event, ...]] = ()

    def trajectory(
        self, velocity: Any, times: FloatArray
    ) -> Iterator[tuple[float, FloatArray]]:
        """Yield the end of a layer, and the state of the system of ``velocity`` there."""
        system, state = velocity.system, velocity.system.start
        for block in system.equation.blocks:
            points = block.image(system.atoms(state))
            state = angles_of(points) if state.ndim == 1 else points
        yield float(times[1]), state


def move_points(points: FloatArray, step: float, updates: FloatArray) -> FloatArray:
    """Images z / |z| of ``points`` (n, d), z = x + step times ``updates``; VanishedError at 0."""
    ends = points + step * updates
    lengths = np.linalg.norm(ends, axis=-1, keepdims=True)
    if lengths.min() < VANISHED:
        where = points[int(lengths.argmin())].round(6).tolist()
        raise VanishedError(
            f"x + s step m(x) vanishes at x = {shown(where)} with step = {step:g}: a token there "
            "has no direction left; take a smaller step"
        )
    return np.asarray(ends / lengths)
