r"""Figure 9: number of clusters against sqrt(beta), all settings.

Counts are two: basins of the density's velocity that hold an atom, beside clusters of particles at
the same time; and the paper's own, clusters of width min(1/(2 sqrt beta), pi/(2 d)) where its
protocol stops or is given up (``paper_protocol``, which shares no code with ``mfpde``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import mfpde
from validation.circle_cases import points_at
from validation.claim import (
    Claim,
    Findings,
    Quantity,
    at_least,
    at_most,
    equal,
    mark,
    vanishes,
)
from validation.figures import drawing
from validation.figures.paper_protocol import PARTICLES, cluster_distance, clusters
from validation.figures.settings import BETAS, TURN, Setting, angles, basins
from validation.figures.sweeps import EARLY, Sweep, fit_slope, sweep

Array = NDArray[np.float64]

CLAIM = Claim(
    title="Number of clusters against sqrt(beta), all settings",
    source="Figure 9",
    statement=(
        "Figure 9 summarises how the number of clusters scales: it is drawn against "
        "sqrt(beta), for ascent and descent, ReLU and GeLU, on S^1 and S^2."
    ),
    condition=(
        "It grows with sqrt(beta) with ReLU neurons on the circle in ascent, by basins of the "
        "density at t = 100 as by the paper's rule: slopes "
        "{slope_s1_ascent_relu:.2g} and {rule_s1_ascent_relu:.2g}, with softmax "
        "{slope_s1_softmax_ascent_relu:.2g} and {rule_s1_softmax_ascent_relu:.2g}. In descent "
        "with ReLU neurons the rule grows too (slope {rule_s1_descent_relu:.2g}), at t = 300, "
        "when no run has stopped yet: the neurons' dead zone leaks slowly, and in the uniform "
        "state the rule itself has the slope {uniform:.3g}. Basins do not grow there (slope "
        "{slope_s1_descent_relu:.2g} from beta = 1 on). First clusters of attention alone in "
        "ascent do, with the slope {alone:.2g}; that of the fastest mode is "
        "{alone.expected:.2g}."
    ),
    refutation=(
        "With GeLU neurons it does not grow: from beta = 1 on there are "
        "{most_s1_ascent_gelu:word} basins on the circle in ascent and "
        "{most_s1_descent_gelu:word} in descent at most, with slopes that their intervals do "
        "not tell from 0, by the paper's rule as well. On S^2 there are at most "
        "{most_on_sphere:word} at any beta, and {rule_on_sphere:word} of a hundredth and more "
        "by the paper's rule."
    ),
)
KINDS: Final = {
    "S¹ ascent ReLU": "grows",
    "S¹ ascent GeLU": "stays",
    "S¹ descent ReLU": "leaks",
    "S¹ descent GeLU": "stays",
    "S¹ softmax ascent ReLU": "grows",
    "S² ascent ReLU": "",
    "S² ascent GeLU": "",
    "S² descent ReLU": "",
    "S² descent GeLU": "",
}
RINGS: Final = {0.1: 64, 1.0: 64, 5.0: 64, 15.0: 96, 25.0: 128}
"""Rings by beta: 23 sqrt(beta) and more, which exact atoms need."""
PAPER_BETAS: Final = (0.1, 1.0, 5.0, 10.0, 15.0, 25.0, 35.0, 50.0)
QUICK_BETAS: Final = (0.1, 1.0, 5.0, 15.0)
ALONE_BETAS: Final = (3.0, 5.0, 7.0, 10.0, 15.0, 25.0, 35.0, 50.0)
GIVE_UP, LATE = 300.0, 100.0
ACTS: Final = 1.0
"""From this beta on attention's range is shorter than the circle."""
UNIFORM_POINTS: Final = 10_000
ROUNDING: Final = 1e-9
AMPLITUDE, MODES, NEIGHBOUR = 1e-3, 24, 1.0
GROWTH_TIMES: Final = (1.0, 1.5, 2.0)
"""In units of the time in which the fastest mode grows to order 1."""
GROWS: dict[str, Any] = {"subject": "formula", "shows": "condition"}


