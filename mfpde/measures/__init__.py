"""Measures on spheres: densities, atoms and clouds, how they start, are sampled and compared."""

from mfpde.measures.events import Event

__all__ = ["Event"]
