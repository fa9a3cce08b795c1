"""Whether two commits compute the same, to the last bit.

    python benchmarks/same_bits.py COMMIT            # against the working tree
    python benchmarks/same_bits.py COMMIT OTHER

A run of each kind is computed with both, each in a process of its own on sources of its own:
circle, sphere and zonal grids, every scheme, exact atoms, refinement, diffusion, softmax, the
unshifted kernel, particles by each method, minimisers, maximisers, polished atoms, branches, all
verdict cases.  It prints the cases that differ; the exit code is 0 only if none does.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent.parent


def digest(*values: Any) -> str:
    """Return a digest of numbers, arrays and texts, to the bit."""
    made = hashlib.sha256()
    for value in values:
        if isinstance(value, str):
            made.update(value.encode())
        else:
            made.update(np.ascontiguousarray(np.asarray(value, dtype=float)).tobytes())
    return made.hexdigest()[:16]


def _of_run(run: Any) -> str:
    parts: list[Any] = [run.times, run.energies, run.reason]
    for state in run.states:
        if hasattr(state, "density"):
            parts += [state.density.values, state.atoms.points, state.atoms.masses]
        else:
            parts += [state.points, state.masses]
    return digest(*parts)


def cases() -> Iterator[tuple[str, Callable[[], str]]]:
    """Yield the names of all cases, and what computes their digests."""
    yield from _runs()
    yield from _particles()
    yield from _stationary()
    yield "verdict cases", _verdicts


def _runs() -> Iterator[tuple[str, Callable[[], str]]]:
    import mfpde

    grids = {
        "circle": mfpde.Circle(256),
        "sphere": mfpde.Sphere(32),
        "zonal": mfpde.Zonal(8, 128),
    }
    schemes = ("donor_blended", "muscl", "monotone", "semi_lagrangian")
    kinds: dict[str, dict[str, Any]] = {
        "": {},
        "softmax": {"normalized": True},
        "unshifted": {"kernel": "unshifted"},
        "diffusion": {"diffusion": 0.01},
        "exact atoms": {"atoms": "exact"},
        "refined": {"refine": True},
    }
    turns = ("ascent", "descent"), ("relu", "gelu"), schemes, kinds
    for place, direction, activation, scheme, kind in product(grids, *turns):
        if _is_computed(place, scheme, kind):
            name = f"{place} {direction} {activation} {scheme} {kind}"
            yield (
                name,
                _Solved(grids[place], direction, activation, scheme, kinds[kind]),
            )


def _is_computed(place: str, scheme: str, kind: str) -> bool:
    """Whether the package has it, and no other case says the same."""
    if place == "zonal" and kind in {"exact atoms", "refined"}:
        return False
    if place == "sphere" and scheme == "semi_lagrangian":
        return False
    return not (kind and scheme in {"muscl", "monotone"})


class _Solved:
    """A short run, and its digest when called."""

    def __init__(self, *given: Any) -> None:
        self.given = given

    def __call__(self) -> str:
        import mfpde

        grid, direction, activation, scheme, options = self.given
        options = dict(options)
        d = grid.dimension
        if isinstance(grid, mfpde.Zonal):
            neurons = mfpde.Perceptron([grid.axis, -grid.axis], [0.8, 0.5], activation)
        else:
            neurons = mfpde.Perceptron.random(3, d, seed=7, activation=activation)
        of_attention = {
            name: options.pop(name)
            for name in ("normalized", "kernel")
            if name in options
        }
        equation = mfpde.MeanFieldEquation(
            mfpde.Attention(5.0, **of_attention),
            neurons,
            direction=direction,
            diffusion=options.pop("diffusion", 0.0),
        )
        run = mfpde.solve(
            equation,
            mfpde.uniform(grid),
            t_end=6.0 if d == 2 else 2.0,
            save_every=1.0,
            transport=scheme,
            stop=mfpde.StepLimit(300),
            **options,
        )
        return _of_run(run)


def _particles() -> Iterator[tuple[str, Callable[[], str]]]:
    import mfpde

    def moved(dimension: int, options: dict[str, Any]) -> str:
        equation = mfpde.MeanFieldEquation(
            mfpde.Attention(5.0),
            mfpde.Perceptron.random(2, dimension, seed=3),
            direction="descent",
        )
        start = mfpde.sampled(mfpde.uniform(mfpde.Circle(64)), 200, 1)
        if dimension > 2:
            drawn = np.random.default_rng(1).standard_normal((100, dimension))
            drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
            start = mfpde.Atoms(drawn, np.full(100, 0.01))
        run = mfpde.solve_particles(
            equation, start, t_end=5.0, save_every=1.0, **options
        )
        return _of_run(run)

    for dimension in (2, 3, 5):
        for method in ("direct", "spectral") if dimension == 2 else ("direct",):
            name = f"particles d = {dimension} {method}"
            yield name, lambda d=dimension, m=method: moved(d, {"method": m})


def _stationary() -> Iterator[tuple[str, Callable[[], str]]]:
    import mfpde

    def equation(dimension: int, activation: str, direction: str) -> Any:
        return mfpde.MeanFieldEquation(
            mfpde.Attention(5.0),
            mfpde.Perceptron.random(3, dimension, seed=11, activation=activation),
            direction=direction,
        )

    def minimised(dimension: int, activation: str) -> str:
        grid = mfpde.Circle(128) if dimension == 2 else mfpde.Sphere(32)
        found = mfpde.minimize(equation(dimension, activation, "descent"), grid)
        return digest(found.energy, found.gap, found.kind, str(found))

    def maximised(dimension: int) -> str:
        found = mfpde.maximize(equation(dimension, "relu", "ascent"))
        return digest(str(found))

    def polished(dimension: int) -> str:
        points = np.eye(dimension)[:2]
        found = mfpde.polish(
            equation(dimension, "gelu", "descent"), mfpde.Atoms(points, [0.6, 0.4])
        )
        return digest(found.atoms.points, found.message)

    def followed(dimension: int) -> str:
        grid = mfpde.Circle(128) if dimension == 2 else mfpde.Sphere(32)
        found = mfpde.minimize(equation(dimension, "gelu", "descent"), grid)
        branch = mfpde.continuation(
            found.equation, found.measure, "beta", np.linspace(5.0, 6.0, 5)
        )
        return digest(str(branch))

    for dimension in (2, 3):
        for activation in ("relu", "gelu"):
            yield (
                f"minimize d = {dimension} {activation}",
                lambda d=dimension, a=activation: minimised(d, a),
            )
        yield f"maximize d = {dimension}", lambda d=dimension: maximised(d)
        yield f"polish d = {dimension}", lambda d=dimension: polished(d)
        yield f"continuation d = {dimension}", lambda d=dimension: followed(d)


def _verdicts() -> str:
    import mfpde
    from validation import verdict_beside_kinks, verdict_cases, verdict_second

    reports = []
    for module in (verdict_cases, verdict_second, verdict_beside_kinks):
        sizes = getattr(module, "SIZES", verdict_cases.SIZES)
        for case in module.CASES:
            if case.is_dear:
                continue
            measure, equation = case.situation(sizes[case.place][0])
            reports.append(str(mfpde.concentration(measure, equation)))
    return digest(*reports)


def computed() -> dict[str, str]:
    """Compute the digests of all cases; what one raises stands in their place."""
    found = {}
    warnings.simplefilter("ignore")
    for name, case in cases():
        try:
            found[name] = case()
        # A case that both commits refuse alike is the same too.
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"
        print(name, found[name], file=sys.stderr, flush=True)
    return found


def _of_commit(commit: str | None, folder: Path) -> dict[str, str]:
    """Run this file on the sources of a commit, or on the working tree."""
    sources = HERE
    if commit is not None:
        sources = folder / commit.replace("/", "_")
        subprocess.run(
            [
                "git",
                "-C",
                str(HERE),
                "worktree",
                "add",
                "--detach",
                str(sources),
                commit,
            ],
            check=True,
        )
    try:
        done = subprocess.run(
            [sys.executable, str(Path(__file__).resolve()), "--compute"],
            cwd=sources,
            env={**os.environ, "PYTHONPATH": str(sources)},
            stdout=subprocess.PIPE,
            check=True,
        )
    finally:
        if commit is not None:
            subprocess.run(
                ["git", "-C", str(HERE), "worktree", "remove", "--force", str(sources)],
                check=True,
            )
    return dict(json.loads(done.stdout))


def main() -> int:
    """Run the command; return 0 if no case differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("commits", nargs="*")
    parser.add_argument("--compute", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.compute:
        print(json.dumps(computed()))
        return 0
    before, after = (*given.commits, None)[:2]
    with tempfile.TemporaryDirectory() as folder:
        one, other = (_of_commit(commit, Path(folder)) for commit in (before, after))
    different = [name for name in one if one[name] != other.get(name)]
    for name in different:
        print(f"{name}: {one[name]} -> {other.get(name, 'gone')}")
    refused = sum(": " in value for value in other.values())
    print(f"{len(different)} of {len(one)} cases differ; {refused} are refused by both")
    return 1 if different else 0


if __name__ == "__main__":
    raise SystemExit(main())
