r"""Figure 9: number of clusters against sqrt(beta), all settings.

Counts are two: basins of the density's velocity that hold an atom, beside clusters of particles at
the same time; and the paper's own, clusters of width min(1/(2 sqrt beta), pi/(2 d)) where its
protocol stops or is given up (``paper_protocol``, which shares no code with ``mfpde``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import mfpde
from mfpde.plotting.palette import OKABE_ITO
from validation.claim import Claim, Quantity
from validation.figures import drawing
from validation.figures.paper_protocol import PARTICLES, cluster_distance, clusters
from validation.figures.settings import BETAS, TURN, Setting, counts, threshold_counts
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
ON_CIRCLE: Final = (
    Setting(1.0, "ascent", "relu"),
    Setting(1.0, "ascent", "gelu"),
    Setting(1.0, "descent", "relu"),
    Setting(1.0, "descent", "gelu"),
    Setting(1.0, "ascent", "relu", normalized=True),
)
ON_SPHERE: Final = tuple(
    Setting(1.0, direction, activation, dimension=3)
    for direction in ("ascent", "descent")
    for activation in ("relu", "gelu")
)
COLOURS: Final = ("green", "purple", "orange", "sky", "black")
"""Of the settings, on S^1 and on S^2."""
RINGS: Final = {0.1: 64, 1.0: 64, 5.0: 64, 15.0: 96, 25.0: 128}
"""Rings by beta: 23 sqrt(beta) and more, which exact atoms need."""
PAPER_BETAS: Final = (0.1, 1.0, 5.0, 10.0, 15.0, 25.0, 35.0, 50.0)
QUICK_BETAS: Final = (0.1, 1.0, 5.0, 15.0)
ALONE_BETAS: Final = (3.0, 5.0, 7.0, 10.0, 15.0, 25.0, 35.0, 50.0)
GIVE_UP: Final = 300.0
ACTS: Final = 1.0
"""From this beta on attention's range is shorter than the circle."""
UNIFORM_POINTS: Final = 10_000
ROUNDING: Final = 1e-9
AMPLITUDE, MODES, NEIGHBOUR = 1e-3, 24, 1.0
GROWTH_TIMES: Final = (1.0, 1.5, 2.0)
SHOWN_BETA: Final = 25.0


def main(quick: bool = False) -> dict[str, Any]:
    times = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
    given = {"protocol": PAPER_BETAS, "give_up": GIVE_UP, "count": PARTICLES}
    betas, settings = BETAS, ON_CIRCLE
    if quick:
        times = (1.0, 2.0, 10.0, 100.0)
        given = {"protocol": QUICK_BETAS, "give_up": 200.0, "count": 300}
        betas, settings = QUICK_BETAS, ON_CIRCLE[:2]
    cells = {b: 400 if quick else 512 if b < 7 else 1024 for b in betas}
    circle = [sweep(setting, cells, times, **given) for setting in settings]
    sphere = [sweep(s, RINGS, times, **given) for s in (() if quick else ON_SPHERE)]
    alone = _first_clusters(quick)
    quantities = [
        *[row for found in (*circle, *sphere) for row in _against_particles(found)],
        *[row for found in circle for row in _growth(found)],
        *(_on_sphere(sphere) if sphere else ()),
        _rule_in_the_uniform_state(),
        *_as_the_fastest_mode(alone),
    ]
    figures = {"figure_09": _figure(circle, sphere, alone)}
    return {"quantities": quantities, "figures": figures}


def _name(setting: Setting) -> str:
    """Name of a setting, whatever its beta."""
    softmax = "softmax " if setting.normalized else ""
    sphere = {2: "S¹", 3: "S²"}[setting.dimension]
    return f"{sphere} {softmax}{setting.direction} {setting.neurons}"


def _against_particles(found: Sweep) -> Iterator[Quantity]:
    """Numbers of clusters and heaviest masses at every beta."""
    name = _name(found.setting)
    kind = "basins of 1 % and more" if found.setting.dimension == 2 else "clusters"
    moving = max(found.points, key=lambda p: p.early_difference / p.early_error)
    row = (
        f"{name}: moments of degrees 1 and 2 at t = {EARLY:g}, largest difference to "
        "particles at any beta"
    )
    yield Quantity(row, moving.early_difference, 0.0, moving.early_error)
    yield Quantity(
        f"{name}: numbers of {kind}, largest difference to particles at any beta",
        max(
            abs(ours - theirs)
            for ours, theirs in (p.heavy_counts for p in found.points)
        ),
        0.0,
        0.0,
    )
    yield found.heaviest_row(f"{name}: heaviest mass within the paper's distance")


