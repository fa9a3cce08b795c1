"""Checkpoints as networks: which tensor of BERT, GPT-2 and LLaMA is which weight of a block.

Tensors are in memory one at a time; a large network is several .safetensors files and an index.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mfpde.arrays import FloatArray, IntArray, choice, shown
from mfpde.networks.block import NetworkBlock
from mfpde.terms.array_files import StoredTensor, read_tensors

TABLE = """
model_type bert                             gpt2                llama,mistral,qwen2
prefix     bert.                            transformer.        model.
tokens     embeddings.word_embeddings       wte                 embed_tokens
positions  embeddings.position_embeddings   wpe                 -
segments   embeddings.token_type_embeddings -                   -
norm       embeddings.LayerNorm             ln_f                norm
layer      encoder.layer                    h                   layers
q          attention.self.query             attn.c_attn         self_attn.q_proj
k          attention.self.key               attn.c_attn         self_attn.k_proj
v          attention.self.value             attn.c_attn         self_attn.v_proj
o          attention.output.dense           attn.c_proj         self_attn.o_proj
gain1      attention.output.LayerNorm       ln_1                input_layernorm
gate       -                                -                   mlp.gate_proj
w1         intermediate.dense               mlp.c_fc            mlp.up_proj
w2         output.dense                     mlp.c_proj          mlp.down_proj
gain2      output.LayerNorm                 ln_2                post_attention_layernorm
heads      num_attention_heads              n_head              num_attention_heads
kv_heads   -                                -                   num_key_value_heads
activation hidden_act                       activation_function hidden_act
eps        layer_norm_eps                   layer_norm_epsilon  rms_norm_eps
rope       -                                -                   rope_theta
"""
"""Names of tensors after a prefix that some files have, and in a configuration from heads on."""
ROLES, *COLUMNS = zip(*map(str.split, TABLE.strip().splitlines()), strict=True)
WEIGHTS = ROLES[ROLES.index("q") : ROLES.index("heads")]
"""What a layer holds of a block."""
SETTINGS = ROLES[ROLES.index("heads") :]
TABLES = "tokens", "positions", "segments"
BERT, GPT2, LLAMA = (dict(zip(ROLES, names, strict=True)) for names in COLUMNS)
BIASES = {"q": "bq", "k": "bk", "v": "bv", "o": "bo", "w1": "b1", "w2": "b2"}
BIASES |= {"gain1": "bias1", "gain2": "bias2"}
NO_BLOCKS = re.compile(
    r"(cls|lm_head|pooler)\..*|embeddings\.position_ids|h\.\d+\.attn\.(masked_)?bias|"
    r"layers\.\d+\.self_attn\.rotary_emb\.inv_freq"
)
"""Heads, masks and counters, which are ignored."""
DEFAULTS: dict[str, dict[str, Any]] = {
    "bert": {"activation": "gelu", "eps": 1e-12},
    "gpt2": {"activation": "gelu_new", "eps": 1e-5},
    "llama": {"activation": "silu", "eps": 1e-6, "rope": 1e4},
}
"""Where a configuration says nothing."""
ACTIVATIONS = dict.fromkeys(("gelu_new", "gelu_pytorch_tanh"), "gelu_tanh")
KNOWN = {
    "position_embedding_type": "absolute",
    "rope_type": "default",
    "scale_attn_by_inverse_layer_idx": False,
    "scale_attn_weights": True,
    "rope_scaling": None,
    "sliding_window": None,
    "is_decoder": False,
}
"""What else changes numbers, as it is computed here."""
NAMES = ("model.safetensors", "model.safetensors.index.json")


def read_json(path: Path) -> dict[str, Any]:
    """What a file in JSON says; ``ValueError`` if it is none, or has no names."""
    try:
        return {**json.loads(path.read_bytes())}
    except (TypeError, ValueError, OSError) as error:
        raise ValueError(f"{path} cannot be read: {error}") from error


def find_tensors(path: Path) -> dict[str, StoredTensor]:
    """The tensors of a file, of the files of an index, or of a folder with either."""
    if path.is_dir():
        path = next((path / name for name in NAMES if (path / name).is_file()), path)
    if not path.is_file():
        raise ValueError(f"path = {str(path)!r} must be, or hold, {' or '.join(NAMES)}")
    files = {path}
    if path.suffix == ".json":
        index = read_json(path).get("weight_map")
        if not isinstance(index, dict):
            raise ValueError(f"path = {str(path)!r} has no weight_map: it is no index")
        files = {path.with_name(str(name)) for name in index.values()}
    found: dict[str, StoredTensor] = {}
    for file in sorted(files):
        try:
            found |= read_tensors(file)
        except (KeyError, TypeError, ValueError, OSError, RecursionError) as error:
            wrong = f"{file} is damaged, or not in this format"
            raise ValueError(f"{wrong}: {error}") from error
    return found


def read_network(path: Path, config: Any) -> dict[str, Any]:
    """The arguments of a :class:`Network` whose tensors are at ``path``."""
    stored = find_tensors(path)
    for layout in (BERT, GPT2, LLAMA):
        left = {_clean(name, layout["prefix"]): one for name, one in stored.items()}
        if f"{layout['tokens']}.weight" in left:
            break
    else:
        names = shown(sorted(stored))
        raise ValueError(
            f"{path} is laid out as neither BERT, GPT-2 nor LLaMA: {names}"
        )
    options = _read_options(path, config, layout)
    options |= {"causal": layout is not BERT, "rms": layout is LLAMA}
    for name in filter(NO_BLOCKS.fullmatch, list(left)):
        del left[name]
    blocks: list[NetworkBlock] = []
    while any(name.startswith(f"{layout['layer']}.{len(blocks)}.") for name in left):
        blocks.append(_read_block(left, layout, len(blocks), options))
    held = {role: f"{layout[role]}.weight" for role in TABLES}
    tables = {role: left.pop(name) for role, name in held.items() if name in left}
    gain = _take(left, f"{layout['norm']}.weight")
    bias = left.pop(f"{layout['norm']}.bias", 0 * gain)[:]
    if left:
        raise ValueError(f"{path}: the tensor {min(left)} is no part of such a network")
    norm, end = ("post", "embedding_norm") if layout is BERT else ("pre", "final_norm")
    found = {"embedding": partial(_embed, tables), end: (gain, bias)}
    return {"blocks": blocks, "norm": norm, **found}


def _embed(tables: dict[str, StoredTensor], ids: IntArray) -> FloatArray:
    """Vectors (N, d): rows of tables of tokens (V, d), of positions (n, d), the first segment."""
    rows = dict(zip(TABLES, (ids, np.arange(len(ids)), 0 * ids), strict=True))
    parts = [table[rows[role]] for role, table in tables.items()]
    return np.asarray(np.sum(parts, axis=0))


def _clean(name: str, prefix: str) -> str:
    """A name without its prefix, and without the words of old files."""
    name = name.removeprefix(prefix).replace("LayerNorm.gamma", "LayerNorm.weight")
    return name.replace("LayerNorm.beta", "LayerNorm.bias")


def _take(left: dict[str, StoredTensor], name: str) -> FloatArray:
    if name not in left:
        raise ValueError(f"the tensor {name} is missing")
    return left.pop(name)[:]


def _read_block(
    left: dict[str, StoredTensor],
    layout: dict[str, str],
    number: int,
    options: dict[str, Any],
) -> NetworkBlock:
    """The block of a layer, whose tensors are taken out of ``left``."""
    weights, modules = dict(options), dict[str, list[str]]()
    for role in WEIGHTS:
        modules[layout[role]] = [*modules.get(layout[role], []), role]
    modules.pop("-", None)
    try:
        for module, roles in modules.items():
            name = f"{layout['layer']}.{number}.{module}"
            biases = [BIASES[role] for role in roles if role in BIASES]
            for suffix, parts in (("weight", roles), ("bias", biases)):
                if suffix == "weight" or (parts and f"{name}.bias" in left):
                    tensor = _take(left, f"{name}.{suffix}")
                    tensor = tensor.T if layout is GPT2 else tensor
                    weights |= zip(parts, np.split(tensor, len(parts)), strict=True)
        return NetworkBlock(**weights)
    except ValueError as error:
        raise ValueError(f"layer {number}: {error}") from error


def _read_options(path: Path, config: Any, layout: dict[str, str]) -> dict[str, Any]:
    """What a configuration, or the file ``config.json``, says of all blocks."""
    if not isinstance(config, Mapping):
        beside = (path if path.is_dir() else path.parent) / "config.json"
        file = beside if config is None else config
        if not isinstance(file, str | Path) or not Path(file).is_file():
            raise ValueError(
                f"config = {shown(config)}: there is no {str(file)!r}; give the path of "
                "config.json, or what it says, such as {'num_attention_heads': 12}"
            )
        config = read_json(Path(file))
    kinds = layout["model_type"].split(",")
    found = {"model_type": kinds[0], **config, **(config.get("rope_parameters") or {})}
    if not found.get("use_sliding_window", True):
        found["sliding_window"] = None
    choice("model_type", found["model_type"], kinds)
    for name, value in KNOWN.items():
        if found.get(name, value) != value:
            wrong = f"config: {name} = {shown(found[name])}"
            raise ValueError(f"{wrong}, but only {value} is known")
    given = {role: found[layout[role]] for role in SETTINGS if layout[role] in found}
    options = DEFAULTS[kinds[0]] | given
    if "heads" not in options:
        raise ValueError(f"config: {layout['heads']} is missing")
    activation = options["activation"]
    return options | {"activation": ACTIVATIONS.get(activation, activation)}
