"""What is observed at every save, with meanings and units in one place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.circle_distribution import CircularDistribution
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Circle, Geometry
from mfpde.measure import Measure
from mfpde.transport import Flow, State


@dataclass(frozen=True)
class Diagnostic:
    """Name, meaning and unit of a number that is recorded at every save."""

    name: str
    meaning: str
    unit: str


DIAGNOSTICS: dict[str, Diagnostic] = {
    d.name: d
    for d in (
        Diagnostic("mass", "total mass of density and atoms", "1"),
        Diagnostic("minimum", "smallest density", "1/area"),
        Diagnostic("energy", "E = (1/2 beta) iint K dmu dmu + int V dmu", "1"),
        Diagnostic(
            "dissipation",
            "int |v|^2 dmu, the rate |dE/dt| of a gradient flow",
            "1/time",
        ),
        Diagnostic("largest_density", "largest density", "1/area"),
        Diagnostic("largest_ball_mass", "largest mass in one ball", "1"),
        Diagnostic("step", "last time step", "time"),
    )
}


def ball_radius(equation: MeanFieldEquation) -> float:
    """Radius of the balls of ``largest_ball_mass``: min(1 / (2 sqrt beta), pi/4).

    Half the length 1/sqrt(beta) on which attention sees a single cluster (paper,
    section 5), independent of the grid.
    """
    betas = [attention.beta for attention in equation.attentions]
    largest = max(betas, default=0.0)
    return min(0.5 / np.sqrt(largest), np.pi / 4) if largest > 0 else np.pi / 4


def largest_ball_mass(measure: Measure, radius: float) -> float:
    """Largest mass of ``measure`` in a closed ball of ``radius`` (radians)."""
    return CircularDistribution.of(measure).largest_ball_mass(radius)


def observed(
    equation: MeanFieldEquation,
    geometry: Geometry,
    *,
    state: State,
    flow: Flow,
    measure: Measure,
    step: float,
) -> dict[str, float]:
    """Evaluate all diagnostics of a state from its flow (``energy`` is NaN without one)."""
    grid = equation.on(geometry)
    atoms = (state.points, state.atom_masses)
    energy = (
        grid.energy(state.masses, atoms, flow.moments)
        if equation.has_energy
        else np.nan
    )
    speed_squared = (flow.velocity**2).sum(axis=0)
    atom_speed_squared = (flow.atom_velocities**2).sum(axis=-1)
    dissipation = (state.masses * speed_squared).sum() + (
        state.atom_masses @ atom_speed_squared
    )
    is_circle = isinstance(geometry, Circle)
    ball = largest_ball_mass(measure, ball_radius(equation)) if is_circle else np.nan
    return {
        "mass": state.total_mass,
        "minimum": float(measure.density.values.min()),
        "energy": energy,
        "dissipation": float(dissipation),
        "largest_density": float(measure.density.values.max()),
        "largest_ball_mass": ball,
        "step": step,
    }
