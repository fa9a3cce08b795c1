"""Is a network with norms before its sublayers nearer to its flow?
===================================================================

Two encoders that differ in where their norms stand are trained on the spot, in numpy: they guess
hidden words of texts that follow one of three Markov chains.

With norms after the sums (post-LN) each sublayer starts from tokens of one length, and takes
steps as long at the end as at the beginning. With norms before the sublayers (pre-LN) the
residual stream gets longer along depth, so that steps |f| / |u| get shorter: its late layers
are pieces of a flow, its first ones are not. Each layer starts from the exact tokens here; how
far its flow misses the exact end is told as a share of how far tokens move.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.special import ndtr

import mfpde

WORDS, CHAINS, LENGTH = 12, 3, 24
WIDTH, HEADS, UNITS, LAYERS = 24, 3, 96, 6
FAITHFUL, HIDDEN = 0.95, 0.15
"""How often a word follows its chain, and how often one is hidden."""
EPS, RATE, TEXTS = 1e-5, 3e-3, 32
Array = np.ndarray
Back = Callable[[Array], Array]
"""From slopes by an output to those by its input; those by weights are kept on the way."""


def main(steps: int = 2000, texts: int = 8) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for norm in ("pre", "post"):
        rng = np.random.default_rng(0)
        chains = np.stack([rng.permutation(WORDS) for _ in range(CHAINS)])
        weights, loss = train(norm, chains, steps, rng)
        network = build_network(norm, weights)
        shown, _ = hide_words(draw_texts(chains, texts, rng), rng)
        traces = [network.run(text) for text in shown]
        sizes = np.mean([np.median(t.steps.total, axis=2) for t in traces], axis=0)
        missed = np.mean([miss_by_layer(network, trace) for trace in traces], axis=0)
        apart = np.abs(Pass(weights, norm).run(shown)[0][0] - traces[0].outputs).max()
        result[norm] = {"loss": loss, "sizes": sizes, "missed": missed, "apart": apart}
        print(f"{norm}-LN, loss {loss:.2f}: steps |f|/|u| and how far the flow misses")
        for layer in range(LAYERS):
            numbers = *sizes[layer], missed[layer]
            print(f"  layer {layer + 1}:", *(f"{x:.3f}" for x in numbers))
    result["figure"] = draw(result)
    return result


def miss_by_layer(network: mfpde.Network, trace: Any) -> Array:
    """Mean angle between exact tokens and the flow's after each layer, over that of the move."""
    shares = []
    for layer, block in enumerate(network.blocks):
        tokens, own = trace.points[layer] * np.sqrt(WIDTH), {}
        if network.norm == "pre":
            tokens = trace.points[layer] * trace.radii[layer][:, np.newaxis]
        else:
            own = {"embedding_norm": network.norms_seen[layer][0]}
        alone = mfpde.Network([block], network.norm, **own)
        ladder = alone.ladder(tokens, rungs=["exact", "serial flow"])
        moved = ladder.baselines["moved"].angle[1]
        shares.append(ladder.rungs["serial flow"].angle[1] / moved)
    return np.array(shares)


