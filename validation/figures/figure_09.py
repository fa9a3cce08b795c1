r"""Figure 9: number of clusters against sqrt(beta), all settings.

Counts are two: basins of the density's velocity that hold an atom, beside clusters of particles at
the same time; and the paper's own, clusters of width min(1/(2 sqrt beta), pi/(2 d)) where its
protocol stops or is given up (``paper_protocol``, which shares no code with ``mfpde``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

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
from validation.figures import drawing, sweeps
from validation.figures import paper_protocol as protocol
from validation.figures.settings import BETAS, TURN, Setting
from validation.figures.sweeps import LATE, Sweep, fit_slope
from validation.independent import problem_of
from validation.theorems.concentration import LIMIT

Array = NDArray[np.float64]
Papers = Mapping[float, protocol.PaperRun]

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
        "ascent do: they are as many as the fastest mode has crests (exact_facts/early_clusters)."
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
QUICK: Final = ("S¹ ascent ReLU", "S¹ ascent GeLU", "S² ascent GeLU")
PAPER_BETAS: Final = (0.1, 1.0, 5.0, 10.0, 15.0, 25.0, 35.0, 50.0)
QUICK_BETAS: Final = (0.1, 1.0, 5.0, 15.0)
GIVE_UP: Final = 300.0
ACTS: Final = 1.0
"""From this beta on attention's range is shorter than the circle."""
UNIFORM_POINTS: Final = 10_000
ROUNDING: Final = 1e-9
GROWS: dict[str, Any] = {"subject": "formula", "shows": "condition"}


@CLAIM
def main(quick: bool = False) -> Findings:
    names, reached = KINDS, {2: BETAS, 3: tuple(sweeps.RINGS)}
    if quick:
        names, reached = QUICK, {2: QUICK_BETAS, 3: QUICK_BETAS[:2]}
    found, papers = {}, {}
    for name in names:
        where, *softmax, direction, neurons = name.lower().split()
        d = {"s¹": 2, "s²": 3}[where]
        setting = Setting(1.0, direction, neurons, d, bool(softmax))
        papers[name] = _paper(setting, reached[d], quick)
        found[name] = sweeps.sweep(setting, reached[d], quick=quick)
        key = name.replace("¹", "1").lower().replace(" ", "_")
        growth = _growth(KINDS[name], found[name], papers[name], key)
        yield from mark([*found[name].rows(), *growth], under=f"{name}: ")
    sphere = [name for name in names if name.startswith("S²")]
    yield from _on_sphere([found[n] for n in sphere], [papers[n] for n in sphere])
    yield _rule_in_the_uniform_state()
    yield "figure_09", _figure(found, papers)


def _paper(setting: Setting, betas: Sequence[float], quick: bool) -> Papers:
    """The paper's protocol at those of ``betas`` that it is drawn at."""
    count, give_up = (300, 200.0) if quick else (protocol.PARTICLES, GIVE_UP)
    start, found = protocol.uniform_points(count, setting.dimension), {}
    for beta in (beta for beta in betas if beta in PAPER_BETAS):
        problem = problem_of(replace(setting, beta=beta).equation)
        found[beta] = protocol.paper_run(problem, start, give_up=give_up)
    return found


def _growth(kind: str, found: Sweep, papers: Papers, key: str) -> Iterator[Quantity]:
    """Slopes in sqrt(beta): of basins, and of the paper's rule at its stop or ``GIVE_UP``.

    From ``ACTS`` on where they do not grow: then their intervals do not tell them from 0.  In
    descent with ReLU neurons the dead zone leaks, and the paper's rule does not stop.
    """
    least = 0.0 if kind == "grows" else ACTS
    ours, theirs = (fit_slope(found.betas, counts, least) for counts in found.counts)
    rule = [run.count for run in papers.values()]
    rule = fit_slope(list(papers), rule, ACTS if kind == "stays" else 0.0)
    basins, against = f"slope of basins, beta >= {ACTS:g}", "against particles"
    paper = "slope of the paper's rule at its end"
    if kind == "stays":
        shown = {"shows": "refutation"}
        row = f"{basins}, within half the interval of 95 % of the particles'"
        yield vanishes(row, ours.value, theirs.half + ROUNDING, **shown)
        row = f"{paper}, beta >= {ACTS:g}, within half its interval"
        about = {"subject": "formula", **shown}
        yield vanishes(row, rule.value, rule.half + ROUNDING, **about)
        most = found.counts[:, np.array(found.betas) >= ACTS].max(axis=1)
        row = f"most basins, beta >= {ACTS:g}, {against}"
        yield equal(row, *most, 0.0, key=f"most_{key}", **shown)
    elif kind:
        shown = {"key": f"slope_{key}", "shows": "condition"}
        basins = "slope of basins in sqrt(beta)" if kind == "grows" else basins
        yield equal(
            f"{basins}, {against}", ours.value, theirs.value, theirs.half / 2, **shown
        )
        row = f"{paper}, against half its interval"
        yield at_least(row, *rule, key=f"rule_{key}", **GROWS)
    if kind == "grows":
        row = "slope of the particles' basins, against half its interval of 95 %"
        yield at_least(row, *theirs, **GROWS)
        row = "slope of basins, against that of the paper's rule"
        yield equal(row, ours.value, rule.value, ours.half + rule.half)
    elif kind == "leaks":
        stopped = sum(run.has_stopped for run in papers.values())
        row = f"runs of the paper's protocol that stop before t = {GIVE_UP:g}"
        yield equal(row, stopped, 0.0, 0.0, **GROWS)