@CLAIM
def main(quick: bool = False) -> Findings:
    given = {"protocol": PAPER_BETAS, "give_up": GIVE_UP, "count": PARTICLES}
    betas, names = BETAS, list(KINDS)
    if quick:
        given = {"protocol": QUICK_BETAS, "give_up": 200.0, "count": 300}
        betas, names = QUICK_BETAS, names[:2]
    cells = {b: 512 if quick or b < 7 else 1024 for b in betas}
    found = {}
    for name in names:
        where, *softmax, direction, neurons = name.lower().split()
        dimension, sizes = {"s¹": (2, cells), "s²": (3, RINGS)}[where]
        setting = Setting(1.0, direction, neurons, dimension, bool(softmax))
        found[name] = sweep(setting, sizes, (EARLY, LATE), **given)
        yield from mark(found[name].rows(), under=f"{name}: ")
        key = name.replace("¹", "1").lower().replace(" ", "_")
        yield from mark(_growth(KINDS[name], found[name], key), under=f"{name}: ")
    sphere = {name: one for name, one in found.items() if name.startswith("S²")}
    if sphere:
        yield from mark(_on_sphere(list(sphere.values())), under="S²: ")
    yield _rule_in_the_uniform_state()
    alone = _first_clusters(quick)
    yield from mark(_as_the_fastest_mode(alone), under="attention alone, ascent: ")
    circle = {name: one for name, one in found.items() if name not in sphere}
    yield "figure_09", _figure(circle, sphere, alone)


def _growth(kind: str, found: Sweep, key: str) -> Iterator[Quantity]:
    """Slopes in sqrt(beta): of basins, and of the paper's rule at its stop or ``GIVE_UP``.

    From ``ACTS`` on where they do not grow: then their intervals do not tell them from 0.  In
    descent with ReLU neurons the dead zone leaks, and the paper's rule does not stop.
    """
    ours, theirs, rule = (found if kind == "grows" else found.above(ACTS)).slopes
    basins, against = f"slope of basins, beta >= {ACTS:g}", "against particles"
    paper = "slope of the paper's rule at its end"
    if kind == "stays":
        shown = {"shows": "refutation"}
        row = f"{basins}, within half the interval of 95 % of the particles'"
        yield vanishes(row, ours.value, theirs.half + ROUNDING, **shown)
        row = f"{paper}, beta >= {ACTS:g}, within half its interval"
        about = {"subject": "formula", **shown}
        yield vanishes(row, rule.value, rule.half + ROUNDING, **about)
        most = found.above(ACTS).counts.max(axis=1)
        row = f"most basins, beta >= {ACTS:g}, {against}"
        yield equal(row, *most, 0.0, key=f"most_{key}", **shown)
    elif kind:
        shown = {"key": f"slope_{key}", "shows": "condition"}
        basins = "slope of basins in sqrt(beta)" if kind == "grows" else basins
        yield equal(
            f"{basins}, {against}", ours.value, theirs.value, theirs.half / 2, **shown
        )
        rule = found.slopes[2]
        row = f"{paper}, against half its interval"
        yield at_least(row, *rule, key=f"rule_{key}", **GROWS)
    if kind == "grows":
        row = "slope of the particles' basins, against half its interval of 95 %"
        yield at_least(row, *theirs, **GROWS)
        row = "slope of basins, against that of the paper's rule"
        yield equal(row, ours.value, rule.value, ours.half + rule.half)
    elif kind == "leaks":
        stopped = sum(run.has_stopped for run in found.paper.values())
        row = f"runs of the paper's protocol that stop before t = {GIVE_UP:g}"
        yield equal(row, stopped, 0.0, 0.0, **GROWS)


def _on_sphere(found: Sequence[Sweep]) -> Iterator[Quantity]:
    """The most clusters of 1 % and more at any beta: basins, and where the protocol stops."""
    rule = max(run.heavy_count for one in found for run in one.paper.values())
    ours, theirs = np.max([one.counts.max(axis=1) for one in found], axis=0)
    about = {"key": "most_on_sphere", "shows": "refutation"}
    row = "most basins at any beta in any setting, against clusters of particles"
    yield equal(row, ours, theirs, 0.0, **about)
    about = {"key": "rule_on_sphere", "shows": "refutation", "subject": "formula"}
    row = (
        "most clusters of 1 % and more by the paper's rule at its stop, against those of "
        "particles at the time of the density"
    )
    yield at_most(row, rule, theirs, **about)


