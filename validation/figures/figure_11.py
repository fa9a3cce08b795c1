r"""Figure 11: number of clusters against sqrt(beta) in several dimensions.

A grid reaches d = 2 and 3, and any d for zonal densities, where all neurons are parallel to one
axis.  The paper's neurons in d > 3 are not, so that there particles stand alone; beside them
zonal runs, with the two weights of the circle on e and -e, show density and particles alike.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

import mfpde
from mfpde.concentration import threshold_distance
from mfpde.measure import AnyMeasure, Atoms, Measure
from mfpde.run import Run
from validation.claim import Claim, Quantity
from validation.figures.panels import SETTING_COLOURS, new_figure, styled
from validation.figures.paper_runs import (
    LEAST_MASS,
    Setting,
    at,
    basins,
    density_run,
)

Array = NDArray[np.float64]

CLAIM = Claim(
    title="Number of clusters against sqrt(beta) in several dimensions",
    source="Figure 11",
    statement=(
        "Clusters for d = 2, 3, 4, 8, 16 (descent, d GeLU neurons): particles in all "
        "dimensions, densities for d = 2 and 3."
    ),
    condition=(
        "Beyond d = 3 a density is within reach only where it is zonal: there it agrees with "
        "particles (d = 4, 8, 16). Late counts are two to five in every dimension and do "
        "not grow with sqrt(beta). Early ones by the threshold rule say nothing at large d: "
        "its distance is below that of neighbours in a sample, so that each particle is a "
        "cluster."
    ),
)
SETTING = Setting(1.0, "descent", "gelu")
BETAS = (0.1, 1.0, 5.0, 15.0, 25.0, 50.0)
ZONAL = (4, 8, 16)
START_SEED = 42


@dataclass(frozen=True, eq=False)
class Beside:
    """A zonal density and particles of the same equation."""

    dimension: int
    density: Run
    particles: Run


def main(quick: bool = False) -> dict[str, Any]:
    dimensions = (2, 3, 8) if quick else (2, 3, 4, 8, 16)
    betas = (5.0,) if quick else BETAS
    count, t_end = (150, 15.0) if quick else (300, 40.0)
    seen = {
        d: [_clusters(d, beta, count=count, t_end=t_end) for beta in betas]
        for d in dimensions
    }
    sizes = {2: 256, 3: 32} if quick else {2: 512, 3: 64}
    dense = {d: [_basins(d, b, (sizes[d], t_end)) for b in betas] for d in sizes}
    zonal = [_zonal(d, quick) for d in (ZONAL[:1] if quick else ZONAL)]
    quantities = [
        Quantity(
            f"d = {d}: basins of the density against clusters of particles (1 % and more), "
            "largest difference",
            float(np.abs(np.array(dense[d]) - np.array([c[0] for c in seen[d]])).max()),
            0.0,
            # A tail that has not arrived may count on one side.
            1.0,
        )
        for d in sizes
    ]
    quantities += [quantity for one in zonal for quantity in _agreement(one)]
    quantities.append(_first_distance(dimensions[-1], count))
    figure = _figure(betas, seen, dense=dense, zonal=zonal)
    return {"quantities": quantities, "figures": {"figure_11": figure}}


def _start(dimension: int, count: int) -> Atoms:
    points = np.random.default_rng(START_SEED).standard_normal((count, dimension))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return Atoms(points, np.full(count, 1 / count))


def _clusters(
    dimension: int, beta: float, *, count: int, t_end: float
) -> tuple[int, int]:
    """Clusters of 1 % and more, and all, by single linkage at the paper's distance."""
    setting = replace(SETTING, dimension=dimension, beta=beta)
    run = mfpde.solve_particles(
        setting.equation, _start(dimension, count), t_end=t_end, time_step=0.25
    )
    assert isinstance(run.final, Atoms)
    sizes = _linked(run.final, threshold_distance(beta, dimension))
    return int((sizes >= LEAST_MASS).sum()), len(sizes)


def _linked(atoms: Atoms, distance: float) -> Array:
    """Masses of single-linkage clusters."""
    chord = 2 * np.sin(distance / 2)
    pairs = cKDTree(atoms.points).query_pairs(chord, output_type="ndarray")
    size = (len(atoms), len(atoms))
    graph = coo_array((np.ones(len(pairs)), tuple(pairs.T)), shape=size)
    _, owners = connected_components(graph, directed=False)
    return np.bincount(owners, atoms.masses)


def _basins(dimension: int, beta: float, how: tuple[int, float]) -> int:
    size, t_end = how
    setting = replace(SETTING, dimension=dimension, beta=beta)
    run = density_run(setting, size, (t_end,))
    return len(basins(run.final, setting.equation))


