r"""Pinning: a face velocity stops an atom where the outside pull falls below m h / 2.

A unit atom in V = eps cos theta slides to 0 in ascent, tan(theta/2) = tan(theta_0/2) e^{-eps t}
for every beta.  Half a cell away from its centre a grid atom of mass m attracts with m h / 2
itself: with velocities at the faces it stops where eps |sin theta| = m h / 2, up to the cell.
Donor-blended transport moves an atom with its own
centre's velocity and stays within a cell of the exact path; an exact atom follows it to its
tolerance.  The verdict reports the force m h / 2 of each atom on a grid.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import mfpde
from validation.charts import panels, show_legend
from validation.circle_cases import angles_of, cosine_potential, points_at, wrapped
from validation.claim import Claim, Findings, at_most, equal, vanishes
from validation.schemes.places import STYLES, WITNESS

Array = NDArray[np.float64]

CLAIM = Claim(
    "Face velocities pin atoms; donor blending and exact atoms do not",
    "derived here: exact slide tan(θ/2) = tan(θ₀/2) e^(−εt), stall at |ε sin θ| = m h / 2",
    "With velocities at cell faces (semi-Lagrangian) a grid atom of mass m stops "
    "where the outside pull is m h / 2; the donor-blended scheme stays within a cell of the exact "
    "path, exact atoms on it. The verdict reports m h / 2 as the pinning force.",
)
BETA, BEGIN = 25.0, 1.0
EXACT_TOLERANCE = 1e-6


@CLAIM
def main(quick: bool = False) -> Findings:
    """Slides in weak and less weak pulls on several grids: where each scheme's atom ends."""
    cases = [(128, 0.1)] if quick else [(128, 0.1), (256, 0.05), (512, 0.02)]
    drawn, axes = panels(len(cases), width=3.4)
    for (cells, strength), ax in zip(cases, axes, strict=True):
        label = f"{cells} cells, ε = {strength:g}"
        run, path = grid_run(cells, strength, "donor_blended")
        spacing = run.final.geometry.spacing
        off = np.abs(path - exact_path(run.times, path[0], strength)).max()
        name = f"{label}, donor_blended: farthest from the exact path, in cells"
        yield at_most(name, off / spacing, 1.0)
        atom = mfpde.concentration(run.final, equation(strength)).clusters[0]
        force = np.nan if atom.pinning_force is None else atom.pinning_force
        name = f"{label}: pinning force of the verdict"
        yield equal(name, force, spacing / 2, 1e-6, relative=True)
        ax.plot(
            run.times, path / np.pi, **STYLES["donor_blended"], label="donor_blended"
        )

        run, path = grid_run(cells, strength, "semi_lagrangian")
        stall = np.arcsin(min(spacing / (2 * strength), np.sin(BEGIN)))
        # Half a cell, and what a kernel that is not linear within a cell changes.
        allowed = spacing / 2 + BETA * spacing**2 / 4 * stall
        name = f"{label}, semi_lagrangian: angle where it stops"
        yield equal(name, path[-1], stall, allowed)
        ax.plot(
            run.times,
            path / np.pi,
            **STYLES["semi_lagrangian"],
            label="semi_lagrangian",
        )

        times, angles = exact_run(strength)
        path = exact_path(times, BEGIN, strength)
        name = f"{label}, exact atom: farthest from the exact path"
        yield vanishes(name, angles - path, EXACT_TOLERANCE)
        ax.plot(times, path / np.pi, **WITNESS | {"ls": (0, (1, 4))}, label="exact")
        ax.axhline(
            stall / np.pi, color="#666666", lw=0.8, ls="--", label="m h / 2 reached"
        )
        ax.set(title=label, xlabel="time", ylabel="angle of the atom [π rad]")
    show_legend(axes[0])
    yield "pinning", drawn


def equation(strength: float) -> mfpde.MeanFieldEquation:
    """Attention with V = strength cos theta, ascent."""
    terms = mfpde.Attention(BETA), cosine_potential(strength)
    return mfpde.MeanFieldEquation(*terms, direction="ascent")


def exact_path(times: Array, begin: float, strength: float) -> Array:
    """Angle of the atom at ``times``."""
    return np.asarray(2 * np.arctan(np.tan(begin / 2) * np.exp(-strength * times)))


def grid_run(cells: int, strength: float, scheme: str) -> tuple[mfpde.Run, Array]:
    """All mass in the cell at about 1, for a time of 4 over the pull; mean angles."""
    circle = mfpde.Circle(cells)
    values = np.zeros(cells)
    values[int(BEGIN / circle.spacing)] = 1 / circle.spacing
    start, t_end = mfpde.Density(circle, values), 4.0 / strength
    run = mfpde.solve(equation(strength), start, t_end=t_end, transport=scheme)
    angles = wrapped(circle.angles)
    return run, np.array([angles @ state.density.masses for state in run.states])


def exact_run(strength: float) -> tuple[Array, Array]:
    """Times and angles of an exact atom beside an empty density."""
    atom = mfpde.Atoms([points_at(BEGIN)])
    start = mfpde.Measure(mfpde.Density(mfpde.Circle(256), np.zeros(256)), atom)
    options = {"t_end": 4.0 / strength, "atoms": "exact", "rtol": 1e-7}
    run = mfpde.solve(equation(strength), start, **options)
    points = np.array([state.atoms.points[0] for state in run.states])
    return run.times, angles_of(points)
