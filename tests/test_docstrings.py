"""What the reference says to type first of a name works."""

from __future__ import annotations

import inspect
import pkgutil
import re

import numpy as np
import pytest
from documents import ROOT

import mfpde

TEXT = (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8")


def listed() -> dict[str, object]:
    """The names of the reference, and what they stand for."""
    found, module = {}, "mfpde"
    for line in TEXT.splitlines():
        if match := re.match(r"\.\. currentmodule:: (\S+)", line):
            module = match[1]
        elif match := re.match(r"   ([A-Za-z_.]+)$", line):
            found[match[1]] = pkgutil.resolve_name(f"{module}.{match[1]}")
    return found


REFERENCE = listed()
assert len(REFERENCE) > 100
NEURONS = mfpde.Perceptron([[1.0, 0.0], [0.6, 0.8]], [0.8, -0.5])
KNOWN = {
    **{name: getattr(mfpde, name) for name in mfpde.__all__},
    **{name: getattr(mfpde.theory, name) for name in mfpde.theory.__all__},
    "mfpde": mfpde,
    "np": np,
    "neurons": NEURONS,
    "attention": mfpde.Attention(5.0, normalized=True),
    "equation": mfpde.MeanFieldEquation(
        mfpde.Attention(5.0), NEURONS, direction="descent"
    ),
}


def begins(thing: object) -> list[str]:
    """Calls that a docstring says to begin with."""
    text = " ".join((inspect.getdoc(thing) or "").split())
    said = re.search(r"Begin with (``.*?``(?:, ``.*?``)*)\.", text)
    return re.findall(r"``(.*?)``", said[1]) if said else []


LONG = {"continuation", "convergence_to_atoms", "follow_minimizer"}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in LONG else [])
        for name in REFERENCE
        if begins(REFERENCE[name])
    ],
)
def test_what_one_begins_with_runs(name) -> None:
    *before, call = begins(REFERENCE[name])
    names = dict(KNOWN)
    for line in before:
        exec(line, names)
    assert eval(call, names) is not None
