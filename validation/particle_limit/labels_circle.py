r"""Labels on the circle: particles as a smooth map of a label s, trapezoidal weights.

    m_i = rho_0(theta(s_i)) theta'(s_i) 2 pi / n,    s_i = (i + 1/2) 2 pi / n.

For beta = 0 everything is a Moebius map (:mod:`validation.references.moebius`), and maps add
up in atanh of their parameters: alpha that of the flow, rho that of the start's Poisson
kernel.  Labels that start at the map of s with -gamma are at the end at that with
alpha - gamma, and weigh like the kernel of rho + gamma.  The trapezoidal rule for the moment
that drives the flow converges like q^n, atanh q the largest of the three: geometrically,
with a rate that is known beforehand.  Labels uniform in angle (gamma = 0) have
atanh q = max(alpha, rho), graded ones with gamma = (alpha - rho) / 2 have (alpha + rho) / 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import mfpde
from validation.circle_cases import points_at
from validation.circle_problems import BESIDE_PARTICLES, Problem
from validation.claim import Claim, Findings, at_least, at_most, equal, vanishes
from validation.drawing import log_log, panels, show_legend
from validation.references.moebius import kuramoto_parameter, moved, poisson, stretch

Array = NDArray[np.float64]
Curves = dict[str, tuple[Any, Any]]

CLAIM = Claim(
    "Labels with trapezoidal weights converge spectrally (S¹)",
    "characteristics of eq. (2.5); rates derived in the script (Ott & Antonsen 2008)",
    "While the flow map is smooth, n labels with trapezoidal weights give the moments of "
    "the density with an error that falls like q^n, q the largest Möbius parameter of the "
    "flow map and the start; with them W1 to the density solver falls until the density's "
    "error.",
    condition="Where a ReLU kinks the flow map the moments converge at order {kinked:.1f}, "
    "where it is smooth at {smooth:.0f} and more before rounding.",
)
START = 0.3
ROUNDING = 1e-12
SHARES = {True: 0.2, False: 0.5}
"""By how much labels may differ from the density's own error; with kinks they too have one."""
OWN_ERRORS = {True: 0.1, False: 0.5}
"""The density's own W1 error in squares of a cell's width: second order."""
SPECTRAL = 8.0
KINKED, SCATTER = 2.0, 1.0
"""Order of the trapezoidal rule with kinks, whose errors change with their places in cells."""


def kuramoto_error(count: int, g: float, t_end: float) -> float:
    """Error of the first moment at ``t_end`` of labels dense around pi for g > 0."""
    s = (np.arange(count) + 0.5) * (2 * np.pi / count) - np.pi
    angles = moved(s, -g)
    masses = poisson(angles, START) * stretch(s, -g) * (2 * np.pi / count)
    equation = mfpde.MeanFieldEquation(mfpde.Attention(0.0), direction="ascent")
    labels = mfpde.Atoms(points_at(angles), masses)
    run = mfpde.solve_particles(equation, labels, t_end=t_end, rtol=1e-13, atol=1e-14)
    moment = float(run.final.masses @ run.final.points[:, 0])
    return abs(moment - kuramoto_parameter(START, t_end))


def compare_factors(curves: Curves, t_end: float) -> Findings:
    """Measured against known convergence factors, plain and graded labels."""
    rho = np.arctanh(START)
    alpha = np.arctanh(kuramoto_parameter(START, t_end)) - rho
    for name, gamma in (("uniform in angle", 0.0), ("graded", (alpha - rho) / 2)):
        q = float(np.tanh(max(gamma, alpha - gamma, rho + gamma)))
        last = int(np.log(ROUNDING) / np.log(q))
        sizes = np.unique(np.linspace(max(last / 4, 8), last, 8).astype(int))
        errors = [kuramoto_error(n, float(np.tanh(gamma)), t_end) for n in sizes]
        used = np.array(errors) > 100 * ROUNDING
        factor = np.polyfit(sizes[used], np.log(np.array(errors)[used]), 1)[0]
        label = f"β = 0, t = {t_end:g}, labels {name}: "
        text = f"{label}log of the convergence factor"
        yield equal(text, factor, np.log(q), 0.02, relative=True)
        text = f"{label}error of the moment at n = {sizes[-1]}"
        yield at_most(text, errors[-1], 0.0, 100 * ROUNDING)
        curves[f"t = {t_end:g}, {name}"] = (sizes, errors)


def orders_of_moments(problem: Problem, sizes: tuple[int, ...]) -> Array:
    """Orders of the moments 1..4 of n labels above rounding, against 4 times the last n."""

    def moments(count: int) -> Array:
        labels = problem.labels(count)
        powers = np.arange(1, 5)[:, np.newaxis]
        return np.asarray((labels.points @ [1, 1j]) ** powers @ labels.masses)

    best = moments(4 * sizes[-1])
    errors = np.array([np.abs(moments(n) - best).max() for n in sizes])
    orders = -np.diff(np.log(errors)) / np.diff(np.log(sizes))
    return np.asarray(orders[errors[1:] > 100 * ROUNDING])


def compare_with_density(
    problem: Problem, sizes: tuple[int, ...], cells: int
) -> Findings:
    """The fall to the density's error, and the order of the moments' errors."""
    density, smooth = problem.density(cells), problem.is_smooth
    floor, error = (
        mfpde.wasserstein(problem.label_density(n, cells), density)
        for n in (4 * sizes[-1], sizes[-1])
    )
    name, key = f"{problem.name}: ", "smooth" if "linear" in problem.name else ""
    text = f"{name}W1 of {sizes[-1]} labels over the density's error"
    yield equal(text, error / floor, 1.0, SHARES[smooth])
    allowed = OWN_ERRORS[smooth] * (2 * np.pi / cells) ** 2
    yield vanishes(f"{name}the density's own W1 error on {cells} cells", floor, allowed)
    orders = orders_of_moments(problem, sizes)
    text = "order of the moments above rounding"
    if smooth:
        yield at_least(f"{name}largest {text}", orders.max(), SPECTRAL, key=key)
    else:
        shown = {"key": "kinked", "shows": "condition"}
        yield equal(f"{name}mean {text}", orders.mean(), KINKED, SCATTER, **shown)


@CLAIM
def main(quick: bool = False) -> Findings:
    powers = range(4, 8 if quick else 11)
    sizes = tuple(n for k in powers for n in (2**k, 3 * 2 ** (k - 1)))
    curves: Curves = {}
    for t_end in (3.0,) if quick else (3.0, 6.0):
        yield from compare_factors(curves, t_end)
    for problem in BESIDE_PARTICLES:
        yield from compare_with_density(problem, sizes, 256 if quick else 2048)
    figure, (ax,) = panels(1, width=5)
    log_log(ax, curves, xlabel="labels n", ylabel="error of moment 1, β = 0")
    ax.set_xscale("linear")
    show_legend(ax)
    yield "labels_circle", figure
