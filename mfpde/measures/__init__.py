"""Measures on spheres: densities, atoms and clouds, how they start, are sampled and compared."""

from mfpde.measures.clouds import join_clusters, moments_about
from mfpde.measures.events import Event

__all__ = ["Event", "join_clusters", "moments_about"]
