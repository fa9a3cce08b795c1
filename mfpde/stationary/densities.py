r"""Stationary densities with diffusion: the one that a start goes down to, and its stability.

1. Psi (``gibbs_states.py``) falls by Newton's method in a trust region, with conjugate gradients
   that follow a direction of negative curvature to the region's edge (Steihaug, SIAM J. Numer.
   Anal. 20, 1983), until its fall is lost in its rounding.
2. G_c u = -G by MINRES (Paige & Saunders, SIAM J. Numer. Anal. 12, 1975), c <- c + u, for
   as long as |G| halves.  The rotations of the equation make G_c singular; G is orthogonal to
   them, and so is each product.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.optimize import OptimizeResult, minimize
from scipy.sparse.linalg import LinearOperator, minres

from mfpde.equation import MeanFieldEquation
from mfpde.measures.measure import Atoms, Density, Measure
from mfpde.notebook import Printed
from mfpde.stationary.convex_energy import check_convex, check_terms
from mfpde.stationary.gibbs_states import GibbsProblem, GibbsState
from mfpde.stationary.ridge_fields import NEGLIGIBLE

TOLERANCE = 1e-12
"""Of residuals and of eigenvalues."""


@dataclass(frozen=True, eq=False, repr=False)
class StationaryDensity(Printed, GibbsState):
    """A density rho with v rho = kappa grad rho.

    Attributes
    ----------
    problem, coefficients
        The equation on its grid, and the coefficients of the field, from which the rest
        follows: ``density`` too, on a zonal grid with the exact masses of its bands.
    iterations
        Iterations of Newton's method from the start of :func:`mfpde.stationary_density`; 0 on
        a branch.
    """

    iterations: int = 0

    @cached_property
    def residual(self) -> float:
        """Largest difference between s F and kappa log rho, up to a constant."""
        return float(np.abs(self.problem.field(self.gradient)).max())

    @property
    def converged(self) -> bool:
        """Whether the residual is at most 1e-12."""
        return self.residual <= TOLERANCE

    @property
    def gap(self) -> float | None:
        """In descent a bound of the free energy less the least one; None in ascent.

        Errors of the grid's quadrature are left aside; in ascent there may be several minima.
        """
        bound = self.size**2 / 2
        return bound if self.equation.sign < 0 else None

    @property
    def symmetry_dimension(self) -> int:
        """Number of independent rotations of the equation that change the state."""
        return int(self.rotation_modes.shape[1])

    @property
    def unstable_dimension(self) -> int:
        """Number of unstable directions."""
        return int((self.leading > 1 + TOLERANCE).sum())

    @property
    def strict_margin(self) -> float:
        """Smallest eigenvalue, those of the rotations left out."""
        return float(1 - self.leading.max(initial=0.0))

    @property
    def is_second_order(self) -> bool:
        """Whether no small change of the density grows."""
        return self.converged and self.unstable_dimension == 0

    @property
    def free_energy(self) -> float:
        """The free energy kappa int rho log rho - s E, which the flow never increases."""
        found = self.equation.lyapunov_function(self.density)
        assert found is not None
        return found

    def __str__(self) -> str:
        geometry = self.density.geometry
        relative = self.density.values * geometry.areas.sum() / self.density.total_mass
        kind = "zonal " if geometry.axis is not None else ""
        stable = "stable" if self.is_second_order else "unstable"
        advice = "; the cells may not resolve it: a finer grid helps"
        return (
            f"{self.equation}, {self.equation.convention}\n"
            f"stationary density, residual {self.residual:.1e}, {stable}: "
            f"{self.unstable_dimension} unstable {kind}directions, "
            f"{self.symmetry_dimension} rotation modes{'' if self.converged else advice}\n"
            f"density over the uniform one: {relative.min():.6g} to {relative.max():.6g}; "
            f"|mean of x| {self.order:.6g}; free energy {self.free_energy:.12g}"
        )


def stationary_density(
    equation: MeanFieldEquation, density: Density | Measure
) -> StationaryDensity:
    """Find a stationary density with diffusion, to rounding, and test its stability.

    In descent there is only one, and it is found from every start.  In ascent it is a minimum of
    the free energy kappa int rho log rho - E to which the start goes down: by large steps, not
    along the flow, so that of several minima it need not be the one where a run comes to rest.
    A start may have a symmetry that all minima break, such as the uniform density with
    attention alone: where Newton's method keeps it, the end is unstable, and
    ``unstable_dimension`` says so.  :func:`mfpde.continuation` follows states in a parameter,
    unstable ones too.

    Begin with
    ``noisy = MeanFieldEquation(Attention(5.0), direction="descent", diffusion=0.1)``,
    ``stationary_density(noisy, uniform(Circle(256)))``.

    Parameters
    ----------
    equation
        The equation, with diffusion and unnormalised attention: of x.y, heads with a symmetric
        positive semidefinite D and V = a D, a >= 0, or kernels without negative eigenvalues.
    density
        The start, on a Circle, a Sphere or a Zonal grid whose cells resolve the stationary state.

    Returns
    -------
    StationaryDensity
        ``print`` it for a table.

    Raises
    ------
    ValueError
        Without diffusion; for atoms, softmax, vector weights, a potential, an indefinite D, or
        a grid that does not resolve the kernel.
    """
    if not equation.diffusion > 0:
        raise ValueError(
            f"diffusion = {equation.diffusion:g}: without diffusion the stationary states "
            "are atoms; polish(equation, atoms) finds them, minimize(equation, geometry) "
            "the best"
        )
    start = check_density(equation, density, "density")
    degree = needed_degree([equation], start)
    problem = GibbsProblem(equation, start.geometry, start.total_mass, degree)
    state, iterations = descend(GibbsState(problem, problem.coefficients(start)))
    return StationaryDensity(problem, state.coefficients, iterations)


def check_density(equation: MeanFieldEquation, start: object, name: str) -> Density:
    """Return the density of the argument ``name``, if it can be a start.

    ``ValueError`` for atoms, softmax, an energy that is not convex, or external terms that are no
    perceptrons with scalar weights.
    """
    if isinstance(start, Measure) and not len(start.atoms):
        start = start.density
    if not isinstance(start, Density):
        what = "atoms" if isinstance(start, Atoms | Measure) else repr(start)
        raise ValueError(
            f"{name}: with diffusion {equation.diffusion:g} atoms dissolve at once, the "
            f"stationary states are smooth densities; give a Density for {what}, such as "
            "the end of a run, or uniform(Circle(512))"
        )
    check_terms(equation, f"{name}:")
    check_convex(equation, start.dimension, f"{name}:")
    if start.geometry.axis is not None:
        for term in equation.externals:
            term.check_axis(start.geometry.axis)
    return start


def needed_degree(ends: list[MeanFieldEquation], density: Density) -> int:
    """Degree that the interaction needs, at most; ``ValueError`` on a grid too coarse for it."""
    terms = [term for equation in ends for term in equation.interactions]
    limits = [term.band_limit(density.geometry, NEGLIGIBLE) for term in terms]
    return max(limits, default=1)


def descend(start: GibbsState) -> tuple[GibbsState, int]:
    """The state where |G| falls no further down from ``start``, and the number of iterations."""
    problem, size = start.problem, len(start.coefficients)
    state_at = lru_cache(maxsize=2)(lambda c: GibbsState(problem, np.frombuffer(c)))
    last = start.size

    def stop_in_rounding(intermediate_result: OptimizeResult) -> None:
        nonlocal last
        before, last = last, state_at(intermediate_result.x.tobytes()).size
        # Psi falls by |G|^2, which is soon in its rounding; on the way out of an unstable
        # state |G| grows.
        if last < min(before / 2, np.sqrt(TOLERANCE)):
            raise StopIteration

    found = minimize(
        lambda c: state_at(c.tobytes()).potential,
        start.coefficients,
        jac=lambda c: state_at(c.tobytes()).gradient,
        hessp=lambda c, direction: state_at(c.tobytes()).product(direction),
        method="trust-ncg",
        callback=stop_in_rounding,
        options={"gtol": TOLERANCE},
    )
    state, iterations = GibbsState(problem, found.x), int(found.nit)
    while state.size > np.spacing(max(1.0, float(np.linalg.norm(state.coefficients)))):
        matrix = LinearOperator((size, size), matvec=state.product, dtype=np.float64)
        change, _ = minres(matrix, -state.gradient)
        further = GibbsState(problem, state.coefficients + change)
        if not further.size < state.size / 2:
            break
        state, iterations = further, iterations + 1
    return state, iterations
