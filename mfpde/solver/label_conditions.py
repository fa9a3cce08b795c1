"""Whether labels can carry the mass of a run: what stands against them, the kernel's degree."""

from __future__ import annotations

from mfpde.geometry import Geometry
from mfpde.measures.measure import Measure
from mfpde.runs.layers import Dynamics, Layers, for_each_layer, largest_diffusion


def obstacle_to_labels(
    dynamics: Dynamics, measure: Measure, *, exact_atoms: bool
) -> str | None:
    """Return why labels cannot carry the mass of a run, in words; None if they can."""
    if measure.dimension != 3:
        return f"geometry = {measure.geometry!r}"
    diffusion = largest_diffusion(dynamics)
    if diffusion > 0:
        owner = "a layer" if isinstance(dynamics, Layers) else "the equation"
        return f"{owner} has diffusion = {diffusion:g}"
    if len(measure.atoms):
        return "start has atoms"
    return "atoms = 'exact'" if exact_atoms else None


def largest_degree(dynamics: Dynamics, geometry: Geometry) -> int:
    """Return the largest degree of the interaction of an equation, or of layers."""
    degrees = {0}
    for_each_layer(dynamics, lambda layer: degrees.add(layer.on(geometry).degree))
    return max(degrees)
