"""Runs on S^2: what figures 4 and 7 have in common.

Densities beside particles from the uniform measure: W1 at an early time, basins, masses and
places of the late atoms, histograms of both angles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

import mfpde
from mfpde.measure import AnyMeasure, Atoms, as_measure
from mfpde.plotting.style import ATOM, DENSITY
from mfpde.run import Run
from validation.claim import Quantity
from validation.figures.panels import angle_axis, new_figure, styled
from validation.figures.paper_runs import (
    Setting,
    at,
    basins,
    density_run,
    particle_run,
    share_near,
    spacing,
)

Array = NDArray[np.float64]

BINS = 36
RINGS_PER_ROOT = 23
"""Rings over sqrt(beta) from which clusters go on as exact atoms."""
CORE_CELLS = 4
"""Radius of a core in cells, as in the reports of concentration."""


@dataclass(frozen=True, eq=False)
class OnSphere:
    """The density on two grids, many particles early on and few to the end."""

    setting: Setting
    run: Run
    coarse: Run
    many: Run
    few: Run

    @cached_property
    def atoms(self) -> Atoms:
        """The atoms of the last state."""
        return basins(self.run.final, self.setting.equation)


def on_sphere(setting: Setting, *, quick: bool, t_end: float) -> OnSphere:
    """Run a setting to ``t_end`` on the sphere."""
    rings, many, few = (32, 400, 200) if quick else (96, 10_000, 1500)
    early = 1.0
    coarse = 32 if quick else rings * 2 // 3
    atoms = "exact" if coarse >= RINGS_PER_ROOT * setting.beta**0.5 else "grid"
    return OnSphere(
        setting,
        run=density_run(setting, rings, (early, t_end), atoms=atoms),
        coarse=density_run(setting, coarse, (early, t_end), atoms=atoms),
        many=particle_run(setting, many, (early,), time_step=0.2),
        few=particle_run(setting, few, (early, t_end), time_step=0.25),
    )


def sphere_quantities(found: OnSphere) -> list[Quantity]:
    """W1 early; counts, places and masses late."""
    name, width = str(found.setting), spacing(found.run)
    time = float(found.many.times[-1])
    count = len(found.many.final.points)
    report = mfpde.wasserstein_report(
        at(found.run, time), found.many.final, support=800
    )
    atoms, other = found.atoms, basins(found.coarse.final, found.setting.equation)
    share = share_near(found.few.final, atoms.points)  # type: ignore[arg-type]
    number = len(found.few.final.points)
    # A single atom's mass may exceed 1 by rounding.
    error = np.sqrt(atoms.masses * np.maximum(1 - atoms.masses, 0.0) / number)
    cap = CORE_CELLS * width
    cap = CORE_CELLS * width
    centres = _centres(found.few.final, atoms, cap)
    quantities = [
        # The plan knows W1 to its bound; particles stand 1/sqrt(N) apart.
        Quantity(
            f"{name}: W1 to {count} particles at t = {time:g}",
            report.value,
            report.error_bound + 1 / np.sqrt(count) + width / 2,
            0.0,
            "at most",
        ),
        Quantity(
            f"{name}: atoms on a coarser grid",
            float(len(other)),
            float(len(atoms)),
            0.0,
        ),
        Quantity(
            f"{name}: masses against {number} particles, in standard errors",
            float((np.abs(share - atoms.masses) / np.maximum(error, 1e-3)).max()),
            3.0,
            0.0,
            "at most",
        ),
        Quantity(
            f"{name}: centres of the particles' clusters from the atoms, in cells",
            float(np.linalg.norm(centres - atoms.points, axis=1).max() / width),
            1.0,
            0.0,
            "at most",
        ),
    ]
    if found.run.events:
        quantities.append(
            Quantity(
                f"{name}: mass within {CORE_CELLS} cells of the heaviest atom",
                _mass_within(found.run.final, atoms.points[0], cap),
                _mass_within(found.few.final, atoms.points[0], cap),
                0.01,
            )
        )
    return quantities


def at_rest(found: OnSphere) -> list[Quantity]:
    """In descent: the stationary state beside the atoms, and E above its minimum."""
    name, width = str(found.setting), spacing(found.run)
    polished = mfpde.polish(found.setting.equation, found.atoms)
    minimum = mfpde.minimize(found.setting.equation, found.coarse.final.geometry)
    return [
        Quantity(
            f"{name}: relative residual of the polished atoms",
            polished.relative_residual,
            1e-14,
            0.0,
            "at most",
        ),
        Quantity(
            f"{name}: way to the polished atoms, in cells",
            polished.moved / width,
            0.8,
            0.0,
            "at most",
        ),
        Quantity(
            f"{name}: of second order (1: yes)", polished.is_second_order, 1.0, 0.0
        ),
        Quantity(
            f"{name}: largest rise of E between saves",
            float(np.diff(found.run.energies).max()),
            0.0,
            1e-10,
            "at most",
        ),
        Quantity(
            f"{name}: E at the end above the certified minimum",
            float(found.run.energies[-1]),
            minimum.lower_bound,
            0.0,
            "at least",
        ),
    ]


def _centres(particles: AnyMeasure, atoms: Atoms, within: float) -> Array:
    """Mean direction of the particles near each atom (their cores, without tails)."""
    near = particles.points @ atoms.points.T > np.cos(within)  # type: ignore[union-attr]
    means = near.T @ particles.points  # type: ignore[union-attr]
    return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True))


def _points_and_masses(measure: AnyMeasure) -> tuple[Array, Array]:
    """Centres of cells and atoms (n, 3), and their masses (n,)."""
    if isinstance(measure, Atoms):
        return measure.points, measure.masses
    whole = as_measure(measure)
    centres, masses = whole.geometry.points.reshape(-1, 3), whole.density.masses.ravel()
    return (
        np.concatenate([centres, whole.atoms.points]),
        np.concatenate([masses, whole.atoms.masses]),
    )


def _mass_within(measure: AnyMeasure, centre: Array, radius: float) -> float:
    points, masses = _points_and_masses(measure)
    return float(masses[points @ centre > np.cos(radius)].sum())


def _polar(measure: AnyMeasure) -> tuple[Array, Array, Array]:
    """Longitudes, cos theta, and masses of the points of a measure."""
    points, masses = _points_and_masses(measure)
    return (
        np.mod(np.arctan2(points[:, 1], points[:, 0]), 2 * np.pi),
        points[:, 2],
        masses,
    )


def draw_angle_histograms(
    ax: Axes, density: AnyMeasure, particles: AnyMeasure, *, latitude: bool
) -> None:
    """Mass per bin of the longitude, or of cos theta."""
    span = (-1.0, 1.0) if latitude else (0.0, 2 * np.pi)
    edges = np.linspace(*span, BINS + 1)
    for measure, look in (
        (particles, {"fill": True, "color": ATOM, "alpha": 0.35, "label": "particles"}),
        (density, {"color": DENSITY, "lw": 1.2, "label": "density"}),
    ):
        longitudes, heights, masses = _polar(measure)
        values = heights if latitude else longitudes
        found, _ = np.histogram(values, edges, weights=masses)
        ax.stairs(found, edges, **look)  # type: ignore[arg-type]
    ax.set_yscale("log")
    ax.set_ylim(1e-4, 2.0)
    if latitude:
        ax.set_xlim(-1, 1)
    else:
        angle_axis(ax)


@styled
def sphere_figure(all_found: Sequence[OnSphere], title: str) -> Figure:
    """A column for each setting: early map, late map, histograms of both angles."""
    figure = new_figure(2.5 * len(all_found) + 0.4, 7.4)
    rows = figure.subplots(4, len(all_found), height_ratios=[1.1, 1.1, 1, 1])
    for found, column in zip(all_found, rows.T, strict=True):
        early, end = float(found.many.times[-1]), float(found.run.times[-1])
        for ax, time in zip(column[:2], (early, end), strict=True):
            _draw_map(ax, at(found.run, time), at(found.few, time))
        column[0].set_title(f"{_short(found.setting)}\nt = {early:g}")
        count = len(found.atoms)
        column[1].set_title(f"t = {end:g}: {count} atom{'' if count == 1 else 's'}")
        for ax, latitude in zip(column[2:], (False, True), strict=True):
            draw_angle_histograms(
                ax, found.run.final, found.few.final, latitude=latitude
            )
    for ax, name in zip(rows[2:, 0], ("longitude", "cos θ"), strict=True):
        ax.set_ylabel("mass per bin")
        for other in rows[2 if name == "longitude" else 3]:
            other.set_xlabel(name)
    rows[2, 0].legend(loc="upper right", fontsize=7)
    figure.suptitle(title)
    return figure


def _short(setting: Setting) -> str:
    return {"relu": "ReLU", "gelu": "GeLU"}[setting.activation or ""] + (
        f", β = {setting.beta:g}"
    )


def _draw_map(ax: Axes, density: AnyMeasure, particles: AnyMeasure) -> None:
    """Logarithm of the density over longitude and cos theta (equal areas), particles as dots."""
    whole = as_measure(density).density
    longitudes, heights, _ = _polar(whole)
    shape = whole.values.shape
    first = longitudes.reshape(shape)[0]
    # The first column again at the end: the map closes.
    order = np.append(np.argsort(first), np.argmin(first))
    across = np.append(np.sort(first), first.min() + 2 * np.pi)
    # Exact atoms have emptied the cells about them.
    shown = np.log10(np.maximum(whole.values[:, order] * 4 * np.pi, 1e-9))
    ax.pcolormesh(
        across,
        heights.reshape(shape)[:, 0],
        shown,
        vmin=-2.0,
        vmax=2.0,
        cmap="cividis",
        rasterized=True,
    )
    where, height, _ = _polar(particles)
    ax.plot(where[::3], height[::3], ".", ms=1.2, color=ATOM, alpha=0.7)
    held, height, _ = _polar(as_measure(density).atoms)
    ax.plot(held, height, "D", ms=4, mfc="none", mec="white", mew=0.8)
    angle_axis(ax)
    ax.set_ylim(-1, 1)
