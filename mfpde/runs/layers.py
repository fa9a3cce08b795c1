r"""Layers: an equation that is piecewise constant in time, as the weights of a network are.

Layer k acts on the interval (t_k, t_k+1] between two breakpoints t_0 = 0 < t_1 < ... < t_n,
the depth of the network.  A run ends a step exactly at each of them, and every stage of a step
belongs to one layer.  At a breakpoint itself the layer that ends there counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from mfpde.arrays import FloatArray, read_only, real_number, shown, whole_number
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.positions.blocks import Block, LayerEquation
from mfpde.runs.stopping import SHORTEST_TIME

MOST_LAYERS = 100_000
SLIVER = 1e-12
"""Times that differ by less than this share of the depth are the same time."""


class Layer(NamedTuple):
    """An equation, and how long it acts."""

    equation: MeanFieldEquation
    duration: float


Sampler: TypeAlias = Callable[[np.random.Generator, int], MeanFieldEquation]


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Layers:
    r"""Equations one after the other: ``solve(Layers([(equation, duration), ...]), start)``.

    Begin with ``Layers([(MeanFieldEquation(Attention(5.0), direction="ascent"), 2.0)])``.

    Parameters
    ----------
    layers
        Pairs of an equation and its duration, from the first layer to the last.  An equation
        may consist of an external term alone.
    seed
        The seed from which random layers were drawn, if they were (:meth:`random`).

    Attributes
    ----------
    equations, durations
        From the first layer to the last; durations have the shape (layers,).
    breakpoints
        Times at which layers begin and end, from 0 to the depth, shape (layers + 1,).

    Raises
    ------
    ValueError
        For no layers at all, something that is no equation, a duration that is no finite
        number above 0 or is below 1e-12 of the depth, layers of different dimensions or
        normalizations (the message names the layer), or a seed that is no whole number.
    """

    equations: tuple[MeanFieldEquation, ...]
    durations: FloatArray
    seed: int | None

    def __init__(
        self,
        layers: Iterable[tuple[MeanFieldEquation, float]],
        *,
        seed: int | None = None,
    ) -> None:
        pairs = _read_layers(layers, _read_pair, "pairs (equation, duration)")
        if not pairs:
            raise ValueError("layers is empty: at least one is needed")
        equations, durations = zip(*pairs, strict=True)
        _check_dimensions(equations)
        _check_normalizations(equations)
        shortest, depth = min(durations), sum(durations)
        if shortest <= SLIVER * depth:
            raise ValueError(
                f"layers[{durations.index(shortest)}]: duration = {shortest:g} must be more "
                f"than {SLIVER:g} of the total depth, {depth:g}"
            )
        if seed is not None:
            seed = whole_number("seed", seed, at_least=0)
        object.__setattr__(self, "equations", equations)
        object.__setattr__(self, "durations", read_only(np.array(durations)))
        object.__setattr__(self, "seed", seed)

    @staticmethod
    def random(sampler: Sampler, *, count: int, duration: float, seed: int) -> Layers:
        r"""Draw ``count`` layers of the same ``duration``, each by ``sampler(rng, index)``.

        One generator, numpy's ``default_rng(seed)``, goes from layer to layer: the same seed
        gives the same layers, and the first layers of more are those of fewer.

        With independent weights of mean zero and size duration^(-1/2) the tokens follow, as
        the duration tends to 0, the Stratonovich equation dX = P_X sum_j sigma_j(X) o dW_j
        with a noise that all of them share (Wong and Zakai).  Random quadratic potentials
        V = x.Qx/2, each by its eigenvectors as neurons with linear activation::

            def quadratic(rng, index):
                square = rng.standard_normal((dimension, dimension))
                form = (square + square.T) / np.sqrt(2 * dimension * duration)
                weights, vectors = np.linalg.eigh(form)
                neurons = mfpde.Perceptron(vectors.T, weights, "linear")
                return mfpde.MeanFieldEquation(neurons, direction="ascent")

        Parameters
        ----------
        sampler
            Function of a generator and the layer's index, from 0, that returns an equation.
        count, duration, seed
            Number of layers, duration of each, and a whole number of at least 0.  Others are a
            ``ValueError``, and so is a sampler that returns no equation.
        """
        if not callable(sampler):
            raise ValueError(
                f"sampler = {shown(sampler)} must be a function of a generator and the "
                "layer's index that returns a MeanFieldEquation"
            )
        count = whole_number("count", count, at_least=1, at_most=MOST_LAYERS)
        seed = whole_number("seed", seed, at_least=0)
        generator = np.random.default_rng(seed)
        drawn = [(sampler(generator, index), duration) for index in range(count)]
        return Layers(drawn, seed=seed)

    @cached_property
    def breakpoints(self) -> FloatArray:
        """Times at which layers begin and end, correctly rounded sums, shape (layers + 1,)."""
        sums = accumulate(map(Fraction, self.durations.tolist()), initial=Fraction(0))
        return read_only(np.array([float(one) for one in sums]))

    @property
    def depth(self) -> float:
        """The sum of all durations, at which the last layer ends."""
        return float(self.breakpoints[-1])

    def __len__(self) -> int:
        return len(self.equations)

    def __iter__(self) -> Iterator[Layer]:
        return map(Layer, self.equations, self.durations.tolist())

    def index_before(self, time: float) -> int:
        """Index of the layer that acts up to ``time``; the first at 0, the last beyond the end."""
        inner = self.breakpoints[1:-1] + SLIVER * self.depth
        return int(np.searchsorted(inner, time, side="left"))

    def index_after(self, time: float) -> int:
        """Index of the layer that acts from ``time`` on; the last one at the end and beyond."""
        inner = self.breakpoints[1:-1] - SLIVER * self.depth
        return int(np.searchsorted(inner, time, side="right"))

    def equation_before(self, time: float) -> MeanFieldEquation:
        """Equation that acts up to ``time``: at a breakpoint that of the layer that ends."""
        return self.equations[self.index_before(time)]

    def equation_after(self, time: float) -> MeanFieldEquation:
        """Equation that acts from ``time`` on: at a breakpoint that of the layer that begins."""
        return self.equations[self.index_after(time)]

    @property
    def sharpest(self) -> MeanFieldEquation:
        """The first of the equations of largest beta, which needs the finest grid."""
        return max(self.equations, key=lambda equation: equation.sharpness)

    @property
    def convention(self) -> str:
        """The kernel conventions of the layers in words."""
        return ", ".join(dict.fromkeys(e.convention for e in self.equations))

    def __repr__(self) -> str:
        drawn = "" if self.seed is None else f", seed {self.seed}"
        plural = "s" * (len(self) > 1)
        name = type(self).__name__
        return f"<{name}: {len(self)} layer{plural} of depth {self.depth:g}{drawn}>"


class DiscreteLayers(Layers):
    """A discrete network: layers of blocks, one after the other; its times count layers.

    Begin with ``DiscreteLayers.repeated([Block(Attention(5.0), step=0.2)], count=12)``.

    Its ``layers``, from the first to the last, are each a block, or blocks that follow each other.
    ``ValueError`` for none, a layer without blocks, something else, or blocks that live in
    different dimensions.
    """

    def __init__(
        self, layers: Iterable[Block | Sequence[Block] | LayerEquation]
    ) -> None:
        wanted = "blocks, or of lists of them"
        super().__init__(_read_layers(layers, _read_blocks, wanted))

    @classmethod
    def repeated(cls, blocks: Block | Sequence[Block], *, count: int) -> DiscreteLayers:
        """``count`` layers that are all the same, of one or several ``blocks``."""
        count = whole_number("count", count, at_least=1, at_most=MOST_LAYERS)
        return cls([LayerEquation(blocks)] * count)


Dynamics: TypeAlias = MeanFieldEquation | Layers
"""What a run can solve: one equation, or layers of several."""


@contextmanager
def _layer_named(index: int) -> Iterator[None]:
    """Let a ``ValueError`` name the layer."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"layers[{index}]: {error}") from error


