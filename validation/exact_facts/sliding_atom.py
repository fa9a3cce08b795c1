"""An atom slides in a potential as if it were alone: it feels no force of its own."""

from __future__ import annotations

import numpy as np

import mfpde
from validation.circle_cases import angles_of, cosine_potential, points_at, wrapped
from validation.claim import Claim, Findings, equal, vanishes
from validation.exact_facts.drawn import compare_curves
from validation.exact_facts.runs import Array, ascent, atoms_alone, integrate

CLAIM = Claim(
    title="An atom feels no force of its own",
    source="Eq. (2.5) for one atom: grad K(x.y) vanishes at x = y (derived here)",
    statement=(
        "In V = eps cos(theta) an atom follows tan(theta/2) = tan(theta_0/2) e^(-eps t) for "
        "every beta, as an exact atom and as one cell of the grid, where face velocities "
        "pin it where |eps sin theta| < m h/2. Another atom it does feel."
    ),
)
OFF = 0.2  # cells: the atom's mean over its two or three cells
STRENGTH = 0.1
SLOW = (128, 0.02)
"""Cells and eps at which face velocities pin an atom."""
STALLED = ((128, 0.1), (256, 0.05), (512, 0.02))
"""Cells and eps at which they stop it on its way, where eps sin(theta) = m h/2."""


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


def pair_error(beta: float, *, softmax: bool) -> float:
    """Largest error of the angles of two exact atoms until t = 8."""
    begin, masses = np.array([2.5, 2.0]), np.array([0.3, 0.7])
    times = np.linspace(0.0, 8.0, 9)

    def velocity(t: Array) -> Array:
        away = t[np.newaxis, :] - t[:, np.newaxis]
        pulls = np.exp(beta * (np.cos(away) - 1)) * masses
        scale = pulls.sum(axis=1) if softmax else 1.0
        return (pulls * np.sin(away)).sum(axis=1) / scale - STRENGTH * np.sin(t)

    equation = ascent(mfpde.Attention(beta, softmax), cosine_potential(STRENGTH))
    start = atoms_alone(mfpde.Circle(256), points_at(begin), masses)
    run = mfpde.solve(
        equation, start, t_end=8.0, save_at=times, atoms="exact", rtol=1e-6
    )
    if any(len(state.atoms) != 2 for state in run.states):
        return np.inf
    found = np.array([angles_of(state.atoms.points) for state in run.states])
    return float(np.abs(wrapped(found - integrate(velocity, begin, times))).max())


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


@CLAIM
def main(_quick: bool = False) -> Findings:
    for beta in (0.0, 1.0, 25.0, 1000.0):
        # The circle resolves beta = 1000 with 512 cells only just; atoms do not care.
        name = f"exact atom, beta = {beta:g}, eps = 0.1: largest error"
        yield vanishes(name, exact_atom_error(beta), 1e-8)
    for softmax, kind in ((False, "unnormalised"), (True, "softmax")):
        name = (
            f"two exact atoms, beta = 25, eps = 0.1, {kind}: largest error of an angle"
        )
        yield vanishes(name, pair_error(25.0, softmax=softmax), 1e-8)
    fast = [(cells, eps) for cells in (128, 512, 1024) for eps in (0.05, 0.2)]
    for cells, strength in (*fast, SLOW):
        times, means, _, exact = grid_paths(cells, strength, "donor_blended")
        name = f"one cell of {cells}, beta = 25, eps = {strength:g}: error in cells"
        yield vanishes(name, (means - exact) / (2 * np.pi / cells), OFF)
    # The pull eps sin(1) is below h/2: a face velocity cannot let the atom go.
    pinned = grid_paths(*SLOW, "semi_lagrangian")
    name = "the same by face velocities (semi-Lagrangian): distance moved"
    yield vanishes(name, abs(pinned[1][-1] - pinned[1][0]), 2 * np.pi / cells)
    for cells, strength in STALLED:
        h = 2 * np.pi / cells
        stall = np.arcsin(h / (2 * strength))
        _, stopped, _, _ = grid_paths(cells, strength, "semi_lagrangian")
        # Half a cell, and what a kernel that is not linear within a cell changes.
        allowed = h / 2 + 25 * h**2 / 4 * stall
        name = (
            f"{cells} cells, eps = {strength:g}, face velocities: angle where it stops"
        )
        yield equal(name, stopped[-1], stall, allowed)
    curves = {"donor blending": (times, means, times, exact), "face velocities": pinned}
    yield "paths", compare_curves(curves, xlabel="t", ylabel="angle")
