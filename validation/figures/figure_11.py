r"""Figure 11: number of clusters against sqrt(beta) in several dimensions.

A grid reaches d = 2 and 3, and any d for zonal densities, where all neurons are parallel to one
axis.  The paper's neurons in d > 3 are not, so that there particles stand alone; beside them
zonal runs, with the two weights of the circle on e and -e, are compared with rings of
independent formulas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy.spatial import cKDTree

import mfpde
from validation.characteristics import moved_rings, uniform_rings
from validation.claim import Claim, Findings, Quantity, at_most, equal, mark, vanishes
from validation.figures import drawing, sweeps
from validation.figures import paper_protocol as protocol
from validation.figures.settings import Setting, at, spacing
from validation.figures.sweeps import IN_DIMENSION, LATE, InDimension, Sweep
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
HIGHER = (4, 8, 16)
ZONAL_BETA = 5.0
TIMES = (1.0, 3.0, 10.0)
OTHER_SEED = 43
ROUNDING = 1e-9
SHOWN: dict[str, Any] = {"subject": "formula", "shows": "condition"}


@CLAIM
def main(quick: bool = False) -> Findings:
    betas, dimensions = ((1.0, 5.0, 25.0), HIGHER[:1]) if quick else (BETAS, HIGHER)
    dense, higher, others, zonal = [], {}, [], []
    for d, reached in ((2, betas), (3, betas[:1] if quick else BETAS[:-1])):
        setting = replace(SETTING, dimension=d)
        dense.append(sweeps.sweep(setting, reached, quick=quick))
        yield from mark(_basins(dense[-1]), under=f"d = {d}: ")
    for d in dimensions:
        settings = [replace(SETTING, dimension=d, beta=beta) for beta in betas]
        higher[d] = [sweeps.in_dimension(setting) for setting in settings]
        others.append(sweeps.in_dimension(settings[-1], seed=OTHER_SEED))
        yield from mark(_clusters(higher[d], others[-1]), under=f"d = {d}: ")
        yield from sweeps.stationary_rows(higher[d][betas.index(ZONAL_BETA)])
        agreement, picture = _zonal(d, quick)
        zonal.append(picture)
        yield agreement
    most = max(one.number for found in higher.values() for one in found)
    row = "d > 3: most clusters of 1 % and more at the paper's stop at any beta, against seed 43"
    known = max(one.number for one in others), 1.0
    yield equal(row, most, *known, key="most", **SHOWN)
    yield _first_distance()
    yield "figure_11", _figure(dense, higher, zonal)


def _basins(found: Sweep) -> Iterator[Quantity]:
    """Basins of the density beside clusters of particles, and their slope."""
    ours, theirs = found.counts
    row = f"basins of the density at t = {LATE:g} against clusters of particles"
    yield vanishes(f"{row}, largest difference at any beta", ours - theirs, 0.0)
    if len(ours) > 2:
        # The density's basins are as many, says the row above.
        yield _no_growth("slope of the particles' clusters", found.betas, theirs)


def _no_growth(what: str, betas: Sequence[float], counts: Any) -> Quantity:
    """A slope that is not above 0 by more than half its interval."""
    row = f"{what} in sqrt(beta), against half its interval of 95 %"
    return at_most(row, *sweeps.fit_slope(betas, counts), ROUNDING, **SHOWN)


def _clusters(found: list[InDimension], other: InDimension) -> Iterator[Quantity]:
    """Clusters where the paper's protocol stops: from another sample, and their slope."""
    what, last = "clusters of 1 % and more at the paper's stop", found[-1]
    betas, numbers = [one.setting.beta for one in found], [one.number for one in found]
    yield _no_growth(f"slope of {what}", betas, numbers)
    row, about = f"{what}, β = {last.setting.beta:g}", {"subject": "formula"}
    yield equal(f"{row}: seeds 42 and 43", last.number, other.number, 0.0, **about)
    going = sum(not one.paper.has_stopped for one in found)
    yield equal(
        "runs of the paper's protocol that do not stop", going, 0.0, 0.0, **about
    )


