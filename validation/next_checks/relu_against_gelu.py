r"""ReLU against GeLU: the same directions and weights, what differs and what does not.

Both primitives have the even part z^2 / 4 (up to a constant), so that the two potentials have
the same even part; they differ in the odd part, which is smooth for GeLU and has a jump in
its second derivative for ReLU.  Hence

* V_relu(x) + V_relu(-x) = V_gelu(x) + V_gelu(-x) for every perceptron without biases;
* from the uniform density, moments of the GeLU flow fall geometrically in their order, those
  of the ReLU flow like a power: the derivative of the velocity jumps where a neuron switches,
  and the density with it (order k^{-1} where the switch rests, k^{-2} where mass flows through);
* the atoms that form differ in number and mass.
"""

from __future__ import annotations

import numpy as np

import mfpde
from mfpde.plotting.palette import OKABE_ITO
from validation.charts import log_log, panels, rate_line, show_legend
from validation.circle_cases import angles_of, points_at
from validation.claim import Claim, Findings, at_least, equal, vanishes
from validation.next_checks.runs import (
    PAPER_SEED,
    QUICK,
    Array,
    Setting,
    counts_and_masses,
    seeds,
)
from validation.rates import order

CLAIM = Claim(
    "ReLU against GeLU at the same weights",
    "eq. (2.6); Theorems 3.1 and 3.2; Figures 5 and 6",
    "The two potentials have the same even part. From the uniform density the GeLU flow "
    "stays analytic (moments fall geometrically), the ReLU flow does not (they fall like a "
    "power between -1 and -2); the atoms that form differ in number for some seeds, for "
    "density and particles alike.",
)
EARLY = 2.0
DEGREES = np.arange(1, 129)
GEOMETRIC = 8.0
ACTIVATIONS = ("relu", "gelu")


@CLAIM
def main(quick: bool = False) -> Findings:
    """Even parts, moments, atoms."""
    chosen, sizes = seeds(quick), QUICK if quick else {}
    name = f"{len(chosen)} seeds: "
    text = f"{name}even parts of the potentials, largest difference"
    even = [even_difference(seed) for seed in chosen]
    yield vanishes(text, even, 1e-14, subject="formula")
    relu, gelu = (moments(activation, quick) for activation in ACTIVATIONS)
    setting = "seed 777, β = 5, t = 2"
    text = f"{setting}: GeLU, power of the moments in the last octave (to 128)"
    power = order(*(values[-2:] for values in envelope(gelu)))
    yield at_least(text, power, GEOMETRIC)
    # A switch at rest leaves a jump, k^-1, one that mass flows through a kink, k^-2.
    text = f"{setting}: ReLU, power of the moments, between 1 and 2"
    yield equal(text, order(*envelope(relu)), 1.5, 0.5)
    counts = [
        counts_and_masses(Setting(s, activation=name, **sizes) for s in chosen)[0]
        for name in ACTIVATIONS
    ]
    differ = (counts[0] != counts[1]).sum(axis=1)
    text = (
        f"{name}those whose ReLU and GeLU counts differ, that of the particles expected"
    )
    yield equal(text, *differ, 0.0)
    yield "relu_against_gelu", figure(relu, gelu)


def even_difference(seed: int) -> float:
    """Largest difference of V(x) + V(-x) between the activations, at 360 points."""
    points = points_at(np.linspace(0, 2 * np.pi, 360))
    neurons = [Setting(seed, activation=name).perceptron for name in ACTIVATIONS]
    one, other = (both.value(points) + both.value(-points) for both in neurons)
    return float(np.abs(one - other).max())


def moments(activation: str, quick: bool) -> Array:
    """|mu_k|, k = 1..128, of weighted labels at t = 2, beta = 5, seed 777."""
    labels, time_step = (1024, 0.1) if quick else (4096, 0.02)
    run = mfpde.solve_particles(
        Setting(PAPER_SEED, 5.0, activation).equation,
        mfpde.uniform(mfpde.Circle(labels)),
        t_end=EARLY,
        method="labels",
        time_step=time_step,
    )
    waves = np.exp(-1j * np.outer(DEGREES, angles_of(run.final.points)))
    return np.abs(waves @ run.final.masses)


def envelope(values: Array) -> tuple[Array, Array]:
    """Geometric centres and largest values of octaves from k = 8 on."""
    edges = 2 ** np.arange(3, 8)
    tops = [values[a - 1 : 2 * a - 1].max() for a in edges]
    return edges * np.sqrt(2), np.array(tops)


def figure(relu: Array, gelu: Array) -> object:
    """Moments over their order."""
    drawn, (ax,) = panels(1, width=5)
    curves = {"ReLU": (DEGREES, relu), "GeLU": (DEGREES, np.maximum(gelu, 1e-17))}
    log_log(ax, curves, xlabel="order k", ylabel="|μ_k| at t = 2")
    # Blue and vermilion are the density's and the particles' elsewhere.
    for line, name in zip(ax.lines, ("green", "orange"), strict=True):
        line.set(color=OKABE_ITO[name], markersize=2.0)
    rate_line(ax, [8, 128], start=relu[7:15].max() * 2, rate=-2.0, label="k^(−2)")
    ax.set_xticks([1, 4, 16, 64], labels=["1", "4", "16", "64"])
    show_legend(ax)
    return drawn
