"""A discrete network of 24 layers beside its flow
===============================================

On the circle: how a step of finite length grows modes, and how clusters form in layers.

Each layer is attention, then a perceptron: x <- (x + step m(x)) / |.|, twice.  As steps tend to
0 it is the flow of both together, to the time of the number of layers times the step.  About the
uniform density a mode l grows by 1 + step g_l / (1 + step c) a layer, by exp(step g_l) in the
flow: tokens get longer by step c before they are scaled back, which holds long steps back.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

import mfpde
from mfpde import theory

LAYERS, STEP, BETA = 24, 0.5, 5.0
MODES = (1, 2, 4)
STEPS = np.geomspace(0.1, 5.0, 9)
SOFTMAX = mfpde.Attention(BETA, normalized=True)
NEURONS = mfpde.Perceptron([[1.0, 0.4], [-0.7, 1.0]], [0.4, 0.3], "gelu")


def main(num_cells: int = 512) -> dict[str, Any]:
    start = mfpde.perturbed_uniform(mfpde.Circle(num_cells), 0.1, seed=3)
    blocks = [mfpde.Block(term, step=STEP) for term in (SOFTMAX, NEURONS)]
    network = mfpde.DiscreteLayers.repeated(blocks, count=LAYERS)
    run = mfpde.solve(network, start)
    equation = mfpde.MeanFieldEquation(SOFTMAX, NEURONS, direction="ascent")
    flow = mfpde.solve(equation, start, t_end=LAYERS * STEP, save_every=STEP)
    measured = np.array([[measure_growth(l, step) for step in STEPS] for l in MODES])
    worst = np.abs(
        measured / np.array([known_growth(l, STEPS) for l in MODES]) - 1
    ).max()
    apart = mfpde.wasserstein(run.final, flow.final)
    print(run)
    print(f"growth of modes: {worst:.1e} beside the formula; {apart:.3f} from the flow")
    figure = drawn(run, flow, measured)
    return {"growth_error": worst, "apart": apart, "figure": figure}


def known_growth(mode: int, steps: np.ndarray) -> np.ndarray:
    """1 + step g_l / (1 + step c), c = lambda_1 / lambda_0 of softmax."""
    rate = growth_rate(mode)
    zeroth, first = theory.eigenvalues(BETA, 2, [0, 1])
    return 1 + steps * rate / (1 + steps * first / zeroth)


def growth_rate(mode: int) -> float:
    """The rate g_l of the flow."""
    options = {"direction": "ascent", "normalized": True}
    return float(theory.growth_rates(BETA, 2, [mode], **options)[0])


def measure_growth(mode: int, step: float) -> float:
    """Growth of a wave of 1e-4 in one layer."""
    circle = mfpde.Circle(512)
    wave = np.cos(mode * circle.angles)
    start = mfpde.Density(circle, (1 + 1e-4 * wave) / (2 * np.pi))
    layer = mfpde.DiscreteLayers([mfpde.Block(SOFTMAX, step=step)])
    final = mfpde.solve(layer, start).final
    return float(final.density.masses @ wave / (start.masses @ wave))


def drawn(run: mfpde.Run, flow: mfpde.Run, measured: np.ndarray) -> Figure:
    """Growth a layer against the step, and both densities over the angle."""
    figure = Figure(figsize=(10.0, 3.3), layout="constrained")
    left, middle, right = figure.subplots(1, 3)
    fine = np.geomspace(STEPS[0], STEPS[-1], 200)
    for index, (mode, points) in enumerate(zip(MODES, measured, strict=True)):
        color = f"C{index}"
        left.plot(fine, known_growth(mode, fine), color, label=f"l = {mode}")
        left.plot(fine, np.exp(growth_rate(mode) * fine), color, ls=":")
        left.plot(STEPS, points, color, ls="", marker="o", ms=4)
    left.set(xscale="log", ylim=(1.0, 4.0))
    left.set(xlabel="step", ylabel="growth a layer (dotted: the flow)")
    left.legend()
    mfpde.plot_space_time(run, ax=middle)
    mfpde.plot_space_time(flow, ax=right)
    middle.set(xlabel=f"layer, of step {STEP:g}")
    right.set(xlabel="time t of the flow")
    return figure


if __name__ == "__main__":
    figure = main()["figure"]
    mfpde.save_figure(figure, "results/discrete_network_of_24_layers.pdf")