def _zonal(dimension: int, quick: bool) -> Beside:
    """Descent at beta = 5 with the circle's weights on e and -e."""
    axis = np.eye(dimension)[-1]
    weights = mfpde.Perceptron.random(2, 2, seed=777).weights
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(5.0),
        mfpde.Perceptron([axis, -axis], weights, "gelu"),
        direction="descent",
    )
    start = mfpde.uniform(mfpde.Zonal(dimension, 128 if quick else 256))
    times = [0.0, 1.0, 3.0, 10.0]
    return Beside(
        dimension,
        density=mfpde.solve(equation, start, t_end=10.0, save_at=times),
        particles=mfpde.solve_particles(
            equation,
            mfpde.quantized(start, 300 if quick else 1500),
            t_end=10.0,
            save_at=times,
            time_step=0.25,
        ),
    )


def _agreement(found: Beside) -> list[Quantity]:
    """W1 at equal times: quantised directions stand for the uniform ones to 1/sqrt(N)."""
    count = len(found.particles.final.points)
    width = found.density.final.geometry.spacing
    return [
        Quantity(
            f"zonal, d = {found.dimension}: W1 to {count} particles at t = {t:g}",
            mfpde.wasserstein(
                at(found.density, t),
                _rings(at(found.particles, t), found.density.final.geometry),
            ),
            1 / np.sqrt(count) + width / 2,
            0.0,
            "at most",
        )
        for t in (1.0, 3.0, 10.0)
    ]


def _rings(particles: AnyMeasure, zonal: mfpde.Zonal) -> Measure:
    """Polar angles of particles as rings around the axis."""
    heights = particles.points[:, -1]
    points = np.zeros_like(particles.points)
    points[:, -1] = heights
    points[:, 0] = np.sqrt(np.maximum(1 - heights**2, 0.0))
    nothing = mfpde.Density(zonal, np.zeros_like(zonal.areas))
    return Measure(nothing, Atoms(points, particles.masses))


def _first_distance(dimension: int, count: int) -> Quantity:
    """Median distance to the nearest neighbour at the start, beside the rule's at beta = 50."""
    points = _start(dimension, count).points
    chords, _ = cKDTree(points).query(points, k=2)
    nearest = 2 * np.arcsin(np.median(chords[:, 1]) / 2)
    return Quantity(
        f"d = {dimension}: distance of neighbours among {count} particles, beside the "
        "threshold at beta = 50",
        float(nearest),
        threshold_distance(50.0, dimension),
        0.0,
        "at least",
    )


@styled
def _figure(
    betas: tuple[float, ...],
    seen: dict[int, list[tuple[int, int]]],
    *,
    dense: dict[int, list[int]],
    zonal: list[Beside],
) -> Figure:
    figure = new_figure(9.0, 3.4)
    axes = figure.subplots(1, 3)
    roots = np.sqrt(betas)
    for k, (d, rows) in enumerate(seen.items()):
        colour = SETTING_COLOURS[k]
        large, everything = np.array(rows).T
        axes[0].plot(roots, large, "o-", ms=3.5, lw=1, color=colour, label=f"d = {d}")
        axes[1].plot(roots, everything, "o-", ms=3.5, lw=1, color=colour)
        if d in dense:
            axes[0].plot(roots, dense[d], "s", ms=7, mfc="none", color=colour)
    axes[0].set_title("clusters of 1 % and more\n(squares: basins of the density)")
    axes[1].set_title("all clusters by the threshold rule")
    axes[1].set_yscale("log")
    axes[0].set_ylim(0, None)
    for ax in axes[:2]:
        ax.set_xlabel("√β")
    axes[0].legend(loc="lower right", ncols=2)
    _draw_zonal(axes[2], zonal)
    figure.suptitle("Descent, d GeLU neurons, shifted kernel")
    return figure


def _draw_zonal(ax: Axes, zonal: list[Beside]) -> None:
    edges = np.linspace(0, np.pi, 49)
    for k, found in enumerate(zonal):
        colour = SETTING_COLOURS[k]
        cells = found.density.final.density.masses
        middles = (np.arange(len(cells)) + 0.5) * np.pi / len(cells)
        particles = found.particles.final
        polar = np.arccos(np.clip(particles.points[:, -1], -1, 1))
        for where, masses, look in (
            (polar, particles.masses, {"fill": True, "alpha": 0.25}),
            (middles, cells, {"lw": 1.2, "label": f"d = {found.dimension}"}),
        ):
            found_masses, _ = np.histogram(where, edges, weights=masses)
            ax.stairs(found_masses, edges, color=colour, **look)
    ax.set_yscale("log")
    ax.set_ylim(1e-4, 1.5)
    ax.set_xlabel("angle from the axis")
    ax.set_xticks([0, np.pi / 2, np.pi], ["0", "π/2", "π"])
    ax.set_title(
        "zonal, β = 5, t = 10: mass per bin\n(lines: density, bars: particles)"
    )
    ax.legend()


if __name__ == "__main__":
    from validation.figures.shown import show

    show(main)