def _zonal(dimension: int, quick: bool) -> tuple[Quantity, drawing.Draw]:
    """Descent with the circle's weights on e and -e: moments at equal times, and a picture.

    n rings leave c/n^2, of which two numbers of rings know the constant; a grid of width h
    leaves 2 h^2 (measured for d = 16 at t = 10 from h = pi/128 to pi/512).
    """
    axis = np.eye(dimension)[-1]
    weights = mfpde.Perceptron.random(2, 2, seed=777).weights
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(ZONAL_BETA),
        mfpde.Perceptron([axis, -axis], weights, "gelu"),
        direction="descent",
    )
    start = mfpde.uniform(mfpde.Zonal(dimension, 128 if quick else 256))
    run = mfpde.solve(equation, start, t_end=TIMES[-1], save_at=[0.0, *TIMES])
    counts, problem = (50, 100) if quick else (125, 250), problem_of(equation)
    rings = [moved_rings(problem, uniform_rings(dimension, n), TIMES) for n in counts]
    apart = []
    for time, few, many in zip(TIMES, *rings, strict=True):
        points, masses = cells_of(at(run, time))
        moments = masses @ points[:, -1], masses @ points[:, -1] ** 2
        apart.append(np.array(moments) - (4 * many.moments() - few.moments()) / 3)
    count, times = counts[-1], ", ".join(f"{time:g}" for time in TIMES)
    row = (
        f"zonal, d = {dimension}: means of cos θ and cos² θ at t = {times}, largest difference "
        f"to {count} rings"
    )
    agreement = vanishes(row, apart, 2 * spacing(run) ** 2 + 1 / count**2)
    drawn = {
        "rings": (many.angles, np.full(count, 1 / count)),
        "density": (np.arccos(np.clip(points[:, -1], -1, 1)), masses),
    }
    title = f"zonal, d = {dimension}, β = {ZONAL_BETA:g}, t = {TIMES[-1]:g}"
    axes = {"edges": np.linspace(0, np.pi, 49), "xlabel": "angle from the axis, rad"}
    return agreement, drawing.masses(title, drawn, **axes)


def _first_distance() -> Quantity:
    """The rule's distance at beta = 50, below that of neighbours at the start."""
    dimension = HIGHER[-1]
    points = protocol.uniform_points(IN_DIMENSION, dimension)
    chords, _ = cKDTree(points).query(points, k=2)
    row = (
        f"d = {dimension}: threshold at beta = 50, against the median distance of neighbours "
        f"among {IN_DIMENSION} particles"
    )
    median = 2 * np.arcsin(np.median(chords[:, 1]) / 2)
    distance = protocol.cluster_distance(BETAS[-1], dimension)
    return at_most(row, distance, median, key="threshold", **SHOWN)


def _figure(
    dense: Sequence[Sweep],
    higher: dict[int, list[InDimension]],
    zonal: Sequence[drawing.Draw],
) -> Figure:
    """Clusters of densities and particles, and a zonal state for each dimension."""
    axes, late, stopped = {"xlabel": "√β", "ylabel": "clusters"}, {}, {}
    for found in dense:
        late[f"density, d = {found.setting.dimension}"] = found.roots, found.counts[0]
    theirs = [(found.roots, found.counts[1]) for found in dense]
    late["particles"] = drawing.crosses(theirs)
    for d, of_d in higher.items():
        roots = np.sqrt([one.setting.beta for one in of_d])
        stopped[f"particles, d = {d}"] = roots, [one.number for one in of_d]
    upper = [
        drawing.curves(f"basins at t = {LATE:g}", late, **axes),
        drawing.curves("1 % and more at the paper's stop", stopped, **axes),
    ]
    title = "Descent, d GeLU neurons, shifted kernel"
    return drawing.draw_page(title, [upper, zonal], size=(9.4, 5.6))