def _growth(found: Sweep) -> Iterator[Quantity]:
    """Slopes in sqrt(beta): of basins, and of the paper's rule at its stop or ``GIVE_UP``."""
    name = _name(found.setting)
    key = name.replace("¹", "1").lower().replace(" ", "_")
    if found.setting.activation == "gelu":
        yield from _constant(found.above(ACTS), name, key)
    elif found.setting.direction == "descent":
        yield from _leaking(found, name, key)
    else:
        yield from _growing(found, name, key)


def _growing(found: Sweep, name: str, key: str) -> Iterator[Quantity]:
    """Both slopes are above 0, and the same."""
    ours, theirs, rule = found.slopes
    about: dict[str, Any] = {"subject": "formula", "shows": "condition"}
    yield Quantity(
        f"{name}: slope of basins in sqrt(beta), against particles",
        ours.value,
        theirs.value,
        theirs.half / 2,
        key=f"slope_{key}",
        shows="condition",
    )
    row = f"{name}: slope of the particles' basins, against half its interval of 95 %"
    yield Quantity(row, *theirs, 0.0, "at least", **about)
    row = f"{name}: slope of the paper's rule at its end, against half its interval"
    yield Quantity(row, *rule, 0.0, "at least", key=f"rule_{key}", **about)
    row = f"{name}: slope of basins, against that of the paper's rule"
    yield Quantity(row, ours.value, rule.value, ours.half + rule.half)


def _constant(found: Sweep, name: str, key: str) -> Iterator[Quantity]:
    """From ``ACTS`` on: slopes that their intervals do not tell from 0, and the number."""
    ours, theirs, rule = found.slopes
    row = (
        f"{name}: slope of basins, beta >= {ACTS:g}, within half the interval of 95 % of "
        "the particles'"
    )
    yield Quantity(row, ours.value, 0.0, theirs.half + ROUNDING, shows="refutation")
    yield Quantity(
        f"{name}: slope of the paper's rule at its end, beta >= {ACTS:g}, within half "
        "its interval",
        rule.value,
        0.0,
        rule.half + ROUNDING,
        subject="formula",
        shows="refutation",
    )
    row = f"{name}: most basins, beta >= {ACTS:g}, against particles"
    yield Quantity(
        row, *found.counts.max(axis=0), 0.0, key=f"most_{key}", shows="refutation"
    )


def _leaking(found: Sweep, name: str, key: str) -> Iterator[Quantity]:
    """Descent with ReLU neurons: the dead zone leaks, and the paper's rule does not stop."""
    ours, theirs, _ = found.above(ACTS).slopes
    about: dict[str, Any] = {"subject": "formula", "shows": "condition"}
    yield Quantity(
        f"{name}: slope of basins, beta >= {ACTS:g}, against particles",
        ours.value,
        theirs.value,
        theirs.half / 2,
        key=f"slope_{key}",
        shows="condition",
    )
    row = (
        f"{name}: slope of the paper's rule at t = {GIVE_UP:g}, against half its interval "
        "of 95 %"
    )
    yield Quantity(row, *found.slopes[2], 0.0, "at least", key=f"rule_{key}", **about)
    stopped = sum(run.has_stopped for run in found.paper.values())
    row = f"{name}: runs of the paper's protocol that stop before t = {GIVE_UP:g}"
    yield Quantity(row, stopped, 0.0, 0.0, **about)


def _on_sphere(found: list[Sweep]) -> Iterator[Quantity]:
    """The most clusters of 1 % and more at any beta: basins, and where the protocol stops."""
    rule = max(run.heavy_count for one in found for run in one.paper.values())
    ours, theirs = np.max([one.counts.max(axis=0) for one in found], axis=0)
    row = "S²: most basins at any beta in any setting, against clusters of particles"
    yield Quantity(row, ours, theirs, 0.0, key="most_on_sphere", shows="refutation")
    yield Quantity(
        "S²: most clusters of 1 % and more by the paper's rule at its stop, against those "
        "of particles at the time of the density",
        rule,
        theirs,
        0.0,
        "at most",
        key="rule_on_sphere",
        subject="formula",
        shows="refutation",
    )


def _rule_in_the_uniform_state() -> Quantity:
    """Slope 4 pi where the rule's width is 1/(2 sqrt beta)."""
    betas = [beta for beta in BETAS if cluster_distance(beta, 2) < np.pi / 4]
    angle = TURN * np.arange(UNIFORM_POINTS) / UNIFORM_POINTS
    uniform = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    rule = [float(len(clusters(uniform, cluster_distance(b, 2)))) for b in betas]
    slope = fit_slope(betas, rule)
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

    def rippled(points: Array) -> Array:
        angle = np.arctan2(points[..., 1], points[..., 0])[..., np.newaxis]
        return np.asarray(1 + AMPLITUDE * np.cos(modes * angle + phases).sum(axis=-1))

    start = mfpde.Density.from_function(circle, rippled)
    for beta in (5.0, 10.0, 25.0) if quick else ALONE_BETAS:
        equation = mfpde.MeanFieldEquation(mfpde.Attention(beta), direction="ascent")
        rates = mfpde.theory.growth_rates(beta, 2, modes, direction="ascent")
        grown = float(np.log(1 / AMPLITUDE) / rates.max())
        times = [share * grown for share in GROWTH_TIMES]
        run = mfpde.solve(equation, start, t_end=times[-1], save_at=times)
        found[beta] = counts(run)
    return found


