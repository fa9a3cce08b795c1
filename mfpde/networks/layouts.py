"""Checkpoints as networks: which tensor of BERT, GPT-2 and LLaMA is which weight of a block."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mfpde.arrays import FloatArray, IntArray, choice, shown
from mfpde.networks.block import OUTER_NORMS, NetworkBlock
from mfpde.networks.safetensors import StoredTensor, find_tensors, read_json


class Layout(NamedTuple):
    """How tensors are named, after a ``prefix`` that some files have.

    Each module of a layer is a weight of a block; those ``outside`` are tokens, positions,
    segments and a norm.  ``options`` of a block hold where the configuration does not say.
    """

    kinds: str
    prefix: str
    outside: str
    layer: str
    modules: str
    norm: str
    options: dict[str, Any]
    turned: bool = False


BERT = Layout(
    "bert",
    "bert.",
    "embeddings.word_embeddings embeddings.position_embeddings "
    "embeddings.token_type_embeddings embeddings.LayerNorm",
    "encoder.layer",
    """attention.self.query q, attention.self.key k, attention.self.value v,
    attention.output.dense o, attention.output.LayerNorm gain1,
    intermediate.dense w1, output.dense w2, output.LayerNorm gain2""",
    "post",
    {"activation": "gelu", "eps": 1e-12},
)
GPT2 = Layout(
    "gpt2",
    "transformer.",
    "wte wpe - ln_f",
    "h",
    """ln_1 gain1, attn.c_attn q k v, attn.c_proj o,
    ln_2 gain2, mlp.c_fc w1, mlp.c_proj w2""",
    "pre",
    {"activation": "gelu_tanh", "eps": 1e-5, "causal": True},
    turned=True,
)
LLAMA = Layout(
    "llama mistral qwen2",
    "model.",
    "embed_tokens - - norm",
    "layers",
    """input_layernorm gain1, self_attn.q_proj q, self_attn.k_proj k, self_attn.v_proj v,
    self_attn.o_proj o, post_attention_layernorm gain2,
    mlp.gate_proj gate, mlp.up_proj w1, mlp.down_proj w2""",
    "pre",
    {"activation": "silu", "eps": 1e-6, "causal": True, "rms": True, "rope": 1e4},
)
BIASES = {"q": "bq", "k": "bk", "v": "bv", "o": "bo", "w1": "b1", "w2": "b2"}
BIASES |= {"gain1": "bias1", "gain2": "bias2"}
NO_BLOCKS = re.compile(
    r"(cls|lm_head|pooler)\..*|embeddings\.position_ids|h\.\d+\.attn\.(masked_)?bias|"
    r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq"
)
"""Heads, masks and counters, which are ignored."""
OPTIONS = {
    **dict.fromkeys(("num_attention_heads", "n_head"), "heads"),
    **dict.fromkeys(("hidden_act", "activation_function"), "activation"),
    **dict.fromkeys(("layer_norm_eps", "layer_norm_epsilon", "rms_norm_eps"), "eps"),
    "num_key_value_heads": "kv_heads",
    "rope_theta": "rope",
}
"""What a configuration says of blocks."""
ACTIVATIONS = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "swish": "silu",
}
KNOWN = {
    "position_embedding_type": "absolute",
    "rope_type": "default",
    "scale_attn_by_inverse_layer_idx": False,
    "scale_attn_weights": True,
    "rope_scaling": None,
    "sliding_window": None,
    "is_decoder": False,
}
"""What else changes the numbers: the values that are computed here."""


@dataclass(frozen=True, eq=False, repr=False)
class Embedding:
    """Vectors of ids (N,): rows of ``tokens`` (V, d) and ``positions`` (n, d), and ``shift`` (d,).

    Tables are arrays, or read their rows as arrays do.
    """

    tokens: FloatArray | StoredTensor
    positions: FloatArray | StoredTensor | None = None
    shift: FloatArray | float = 0.0

    def __call__(self, ids: IntArray) -> FloatArray:
        """Vectors (N, d); ``ValueError`` for an id or a length beyond the tables."""
        known, count = self.tokens.shape[0], len(ids)
        if count and not 0 <= ids.min() <= ids.max() < known:
            wrong = ids[(ids < 0) | (ids >= known)][0]
            raise ValueError(
                f"id {wrong} is none of the {known} tokens: 0 to {known - 1}"
            )
        vectors = self.tokens[ids] + self.shift
        if self.positions is not None:
            if count > (most := self.positions.shape[0]):
                raise ValueError(
                    f"{count} tokens, but the network has {most} positions"
                )
            vectors = vectors + self.positions[:count]
        return vectors


def read_network(path: Path, config: Any) -> dict[str, Any]:
    """The arguments of a :class:`Network` whose tensors are at ``path``."""
    stored = find_tensors(path)
    for layout in (BERT, GPT2, LLAMA):
        left = {_clean(name, layout.prefix): one for name, one in stored.items()}
        tokens, positions, segments, norm = layout.outside.split()
        if f"{tokens}.weight" in left:
            break
    else:
        raise ValueError(
            f"{path} has tensors of neither BERT, GPT-2 nor LLaMA: {shown(list(stored))}"
        )
    options = layout.options | _read_options(path, config, layout.kinds.split())
    for name in filter(NO_BLOCKS.fullmatch, list(left)):
        del left[name]
    blocks: list[NetworkBlock] = []
    while any(name.startswith(f"{layout.layer}.{len(blocks)}.") for name in left):
        blocks.append(_read_block(left, layout, len(blocks), options))
    embedding = Embedding(
        left.pop(f"{tokens}.weight"),
        left.pop(f"{positions}.weight", None),
        left.pop(f"{segments}.weight", [0.0])[0],
    )
    gain = _take(left, f"{norm}.weight")
    bias = _take(left, f"{norm}.bias") if f"{norm}.bias" in left else 0 * gain
    if left:
        raise ValueError(
            f"{path}: the tensor {min(left)} is no part of a network as {layout.kinds} has it"
        )
    end = {OUTER_NORMS[layout.norm]: (gain, bias)}
    return {"blocks": blocks, "norm": layout.norm, "embedding": embedding, **end}


def _clean(name: str, prefix: str) -> str:
    """A name without its prefix, and without the words of old files."""
    name = name.removeprefix(prefix).replace("LayerNorm.gamma", "LayerNorm.weight")
    return name.replace("LayerNorm.beta", "LayerNorm.bias")


def _take(left: dict[str, StoredTensor], name: str) -> FloatArray:
    if name not in left:
        raise ValueError(f"the tensor {name} is missing")
    return left.pop(name)[:]


def _read_block(
    left: dict[str, StoredTensor], layout: Layout, i: int, options: dict[str, Any]
) -> NetworkBlock:
    """The block of layer i, whose tensors are taken out of ``left``."""
    weights = dict(options)
    try:
        for module, *fields in map(str.split, layout.modules.split(",")):
            name = f"{layout.layer}.{i}.{module}"
            biases = [BIASES[field] for field in fields if field in BIASES]
            for suffix, parts in ((".weight", fields), (".bias", biases)):
                if suffix == ".weight" or (biases and name + suffix in left):
                    tensor = _take(left, name + suffix)
                    tensor = tensor.T if layout.turned else tensor
                    weights |= zip(parts, np.split(tensor, len(parts)), strict=True)
        return NetworkBlock(**weights)
    except ValueError as error:
        raise ValueError(f"layer {i}: {error}") from error


def _read_options(path: Path, config: Any, kinds: list[str]) -> dict[str, Any]:
    """What a configuration, or the file ``config.json``, says of all blocks."""
    if not isinstance(config, Mapping):
        folder = path if path.is_dir() else path.parent
        file = folder / "config.json" if config is None else Path(config)
        if not file.is_file():
            raise ValueError(
                f"config = {config!r}: there is no {str(file)!r}; give the path of config.json, "
                "or what it says, such as {'num_attention_heads': 12}"
            )
        config = read_json(file)
    found = {"model_type": kinds[0], **config, **(config.get("rope_parameters") or {})}
    if not found.get("use_sliding_window", True):
        found["sliding_window"] = None
    choice("model_type", found["model_type"], kinds)
    for name, value in KNOWN.items():
        if found.get(name, value) != value:
            raise ValueError(
                f"config: {name} = {shown(found[name])}, but only {value} is known"
            )
    options = {OPTIONS[name]: found[name] for name in found if name in OPTIONS}
    if "heads" not in options:
        raise ValueError("config: num_attention_heads (GPT-2: n_head) is missing")
    if "activation" in options:
        given = options["activation"]
        options["activation"] = ACTIVATIONS.get(given, given)
    return options
