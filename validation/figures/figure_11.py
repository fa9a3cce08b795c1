r"""Figure 11: number of clusters against sqrt(beta) in several dimensions.

A grid reaches d = 2 and 3, and any d for zonal densities, where all neurons are parallel to one
axis.  The paper's neurons in d > 3 are not, so that there particles stand alone; beside them
zonal runs, with the two weights of the circle on e and -e, are compared with rings of
independent formulas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np
from matplotlib.figure import Figure
from scipy.spatial import cKDTree

import mfpde
from mfpde.plotting.palette import OKABE_ITO
from mfpde.runs.run import Run
from validation.characteristics import Rings, moved_rings, uniform_rings
from validation.claim import Claim, Quantity
from validation.figures import drawing
from validation.figures.paper_protocol import cluster_distance, uniform_points
from validation.figures.settings import Setting, at, spacing
from validation.figures.sweeps import (
    EARLY,
    IN_DIMENSION,
    InDimension,
    Sweep,
    fit_slope,
    in_dimension,
    stationary_rows,
    sweep,
)
from validation.independent import cells_of, problem_of

CLAIM = Claim(
    title="Number of clusters against sqrt(beta) in several dimensions",
    source="Figure 11",
    statement=(
        "Figure 11 shows how many clusters there are for d = 2, 3, 4, 8, 16 (descent, d GeLU "
        "neurons)."
    ),
    condition=(
        "Their number does not grow with sqrt(beta) in any dimension: no slope from beta = 1 on "
        "is above 0 by more than half its interval; at most {most:word} of a hundredth and more "
        "are there where the paper's protocol stops. Beyond d = 3 a density is within reach only "
        "where it is zonal: there it agrees with independent formulas (d = 4, 8, 16). Early "
        "counts by the threshold rule say nothing at large d: at beta = 50 its distance, "
        "{threshold:.2g} with d = 16, is below that of neighbours in a sample, so that each "
        "particle is a cluster."
    ),
)
SETTING = Setting(1.0, "descent", "gelu")
BETAS = (1.0, 5.0, 15.0, 25.0, 50.0)
CELLS: Final = {1.0: 512, 5.0: 512, 15.0: 1024, 25.0: 1024, 50.0: 1024}
RINGS: Final = {1.0: 64, 5.0: 64, 15.0: 96, 25.0: 128}
HIGHER = (4, 8, 16)
ZONAL_BETA = 5.0
TIMES = (1.0, 3.0, 10.0)
LATE = 100.0
OTHER_SEED = 43
ROUNDING = 1e-9


class ZonalRun(NamedTuple):
    """A zonal density, and rings of the same equation at the same times: few, and many."""

    dimension: int
    density: Run
    few: list[Rings]
    many: list[Rings]


def main(quick: bool = False) -> dict[str, Any]:
    betas, dimensions = ((1.0, 5.0, 25.0), HIGHER[:1]) if quick else (BETAS, HIGHER)
    sizes = (dict.fromkeys(betas, 512), {1.0: 48}) if quick else (CELLS, RINGS)
    dense = [
        sweep(replace(SETTING, dimension=d), size, (EARLY, LATE))
        for d, size in zip((2, 3), sizes, strict=True)
    ]
    higher = {
        d: [in_dimension(replace(SETTING, dimension=d, beta=b)) for b in betas]
        for d in dimensions
    }
    others = [in_dimension(f[-1].setting, seed=OTHER_SEED) for f in higher.values()]
    zonal = [_zonal(d, quick) for d in dimensions]
    quantities = [row for found in dense for row in _basins(found)]
    for found, other in zip(higher.values(), others, strict=True):
        quantities += _clusters(found, other)
    for found in higher.values():
        quantities += stationary_rows(found[betas.index(5.0)])
    quantities += [_most(higher, others), _first_distance()]
    quantities += [row for run in zonal for row in _agreement(run)]
    figure = _figure(dense, higher, zonal)
    return {"quantities": quantities, "figures": {"figure_11": figure}}


def _basins(found: Sweep) -> Iterator[Quantity]:
    """Basins of the density beside clusters of particles, and their slope."""
    name = f"d = {found.setting.dimension}"
    ours, theirs = found.counts.T
    row = (
        f"{name}: basins of the density at t = {LATE:g} against clusters of particles, "
        "largest difference at any beta"
    )
    yield Quantity(row, np.abs(ours - theirs).max(), 0.0, 0.0)
    if len(found.betas) > 2:
        # The density's basins are as many, says the row above.
        what = f"{name}: slope of the particles' clusters"
        yield _no_growth(what, found.betas, theirs)


def _no_growth(what: str, betas: Sequence[float], counts: Any) -> Quantity:
    """A slope that is not above 0 by more than half its interval."""
    return Quantity(
        f"{what} in sqrt(beta), against half its interval of 95 %",
        *fit_slope(betas, counts),
        ROUNDING,
        "at most",
        subject="formula",
        shows="condition",
    )


def _clusters(found: list[InDimension], other: InDimension) -> Iterator[Quantity]:
    """Clusters where the paper's protocol stops: from another sample, and their slope."""
    name, last = f"d = {other.setting.dimension}", found[-1]
    what = f"{name}: slope of clusters of 1 % and more at the paper's stop"
    betas = [one.setting.beta for one in found]
    yield _no_growth(what, betas, [float(one.number) for one in found])
    row = (
        f"{name}, β = {last.setting.beta:g}: clusters of 1 % and more at the paper's stop, "
        "seeds 42 and 43"
    )
    yield Quantity(row, last.number, other.number, 0.0, subject="formula")
    going = sum(not one.paper.has_stopped for one in found)
    row = f"{name}: runs of the paper's protocol that do not stop"
    yield Quantity(row, going, 0.0, 0.0, subject="formula")


