r"""Figure 11: number of clusters against sqrt(beta) in several dimensions.

A grid reaches d = 2 and 3, and any d for zonal densities, where all neurons are parallel to one
axis.  The paper's neurons in d > 3 are not, so that there particles stand alone; beside them
zonal runs, with the two weights of the circle on e and -e, are compared with rings of
independent formulas.

For d = 2, single linkage at the paper's distance finds fewer clusters than there are basins:
it chains along the tail between two of them.  So basins of the density are compared with basins
of the particles' own velocity.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import numpy as np
from scipy.spatial import cKDTree

import mfpde
from validation.claim import Claim, Quantity
from validation.figures.beta_sweeps import EARLY, Protocol, Slope, Sweep, sweep
from validation.figures.dimension_curves import ZonalRun, dimensions_figure
from validation.figures.dimensions import (
    InDimension,
    in_dimension,
    stationary_quantities,
)
from validation.figures.paper_protocol import cluster_distance, uniform_points
from validation.figures.paper_runs import Setting, at
from validation.figures.zonal_rings import moved_rings, uniform_rings
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
COUNT = 300
HIGHER = (4, 8, 16)
ZONAL_BETA = 5.0
TIMES = (1.0, 3.0, 10.0)
LATE = 100.0
NO_PROTOCOL = Protocol((), 0.0, 0)
OTHER_SEED = 43
ROUNDING = 1e-9


def main(quick: bool = False) -> dict[str, Any]:
    betas = (1.0, 5.0, 25.0) if quick else BETAS
    cells = dict.fromkeys(betas, 512) if quick else CELLS
    sphere_rings = {1.0: 48} if quick else RINGS
    dense = [
        sweep(SETTING, cells, (EARLY, LATE), protocol=NO_PROTOCOL),
        sweep(
            replace(SETTING, dimension=3),
            sphere_rings,
            (EARLY, LATE),
            protocol=NO_PROTOCOL,
        ),
    ]
    higher = {
        d: [in_dimension(replace(SETTING, dimension=d, beta=b), COUNT) for b in betas]
        for d in (HIGHER[:1] if quick else HIGHER)
    }
    zonal = [_zonal(d, quick) for d in (HIGHER[:1] if quick else HIGHER)]
    quantities = [q for found in dense for q in _basins(found)]
    others = {
        d: in_dimension(found[-1].setting, COUNT, seed=OTHER_SEED)
        for d, found in higher.items()
    }
    quantities += [q for d in higher for q in _clusters(d, higher[d], others[d])]
    quantities += [
        q
        for found in higher.values()
        for q in stationary_quantities(found[betas.index(5.0)])
    ]
    quantities += [_most(higher, list(others.values())), _first_distance()]
    quantities += [q for found in zonal for q in _agreement(found)]
    figure = dimensions_figure(dense, higher, zonal)
    return {"quantities": quantities, "figures": {"figure_11": figure}}


def _basins(found: Sweep) -> list[Quantity]:
    """Basins of the density beside clusters of particles, and their slope."""
    name = f"d = {found.setting.dimension}"
    quantities = [
        Quantity(
            f"{name}: basins of the density at t = {LATE:g} against clusters of particles, "
            "largest difference at any beta",
            float(np.abs(found.counts - found.particle_counts).max()),
            0.0,
            0.0,
        )
    ]
    if len(found.betas) > 2:
        # The density's basins are as many, says the row above.
        slope = Slope.of(found.betas, found.particle_counts)
        quantities.append(
            Quantity(
                f"{name}: slope of the particles' clusters in sqrt(beta), against half its "
                "interval of 95 %",
                slope.value,
                slope.half,
                ROUNDING,
                "at most",
                subject="formula",
                shows="condition",
            )
        )
    return quantities


def _clusters(
    dimension: int, found: list[InDimension], other: InDimension
) -> list[Quantity]:
    """Clusters where the paper's protocol stops: from another sample, and their slope."""
    numbers = np.array([f.number for f in found], float)
    slope = Slope.of([f.setting.beta for f in found], numbers)
    (chosen,) = [f for f in found if f.setting == other.setting]
    return [
        Quantity(
            f"d = {dimension}: slope of clusters of 1 % and more at the paper's stop in "
            "sqrt(beta), against half its interval of 95 %",
            slope.value,
            slope.half,
            ROUNDING,
            "at most",
            subject="formula",
            shows="condition",
        ),
        Quantity(
            f"d = {dimension}, β = {chosen.setting.beta:g}: clusters of 1 % and more at the "
            "paper's stop, seeds 42 and 43",
            float(chosen.number),
            float(other.number),
            0.0,
            subject="formula",
        ),
        Quantity(
            f"d = {dimension}: runs of the paper's protocol that do not stop",
            float(sum(not f.paper.has_stopped for f in found)),
            0.0,
            0.0,
            subject="formula",
        ),
    ]


def _most(higher: dict[int, list[InDimension]], others: list[InDimension]) -> Quantity:
    """Most clusters in any dimension, beside those of the other sample at one beta."""
    return Quantity(
        "d > 3: most clusters of 1 % and more at the paper's stop at any beta, against those "
        "of seed 43",
        float(max(f.number for found in higher.values() for f in found)),
        float(max(f.number for f in others)),
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
    rings = [uniform_rings(dimension, n) for n in ((50, 100) if quick else (125, 250))]
    problem = problem_of(equation)
    return ZonalRun(
        dimension,
        density=mfpde.solve(equation, start, t_end=TIMES[-1], save_at=[0.0, *TIMES]),
        rings=[moved_rings(problem, start, TIMES) for start in rings],
    )


def _agreement(found: ZonalRun) -> list[Quantity]:
    """Moments at equal times.

    n rings leave c/n^2, of which two numbers of rings know the constant; a grid of width h
    leaves 2 h^2 (measured for d = 16 at t = 10 from h = pi/128 to pi/512).
    """
    quantities = []
    for time, few, many in zip(TIMES, *found.rings, strict=True):
        points, masses = cells_of(at(found.density, time))
        heights = points[:, -1]
        moments = np.array([masses @ heights, masses @ heights**2])
        expected = (4 * many.moments() - few.moments()) / 3
        quantities.append(
            Quantity(
                f"zonal, d = {found.dimension}: means of cos θ and cos² θ at t = {time:g}, "
                f"largest difference to {len(many.angles)} rings",
                float(np.abs(moments - expected).max()),
                0.0,
                2 * found.density.final.geometry.spacing**2 + 1 / len(many.angles) ** 2,
            )
        )
    return quantities


def _first_distance() -> Quantity:
    """The rule's distance at beta = 50, below that of neighbours at the start."""
    dimension = HIGHER[-1]
    points = uniform_points(COUNT, dimension)
    chords, _ = cKDTree(points).query(points, k=2)
    return Quantity(
        f"d = {dimension}: threshold at beta = 50, against the median distance of neighbours "
        f"among {COUNT} particles",
        cluster_distance(BETAS[-1], dimension),
        2 * float(np.arcsin(np.median(chords[:, 1]) / 2)),
        0.0,
        "at most",
        key="threshold",
        subject="formula",
        shows="condition",
    )


if __name__ == "__main__":
    from validation.figures.shown import show

    show(main)
