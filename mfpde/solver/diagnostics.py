"""The numbers that are observed at every save, with their meanings and units."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mfpde.detection import ball_radius, largest_ball_mass
from mfpde.equation import MeanFieldEquation
from mfpde.geometry import Geometry
from mfpde.measures.measure import Measure
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
        Diagnostic(
            "largest_ball_mass",
            "largest mass in a ball of radius min(1/(2 sqrt beta), pi/6) (zonal: about a pole)",
            "1",
        ),
        Diagnostic("step", "last time step", "time"),
    )
}


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
    speed_squared = (grid.velocity(flow.moments) ** 2).sum(axis=0)
    atom_speed_squared = (flow.atom_velocities**2).sum(axis=-1)
    dissipation = (state.masses * speed_squared).sum() + (
        state.atom_masses @ atom_speed_squared
    )
    return {
        "mass": state.total_mass,
        "minimum": float(measure.density.values.min()),
        "energy": energy,
        "dissipation": float(dissipation),
        "largest_density": float(measure.density.values.max()),
        "largest_ball_mass": largest_ball_mass(measure, ball_radius(equation)),
        "step": step,
    }
