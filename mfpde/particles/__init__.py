r"""Particles: an independent reference for the density solver.

    theta_i' or x_i' = v[mu](x_i),    mu = sum_i m_i delta_{x_i},    v = s grad F

integrated by ordinary Runge-Kutta methods.  Nothing here uses the transport or the
grid, which is only read where the start is a density: an agreement with the density
solver is evidence.
"""

from mfpde.particles.labels import label_density
from mfpde.particles.solver import solve_particles

__all__ = ["label_density", "solve_particles"]
