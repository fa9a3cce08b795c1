r"""Labels on the circle: particles as a smooth map of a label s, trapezoidal weights.

    m_i = rho_0(theta(s_i)) theta'(s_i) 2 pi / n,    s_i = (i + 1/2) 2 pi / n.

For beta = 0 everything is a Moebius map (:mod:`validation.references.moebius`), and maps add
up in atanh of their parameters: alpha that of the flow, rho that of the start's Poisson
kernel.  Labels that start at the map of s with -gamma are at the end at that with
alpha - gamma, and weigh like the kernel of rho + gamma.  The trapezoidal rule for the moment
that drives the flow converges like q^n, atanh q the largest of the three: geometrically,
with a rate that is known beforehand.  Labels uniform in angle (gamma = 0) have
atanh q = max(alpha, rho), graded ones with gamma = (alpha - rho) / 2 have (alpha + rho) / 2.

For the problems of this section the density solver is compared with n labels: W1 falls at a
spectral rate until what is left is the density's own error.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import mfpde
from validation.charts import level_line, log_log, panels, show_legend
from validation.claim import Claim, Quantity
from validation.particle_limit.problems import Problem, problems
from validation.references.moebius import (
    kuramoto_parameter,
    moved,
    poisson,
    stretch,
)

Array = NDArray[np.float64]

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
LATE = 6.0
ROUNDING = 1e-12
SHARE, KINKED_SHARE = 0.2, 0.5
"""By how much labels may differ from the density's own error; with kinks they too have one."""
SPECTRAL = 8.0
SMOOTH_ERROR, KINKED_ERROR = 0.1, 0.5
"""The density's own W1 error in squares of a cell's width: second order."""
KINKED, SCATTER = 2.0, 1.0
"""Order of the trapezoidal rule with kinks, whose errors change with their places in cells."""


def flow_angle(t_end: float) -> float:
    """Alpha, atanh of the flow's parameter."""
    return float(np.arctanh(kuramoto_parameter(START, t_end)) - np.arctanh(START))


def grading(t_end: float) -> float:
    """Parameter g = tanh gamma of the best grading."""
    return float(np.tanh((flow_angle(t_end) - np.arctanh(START)) / 2))


def convergence_factor(t_end: float, g: float) -> float:
    """Largest Moebius parameter q from the start to ``t_end``."""
    gamma = np.arctanh(g)
    angles = (gamma, flow_angle(t_end) - gamma, np.arctanh(START) + gamma)
    return float(np.tanh(max(angles)))


def graded_labels(count: int, g: float) -> mfpde.Atoms:
    """Labels of the Poisson kernel of parameter 0.3, dense around pi for g > 0."""
    s = (np.arange(count) + 0.5) * (2 * np.pi / count) - np.pi
    angles = moved(s, -g)
    masses = poisson(angles, START) * stretch(s, -g) * (2 * np.pi / count)
    points = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return mfpde.Atoms(points, masses)


def kuramoto_error(count: int, g: float, t_end: float) -> float:
    """Error of the first moment at ``t_end``."""
    equation = mfpde.MeanFieldEquation(mfpde.Attention(0.0), direction="ascent")
    run = mfpde.solve_particles(
        equation, graded_labels(count, g), t_end=t_end, rtol=1e-13, atol=1e-14
    )
    moment = float(run.final.masses @ run.final.points[:, 0])
    return abs(moment - kuramoto_parameter(START, t_end))


def factor_of(sizes: Array, errors: Array) -> float:
    """q of errors ~ q^n, from those above rounding."""
    used = errors > 100 * ROUNDING
    return float(np.exp(np.polyfit(sizes[used], np.log(errors[used]), 1)[0]))


def kuramoto(quick: bool) -> tuple[list[Quantity], dict[str, tuple[Array, Array]]]:
    """Measured against known convergence factors, plain and graded labels."""
    quantities, curves = [], {}
    for t_end in (3.0,) if quick else (3.0, LATE):
        for name, g in (("uniform in angle", 0.0), ("graded", grading(t_end))):
            q = convergence_factor(t_end, g)
            last = int(np.log(ROUNDING) / np.log(q))
            sizes = np.unique(np.linspace(max(last / 4, 8), last, 8).astype(int))
            errors = np.array([kuramoto_error(n, g, t_end) for n in sizes])
            label = f"β = 0, t = {t_end:g}, labels {name}"
            quantities += [
                Quantity(
                    f"{label}: log of the convergence factor",
                    float(np.log(factor_of(sizes, errors))),
                    float(np.log(q)),
                    0.02,
                    relative=True,
                ),
                Quantity(
                    f"{label}: error of the moment at n = {sizes[-1]}",
                    float(errors[-1]),
                    0.0,
                    100 * ROUNDING,
                    "at most",
                ),
            ]
            curves[f"t = {t_end:g}, {name}"] = (sizes, errors)
    return quantities, curves


