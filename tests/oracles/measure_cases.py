"""What is read off measures: verdicts of the corpora, and tracks of runs."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from equations import ascent, descent

import mfpde
from oracles.quantities import Case, Quantities, nudged, words_of
from oracles.run_cases import layers, neurons
from validation.verdict_cases import CORPORA


def verdict(situation: Any, size: int, nudge: float) -> Quantities:
    """Return the verdict on a case of a corpus, with masses, frozen mass and jumps."""
    measure, problem = situation(size)
    report = mfpde.concentration(measure, problem)
    masses = sorted((region.mass for region in report.clusters), reverse=True)
    return {
        "words": words_of(report),
        "masses": np.array(masses),
        "frozen mass": np.array(report.frozen_mass),
        "jumps": np.array(len(report.jumps) if report.place != "sphere" else -1),
    }


def tracked_run(
    problem: Any, grid: Any, options: dict[str, Any], nudge: float = 0.0
) -> mfpde.Run:
    """Solve from a perturbed uniform density, and track."""
    smooth = mfpde.perturbed_uniform(grid, 0.3, seed=4)
    start = mfpde.Density(grid, nudged(smooth.values, nudge)).normalized()
    is_layered = isinstance(problem, mfpde.Layers)
    end = float(problem.breakpoints[-1]) if is_layered else 10.0
    times = np.linspace(0.0, end, 13 if is_layered else 21)
    return mfpde.solve(
        problem, start, t_end=end, save_at=times, track=mfpde.Concentration(), **options
    )


def track(problem: Any, grid: Any, options: dict[str, Any], nudge: float) -> Quantities:
    """Return who is alive at which save of a run, and what became of whom."""
    run = tracked_run(problem, grid, options, nudge)
    alive = [
        " ".join(str(number) for number in sorted(run.track.seen[index].identities))
        for index in range(len(run.times))
    ]
    return {
        "alive": np.array("; ".join(alive)),
        "events": np.array("; ".join(event.kind for event in run.track.events)),
        "event times": np.array([event.time for event in run.track.events]),
        "masses": np.sort(run.track.seen[-1].masses),
    }


def _verdicts() -> list[Case]:
    cases = []
    for corpus, (those, sizes) in CORPORA.items():
        for case in those:
            for size in sizes[case.place][: 1 if case.is_dear else 2]:
                name = f"{corpus}: {case.name} ({case.place} {size})"
                cases.append(Case(name, partial(verdict, case.situation, size)))
    return cases


def random_layer(draws: np.random.Generator, index: int) -> mfpde.MeanFieldEquation:
    """Attention with three random neurons on the circle."""
    return ascent(7.0, neurons(2, seed=int(draws.integers(1000))))


def _tracked_runs() -> dict[str, tuple[Any, Any, dict[str, Any]]]:
    circle, sphere = mfpde.Circle(192), mfpde.Sphere(32)
    pull = ascent(9.0, normalized=True)
    driven = ascent(9.0, neurons(2, "gelu"), normalized=True)
    drawn = mfpde.Layers.random(random_layer, count=6, duration=1.5, seed=1)
    exact = {"atoms": "exact"}
    return {
        "circle softmax": (pull, circle, {}),
        "circle softmax exact": (pull, circle, exact),
        "circle neurons": (driven, circle, {}),
        "circle neurons exact": (driven, circle, exact),
        "circle descent": (descent(5.0, neurons(2)), circle, {}),
        "circle layers": (layers(2), circle, {}),
        "circle random layers": (drawn, circle, {}),
        "sphere softmax": (pull, sphere, {}),
        "sphere softmax exact": (pull, sphere, exact),
        "sphere layers": (layers(3), sphere, {}),
    }


TRACKED_RUNS = _tracked_runs()
"""Equation, grid and options of runs with a track."""
VERDICTS = _verdicts()
TRACKS = [
    Case(f"track {name}", partial(track, *given))
    for name, given in TRACKED_RUNS.items()
]
