r"""Figure 9: number of clusters against sqrt(beta), all settings.

Counts are two: basins of the density's velocity that hold an atom, beside clusters of particles at
the same time; and the paper's own, clusters of width min(1/(2 sqrt beta), pi/(2 d)) where its
protocol stops or is given up (``paper_protocol``, which shares no code with ``mfpde``).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from validation.claim import Claim, Quantity
from validation.figures.attention_alone import alone_quantities, first_clusters
from validation.figures.beta_sweeps import EARLY, Protocol, Slope, Sweep, sweep
from validation.figures.count_curves import counts_figure, setting_key, setting_name
from validation.figures.paper_protocol import PARTICLES, cluster_distance, clusters
from validation.figures.paper_runs import BETAS, Setting

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
CIRCLE = (
    Setting(1.0, "ascent", "relu"),
    Setting(1.0, "ascent", "gelu"),
    Setting(1.0, "descent", "relu"),
    Setting(1.0, "descent", "gelu"),
    Setting(1.0, "ascent", "relu", normalized=True),
)
SPHERE = tuple(
    Setting(1.0, direction, activation, dimension=3)
    for direction in ("ascent", "descent")
    for activation in ("relu", "gelu")
)
RINGS: Final = {0.1: 64, 1.0: 64, 5.0: 64, 15.0: 96, 25.0: 128}
"""Rings by beta: 23 sqrt(beta) and more, which exact atoms need."""
PAPER_BETAS = (0.1, 1.0, 5.0, 10.0, 15.0, 25.0, 35.0, 50.0)
GIVE_UP = 300.0
QUICK_BETAS = (0.1, 1.0, 5.0, 15.0)
ACTS = 1.0
"""From this beta on attention's range is shorter than the circle."""
UNIFORM_POINTS = 10_000
ROUNDING = 1e-9