def _read_layers(
    layers: Any, read_layer: Callable[[Any], Layer], wanted: str
) -> list[Layer]:
    if not isinstance(layers, Iterable):
        raise ValueError(f"layers = {shown(layers)} must be a list of {wanted}")
    found = []
    for index, layer in enumerate(layers):
        with _layer_named(index):
            found.append(read_layer(layer))
    return found


def _read_pair(pair: Any) -> Layer:
    if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
        raise ValueError(f"layer = {shown(pair)} must be a pair (equation, duration)")
    equation, duration = pair
    if not isinstance(equation, MeanFieldEquation):
        raise ValueError(
            f"equation = {shown(equation)} must be a MeanFieldEquation (a potential alone is "
            "one too: MeanFieldEquation(potential, direction=...))"
        )
    shortest = {"above": 0.0, "at_least": SHORTEST_TIME}
    return Layer(equation, real_number("duration", duration, **shortest))


def _read_blocks(layer: Any) -> Layer:
    return Layer(
        layer if isinstance(layer, LayerEquation) else LayerEquation(layer), 1.0
    )


def _check_dimensions(equations: Sequence[MeanFieldEquation]) -> None:
    """Raise ``ValueError`` unless all layers that name a dimension name the same."""
    firsts: dict[int | None, int] = {}
    for index, equation in enumerate(equations):
        for term in equation.terms:
            firsts.setdefault(getattr(term, "dimension", None), index)
    firsts.pop(None, None)
    if len(firsts) > 1:
        (known, first), (dimension, index), *_ = firsts.items()
        raise ValueError(
            f"layers[{index}] lives in dimension {dimension}, but layers[{first}] in "
            f"dimension {known}: all must have the same"
        )


