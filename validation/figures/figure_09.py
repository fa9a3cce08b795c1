r"""Figure 9: number of clusters against sqrt(beta), all settings, as counts against time.

The paper counts clusters of width min(1/(2 sqrt beta), pi/(2 d)).  In the uniform state that
rule finds 2 pi / width = 4 pi sqrt(beta) of them on the circle, whatever the dynamics.  Here
clusters are basins of the velocity field that hold an atom; the rule stands beside them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mfpde
from mfpde.concentration import threshold_distance
from validation.claim import Claim, Quantity
from validation.figures.count_curves import (
    Sweep,
    all_basins,
    counts_figure,
    late,
    setting_name,
)
from validation.figures.paper_runs import (
    BETAS,
    TURN,
    Setting,
    counts,
    density_run,
    threshold_count,
)

Array = NDArray[np.float64]

CLAIM = Claim(
    title="Number of clusters against sqrt(beta), all settings",
    source="Figure 9",
    statement="The number of clusters grows in proportion to sqrt(beta).",
    refutation=(
        "With the perceptron it does not: basins of the velocity field that hold an atom "
        "number one to five at every beta, three or fewer in descent and with GeLU neurons; "
        "where the number grows (ReLU in ascent, slope 0.5) it is attention alone that acts, "
        "in the neurons' dead zone. What grows like 4 pi sqrt(beta) is the threshold rule "
        "itself, which gives that in the uniform state, whatever the flow, and falls to the "
        "number of basins only when all tails have arrived: in descent with ReLU neurons, "
        "whose dead zone leaks slowly, it still shows a law at t = 100. Attention alone in "
        "ascent does have one, that of the fastest mode, until its clusters merge."
    ),
)
CIRCLE = (
    Setting(1.0, "ascent", "relu"),
    Setting(1.0, "ascent", "gelu"),
    Setting(1.0, "descent", "relu"),
    Setting(1.0, "descent", "gelu"),
    Setting(1.0, "ascent", "relu", normalized=True),
)
SPHERE = (
    Setting(1.0, "ascent", "relu", dimension=3),
    Setting(1.0, "ascent", "gelu", dimension=3),
    Setting(1.0, "descent", "relu", dimension=3),
    Setting(1.0, "descent", "gelu", dimension=3),
)
SPHERE_BETAS = (0.1, 1.0, 5.0, 15.0, 25.0)
ALONE_BETAS = (3.0, 5.0, 7.0, 10.0, 15.0, 25.0, 35.0, 50.0)
AMPLITUDE = 1e-3
MODES = 24
MOST = 5
"""More clusters than this, at any beta, would be a law in sqrt(beta): at beta = 50 it is 89."""


def main(quick: bool = False) -> dict[str, Any]:
    cells, rings, t_end = (256, 32, 30.0) if quick else (512, 64, 100.0)
    betas = (0.1, 1.0, 5.0) if quick else BETAS
    sphere_betas = (1.0,) if quick else SPHERE_BETAS
    circle = CIRCLE[1:3] if quick else CIRCLE
    sphere = SPHERE[3:] if quick else SPHERE
    times = (
        (1.0, 3.0, 10.0, t_end) if quick else (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, t_end)
    )
    on_circle = {s: _sweep(s, betas, size=cells, times=times) for s in circle}
    on_coarse = {s: _sweep(s, betas, size=cells // 2, times=times[-1:]) for s in circle}
    on_sphere = {s: _sweep(s, sphere_betas, size=rings, times=times) for s in sphere}
    alone = _alone((5.0, 25.0) if quick else ALONE_BETAS, 256 if quick else 512)
    quantities = [
        *_rule_at_the_start(betas),
        *_circle_counts(on_circle, on_coarse),
        *_sphere_counts(on_sphere),
        *_fastest_mode(alone),
    ]
    figure = counts_figure(on_circle, on_sphere, alone)
    return {"quantities": quantities, "figures": {"figure_09": figure}}


def _sweep(
    setting: Setting,
    betas: tuple[float, ...],
    *,
    size: int,
    times: tuple[float, ...],
) -> Sweep:
    return {
        beta: density_run(replace(setting, beta=beta), size, times) for beta in betas
    }


def _alone(betas: tuple[float, ...], cells: int) -> dict[float, Array]:
    """Attention alone in ascent: numbers of basins at several times after growth.

    The uniform state is stationary, so that it is perturbed; a mode of rate g has grown
    from the amplitude to order 1 at log(1/amplitude)/g.
    """
    found = {}
    for beta in betas:
        circle = mfpde.Circle(cells)
        equation = mfpde.MeanFieldEquation(mfpde.Attention(beta), direction="ascent")
        rates = mfpde.theory.growth_rates(
            beta, 2, range(1, MODES + 1), direction="ascent"
        )
        grown = float(np.log(1 / AMPLITUDE) / rates.max())
        run = mfpde.solve(
            equation,
            _ripples(circle),
            t_end=2 * grown,
            save_at=[grown, 1.5 * grown, 2 * grown],
        )
        found[beta] = counts(run)
    return found


def _ripples(circle: mfpde.Circle) -> mfpde.Density:
    """The uniform density with all modes that can grow, equally strong, at random phases."""
    phases = np.random.default_rng(1).uniform(0, TURN, MODES)

    def density(points: Array) -> Array:
        angle = np.arctan2(points[..., 1], points[..., 0])[..., np.newaxis]
        waves = np.cos(np.arange(1, MODES + 1) * angle + phases).sum(axis=-1)
        return np.asarray(1 + AMPLITUDE * waves)

    return mfpde.Density.from_function(circle, density)


def _rule_at_the_start(betas: tuple[float, ...]) -> list[Quantity]:
    """The rule on the uniform state: slope 4 pi where its width is 1/(2 sqrt beta)."""
    uniform = mfpde.uniform(mfpde.Circle(512))
    used = [b for b in betas if threshold_distance(b, 2) < np.pi / 4]
    roots = np.sqrt(used)
    found = np.array([threshold_count(uniform, b) for b in used])
    slope = float((roots @ found) / (roots @ roots))
    # Counts are rounded up, and 1000 points stand 2 pi / 1000 apart.
    error = float(np.sqrt(len(used)) / np.sqrt(roots @ roots)) + 4 * np.pi * float(
        roots.max() * 2 * TURN / 1000
    )
    return [
        Quantity(
            "uniform state: slope of the threshold count in sqrt(beta), 4 pi",
            slope,
            4 * np.pi,
            error,
        )
    ]


def _circle_counts(
    found: dict[Setting, Sweep], coarse: dict[Setting, Sweep]
) -> list[Quantity]:
    quantities = []
    for setting, sweep in found.items():
        name = setting_name(setting)
        last = late(sweep)
        both = [all_basins(sweep), all_basins(coarse[setting])]
        slope, error = _slope(list(sweep), last)
        quantities += [
            Quantity(
                f"{name}: most basins at any beta", last.max(), MOST, 0.0, "at most"
            ),
            Quantity(
                f"{name}: slope in sqrt(beta) (standard error {error:.2g}), beside a tenth of "
                "the rule's 4 pi",
                slope,
                4 * np.pi / 10,
                0.0,
                "at most",
            ),
            # A cluster that forms or merges just then may be there on one grid only.
            Quantity(
                f"{name}: basins on half the cells, whatever their verdict, largest "
                "difference",
                float(np.abs(both[0] - both[1]).max()),
                0.0,
                1.0,
            ),
        ]
        if (setting.direction, setting.activation) == ("descent", "relu"):
            quantities.append(_leaking(name, sweep))
    return quantities


def _leaking(name: str, sweep: Sweep) -> Quantity:
    """Largest excess of the threshold rule over the basins at the last time: leaking tails."""
    rule = np.array([threshold_count(run.final, beta) for beta, run in sweep.items()])
    return Quantity(
        f"{name}: largest excess of the threshold rule over the basins, late",
        float((rule - late(sweep)).max()),
        MOST,
        0.0,
        "at least",
    )


def _sphere_counts(found: dict[Setting, Sweep]) -> list[Quantity]:
    return [
        Quantity(
            f"{setting_name(setting)}: most basins at any beta",
            late(sweep).max(),
            MOST,
            0.0,
            "at most",
        )
        for setting, sweep in found.items()
    ]


def _fastest_mode(alone: dict[float, Array]) -> list[Quantity]:
    """Attention alone: as many clusters as the fastest mode has crests, or its neighbours."""
    betas = np.array(list(alone))
    expected = np.array([mfpde.theory.fastest_mode(b, 2) for b in betas], float)
    most = np.array([values.max() for values in alone.values()])
    slope, error = _slope(list(betas), most)
    theirs, _ = _slope(list(betas), expected)
    return [
        Quantity(
            "attention alone, ascent: slope of first clusters in sqrt(beta), as the "
            "fastest mode's",
            slope,
            theirs,
            max(3 * error, 0.3 * theirs),
        )
    ]


def _slope(betas: list[float], values: Array) -> tuple[float, float]:
    """Slope of values in sqrt(beta) by least squares, and its standard error."""
    roots = np.sqrt(betas)
    design = np.stack([np.ones_like(roots), roots], axis=1)
    solution, *_ = np.linalg.lstsq(design, values, rcond=None)
    freedom = max(len(roots) - 2, 1)
    variance = float(((values - design @ solution) ** 2).sum()) / freedom
    covariance = variance * np.linalg.inv(design.T @ design)
    return float(solution[1]), float(np.sqrt(covariance[1, 1]))


if __name__ == "__main__":
    from validation.figures.shown import show

    show(main)
