r"""A network of blocks, run exactly.

    norm = "pre"    u <- u + f(norm(u))              norm = "post"    u <- norm(u + f(u))

for attention and perceptron in turn, u the residual stream of a token.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import helmert

from mfpde.arrays import (
    FloatArray,
    check_entries,
    check_kind,
    choice,
    real_array,
    real_number,
    shown,
    whole_number,
)
from mfpde.networks.block import LARGEST, NetworkBlock, Norm, check_weights
from mfpde.networks.folding import fold_network
from mfpde.networks.ladder import Ladder, climb
from mfpde.networks.layouts import read_network
from mfpde.networks.trace import Steps, Trace, make_stream, measure_step
from mfpde.runs.layers import Layers

MOST_COPIES = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class Network:
    r"""A transformer, as it is computed.

    Begin with ``Network([NetworkBlock(*np.ones((6, 4, 4)), heads=2)], "pre")``.

    Parameters
    ----------
    blocks
        :class:`NetworkBlock` of one d and one kind of norm.
    norm
        ``"post"``: norms stand after residual sums (BERT); ``"pre"``: before sublayers.
    embedding
        Vectors of tokens (V, d), or a function of ids (N,) that returns vectors (N, d).
    embedding_norm, final_norm
        Gain and bias (d,) of a norm before all blocks (``"post"`` only; without, tokens enter
        as they are) and after them (``"pre"`` only).
    step
        Each sublayer sends x to N(x + step F(x)): 1 for the network itself.

    Raises
    ------
    ValueError
        For blocks that do not fit together, norms of another shape or at the wrong end.
    """

    blocks: Sequence[NetworkBlock]
    norm: str
    _: KW_ONLY
    embedding: Any = None
    embedding_norm: Norm | None = None
    final_norm: Norm | None = None
    step: float = 1.0

    def __post_init__(self) -> None:
        blocks = tuple(self.blocks) if isinstance(self.blocks, Iterable) else ()
        if not blocks or not all(isinstance(one, NetworkBlock) for one in blocks):
            given = f"blocks = {shown(self.blocks)}"
            raise ValueError(f"{given} must be a nonempty list of NetworkBlock")
        kinds = {(one.dimension, one.rms) for one in blocks}
        if len(kinds) > 1:
            raise ValueError(f"blocks have (d, rms) = {sorted(kinds)}: all need one")
        choice("norm", self.norm, ("post", "pre"))
        found: dict[str, Any] = {"blocks": blocks}
        for kind, name in (("post", "embedding_norm"), ("pre", "final_norm")):
            if (pair := getattr(self, name)) is not None:
                if self.norm != kind:
                    raise ValueError(f"{name} is for norm = {kind!r} only")
                found[name] = tuple(check_weights(name, pair, (2, blocks[0].dimension)))
        if self.embedding is not None and not callable(self.embedding):
            found["embedding"] = real_array("embedding", self.embedding).__getitem__
        found["step"] = real_number("step", self.step, above=0.0, at_most=LARGEST)
        for name, value in found.items():
            object.__setattr__(self, name, value)

    @classmethod
    def from_safetensors(cls, path: str | Path, config: Any = None) -> Network:
        """Read a network of the kind of BERT, GPT-2, or LLaMA, Mistral and Qwen2.

        Parameters
        ----------
        path
            A safetensors file, the index of several, or the folder with either.  Weights
            become float64 one at a time; the vectors of tokens stay in the file.
        config
            Path of ``config.json``, by default that beside the tensors; or what it says, such
            as ``{"num_attention_heads": 12}``.

        Raises
        ------
        ValueError
            For damaged files, a tensor that is missing or no part of such a network, and a
            configuration that is missing or asks for what is not known here.
        """
        if not isinstance(path, str | Path):
            raise ValueError(
                f"path = {shown(path)} must be the path of a file or folder"
            )
        return cls(**read_network(Path(path), config))

    @property
    def dimension(self) -> int:
        """Entries d of a token."""
        return self.blocks[0].dimension

    @property
    def norms_seen(self) -> list[tuple[Norm, Norm]]:
        """Gain and bias (d,) of what attention and perceptron of each layer see."""
        own = [block.norms for block in self.blocks]
        if self.norm == "pre":
            return own
        plain = np.ones(self.dimension), np.zeros(self.dimension)
        before = [self.embedding_norm or plain, *(second for _, second in own)]
        return [(last, first) for last, (first, _) in zip(before, own, strict=False)]

    def __repr__(self) -> str:
        return f"Network({len(self.blocks)} x {self.blocks[0]!r}, {self.norm!r})"

    def scaled(self, eps: float) -> Network:
        """The network whose sublayers go ``eps`` > 0 times as far: x -> N(x + eps F(x)).

        ``ValueError`` for another ``eps``.
        """
        factor = real_number("eps", eps, above=0.0, at_most=LARGEST)
        return replace(self, step=factor * self.step)

    def refined(self, m: int) -> Network:
        """The network with each block ``m`` times in turn, each going 1/m times as far.

        As m grows it becomes the flow of both sublayers at once, at order 1.  ``ValueError``
        unless ``m`` is a whole number from 1 to 10,000.
        """
        count = whole_number("m", m, at_least=1, at_most=MOST_COPIES)
        blocks: list[NetworkBlock] = []
        for block, ((gain, bias), _) in zip(self.blocks, self.norms_seen, strict=True):
            # What attention sees again has the gain and bias of what it saw first.
            is_post = self.norm == "post"
            again = replace(block, gain2=gain, bias2=bias) if is_post else block
            blocks += [again] * (count - 1) + [block]
        return replace(self, blocks=blocks, step=self.step / count)

    def run(self, ids_or_tokens: ArrayLike) -> Trace:
        """Run the network exactly, with the eps of its norms.

        Parameters
        ----------
        ids_or_tokens
            Whole numbers (N,), of which the embedding makes vectors; or vectors (N, d).

        Raises
        ------
        ValueError
            For ids without an embedding or beyond it, vectors of another d, and a token whose
            entries are all alike.
        """
        tokens = self._find_tokens(ids_or_tokens)
        is_post, step = self.norm == "post", self.step
        stream = make_stream(tokens, self.blocks[0], self.embedding_norm)
        ends, steps, looks = [(stream.x, stream.radii)], [], []
        for block in self.blocks:
            for norm, is_first in zip(block.norms, (True, False), strict=True):
                seen = stream.u if is_post else block.normalize(stream.u, norm)
                if is_first:
                    output, *look = block.attend(seen)
                    looks.append(look)
                else:
                    output = block.feed(seen)
                rest = stream.scale * stream.x if is_post else stream.u
                u = step * (stream.u + output) + (1 - step) * rest
                after = make_stream(u, block, norm if is_post else None)
                steps.append(measure_step(stream, step * output, after))
                stream = after
            ends.append((stream.x, stream.radii))
        last = stream.u
        if self.final_norm is not None:
            last = self.blocks[-1].normalize(last, self.final_norm)
        points, radii = map(np.stack, zip(*ends, strict=True))
        keys, sinks = map(np.stack, zip(*looks, strict=True))
        by_layer = np.stack(steps, axis=1).reshape(4, -1, 2, len(tokens))
        return Trace(points, radii, Steps(*by_layer), keys, sinks, last)

    @cached_property
    def basis(self) -> FloatArray:
        """Columns U (d, d') of coordinates ``points @ basis``, d' = d - 1 under LayerNorm."""
        d = self.dimension
        return np.eye(d) if self.blocks[0].rms else np.asarray(helmert(d).T)

    def layers(
        self,
        order: str = "parallel",
        time: str = "free radius",
        drop: str | Iterable[str] = (),
        *,
        radius: ArrayLike = 1.0,
        causal: bool = False,
    ) -> Layers:
        """The network as mean-field equations, in the coordinates of :attr:`basis`.

        ``solve_particles`` moves tokens by them in any dimension, ``solve`` densities where the
        sphere is S^1 or S^2: LayerNorm of d = 3 and 4, RMSNorm of d = 2 and 3.

        Parameters
        ----------
        order
            ``"parallel"``: attention and perceptron at once, for the time 1 a layer;
            ``"serial"``: one after the other, each for the time 1.
        time
            ``"free radius"``: u' = F(u / |u|), from |u| = 1 on in each layer of ``"post"``,
            carried from layer to layer in ``"pre"``; ``"unit"``: x' = P_x F(x) (``"post"``).
        drop
            What to leave out: ``"gain"``, the drift by gains that differ; ``"drift constants"``;
            ``"inner constants"``, all biases within sublayers.
        radius
            |P u| at the start of ``"pre"``: a number, or of each particle (N,).
        causal
            Whether blocks may be causal: their attention has ``positions=Causal()``, and moves
            :class:`PositionedAtoms` and, in the time ``"unit"``, a :class:`PositionedDensity`.

        Raises
        ------
        ValueError
            For a block that is causal unless that is said, has rope or a gate, gains of a mean
            that is not above 0, other words, and ``"unit"`` in ``"pre"``.
        """
        check_kind("causal", causal, bool, source="True or False")
        return fold_network(self, order, time, drop, radius, causal=causal)

    def ladder(
        self, ids_or_tokens: ArrayLike, rungs: Iterable[str] | None = None
    ) -> Ladder:
        """Compare the exact pass with its idealisations, layer by layer.

        Parameters
        ----------
        ids_or_tokens
            As in :meth:`run`; of ``"post"`` without an embedding's norm with the mean |P u|.
        rungs
            Some of :data:`mfpde.networks.ladder.RUNGS`; by default all that there are,
            ``"density"`` where the sphere is S^1 or S^2.

        Raises
        ------
        ValueError
            As for :meth:`run` and :meth:`layers`, and for a density elsewhere.
        """
        return climb(self, self._find_tokens(ids_or_tokens), rungs)

    def _find_tokens(self, given: ArrayLike) -> FloatArray:
        """Vectors (N, d) as they are given, or of ids."""
        name, d = "ids_or_tokens", self.dimension
        tokens = real_array(name, given)
        if tokens.ndim == 1 and self.embedding is not None:
            is_whole = (tokens == np.rint(tokens)) & (tokens >= 0)
            check_entries(name, tokens, is_whole, "must be a whole number, at least 0")
            try:
                vectors = self.embedding(tokens.astype(np.int64))
            except IndexError as error:
                raise ValueError(f"{name}, or their positions: {error}") from error
            tokens = real_array("embedding", vectors)
        if tokens.ndim != 2 or tokens.shape[1] != d or not len(tokens):
            ids = "ids (N,)" if self.embedding else "ids with Network(..., embedding=)"
            given = f"{name} of shape {tokens.shape}"
            raise ValueError(f"{given} must be (N, {d}), or {ids}")
        return check_weights(name, tokens, tokens.shape)
