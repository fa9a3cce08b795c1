r"""A filtered pseudo-spectral code as a second witness while the density is smooth.

It shares nothing with the package, in numpy and scipy alone: n Fourier modes, RK4,

    d rho_k / dt = -i k (rho v)_k,   v = s (A[rho]' + V'),   A_k = 2 pi lambda_k rho_k / beta

with products at n equispaced points and, after each step, the exponential filter
exp(-36 (2 |k| / n)^8) instead of a 2/3 rule.  Labels agree with it up to dt^4, and every
transport scheme as far as it promises: 10 times its tolerance in time.  Once the density is
narrower than its modes can show it is negative; the schemes' densities never are.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ive

import mfpde
from mfpde.plotting.palette import OKABE_ITO
from validation.circle_cases import angles_of
from validation.circle_problems import (
    LATER,
    PHASE,
    SMOOTH,
    STRENGTH,
    UNRESOLVED,
    Problem,
)
from validation.claim import Claim, Findings, at_least, at_most, vanishes
from validation.drawing import panels, show_legend

Array = NDArray[np.float64]
Complex = NDArray[np.complex128]

CLAIM = Claim(
    "A filtered pseudo-spectral code agrees while the density is smooth (S¹)",
    "eq. (2.5), a second discretisation (RK4, exponential filter of order 8)",
    "Moments up to 8 of the filtered spectral code, of labels and of every transport scheme "
    "agree within what each method promises (the spectral code: its step to the power 4).",
    condition="While the spectral code resolves the density: later its density is negative, "
    "that of the schemes never.",
)
RTOLS = {"donor_blended": 1e-6, "semi_lagrangian": 1e-7}
"""Relative tolerances in time of the schemes, of which errors are 10 times at most."""
STYLES: Final[dict[str, dict[str, Any]]] = {
    "donor_blended": {"color": OKABE_ITO["blue"], "ls": "-", "lw": 2.4},
    "semi_lagrangian": {"color": OKABE_ITO["purple"], "ls": ":", "lw": 1.8},
}
WITNESS: Final[dict[str, Any]] = {"color": OKABE_ITO["black"], "lw": 1.0}
"""Lines of schemes, the wider ones below, and of what they are compared with."""


def spectral_step(count: int) -> float:
    """Time step that keeps RK4 stable: |v| dt k_max <= 2.5, at most 0.05."""
    return float(min(0.05, 2.5 / ((1.0 + STRENGTH) * count / 2)))


def spectral_density(problem: Problem, count: int) -> Array:
    """The density at the end on ``count`` cells by filtered pseudo-spectral RK4."""
    start, (attention,) = problem.start(count), problem.equation.interactions
    angles, k = start.geometry.angles, np.arange(count // 2 + 1)
    sign, beta = problem.equation.sign, attention.beta
    symbol = 2 * np.pi * ive(k, beta) / beta
    slopes = sign * 1j * k * symbol
    slopes[-1] *= count % 2
    external = -sign * STRENGTH * np.sin(angles - PHASE)

    def rate(c: Complex) -> Complex:
        velocity = np.fft.irfft(slopes * c, count)
        if attention.normalized:
            velocity /= beta * np.fft.irfft(symbol * c, count)
        return -1j * k * np.fft.rfft(np.fft.irfft(c, count) * (velocity + external))

    steps = int(np.ceil(problem.t_end / spectral_step(count) - 1e-9))
    dt = problem.t_end / steps
    cut = np.exp(-36 * (k / (count // 2)) ** 8)
    c = np.fft.rfft(start.values)
    for _ in range(steps):
        k1 = rate(c)
        k2 = rate(c + dt / 2 * k1)
        k3 = rate(c + dt / 2 * k2)
        k4 = rate(c + dt * k3)
        c = cut * (c + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
    return np.fft.irfft(c, count)


def moments(angles: Array, masses: Array) -> Complex:
    """The moments int e^{-ik theta} dmu, k = 0..8."""
    return np.asarray(np.exp(-1j * np.outer(np.arange(9), angles)) @ masses)


def moments_of(state: mfpde.Measure | mfpde.Atoms) -> Complex:
    """Those of a density's cells, or of labels."""
    if isinstance(state, mfpde.Atoms):
        return moments(angles_of(state.points), state.masses)
    return moments(state.geometry.angles, state.density.masses)


@CLAIM
def main(quick: bool = False) -> Findings:
    """Smooth problems, one that is 10 times as narrow, and one that becomes an atom."""
    cells = 128 if quick else 512
    centres = mfpde.Circle(cells).angles
    for problem in SMOOTH:
        masses = spectral_density(problem, cells) * (2 * np.pi / cells)
        spectral, name = moments(centres, masses), f"{problem.name}: moments of"
        off = moments_of(problem.labels(cells)) - spectral
        label = f"{name} {cells} labels and of {cells} modes"
        yield vanishes(label, off, spectral_step(cells) ** 4)
        for scheme, rtol in RTOLS.items():
            found = moments_of(problem.density(cells, scheme, rtol=rtol))
            yield vanishes(
                f"{name} {scheme} on {cells} cells", found - spectral, 10 * rtol
            )
    labels = moments_of(LATER.labels(512))
    for scheme, rtol in RTOLS.items():
        found = moments_of(LATER.density(2048, scheme, rtol=rtol))
        name = f"{LATER.name}: moments of {scheme} on 2048 cells and of 512 labels"
        yield vanishes(name, found - labels, 10 * rtol)
    ends = {"filtered spectral": spectral_density(UNRESOLVED, cells)}
    for scheme, rtol in RTOLS.items():
        ends[scheme] = UNRESOLVED.density(cells, scheme, rtol=rtol).density.values
    for method, values in ends.items():
        row = at_least if method in RTOLS else at_most
        name = f"{UNRESOLVED.name}: least density, {method}, {cells} cells"
        yield row(name, values.min(), 0.0, shows="condition")
    drawn, axes = panels(2)
    peak = centres[ends["semi_lagrangian"].argmax()]
    for ax, part in zip(axes, ("all", "near the atom"), strict=True):
        for method, values in ends.items():
            ax.plot(centres, values, **STYLES.get(method, WITNESS), label=method)
        title = f"{UNRESOLVED.name}: {part}"
        ax.set(xlabel="angle [rad]", ylabel="density", title=title)
    axes[0].set_yscale("symlog", linthresh=0.1)
    axes[1].set_xlim(peak - 20 * np.pi / cells, peak + 20 * np.pi / cells)
    show_legend(axes[1])
    yield "witness", drawn
