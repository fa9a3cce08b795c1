"""Theorem 3.3: on S^2 supports have area zero; a ring is what the theorem allows."""

from __future__ import annotations

from typing import Any

import numpy as np

import mfpde
from validation.claim import Claim, Quantity
from validation.drawing import COLOURS, panels
from validation.references.ring import ring_angle
from validation.stable_states import descent, random_descent

CLAIM = Claim(
    title="S^2: supports have area zero, but rings exist",
    source="Theorem 3.3, Remark 5.5",
    statement=(
        "d >= 3: sigma_d(supp mu) = 0 for ReLU with v not analytic, and for strictly stable "
        "states with analytic sigma; for mu fixed and generic theta (depending on mu) a "
        "stationary mu is atomic."
    ),
    condition=(
        "mu is fixed before theta: the theorem does not say that generic weights have atomic "
        "states only. For one ReLU neuron of any weight in an interval the unique minimiser "
        "is uniform on a circle, of area zero but no sum of atoms"
    ),
)
BETA = 20.0
AXIS = np.full(3, 3**-0.5)


def one_neuron(weight: float) -> mfpde.MeanFieldEquation:
    """One neuron at AXIS, in descent."""
    return descent(BETA, mfpde.Perceptron([AXIS], [weight]))


def force_on_ring(angle: float, extra: float) -> float:
    """Largest |grad F| on the ring of one neuron with a second one of weight ``extra``."""
    turns = 2 * np.pi * np.arange(360) / 360
    across = np.linalg.svd(AXIS[np.newaxis])[2][1:]
    circle = (
        np.cos(turns)[:, np.newaxis] * across[0]
        + np.sin(turns)[:, np.newaxis] * across[1]
    )
    points = np.cos(angle) * AXIS + np.sin(angle) * circle
    neurons = mfpde.Perceptron([AXIS, [1.0, 0.0, 0.0]], [-0.3, extra])
    velocity = descent(BETA, neurons).velocity(mfpde.Atoms(points), points)
    return float(np.linalg.norm(velocity, axis=1).max())


def main(quick: bool = False) -> dict[str, Any]:
    sphere = mfpde.Sphere(64)
    quantities = []
    cases = [(10.0, 1.0, "relu"), (10.0, 1.0, "gelu")]
    if not quick:
        cases += [
            (beta, scale, name)
            for beta in (1.0, 10.0, 50.0)
            for scale in (1.0, 10.0)
            for name in ("relu", "gelu")
        ]
    found = [
        mfpde.minimize(random_descent(b, 3, s, seed=1, activation=name), sphere)
        for b, s, name in cases
    ]
    name = f"minimisers of random neurons that are no atoms, of {len(cases)}"
    quantities.append(Quantity(name, sum(m.kind != "atoms" for m in found), 0, 0))
    name = "their largest certified gap"
    quantities.append(Quantity(name, max(m.gap for m in found), 0.0, 1e-11))
    weights = (-0.33, -0.3, -0.27) if quick else np.linspace(-0.9, -0.2, 8)
    rings = []
    for weight in weights:
        best = mfpde.minimize(one_neuron(float(weight)), sphere)
        is_ring = best.kind == "ring" and len(best.rings.angles) == 1
        text = f"one neuron, w = {weight:.3g}: rings in the minimiser"
        quantities.append(Quantity(text, int(is_ring), 1, 0))
        if is_ring:
            rings.append((weight, float(best.rings.angles[0])))
            exact = ring_angle(BETA, float(weight))
            text = f"one neuron, w = {weight:.3g}: angle of the ring"
            quantities.append(Quantity(text, rings[-1][1], exact, 1e-9))
    angle = ring_angle(BETA, -0.3)
    small, large = 1e-4, 1e-3
    quantities += [
        Quantity(
            "force on the ring, one neuron", force_on_ring(angle, 0.0), 0.0, 1e-12
        ),
        Quantity(
            "force on the ring by a second neuron, per weight",
            force_on_ring(angle, small) / small,
            0.1,
            0.0,
            "at least",
        ),
        Quantity(
            "it is proportional to that weight",
            force_on_ring(angle, large) / force_on_ring(angle, small),
            large / small,
            1e-9,
            relative=True,
        ),
    ]
    figure, (ax,) = panels(1, width=5)
    draw(ax, np.array(rings))
    return {"quantities": quantities, "figures": {"rings": figure}}


def draw(ax: Any, rings: np.ndarray) -> None:
    """Angle of the ring over the weight: formula and minimisers."""
    weights = np.linspace(-1.1, -0.15, 200)
    angles = [ring_angle(BETA, float(w)) for w in weights]
    ax.plot(weights, angles, color=COLOURS[1], label="formula")
    ax.plot(rings[:, 0], rings[:, 1], "o", color=COLOURS[0], label="minimize")
    ax.set(title="The ring of one neuron, β = 20", xlabel="w", ylabel="angle from a")
    ax.legend()
