r"""Stationary states with diffusion kappa > 0: Gibbs densities of their own field.

v rho = kappa grad rho has the solutions rho = M e^{s F / kappa} / Z, F the first variation at
rho.  Neither the matrix of the linearised equation nor a table of harmonics on the grid is
needed to find them: see ``state.py``.
"""
