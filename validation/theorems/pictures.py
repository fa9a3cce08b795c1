"""A minimiser on the circle: F above its least value, the atoms, and the neurons' kinks."""

from __future__ import annotations

from typing import Any

import numpy as np

import mfpde
from mfpde.plotting.palette import ATOM, LANDSCAPE, MUTED
from validation import independent
from validation.circle_cases import angles_of, points_at
from validation.figures.drawing import angle_axis


def draw_minimiser(ax: Any, found: mfpde.Minimum) -> None:
    """Draw it over the angle; the legend is left to the caller."""
    fine = np.linspace(0, 2 * np.pi, 1441)
    problem = independent.problem_of(found.equation)
    points, masses = independent.cells_of(found.measure)
    field = independent.first_variation(problem, points, masses, at=points_at(fine))
    ax.plot(fine, field - field.min(), color=LANDSCAPE, label="F - min F")
    at = np.mod(angles_of(points), 2 * np.pi)
    ax.vlines(at, 0, masses, color=ATOM)
    ax.plot(at, masses, "o", color=ATOM, ms=4, label="atoms of minimize (mass)")
    turned = angles_of(problem.directions)[:, np.newaxis] + np.pi / 2 * np.array(
        [-1, 1]
    )
    for number, kink in enumerate(np.mod(turned, 2 * np.pi).ravel()):
        ax.axvline(kink, color=MUTED, ls=":", lw=0.8, label="" if number else "kinks")
    angle_axis(ax)
    title = f"A minimiser, β = {problem.beta:g}, {len(problem.weights)} neurons"
    ax.set(title=title, xlabel="angle", ylabel="mass; F")
    ax.set_ylim(0, 1.35 * max(masses.max(), float(np.ptp(field))))