def main(quick: bool = False) -> dict[str, Any]:
    times = (
        (1.0, 2.0, 10.0, 100.0) if quick else (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
    )
    betas = QUICK_BETAS if quick else BETAS
    cells = {b: 400 if quick else 512 if b < 7 else 1024 for b in betas}
    paper = QUICK_BETAS if quick else PAPER_BETAS
    circle = CIRCLE[:2] if quick else CIRCLE
    sphere = () if quick else SPHERE
    protocol = Protocol(paper, *((200.0, 300) if quick else (GIVE_UP, PARTICLES)))
    on_circle = [sweep(s, cells, times, protocol=protocol) for s in circle]
    on_sphere = [sweep(s, RINGS, times, protocol=protocol) for s in sphere]
    alone = first_clusters(quick=quick)
    quantities = [
        *[q for s in (*on_circle, *on_sphere) for q in _against_particles(s)],
        *[q for s in on_circle for q in _growth(s)],
        *(() if quick else _on_sphere(on_sphere)),
        _rule_in_the_uniform_state(),
        *alone_quantities(alone),
    ]
    figure = counts_figure(on_circle, on_sphere, alone)
    return {"quantities": quantities, "figures": {"figure_09": figure}}


def _against_particles(found: Sweep) -> list[Quantity]:
    """Numbers of clusters and heaviest masses at every beta."""
    name = setting_name(found.setting)
    kind = "basins of 1 % and more" if found.setting.dimension == 2 else "clusters"
    differences = [p.all_count - p.all_particle_count for p in found.points]
    worst = max(
        found.points,
        key=lambda p: (
            abs(p.heaviest - p.particle_heaviest) / (p.mass_error + p.grid_error)
        ),
    )
    moving = max(found.points, key=lambda p: p.early_difference / p.early_error)
    return [
        Quantity(
            f"{name}: moments of degrees 1 and 2 at t = {EARLY:g}, largest difference to "
            "particles at any beta",
            moving.early_difference,
            0.0,
            moving.early_error,
        ),
        Quantity(
            f"{name}: numbers of {kind}, largest difference to particles at any beta",
            float(np.abs(differences).max()),
            0.0,
            0.0,
        ),
        Quantity(
            f"{name}: heaviest mass within the paper's distance, against particles, at the "
            "beta where they differ most",
            worst.heaviest,
            worst.particle_heaviest,
            worst.mass_error + worst.grid_error,
        ),
    ]


def _growth(found: Sweep) -> list[Quantity]:
    """Slopes in sqrt(beta): of basins, and of the paper's rule at its stop or ``GIVE_UP``."""
    if found.setting.activation == "gelu":
        return _constant(found)
    if found.setting.direction == "descent":
        return _leaking(found)
    name, key = setting_name(found.setting), setting_key(found.setting)
    basins, rule = found.slope, found.paper_slope
    theirs = Slope.of(found.betas, found.particle_counts)
    return [
        Quantity(
            f"{name}: slope of basins in sqrt(beta), against particles",
            basins.value,
            theirs.value,
            theirs.half / 2,
            key=f"slope_{key}",
            shows="condition",
        ),
        Quantity(
            f"{name}: slope of the particles' basins, against half its interval of 95 %",
            theirs.value,
            theirs.half,
            0.0,
            "at least",
            subject="formula",
            shows="condition",
        ),
        Quantity(
            f"{name}: slope of the paper's rule at its end, against half its interval",
            rule.value,
            rule.half,
            0.0,
            "at least",
            key=f"rule_{key}",
            subject="formula",
            shows="condition",
        ),
        Quantity(
            f"{name}: slope of basins, against that of the paper's rule",
            basins.value,
            rule.value,
            basins.half + rule.half,
        ),
    ]


def _constant(found: Sweep) -> list[Quantity]:
    """From ``ACTS`` on: slopes that their intervals do not tell from 0, and the number."""
    name, key = setting_name(found.setting), setting_key(found.setting)
    part = found.above(ACTS)
    basins, rule = part.slope, part.paper_slope
    return [
        Quantity(
            f"{name}: slope of basins, beta >= {ACTS:g}, within half the interval of 95 % of "
            "the particles'",
            basins.value,
            0.0,
            Slope.of(part.betas, part.particle_counts).half + ROUNDING,
            shows="refutation",
        ),
        Quantity(
            f"{name}: slope of the paper's rule at its end, beta >= {ACTS:g}, within half "
            "its interval",
            rule.value,
            0.0,
            rule.half + ROUNDING,
            subject="formula",
            shows="refutation",
        ),
        Quantity(
            f"{name}: most basins, beta >= {ACTS:g}, against particles",
            float(part.counts.max()),
            float(part.particle_counts.max()),
            0.0,
            key=f"most_{key}",
            shows="refutation",
        ),
    ]


def _leaking(found: Sweep) -> list[Quantity]:
    """Descent with ReLU neurons: the dead zone leaks, and the paper's rule does not stop."""
    name, key = setting_name(found.setting), setting_key(found.setting)
    part = found.above(ACTS)
    theirs = Slope.of(part.betas, part.particle_counts)
    rule = found.paper_slope
    return [
        Quantity(
            f"{name}: slope of basins, beta >= {ACTS:g}, against particles",
            part.slope.value,
            theirs.value,
            theirs.half / 2,
            key=f"slope_{key}",
            shows="condition",
        ),
        Quantity(
            f"{name}: slope of the paper's rule at t = {GIVE_UP:g}, against half its interval "
            "of 95 %",
            rule.value,
            rule.half,
            0.0,
            "at least",
            key=f"rule_{key}",
            subject="formula",
            shows="condition",
        ),
        Quantity(
            f"{name}: runs of the paper's protocol that stop before t = {GIVE_UP:g}",
            float(sum(run.has_stopped for _, run in found.paper)),
            0.0,
            0.0,
            subject="formula",
            shows="condition",
        ),
    ]


def _on_sphere(found: list[Sweep]) -> list[Quantity]:
    """The most clusters of 1 % and more at any beta: basins, and where the protocol stops."""
    rule = float(max(run.heavy_count for s in found for _, run in s.paper))
    most = max(float(s.particle_counts.max()) for s in found)
    return [
        Quantity(
            "S²: most basins at any beta in any setting, against clusters of particles",
            max(float(s.counts.max()) for s in found),
            most,
            0.0,
            key="most_on_sphere",
            shows="refutation",
        ),
        Quantity(
            "S²: most clusters of 1 % and more by the paper's rule at its stop, against those "
            "of particles at the time of the density",
            rule,
            most,
            0.0,
            "at most",
            key="rule_on_sphere",
            subject="formula",
            shows="refutation",
        ),
    ]


def _rule_in_the_uniform_state() -> Quantity:
    """Slope 4 pi where the rule's width is 1/(2 sqrt beta)."""
    betas = [beta for beta in BETAS if cluster_distance(beta, 2) < np.pi / 4]
    angle = 2 * np.pi * np.arange(UNIFORM_POINTS) / UNIFORM_POINTS
    uniform = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    counts = [len(clusters(uniform, cluster_distance(beta, 2))) for beta in betas]
    slope = Slope.of(betas, np.array(counts, float))
    # Windows begin at a point, so that each is longer by their spacing at most.
    lost = 4 * np.pi * max(betas) ** 0.5 * 4 * np.pi / UNIFORM_POINTS
    return Quantity(
        "uniform state: slope of the paper's rule in sqrt(beta), 4 pi",
        slope.value,
        4 * np.pi,
        lost + slope.half,
        key="uniform",
        subject="formula",
        shows="condition",
    )


if __name__ == "__main__":
    from validation.figures.shown import show

    show(main)
