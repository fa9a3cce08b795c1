"""An atom slides in a potential as if it were alone: it feels no force of its own."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import mfpde
from validation.circle_cases import angles_of, cosine_potential, points_at, wrapped
from validation.claim import Claim, Quantity
from validation.drawing import panels
from validation.exact_facts.drawn import FORMULA_DOTS, OTHERS, SOLVER

CLAIM = Claim(
    title="An atom feels no force of its own",
    source="Eq. (2.5) for one atom: grad K(x.y) vanishes at x = y (derived here)",
    statement=(
        "In V = eps cos(theta) an atom follows tan(theta/2) = tan(theta_0/2) e^(-eps t) for "
        "every beta, as an exact atom and as one cell of the grid, where face velocities "
        "would pin it for |eps sin theta| < m h/2. Another atom it does feel."
    ),
)
OFF = 0.2  # cells: the atom's mean over its two or three cells


def exact_path(begin: float, strength: float, times: np.ndarray) -> np.ndarray:
    """Angles at ``times``."""
    return 2 * np.arctan(np.tan(begin / 2) * np.exp(-strength * times))


def exact_atom_error(beta: float, strength: float) -> float:
    """Largest distance of an exact atom from its path, down to t = 6/eps."""
    circle, begin = mfpde.Circle(512), 2.5
    start = mfpde.Measure(
        mfpde.Density(circle, np.zeros(512)), mfpde.Atoms([points_at(begin)])
    )
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(beta), cosine_potential(strength), direction="ascent"
    )
    run = mfpde.solve(equation, start, t_end=6 / strength, atoms="exact")
    found = np.array([angles_of(state.atoms.points)[0] for state in run.states])
    return float(np.abs(found - exact_path(begin, strength, run.times)).max())


def pair_errors(beta: float, strength: float, *, softmax: bool) -> tuple[float, float]:
    """Largest errors of two exact atoms' angles and of their mean point until t = 8."""
    begin, masses = np.array([2.5, 2.0]), np.array([0.3, 0.7])
    times = np.linspace(0.0, 8.0, 9)

    def velocity(_: float, t: np.ndarray) -> np.ndarray:
        away = t[np.newaxis, :] - t[:, np.newaxis]
        pulls = np.exp(beta * (np.cos(away) - 1)) * masses
        scale = pulls.sum(axis=1) if softmax else 1.0
        return (pulls * np.sin(away)).sum(axis=1) / scale - strength * np.sin(t)

    exact = solve_ivp(
        velocity, (0, 8), begin, t_eval=times, method="DOP853", rtol=1e-12, atol=1e-13
    ).y.T
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(beta, softmax), cosine_potential(strength), direction="ascent"
    )
    empty = mfpde.Density(mfpde.Circle(256), np.zeros(256))
    start = mfpde.Measure(empty, mfpde.Atoms(points_at(begin), masses))
    run = mfpde.solve(
        equation, start, t_end=8.0, save_at=times, atoms="exact", rtol=1e-6
    )
    if any(len(state.atoms) != 2 for state in run.states):
        return np.inf, np.inf
    found = np.array([angles_of(state.atoms.points) for state in run.states])
    means = np.array([s.atoms.masses @ s.atoms.points for s in run.states])
    away = np.linalg.norm(means - masses @ points_at(exact), axis=1)
    return float(np.abs(wrapped(found - exact)).max()), float(away.max())


def grid_atom(cells: int, strength: float, transport: str) -> tuple[float, Any]:
    """Largest distance in cells of a one-cell atom's mean from its path; the path."""
    circle = mfpde.Circle(cells)
    cell = int(1.0 / circle.spacing)
    values = np.zeros(cells)
    values[cell] = 1 / circle.spacing
    equation = mfpde.MeanFieldEquation(
        mfpde.Attention(25.0), cosine_potential(strength), direction="ascent"
    )
    run = mfpde.solve(
        equation, mfpde.Density(circle, values), t_end=3 / strength, transport=transport
    )
    exact = exact_path(circle.angles[cell], strength, run.times)
    means = np.array([wrapped(circle.angles) @ s.density.masses for s in run.states])
    return float(np.abs(means - exact).max() / circle.spacing), (
        run.times,
        means,
        exact,
    )


def main(quick: bool = False) -> dict[str, Any]:
    quantities = []
    for beta in (0.0, 25.0) if quick else (0.0, 1.0, 25.0, 1000.0):
        # The circle resolves beta = 1000 with 512 cells only just; atoms do not care.
        error = exact_atom_error(beta, 0.1)
        name = f"exact atom, beta = {beta:g}, eps = 0.1: largest error"
        quantities.append(Quantity(name, error, 0.0, 1e-8))
    for softmax in (False, True):
        kind = "softmax" if softmax else "unnormalised"
        errors = pair_errors(25.0, 0.1, softmax=softmax)
        name = f"two exact atoms, beta = 25, eps = 0.1, {kind}: largest error of "
        quantities += [
            Quantity(f"{name}{what}", error, 0.0, 1e-8)
            for what, error in zip(
                ("an angle", "their mean point"), errors, strict=True
            )
        ]
    for cells in (128,) if quick else (128, 512, 1024):
        for strength in (0.2,) if quick else (0.05, 0.2):
            away, _ = grid_atom(cells, strength, "donor_blended")
            name = f"one cell of {cells}, beta = 25, eps = {strength:g}: error in cells"
            quantities.append(Quantity(name, away, 0.0, OFF))
    figure, (ax,) = panels(1, width=5)
    cells, strength = 128, 0.02
    away, (times, means, exact) = grid_atom(cells, strength, "donor_blended")
    _, (pinned_times, pinned, _) = grid_atom(cells, strength, "semi_lagrangian")
    spacing = 2 * np.pi / cells
    # The pull eps sin(1) is below h/2: a face velocity cannot let the atom go.
    assert strength * np.sin(1.0) < spacing / 2
    quantities += [
        Quantity(
            f"one cell of {cells}, eps = {strength:g}: error in cells", away, 0, OFF
        ),
        Quantity(
            "the same by face velocities (semi-Lagrangian): distance moved",
            float(abs(pinned[-1] - pinned[0])),
            0.0,
            spacing,
        ),
    ]
    ax.plot(times, means, color=SOLVER, label="donor blending")
    label = "face velocities (semi-Lagrangian)"
    ax.plot(pinned_times, pinned, color=OTHERS[1], label=label)
    ax.plot(times[::8], exact[::8], **FORMULA_DOTS, label="formula")
    ax.set(title=f"β = 25, ε = {strength:g}, {cells} cells", xlabel="t", ylabel="angle")
    ax.set_yticks(np.pi * np.arange(4) / 8, ["0", "π/8", "π/4", "3π/8"])
    ax.legend()
    return {"quantities": quantities, "figures": {"paths": figure}}
