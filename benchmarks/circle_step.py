"""Ratio of one complete time step on the circle to its bare planned FFT pairs.

Absolute times depend on the machine; the ratios, measured in one go, do much less.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

import mfpde
from mfpde.geometry.circle import planned_transform
from mfpde.transport import State, scheme_for


def seconds(function: Callable[[], object], repeats: int = 7) -> float:
    """Smallest mean time of a call over several rounds."""
    function()
    rounds = []
    for _ in range(repeats):
        calls, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < 0.05:
            function()
            calls += 1
        rounds.append((time.perf_counter() - begin) / calls)
    return min(rounds)


def main() -> None:
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(5.0),
        mfpde.Perceptron.random(2, 2, seed=777),
        direction="descent",
    )
    print(
        "   cells scheme          stages [us]  + control [us]   FFT pairs [us]   ratio"
    )
    for num_cells in (1024, 4096, 16384):
        circle = mfpde.Circle(num_cells)
        transform = planned_transform(num_cells, -1)

        def pair(transform: object = transform) -> None:
            transform.forward.execute()  # type: ignore[attr-defined]
            transform.backward.execute()  # type: ignore[attr-defined]

        bare = seconds(pair)
        for name in ("donor_blended",):
            scheme = scheme_for(name, circle)
            transport = scheme.transport(equation.on(circle))
            masses = mfpde.perturbed_uniform(circle, 0.3).masses.copy()
            state = State(masses, np.empty((0, 2)), np.empty(0))
            flow = transport.flow(state)
            stages = seconds(lambda: transport.advance(state, flow, 1e-4))  # noqa: B023
            whole = seconds(lambda: transport.step(state, 1e-4))  # noqa: B023
            pairs = (1 + len(transport.method_in_time.shares)) * bare
            print(
                f"{num_cells:8d} {name:15s} {1e6 * stages:11.1f} {1e6 * whole:15.1f} "
                f"{1e6 * pairs:16.1f} {whole / pairs:7.1f}"
            )


if __name__ == "__main__":
    main()
