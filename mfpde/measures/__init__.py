"""Measures on spheres: densities, atoms and clouds, how they start, are sampled and compared."""