def _most(higher: dict[int, list[InDimension]], others: list[InDimension]) -> Quantity:
    """Most clusters in any dimension, beside those of the other sample at one beta."""
    return Quantity(
        "d > 3: most clusters of 1 % and more at the paper's stop at any beta, against those "
        "of seed 43",
        max(one.number for found in higher.values() for one in found),
        max(one.number for one in others),
        1.0,
        key="most",
        subject="formula",
        shows="condition",
    )


def _zonal(dimension: int, quick: bool) -> ZonalRun:
    """Descent at beta = 5 with the circle's weights on e and -e."""
    axis = np.eye(dimension)[-1]
    weights = mfpde.Perceptron.random(2, 2, seed=777).weights
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(ZONAL_BETA),
        mfpde.Perceptron([axis, -axis], weights, "gelu"),
        direction="descent",
    )
    start = mfpde.uniform(mfpde.Zonal(dimension, 128 if quick else 256))
    density = mfpde.solve(equation, start, t_end=TIMES[-1], save_at=[0.0, *TIMES])
    numbers, problem = (50, 100) if quick else (125, 250), problem_of(equation)
    rings = [moved_rings(problem, uniform_rings(dimension, n), TIMES) for n in numbers]
    return ZonalRun(dimension, density, *rings)


def _agreement(found: ZonalRun) -> Iterator[Quantity]:
    """Moments at equal times.

    n rings leave c/n^2, of which two numbers of rings know the constant; a grid of width h
    leaves 2 h^2 (measured for d = 16 at t = 10 from h = pi/128 to pi/512).
    """
    for time, few, many in zip(TIMES, found.few, found.many, strict=True):
        points, masses = cells_of(at(found.density, time))
        moments = masses @ points[:, -1], masses @ points[:, -1] ** 2
        expected = (4 * many.moments() - few.moments()) / 3
        count = len(many.angles)
        yield Quantity(
            f"zonal, d = {found.dimension}: means of cos θ and cos² θ at t = {time:g}, "
            f"largest difference to {count} rings",
            np.abs(moments - expected).max(),
            0.0,
            2 * spacing(found.density) ** 2 + 1 / count**2,
        )


def _first_distance() -> Quantity:
    """The rule's distance at beta = 50, below that of neighbours at the start."""
    dimension = HIGHER[-1]
    points = uniform_points(IN_DIMENSION, dimension)
    chords, _ = cKDTree(points).query(points, k=2)
    return Quantity(
        f"d = {dimension}: threshold at beta = 50, against the median distance of neighbours "
        f"among {IN_DIMENSION} particles",
        cluster_distance(BETAS[-1], dimension),
        2 * np.arcsin(np.median(chords[:, 1]) / 2),
        0.0,
        "at most",
        key="threshold",
        subject="formula",
        shows="condition",
    )


def _figure(
    dense: Sequence[Sweep],
    higher: dict[int, list[InDimension]],
    zonal: Sequence[ZonalRun],
) -> Figure:
    """Clusters of densities and particles, and a zonal state for each dimension."""
    figure, ((left, right, *others), below) = drawing.new_page(2, 3, (9.4, 5.6))
    for rank, found in enumerate(dense):
        label = f"density, d = {found.setting.dimension}"
        look = {"color": OKABE_ITO[("sky", "green")[rank]], "label": label}
        ours, theirs = found.counts.T
        drawing.draw_sweep(left, found.betas, ours, rank=rank, particles=theirs, **look)
    left.set_title(f"basins at t = {LATE:g}")
    for rank, (d, of_d) in enumerate(higher.items()):
        look = {**drawing.LOOKS[d], "label": f"particles, d = {d}"}
        betas = [one.setting.beta for one in of_d]
        numbers = [one.number for one in of_d]
        drawing.draw_sweep(right, betas, numbers, rank=rank, **look)
    right.set_title("1 % and more at the paper's stop")
    for ax in (left, right):
        drawing.small_counts(ax)
        ax.set_ylabel("clusters")
    for ax in (*others, *below[len(zonal) :]):
        ax.set_axis_off()
    for ax, run in zip(below, zonal, strict=False):
        points, masses = cells_of(run.density.final)
        rings = run.many[-1].angles
        drawn = {
            "particles or rings": (rings, np.full(len(rings), 1 / len(rings))),
            "density": (np.arccos(np.clip(points[:, -1], -1, 1)), masses),
        }
        drawing.draw_masses(ax, np.linspace(0, np.pi, 49), drawn, top=4.0)
        ax.set(xlabel="angle from the axis", ylabel="mass per bin")
        ax.set_xticks([0, np.pi / 2, np.pi], ["0", "π/2", "π"])
        ax.set_title(
            f"zonal, d = {run.dimension}, β = {ZONAL_BETA:g}, t = {TIMES[-1]:g}"
        )
    return drawing.finish_page(figure, "Descent, d GeLU neurons, shifted kernel")