def _check_normalizations(equations: Sequence[MeanFieldEquation]) -> None:
    """Raise ``ValueError`` unless all have that of the first, or go on with its radii."""
    first, *others = (equation.normalization for equation in equations)
    for index, other in enumerate(others, 1):
        alike = other
        if first is not None and other is not None and other.carries_radius:
            alike = replace(other, radius=first.radius)
        if alike != first:
            raise ValueError(
                f"layers[{index}] has the normalization {other!r}, layers[0] {first!r}: all "
                "must have the same, or after the first radius=None, to go on with its radii"
            )


def equations_of(dynamics: Dynamics) -> tuple[MeanFieldEquation, ...]:
    """Return the one equation, or those of the layers."""
    return dynamics.equations if isinstance(dynamics, Layers) else (dynamics,)


def largest_degree(dynamics: Dynamics, geometry: Geometry) -> int:
    """Return the largest degree of the interaction of an equation, or of layers."""
    degrees = [0]
    for_each_layer(dynamics, lambda layer: degrees.append(layer.on(geometry).degree))
    return max(degrees)


class Stage(NamedTuple):
    """A part of a run: the equation that acts in it, and the time at which it ends."""

    equation: MeanFieldEquation
    end: float


def stages_of(dynamics: Dynamics, start_time: float, t_end: float) -> tuple[Stage, ...]:
    """Return the parts of a run from ``start_time`` to ``t_end``: one for each layer."""
    if not isinstance(dynamics, Layers):
        return (Stage(dynamics, t_end),)
    breaks, tolerance = dynamics.breakpoints, SLIVER * dynamics.depth
    inside = breaks[(breaks > start_time + tolerance) & (breaks < t_end - tolerance)]
    ends = [*inside.tolist(), t_end]
    first = dynamics.index_after(start_time)
    return tuple(map(Stage, dynamics.equations[first : first + len(ends)], ends))


def checked_dynamics(dynamics: object) -> Dynamics:
    """Return an equation or layers; ``ValueError`` for anything else."""
    if not isinstance(dynamics, MeanFieldEquation | Layers):
        raise ValueError(
            f"equation = {shown(dynamics)} must be a MeanFieldEquation, Layers or DiscreteLayers"
        )
    return dynamics


def for_each_layer(
    dynamics: Dynamics, check: Callable[[MeanFieldEquation], object]
) -> None:
    """Call ``check`` with each equation; its ``ValueError`` is made to name the layer."""
    if not isinstance(dynamics, Layers):
        check(dynamics)
        return
    firsts: dict[MeanFieldEquation, int] = {}
    for index, equation in enumerate(dynamics.equations):
        firsts.setdefault(equation, index)
    for equation, index in firsts.items():
        with _layer_named(index):
            check(equation)