def _as_the_fastest_mode(found: dict[float, Array]) -> Iterator[Quantity]:
    """As many clusters as the fastest mode has crests, up to the interval of the slope."""
    betas = list(found)
    modes = np.array([mfpde.theory.fastest_mode(b, 2) for b in betas], float)
    most = np.array([values.max() for values in found.values()])
    # Neighbours of the fastest mode grow nearly as fast, and phases are random.
    row = (
        "attention alone, ascent: first clusters against the fastest mode, largest "
        "difference at any beta"
    )
    yield Quantity(row, np.abs(most - modes).max(), 0.0, NEIGHBOUR)
    yield Quantity(
        "attention alone, ascent: slope of first clusters in sqrt(beta), as the fastest "
        "mode's",
        fit_slope(betas, most).value,
        fit_slope(betas, modes).value,
        NEIGHBOUR / float(np.ptp(np.sqrt(betas))),
        key="alone",
        shows="condition",
    )


# Picture -------------------------------------------------------------------------------------


def _figure(
    circle: Sequence[Sweep], sphere: Sequence[Sweep], alone: dict[float, Array]
) -> Figure:
    """Late counts against sqrt(beta), the paper's beside them, and counts in time."""
    figure, (upper, lower) = drawing.new_page(2, 3, (9.4, 6.0))
    time = circle[0].points[0].run.final_time
    for ax, sweeps, name in ((upper[0], circle, "S¹"), (upper[2], sphere, "S²")):
        for rank, found in enumerate(sweeps):
            ours, theirs = found.counts.T
            look = {
                "color": OKABE_ITO[COLOURS[rank]],
                "label": _name(found.setting)[3:],
            }
            drawing.draw_sweep(
                ax, found.betas, ours, rank=rank, particles=theirs, **look
            )
        drawing.small_counts(ax)
        ax.set_title(f"{name}: basins at t = {time:g}")
    for rank, found in enumerate(circle):
        colour, betas = OKABE_ITO[COLOURS[rank]], list(found.paper)
        values = np.array([run.count for run in found.paper.values()])
        going = np.array([not run.has_stopped for run in found.paper.values()])
        drawing.draw_sweep(upper[1], betas, values, rank=rank, color=colour)
        look = {"rank": rank, "lw": 0, "color": colour, "mfc": "white"}
        drawing.draw_sweep(upper[1], np.array(betas)[going], values[going], **look)
        beta = SHOWN_BETA if SHOWN_BETA in found.betas else max(found.betas)
        run = found.points[found.betas.index(beta)].run
        look = {"where": "post", "color": colour, "lw": 3.6 - 0.7 * rank}
        lower[1].step(run.times, counts(run), **look)
        lower[2].step(run.times, threshold_counts(run, beta), **look)
    roots = np.linspace(0, 7.1, 50)
    upper[1].plot(roots, 4 * np.pi * roots, "--", color="0.5", lw=0.8)
    upper[1].annotate("4π√β: uniform", (3.0, 45), fontsize=7, color="0.4", ha="right")
    upper[1].set_title("S¹: the paper's protocol\n(hollow: given up, not stopped)")
    for rank, share in enumerate(GROWTH_TIMES):
        values = np.array([found[rank] for found in alone.values()])
        look = {"marker": "os^"[rank], "lw": 0, "color": str(0.3 * rank)}
        label = f"alone, at {share:g} × growth time"
        drawing.draw_sweep(
            lower[0], list(alone), values, rank=rank, label=label, **look
        )
    modes = [mfpde.theory.fastest_mode(b, 2) for b in alone]
    lower[0].plot(
        np.sqrt(list(alone)), modes, color="0.6", lw=0.9, label="fastest mode"
    )
    drawing.small_counts(lower[0])
    lower[0].set_title("S¹: attention alone, ascent")
    for ax in lower[1:]:
        drawing.logarithmic_time(ax, run.times)
    drawing.small_counts(lower[1])
    lower[1].set_title(f"S¹, β = {beta:g}: basins")
    lower[2].set_title(f"S¹, β = {beta:g}: the paper's rule on the density")
    for ax in (upper[1], lower[2]):
        drawing.count_axis(ax)
    for ax in (*upper, *lower):
        ax.set_ylabel("clusters")
    return drawing.finish_page(figure, "Clusters against √β, shifted kernel")
