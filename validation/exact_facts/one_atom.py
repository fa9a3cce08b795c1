"""One atom: it feels no force of its own, and draws a cluster around it at the rate 1."""

from __future__ import annotations

from typing import Any

import numpy as np

import mfpde
from validation.circle_cases import angles_of, cosine_potential, points_at, wrapped
from validation.claim import Claim, Findings, equal, vanishes
from validation.drawing import compare_curves
from validation.exact_facts.runs import Array, ascent, atoms_alone

OFF = 0.2  # cells: the atom's mean over its two or three cells
STRENGTH = 0.1
STALLED = ((128, 0.02), (128, 0.1), (256, 0.05), (512, 0.02))
"""Cells and eps; of the first the atom does not leave its cell."""
STEP = 1e-4
BETA, WIDTH = 2.0, 0.08


# In a potential ------------------------------------------------------------------------------


def exact_path(begin: float, strength: float, times: Array) -> Array:
    """Angles at ``times``."""
    return 2 * np.arctan(np.tan(begin / 2) * np.exp(-strength * times))


def exact_atom_error(beta: float) -> float:
    """Largest distance of an exact atom from its path, down to t = 6/eps."""
    begin, end = 2.5, 6 / STRENGTH
    start = atoms_alone(mfpde.Circle(512), [points_at(begin)])
    equation = ascent(mfpde.Attention(beta), cosine_potential(STRENGTH))
    run = mfpde.solve(equation, start, t_end=end, atoms="exact")
    found = np.array([angles_of(state.atoms.points)[0] for state in run.states])
    return float(np.abs(found - exact_path(begin, STRENGTH, run.times)).max())


def grid_paths(cells: int, strength: float, transport: str) -> tuple[Array, ...]:
    """Times and means of an atom of one cell at beta = 25, and those of the formula."""
    circle = mfpde.Circle(cells)
    cell = int(1.0 / circle.spacing)
    start = mfpde.Density(circle, np.eye(1, cells, cell)[0] / circle.spacing)
    equation = ascent(mfpde.Attention(25.0), cosine_potential(strength))
    run = mfpde.solve(equation, start, t_end=3 / strength, transport=transport)
    means = np.array([wrapped(circle.angles) @ s.density.masses for s in run.states])
    exact = exact_path(circle.angles[cell], strength, run.times)
    return run.times, means, run.times, exact


@Claim(
    title="An atom feels no force of its own",
    source="Eq. (2.5) for one atom: grad K(x.y) vanishes at x = y (derived here)",
    statement=(
        "In V = eps cos(theta) an atom follows tan(theta/2) = tan(theta_0/2) e^(-eps t) for "
        "every beta, as an exact atom and as one cell of the grid, where face velocities "
        "stop it where |eps sin theta| = m h/2, and pin it where that is more at the start."
    ),
)
def sliding_atom(_quick: bool = False) -> Findings:
    for beta in (0.0, 1.0, 25.0, 1000.0):
        # The circle resolves beta = 1000 with 512 cells only just; atoms do not care.
        name = f"exact atom, beta = {beta:g}, eps = 0.1: largest error"
        yield vanishes(name, exact_atom_error(beta), 1e-8)
    fast = [(cells, eps) for cells in (128, 512, 1024) for eps in (0.05, 0.2)]
    for cells, strength in (*fast, STALLED[0]):
        times, means, _, exact = grid_paths(cells, strength, "donor_blended")
        name = f"one cell of {cells}, beta = 25, eps = {strength:g}: error in cells"
        yield vanishes(name, (means - exact) / (2 * np.pi / cells), OFF)
    curves = {"donor blending": (times, means, times, exact)}
    for cells, strength in STALLED:
        h = 2 * np.pi / cells
        path = grid_paths(cells, strength, "semi_lagrangian")
        stall = np.arcsin(min(h / (2 * strength), np.sin(path[1][0])))
        # Half a cell, and what a kernel that is not linear within a cell changes.
        allowed = h / 2 + 25 * h**2 / 4 * stall
        name = (
            f"{cells} cells, eps = {strength:g}, face velocities: angle where it stops"
        )
        yield equal(name, path[1][-1], stall, allowed)
        curves.setdefault("face velocities", path)
    yield "paths", compare_curves(curves, xlabel="t", ylabel="angle")


# What is beside it ---------------------------------------------------------------------------


def pull_rate(beta: float, dimension: int, mass: float) -> float:
    """Speed towards an atom at the distance STEP, per distance."""
    axis, across = np.eye(2, dimension)
    beside = np.cos(STEP) * axis + np.sin(STEP) * across
    atom = mfpde.Atoms([axis], [mass])
    velocity = ascent(mfpde.Attention(beta)).velocity(atom, beside[np.newaxis])
    return float(np.linalg.norm(velocity) / STEP)


def contracting_run(geometry: Any) -> mfpde.Run:
    """A Gaussian about the first axis, until t = 1."""

    def bump(points: Array) -> Array:
        away = np.arccos(np.clip(points[..., 0], -1, 1))
        return np.exp(-((away / WIDTH) ** 2) / 2)

    start = mfpde.Density.from_function(geometry, bump)
    return mfpde.solve(ascent(mfpde.Attention(BETA)), start, t_end=1.0, save_every=0.1)


@Claim(
    title="One cluster contracts at the rate 1 per unit mass",
    source="Eq. (2.5) linearised at an atom: Hess K(x.y) = -1 at x = y (shifted kernel)",
    statement=(
        "Beside an atom of mass m a point is drawn to it at the rate m, for every beta and d; "
        "so a narrow cluster's density grows as e^((d-1) m t). To the next order a Gaussian "
        "of width w contracts at 1 - (1 + 3 beta) w^2 on S^1 and its peak grows at "
        "1 - (1 + 3 beta) w^2/2 there, at 2 - 2 (1 + 2 beta) w^2 on S^2."
    ),
)
def one_cluster(_quick: bool = False) -> Findings:
    for beta, d, mass in ((0.0, 2, 1.0), (5.0, 3, 1.0), (50.0, 7, 0.4)):
        name = f"pull beside an atom of mass {mass:g}, beta = {beta:g}, S^{d - 1}"
        # The kernel's next term is of relative size (1 + 3 beta) STEP^2 / 6.
        allowed = (1 + 3 * beta) * STEP**2 + 1e-11
        yield equal(name, pull_rate(beta, d, mass), mass, allowed, subject="formula")
    # The mean of w(t)^2 until t = 1 for w = WIDTH e^(-t), and the first correction's square.
    square = WIDTH**2 * (1 - np.exp(-2)) / 2
    relative = ((1 + 3 * BETA) * WIDTH**2) ** 2 / 4
    below = {2: (1 + 3 * BETA) * square / 2, 3: 2 * (1 + 2 * BETA) * square}
    for d, grid in ((2, mfpde.Circle(4096)), (3, mfpde.Sphere(256))):
        run, resolved = contracting_run(grid), (grid.spacing / WIDTH) ** 2
        if d == 2:
            squares = wrapped(grid.angles) ** 2
            first, last = (squares @ run.states[k].density.masses for k in (0, -1))
            found, exact = np.log(first / last) / 2, 1 - 2 * below[d]
            allowed = relative + resolved / 4
            yield equal("S^1: decay of the width", found, exact, allowed)
        peaks = [run.states[k].density.values.max() for k in (0, -1)]
        name = f"S^{d - 1}, beta = {BETA:g}: growth of the peak"
        found, allowed = np.log(peaks[1] / peaks[0]), (d - 1) * (relative + resolved)
        yield equal(name, found, d - 1 - below[d], allowed)