def _on_sphere(found: Sequence[Sweep], papers: Sequence[Papers]) -> Iterator[Quantity]:
    """The most clusters of 1 % and more at any beta: basins, and where the protocol stops."""
    rule = max(run.heavy_count for of in papers for run in of.values())
    ours, theirs = np.max([one.counts.max(axis=1) for one in found], axis=0)
    about = {"key": "most_on_sphere", "shows": "refutation"}
    row = "S²: most basins at any beta in any setting, against clusters of particles"
    yield equal(row, ours, theirs, 0.0, **about)
    about = {"key": "rule_on_sphere", "shows": "refutation", "subject": "formula"}
    row = (
        "S²: most clusters of 1 % and more by the paper's rule at its stop, against those of "
        "particles at the time of the density"
    )
    yield at_most(row, rule, theirs, **about)


def _rule_in_the_uniform_state() -> Quantity:
    """Slope 4 pi where the rule's width is 1/(2 sqrt beta)."""
    betas = [beta for beta in BETAS if protocol.cluster_distance(beta, 2) < np.pi / 4]
    uniform = points_at(TURN * np.arange(UNIFORM_POINTS) / UNIFORM_POINTS)
    widths = [protocol.cluster_distance(beta, 2) for beta in betas]
    rule = [len(protocol.clusters(uniform, width)) for width in widths]
    slope = fit_slope(betas, rule)
    # Windows begin at a point, so that each is longer by their spacing at most.
    known = 4 * np.pi * max(betas) ** 0.5 * 4 * np.pi / UNIFORM_POINTS + slope.half
    row = "uniform state: slope of the paper's rule in sqrt(beta), 4 pi"
    return equal(row, slope.value, 4 * np.pi, known, key="uniform", **GROWS)


def _figure(found: Mapping[str, Sweep], papers: Mapping[str, Papers]) -> Figure:
    """Late counts and heaviest masses against sqrt(beta), and the paper's counts beside them."""
    kinds = dict.fromkeys(name[3:] for name in KINDS)
    looks = {k: {"color": c} for k, c in zip(kinds, drawing.COLOURS, strict=False)}
    line = {"line of Figure 12": ([0, 7.1], [LIMIT] * 2, drawing.DASHED)}
    rows = []
    for where, name in {"S¹": "Circle S¹", "S²": "Sphere S²"}.items():
        here = {key[3:]: one for key, one in found.items() if key[:2] == where}
        counts, masses, rule = {}, {}, {}
        for key, one in here.items():
            counts[key] = one.roots, one.counts[0], looks[key]
            masses[key] = one.roots, one.heaviest[0], looks[key]
            of = papers[f"{where} {key}"]
            rule[key] = (
                np.sqrt(list(of)),
                [run.count for run in of.values()],
                looks[key],
            )
        if where == "S¹":
            roots = np.linspace(0, 7.1, 50)
            rule["4π√β: uniform"] = roots, 4 * np.pi * roots, drawing.DASHED
        for drawn, values in ((counts, "counts"), (masses, "heaviest")):
            both = [(one.roots, getattr(one, values)[1]) for one in here.values()]
            drawn["particles"] = drawing.crosses(both)
        axes: dict[str, Any] = {"xlabel": "√β", "ylabel": "clusters"}
        mass = axes | {"ylabel": "heaviest mass", "ylim": (0, 1.05)}
        rows.append(
            [
                drawing.curves(f"{name}: basins at t = {LATE:g}", counts, **axes),
                drawing.curves(f"{name}: the paper's protocol", rule, **axes),
                drawing.curves(f"{name}: t = {LATE:g}", masses | line, **mass),
            ]
        )
    title = "Clusters against √β, shifted kernel"
    return drawing.draw_page(title, rows, size=(11.0, 6.4))