def draw(result: dict[str, Any]) -> Figure:
    figure = Figure(figsize=(8.0, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    layers = np.arange(1, LAYERS + 1)
    for norm, colour in (("pre", "tab:blue"), ("post", "tab:orange")):
        for column, (name, dashes) in enumerate((("attention", "-"), ("MLP", "--"))):
            sizes = result[norm]["sizes"][:, column]
            left.plot(layers, sizes, dashes, color=colour, label=f"{norm}-LN, {name}")
        right.plot(
            layers, result[norm]["missed"], "o-", color=colour, label=f"{norm}-LN"
        )
    left.set(xlabel="layer", ylabel="median of |f| / |u|", ylim=(0, None))
    right.set(xlabel="layer", ylabel="flow misses, share of the move", ylim=(0, None))
    for ax in (left, right):
        ax.legend()
    return figure


def draw_texts(chains: Array, count: int, rng: np.random.Generator) -> Array:
    """Texts (count, LENGTH), each of one chain."""
    texts = rng.integers(WORDS, size=(count, LENGTH))
    chain = rng.integers(CHAINS, size=count)
    follows = rng.random(texts.shape) < FAITHFUL
    for i in range(1, LENGTH):
        texts[follows[:, i], i] = chains[chain, texts[:, i - 1]][follows[:, i]]
    return texts


def hide_words(texts: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Texts with words that are hidden, written WORDS, and which are."""
    is_hidden = rng.random(texts.shape) < HIDDEN
    return np.where(is_hidden, WORDS, texts), is_hidden


def draw_weights(rng: np.random.Generator) -> dict[str, Array]:
    """Weights at the start, by name; numbers end a layer's."""
    found = {"words": (WORDS + 1, WIDTH), "places": (LENGTH, WIDTH)}
    for i in range(LAYERS):
        found |= {f"{name}{i}": (WIDTH, WIDTH) for name in ("q", "k", "v", "o")}
        found |= {f"up{i}": (UNITS, WIDTH), f"down{i}": (WIDTH, UNITS)}
    weights = {n: rng.normal(size=s) / np.sqrt(s[1]) for n, s in found.items()}
    for name in list(weights)[2:]:
        weights[f"bias {name}"] = np.zeros(len(weights[name]))
    for name in (
        "outer",
        *(f"{kind}{i}" for i in range(LAYERS) for kind in ("a", "m")),
    ):
        weights[f"gain {name}"] = np.ones(WIDTH)
        weights[f"shift {name}"] = np.zeros(WIDTH)
    return {name: array.astype(np.float32) for name, array in weights.items()}


def build_network(norm: str, weights: dict[str, Array]) -> mfpde.Network:
    """The network of trained weights."""
    w = {name: array.astype(float) for name, array in weights.items()}
    blocks = []
    for i in range(LAYERS):
        matrices = (w[f"{name}{i}"] for name in ("q", "k", "v", "o", "up", "down"))
        names = {"bq": "q", "bk": "k", "bv": "v", "bo": "o", "b1": "up", "b2": "down"}
        given = {short: w[f"bias {name}{i}"] for short, name in names.items()}
        given |= {"gain1": w[f"gain a{i}"], "bias1": w[f"shift a{i}"]}
        given |= {"gain2": w[f"gain m{i}"], "bias2": w[f"shift m{i}"]}
        blocks.append(mfpde.NetworkBlock(*matrices, heads=HEADS, eps=EPS, **given))
    outer = {
        f"{'final' if norm == 'pre' else 'embedding'}_norm": (
            w["gain outer"],
            w["shift outer"],
        )
    }
    return mfpde.Network(
        blocks, norm, embedding=lambda ids: w["words"][ids] + w["places"], **outer
    )


class Pass:
    """A pass through the network, and the way back; ``slopes`` are those by weights."""

    def __init__(self, weights: dict[str, Array], norm: str) -> None:
        self.weights, self.norm = weights, norm
        self.slopes: dict[str, Array] = {}

    def run(self, shown: Array) -> tuple[Array, list[Back]]:
        """What the network gives out (texts, LENGTH, WIDTH), and the ways back."""
        u, backs = self.weights["words"][shown] + self.weights["places"], []

        def normalize(name: str) -> None:
            nonlocal u
            u, back = self.normalize(u, name)
            backs.append(back)

        def add(name: str, seen: Array, before: Back) -> None:
            nonlocal u
            output, back = (self.attend if name[0] == "a" else self.feed)(
                seen, name[1:]
            )
            u = u + output
            backs.append(lambda slope: slope + before(back(slope)))

        if self.norm == "post":
            normalize("outer")
        for name in (f"{kind}{i}" for i in range(LAYERS) for kind in ("a", "m")):
            if self.norm == "pre":
                add(name, *self.normalize(u, name))
            else:
                add(name, u, lambda slope: slope)
                normalize(name)
        if self.norm == "pre":
            normalize("outer")
        return u, backs

    def learn(self, texts: Array, shown: Array, is_hidden: Array) -> float:
        """The mean of -log p of hidden words, and ``slopes``."""
        outputs, backs = self.run(shown)
        words = self.weights["words"]
        logits = outputs[is_hidden] @ words[:WORDS].T
        p = np.exp(logits - logits.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        right = np.arange(len(p)), texts[is_hidden]
        loss = -float(np.log(p[right]).mean())
        p[right] -= 1
        p /= len(p)
        slope, by_words = np.zeros_like(outputs), np.zeros_like(words)
        slope[is_hidden] = p @ words[:WORDS]
        by_words[:WORDS] = p.T @ outputs[is_hidden]
        for back in reversed(backs):
            slope = back(slope)
        np.add.at(by_words, shown, slope)
        self.slopes |= {"words": by_words, "places": slope.sum(axis=0)}
        return loss

    def apply(self, x: Array, name: str) -> tuple[Array, Back]:
        """A linear map with its bias."""
        matrix = self.weights[name]

        def back(slope: Array) -> Array:
            flat = slope.reshape(-1, len(matrix))
            self.slopes[name] = flat.T @ x.reshape(len(flat), -1)
            self.slopes[f"bias {name}"] = flat.sum(axis=0)
            return slope @ matrix

        return x @ matrix.T + self.weights[f"bias {name}"], back

    def normalize(self, u: Array, name: str) -> tuple[Array, Back]:
        """LayerNorm with its gain and bias."""
        centred = u - u.mean(axis=-1, keepdims=True)
        scale = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPS)
        n, gain = centred / scale, self.weights[f"gain {name}"]

        def back(slope: Array) -> Array:
            self.slopes[f"gain {name}"] = (slope * n).sum(axis=(0, 1))
            self.slopes[f"shift {name}"] = slope.sum(axis=(0, 1))
            d = slope * gain
            along = (d * n).mean(axis=-1, keepdims=True)
            return (d - d.mean(axis=-1, keepdims=True) - n * along) / scale

        return n * gain + self.weights[f"shift {name}"], back

    def attend(self, x: Array, layer: str) -> tuple[Array, Back]:
        """Attention of all heads of a ``layer``."""

        def split(rows: Array) -> Array:
            return rows.reshape(*rows.shape[:2], HEADS, -1).swapaxes(1, 2)

        def join(rows: Array) -> Array:
            return rows.swapaxes(1, 2).reshape(x.shape)

        maps = [self.apply(x, f"{name}{layer}") for name in ("q", "k", "v")]
        q, k, v = (split(found) for found, _ in maps)
        scale = np.float32((WIDTH // HEADS) ** -0.5)
        masses = np.exp(scale * q @ k.swapaxes(-1, -2))
        masses /= masses.sum(axis=-1, keepdims=True)
        output, out = self.apply(join(masses @ v), f"o{layer}")

        def back(slope: Array) -> Array:
            by_mean = split(out(slope))
            by_mass = by_mean @ v.swapaxes(-1, -2)
            by_mass = masses * (by_mass - (by_mass * masses).sum(-1, keepdims=True))
            turned = masses.swapaxes(-1, -2) @ by_mean
            by_logit = scale * by_mass
            slopes = by_logit @ k, by_logit.swapaxes(-1, -2) @ q, turned
            pairs = zip(maps, slopes, strict=True)
            return sum(inner(join(one)) for (_, inner), one in pairs)

        return output, back

    def feed(self, x: Array, layer: str) -> tuple[Array, Back]:
        """The perceptron of a ``layer``, GeLU by the normal distribution."""
        inner, up = self.apply(x, f"up{layer}")
        below = ndtr(inner)
        output, down = self.apply(inner * below, f"down{layer}")
        rise = below + inner * np.exp(-(inner**2) / 2) / np.float32(np.sqrt(2 * np.pi))
        return output, lambda slope: up(down(slope) * rise)


def train(
    norm: str, chains: Array, steps: int, rng: np.random.Generator
) -> tuple[dict[str, Array], float]:
    """Weights after ``steps`` of Adam, and the mean loss of the last tenth."""
    weights = draw_weights(rng)
    means = {name: np.zeros_like(array) for name, array in weights.items()}
    squares = {name: np.zeros_like(array) for name, array in weights.items()}
    losses = []
    for n in range(1, steps + 1):
        texts = draw_texts(chains, TEXTS, rng)
        one = Pass(weights, norm)
        losses.append(one.learn(texts, *hide_words(texts, rng)))
        rate = RATE * min(1.0, n / 300) * (1 - n / steps)
        for name, slope in one.slopes.items():
            means[name] += 0.1 * (slope - means[name])
            squares[name] += 0.02 * (slope**2 - squares[name])
            size = np.sqrt(squares[name] / (1 - 0.98**n)) + 1e-8
            weights[name] -= np.float32(rate / (1 - 0.9**n)) * means[name] / size
    return weights, float(np.mean(losses[-max(1, steps // 10) :]))


if __name__ == "__main__":
    main()["figure"].savefig("pre_or_post_norm.png", dpi=150)