def _rule_in_the_uniform_state() -> Quantity:
    """Slope 4 pi where the rule's width is 1/(2 sqrt beta)."""
    betas = [beta for beta in BETAS if cluster_distance(beta, 2) < np.pi / 4]
    uniform = points_at(TURN * np.arange(UNIFORM_POINTS) / UNIFORM_POINTS)
    rule = [len(clusters(uniform, cluster_distance(beta, 2))) for beta in betas]
    slope = fit_slope(betas, rule)
    # Windows begin at a point, so that each is longer by their spacing at most.
    known = 4 * np.pi * max(betas) ** 0.5 * 4 * np.pi / UNIFORM_POINTS + slope.half
    row = "uniform state: slope of the paper's rule in sqrt(beta), 4 pi"
    return equal(row, slope.value, 4 * np.pi, known, key="uniform", **GROWS)


# Attention alone -----------------------------------------------------------------------------


def _first_clusters(quick: bool) -> dict[float, Array]:
    """Numbers of basins by beta, in ascent, at ``GROWTH_TIMES``.

    The uniform state is stationary, so that all modes that can grow are put on it, equally strong,
    at random phases; a mode of rate g has grown from the amplitude to order 1 at
    log(1/amplitude)/g.
    """
    found, modes = {}, np.arange(1, MODES + 1)
    circle = mfpde.Circle(256 if quick else 512)
    phases = np.random.default_rng(1).uniform(0, TURN, MODES)
    waves = np.cos(modes * angles(circle.points)[:, np.newaxis] + phases)
    start = mfpde.Density(circle, 1 + AMPLITUDE * waves.sum(axis=1)).normalized()
    for beta in (5.0, 10.0, 25.0) if quick else ALONE_BETAS:
        equation = Setting(beta, "ascent", None).equation
        rates = mfpde.theory.growth_rates(beta, 2, modes, direction="ascent")
        times = np.array(GROWTH_TIMES) * np.log(1 / AMPLITUDE) / rates.max()
        run = mfpde.solve(equation, start, t_end=times[-1], save_at=times)
        found[beta] = np.array([float(len(basins(s, equation))) for s in run.states])
    return found


def _as_the_fastest_mode(found: dict[float, Array]) -> Iterator[Quantity]:
    """As many clusters as the fastest mode has crests, up to the interval of the slope.

    Neighbours of the fastest mode grow nearly as fast, and phases are random.
    """
    betas = list(found)
    modes = np.array([mfpde.theory.fastest_mode(b, 2) for b in betas], float)
    most = np.array([values.max() for values in found.values()])
    row = "first clusters against the fastest mode, largest difference at any beta"
    yield vanishes(row, most - modes, NEIGHBOUR)
    slopes = (fit_slope(betas, values).value for values in (most, modes))
    row = "slope of first clusters in sqrt(beta), as the fastest mode's"
    known = NEIGHBOUR / float(np.ptp(np.sqrt(betas)))
    yield equal(row, *slopes, known, key="alone", shows="condition")


def _figure(
    circle: Mapping[str, Sweep], sphere: Mapping[str, Sweep], alone: dict[float, Array]
) -> Figure:
    """Late counts against sqrt(beta), and the paper's beside them."""
    against = {"xlabel": "√β", "ylabel": "clusters"}
    draws = []
    for where, sweeps in (("S¹", circle), ("S²", sphere)):
        roots = {name: np.sqrt(list(found.points)) for name, found in sweeps.items()}
        lines: dict[str, Any] = {n[3:]: (roots[n], sweeps[n].counts[0]) for n in sweeps}
        if sweeps:
            theirs = [(roots[name], sweeps[name].counts[1]) for name in sweeps]
            lines["particles"] = drawing.crosses(theirs)
        draws.append(
            drawing.curves(f"{where}: basins at t = {LATE:g}", lines, **against)
        )
    roots, lines = np.linspace(0, 7.1, 50), {}
    for name, found in circle.items():
        rule = [run.count for run in found.paper.values()]
        lines[name[3:]] = np.sqrt(list(found.paper)), rule
    lines["4π√β: uniform"] = roots, 4 * np.pi * roots, drawing.DASHED
    draws.append(drawing.curves("S¹: the paper's protocol", lines, **against))
    roots, first = np.sqrt(list(alone)), np.array(list(alone.values())).T
    lines = {}
    for share, found in zip(GROWTH_TIMES, first, strict=True):
        lines[f"alone, at {share:g} × growth time"] = roots, found, {"ls": ""}
    modes = [mfpde.theory.fastest_mode(beta, 2) for beta in alone]
    lines["fastest mode"] = roots, modes, drawing.DASHED
    draws.append(drawing.curves("S¹: attention alone, ascent", lines, **against))
    title = "Clusters against √β, shifted kernel"
    return drawing.draw_page(title, [draws[::2], draws[1::2]], size=(8.6, 6.4))
