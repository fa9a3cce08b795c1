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
from numpy.typing import NDArray

import mfpde
from mfpde.plotting.palette import DENSITY, MUTED, OKABE_ITO
from validation.charts import describe, log_log, panels, rate_line, show_legend
from validation.claim import Claim, Quantity
from validation.next_checks.runs import (
    PAPER_SEED,
    Setting,
    atoms,
    atoms_of,
    particle_end,
    seeds,
)
from validation.rates import order

Array = NDArray[np.float64]

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


def even_difference(seed: int) -> float:
    """Largest difference of V(x) + V(-x) between the activations, at 360 points."""
    x = np.linspace(0, 2 * np.pi, 360)
    points = np.stack([np.cos(x), np.sin(x)], axis=1)
    sums = []
    for activation in ("relu", "gelu"):
        neurons = Setting(seed, activation=activation).perceptron
        sums.append(neurons.value(points) + neurons.value(-points))
    return float(np.abs(sums[0] - sums[1]).max())


def moments(activation: str, *, labels: int, time_step: float) -> Array:
    """|mu_k|, k = 1..128, of weighted labels at t = 2, beta = 5, seed 777."""
    setting = Setting(PAPER_SEED, beta=5.0, activation=activation)
    run = mfpde.solve_particles(
        setting.equation,
        mfpde.uniform(mfpde.Circle(labels)),
        t_end=EARLY,
        method="labels",
        time_step=time_step,
    )
    angles = np.arctan2(run.final.points[:, 1], run.final.points[:, 0])
    waves = np.exp(-1j * np.outer(DEGREES, angles))
    return np.abs(waves @ run.final.masses)


def envelope(values: Array) -> tuple[Array, Array]:
    """Geometric centres and largest values of octaves from k = 8 on."""
    edges = 2 ** np.arange(3, 8)
    tops = [values[a - 1 : 2 * a - 1].max() for a in edges]
    return edges * np.sqrt(2), np.array(tops)


def main(quick: bool = False) -> dict[str, object]:
    """Even parts, moments, atoms."""
    chosen = seeds(quick)
    quantities = [
        Quantity(
            f"{len(chosen)} seeds: even parts of the potentials, largest difference",
            max(even_difference(seed) for seed in chosen),
            0.0,
            1e-14,
            subject="formula",
        )
    ]
    sizes = (
        {"labels": 1024, "time_step": 0.1}
        if quick
        else {"labels": 4096, "time_step": 0.02}
    )
    relu, gelu = (moments(a, **sizes) for a in ("relu", "gelu"))
    power = order(*envelope(relu))
    name = "seed 777, β = 5, t = 2"
    quantities += [
        Quantity(
            f"{name}: GeLU, power of the moments in the last octave (to 128)",
            order(*(values[-2:] for values in envelope(gelu))),
            GEOMETRIC,
            0.0,
            "at least",
        ),
        # A switch at rest leaves a jump, k^-1, one that mass flows through a kink, k^-2.
        Quantity(
            f"{name}: ReLU, power of the moments, between 1 and 2", power, 1.5, 0.5
        ),
    ]
    table = ends(chosen, quick)
    both = table, ends(chosen, quick, particles=True)
    differ = [float((found[0, :, 0] != found[1, :, 0]).sum()) for found in both]
    quantities.append(
        Quantity(
            f"{len(chosen)} seeds: those whose ReLU and GeLU counts differ, that of the "
            "particles expected",
            *differ,
            0.0,
        )
    )
    return {
        "quantities": quantities,
        "figures": {"relu_against_gelu": figure((relu, gelu), table, chosen)},
    }


def ends(chosen: tuple[int, ...], quick: bool, *, particles: bool = False) -> Array:
    """Count and largest mass (activations, seeds, 2) at the end of descent."""
    sizes = {"cells_per_root": 100.0, "t_end": 15.0, "beta": 10.0} if quick else {}
    found = []
    for activation in ("relu", "gelu"):
        settings = [Setting(s, activation=activation, **sizes) for s in chosen]
        runs = [
            atoms_of(s, particle_end(s)) if particles else atoms(s) for s in settings
        ]
        found.append(
            [(len(a), max((atom.mass for atom in a), default=0.0)) for a in runs]
        )
    return np.array(found)


def figure(
    spectra: tuple[Array, Array], table: Array, chosen: tuple[int, ...]
) -> object:
    """Moments over their order; how many seeds have which two counts."""
    drawn, (left, right) = panels(2)
    curves = {
        name: (DEGREES, np.maximum(values, 1e-17))
        for name, values in zip(("ReLU", "GeLU"), spectra, strict=True)
    }
    log_log(left, curves, xlabel="order k", ylabel="|μ_k| at t = 2")
    # Blue and vermilion are the density's and the particles' elsewhere.
    for line, name in zip(left.lines, ("green", "orange"), strict=True):
        line.set(color=OKABE_ITO[name], markersize=2.0)
    rate_line(
        left, [8, 128], start=spectra[0][7:15].max() * 2, rate=-2.0, label="k^(−2)"
    )
    left.set_xticks([1, 4, 16, 64], labels=["1", "4", "16", "64"])
    show_legend(left)
    counts = table[:, :, 0].astype(int)
    most = int(counts.max())
    pairs, sizes = np.unique(counts.T, axis=0, return_counts=True)
    right.plot([0.5, most + 0.5], [0.5, most + 0.5], color=MUTED, lw=0.7, ls=":")
    for (relu, gelu), size in zip(pairs, sizes, strict=True):
        right.plot(relu, gelu, "o", color=DENSITY, ms=4 + 4 * np.sqrt(size))
        right.annotate(
            str(size), (relu, gelu), color="white", ha="center", va="center", fontsize=7
        )
    right.set_xticks(range(1, most + 1))
    right.set_yticks(range(1, most + 1))
    describe(
        right,
        title=f"{len(chosen)} seeds (number in the disc), density",
        xlabel="atoms with ReLU",
        ylabel="atoms with GeLU",
    )
    return drawn
