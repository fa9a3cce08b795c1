r"""A network of blocks, run exactly: the residual stream u of each token, and where it points.

    norm = "pre"    u <- u + f(norm(u))              norm = "post"    u <- norm(u + f(u))

for attention and perceptron in turn.  Seen on the sphere, x = N(P u), a sublayer sends x to
N(x + F(x)), F = P (u + f) / s - x, with s = |P u| ("pre"), or sqrt(d) times the mean gain of the
norm that made u ("post": F holds what the gains deviate from it, and the biases).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mfpde.arrays import (
    FloatArray,
    check_entries,
    choice,
    real_array,
    real_number,
    shown,
    whole_number,
)
from mfpde.geometry.arcs import distances
from mfpde.networks.block import LARGEST, OUTER_NORMS, NetworkBlock, Norm, check_weights
from mfpde.networks.layouts import Embedding, read_network
from mfpde.notebook import Printed, format_table

MOST_COPIES = 10_000


class Steps(NamedTuple):
    """How far sublayers take tokens, (layers, 2, N), attention first.

    ``total`` is |f| / |u|, ``tangential`` |P_x F|, ``radial`` x.F, and ``rotation`` the angle
    (radians) between x before and after.
    """

    total: FloatArray
    tangential: FloatArray
    radial: FloatArray
    rotation: FloatArray


@dataclass(frozen=True, eq=False, repr=False)
class Trace(Printed):
    """What a network did to N tokens; printed, medians of each layer.

    Attributes
    ----------
    points, radii
        N(P u) (layers + 1, N, d) and |P u| (layers + 1, N), at the start and after each layer,
        before gain and bias.
    steps
        ``total``, ``tangential``, ``radial``, ``rotation`` of each sublayer; :class:`Steps`.
    effective_keys, sinks
        Of attention, how many tokens each looks at, e^entropy (layers, H, N), and the mean mass
        on the first token (layers, H).
    outputs
        What the network gives out (N, d), after the last gain and bias.
    """

    points: FloatArray
    radii: FloatArray
    steps: Steps
    effective_keys: FloatArray
    sinks: FloatArray
    outputs: FloatArray

    def __str__(self) -> str:
        sizes, turns = np.median([self.steps.total, self.steps.rotation], axis=-1)
        columns = {
            "layer": np.arange(1, len(self.points)),
            "attention |f|/|u|": sizes[:, 0],
            "perceptron |f|/|u|": sizes[:, 1],
            "attention turns by": turns[:, 0],
            "perceptron turns by": turns[:, 1],
            "effective keys": np.median(self.effective_keys, axis=(1, 2)),
            "largest sink": self.sinks.max(axis=1),
        }
        table = format_table(list(columns), zip(*columns.values(), strict=True))
        layers, tokens, d = self.points.shape
        return f"{tokens} tokens in {layers - 1} layers, d = {d}\n{table}"


class Stream(NamedTuple):
    """Tokens between two sublayers: u (N, d), the x and |P u| that it had before a norm, and s."""

    u: FloatArray
    x: FloatArray
    radii: FloatArray
    scale: FloatArray


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
            given = shown(self.blocks)
            raise ValueError(
                f"blocks = {given} must be a nonempty list of NetworkBlock"
            )
        kinds = {(one.dimension, one.rms) for one in blocks}
        if len(kinds) > 1:
            raise ValueError(f"blocks have (d, rms) = {sorted(kinds)}: all need one")
        choice("norm", self.norm, ("post", "pre"))
        found: dict[str, Any] = {"blocks": blocks}
        for kind, name in OUTER_NORMS.items():
            if (pair := getattr(self, name)) is not None:
                if self.norm != kind:
                    raise ValueError(f"{name} is for norm = {kind!r} only")
                found[name] = tuple(check_weights(name, pair, (2, blocks[0].dimension)))
        if self.embedding is not None and not callable(self.embedding):
            found["embedding"] = Embedding(real_array("embedding", self.embedding))
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
        stream = _stand(tokens, self.blocks[0], self.embedding_norm)
        streams, steps, looks, sinks = [stream], [], [], []
        for block in self.blocks:
            first, second = block.norms
            output, keys, sink = block.attend(self._see(stream, block, first))
            middle = self._advance(stream, output, block, first)
            steps.append(_measure_step(stream, self.step * output, middle))
            output = block.feed(self._see(middle, block, second))
            stream = self._advance(middle, output, block, second)
            steps.append(_measure_step(middle, self.step * output, stream))
            streams.append(stream)
            looks.append(keys)
            sinks.append(sink)
        outputs = stream.u
        if self.final_norm is not None:
            outputs = self.blocks[-1].normalize(outputs, self.final_norm)
        by_layer = np.reshape(steps, (len(self.blocks), 2, 4, len(tokens)))
        return Trace(
            points=np.stack([one.x for one in streams]),
            radii=np.stack([one.radii for one in streams]),
            steps=Steps(*np.moveaxis(by_layer, 2, 0)),
            effective_keys=np.stack(looks),
            sinks=np.stack(sinks),
            outputs=outputs,
        )

    def _find_tokens(self, given: ArrayLike) -> FloatArray:
        """Vectors (N, d) as they are given, or of ids."""
        name, d = "ids_or_tokens", self.dimension
        tokens = real_array(name, given)
        if tokens.ndim == 1 and self.embedding is not None:
            is_whole = tokens == np.rint(tokens)
            check_entries(name, tokens, is_whole, "must be a whole number")
            tokens = real_array("embedding", self.embedding(tokens.astype(np.int64)))
        if tokens.ndim != 2 or tokens.shape[1] != d or not len(tokens):
            ids = "ids (N,)" if self.embedding else "ids with Network(..., embedding=)"
            raise ValueError(
                f"{name} of shape {tokens.shape} must be (N, {d}), or {ids}"
            )
        return check_weights(name, tokens, tokens.shape)

    def _see(self, stream: Stream, block: NetworkBlock, norm: Norm) -> FloatArray:
        """What a sublayer sees of the stream."""
        return stream.u if self.norm == "post" else block.normalize(stream.u, norm)

    def _advance(
        self, stream: Stream, output: FloatArray, block: NetworkBlock, norm: Norm
    ) -> Stream:
        """The stream after a sublayer."""
        is_post = self.norm == "post"
        rest = stream.scale * stream.x if is_post else stream.u
        u = self.step * (stream.u + output) + (1 - self.step) * rest
        return _stand(u, block, norm if is_post else None)


def _stand(u: FloatArray, block: NetworkBlock, norm: Norm | None) -> Stream:
    """The stream ``u``, or what a norm makes of it."""
    centred = block.center(u)
    radii = np.linalg.norm(centred, axis=1)
    if not radii.all():
        raise ValueError(
            f"token {int(np.argmin(radii))} has no direction: its entries are all alike, of "
            "which the norm leaves nothing"
        )
    x = centred / radii[:, np.newaxis]
    if norm is None:
        return Stream(u, x, radii, radii[:, np.newaxis])
    scale = np.sqrt(u.shape[1]) * norm[0].mean(keepdims=True)
    return Stream(block.normalize(u, norm), x, radii, scale)


def _measure_step(before: Stream, output: FloatArray, after: Stream) -> FloatArray:
    """|f| / |u|, |P_x F|, x.F and the angle of a sublayer, (4, N)."""
    x, moved = before.x, after.radii[:, np.newaxis] * after.x / before.scale - before.x
    radial = (x * moved).sum(axis=1)
    tangential = np.linalg.norm(moved - radial[:, np.newaxis] * x, axis=1)
    size = np.linalg.norm(output, axis=1) / np.linalg.norm(before.u, axis=1)
    return np.stack([size, tangential, radial, distances(x, after.x)])
