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
from validation.charts import describe, panels, show_legend
from validation.claim import Claim, Quantity
from validation.schemes.exact_cases import wrapped
from validation.schemes.scheme_styles import STYLES, WITNESS

Array = NDArray[np.float64]

CLAIM = Claim(
    "Face velocities pin atoms; donor blending and exact atoms do not",
    "derived here: exact slide tan(θ/2) = tan(θ₀/2) e^(−εt), stall at |ε sin θ| = m h / 2",
    "With velocities at cell faces (semi-Lagrangian) a grid atom of mass m stops "
    "where the outside pull is m h / 2; the donor-blended scheme stays within a cell of the exact "
    "path, exact atoms on it. The verdict reports m h / 2 as the pinning force.",
)
BETA, BEGIN = 25.0, 1.0
PINNED, FREE = ("semi_lagrangian",), ("donor_blended",)
EXACT_TOLERANCE = 1e-6


def equation(strength: float) -> mfpde.MeanFieldEquation:
    """Attention with V = strength cos theta, ascent."""
    axis = np.array([strength, 0.0])
    potential = mfpde.Potential(
        lambda x: x @ axis, lambda x: np.broadcast_to(axis, x.shape), dimension=2
    )
    return mfpde.MeanFieldEquation(mfpde.Attention(BETA), potential, direction="ascent")


def exact_path(times: Array, begin: float, strength: float) -> Array:
    """Angle of the atom at ``times``."""
    return np.asarray(2 * np.arctan(np.tan(begin / 2) * np.exp(-strength * times)))


def grid_run(cells: int, strength: float, *, scheme: str, t_end: float) -> mfpde.Run:
    """All mass in the cell at about 1."""
    circle = mfpde.Circle(cells)
    values = np.zeros(cells)
    values[int(BEGIN / circle.spacing)] = 1 / circle.spacing
    return mfpde.solve(
        equation(strength),
        mfpde.Density(circle, values),
        t_end=t_end,
        transport=scheme,
    )


def centres(run: mfpde.Run) -> Array:
    """Mean angle of each saved state."""
    angles = wrapped(run.final.geometry.angles)
    return np.array([angles @ state.density.masses for state in run.states])


def exact_run(strength: float, t_end: float) -> tuple[Array, Array]:
    """Times and angles of an exact atom beside an empty density."""
    circle = mfpde.Circle(256)
    atom = mfpde.Atoms([[np.cos(BEGIN), np.sin(BEGIN)]])
    start = mfpde.Measure(mfpde.Density(circle, np.zeros(256)), atom)
    run = mfpde.solve(equation(strength), start, t_end=t_end, atoms="exact", rtol=1e-7)
    points = np.array([state.atoms.points[0] for state in run.states])
    return run.times, np.arctan2(points[:, 1], points[:, 0])


def case(cells: int, strength: float, ax: object) -> list[Quantity]:
    """One grid and one pull: where each scheme's atom ends."""
    t_end = 4.0 / strength
    spacing = 2 * np.pi / cells
    stall = float(np.arcsin(min(spacing / (2 * strength), np.sin(BEGIN))))
    # Half a cell, and what a kernel that is not linear within a cell changes.
    allowed = spacing / 2 + BETA * spacing**2 / 4 * stall
    quantities = []
    label = f"{cells} cells, ε = {strength:g}"
    for scheme in (*FREE, *PINNED):
        run = grid_run(cells, strength, scheme=scheme, t_end=t_end)
        path = centres(run)
        if scheme in PINNED:
            name = f"{label}, {scheme}: angle where it stops"
            quantities.append(Quantity(name, float(path[-1]), stall, allowed))
        else:
            off = np.abs(path - exact_path(run.times, path[0], strength)).max()
            name = f"{label}, {scheme}: farthest from the exact path, in cells"
            quantities.append(Quantity(name, float(off / spacing), 1.0, 0.0, "at most"))
        ax.plot(run.times, path / np.pi, **STYLES[scheme], label=scheme)
        if scheme == "donor_blended":
            atom = mfpde.concentration(run.final, equation(strength)).clusters[0]
            name = f"{label}: pinning force of the verdict"
            force = np.nan if atom.pinning_force is None else atom.pinning_force
            quantities.append(Quantity(name, force, spacing / 2, 1e-6, relative=True))
    times, angles = exact_run(strength, t_end)
    path = exact_path(times, BEGIN, strength)
    off = float(np.abs(angles - path).max())
    name = f"{label}, exact atom: farthest from the exact path"
    quantities.append(Quantity(name, off, 0.0, EXACT_TOLERANCE))
    ax.plot(times, path / np.pi, **WITNESS | {"ls": (0, (1, 4))}, label="exact")
    ax.axhline(stall / np.pi, color="#666666", lw=0.8, ls="--", label="m h / 2 reached")
    describe(ax, title=label, xlabel="time", ylabel="angle of the atom [π rad]")
    return quantities


def main(quick: bool = False) -> dict[str, object]:
    """Slides in weak and less weak pulls on several grids."""
    cases = [(128, 0.1)] if quick else [(128, 0.1), (256, 0.05), (512, 0.02)]
    drawn, axes = panels(len(cases), width=3.4)
    quantities = []
    for (cells, strength), ax in zip(cases, axes, strict=True):
        quantities += case(cells, strength, ax)
    show_legend(axes[0])
    return {"quantities": quantities, "figures": {"pinning": drawn}}