def against_density(
    problem: Problem, sizes: tuple[int, ...], cells: int
) -> tuple[Array, float]:
    """W1 of n labels to the density solver, and the density's own error."""
    density = problem.density(cells)
    finest = problem.labels(4 * sizes[-1], cells=cells)
    errors = [mfpde.wasserstein(problem.labels(n, cells=cells), density) for n in sizes]
    return np.array(errors), mfpde.wasserstein(finest, density)


def moment_errors(problem: Problem, sizes: tuple[int, ...]) -> Array:
    """Largest error of the moments 1..4 of n labels, against 4 times the last n."""
    powers = np.arange(1, 5)[:, np.newaxis]

    def moments(count: int) -> Array:
        labels = problem.label_atoms(count)
        return np.asarray((labels.points @ [1, 1j]) ** powers @ labels.masses)

    best = moments(4 * sizes[-1])
    return np.array([np.abs(moments(n) - best).max() for n in sizes])


def on_problem(
    problem: Problem,
    errors: tuple[Array, Array],
    *,
    sizes: tuple[int, ...],
    floor: float,
    cells: int,
) -> list[Quantity]:
    """The fall to the density's error, and the order of the moments' errors."""
    distances, moments = errors
    resolved = moments > 100 * ROUNDING
    orders = -np.diff(np.log(moments)) / np.diff(np.log(sizes))
    orders = orders[resolved[1:]]
    name = f"{problem.name}: "
    at_floor = Quantity(
        f"{name}W1 of {sizes[-1]} labels over the density's error",
        float(distances[-1] / floor),
        1.0,
        SHARE if problem.is_smooth else KINKED_SHARE,
    )
    width = 2 * np.pi / cells
    of_density = Quantity(
        f"{name}the density's own W1 error on {cells} cells",
        floor,
        0.0,
        (SMOOTH_ERROR if problem.is_smooth else KINKED_ERROR) * width**2,
    )
    if not problem.is_smooth:
        name = f"{name}mean order of the moments above rounding"
        reached = float(orders.mean())
        return [
            at_floor,
            of_density,
            Quantity(name, reached, KINKED, SCATTER, key="kinked", shows="condition"),
        ]
    name = f"{name}largest order of the moments above rounding"
    key = "smooth" if "softmax" not in name else ""
    reached = float(orders.max())
    return [
        at_floor,
        of_density,
        Quantity(name, reached, SPECTRAL, 0.0, "at least", key=key),
    ]


def main(quick: bool = False) -> dict[str, object]:
    """Convergence factors, and the fall to the density's error."""
    quantities, curves = kuramoto(quick)
    sizes = tuple(
        n for k in range(4, 8 if quick else 11) for n in (2**k, 3 * 2 ** (k - 1))
    )
    falls, floors, cells = {}, {}, 256 if quick else 2048
    for problem in problems():
        errors, floor = against_density(problem, sizes, cells)
        falls[problem.name], floors[problem.name] = (sizes, errors), floor
        moments = moment_errors(problem, sizes)
        quantities += on_problem(
            problem, (errors, moments), sizes=sizes, floor=floor, cells=cells
        )
    return {
        "quantities": quantities,
        "figures": {"labels_circle": figure(curves, falls, floors)},
    }


def figure(curves: dict, falls: dict, floors: dict) -> object:
    """Geometric convergence, and the fall to the density's error."""
    drawn, (left, right) = panels(2)
    title = "β = 0, against the exact solution"
    log_log(left, curves, title=title, xlabel="labels n", ylabel="error of moment 1")
    left.set_xscale("linear")
    show_legend(left)
    title = "against the density solver (dashed: its error)"
    log_log(right, falls, title=title, xlabel="labels n", ylabel="W1 [rad]")
    for line, floor in zip(right.lines, floors.values(), strict=False):
        level_line(right, floor, label="its error", colour=line.get_color())
    show_legend(right, right.lines[: len(floors)])
    return drawn
